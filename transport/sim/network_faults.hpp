// The faults on the wire of a run: drawn at random from the scenario's rates, or exactly those that
// an earlier run recorded. The actions are those of transport/fault, and its code applies them.
//
// A fault is recorded with the packet that it hit (the request, and the packet of that request),
// not with a time. So it hits the same packet again when other faults and requests are removed.
//
// A QP has few retries (REQ-13). After too many consecutive retries without progress, a connection
// suffers no faults until it progresses, so that no QP exceeds its retry limit.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/fault/injector.hpp"
#include "transport/sim/random.hpp"
#include "transport/sim/scenario.hpp"

namespace veriroce::sim {

// Identifies a packet of a run, independent of the time when it is sent.
struct PacketId {
    std::size_t connection = 0;
    std::size_t requester = 0; // the side of the requester
    bool response = false;     // sent by the responder
    std::uint32_t work = 0;    // WorkPlan::id
    std::uint32_t packet = 0;  // within that request, from 0
    std::uint32_t pass = 1;    // how many times it has been sent, including now

    friend auto operator<=>(const PacketId&, const PacketId&) = default;
    // The side that sends it.
    [[nodiscard]] std::size_t from() const { return response ? 1 - requester : requester; }
};

struct Injected {
    PacketId packet_id;
    FaultKind kind = FaultKind::Drop;
    fault::Action action;
    std::int64_t psn = 0; // relative to the requester's first PSN, in the run that recorded it
};

// A fault as a line of the script language: "drop when from=a qp=q0 psn=3 pass=1 opcode=requests".
std::string text_of(const Injected& injected);

class NetworkFaults {
  public:
    // Random faults.
    explicit NetworkFaults(const Scenario& scenario);
    // Exactly these faults; the caller keeps them alive.
    NetworkFaults(const Scenario& scenario, std::span<const Injected> exactly);

    // The fault for this packet, if any.
    std::optional<Injected> fault_for(const PacketId& packet_id, std::int64_t psn,
                                      std::size_t frame_bytes, wire::Instant now);
    // A requester made progress: one of its requests has completed.
    void progress(std::size_t connection, std::size_t requester);

    // The longest time that a packet is held or delayed.
    [[nodiscard]] wire::Duration longest_delay() const { return longest_delay_; }

  private:
    // A requester's progress, as far as the wire shows it.
    struct RequesterProgress {
        std::int64_t last = -1;
        std::int64_t went_back_to = -1;
        std::uint32_t went_back = 0; // retries since the last progress
    };

    void follow(RequesterProgress& requester, std::int64_t psn);
    [[nodiscard]] bool spared(const PacketId& packet_id) const;
    [[nodiscard]] bool suffers(const PacketId& packet_id) const;
    fault::Action action_of(FaultKind kind, const PacketId& packet_id, std::size_t frame_bytes);

    const Scenario& scenario_;
    Random random_;
    wire::Duration longest_delay_;
    // By connection and side of the requester.
    std::vector<std::array<RequesterProgress, 2>> requesters_;
    std::optional<std::map<PacketId, Injected>> exactly_;
};

} // namespace veriroce::sim
