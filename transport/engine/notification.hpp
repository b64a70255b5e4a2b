// The notification point: CNPs for packets that came marked "congestion experienced", not more
// often than the interval allows; and CNPs that come in.
//
// Both what waits and what is remembered is bounded. A CNP for which there is no room is left out,
// as if it had come within the interval: coalescing is allowed (CA17-44).
//
// Source: CA17-44, rules CNP-01..CNP-08, CNP-10..CNP-13, N-35.
#pragma once

#include <array>
#include <optional>

#include "transport/engine/congestion.hpp"
#include "transport/engine/ring.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

struct Device;
struct Qp;
struct Transmit;

// A CNP that is to be sent.
struct PendingCnp {
    QpId qp; // ours, that received the marked packet
    wire::Qpn dest_qp;
    wire::Pkey pkey; // CA17-44: of the marked packet
    wire::IpAddress source;
    wire::IpAddress destination;
    std::optional<wire::VlanId> vlan;
};

class NotificationQueue {
  public:
    [[nodiscard]] bool empty() const { return pending_.empty(); }
    [[nodiscard]] bool full() const { return pending_.full(); }
    void push(const PendingCnp& cnp) { pending_.push(cnp); }
    PendingCnp pop() { return pending_.pop(); }

    // Whether the interval has passed for this address, or for the port; if so it begins again.
    bool destination_due(const wire::IpAddress& address, wire::Duration interval,
                         wire::Instant now);
    bool port_due(wire::Duration interval, wire::Instant now);

  private:
    static constexpr std::size_t kPending = 1024;
    static constexpr std::size_t kDestinations = 256;
    struct Destination {
        wire::IpAddress address;
        wire::Instant last;
    };
    Ring<PendingCnp> pending_{kPending};
    Ring<Destination> destinations_{kDestinations}; // the one whose CNP is oldest in front
    std::optional<wire::Instant> port_last_;
};

// CNP-01: a packet passed the QP's packet checks; if it is marked, a CNP is due.
void note_mark(Device& device, Qp& qp, const PacketView& view, wire::Instant now);
// CNP-09..12: a CNP passed them.
void handle_cnp(Device& device, Qp& qp, const PacketView& view, wire::Instant now);
// The next CNP that waits.
Transmit* next_cnp(Device& device);

// The QP becomes a reaction point if the device is one now, and begins at the line's rate.
void take_reaction_point(const Device& device, Qp& qp);
// CA17-45: whether the QP must wait before it sends data; then its timer is set.
bool held_back(Device& device, Qp& qp, wire::Instant now);
// Counts what left against the QP's rate.
void charge(Qp& qp, const Transmit& packet, wire::Instant now);

} // namespace veriroce::engine
