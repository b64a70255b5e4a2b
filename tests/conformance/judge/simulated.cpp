#include "tests/conformance/judge/simulated.hpp"

#include <algorithm>

#include "dissector/decode/decoder.hpp"

namespace veriroce::judge::test {
namespace {

bool belongs_to(const wire::IpAddress& address, std::size_t endpoint) {
    const auto own = addresses_of(endpoint);
    return std::ranges::find(own, address) != own.end();
}

flow::Introduction introduction(const Recording& recording, std::size_t connection,
                                std::size_t side) {
    const sim::ConnectionPlan& plan = recording.scenario.connections[connection];
    const sim::DirectionPlan& asks = plan.directions[side];
    return {.address = addresses_of(plan.endpoints[side])[plan.ipv6 ? 1 : 0],
            .qpn = recording.outcome.qpns[connection][side],
            .attributes = {.mtu = plan.mtu,
                           .first_psn = asks.first_psn,
                           .max_rd_atomic = asks.rd_atomic,
                           .timeout = asks.timeout}};
}

} // namespace

std::array<wire::IpAddress, 2> addresses_of(std::size_t endpoint) {
    const std::string last = std::to_string(endpoint + 1);
    return {wire::IpAddress::parse("10.77.0." + last).value(),
            wire::IpAddress::parse("fd77::" + last).value()};
}

Recording::Recording(sim::Scenario played, const sim::Defect& defect)
    : scenario(std::move(played)) {
    std::uint64_t order = 0;
    const sim::FrameObserver observer = [this, &order](std::size_t port, wire::Bytes frame,
                                                       wire::Instant when) {
        // A fault may write the receiver's own address over the sender's.
        const auto ethernet = wire::Ethernet::decode(frame);
        if (!ethernet) return;
        const auto seen = wire::decode_frame(frame);
        const auto sender = std::to_integer<std::size_t>(ethernet->source.bytes[5]) - 1;
        if (sender != port && seen && belongs_to(seen->envelope().source, port)) return;
        ports[port].push_back({{frame.begin(), frame.end()}, when, ++order, sender == port});
    };
    outcome = sim::play(scenario, defect, observer);
}

Assumptions assumptions_at(const Recording& recording, std::size_t endpoint, Told told) {
    Assumptions assumptions;
    assumptions.complete = true;
    for (const wire::IpAddress& address : addresses_of(endpoint))
        assumptions.recorded_at.push_back(address);
    if (told == Told::Place) return assumptions;
    for (std::size_t i = 0; i < recording.scenario.connections.size(); ++i) {
        assumptions.connections.push_back(
            {introduction(recording, i, 0), introduction(recording, i, 1)});
    }
    assumptions.patience = std::chrono::microseconds(20);
    assumptions.memory_at_rest = assumptions.recorded_at;
    return assumptions;
}

bool forges(const sim::Scenario& scenario) {
    return scenario.fault_rates.one_in[static_cast<std::size_t>(sim::FaultKind::Forge)] != 0;
}

std::vector<wire::IpAddress> all_but(std::size_t endpoint) {
    constexpr std::size_t most_endpoints = 3;
    std::vector<wire::IpAddress> others;
    for (std::size_t other = 0; other < most_endpoints; ++other) {
        if (other == endpoint) continue;
        for (const wire::IpAddress& address : addresses_of(other))
            others.push_back(address);
    }
    return others;
}

Judge judged_at(const Recording& recording, std::size_t endpoint, Assumptions assumptions) {
    Judge judge(std::move(assumptions));
    decode::Dissection dissection;
    std::uint64_t number = 0;
    const auto frames = recording.ports.find(endpoint);
    if (frames == recording.ports.end()) return judge;
    for (const Seen& seen : frames->second) {
        const decode::FrameFacts facts{.bytes = seen.frame,
                                       .original_length =
                                           static_cast<std::uint32_t>(seen.frame.size()),
                                       .number = ++number,
                                       .time_ns = seen.when.time_since_epoch().count()};
        decode::dissect_frame(facts, {}, dissection);
        judge.observe(dissection);
    }
    judge.finish(wire::Instant{recording.outcome.tally.time});
    return judge;
}

} // namespace veriroce::judge::test
