// Filters on the messages of connection management that pass QP 1. Inside the room only.
//
// Source: rules N-30, CM-01, CM-06, CM-09.
#pragma once

#include <algorithm>

#include "conformance/mutants/packets.hpp"
#include "dissector/wire/connection_message.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants::of_qp1 {

using namespace wire::cm;

inline constexpr std::size_t kHeaderBytes = wire::Bth::kSize + wire::Deth::kSize;

inline bool is_for_qp1(wire::Bytes bytes) {
    const auto packet = wire::decode_packet(bytes);
    return packet && packet->info().service == wire::Service::Ud &&
           packet->bth.dest_qp == wire::kGsiQpn;
}

// The datagram in a packet to QP 1; empty if there is no whole one.
inline wire::MutableBytes datagram_in(engine::OwnedDatagram& packet) {
    if (packet.bytes.size() < kHeaderBytes + wire::kMadBytes || !is_for_qp1(packet.bytes))
        return {};
    return wire::MutableBytes(packet.bytes).subspan(kHeaderBytes, wire::kMadBytes);
}

// Looks at each whole datagram to or from QP 1, and may change it. Whether it goes on.
class MessageFilter : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) final {
        const auto message = datagram_in(datagram);
        if (message.empty() || hears(message)) in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) final {
        const auto message = datagram_in(datagram);
        if (message.empty() || sends(message)) out.push_back(std::move(datagram));
    }

  protected:
    virtual bool hears(wire::MutableBytes /*message*/) { return true; }
    virtual bool sends(wire::MutableBytes /*message*/) { return true; }
};

template <void (*Edit)(wire::MutableBytes)>
class EditsSentMessage final : public MessageFilter {
    bool sends(wire::MutableBytes message) override {
        Edit(message);
        return true;
    }
};

template <void (*Edit)(wire::MutableBytes)>
class EditsHeardMessage final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        Edit(message);
        return true;
    }
};

template <std::uint16_t Attribute>
bool carries(const engine::OwnedDatagram& datagram) {
    if (datagram.bytes.size() < kHeaderBytes + wire::kMadBytes || !is_for_qp1(datagram.bytes))
        return false;
    return attribute_of(wire::Bytes(datagram.bytes).subspan(kHeaderBytes)) == Attribute;
}

} // namespace veriroce::mutants::of_qp1
