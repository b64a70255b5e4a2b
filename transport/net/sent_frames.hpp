// Internal: matches a frame that the kernel reflected with the frame that we sent. No I/O, no
// clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "dissector/wire/bytes.hpp"
#include "transport/net/raw_link.hpp"

namespace veriroce::net {

class SentFrames {
  public:
    // Records a sent frame and numbers it.
    Sent add(wire::Bytes frame, wire::Interval when);

    // The oldest sent frame with this content that was not matched yet. The kernel reflects frames
    // in the order of sending; frames that were never reflected (filtered out, or lost in a queue)
    // expire.
    std::optional<Sent> take(wire::Bytes frame, wire::Instant stamp);

  private:
    struct Entry {
        Sent sent;
        std::size_t bytes = 0;
        std::size_t hash = 0;
    };
    std::deque<Entry> entries_;
    std::uint64_t last_ = 0;
};

} // namespace veriroce::net
