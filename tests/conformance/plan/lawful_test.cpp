// No case blames a device that keeps every rule and behaves unusually.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "tests/conformance/plan/playing.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {
namespace {

using Ids = std::set<std::string>;

// Cases that still blame a lawful oddity: each is wrong, and waits for what its reason names.
struct Blamed {
    std::string_view oddity;
    Ids cases;
    std::string_view why;
};

const std::vector<Blamed>& known_blame() {
    static const std::vector<Blamed> list{};
    return list;
}

Ids known_blame_of(std::string_view oddity) {
    const auto row = std::ranges::find(known_blame(), oddity, &Blamed::oddity);
    return row == known_blame().end() ? Ids{} : row->cases;
}

// The cases of which a run fails or ends as an error; what was said goes to `told`.
Ids blamed_by(const Selection& selection, VirtualTestbedOptions device, std::string& told) {
    Ids ids;
    for (const CaseResult& result : play_suite(selection, std::move(device))) {
        if (result.verdict != Verdict::Fail && result.verdict != Verdict::Error) continue;
        ids.insert(result.id.substr(0, result.id.find('[')));
        told += text_of(result) + "\n";
    }
    return ids;
}

Selection over(std::uint8_t ip_version) {
    Selection selection = over_both();
    selection.ip_versions = {ip_version};
    return selection;
}

void blames_nobody(std::size_t part, std::size_t parts) {
    const auto oddities = part_of(mutants::lawful(), part, parts);
    REQUIRE_FALSE(oddities.empty());
    for (const mutants::Mutant& oddity : oddities) {
        std::string told;
        Ids blamed = blamed_by(over(4), engine_of(oddity), told);
        VirtualTestbedOptions slow = engine_of(oddity);
        slow.lab = real_lab;
        told += "in a slow lab:\n";
        blamed.merge(blamed_by(over(6), std::move(slow), told));
        INFO("device " << oddity.name << ": " << oddity.description << "\n" << told);
        CHECK(blamed == known_blame_of(oddity.name));
    }
}

} // namespace

TEMPLATE_TEST_CASE_SIG("suite: no case fails on a lawful oddity", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                       15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                       34, 35, 36, 37, 38, 39) {
    blames_nobody(part, 40);
}

TEST_CASE("suite: there are lawful oddities of many kinds", "[suite][mutants]") {
    CHECK(mutants::lawful().size() >= 60);
    for (const Blamed& row : known_blame()) {
        INFO(row.oddity << ": " << row.why);
        CHECK_FALSE(row.why.empty());
        CHECK(mutants::find(row.oddity).has_value());
    }
}

} // namespace veriroce::test
