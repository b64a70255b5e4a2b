// A device whose host learns things late: an Executor in front of another one. Completions, events
// and the bytes that packets wrote show some time after they could, and posting to a QP in ERR may
// be refused. What it does is what its filter says (surface_filter.hpp); without one it does
// nothing.
//
// Once a completion is seen, all that packets wrote is seen as well, and so is what the host itself
// writes. A device that obeys the rules may be so: an ACK promises no visibility (ACK-05), and
// nothing says how soon a completion comes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "conformance/dut/executor.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::dut {

class LateDevice final : public Executor {
  public:
    // Both must outlive this one; the filter may be null.
    LateDevice(Executor& device, const engine::SurfaceFilter* filter)
        : device_(device), filter_(filter) {}

    Answer execute(const Request& request, wire::Instant now) override;
    // The host has been told of everything up to now.
    void pass(wire::Instant now) { passed_ = now; }
    // When the next completion or event that is held back, and may not be looked for yet, shows.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;

  private:
    struct Region {
        std::uint64_t length = 0;
        std::vector<std::byte>
            seen; // by the host when it looked last; empty: it sees what is there
        std::optional<wire::Instant> differs_since;
    };
    struct Held {
        wire::Instant due;
        Completion completion;
    };
    struct HeldEvent {
        wire::Instant due;
        Event event;
    };

    Answer carry_out(const Poll& request, wire::Instant now);
    Answer carry_out(const Events& request, wire::Instant now);
    Answer carry_out(const MrRead& request, wire::Instant now);
    Answer carry_out(const MrDigest& request, wire::Instant now);
    [[nodiscard]] bool refuses_posts(QpHandle qp, wire::Instant now);
    // The bytes that the host sees; nothing if they are those that are there.
    [[nodiscard]] const std::vector<std::byte>* old_bytes(MrHandle mr, wire::Instant now);
    void see_everything();
    // What a call that was carried out changes.
    void note(const Request& request, const Result& result, wire::Instant now);

    Executor& device_;
    const engine::SurfaceFilter* filter_;
    std::map<MrHandle, Region> regions_;
    std::map<CqHandle, std::deque<Held>> held_;
    std::deque<HeldEvent> held_events_;
    wire::Instant passed_{};
};

} // namespace veriroce::dut
