// Everything that an engine holds: its objects, its queues, its counters; and how a packet of a QP
// begins and leaves. Inside the room only.
#pragma once

#include <array>
#include <vector>

#include "transport/engine/check_runner.hpp"
#include "transport/engine/completion.hpp"
#include "transport/engine/deadlines.hpp"
#include "transport/engine/engine.hpp"
#include "transport/engine/multicast.hpp"
#include "transport/engine/notification.hpp"
#include "transport/engine/qp.hpp"

namespace veriroce::engine {

// The opcodes that an engine sends, out of the opcode table once and for all.
struct Opcodes {
    Opcodes();
    static const Opcodes& all();

    // By position and what ends the message: nothing, immediate data, a key to revoke.
    using Row = std::array<std::array<std::uint8_t, 3>, 4>;
    // By QpType; UD has neither WRITE nor parts of a message.
    std::array<Row, 3> send{};
    std::array<Row, 2> write{};
    std::array<std::uint8_t, 4> read_response{}; // by position
    std::uint8_t read = 0;
    std::uint8_t compare_swap = 0;
    std::uint8_t fetch_add = 0;
    std::uint8_t flush = 0;
    std::uint8_t atomic_write = 0;
    std::uint8_t acknowledge = 0;
    std::uint8_t atomic_acknowledge = 0;
};

inline constexpr std::size_t kEventQueue = 4096;

struct Device {
    Device(const Config& config_of_device, const Checks& checks_of_device);

    Config config;
    CheckRunner checks;
    Memory memory;
    std::vector<std::unique_ptr<CompletionQueue>> cqs;     // by CqId - 1; empty if destroyed
    std::vector<std::unique_ptr<Qp>> qps;                  // by QpId - 1; empty if destroyed
    std::vector<std::unique_ptr<SharedReceiveQueue>> srqs; // by SrqId - 1; empty if destroyed
    std::vector<std::uint8_t> pds;                         // by PdId - 1; whether it lives
    std::uint32_t live_qps = 0;
    std::uint32_t live_cqs = 0;
    std::optional<QpId> gsi; // QP1
    std::uint32_t live_srqs = 0;
    Ring<std::uint32_t> ready{0}; // indices of QPs that may have something to send
    Deadlines deadlines;
    Ring<Event> events{kEventQueue};
    NotificationQueue notifications;
    MulticastGroups groups;
    Counters counters;
    Ring<Refusal> refusals{kRefusals}; // the newest ones that the user has not polled
    std::uint64_t refused = 0;         // in all
    const Opcodes& opcodes = Opcodes::all();

    // The packet that poll_transmit hands out, and its headers, as values and as bytes.
    Transmit outgoing;
    wire::Packet packet;
    std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
    std::array<std::byte, 4096> scratch{};

    static std::uint32_t index_of(const Qp& qp) { return qp.id.value - 1; }
    [[nodiscard]] bool alive(PdId pd) const;
    // Nothing there: nullptr.
    [[nodiscard]] Qp* find(QpId qp) const;
    [[nodiscard]] Qp* find(wire::Qpn qpn) const;
    [[nodiscard]] CompletionQueue* find(CqId cq) const;
    [[nodiscard]] SharedReceiveQueue* find(SrqId srq) const;

    void mark_ready(Qp& qp);
    void raise(const Event& event);
    void raise(EventType type, const Qp& qp) { raise({.type = type, .qp = qp.id}); }

    // Notes why a packet was refused; poll_refusal() tells it.
    [[gnu::cold]] void note_refusal(RefusedBy by, RefusalOutcome outcome,
                                    const std::optional<wire::Bth>& bth, wire::Instant now);
    // A packet without any effect: counts it and notes why.
    [[gnu::cold]] void drop(RefusedBy by, const std::optional<wire::Bth>& bth, wire::Instant now);
};

// Begins the QP's next packet, in device.packet: its BTH and which headers it has. The caller sets
// those headers; the others are left over from older packets and are not sent.
wire::Packet& packet_to_peer(Device& device, const Qp& qp, std::uint8_t opcode, wire::Psn psn);
// Makes it the packet that poll_transmit hands out: device.outgoing.
Transmit* transmit(Device& device, const Qp& qp, const wire::Packet& packet, wire::Bytes payload);

} // namespace veriroce::engine
