#include "conformance/interpreter/environment.hpp"

#include <algorithm>

#include "dissector/wire/syndrome.hpp"

namespace veriroce::interpreter {
namespace {

constexpr wire::Duration kLeastPatience = std::chrono::seconds(1);
constexpr wire::Duration kLeastSettle = std::chrono::milliseconds(10);
constexpr wire::Duration kMostAckDelay = std::chrono::milliseconds(200);
constexpr int kPatienceRoundTrips = 20;
// IPv6, UDP, BTH, RETH and immediate, ICRC: what a packet has beside a full PMTU.
constexpr std::size_t kPacketOverhead = 40 + 8 + 12 + 20 + 4;

} // namespace

wire::Mtu largest_mtu(std::size_t link_mtu, wire::Mtu active) {
    wire::Mtu largest = wire::Mtu::B256;
    using enum wire::Mtu;
    for (const wire::Mtu mtu : {B512, B1024, B2048, B4096}) {
        const bool fits = wire::bytes_of(mtu) + kPacketOverhead <= link_mtu;
        if (fits && mtu <= active) largest = mtu;
    }
    return largest;
}

bool Environment::capable(std::string_view word) const {
    return std::ranges::find(dut.capabilities, word) != dut.capabilities.end();
}

bool Environment::trait(std::string_view word) const {
    return std::ranges::find(dut.traits, word) != dut.traits.end();
}

std::optional<wire::IpAddress> Environment::address(std::string_view name,
                                                    std::int64_t offset) const {
    wire::IpAddress base = tester.address;
    if (name == "dut") {
        base = dut_address;
    } else if (const auto ours = tester.named.find(std::string(name)); ours != tester.named.end()) {
        base = ours->second;
    } else if (const auto its = dut_named.find(std::string(name)); its != dut_named.end()) {
        base = its->second;
    } else if (name != "tester") {
        return std::nullopt;
    }
    wire::store_be<4>(base.bytes, 12, static_cast<std::uint32_t>(base.low32() + offset));
    return base;
}

std::string Environment::counter_name(wire::DeviceCounter counter) const {
    const auto found = counters.find(counter);
    return found == counters.end() ? std::string(wire::name_of(counter)) : found->second;
}

void Environment::take_round_trips(wire::Duration p99) {
    round_trip_p99 = p99;
    const wire::Duration round_trips = kPatienceRoundTrips * p99;
    patience = std::max(kLeastPatience, round_trips);
    const wire::Duration ack_delay =
        wire::ack_timeout(dut.local_ca_ack_delay).value_or(wire::Duration(0));
    settle = std::max(kLeastSettle, round_trips) + std::min(ack_delay, kMostAckDelay);
}

} // namespace veriroce::interpreter
