// What goes wrong on the wire of a run: chosen at random by the scenario's plan, or exactly what an
// earlier run has noted. The actions are those of transport/fault and are carried out there.
//
// A fault is noted by the packet that it befell, as the request and the packet of that request, not
// by the time, so that it finds its packet again when other faults and requests are left out.
//
// Retries of a QP are few (REQ-13): when a requester has gone back too often without getting on,
// its connection is left alone until it gets on, so that no QP gives up lawfully.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/fault/injector.hpp"
#include "transport/sim/dice.hpp"
#include "transport/sim/scenario.hpp"

namespace veriroce::sim {

// A packet of a run, whenever it is sent.
struct Spot {
    std::size_t connection = 0;
    std::size_t asking = 0;   // the side whose request it belongs to
    bool response = false;    // the packet comes from the other side
    std::uint32_t work = 0;   // WorkPlan::id
    std::uint32_t packet = 0; // of that work, from 0
    std::uint32_t pass = 1;   // how often it is sent now

    friend auto operator<=>(const Spot&, const Spot&) = default;
    // The side that sends it.
    [[nodiscard]] std::size_t from() const { return response ? 1 - asking : asking; }
};

struct Injected {
    Spot spot;
    FaultKind kind = FaultKind::Drop;
    fault::Action action;
    std::int64_t psn = 0; // from the first of the asking side, in the run that noted it
};

// A fault as a line of the test language: "drop when from=a qp=q0 psn=3 pass=1 opcode=requests".
std::string text_of(const Injected& injected);

class Trouble {
  public:
    // Random trouble.
    explicit Trouble(const Scenario& scenario);
    // These faults and no others; they stay the caller's.
    Trouble(const Scenario& scenario, std::span<const Injected> exactly);

    // What befalls this packet.
    std::optional<Injected> befalls(const Spot& spot, std::int64_t psn, std::size_t frame_bytes,
                                    wire::Instant now);
    // A requester got on: a request of it was completed.
    void progress(std::size_t connection, std::size_t asking);

    // No packet is held back or late by more than this.
    [[nodiscard]] wire::Duration longest_delay() const { return longest_delay_; }

  private:
    // How far a requester has come, as the wire shows it.
    struct Course {
        std::int64_t highest = -1;
        std::int64_t last = -1;
        std::int64_t went_back_to = -1;
        std::uint32_t went_back = 0; // times since it got on
    };

    void follow(Course& course, std::int64_t psn);
    [[nodiscard]] bool spared(const Spot& spot) const;
    [[nodiscard]] bool suffers(const Spot& spot) const;
    fault::Action action_of(FaultKind kind, const Spot& spot, std::size_t frame_bytes);

    const Scenario& scenario_;
    Dice dice_;
    wire::Duration longest_delay_;
    std::vector<std::array<Course, 2>> courses_; // by connection and asking side
    std::optional<std::map<Spot, Injected>> exactly_;
};

} // namespace veriroce::sim
