// Inside this room: which of our frames the kernel has just reflected. No I/O, no clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "dissector/wire/bytes.hpp"
#include "transport/net/raw_link.hpp"

namespace veriroce::net {

class SentFrames {
  public:
    // A frame has been sent; the result carries its number.
    Sent add(wire::Bytes frame, Interval when);

    // The oldest frame of this content that has not been taken. Frames are reflected in the order
    // in which they were sent; those that never were (filtered, lost in a queue) age out.
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
