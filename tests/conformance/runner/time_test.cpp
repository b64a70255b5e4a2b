// A lab that is not as exact as virtual time: what is judged then, and what is an ERROR.
#include <catch2/catch.hpp>

#include "conformance/runner/judgeable.hpp"
#include "tests/conformance/runner/lines.hpp"

namespace veriroce::runner::test {
namespace {

using namespace std::chrono_literals;

CaseResult play_late(const std::string& script, wire::Duration lateness) {
    VirtualBenchOptions device = right_engine();
    device.lab.lateness = lateness;
    return play_script(script, std::move(device));
}

// The link of a bench whose capture loses packets of the first so many plays.
class LossyBench final : public Bench {
  public:
    explicit LossyBench(std::size_t losses) : losses_(losses) {}

    [[nodiscard]] Setting setting(const Network& network) const override {
        Setting setting = inner_.setting(network);
        setting.settle = calibrated_ > 0 ? setting.settle : wire::Duration(0);
        return setting;
    }
    [[nodiscard]] std::optional<std::string> lacks(const Network&) override { return std::nullopt; }
    [[nodiscard]] bool link_capable(std::string_view) const override { return true; }
    [[nodiscard]] RunInfo info() const override { return inner_.info(); }
    [[nodiscard]] std::optional<std::string> broken() const override { return std::nullopt; }
    void keep_calibrated() override { ++calibrated_; }
    CaseResult play(const script::Case& script, const script::Run& run,
                    const Setting& setting) override {
        if (script.name == "sanity") return inner_.play(script, run, setting);
        qpns.push_back(setting.first_tester_qpn);
        settles.push_back(setting.settle);
        CaseResult result = inner_.play(script, run, setting);
        if (qpns.size() > losses_) return result;
        result.verdict = Verdict::Error;
        result.lost_packets = 3;
        return result;
    }

    std::vector<wire::Qpn> qpns;
    std::vector<wire::Duration> settles;
    [[nodiscard]] std::size_t calibrated() const { return calibrated_; }

  private:
    VirtualBench inner_{right_engine()};
    std::size_t losses_;
    std::size_t calibrated_ = 0;
};

CaseResult first_result(LossyBench& bench) {
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    const Plan plan = plan_of(selection);
    SuiteRun run(bench, plan, selection, {});
    return *run.next();
}

} // namespace

TEST_CASE("time: a packet of ours that left late makes a failure an ERROR", "[runner]") {
    const std::string script = with("dut    recv id=1..2\n"
                                    "> SEND_ONLY  ackreq\n"
                                    "< ACK        psn=0\n"
                                    "> SEND_ONLY  ackreq  after 1ms\n"
                                    "< NAK        psn=1\n");
    CHECK(play_late(script, 0us).verdict == Verdict::Fail);
    CHECK(play_late(script, 90us).verdict == Verdict::Fail);
    const CaseResult late = play_late(script, 200us);
    CHECK(late.verdict == Verdict::Error);
    CHECK(late.reason == "too late to judge: our packet of line 8 left 1.200 ms after the one "
                         "before it, not 1.000 ms; and line 9: no such packet within 1.000 s");
}

TEST_CASE("time: late packets cost a case its verdict if it is about time", "[runner]") {
    const std::string dialogue = "dut    recv id=1..2\n"
                                 "> SEND_ONLY  ackreq\n"
                                 "< ACK        psn=0\n"
                                 "> SEND_ONLY  ackreq  after 1ms\n"
                                 "< ACK        psn=1\n"
                                 "dut    done recv id=1..2\n";
    CHECK(play_late(with(dialogue), 200us).verdict == Verdict::Pass);
    const CaseResult late = play_late(with(dialogue, "tags   timing\n"), 200us);
    CHECK(late.verdict == Verdict::Error);
    CHECK(late.line == 9);
}

TEST_CASE("time: a case of whose packets the capture lost some is played once more", "[runner]") {
    LossyBench once(1);
    CHECK(first_result(once).verdict == Verdict::Pass);
    REQUIRE(once.qpns.size() == 2);
    CHECK(once.qpns[0] != once.qpns[1]);
    LossyBench always(9);
    CHECK(first_result(always).verdict == Verdict::Error);
    CHECK(always.qpns.size() == 2);
}

TEST_CASE("time: the bench may calibrate before each case, and the case has the new figures",
          "[runner]") {
    LossyBench bench(0);
    first_result(bench);
    CHECK(bench.calibrated() == 1);
    CHECK(bench.settles.front() > wire::Duration(0));
}

TEST_CASE("time: rules that are too fine for this machine are named beforehand", "[runner]") {
    Selection selection;
    selection.names = {"rnr"};
    const Plan plan = plan_of(selection);
    CHECK(not_judgeable(plan, 0us).empty());
    const auto notes = not_judgeable(plan, 100us);
    const auto wait = std::ranges::find_if(
        notes, [](const std::string& note) { return note.starts_with("RNR-08 "); });
    REQUIRE(wait != notes.end());
    CHECK(wait->find(" needs 10.000 us, has 100.000 us") != std::string::npos);
}

} // namespace veriroce::runner::test
