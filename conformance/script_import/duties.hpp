// What the device must answer: noted where it is asked, written where the capture shows an answer.
// Internal to this room.
// Source: rules ACK-01, ACK-03, RDR-01, RDR-02, ATM-01, EXT-02.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>

#include "conformance/script_import/draft.hpp"

namespace veriroce::script_import {

struct Duty {
    enum class Kind : std::uint8_t { Ack, Nak, RnrNak, Read, Atomic, Empty };
    Kind kind = Kind::Ack; // Empty: a READ response without data
    std::int64_t psn = 0;
    std::string match;
    std::string data; // of a READ; not compared if memory changed since it was asked for
};

class Duties {
  public:
    explicit Duties(Draft& draft) : draft_(draft) {}

    void expect(Duty duty);
    // Writes those up to this PSN.
    void flush(std::int64_t up_to = std::numeric_limits<std::int64_t>::max());
    // Memory changes: what the READs so far bring is not known.
    void forget_data();

    [[nodiscard]] std::size_t reads_asked() const;
    // The last PSN that an answer which must come covers; -1 if there is none.
    [[nodiscard]] std::int64_t covered() const { return covered_; }

  private:
    void write(const Duty& duty);

    Draft& draft_;
    std::deque<Duty> duties_;
    std::int64_t covered_ = -1;
};

} // namespace veriroce::script_import
