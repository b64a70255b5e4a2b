// Failing scripts made small: what goes, what stays, and that the failure is the same.
#include <catch2/catch.hpp>

#include "conformance/plan/shrink.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

std::expected<Shrunk, std::string> shrunk(std::string_view text, VirtualTestbedOptions device,
                                          std::size_t run = 0) {
    const auto compiled = script::compile("made/up.roce", text);
    if (!compiled) FAIL(compiled.error().front().text("made/up.roce"));
    VirtualTestbed testbed(std::move(device));
    VirtualTestbed right(right_engine());
    return shrink(testbed, compiled->test_case, compiled->runs.at(run), testbed.environment({}),
                  &right);
}

const std::string padded = R"(# A script with more than it needs.
rule   RSP-02 RSP-03
title  "Padded"
role   responder
needs  read
let    spare = 5                                   # nobody uses it
for    n in 1 2
qp     timeout=18

dut    recv id=1..8
dut    mr a len=4KiB access=remote_read
fault  delay 10us when from=dut opcode=RDMA_READ_RESPONSE_ONLY also

> SEND_ONLY  psn=0 ackreq
< ACK        psn=0 msn=1
> RDMA_READ_REQUEST psn=1 va=a rkey=a dmalen=64
< RDMA_READ_RESPONSE_ONLY psn=1
repeat 3
  wait 1ms
  any
    wait 1us
  or
    wait 2us
  end
end
> SEND_ONLY  psn=2+n
< NAK        psn=2 code=PSN_SEQUENCE
> SEND_ONLY  psn=2
dut    done recv id=1..2
)";

} // namespace

TEST_CASE("shrink: a padded script keeps the gap and the NAK that is wrong", "[plan]") {
    const auto mutant = mutants::find("nak_names_the_arrived_psn");
    REQUIRE(mutant.has_value());
    const auto small = shrunk(padded, engine_of(*mutant), 1);
    if (!small) FAIL(small.error());
    INFO(small->text);
    CHECK(small->minimal);
    CHECK(small->result.verdict == Verdict::Fail);
    CHECK(small->result.expected() == "< NAK        psn=2 code=PSN_SEQUENCE");
    CHECK(small->text == R"(rule   RSP-02 RSP-03
title  "Padded"
role   responder
for    n in 2

dut    recv id=1..8
dut    mr a len=4KiB access=remote_read
> SEND_ONLY  psn=0 ackreq
> RDMA_READ_REQUEST psn=1 va=a rkey=a dmalen=64
< RDMA_READ_RESPONSE_ONLY psn=1
> SEND_ONLY  psn=2+n
< NAK        psn=2 code=PSN_SEQUENCE
> SEND_ONLY  psn=2
dut    done recv id=1..2
)");
    // It still tells a right device from a wrong one.
    CHECK(play_script(small->text, right_engine()).verdict == Verdict::Pass);
    CHECK(play_script(small->text, engine_of(*mutant)).verdict == Verdict::Fail);
}

TEST_CASE("shrink: no line of the result can go", "[plan]") {
    const auto mutant = mutants::find("read_not_in_its_msn");
    REQUIRE(mutant.has_value());
    const auto small = shrunk(padded + "expect a == offsets\n", engine_of(*mutant));
    if (!small) FAIL(small.error());
    CHECK(small->result.verdict == Verdict::Fail);
    const auto again = shrunk(small->text, engine_of(*mutant));
    REQUIRE(again.has_value());
    CHECK(again->text == small->text);
}

TEST_CASE("shrink: what does not fail is not made small", "[plan]") {
    const auto small = shrunk("rule   RSP-01\n"
                              "title  \"Right\"\n"
                              "role   responder\n"
                              "\n"
                              "> SEND_ONLY  psn=0 tver=1\n"
                              "dropped\n",
                              right_engine());
    REQUIRE_FALSE(small.has_value());
    CHECK(small.error() == "the case does not fail by itself: it is PASS");
}

} // namespace veriroce::test
