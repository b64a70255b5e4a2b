// Packets as filters see and make them. Inside the room only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dissector/wire/packet.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

// BTH to the last pad byte.
std::vector<std::byte> bytes_of(const wire::Packet& packet);

// The envelope of what answers a datagram with this one.
wire::Envelope back(const wire::Envelope& envelope);

// An ACKNOWLEDGE with this syndrome.
wire::Packet acknowledge(wire::Qpn to, wire::Pkey pkey, wire::Psn psn, wire::Syndrome syndrome,
                         wire::Msn msn);

// A congestion notification packet.
wire::Packet notification(wire::Qpn to, wire::Pkey pkey);

// Gives a packet another opcode of the RC service. The headers that both opcodes have stay.
void set_opcode(wire::Packet& packet, wire::Operation operation, wire::Position position,
                bool immediate = false);
// The same operation, at another place in its message.
void set_place(wire::Packet& packet, wire::Position position);

bool is_sequence_nak(const wire::Packet& packet);
bool is_rnr_nak(const wire::Packet& packet);
bool is_ack(const wire::Packet& packet);
bool is_nak(const wire::Packet& packet); // an ACKNOWLEDGE of any other kind
bool is_fatal_nak(const wire::Packet& packet);
inline bool is_cnp(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::Cnp;
}
inline bool is_write(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::RdmaWrite;
}
inline bool is_read_request(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::RdmaReadRequest;
}
inline bool is_read_response(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::RdmaReadResponse;
}
inline bool is_rc_request(const wire::Packet& packet) {
    return packet.info().request() && packet.info().service == wire::Service::Rc;
}
inline bool is_rc_response(const wire::Packet& packet) {
    return packet.info().response() && packet.info().service == wire::Service::Rc;
}
inline bool is_atomic_request(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::CompareSwap ||
           packet.info().operation == wire::Operation::FetchAdd;
}
inline bool has_aeth(const wire::Packet& packet) {
    return packet.headers.has(wire::Header::Aeth);
}

// The newest PSN of all that were noted.
struct NewestPsn {
    std::optional<wire::Psn> psn;

    // Returns whether `first` is an old PSN. If it is a new one, it and the PSNs after it that the
    // packet takes are noted.
    bool note(wire::Psn first, std::uint32_t packets = 1) {
        if (psn && wire::distance(*psn, first) <= 0) return true;
        psn = first + (std::int64_t{packets} - 1);
        return false;
    }
};

// So far ahead of any expected PSN that it is a gap to every responder (RSP-02), and the same
// behind what precedes it.
inline constexpr std::int32_t kFarAhead = 1 << 22;

// Filters that look at each packet by itself, whatever came before.
template <bool (*Drops)(const engine::OwnedDatagram&)>
class DropsInbound final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (!Drops(datagram)) in.push_back(std::move(datagram));
    }
};

template <void (*Edit)(wire::Packet&)>
class EditsInbound : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (auto packet = wire::decode_packet(datagram.bytes)) {
            Edit(*packet);
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }
};

template <void (*Edit)(wire::Packet&)>
class EditsOutbound : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (auto packet = wire::decode_packet(datagram.bytes)) {
            Edit(*packet);
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }
};

// The envelope, and when the datagram leaves, by the packet in it.
template <void (*Edit)(const wire::Packet&, engine::OwnedDatagram&)>
class EditsSentDatagram final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (const auto packet = wire::decode_packet(datagram.bytes)) Edit(*packet, datagram);
        out.push_back(std::move(datagram));
    }
};

template <void (*Edit)(wire::Envelope&)>
class EditsSentEnvelope final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        Edit(datagram.envelope);
        out.push_back(std::move(datagram));
    }
};

// Takes a frame in that the link would drop, or (as an empty datagram) drops one that the link
// would take; nothing leaves the decision to the link.
template <std::optional<engine::OwnedDatagram> (*Admit)(wire::Bytes)>
class Admits final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        return Admit(frame);
    }
};

// For Mutant::make_filter.
template <typename Filter>
std::unique_ptr<engine::SurfaceFilter> make() {
    return std::unique_ptr<engine::SurfaceFilter>(new Filter); // make_unique would build its type
}

} // namespace veriroce::mutants
