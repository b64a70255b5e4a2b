// What the tester does by itself while a line waits, so that lawful devices meet the line.
#include <catch2/catch.hpp>

#include "tests/conformance/interpreter/lines.hpp"

namespace veriroce::test {
namespace {

using namespace std::chrono_literals;

CaseResult play_on(const std::string& script, const engine::Behaviour& behaviour,
                   std::vector<std::string> traits = {}) {
    VirtualTestbedOptions device = right_engine();
    device.engine.behaviour = behaviour;
    device.traits = std::move(traits);
    CaseResult result = play_script(script, std::move(device));
    UNSCOPED_INFO(script << "\n" << text_of(result));
    return result;
}

std::size_t requests_of(const CaseResult& result, Side side) {
    return static_cast<std::size_t>(
        std::ranges::count_if(result.packets, [&](const RecordedPacket& packet) {
            const bool answer = packet.script.find("ACK") != std::string::npos ||
                                packet.script.find("RESPONSE") != std::string::npos;
            return packet.from == side && !answer;
        }));
}

const std::string write_zero = "dut    mr a len=4KiB access=remote_write,remote_read\n"
                               "> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 ackreq\n";

} // namespace

// --- RNR-03 -----------------------------------------------------------------------------------

TEST_CASE("honest peer: an RNR NAK is obeyed", "[interpreter][RNR-03]") {
    // Timer code 1: 10 us. The fault turns the first answer into the NAK.
    const std::string busy =
        "fault  rewrite syndrome=0x21 msn=0 when from=dut opcode=acks psn=0 pass=1\n";
    const CaseResult once = passes(with(busy + write_zero + "< ACK  psn=0 msn=1\n"));
    CHECK(requests_of(once, Side::Tester) == 2);
    const std::string later = busy + write_zero +
                              "> RDMA_WRITE_ONLY  psn=1 va=a rkey=a len=64\n"
                              "> RDMA_WRITE_ONLY  psn=2 va=a rkey=a len=64 ackreq\n"
                              "< ACK  psn=2 msn=3\n";
    CHECK(requests_of(passes(with(later)), Side::Tester) == 6);
    passes(with(busy + write_zero + "any\n  < ACK  psn=0 msn=1\nor\n  < NAK  psn=0\nend\n"));
    passes(with(busy + "dut    recv id=1\n> SEND_ONLY  psn=0 ackreq\nany\n  < ACK  psn=0\n"
                       "  dut    done recv id=1\nor\n  wait 0ns\nend\n")); // it breaks no silence
    passes(with(busy + write_zero));                                       // also at the end
    fails(with("fault  rewrite syndrome=0x21 msn=0 when from=dut opcode=acks\n" + write_zero +
               "< ACK  psn=0 msn=1\n"),
          "the DUT refused the request 9 times");
    // A device may fetch a receive later than it is posted.
    passes(with(busy + "dut    recv id=1\n> SEND_ONLY  psn=0 ackreq\n< ACK  psn=0\n"
                       "dut    done recv id=1\n"));
}

TEST_CASE("honest peer: an RNR NAK of an answered request is not obeyed", "[interpreter][RNR-03]") {
    fails(with("fault  rewrite syndrome=0x21 when from=dut opcode=acks psn=0 pass=2\n" +
               write_zero +
               "< ACK  psn=0 msn=1\n"
               "> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 ackreq\n"
               "< ACK  psn=0 msn=1 exact\n"),
          "expected ACK, got RNR_NAK");
}

namespace {

// A dialogue of the explorer, on a device that refuses each plain request once.
CaseResult passes_on_busy(const std::string& dialogue) {
    const mutants::Mutant& busy = mutants::find("every_rnr_for_write")->get();
    CaseResult result = play_script(with(dialogue, "tags   unscripted\n"), engine_of(busy));
    INFO(dialogue << text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    return result;
}

const std::string atomics = "dut    mr a len=64 access=remote_read,remote_write,remote_atomic\n"
                            "dut    recv id=1\n";

} // namespace

// Elsewhere the timers of other QPs run meanwhile.
TEST_CASE("honest peer: an RNR NAK is obeyed at once while a line waits for something else",
          "[interpreter][RNR-03]") {
    const CaseResult completed = passes_on_busy(atomics + "> FETCH_ADD  psn=0 va=a rkey=a add=1\n"
                                                          "> SEND_ONLY  psn=1 ackreq\n"
                                                          "dut    done recv id=1 within 60s\n");
    CHECK(completed.packets.back().at.latest - completed.packets.front().at.earliest < 10ms);
    const CaseResult waited = passes_on_busy(atomics + "> FETCH_ADD  psn=0 va=a rkey=a add=1\n"
                                                       "wait 2ms\n"
                                                       "dut    modify access=remote_read\n"
                                                       "> SEND_ONLY  psn=1 ackreq\n"
                                                       "< ACK        psn=1\n");
    CHECK(requests_of(waited, Side::Tester) == 3);
}

TEST_CASE("honest peer: all requests behind a refused one are sent again, in their order",
          "[interpreter][RNR-03]") {
    passes_on_busy(atomics + "> RDMA_READ_REQUEST  psn=0 va=a rkey=a dmalen=64\n"
                             "> RDMA_WRITE_ONLY    psn=1 va=a rkey=a len=8\n"
                             "> RDMA_READ_REQUEST  psn=0 va=a rkey=a dmalen=64\n"
                             "> RDMA_WRITE_ONLY    psn=2 va=a rkey=a len=8 ackreq\n"
                             "< ACK                psn=2\n");
    // What no receiver took is not what was refused.
    passes_on_busy(atomics + "> FETCH_ADD  psn=0 va=a rkey=a add=1\n"
                             "> SEND_ONLY  psn=0 icrc=bad\n"
                             "> SEND_ONLY  psn=1 ackreq\n"
                             "dut    done recv id=1\n");
}

// --- TMO-03 -----------------------------------------------------------------------------------

// The tester waits as long as an RNR NAK asks for, and meanwhile the DUT's own request fails.
TEST_CASE("honest peer: a dialogue ends where the DUT has used up its retries",
          "[interpreter][TMO-03]") {
    const std::string waits = // timer code 26: 82 ms
        "fault  rewrite syndrome=0x3A msn=0 when from=dut opcode=acks psn=0 pass=1\n";
    const auto verdict = [](std::string_view tags, const std::string& faults) {
        return play_on("rule   RSP-01\ntitle  \"made up\"\nrole   both\n" + std::string(tags) +
                           "qp     timeout=8 retry_cnt=1\n\n" + faults +
                           "dut    post SEND id=2 len=0\n" + write_zero + "< ACK  psn=0 msn=1\n",
                       {})
            .verdict;
    };
    const std::string unscripted = "tags   unscripted\n";
    CHECK(verdict(unscripted, waits) == Verdict::Pass);
    CHECK(verdict("", waits) != Verdict::Pass);
    // A device has no excuse if it did not make the tester wait, or if it gave up at once.
    CHECK(verdict(unscripted, "fault  drop when from=dut opcode=acks\n") == Verdict::Fail);
    CHECK(verdict(unscripted, waits + "fault  drop when from=dut opcode=data\n") == Verdict::Fail);
}

// --- RNR-04 -----------------------------------------------------------------------------------

TEST_CASE("honest peer: a sequence NAK after an RNR NAK meets no line, and is a WARN",
          "[interpreter][RNR-04]") {
    const std::string refused = "dut    mr a len=16KiB\n"
                                "> SEND     psn=0 len=mtu+60 ackreq\n"
                                "< RNR_NAK  psn=0 msn=0\n";
    const std::string retried = "dut    recv id=1 local=a\n"
                                "> SEND     psn=0 len=mtu+60 ackreq  after rnr(timer)\n"
                                "< ACK      psn=1 msn=1\n"
                                "dut    done recv id=1\n";
    const mutants::Mutant& chatty = mutants::find("without_one_nak")->get();
    const CaseResult warned = play_script(with(refused + retried), engine_of(chatty));
    INFO(text_of(warned));
    CHECK(warned.verdict == Verdict::Warn);
    REQUIRE(warned.violations.size() == 1);
    CHECK(warned.violations.front().rule == "RNR-04");
    const CaseResult silent = play_script(with(refused + "no NAK\n" + retried), engine_of(chatty));
    CHECK(silent.verdict == Verdict::Fail);
}

// --- RDR-04, ATM-04, RSP-10 -------------------------------------------------------------------

TEST_CASE("honest peer: a duplicate without an answer is sent three times",
          "[interpreter][RDR-04][RSP-10]") {
    const std::string again = write_zero + "< ACK  psn=0 msn=1\n"
                                           "> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 ackreq\n";
    const std::string answered = "< ACK  psn=0 msn=1 exact\n";
    const auto lost = [](std::string_view passes_of_it) {
        return "fault  drop when from=tester psn=0 pass=" + std::string(passes_of_it) + "\n";
    };
    CHECK(requests_of(passes(with(lost("2") + again + answered)), Side::Tester) == 3);
    CHECK(requests_of(passes(with(lost("2..3") + again + answered)), Side::Tester) == 4);
    passes(with(lost("2..3") + again + "any\n  " + answered + "or\n  < NAK psn=0\nend\n"));
    const CaseResult never = fails(with(lost("2..4") + again + answered), "expected ACK, got");
    CHECK(requests_of(never, Side::Tester) == 4);
    // What is no duplicate is sent once.
    fails(with(lost("1") + write_zero + "< ACK  psn=0 msn=1\n"), "expected ACK, got nothing");
}

// --- REQ-02 -----------------------------------------------------------------------------------

TEST_CASE("honest peer: what waits for an answer before it comes is answered",
          "[interpreter][REQ-02]") {
    const engine::Behaviour one{.ack_request_every = 1, .max_unacked_packets = 1};
    const std::string two = "dut    post SEND id=1..2\n"
                            "< SEND_ONLY  psn=0\n"
                            "< SEND_ONLY  psn=1\n";
    CHECK(play_on(with(two + "> ACK  psn=1\ndut    done send id=1..2\n"), one).verdict ==
          Verdict::Pass);
    const std::string refused = two + "> NAK  psn=0 code=REMOTE_ACCESS\n"
                                      "dut    done send id=1 status=REM_ACCESS_ERR\n"
                                      "dut    done send id=2 status=WR_FLUSH_ERR\n"
                                      "dut    state ERR\n";
    CHECK(play_on(with(refused), {}).verdict == Verdict::Pass);
    const CaseResult skipped = play_on(with(refused), one);
    CHECK(skipped.verdict == Verdict::Skip);
    CHECK(skipped.reason().find("needs more requests outstanding") != std::string::npos);
    // One that sends no more after the answer either is not excused.
    fails(with("dut    post SEND id=1\n< SEND_ONLY  psn=0\n< SEND_ONLY  psn=1\n"),
          "expected SEND_ONLY, got nothing");
}

// --- RNR-05, RNR-07 ---------------------------------------------------------------------------

TEST_CASE("honest peer: 'after rnr(timer)' waits as long as the RNR NAK asks for",
          "[interpreter][RNR-05]") {
    const engine::Behaviour slow{.early_resend = engine::EarlyResend::Silent,
                                 .shortest_rnr_wait = 50ms};
    const std::string retry = "> SEND_ONLY  psn=0 ackreq\n"
                              "< RNR_NAK    psn=0 msn=0\n"
                              "dut    recv id=1\n";
    const std::string done = "< ACK        psn=0 msn=1\ndut    done recv id=1\n";
    const CaseResult result =
        play_on(with(retry + "> SEND_ONLY  psn=0 ackreq  after rnr(timer)\n" + done), slow);
    CHECK(result.verdict == Verdict::Pass);
    REQUIRE(result.packets.size() >= 3);
    CHECK(result.packets[2].at.earliest - result.packets[1].at.latest >= 50ms);
    fails(with("> SEND_ONLY  psn=1\n< NAK  psn=0\n> SEND_ONLY  psn=0 after rnr(timer)\n"),
          "no field 'timer'", Verdict::Error);
}

// --- CNP-05, ACK-04 ---------------------------------------------------------------------------

TEST_CASE("honest peer: a CNP and the copy of an ACK break no silence",
          "[interpreter][CNP-05][ACK-04]") {
    const std::string asked = "dut    recv id=1..2\n> SEND_ONLY  psn=0 ackreq\n"
                              "< ACK  psn=0\ndut    done recv id=1\n";
    passes(with("fault  forge CNP becn=1 ackreq=0 psn=abs:0 when from=dut opcode=acks\n" + asked +
                "quiet\n"));
    passes(with("fault  duplicate when from=dut opcode=acks\n" + asked + "quiet\n"));
    fails(with("fault  duplicate after=5ms when from=dut opcode=acks\n" + asked +
               "wait 1ms\n> SEND_ONLY  psn=0 icrc=bad ackreq\nquiet\n"),
          "unexpected ACK");
}

// --- TMO-05, TMO-08 ---------------------------------------------------------------------------

// In a lab that does not record the DUT's own port: there the judge holds no timer to its lower
// bound.
TEST_CASE("honest peer: who sends again early fails the cases about timers alone",
          "[interpreter][TMO-08]") {
    const engine::Behaviour early{.adaptive_timeout = 4ms};
    const std::string held = "dut    post SEND id=1\n"
                             "< SEND_ONLY  psn=0\n"
                             "> ACK        psn=0  after 20ms\n"
                             "dut    done send id=1\n";
    const std::string timers = "rule   TMO-01\ntitle  \"made up\"\nrole   both\n\n" + held;
    VirtualTestbedOptions afar = right_engine();
    afar.engine.behaviour = early;
    afar.lab.path_delay = 10us;
    const CaseResult other = play_script(with(held), std::move(afar));
    INFO(text_of(other));
    CHECK(other.verdict == Verdict::Pass);
    CHECK(other.tolerated_retransmissions > 0);
    CHECK(play_on(timers, {}).verdict == Verdict::Pass);
    CHECK(play_on(timers, early).verdict == Verdict::Fail);
    CHECK(play_on(timers, early, {"adaptive_retransmission"}).verdict == Verdict::Pass);
    // Nor does it break a silence, and an ACK in a foreign VLAN is no answer (N-05).
    for (const char* unheard : {"", "> ACK  psn=0 vlan.id=78\n"}) {
        const std::string silent = std::string("dut    post SEND id=1\n"
                                               "< SEND_ONLY  psn=0\n") +
                                   unheard + "quiet\n> ACK  psn=0\ndut    done send id=1\n";
        const CaseResult quiet = play_on(with(silent, "qp     vlan=77 timeout=20\n"), early);
        INFO(text_of(quiet));
        CHECK(quiet.verdict == Verdict::Pass);
    }
    // Nothing explains one that comes at once, or after its answer.
    const std::string copied = "fault  duplicate when from=dut opcode=requests\n";
    fails(with(copied + held), "SEND_ONLY");
    fails(
        with("fault  duplicate after=50ms when from=dut opcode=requests\n" + held + "wait 100ms\n"),
        "SEND_ONLY");
}

TEST_CASE("honest peer: timeout(n) is not below the floor of a profile", "[interpreter][TMO-05]") {
    const std::string script = with("dut    post SEND id=1\n"
                                    "< SEND_ONLY  psn=0\n"
                                    "< SEND_ONLY  psn=0  within 5s  after timeout(12)..\n"
                                    "> ACK        psn=0\n"
                                    "dut    done send id=1\n",
                                    "qp     timeout=12 retry_cnt=7\n");
    VirtualTestbedOptions device = right_engine();
    CHECK(play_script(script, device).verdict == Verdict::Pass);
    device.ack_timer_floor = 15; // what is said of it is wrong
    CHECK(play_script(script, device).verdict == Verdict::Fail);
    device.engine.behaviour.timeout_floor = 15;
    CHECK(play_script(script, device).verdict == Verdict::Pass);
}

} // namespace veriroce::test
