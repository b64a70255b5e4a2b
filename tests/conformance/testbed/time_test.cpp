// A lab that is not as exact as virtual time: what is judged then, and what is an ERROR.
#include <catch2/catch.hpp>

#include "conformance/plan/judgeable.hpp"
#include "tests/conformance/interpreter/lines.hpp"
#include "tests/conformance/testbed/testbed_around.hpp"

namespace veriroce::test {
namespace {

using namespace std::chrono_literals;

CaseResult play_in(const InexactLab& lab, const std::string& script) {
    VirtualTestbedOptions device = right_engine();
    device.lab = lab;
    return play_script(script, std::move(device));
}

CaseResult play_late(const std::string& script, wire::Duration lateness) {
    return play_in({.lateness = lateness}, script);
}

// The link of a testbed whose capture loses packets of the first few plays.
class LossyTestbed final : public TestbedAround {
  public:
    explicit LossyTestbed(std::size_t losses) : losses_(losses) {}

    [[nodiscard]] Environment environment(const Network& network) const override {
        Environment environment = TestbedAround::environment(network);
        if (calibrated_ == 0) environment.settle = wire::Duration(0);
        return environment;
    }
    [[nodiscard]] bool may_lose_packets() const override { return true; }
    void keep_calibrated() override { ++calibrated_; }
    [[nodiscard]] std::size_t calibrated() const { return calibrated_; }

    std::vector<wire::Qpn> qpns;
    std::vector<wire::Duration> settles;

  private:
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        qpns.push_back(environment.first_tester_qpn);
        settles.push_back(environment.settle);
        CaseResult result = TestbedAround::play_case(script, run, environment);
        if (played() > losses_) return result;
        result.verdict = Verdict::Error;
        result.lost_packets = 3;
        return result;
    }

    std::size_t losses_;
    std::size_t calibrated_ = 0;
};

class SpoilsFirst final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        if (++sent_ == 1) frame.back() ^= std::byte{1};
    }

  private:
    std::uint64_t sent_ = 0;
};

VirtualTestbedOptions on_a_link(VirtualTestbedOptions device) {
    device.lab.path_delay = 100us;
    return device;
}

// A link that damages the device's first packet, in the first so many plays.
class DamagingTestbed final : public TestbedAround {
  public:
    explicit DamagingTestbed(std::size_t damaged)
        : TestbedAround(on_a_link(right_engine())), damaged_(damaged),
          damaging_(on_a_link(engine_behind<SpoilsFirst>())) {}

    [[nodiscard]] bool may_lose_packets() const override { return true; }

  private:
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        if (played() > damaged_) return TestbedAround::play_case(script, run, environment);
        return damaging_.play(script, run, environment);
    }

    std::size_t damaged_;
    VirtualTestbed damaging_;
};

CaseResult first_result(LossyTestbed& testbed) {
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    const Plan plan = plan_of(selection);
    PlanRun run(testbed, plan, selection, {});
    return *run.next();
}

} // namespace

TEST_CASE("time: a packet of ours that left late makes a failure an ERROR", "[testbed]") {
    const std::string script = with("dut    recv id=1..2\n"
                                    "> SEND_ONLY  ackreq\n"
                                    "< ACK        psn=0\n"
                                    "> SEND_ONLY  ackreq  after 1ms\n"
                                    "< NAK        psn=1\n");
    CHECK(play_late(script, 0us).verdict == Verdict::Fail);
    CHECK(play_late(script, 90us).verdict == Verdict::Fail);
    const CaseResult late = play_late(script, 200us);
    CHECK(late.verdict == Verdict::Error);
    CHECK(late.reason() ==
          "too late to judge: our packet of line 8 left 1.2 ms after the one before "
          "it, not 1 ms; and line 9: expected NAK, got nothing (waited 1 s)");
}

TEST_CASE("time: late packets cost a case its verdict if it is about time", "[testbed]") {
    const std::string dialogue = "dut    recv id=1..2\n"
                                 "> SEND_ONLY  ackreq\n"
                                 "< ACK        psn=0\n"
                                 "> SEND_ONLY  ackreq  after 1ms\n"
                                 "< ACK        psn=1\n"
                                 "dut    done recv id=1..2\n";
    CHECK(play_late(with(dialogue), 200us).verdict == Verdict::Pass);
    const CaseResult late = play_late(with(dialogue, "tags   timing\n"), 200us);
    CHECK(late.verdict == Verdict::Error);
    CHECK(late.line() == 9);
}

// The engine's timer runs out 1.57 ms after its packet. What it repeats before the RNR NAK is there
// has not waited, and need not have.
TEST_CASE("time: a retransmission that crosses our packet is not held against 'after'",
          "[testbed]") {
    const std::string script = with("dut    post SEND id=1\n"
                                    "< SEND_ONLY  psn=0\n"
                                    "> RNR_NAK    psn=0 timer=26\n"
                                    "< SEND_ONLY  psn=0  within 5s  after rnr(26)..\n"
                                    "> ACK        psn=0\n"
                                    "dut    done send id=1\n",
                                    "qp     timeout=8 retry_cnt=7 rnr_retry=7\n");
    std::uint32_t tolerated = 0;
    for (wire::Duration delay = 1570us; delay < 1576us; delay += 250ns) {
        const CaseResult result = play_in({.call_delay = delay}, script);
        INFO(delay.count() << " ns\n" << text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        tolerated += result.tolerated_retransmissions;
    }
    CHECK(tolerated > 0);
    CHECK(play_in({.call_delay = 6ms}, script).tolerated_retransmissions > 1);
}

TEST_CASE("time: a case of whose packets the capture lost some is played once more", "[testbed]") {
    LossyTestbed once(1);
    CHECK(first_result(once).verdict == Verdict::Pass);
    REQUIRE(once.qpns.size() == 2);
    CHECK(once.qpns[0] != once.qpns[1]);
    LossyTestbed always(9);
    CHECK(first_result(always).verdict == Verdict::Error);
    CHECK(always.qpns.size() == 2);
}

TEST_CASE("time: a case that a damaged packet fails is played again", "[testbed][CRC-01]") {
    const auto first_of = [](std::size_t damaged, std::size_t plays) {
        DamagingTestbed testbed(damaged);
        Selection selection;
        selection.names = {"rsp/duplicate-write"};
        const Plan plan = plan_of(selection);
        PlanRun run(testbed, plan, selection, {});
        CaseResult result = *run.next();
        CHECK(testbed.played() == plays);
        return result;
    };
    CHECK(first_of(0, 1).verdict == Verdict::Pass);
    const CaseResult once = first_of(1, 3);
    INFO(text_of(once));
    CHECK(once.verdict == Verdict::Error);
    CHECK(once.reason().starts_with("not repeatable: seen in 1 of 3 plays; there: "));
    CHECK(once.reason().find("violate CRC-01: the ICRC of one packet is 0x") != std::string::npos);
    const CaseResult twice = first_of(2, 2);
    INFO(text_of(twice));
    CHECK(twice.verdict == Verdict::Fail);
    CHECK(std::ranges::find(twice.rules, "CRC-01") != twice.rules.end());
    CHECK(twice.violations.front().certain);
    REQUIRE(twice.other_plays.size() == 1);
    CHECK(twice.other_plays.front().verdict == Verdict::Fail);
    CHECK_FALSE(twice.other_plays.front().packets.empty());
}

TEST_CASE("time: the testbed may calibrate before each case, and the case has the new figures",
          "[testbed]") {
    LossyTestbed testbed(0);
    first_result(testbed);
    CHECK(testbed.calibrated() == 1);
    CHECK(testbed.settles.front() > wire::Duration(0));
}

TEST_CASE("time: rules that are too fine for this machine are named beforehand", "[testbed]") {
    Selection selection;
    selection.names = {"rnr"};
    const Plan plan = plan_of(selection);
    CHECK(not_judgeable(plan, 0us).empty());
    const auto notes = not_judgeable(plan, 100us);
    const auto wait = std::ranges::find_if(
        notes, [](const std::string& note) { return note.starts_with("RNR-08 "); });
    REQUIRE(wait != notes.end());
    CHECK(wait->find(" checks a time of 10.000 us, but timestamps are uncertain by 100.000 us") !=
          std::string::npos);
}

} // namespace veriroce::test
