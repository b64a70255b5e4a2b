// The contents of a capture file: packets, and the interfaces that they were captured on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/capture/byte_order.hpp"

namespace veriroce::capture {

// How a file represents time: units of 10^-exponent or 2^-exponent seconds since 1970, plus an
// offset in seconds (pcapng's if_tsresol and if_tsoffset).
struct TimeScale {
    std::uint8_t exponent = 6;
    bool binary = false;
    std::int64_t offset_s = 0;

    // Nanoseconds since 1970, clamped at the year 2262.
    [[nodiscard]] std::int64_t nanoseconds(std::uint64_t units) const;
};

struct Interface {
    std::uint16_t link_code = 0;   // LINKTYPE_ value: 1 is Ethernet
    std::uint32_t snap_length = 0; // 0: no limit
    TimeScale time;
    std::string name;          // empty if the file does not say
    std::string description;   // empty if the file does not say
    std::uint32_t section = 0; // counted from 1; 0: the format has no sections
    std::uint32_t number = 0;  // within the section, counted from 0
};

enum class Direction : std::uint8_t { Unknown, Inbound, Outbound };

// One packet. The spans point into the file and are valid until the next call of Reader::next.
struct Record {
    std::optional<std::int64_t> time_ns; // since 1970; a simple packet block has no time
    std::uint16_t link_code = 0;
    std::uint32_t interface = 0;       // index into Reader::interfaces
    std::uint32_t original_length = 0; // bytes on the wire
    wire::Bytes bytes;                 // the captured part
    std::uint64_t offset = 0;          // of the packet's header in the file
    wire::Bytes options;               // raw pcapng options, for the functions below
    ByteOrder order;                   // of the options
};

// The packet's comments (opt_comment), in file order. They point into the file.
std::vector<std::string_view> comments_of(const Record& record);

// Read from the packet's flags option.
Direction direction_of(const Record& record);

} // namespace veriroce::capture
