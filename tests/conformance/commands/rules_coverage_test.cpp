// `veriroce rules --coverage` and the README of the cases tell the same.
#include <catch2/catch.hpp>

#include <regex>
#include <set>

#include "conformance/cases/without_case.hpp"
#include "conformance/commands/rules_coverage.hpp"
#include "conformance/judge/judged_rules.hpp"
#include "conformance/model/checked_rules.hpp"
#include "tests/text.hpp"

namespace veriroce::commands::test {
namespace {

const std::string root = VERIROCE_SOURCE_DIR;

// The ids that the sources of a room name, but for the list itself.
std::set<std::string, std::less<>> named_in(const std::string& room, std::string_view list) {
    static const std::regex id("\"([A-Z][A-Z0-9]*-[0-9][0-9A-Za-z.]*)\"");
    std::set<std::string, std::less<>> found;
    for (const auto& path : house::files_under(root + "/conformance/" + room)) {
        if (path.extension() != ".cpp" && path.extension() != ".hpp") continue;
        if (path.filename() == list) continue;
        const std::string source = house::read_text(path);
        for (std::sregex_iterator at(source.begin(), source.end(), id), end; at != end; ++at)
            found.insert((*at)[1]);
    }
    return found;
}

std::set<std::string, std::less<>> set_of(std::span<const std::string_view> ids) {
    return {ids.begin(), ids.end()};
}

} // namespace

TEST_CASE("coverage: the lists of judge and model are those of their sources", "[rules]") {
    CHECK(set_of(judge::judged_rules()) == named_in("judge", "judged_rules.cpp"));
    CHECK(set_of(model::checked_rules()) == named_in("model", "checked_rules.cpp"));
}

TEST_CASE("coverage: each rule has a check or a reason", "[rules]") {
    const auto all = rule_coverage();
    CHECK(all.size() == rules::catalogue().rules().size());
    for (const RuleCoverage& one : all) {
        INFO(text_of(one));
        CHECK((one.checked() || !one.measured.empty() || !one.needed.empty()));
        // A rule that demands something is not only measured.
        const bool demands = one.rule->level != rules::Level::Info;
        if (demands && !one.checked()) CHECK_FALSE(one.needed.empty());
        CHECK((one.cases.empty() || one.needed.empty()));
        const bool of_annex = one.rule->group() == "CA17";
        if (!of_annex) CHECK((!one.cases.empty() || !one.measured.empty() || !one.needed.empty()));
    }
    CHECK(summary_of(all).starts_with(std::to_string(all.size()) + " rules: "));
}

TEST_CASE("coverage: the README has the reasons of the program", "[rules]") {
    const std::string readme = house::read_text(root + "/conformance/cases/README.md");
    const auto table = readme.substr(readme.find("## Rules without a case"));
    std::size_t rows = 0;
    for (const cases::WithoutCase& row : cases::rules_without_case()) {
        const std::string line =
            "| " + std::string(row.needed) + " | " + std::string(row.rules) + " |\n";
        INFO("expected the row " << line);
        CHECK(table.find(line) != std::string::npos);
        ++rows;
    }
    const auto lines = static_cast<std::size_t>(std::ranges::count(table, '\n'));
    std::size_t written = 0;
    for (std::size_t at = table.find("\n| "); at != std::string::npos;
         at = table.find("\n| ", at + 1))
        ++written;
    INFO(lines << " lines");
    CHECK(written == rows + 1); // and the heading
}

} // namespace veriroce::commands::test
