// A device that dies in the middle of a run: which case is blamed, and how the run goes on.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/conformance/testbed/testbed_around.hpp"

namespace veriroce::test {
namespace {

// Dies of its n-th case, counted from 1: it answers nothing, or its agent is lost with it.
class MortalTestbed final : public TestbedAround {
  public:
    MortalTestbed(std::size_t dies_of, bool agent_too) : dies_of_(dies_of), agent_too_(agent_too) {}

    [[nodiscard]] std::optional<std::string> broken() const override {
        return dead_ && agent_too_ ? std::optional<std::string>("the agent is gone") : std::nullopt;
    }
    std::expected<FoundAgain, std::string> find_again(wire::Duration /*patience*/) override {
        dead_ = false;
        return FoundAgain::AtOnce;
    }

  private:
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        if (played() == dies_of_) dead_ = true;
        CaseResult result = TestbedAround::play_case(script, run, environment);
        if (dead_) result.become(result.verdict, FindingKind::Discouraged, "a word about it");
        return result;
    }
    CaseResult play_sanity(const script::Case& script, const script::Run& run,
                           const Environment& environment) override {
        CaseResult result = TestbedAround::play_sanity(script, run, environment);
        if (!dead_) return result;
        result.become(Verdict::Fail, FindingKind::Missing, "no ACK came");
        return result;
    }

    std::size_t dies_of_;
    bool agent_too_;
    bool dead_ = false;
};

// From the second case on nobody can be asked whether the device answers; that case has found this.
class UnreachableTestbed final : public TestbedAround {
  public:
    explicit UnreachableTestbed(FindingKind found) : found_(found) {}

  private:
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        CaseResult result = TestbedAround::play_case(script, run, environment);
        if (played() > 1) result.become(Verdict::Fail, found_, "what it found");
        return result;
    }
    CaseResult play_sanity(const script::Case& script, const script::Run& run,
                           const Environment& environment) override {
        CaseResult result = TestbedAround::play_sanity(script, run, environment);
        if (played() > 1)
            result.become(Verdict::Error, FindingKind::Unplayable, "qp_modify: ETIMEDOUT");
        return result;
    }

    FindingKind found_;
};

// A wire that loses the first exchange after each case.
class LosingTestbed final : public TestbedAround {
    CaseResult play_sanity(const script::Case& script, const script::Run& run,
                           const Environment& environment) override {
        CaseResult result = TestbedAround::play_sanity(script, run, environment);
        if (played() == asked_after_) return result;
        asked_after_ = played();
        result.become(Verdict::Fail, FindingKind::Missing, "no ACK came");
        return result;
    }

    std::size_t asked_after_ = 0;
};

// A mistake of the program itself, in the second case.
class ThrowingTestbed final : public TestbedAround {
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        if (played() == 2) throw std::bad_variant_access();
        return TestbedAround::play_case(script, run, environment);
    }
};

// Sends everything four hundred times.
class Storm final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        out.insert(out.end(), 400, datagram);
    }
};

// Sends a thousand copies of everything to a QP that does not exist.
class Misdirects final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::size_t dest_qp = 5;
        engine::OwnedDatagram astray = datagram;
        wire::store_be<3>(astray.bytes, dest_qp, 0x123456);
        out.push_back(std::move(datagram));
        out.insert(out.end(), 1000, astray);
    }
};

class StormyTestbed final : public TestbedAround {
  public:
    StormyTestbed() : TestbedAround(engine_behind<Storm>()) {}

    [[nodiscard]] Environment environment(const Network& network) const override {
        Environment environment = TestbedAround::environment(network);
        environment.most_recorded_bytes = 64 * 1024;
        return environment;
    }
};

Selection four_rounds() {
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    selection.repeat = 4;
    return selection;
}

} // namespace

TEST_CASE("dead device: one that drops tagged frames is alive", "[plan]") {
    const Selection selection = over_both({"n/vlan-both-ways"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(engine_of(mutants::find("tagged_frames_dropped")->get()));
    PlanRun run(testbed, plan, selection, {});
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
        const auto result = run.next();
        REQUIRE(result.has_value());
        INFO(result->id << ": " << result->reason());
        CHECK(result->verdict == Verdict::Warn); // a SHOULD
        CHECK(std::ranges::none_of(result->findings, [](const Finding& one) {
            return one.kind == FindingKind::Unanswering;
        }));
        CHECK_FALSE(run.dead_since().has_value());
    }
}

TEST_CASE("dead device: the case that killed it fails, later ones are not judged", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    MortalTestbed testbed(2, false);
    PlanRun run(testbed, plan, selection, {});
    CHECK(run.next()->verdict == Verdict::Pass);
    CHECK_FALSE(run.dead_since().has_value());
    const auto killer = run.next();
    CHECK(killer->verdict == Verdict::Fail);
    CHECK(killer->reason() ==
          "after this case, the DUT does not answer a SEND on a new QP: no ACK came; before that: "
          "a word about it");
    CHECK(run.dead_since() == "rsp/gap-nak[round=2]");
    for (int i = 0; i < 2; ++i) {
        const auto later = run.next();
        CHECK(later->verdict == Verdict::Error);
        CHECK(later->reason() ==
              "not played: the DUT has not answered a SEND since rsp/gap-nak[round=2]");
        CHECK(later->rules.size() == 2);
    }
    CHECK(testbed.played() == 2);
    CHECK_FALSE(run.next().has_value());
}

TEST_CASE("dead device: revived, it is tested on", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    for (const bool agent_too : {false, true}) {
        MortalTestbed testbed(2, agent_too);
        PlanRun run(testbed, plan, selection, {});
        CHECK(run.next()->verdict == Verdict::Pass);
        const auto killer = run.next();
        CHECK(killer->verdict == (agent_too ? Verdict::Error : Verdict::Fail));
        CHECK(run.dead_since() == killer->id);
        REQUIRE(testbed.find_again(std::chrono::seconds(1)).has_value());
        run.revived();
        CHECK(run.next()->verdict == Verdict::Pass);
        CHECK(run.next()->verdict == Verdict::Pass);
        CHECK_FALSE(run.dead_since().has_value());
    }
}

TEST_CASE("dead device: silence in front of one that cannot be asked proves nothing", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    for (const FindingKind found : {FindingKind::Missing, FindingKind::Mismatch}) {
        UnreachableTestbed testbed(found);
        PlanRun run(testbed, plan, selection, {});
        CHECK(run.next()->verdict == Verdict::Pass);
        const auto last = run.next();
        INFO(text_of(*last));
        CHECK(last->verdict == (found == FindingKind::Missing ? Verdict::Error : Verdict::Fail));
        CHECK(last->reason() ==
              "the exchange after the case could not run: qp_modify: ETIMEDOUT; before that: "
              "what it found");
        CHECK(run.dead_since() == last->id);
    }
}

TEST_CASE("dead device: after five attempts in vain the run ends", "[plan]") {
    Selection selection = four_rounds();
    selection.repeat = 20;
    const Plan plan = plan_of(selection);
    MortalTestbed testbed(2, false);
    PlanRun run(testbed, plan, selection, {});
    for (int i = 0; i < 2 + 5; ++i)
        REQUIRE(run.next().has_value());
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 7);
    CHECK(run.dead_since() == "rsp/gap-nak[round=2]");
}

TEST_CASE("dead device: one exchange that the wire lost is held once more", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    LosingTestbed testbed;
    PlanRun run(testbed, plan, selection, {});
    for (int i = 0; i < 4; ++i)
        CHECK(run.next()->verdict == Verdict::Pass);
    CHECK_FALSE(run.dead_since().has_value());
}

TEST_CASE("dead device: the case that it died of is blamed when it is back", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    MortalTestbed testbed(2, true);
    PlanRun run(testbed, plan, selection, {});
    run.next();
    auto killer = *run.next();
    CHECK(killer.verdict == Verdict::Error);
    run.blame_for_death(killer, "the agent is gone; --dut-reset had to bring it back");
    CHECK(killer.verdict == Verdict::Fail);
    CHECK(killer.reason() ==
          "after this case, the DUT does not answer a SEND on a new QP: the agent is gone; "
          "--dut-reset had to bring it back; before that: the agent is gone");
}

TEST_CASE("dead device: without its agent the run ends and names the case", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    MortalTestbed testbed(2, true);
    PlanRun run(testbed, plan, selection, {});
    CHECK(run.next()->verdict == Verdict::Pass);
    const auto last = run.next();
    CHECK(last->id == "rsp/gap-nak[round=2]");
    CHECK(last->verdict == Verdict::Error);
    CHECK(last->reason() == "the agent is gone");
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 2);
}

TEST_CASE("dead device: one that does not stop sending costs its case, and no memory", "[plan]") {
    StormyTestbed testbed;
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    PlanRun run(testbed, plan, selection, {});
    const auto result = run.next();
    INFO(text_of(*result));
    CHECK(result->verdict == Verdict::Error);
    CHECK(result->reason().find("the DUT sent ") != std::string::npos);
    CHECK(result->reason().find(" packets beyond the ") != std::string::npos);
    CHECK(result->reason().find("before that: ") != std::string::npos);
    CHECK(result->packets.size() < 400);
}

TEST_CASE("dead device: of packets that are nobody's the first are kept, and the others counted",
          "[plan]") {
    const auto results = play_suite(over_both({"rsp/duplicate-send"}), engine_behind<Misdirects>());
    const CaseResult& result = results.front();
    INFO(text_of(result));
    CHECK(result.packets.size() > 1000);
    CHECK(result.packets.size() < 1100);
    CHECK(std::ranges::any_of(result.packets, [](const RecordedPacket& packet) {
        return std::ranges::any_of(packet.remarks, [](const std::string& remark) {
            return remark.ends_with(" more that belong to no QP of this case");
        });
    }));
}

TEST_CASE("dead device: a mistake of the program costs one case, and no report", "[plan]") {
    const Selection selection = four_rounds();
    const Plan plan = plan_of(selection);
    ThrowingTestbed testbed;
    PlanRun run(testbed, plan, selection, {});
    CHECK(run.next()->verdict == Verdict::Pass);
    const auto thrown = run.next();
    CHECK(thrown->verdict == Verdict::Error);
    CHECK(thrown->reason().starts_with("the harness failed: "));
    CHECK(run.next()->verdict == Verdict::Pass);
}

} // namespace veriroce::test
