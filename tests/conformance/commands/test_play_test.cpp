// A run whose device or agent is lost: what the case that did it is blamed for, and where it ends.
#include <catch2/catch.hpp>

#include "conformance/commands/test_play.hpp"
#include "tests/conformance/testbed/testbed_around.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"

namespace veriroce::test {
namespace {

using testbed::SignOfLife;

// Its agent is lost in the second case. It comes back after a reset, or never.
class LosesAgent final : public TestbedAround {
  public:
    LosesAgent(SignOfLife sign, bool comes_back) : sign_(sign), comes_back_(comes_back) {}

    [[nodiscard]] std::optional<std::string> broken() const override {
        return lost_ ? std::optional<std::string>("the agent closed the connection") : std::nullopt;
    }
    std::expected<FoundAgain, std::string> find_again(wire::Duration /*patience*/) override {
        // Before the reset it is not there.
        if (!comes_back_ || ++looked_for_ == 1) return std::unexpected("nobody listens");
        lost_ = false;
        return FoundAgain::AtOnce;
    }
    SignOfLife sign_of_life() override { return sign_; }

  private:
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        lost_ = lost_ || played() == 2;
        return TestbedAround::play_case(script, run, environment);
    }

    SignOfLife sign_;
    bool comes_back_;
    bool lost_ = false;
    int looked_for_ = 0;
};

// Its agent lives on and refuses the verbs of every exchange from the second case on; no reset
// helps.
class RefusesVerbs final : public TestbedAround {
  public:
    explicit RefusesVerbs(SignOfLife sign) : sign_(sign) {}

    std::expected<FoundAgain, std::string> find_again(wire::Duration /*patience*/) override {
        return std::unexpected("the device is gone");
    }
    SignOfLife sign_of_life() override { return sign_; }

  private:
    CaseResult play_sanity(const script::Case& script, const script::Run& run,
                           const Environment& environment) override {
        CaseResult result = TestbedAround::play_sanity(script, run, environment);
        if (played() > 1) result.become(Verdict::Error, FindingKind::Unplayable, "qp_create: EIO");
        return result;
    }

    SignOfLife sign_;
};

struct Played {
    plan::RunResults results;
    std::string out;
};

Played play_four(Testbed& bench, commands::TestOptions options) {
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    selection.repeat = 4;
    const Plan plan = plan_of(selection);
    const house::TemporaryFolder folder;
    const std::string said = folder.file("out");
    std::FILE* out = std::fopen(said.c_str(), "w");
    REQUIRE(out != nullptr);
    commands::Console console(out, out, false);
    commands::Report report(options);
    auto results =
        commands::play(bench, plan, selection, std::nullopt, {}, options, console, report);
    std::fclose(out);
    REQUIRE(results.has_value());
    return {.results = std::move(*results), .out = house::read_text(said)};
}

} // namespace

TEST_CASE("test command: a device that is gone with its agent fails its case", "[test]") {
    LosesAgent bench(SignOfLife::Silent, false);
    const Played played = play_four(bench, {});
    INFO(played.out);
    REQUIRE(played.results.cases.size() == 2);
    const CaseResult& killer = played.results.cases.back();
    CHECK(killer.verdict == Verdict::Fail);
    CHECK(killer.reason().find("the agent closed the connection; neither its agent nor the device "
                               "answers any more") != std::string::npos);
    CHECK(played.out.find("2 of 4 runs were not played") != std::string::npos);
}

TEST_CASE("test command: a device that outlives its agent, or cannot be asked, is not blamed",
          "[test]") {
    for (const SignOfLife sign : {SignOfLife::Answers, SignOfLife::Unknown}) {
        LosesAgent bench(sign, false);
        const Played played = play_four(bench, {});
        INFO(played.out);
        REQUIRE(played.results.cases.size() == 2);
        CHECK(played.results.cases.back().verdict == Verdict::Error);
        const bool told = played.out.find("but the device still answers ARP") != std::string::npos;
        CHECK(told == (sign == SignOfLife::Answers));
    }
}

TEST_CASE("test command: a device that no reset brings back fails the case that it died of",
          "[test]") {
    commands::TestOptions options;
    options.dut_reset = "true";
    for (const SignOfLife sign : {SignOfLife::Silent, SignOfLife::Answers, SignOfLife::Unknown}) {
        LosesAgent bench(sign, false);
        const Played played = play_four(bench, options);
        INFO(played.out);
        REQUIRE(played.results.cases.size() == 2);
        CHECK(played.results.cases.front().verdict == Verdict::Pass);
        const CaseResult& killer = played.results.cases.back();
        // Without a link nobody can tell which end is gone.
        if (sign == SignOfLife::Unknown) {
            CHECK(killer.verdict == Verdict::Error);
        } else {
            CHECK(killer.verdict == Verdict::Fail);
            CHECK(killer.reason().find("the agent closed the connection; --dut-reset did not bring "
                                       "it back") != std::string::npos);
        }
        CHECK_FALSE(played.results.run.complete);
        CHECK(played.out.find("the device did not come back after --dut-reset 'true'") !=
              std::string::npos);
        CHECK(played.out.find("2 of 4 runs were not played") != std::string::npos);
    }
}

TEST_CASE("test command: a reset that fails itself blames nobody whom silence does not", "[test]") {
    commands::TestOptions options;
    options.dut_reset = "exit 7";
    for (const SignOfLife sign : {SignOfLife::Silent, SignOfLife::Answers}) {
        LosesAgent bench(sign, false);
        const Played played = play_four(bench, options);
        INFO(played.out);
        REQUIRE(played.results.cases.size() == 2);
        const bool died = sign == SignOfLife::Silent;
        CHECK(played.results.cases.back().verdict == (died ? Verdict::Fail : Verdict::Error));
        CHECK(played.out.find("--dut-reset 'exit 7' failed (7)") != std::string::npos);
    }
}

TEST_CASE("test command: a device that no reset brings back fails its case, though its agent lives",
          "[test]") {
    for (const bool reset : {false, true}) {
        RefusesVerbs bench(SignOfLife::Answers);
        commands::TestOptions options;
        if (reset) options.dut_reset = "true";
        const Played played = play_four(bench, options);
        INFO(played.out);
        REQUIRE(played.results.cases.size() >= 2);
        // Without a reset nothing shows that the device, and not its neighbourhood, is at fault.
        CHECK(played.results.cases[1].verdict == (reset ? Verdict::Fail : Verdict::Error));
        CHECK((played.results.cases.size() == 2) == reset);
    }
}

TEST_CASE("test command: fail-fast ends at a case that fails only after a reset", "[test]") {
    for (const bool fail_fast : {false, true}) {
        LosesAgent bench(SignOfLife::Silent, true);
        commands::TestOptions options;
        options.dut_reset = "true";
        options.fail_fast = fail_fast;
        const Played played = play_four(bench, options);
        INFO(played.out);
        REQUIRE(played.results.cases.size() == (fail_fast ? 2 : 4));
        CHECK(played.results.cases[1].verdict == Verdict::Fail);
        CHECK_FALSE(played.results.run.complete == fail_fast);
    }
}

} // namespace veriroce::test
