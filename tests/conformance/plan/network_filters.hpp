// Devices that take what a network does to packets badly: marks, tags, pauses, repetition, and data
// that is not where it belongs. defects.hpp names them.
#pragma once

#include <set>

#include "tests/conformance/plan/defect_filters.hpp"

namespace veriroce::test {

inline bool met_congestion(const OwnedDatagram& datagram) {
    return datagram.envelope.ecn == wire::kCongestionExperienced;
}
inline bool in_a_flow(const OwnedDatagram& datagram) {
    return datagram.envelope.flow_label != 0;
}
inline void another_pkey(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.bth.pkey.value = 0x7FFF;
}
inline void another_source(OwnedDatagram& datagram, wire::Packet& /*packet*/) {
    datagram.envelope.source.bytes.back() ^= std::byte{1};
}

inline std::optional<OwnedDatagram> nothing_tagged(wire::Bytes frame) {
    if (wire::load_u16(frame, 12) != static_cast<std::uint16_t>(wire::EtherType::Vlan)) {
        return std::nullopt;
    }
    return OwnedDatagram{};
}
// Looks at the IP header for its version, never at the EtherType.
inline std::optional<OwnedDatagram> any_ether_type(wire::Bytes frame) {
    const bool v4 = frame.size() > 14 && std::to_integer<unsigned>(frame[14]) >> 4U == 4;
    if (!v4 || wire::load_u16(frame, 12) == 0x8100) return std::nullopt;
    std::vector<std::byte> mended(frame.begin(), frame.end());
    wire::store_be<2>(wire::MutableBytes(mended), 12, 0x0800);
    const auto datagram = wire::unseal(wire::Bytes(mended));
    if (!datagram) return std::nullopt;
    return OwnedDatagram{.envelope = datagram->envelope,
                         .bytes = {datagram->bytes.begin(), datagram->bytes.end()}};
}
// Takes a packet to 100 behind an address of its own for one to this.
inline std::optional<OwnedDatagram> hundred_ahead(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || (!decoded->ipv4 && !decoded->ipv6)) return std::nullopt;
    wire::Envelope envelope = decoded->envelope();
    std::byte& last = envelope.destination.bytes.back();
    if (last < std::byte{100} || !wire::unseal(frame)) return std::nullopt;
    last = static_cast<std::byte>(std::to_integer<unsigned>(last) - 100);
    const wire::Bytes bytes = decoded->transport.first(decoded->transport.size() - 4);
    return OwnedDatagram{.envelope = envelope, .bytes = {bytes.begin(), bytes.end()}};
}

// Once asked to pause it takes nothing in any more.
class StaysPaused final : public engine::SurfaceFilter {
  public:
    std::optional<OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        paused_ = paused_ || wire::load_u16(frame, 12) == 0x8808;
        return paused_ ? std::optional(OwnedDatagram{}) : std::nullopt;
    }

  private:
    bool paused_ = false;
};

// The last byte of every payload is another, on its way in or out.
template <bool In>
class Spoils final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (In) spoil(datagram);
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        if (!In) spoil(datagram);
        out.push_back(std::move(datagram));
    }

  private:
    static void spoil(OwnedDatagram& datagram) {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || packet->body.size() <= packet->bth.pad) return;
        datagram.bytes.at(datagram.bytes.size() - packet->bth.pad - 1) ^= std::byte{0xFF};
    }
};

// A request that is sent again ends in another byte, of its payload or of its last header.
class SaysItOtherwise final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool request = packet && packet->info().request();
        if (request && !sent_.insert(packet->bth.psn.value()).second) {
            datagram.bytes.back() ^= std::byte{0xFF};
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint32_t> sent_; // PSNs
};

// Drops a request whose PSN it has used itself, as if it were an answer that says nothing.
class HearsItself final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool own =
            packet && packet->info().request() && sent_.contains(packet->bth.psn.value());
        if (!own) in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) sent_.insert(packet->bth.psn.value());
        out.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint32_t> sent_; // PSNs
};

class TellsOfEverySecond final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.status == engine::WcStatus::Success && ++successes_ % 2 == 1) return std::nullopt;
        return one;
    }

  private:
    std::uint64_t successes_ = 0;
};

} // namespace veriroce::test
