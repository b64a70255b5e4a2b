// Types of pcapng blocks, and the option list at the end of a block: a 2-byte code, a 2-byte
// length, the value, and padding to a multiple of four bytes. Source: draft-ietf-opsawg-pcapng,
// "Options".
#pragma once

#include <optional>

#include "dissector/capture/byte_order.hpp"

namespace veriroce::capture {

namespace block_type {
inline constexpr std::uint32_t kSection = 0x0A0D0D0A;        // the same in both byte orders
inline constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D; // begins the body of a section
inline constexpr std::uint32_t kInterface = 1;
inline constexpr std::uint32_t kPacket = 2; // obsolete
inline constexpr std::uint32_t kSimplePacket = 3;
inline constexpr std::uint32_t kEnhancedPacket = 6;
} // namespace block_type

namespace option {
inline constexpr std::uint16_t kEnd = 0;
inline constexpr std::uint16_t kComment = 1;
inline constexpr std::uint16_t kUserApplication = 4;      // of a section
inline constexpr std::uint16_t kInterfaceName = 2;        // of an interface
inline constexpr std::uint16_t kInterfaceDescription = 3; // of an interface
inline constexpr std::uint16_t kInterfaceTimeUnit = 9;    // of an interface
inline constexpr std::uint16_t kInterfaceTimeOffset = 14; // of an interface
inline constexpr std::uint16_t kPacketFlags = 2;          // of an enhanced packet
} // namespace option

struct Option {
    std::uint16_t code = 0;
    wire::Bytes value;
};

// Iterates over a list once. A truncated option ends the list.
class OptionList {
  public:
    OptionList(wire::Bytes bytes, ByteOrder order) : rest_(bytes), order_(order) {}

    std::optional<Option> next() {
        if (rest_.size() < 4) return std::nullopt;
        const std::uint16_t code = order_.u16(rest_, 0);
        const std::size_t length = order_.u16(rest_, 2);
        if (code == option::kEnd || 4 + length > rest_.size()) return std::nullopt;
        const Option found{.code = code, .value = rest_.subspan(4, length)};
        const std::size_t padded = 4 + (length + 3) / 4 * 4;
        rest_ = rest_.subspan(padded < rest_.size() ? padded : rest_.size());
        return found;
    }

  private:
    wire::Bytes rest_;
    ByteOrder order_;
};

} // namespace veriroce::capture
