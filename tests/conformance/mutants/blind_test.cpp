// The samples that were written blind: each entry is a defect of its own, which names its
// rule.
#include <set>

#include <catch2/catch.hpp>

#include "conformance/mutants/mutants.hpp"
#include "conformance/rules/rules.hpp"

using namespace veriroce;
using mutants::Mutant;

namespace {

std::vector<Mutant> all_samples() {
    std::vector<Mutant> list;
    for (const auto& sample : mutants::blind_samples())
        list.insert(list.end(), sample.begin(), sample.end());
    return list;
}

} // namespace

TEST_CASE("blind: no sample has lost a defect", "[mutants]") {
    CHECK(mutants::blind(1).size() == 75);
    CHECK(mutants::blind(2).size() == 45);
    CHECK(mutants::blind(3).size() == 50);
    CHECK(mutants::blind(4).size() == 56);
    CHECK(mutants::blind(5).size() == 56);
    CHECK(mutants::blind(6).size() == 48);
    CHECK(mutants::blind(7).size() == 53);
    CHECK(mutants::blind(8).size() == 57);
    CHECK(mutants::blind(9).size() == 60);
    CHECK(mutants::blind(10).size() == 44);
    CHECK(mutants::blind(11).size() == 50);
    CHECK(mutants::blind(12).size() == 56);
    CHECK(mutants::blind(13).size() == 56);
    CHECK(mutants::blind(14).size() == 56);
    CHECK(mutants::blind(15).size() == 56);
    CHECK(mutants::blind(16).size() == 56);
    CHECK(mutants::blind(17).size() == 56);
    CHECK(mutants::blind(18).size() == 56);
    CHECK(mutants::blind(19).size() == 55);
    CHECK(mutants::blind(20).size() == 56);
    CHECK(mutants::blind(21).size() == 53);
    CHECK(mutants::blind(22).size() == 56);
    CHECK(mutants::blind(23).size() == 56);
    CHECK(mutants::blind(24).size() == 56);
}

TEST_CASE("blind: each defect has a name that no other has, and is found by it", "[mutants]") {
    std::set<std::string_view> names;
    for (const auto& list : {mutants::all(), mutants::lawful()}) {
        for (const Mutant& one : list)
            names.insert(one.name);
    }
    for (const Mutant& one : all_samples()) {
        INFO(one.name);
        CHECK(names.insert(one.name).second);
        REQUIRE(mutants::find(one.name));
        CHECK(mutants::find(one.name)->get().description == one.description);
    }
}

TEST_CASE("blind: each defect breaks a rule of the catalogue, and differs from the right engine",
          "[mutants]") {
    for (const Mutant& one : all_samples()) {
        INFO(one.name);
        CHECK(rules::catalogue().contains(one.rule));
        CHECK((one.level == "MUST" || one.level == "SHOULD"));
        CHECK((one.make_filter != nullptr || !(one.checks == engine::kStandardChecks)));
    }
}
