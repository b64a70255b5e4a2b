// What has reached a responder whose own port was recorded: which PSN a device that keeps the rules
// can expect, between two bounds, and which expected PSNs a packet ahead of them can have met.
//
// The lower bound counts only requests that a responder must take (RSP-01); the upper one also
// those that it may drop. An RNR NAK takes the lower bound back, and until something is
// acknowledged again nothing tells whether an early resend was taken (RNR-05): even one that came
// before the RNR NAK left.
// Source: rules RSP-01, RSP-02, RSP-09, RNR-04, RNR-05.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "dissector/wire/types.hpp"

namespace veriroce::judge {

class Arrivals {
  public:
    struct Effect {         // for certain
        bool taken = false; // now, and not before
        bool ahead = false; // of whatever is expected
    };

    // Before a request with this PSN nothing was sent.
    void begin_at(wire::Psn psn);
    // A request over `span` PSNs has come. Not `sure`: it may lawfully be dropped.
    Effect request(wire::Psn psn, std::uint32_t span, bool sure);
    // A response says that everything before this PSN was taken. `sent` is behind all that was.
    void acknowledged(wire::Psn before, wire::Psn sent);
    void not_ready(wire::Psn psn); // an RNR NAK
    // What is not understood makes it forget all until the next acknowledgement.
    void forget() { known_ = false; }
    // The same for a request that cannot be placed: it may be ahead of whatever is expected then.
    void lose_track() {
        known_ = false;
        unplaced_ = true;
    }

    [[nodiscard]] bool known() const { return known_; }
    // The PSN that is expected, where that is certain.
    [[nodiscard]] std::optional<wire::Psn> expected() const;
    // Everything before it was taken.
    [[nodiscard]] wire::Psn sure() const { return sure_; }
    // Whether a packet ahead can have met a responder that expected this PSN (RSP-02).
    [[nodiscard]] bool may_have_missed(wire::Psn psn) const;

  private:
    struct Range {
        wire::Psn low;
        wire::Psn high;
    };
    void remember(Range range);

    bool known_ = false;
    bool unplaced_ = false;      // something came while or before it was not known
    bool waits_ = false;         // since an RNR NAK
    std::optional<Range> again_; // what came again and has no answer since lies between these
    wire::Psn sure_;
    wire::Psn most_;
    std::array<Range, 8> missed_{}; // the oldest first
    std::size_t missed_count_ = 0;
};

} // namespace veriroce::judge
