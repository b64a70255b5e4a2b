#include "dissector/dissect/flow_counts.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "dissector/wire/fetch.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::dissect {
namespace {

// Spreads similar keys, such as consecutive QP numbers, evenly over the upper half (D. Knuth, TAOCP
// volume 3, section 6.4). Output does not depend on it.
constexpr std::uint64_t spread(std::uint64_t value) {
    return value * 0x9E3779B97F4A7C15U >> 32;
}

} // namespace

FlowPacket::FlowPacket(const decode::Dissection& dissection)
    : header(dissection.network.kind), qpn(dissection.packet.bth.dest_qp.value),
      bytes(dissection.body_bytes) {
    const bool v6 = header != decode::LayerKind::Ipv4;
    const wire::Bytes both = wire::ip_addresses(dissection.bytes_of(dissection.network), v6);
    for (std::size_t at = 0; at < both.size(); at += sizeof addresses[0])
        std::memcpy(&addresses[at / sizeof addresses[0]], &both[at], sizeof addresses[0]);
}

bool same_flow(const decode::Dissection& one, const decode::Dissection& other) {
    if (one.packet.bth.dest_qp != other.packet.bth.dest_qp) return false;
    if (one.network.kind != other.network.kind) return false;
    const bool v6 = one.network.kind != decode::LayerKind::Ipv4;
    const wire::Bytes addresses = wire::ip_addresses(one.bytes_of(one.network), v6);
    const wire::Bytes others = wire::ip_addresses(other.bytes_of(other.network), v6);
    return std::memcmp(addresses.data(), others.data(), addresses.size()) == 0;
}

namespace {

AddressPairs::Pair pair_of(const FlowPacket& packet) {
    const wire::Bytes bytes = std::as_bytes(std::span(packet.addresses));
    if (packet.header == decode::LayerKind::Ipv4) {
        return {wire::IpAddress::from_v4(wire::load_u32(bytes, 0)),
                wire::IpAddress::from_v4(wire::load_u32(bytes, 4))};
    }
    return {wire::IpAddress::from_v6(bytes.first(16)), wire::IpAddress::from_v6(bytes.subspan(16))};
}

} // namespace

std::optional<std::uint32_t> AddressPairs::number_of(const FlowPacket& packet) {
    const FlowPacket::Words& words = packet.addresses;
    const std::uint64_t sum = words[0] + words[1] * 3 + words[2] * 5 + words[3] * 7;
    Recent& recent = recent_[spread(sum) % kRecent];
    if (recent.words != words || recent.header != packet.header) {
        const auto number = number_of(pair_of(packet));
        if (!number) return std::nullopt;
        recent = {words, packet.header, *number};
    }
    return recent.number;
}

std::optional<std::uint32_t> AddressPairs::number_of(const Pair& pair) {
    if (const auto known = numbers_.find(pair)) return known;
    if (pairs_.size() == kMaxPairs) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(pairs_.size());
    numbers_.put(pair, number);
    pairs_.push_back(pair);
    return number;
}

void FlowCounts::add(const FlowPacket& packet) {
    const auto addresses = pairs_.number_of(packet);
    if (!addresses) {
        beyond_ += packet.packets;
        return;
    }
    const std::uint64_t key = std::uint64_t{*addresses} << 24 | packet.qpn;
    const std::uint64_t hash = spread(key);
    wire::fetch(places_[hash & (places_.size() - 1)]);
    if (waiting_count_ == kWaiting) settle();
    waiting_[waiting_count_++] = {key, hash, packet.bytes, packet.packets};
}

void FlowCounts::settle() {
    for (std::size_t i = 0; i < waiting_count_; ++i)
        count(waiting_[i]);
    waiting_count_ = 0;
}

void FlowCounts::count(const Waiting& packet) {
    Place& place = this->place(packet.key, packet.hash);
    const bool fresh = place.packets == 0;
    if (fresh && used_ == kMaxFlows) {
        beyond_ += packet.packets;
        return;
    }
    place.key = packet.key;
    place.packets += packet.packets;
    place.bytes += packet.bytes;
    if (fresh && ++used_ * 2 > places_.size()) grow();
}

void FlowCounts::grow() {
    Places smaller(places_.size() * 2);
    smaller.swap(places_);
    for (const Place& one : smaller) {
        if (one.packets > 0) place(one.key, spread(one.key)) = one;
    }
}

// The flow's slot, or the free slot where it belongs.
FlowCounts::Place& FlowCounts::place(std::uint64_t key, std::uint64_t hash) {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash & mask;
    while (places_[at].packets > 0 && places_[at].key != key)
        at = (at + 1) & mask;
    return places_[at];
}

flow::Path FlowCounts::path_of(const Place& place) const {
    const AddressPairs::Pair& pair = pairs_[static_cast<std::uint32_t>(place.key >> 24)];
    return {pair.source, pair.destination, static_cast<std::uint32_t>(place.key & wire::kMask24)};
}

std::vector<FlowCounts::Flow> FlowCounts::largest(std::size_t count) {
    settle();
    const auto larger = [this](const Place& a, const Place& b) {
        if (a.packets != b.packets) return a.packets > b.packets;
        const flow::Path x = path_of(a);
        const flow::Path y = path_of(b);
        return std::tie(x.source.bytes, x.destination.bytes, x.qpn) <
               std::tie(y.source.bytes, y.destination.bytes, y.qpn);
    };
    const auto used = [](const Place& one) { return one.packets > 0; };
    std::vector<Place> listed(std::min(count, used_));
    std::ranges::partial_sort_copy(places_ | std::views::filter(used), listed, larger);
    std::vector<Flow> flows;
    for (const Place& one : listed)
        flows.push_back({path_of(one), one.packets, one.bytes});
    return flows;
}

} // namespace veriroce::dissect
