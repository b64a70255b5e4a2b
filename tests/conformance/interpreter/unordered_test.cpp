// Lines that wait, alone and beside others in `unordered`: one loop serves both.
#include <catch2/catch.hpp>

#include "tests/conformance/interpreter/lines.hpp"

namespace veriroce::test {

TEST_CASE("unordered: packets, completions, states and events in any order", "[interpreter]") {
    passes(with("dut    recv id=1\n"
                "> SEND_ONLY  ackreq\n"
                "unordered\n"
                "  dut    done recv id=1\n"
                "  < ACK  psn=0\n"
                "  dut    state RTS\n"
                "end\n"));
    passes(with("> RDMA_WRITE_ONLY  va=abs:0 rkey=abs:0 dmalen=8 len=8 ackreq\n"
                "unordered\n"
                "  dut    event QP_ACCESS_ERR\n"
                "  dut    state ERR\n"
                "  < NAK  code=REMOTE_ACCESS\n"
                "end\n",
                "needs  events\n"));
    passes(with("dut    cq c depth=8\n"
                "dut    recv id=1..2\n"
                "dut    arm c\n"
                "> SEND_ONLY  ackreq\n"
                "> SEND_ONLY  ackreq\n"
                "unordered\n"
                "  dut    notified c\n"
                "  dut    done recv id=1..2\n"
                "  < ACK  psn=1\n"
                "end\n",
                "qp     cq=c\n"));
}

TEST_CASE("unordered: a completion that no open line wants fails, and so does one that is missing",
          "[interpreter]") {
    const CaseResult other = fails(with("dut    recv id=1..2\n"
                                        "> SEND_ONLY  ackreq\n"
                                        "unordered\n"
                                        "  < ACK  psn=0\n"
                                        "  dut    done recv id=2\n"
                                        "end\n"),
                                   "id: expected 2, got 1");
    CHECK(other.line() == 9);
    CHECK(other.actual().starts_with("done recv id=1"));
    const CaseResult none = fails(with("dut    recv id=1\n"
                                       "> SEND_ONLY  ackreq\n"
                                       "unordered\n"
                                       "  < ACK  psn=0\n"
                                       "  dut    event SQ_DRAINED within 5ms\n"
                                       "end\n"),
                                  "expected event SQ_DRAINED, got nothing (waited 5 ms)");
    CHECK(none.line() == 9);
}

TEST_CASE("unordered: COMM_EST may be expected, and may come without a line", "[interpreter]") {
    const std::string header = "qp     state=RTR\n";
    const std::string send = "dut    recv id=1\n"
                             "> SEND_ONLY  ackreq\n";
    passes(with(send + "unordered\n"
                       "  dut    event COMM_EST\n"
                       "  < ACK  psn=0\n"
                       "end\n"
                       "dut    done recv id=1\n",
                header));
    passes(with(send + "< ACK  psn=0\n"
                       "dut    done recv id=1\n",
                header));
}

TEST_CASE("unordered: each line has its own time", "[interpreter]") {
    const auto delayed = [](std::string_view delay, std::string_view line) {
        return with("dut    recv id=1\n"
                    "fault  delay " +
                    std::string(delay) +
                    " when from=dut\n"
                    "> SEND_ONLY  ackreq\n"
                    "unordered\n  " +
                    std::string(line) +
                    "\n"
                    "end\n"
                    "dut    done recv id=1\n");
    };
    fails(delayed("5ms", "< ACK psn=0 within 1ms"), "expected ACK, got nothing (waited 1 ms)");
    passes(delayed("2s", "< ACK psn=0 within 5s"));
}

TEST_CASE("unordered: whole messages, their packets among those of other lines", "[interpreter]") {
    const CaseResult result =
        passes(with("dut    mr a len=16KiB access=remote_read fill=offsets\n"
                    "dut    recv id=1\n"
                    "> RDMA_READ_REQUEST  va=a rkey=a dmalen=3*mtu\n"
                    "> SEND_ONLY          ackreq\n"
                    "unordered\n"
                    "  < ACK                 psn=3\n"
                    "  dut    done recv id=1\n"
                    "  < RDMA_READ_RESPONSE  psn=0 len=3*mtu data=a[0 +3*mtu]\n"
                    "end\n"));
    CHECK(result.line() == 0);
    passes(with("dut    post SEND id=1..2 len=3*mtu\n"
                "unordered\n"
                "  < SEND  psn=3 len=3*mtu\n"
                "  < SEND  psn=0 len=3*mtu\n"
                "end\n"
                "> ACK    psn=5\n"
                "dut    done send id=1..2\n"));
    fails(with("dut    mr a len=16KiB access=remote_read fill=offsets\n"
               "> RDMA_READ_REQUEST  va=a rkey=a dmalen=3*mtu\n"
               "unordered\n"
               "  < RDMA_READ_RESPONSE  psn=0 len=4*mtu\n"
               "end\n"),
          "expected RDMA_READ_RESPONSE_MIDDLE, got RDMA_READ_RESPONSE_LAST");
}

TEST_CASE(
    "waiting: within is held against the packet's own stamp, not against when it was looked at",
    "[interpreter]") {
    // The round trip takes 2 us in virtual time.
    const auto acknowledged = [](std::string_view within, wire::Duration stamp_width) {
        VirtualTestbedOptions device = right_engine();
        device.lab.stamp_width = stamp_width;
        return play_script(with("dut    recv id=1\n"
                                "> SEND_ONLY  ackreq\n"
                                "< ACK  psn=0 within " +
                                std::string(within) +
                                "\n"
                                "dut    done recv id=1\n"),
                           std::move(device));
    };
    CHECK(acknowledged("2us", wire::Duration(0)).verdict == Verdict::Pass);
    CHECK(acknowledged("2us", std::chrono::microseconds(1)).verdict == Verdict::Pass);
    const CaseResult late = acknowledged("1us", wire::Duration(0));
    CHECK(late.verdict == Verdict::Fail);
    CHECK(late.reason() == "time: expected within 1 us, got 2 us: after the line before it");
    const CaseResult noisy = acknowledged("1us", std::chrono::microseconds(2));
    CHECK(noisy.verdict == Verdict::Error);
    CHECK(noisy.reason() ==
          "too noisy to judge: it came 0 ns to 2 us after the line before it, and "
          "the limit is 1 us");
}

TEST_CASE("waiting: what the DUT said instead stands beside the line that was not met",
          "[interpreter]") {
    const CaseResult result = fails(with("dut    recv id=1\n"
                                         "> SEND_ONLY  ackreq\n"
                                         "< NAK  psn=0\n"),
                                    "expected NAK, got nothing (waited ");
    CHECK(result.expected() == "< NAK  psn=0");
    CHECK(result.actual() == "< ACK psn=0 msn=1, and nothing else");
}

TEST_CASE("events: those of a QP in ERR need no line, any other does", "[interpreter]") {
    const std::string refused = "> RDMA_WRITE_ONLY  va=abs:0 rkey=abs:0 dmalen=8 len=8 ackreq\n"
                                "< NAK  code=REMOTE_ACCESS\n";
    passes(with(refused + "dut    event QP_ACCESS_ERR\n"));
    passes(with(refused));
    // The QP has left ERR again: its event has to be somebody's.
    fails(with(refused + "dut    reconnect\n"),
          "unexpected event QP_ACCESS_ERR: no line expects it");
}

} // namespace veriroce::test
