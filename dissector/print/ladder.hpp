// One connection as a ladder: a line for each packet, an arrow between two lanes.
//
//                    10.77.0.1 QP 0x00003d                      10.77.0.2 QP 0x00003e
//     1   0.000000 │─ Send Only PSN=4096 Len=500 AckReq ──────────────────────────▶│
//     2   0.000687 │◀───── Acknowledge PSN=4096 RNR NAK 10.24 ms [NAK of 1] MSN=0 ─│
//     3   0.016046 │╌ ↻ Send Only PSN=4096 [Retransmission of 1 ...] Len=500 ╌╌╌╌╌▶│
//
// ↻ and a dashed arrow: sent again. ✗ instead of an arrow's head: its receiver drops it, because
// the ICRC is wrong. A line without an arrow names PSNs that no packet carried.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dissector/decode/dissection.hpp"
#include "dissector/print/time_column.hpp"

namespace veriroce::print {

class Ladder {
  public:
    static constexpr std::size_t kNarrowest = 60;

    // Lines have at most `width` columns, or kNarrowest if that is more.
    explicit Ladder(std::size_t width);

    // The names of the two ends; they may come from a capture.
    void append_head(std::string& out, std::string_view left, std::string_view right) const;
    // A packet with a BTH.
    void append(std::string& out, const decode::Dissection& dissection, bool to_right,
                TimeColumn& time);

  private:
    void append_missing(std::string& out, const decode::Dissection& dissection) const;

    std::size_t width_;
    std::string text_; // reused for each packet
};

} // namespace veriroce::print
