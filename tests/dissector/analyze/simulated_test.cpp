// The analysis held against the simulation, which knows what it did to each frame: at the port of
// each endpoint, told nothing.
#include <cstdlib>
#include <map>
#include <numeric>

#include "tests/dissector/analyze/history.hpp"
#include "tests/part_of.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::analyze::test {
namespace {

constexpr std::uint64_t seeds = veriroce::test::kSanitized ? 20 : 300;

using sim::FaultKind;

struct Recording {
    explicit Recording(const sim::Scenario& scenario) {
        const sim::FrameObserver observer = [this](std::size_t port, wire::Bytes frame,
                                                   wire::Instant when) {
            ports[port].push_back({.bytes = {frame.begin(), frame.end()},
                                   .time_ns = when.time_since_epoch().count()});
        };
        outcome = sim::play(scenario, {}, observer);
    }
    sim::Outcome outcome;
    std::map<std::size_t, std::vector<Frame>> ports;

    // Requests of the endpoint, or of all others, that suffered one of these.
    [[nodiscard]] std::uint64_t suffered(std::size_t endpoint, bool own,
                                         std::initializer_list<FaultKind> kinds) const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(outcome.sent, [&](const sim::SentFrame& frame) {
                return (frame.endpoint == endpoint) == own && frame.fault &&
                       std::ranges::find(kinds, *frame.fault) != kinds.end();
            }));
    }
    [[nodiscard]] std::uint64_t sent_again(std::size_t endpoint) const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(outcome.sent, [&](const sim::SentFrame& frame) {
                return frame.endpoint == endpoint && frame.request && frame.again;
            }));
    }
};

bool belongs_to(const wire::IpAddress& address, std::size_t endpoint) {
    const std::string last = std::to_string(endpoint + 1);
    return address == wire::IpAddress::parse("10.77.0." + last).value() ||
           address == wire::IpAddress::parse("fd77::" + last).value();
}

// Of the requests of one endpoint, or of all others.
struct Said {
    std::uint64_t repeated = 0;
    std::uint64_t resent = 0;
    std::uint64_t not_captured = 0;
    std::array<std::uint64_t, kVerdicts> requests{};
    std::array<std::uint64_t, kVerdicts> responses{};
    std::uint64_t episodes = 0;
    [[nodiscard]] std::uint64_t request(Verdict verdict) const {
        return requests[static_cast<std::size_t>(verdict)];
    }
    [[nodiscard]] std::uint64_t response(Verdict verdict) const {
        return responses[static_cast<std::size_t>(verdict)];
    }
};

Said said_of(const Analyzer& analyzer, std::size_t endpoint, bool own) {
    Said said;
    for (const Conversation* conversation : analyzer.conversations()) {
        for (std::size_t i = 0; i < 2; ++i) {
            if (belongs_to(conversation->ends[i].address, endpoint) != own) continue;
            const Direction& facts = conversation->directions[i];
            said.repeated += facts.repeated;
            said.resent += facts.all_resent();
            said.not_captured += facts.not_captured();
            for (std::size_t verdict = 0; verdict < kVerdicts; ++verdict) {
                said.requests[verdict] += facts.requests_missed[verdict];
                said.responses[verdict] += facts.responses_missed[verdict];
            }
            said.episodes += std::accumulate(facts.episode_counts.begin(),
                                             facts.episode_counts.end(), std::uint64_t{0});
        }
    }
    return said;
}

// Some kinds of faults at a time, often. None makes packets that nobody sent.
void disturb(sim::Scenario& scenario) {
    using enum FaultKind;
    constexpr std::array<std::array<FaultKind, 3>, 4> kMixes{{{Drop, Drop, Drop},
                                                              {Delay, Reorder, Hold},
                                                              {Drop, Duplicate, Reorder},
                                                              {Drop, Delay, MarkCe}}};
    auto& one_in = scenario.fault_rates.one_in;
    one_in = {};
    for (const FaultKind kind : kMixes[scenario.seed % kMixes.size()])
        one_in[static_cast<std::size_t>(kind)] = 20;
}

struct Found {
    std::uint64_t repeated = 0;
    std::uint64_t lost = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t behind = 0;
    std::uint64_t unclear = 0;
    std::uint64_t responses_lost = 0;
};

void check_port(const Recording& recording, std::size_t port, Found& found) {
    using enum FaultKind;
    const Analyzer analyzer = analysed(recording.ports.at(port));
    const Said own = said_of(analyzer, port, true);
    const Said others = said_of(analyzer, port, false);
    INFO("port " << port);
    // At its sender's port a packet passes once each time that it is sent, and in order.
    CHECK(own.repeated == recording.sent_again(port));
    CHECK(own.resent <= own.repeated);
    CHECK(own.request(Verdict::Lost) == 0);
    CHECK(own.request(Verdict::Overtaken) == 0);
    CHECK(own.request(Verdict::Damaged) == 0);
    // One that is overtaken may draw two NAKs: what came before it was dropped.
    const std::uint64_t delayed = recording.suffered(port, true, {Delay, Reorder, Hold, Duplicate});
    CHECK(own.request(Verdict::Behind) <= recording.suffered(port, true, {Drop}) + 2 * delayed);
    // What comes was not lost behind the port, and what does not come was not captured elsewhere.
    const std::uint64_t dropped = recording.suffered(port, false, {Drop});
    const std::uint64_t overtaken = recording.suffered(port, false, {Delay, Reorder, Hold});
    CHECK(others.request(Verdict::Lost) <= dropped);
    CHECK(others.request(Verdict::Overtaken) <= overtaken);
    CHECK(others.request(Verdict::Damaged) == 0);
    CHECK(own.response(Verdict::Lost) <= dropped + overtaken);
    // The capture is complete. A response that was overtaken by its own retransmission is not
    // missed, but one that was not captured would be.
    CHECK(own.not_captured == 0);
    CHECK(others.not_captured == 0);
    found.repeated += own.repeated;
    found.lost += others.request(Verdict::Lost);
    found.overtaken += others.request(Verdict::Overtaken);
    found.behind += own.request(Verdict::Behind) + others.request(Verdict::Behind);
    found.unclear += own.request(Verdict::Unclear) + others.request(Verdict::Unclear);
    found.responses_lost += own.response(Verdict::Lost);
}

} // namespace

TEST_CASE("analysis: nothing that it says contradicts the simulation", "[analyze][sim]") {
    Found found;
    std::uint64_t runs = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        sim::Scenario scenario = sim::scenario_of(seed);
        disturb(scenario);
        ++runs;
        INFO("seed " << seed);
        const Recording recording(scenario);
        for (const auto& [port, frames] : recording.ports)
            check_port(recording, port, found);
    }
    const std::string text =
        std::to_string(runs) + " runs: sent again " + std::to_string(found.repeated) + ", lost " +
        std::to_string(found.lost) + ", overtaken " + std::to_string(found.overtaken) +
        ", behind " + std::to_string(found.behind) + ", unclear " + std::to_string(found.unclear) +
        ", responses lost " + std::to_string(found.responses_lost);
    if (std::getenv("VERIROCE_PRINT") != nullptr) WARN(text);
    INFO(text);
    CHECK(found.repeated > runs);
    CHECK(found.lost > 0);
    CHECK(found.behind > 0);
}

TEST_CASE("analysis: captures of undisturbed runs that lack packets show no network loss",
          "[analyze][sim]") {
    std::uint64_t lacking = 0;
    for (std::uint64_t seed = 1; seed <= seeds / 3; ++seed) {
        sim::Scenario scenario = sim::scenario_of(seed);
        scenario.fault_rates.one_in = {};
        const Recording recording(scenario);
        for (const auto& [port, frames] : recording.ports) {
            for (const std::size_t every : {1000U, 2U, 3U, 7U, 20U}) {
                std::vector<Frame> thinned;
                for (std::size_t i = 0; i < frames.size(); ++i) {
                    if (i % every != seed % every || every == 1000) thinned.push_back(frames[i]);
                }
                const Analyzer analyzer = analysed(thinned);
                INFO("seed " << seed << ", port " << port << ", without every " << every << "th");
                for (const bool own : {true, false}) {
                    const Said said = said_of(analyzer, port, own);
                    CHECK(std::accumulate(said.requests.begin(), said.requests.end(), 0U) == 0);
                    CHECK(std::accumulate(said.responses.begin(), said.responses.end(), 0U) == 0);
                    if (every == 1000) CHECK(said.not_captured == 0);
                    lacking += said.not_captured;
                }
            }
        }
    }
    CHECK(lacking > 100);
}

} // namespace veriroce::analyze::test
