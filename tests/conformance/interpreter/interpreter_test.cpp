// The interpreter, by small scripts against the built-in engine: which verdict a line gives that is
// met or not, and what the result says of it.
#include <catch2/catch.hpp>

#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/host_steps.hpp"
#include "tests/conformance/interpreter/lines.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

bool remarked(const CaseResult& result, std::string_view remark) {
    for (const RecordedPacket& packet : result.packets) {
        for (const std::string& one : packet.remarks) {
            if (one.find(remark) != std::string::npos) return true;
        }
    }
    return false;
}

// What a result must say; what is empty is not compared.
struct Wanted {
    Verdict verdict = Verdict::Pass;
    std::string reason;
    std::string expected;
    std::string actual;
    std::uint32_t line = 0;
};

CaseResult check(const std::string& script, const Wanted& wanted) {
    CaseResult result = play_script(script);
    INFO(script << "\n" << text_of(result));
    CHECK(result.verdict == wanted.verdict);
    CHECK(result.reason() == wanted.reason);
    CHECK(result.expected() == wanted.expected);
    CHECK(result.actual() == wanted.actual);
    CHECK(result.line() == wanted.line);
    return result;
}

// "0 post SEND id=1 ...": each step after the place of the packet that came next.
std::vector<std::string> steps_of(const CaseResult& result) {
    std::vector<std::string> steps;
    for (const interpreter::HostStep& step : result.host)
        steps.push_back(std::to_string(step.before) + " " + step.text);
    return steps;
}

bool has_step(const std::vector<std::string>& steps, std::string_view step) {
    return std::ranges::find(steps, step) != steps.end();
}

} // namespace

TEST_CASE("interpreter: an answer with another field fails, both sides told", "[interpreter]") {
    const CaseResult result = check(with("dut    recv id=1\n"
                                         "> SEND_ONLY  psn=0 ackreq\n"
                                         "< ACK        psn=0 msn=2 exact\n"),
                                    {.verdict = Verdict::Fail,
                                     .reason = "msn: expected 2, got 1 (waited 1 s)",
                                     .expected = "< ACK        psn=0 msn=2 exact",
                                     .actual = "< ACK psn=0 msn=1",
                                     .line = 7});
    CHECK(result.rules == std::vector<std::string>{"RSP-01"});
    CHECK(result.title == "made up");
    CHECK(result.id == "made/up");
    REQUIRE(result.packets.size() == 2);
    CHECK(result.packets[0].from == Side::Tester);
    CHECK(result.packets[1].from == Side::Dut);
    CHECK(remarked(result, "not what line 7 expects"));
}

TEST_CASE("interpreter: another packet than the expected one fails", "[interpreter]") {
    const CaseResult result = check(with("dut    recv id=1\n"
                                         "> SEND_ONLY  psn=1 ackreq\n"
                                         "< RNR_NAK    psn=1\n"),
                                    {.verdict = Verdict::Fail,
                                     .reason = "expected RNR_NAK, got NAK; psn: expected 1, got 0",
                                     .expected = "< RNR_NAK    psn=1",
                                     .actual = "< NAK psn=0 msn=0 code=PSN_SEQUENCE",
                                     .line = 7});
    CHECK(remarked(result, "not what line 7 expects"));
}

TEST_CASE("interpreter: an ACK that no line names may not count more than was sent",
          "[interpreter]") {
    const std::string two_sends = with("dut    recv id=1..2\n"
                                       "> SEND_ONLY  psn=0 ackreq\n"
                                       "> SEND_ONLY  psn=1 ackreq\n"
                                       "< ACK        psn=1\n"
                                       "dut    done recv id=1..2\n");
    check(two_sends, {});
    const CaseResult result = play_script(two_sends, engine_of(*mutants::find("msn_two_too_high")));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.line() == 8);
    CHECK(result.actual() == "< ACK psn=0 msn=3");
}

TEST_CASE("interpreter: a packet that does not come fails after its time", "[interpreter]") {
    const CaseResult result = check(with("dut    recv id=1\n"
                                         "> SEND_ONLY  psn=0 icrc=bad\n"
                                         "< ACK        psn=0 within 20ms\n"),
                                    {.verdict = Verdict::Fail,
                                     .reason = "expected ACK, got nothing (waited 20 ms)",
                                     .expected = "< ACK        psn=0 within 20ms",
                                     .actual = "nothing",
                                     .line = 7});
    CHECK(result.packets.size() == 1);
}

TEST_CASE("interpreter: a packet behind the last line that no line expects fails",
          "[interpreter]") {
    const CaseResult result = check(with("> SEND_ONLY  psn=1 ackreq\n"),
                                    {.verdict = Verdict::Fail,
                                     .reason = "unexpected NAK: no line expects it",
                                     .actual = "< NAK psn=0 msn=0 code=PSN_SEQUENCE"});
    CHECK(remarked(result, "no line expects it"));
}

TEST_CASE("interpreter: a completion that no line expects fails", "[interpreter]") {
    check(with("dut    recv id=7\n"
               "> SEND_ONLY  psn=0 ackreq\n"
               "< ACK        psn=0\n"),
          {.verdict = Verdict::Fail,
           .reason = "unexpected recv completion id=7: no line expects it",
           .actual = "done recv id=7 status=SUCCESS len=64 opcode=RECV"});
}

TEST_CASE("interpreter: the level of the case is the verdict of its failure", "[interpreter]") {
    const std::string dialogue = "dut    recv id=1\n"
                                 "> SEND_ONLY  psn=0 ackreq\n"
                                 "< NAK        psn=0\n";
    CHECK(play_script(with(dialogue, "level  MUST\n")).verdict == Verdict::Fail);
    CHECK(play_script(with(dialogue, "level  SHOULD\n")).verdict == Verdict::Warn);
    CHECK(play_script(with(dialogue, "level  INFO\n")).verdict == Verdict::Info);
}

TEST_CASE("interpreter: an alternative that is met passes", "[interpreter]") {
    check(with("dut    recv id=1\n"
               "> SEND_ONLY  psn=0 ackreq\n"
               "any\n"
               "  < NAK  psn=0\n"
               "or\n"
               "  < ACK  psn=0\n"
               "end\n"
               "dut    done recv id=1\n"),
          {});
}

TEST_CASE("interpreter: a packet that needs no line hides none behind it from the alternatives",
          "[interpreter]") {
    check(with("dut    recv id=1..2\n"
               "> SEND_ONLY  psn=0 ackreq\n"
               "> SEND_ONLY  psn=1 ackreq\n"
               "wait   5ms\n"
               "any\n"
               "  < NAK  psn=1\n"
               "or\n"
               "  < ACK  psn=1\n"
               "end\n"
               "dut    done recv id=1..2\n"),
          {});
}

TEST_CASE("interpreter: an alternative that is lawful but unwise warns with its sentence",
          "[interpreter]") {
    check(with("dut    recv id=1\n"
               "> SEND_ONLY  psn=0 ackreq\n"
               "any\n"
               "  < NAK  psn=0\n"
               "or warn \"an ACK is not what we hoped for\"\n"
               "  < ACK  psn=0\n"
               "end\n"
               "dut    done recv id=1\n"),
          {.verdict = Verdict::Warn, .reason = "an ACK is not what we hoped for", .line = 9});
}

TEST_CASE("interpreter: silence may be an alternative", "[interpreter]") {
    check(with("dut    recv id=1\n"
               "> SEND_ONLY  psn=0 tver=1\n"
               "any\n"
               "  < NAK  psn=0\n"
               "or\n"
               "  dropped\n"
               "end\n"),
          {});
}

class StopsTaking final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram /*datagram*/, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& /*in*/,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {}
};

class WrapsTwice final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        std::vector<std::byte> frame(wire::kMaxFrameOverhead + datagram.bytes.size());
        frame.resize(wire::write_frame({}, datagram.envelope, 1, datagram.bytes, {}, frame));
        datagram.bytes.assign(frame.begin() + wire::Ethernet::kSize, frame.end());
        out.push_back(std::move(datagram));
    }
};

TEST_CASE("interpreter: a device that takes no packet any more fails at every level",
          "[interpreter][N-04]") {
    const CaseResult result = play_script(with("dut    recv id=1\n"
                                               "> SEND_ONLY  psn=0 tver=1 ackreq\n"
                                               "dropped\n",
                                               "level  INFO\n"),
                                          engine_behind<StopsTaking>());
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason().ends_with(
        "'dropped' then sends a good SEND, which the DUT must acknowledge"));
}

TEST_CASE("interpreter: what goes to nobody stands beside the line that waits in vain",
          "[interpreter]") {
    const CaseResult result = play_script(with("dut    recv id=1\n"
                                               "> SEND_ONLY  psn=0 ackreq\n"
                                               "< ACK        psn=0\n"),
                                          engine_behind<WrapsTwice>());
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.actual() == "< ACK wrapped twice: IP, UDP and BTH come once more behind UDP");
}

TEST_CASE("interpreter: none of the alternatives fails with what came", "[interpreter]") {
    const CaseResult result = play_script(with("> SEND_ONLY  psn=1 ackreq\n"
                                               "any\n"
                                               "  < ACK      psn=1\n"
                                               "or\n"
                                               "  < RNR_NAK  psn=1\n"
                                               "end\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason() == "expected one of the alternatives, got < NAK psn=0 msn=0 "
                             "code=PSN_SEQUENCE");
    CHECK(result.actual() == "< NAK psn=0 msn=0 code=PSN_SEQUENCE");
    CHECK(result.expected() == "any of: < ACK      psn=1; or: < RNR_NAK  psn=1");
}

TEST_CASE("interpreter: unordered lines are met in any order, each once", "[interpreter]") {
    const std::string two_sends = "dut    post SEND id=1..2\n"
                                  "unordered\n"
                                  "  < SEND_ONLY  psn=1\n"
                                  "  < SEND_ONLY  psn=0\n"
                                  "end\n"
                                  "> ACK        psn=1\n"
                                  "dut    done send id=1..2\n";
    check(with(two_sends), {});
    const CaseResult result = play_script(with("dut    post SEND id=1..2\n"
                                               "unordered\n"
                                               "  < SEND_ONLY  psn=0\n"
                                               "  < SEND_ONLY  psn=2\n"
                                               "  < SEND_ONLY  psn=3\n"
                                               "end\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason() ==
          "unexpected SEND_ONLY: line 6 allows none: no line that is waiting expects it");
    CHECK(result.actual().starts_with("< SEND_ONLY psn=1"));
}

TEST_CASE("interpreter: what is forbidden must not come, before or within the time",
          "[interpreter]") {
    const CaseResult result = check(with("> SEND_ONLY  psn=1 ackreq\n"
                                         "no NAK psn=0\n"),
                                    {.verdict = Verdict::Fail,
                                     .reason = "unexpected NAK: line 6 allows none for 50 ms",
                                     .expected = "no NAK psn=0",
                                     .actual = "< NAK psn=0 msn=0 code=PSN_SEQUENCE",
                                     .line = 6});
    CHECK(remarked(result, "line 6 forbids it"));
    check(with("> SEND_ONLY  psn=1 ackreq\n"
               "no ACK\n"
               "< NAK        psn=0\n"),
          {});
}

TEST_CASE("interpreter: a QP that answers is not quiet and has dropped nothing", "[interpreter]") {
    for (const std::string line : {"quiet", "dropped"}) {
        const CaseResult result = play_script(with("dut    recv id=1\n"
                                                   "> SEND_ONLY  psn=0 ackreq\n" +
                                                   line + "\n"));
        INFO(line << "\n" << text_of(result));
        CHECK(result.verdict == Verdict::Fail);
        CHECK(result.line() == 7);
        CHECK(result.expected() == line);
        CHECK(result.actual() == "< ACK psn=0 msn=1");
    }
}

TEST_CASE("interpreter: a bound on the time between packets is judged", "[interpreter]") {
    const std::string up_to_time = "dut    post SEND id=1\n"
                                   "< SEND_ONLY  psn=0\n"
                                   "< SEND_ONLY  psn=0 within 5s after ";
    const std::string rest = "\n> ACK        psn=0\n"
                             "dut    done send id=1\n";
    const std::string timer = "qp     timeout=14 retry_cnt=7\n";
    check(with(up_to_time + "timeout(14)..4*timeout(14)" + rest, timer), {});
    const CaseResult result = play_script(with(up_to_time + "0ns..1ms" + rest, timer));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason().ends_with(" counted from the packet before it on this QP"));
    CHECK(result.line() == 8);
}

TEST_CASE("interpreter: times that a case measures are in its result", "[interpreter]") {
    const CaseResult result = play_script(with("dut    recv id=1..3\n"
                                               "repeat i in 0..2\n"
                                               "  > SEND_ONLY  psn=i ackreq\n"
                                               "  < ACK        psn=i measure rtt\n"
                                               "end\n"
                                               "dut    done recv id=1..3\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    REQUIRE(result.measures.size() == 1);
    // Twice the delay of the virtual link.
    CHECK(result.measures.at("rtt") ==
          std::vector<wire::Duration>(3, std::chrono::microseconds(2)));
}

TEST_CASE("interpreter: a fault that fires as often as it should is counted", "[interpreter]") {
    const CaseResult result = play_script(with("dut    recv id=1\n"
                                               "fault  drop when from=tester psn=0 pass=1 fires=1\n"
                                               "> SEND_ONLY  psn=0 ackreq\n"
                                               "> SEND_ONLY  psn=0 ackreq\n"
                                               "< ACK        psn=0\n"
                                               "dut    done recv id=1\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    REQUIRE(result.faults.size() == 1);
    CHECK(result.faults[0].fired == 1);
    CHECK(result.faults[0].rule.find("drop") != std::string::npos);
    CHECK(remarked(result, "drop"));
}

TEST_CASE("interpreter: a fault that never fires makes the case an ERROR", "[interpreter]") {
    const CaseResult result = play_script(with("dut    recv id=1\n"
                                               "fault  drop when from=tester psn=77 fires=1\n"
                                               "> SEND_ONLY  psn=0 ackreq\n"
                                               "< ACK        psn=0\n"
                                               "dut    done recv id=1\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Error);
    CHECK_FALSE(result.reason().empty());
    REQUIRE(result.faults.size() == 1);
    CHECK(result.faults[0].fired == 0);
}

TEST_CASE("interpreter: a completion with another status fails", "[interpreter]") {
    const CaseResult result = play_script(with("dut    post SEND id=1\n"
                                               "< SEND_ONLY  psn=0\n"
                                               "> NAK        psn=0 code=REMOTE_OPERATIONAL\n"
                                               "dut    done send id=1\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.line() == 8);
    CHECK(result.expected() == "dut    done send id=1");
    CHECK(result.actual().find("REM_OP_ERR") != std::string::npos);
}

TEST_CASE("interpreter: a region of the tester that the DUT wrote is not untouched",
          "[interpreter]") {
    const std::string written = "dut    mr d len=64 fill=random\n"
                                "tester mr a len=4KiB fill=zero access=remote_write\n"
                                "tester write a[8 +8] = ones\n"
                                "tester answers\n";
    check(with(written + "expect a untouched\n"), {});
    const CaseResult result =
        play_script(with(written + "dut    post RDMA_WRITE id=1 local=d remote=a[64 +64]\n"
                                   "dut    done send id=1\n"
                                   "expect a untouched\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason().find("data: expected 00 00 00 00 00 00 00 00 from byte 64 on, got ") ==
          0);
}

TEST_CASE("interpreter: a region that a WRITE changed is not untouched", "[interpreter]") {
    const std::string written =
        "dut    mr a len=4KiB access=remote_write fill=zero\n"
        "> RDMA_WRITE  psn=0 va=a+8 rkey=a len=8 data=hex\"0102030405060708\""
        " ackreq\n"
        "< ACK         psn=0\n";
    check(with(written + "expect a[8 +8] == hex\"0102030405060708\"\n"), {});
    const CaseResult result = play_script(with(written + "expect a untouched\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.expected() == "expect a untouched");
    CHECK_FALSE(result.actual().empty());
}

TEST_CASE("interpreter: memory with other bytes than expected fails and says where",
          "[interpreter]") {
    const CaseResult result =
        play_script(with("dut    mr a len=4KiB access=remote_write fill=zero\n"
                         "expect a[0 +8] == ones\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.line() == 6);
    CHECK_FALSE(result.actual().empty());
}

TEST_CASE("interpreter: a verb that the device must refuse and takes fails", "[interpreter]") {
    check(with("dut    refuses modify state=INIT\n"), {});
    const CaseResult result = play_script(with("dut    refuses modify state=ERR\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.expected() == "dut    refuses modify state=ERR");
}

TEST_CASE("interpreter: two QPs of a case do not claim each other's packets", "[interpreter]") {
    check(with("dut    recv id=1\n"
               "dut    recv b id=2\n"
               "> SEND_ONLY    psn=0 ackreq\n"
               "b > SEND_ONLY  psn=0 destqp=b ackreq\n"
               "b < ACK        psn=0 msn=1\n"
               "< ACK          psn=0 msn=1\n"
               "dut    done recv id=1\n"
               "dut    done b recv id=2\n",
               "qp     b\n"),
          {});
}

TEST_CASE("host steps: posts, states, completions and events stand between the packets",
          "[interpreter]") {
    const CaseResult result =
        passes(with("dut    mr a len=64\n"
                    "tester mr t len=64 access=remote_write\n"
                    "dut    recv id=3..4\n"
                    "dut    post SEND id=1 len=5 inline unsignaled\n"
                    "dut    post RDMA_WRITE id=2 local=a[0 +3] fence remote=t\n"
                    "< SEND_ONLY  psn=0\n"
                    "< RDMA_WRITE_ONLY  psn=1\n"
                    "dut    modify state=SQD en_sqd_async_notify=1\n"
                    "> ACK  psn=1 msn=2\n"
                    "dut    done send id=2\n"
                    "dut    event SQ_DRAINED\n",
                    "needs  sqd events\nqp     inline=64\n"));
    const std::vector<std::string> expected{
        "0 modify state=INIT",
        "0 modify state=RTR",
        "0 modify state=RTS",
        "0 recv id=3..4",
        "0 post SEND id=1 len=5 inline unsignaled",
        "0 post RDMA_WRITE id=2 len=3 fence",
        "2 modify state=SQD",
        "3 done send id=2 status=SUCCESS len=0 opcode=RDMA_WRITE",
        "3 event SQ_DRAINED"};
    CHECK(steps_of(result) == expected);
    CHECK(std::ranges::is_sorted(result.host, {}, &interpreter::HostStep::at));
}

TEST_CASE("host steps: each of several QPs has its name, and a refusal its reason",
          "[interpreter]") {
    const CaseResult result = passes(with("dut    recv b id=1\n"
                                          "b > SEND_ONLY  ackreq\n"
                                          "b < ACK  psn=0\n"
                                          "dut    done b recv id=1\n"
                                          "dut    modify state=RESET\n"
                                          "dut    refuses modify state=RTS\n",
                                          "qp     a\nqp     b\n"));
    const std::vector<std::string> steps = steps_of(result);
    CHECK(has_step(steps, "0 b recv id=1"));
    CHECK(has_step(steps, "2 b done recv id=1 status=SUCCESS len=64 opcode=RECV"));
    CHECK(has_step(steps, "2 modify state=RTS: refused, EINVAL"));
}

TEST_CASE("dut calls: a device may refuse to go back to RTS, not to go there", "[interpreter]") {
    using interpreter::Demand;
    const auto demand = [](dut::QpAttributes attributes) {
        return interpreter::demand_of(dut::QpModify{.attributes = std::move(attributes)}, {});
    };
    CHECK(demand({.state = engine::QpState::Rts}) == Demand::Optional);
    CHECK(demand({.state = engine::QpState::Rts, .sq_psn = wire::Psn{1}}) == Demand::Basic);
    CHECK(demand({.state = engine::QpState::Rtr}) == Demand::Basic);
}

TEST_CASE("host steps: a case keeps the first thousand", "[interpreter]") {
    const CaseResult result = passes(with("repeat i in 0..59\n"
                                          "  repeat 20\n"
                                          "    dut  modify min_rnr_timer=1\n"
                                          "  end\n"
                                          "end\n"
                                          "> SEND_ONLY  ackreq\n"
                                          "< RNR_NAK  psn=0\n"));
    CHECK(result.host.size() == interpreter::kHostStepsThatShow);
}

} // namespace veriroce::test
