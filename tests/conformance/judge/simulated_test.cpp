// Whole engines under random work, lawful options and trouble, judged at the port of each: what the
// network did is nobody's fault, and engines that keep the rules are blamed for nothing.
#include <catch2/catch.hpp>

#include <map>

#include "conformance/judge/judge.hpp"
#include "dissector/decode/decoder.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::judge::test {
namespace {

constexpr std::uint64_t seeds = 400;
constexpr std::size_t most_endpoints = 3;

std::array<wire::IpAddress, 2> addresses_of(std::size_t port) {
    const std::string last = std::to_string(port + 1);
    return {wire::IpAddress::parse("10.77.0." + last).value(),
            wire::IpAddress::parse("fd77::" + last).value()};
}
bool of_port(const wire::IpAddress& address, std::size_t port) {
    const auto own = addresses_of(port);
    return std::ranges::find(own, address) != own.end();
}

struct Seen {
    std::vector<std::byte> frame;
    wire::Instant when;
};

// What passed each endpoint's port.
struct Run {
    std::map<std::size_t, std::vector<Seen>> ports;
    sim::Outcome outcome;

    explicit Run(std::uint64_t seed, const sim::Defect& defect = {}) {
        outcome = sim::run_swarm(
            seed, defect, [&](std::size_t port, wire::Bytes frame, wire::Instant when) {
                // Trouble may write the receiver's own address over the sender's.
                const auto ethernet = wire::Ethernet::decode(frame);
                if (!ethernet) return;
                const auto seen = wire::decode_frame(frame);
                const auto sender = std::to_integer<std::size_t>(ethernet->source.bytes[5]) - 1;
                if (sender != port && seen && of_port(seen->envelope().source, port)) return;
                ports[port].push_back({{frame.begin(), frame.end()}, when});
            });
    }
};

std::vector<Violation> judged(const Run& run, std::size_t port, Summary& sum) {
    Knowledge knowledge;
    knowledge.complete = true;
    // What comes from the others may have been rewritten, forged and replayed on its way.
    for (std::size_t other = 0; other < most_endpoints; ++other) {
        auto& list = other == port ? knowledge.recorded_at : knowledge.not_judged;
        for (const wire::IpAddress& address : addresses_of(other))
            list.push_back(address);
    }
    Judge judge(knowledge);
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Seen& seen : run.ports.at(port)) {
        const decode::FrameFacts facts{.bytes = seen.frame,
                                       .original_length =
                                           static_cast<std::uint32_t>(seen.frame.size()),
                                       .number = ++number,
                                       .time_ns = seen.when.time_since_epoch().count()};
        decode::dissect_frame(facts, {}, dissection);
        judge.observe(dissection);
    }
    judge.finish();
    const Summary one = judge.summary();
    sum.packets += one.packets;
    sum.certain += one.certain;
    sum.possible += one.possible;
    sum.undecidable += one.undecidable;
    sum.connections += one.connections;
    sum.unpaired += one.unpaired;
    return {judge.violations().begin(), judge.violations().end()};
}

} // namespace

TEST_CASE("simulated: engines that keep the rules are blamed for nothing", "[judge][sim]") {
    Summary sum;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Run run(seed);
        REQUIRE_FALSE(run.outcome.failure);
        for (const auto& [port, frames] : run.ports) {
            for (const Violation& violation : judged(run, port, sum)) {
                if (violation.certainty != Certainty::Certain) continue;
                FAIL_CHECK("seed " << seed << ", port " << port << ": " << violation.rule << ": "
                                   << violation.text << " (" << violation.ends << ", packet "
                                   << violation.packets.numbers[0] << ")");
            }
        }
    }
    CHECK(sum.packets > seeds * 100);
    CHECK(sum.connections > seeds);
    INFO(sum.possible << " possible, " << sum.undecidable << " undecidable, " << sum.unpaired
                      << " unpaired of " << sum.packets);
    CHECK(sum.unpaired < sum.packets / 4);
}

} // namespace veriroce::judge::test
