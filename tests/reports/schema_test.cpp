// reports/README.md documents results.json field by field: every key that is written is in its
// table, and every key of the table is written.
#include "reports/json.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>

#include <boost/json.hpp>

#include "tests/reports/made_up.hpp"
#include "tests/text.hpp"

namespace veriroce::reports::test {
namespace {

namespace json = boost::json;

// "cases[].findings[].kind". The names of measures, fault rules and limits are data: they count as
// NAME.
void collect(const json::value& value, const std::string& path, std::set<std::string>& keys) {
    if (value.is_array()) {
        for (const json::value& element : value.get_array())
            collect(element, path + "[]", keys);
        return;
    }
    if (!value.is_object()) return;
    const bool named =
        path.ends_with(".measures") || path.ends_with(".faults") || path.ends_with(".limits");
    for (const auto& member : value.get_object()) {
        const std::string key = named ? "NAME" : std::string(member.key());
        const std::string inner = path.empty() ? key : path + "." + key;
        keys.insert(inner);
        collect(member.value(), inner, keys);
    }
}

std::set<std::string> written() {
    plan::RunResults results = made_up();
    results.sheet = sheet_of(1000);
    results.cases.push_back(mismatched());
    results.cases.push_back(violating());
    results.cases.push_back(played_again());
    std::set<std::string> keys;
    collect(json::parse(results_json(results)), "", keys);
    return keys;
}

// The text in backquotes in the first column of the section's table.
std::set<std::string> documented() {
    const std::filesystem::path root = VERIROCE_SOURCE_DIR;
    const std::string text = house::read_text(root / "reports" / "README.md");
    const std::size_t begin = text.find("## results.json");
    REQUIRE(begin != std::string::npos);
    const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
    std::set<std::string> keys;
    for (const std::string_view line : house::lines(section)) {
        if (!line.starts_with("| `")) continue;
        std::string_view cell = line.substr(2, line.find(" | ") - 2);
        while (cell.find('`') != std::string_view::npos) {
            cell.remove_prefix(cell.find('`') + 1);
            const std::size_t end = cell.find('`');
            keys.emplace(cell.substr(0, end));
            cell.remove_prefix(end + 1);
        }
    }
    return keys;
}

} // namespace

TEST_CASE("json: every key is documented, and every documented key is written", "[reports]") {
    const std::set<std::string> in_file = written();
    const std::set<std::string> in_readme = documented();
    REQUIRE(in_file.size() > 40);
    for (const std::string& key : in_file) {
        INFO(key << " is written, but reports/README.md does not document it");
        CHECK(in_readme.contains(key));
    }
    for (const std::string& key : in_readme) {
        INFO(key << " is in reports/README.md, but is not written");
        CHECK(in_file.contains(key));
    }
}

TEST_CASE("json: every kind of finding is documented", "[reports]") {
    const std::filesystem::path root = VERIROCE_SOURCE_DIR;
    const std::string text = house::read_text(root / "reports" / "README.md");
    for (std::size_t i = 0; i < interpreter::kFindingKinds; ++i) {
        const auto kind = static_cast<interpreter::FindingKind>(i);
        INFO(name_of(kind));
        CHECK(text.find("| `" + std::string(name_of(kind)) + "` |") != std::string::npos);
    }
}

} // namespace veriroce::reports::test
