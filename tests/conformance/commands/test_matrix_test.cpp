// `veriroce test --matrix`: what the program prints is what the rows of the defects say.
#include <catch2/catch.hpp>

#include <string_view>

#include "conformance/commands/test_matrix.hpp"

namespace veriroce::commands::test {
namespace {

std::string matrix(std::string_view case_id, std::string_view defect,
                   std::vector<wire::Mtu> mtus = {}) {
    plan::Selection selection;
    selection.mtus = std::move(mtus);
    selection.names = {std::string(case_id)};
    const auto plan = plan::make_plan(selection, {});
    REQUIRE(plan);
    const auto found = mutants::find(defect);
    REQUIRE(found);
    const auto caught = catches(*plan, found->get(), {});
    REQUIRE(caught);
    std::string text;
    for (const CaughtBy& one : *caught)
        text += one.case_id + " " + one.what;
    return text;
}

} // namespace

TEST_CASE("matrix: it names the line or the rule that catches a defect", "[commands]") {
    CHECK(matrix("rsp/gap-nak", "nak_for_every_packet_ahead") == "rsp/gap-nak line 13");
    CHECK(matrix("rdr/response-opcodes", "read_not_in_its_msn") ==
          "rdr/response-opcodes RDR-03 by judge or model");
    CHECK(matrix("enc/hop-limit", "nak_for_every_packet_ahead").empty());
}

TEST_CASE("matrix: a run over another path MTU is played over it", "[commands]") {
    CHECK(matrix("ack/each-kind", "nak_for_every_packet_ahead", {wire::Mtu::B256}).empty());
}

TEST_CASE("matrix: the rows of some defects name what it finds", "[commands]") {
    std::size_t turn = 0;
    for (const mutants::Caught& pair : mutants::caught_by_cases()) {
        if (++turn % 40 != 0) continue;
        INFO(pair.case_id << " with " << pair.mutant);
        CHECK(matrix(pair.case_id, pair.mutant).starts_with(pair.case_id));
    }
    CHECK(turn > 400);
}

} // namespace veriroce::commands::test
