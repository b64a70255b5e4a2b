// The time of a packet in its line, in one of tshark's forms (-t).
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include "dissector/decode/dissection.hpp"
#include "dissector/print/append.hpp"

namespace veriroce::print {

using Cell = Scratch<64>; // larger than any number, time or address

enum class TimeForm : std::uint8_t {
    Relative,       // seconds since the first packet
    Clock,          // time of day, in the time zone of the environment
    Date,           // with the date
    Utc,            // time of day, UTC
    UtcDate,        // with the date
    Delta,          // seconds since the packet before
    DeltaDisplayed, // seconds since the packet that was printed before
    Epoch,          // seconds since 1970
};

// Remembers the packet before and the current minute, so that the time zone is not asked for each
// packet.
class TimeColumn {
  public:
    explicit TimeColumn(TimeForm form = TimeForm::Relative) : form_(form) {}

    // Empty for a packet without a time. Call it once for each packet that is printed.
    Cell text(const decode::Dissection& dissection);
    // Before another file.
    void begin_file() { displayed_ns_.reset(); }

  private:
    void put_clock(Cell& cell, std::int64_t time_ns);

    TimeForm form_;
    std::optional<std::int64_t> displayed_ns_; // of the packet printed before
    std::optional<std::int64_t> minute_;       // since 1970, of `parts_`
    std::tm parts_{};
};

} // namespace veriroce::print
