// Several judges that divide the packets find what one finds.
#include <catch2/catch.hpp>

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/judge/divided_judge.hpp"
#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

constexpr std::size_t places = 3;

std::string text_of(std::span<const Violation> violations) {
    std::string text;
    for (const Violation& one : violations) {
        text += fmt::format("{} {} {} {} {} {}\n", one.rule, name_of(one.certainty), one.ends,
                            one.device.text(),
                            fmt::join(one.packets.numbers.begin(), one.packets.numbers.end(), ","),
                            judge::text_of(one));
    }
    return text;
}

std::string text_of(const Summary& summary) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", summary.packets,
                       summary.connections, summary.evicted, summary.damaged, summary.contradictory,
                       summary.checksum_left, summary.unpaired, summary.beyond_history,
                       summary.lost_by_capture, summary.certain, summary.possible, summary.frames,
                       summary.incomplete, summary.other_transport, summary.unsupported);
}

// Claims more than the captures keep, so that there are many violations.
Assumptions strict() {
    Assumptions assumptions;
    assumptions.complete = assumptions.ordered = true;
    for (std::uint32_t k = 0; k < 12; ++k) {
        const std::uint32_t net = 0x0A4D0000 + (k << 16);
        const auto one = wire::IpAddress::from_v4(net + 1);
        const auto other = wire::IpAddress::from_v4(net + 2);
        assumptions.recorded_at.push_back(one);
        if (k % 2 == 0) assumptions.recorded_at.push_back(other);
        assumptions.connections.push_back(
            {flow::Introduction{one, {0x111}, {}}, flow::Introduction{other, {0x222}, {}}});
    }
    assumptions.patience = std::chrono::microseconds(300);
    assumptions.longest_silence = std::chrono::milliseconds(1);
    return assumptions;
}

} // namespace

TEST_CASE("divided judge: every number of shares finds what one judge finds", "[judge]") {
    const auto captured = flow::test::crowded();
    const auto frames = flow::test::dissected(captured);
    for (const std::size_t kept : {10'000U, 7U}) {
        const Limits limits{.flow = {}, .violations = kept, .of_one_rule_per_connection = 3};
        Judge judge(strict(), limits);
        for (const decode::Dissection& frame : frames)
            judge.observe(frame);
        judge.finish();
        const std::string expected = text_of(judge.violations());
        REQUIRE((judge.violations().size() >= std::min<std::size_t>(kept, 20)));
        REQUIRE((judge.found_at().back().round > 0 || kept < 20));
        for (const std::size_t shares : {1U, 2U, 3U, 8U}) {
            INFO(shares << " shares");
            DividedJudge divided(strict(), shares, places, limits);
            flow::test::observe_divided(divided, frames, shares, places);
            divided.finish();
            CHECK(divided.exact());
            CHECK(text_of(divided.violations()) == expected);
            CHECK(text_of(divided.summary()) == text_of(judge.summary()));
        }
    }
}

TEST_CASE("divided judge: it is not exact where one judge would reach a limit", "[judge]") {
    const auto captured = flow::test::crowded();
    const auto frames = flow::test::dissected(captured);
    Judge judge;
    judge.observe(frames);
    const auto connections = static_cast<std::uint32_t>(judge.tracker().need().connections);
    for (const std::uint32_t limit : {connections - 1, connections * 2}) {
        DividedJudge divided({}, 3, places, {.flow = {.connections = limit}});
        flow::test::observe_divided(divided, frames, 3, places);
        CHECK(divided.exact() == (limit > connections));
    }
}

} // namespace veriroce::judge::test
