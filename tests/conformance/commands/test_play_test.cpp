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
