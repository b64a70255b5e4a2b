// pcapng: blocks with a type and a length, grouped into sections. Each section declares its byte
// order and its interfaces. Packets are enhanced, simple or (obsolete) packet blocks; other block
// types are skipped. Source: draft-ietf-opsawg-pcapng.
#pragma once

#include <expected>
#include <vector>

#include "dissector/capture/record.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

// A longer block of a type that is read means a damaged length. The limit is libpcap's.
inline constexpr std::uint32_t kMaxBlockBytes = 16U * 1024 * 1024;

class PcapngFormat {
  public:
    // Whether the first four bytes begin a section header.
    static bool recognise(wire::Bytes magic);

    // Whether these bytes, where a block begins, hold all of it, and it is a packet.
    [[nodiscard]] bool holds_packet(wire::Bytes bytes) const;
    // Fills `record` and returns true; returns false at the end of the file. Interfaces described
    // before the packet are appended to `interfaces`.
    std::expected<bool, ReadError> next(Source& source, std::vector<Interface>& interfaces,
                                        Record& record);

  private:
    struct Block {
        std::uint32_t type = 0;
        std::uint64_t offset = 0;
        wire::Bytes body; // without type and lengths
    };

    std::expected<Block, ReadError> read_block(Source& source);
    std::expected<Block, ReadError> skip_block(Source& source, std::uint32_t length,
                                               const Block& block) const;
    std::expected<void, ReadError> open_section(const Block& block,
                                                const std::vector<Interface>& interfaces);
    std::expected<void, ReadError> add_interface(const Block& block,
                                                 std::vector<Interface>& interfaces) const;
    std::expected<void, ReadError>
    read_packet(const Block& block, const std::vector<Interface>& interfaces, Record& record) const;
    std::expected<void, ReadError>
    read_simple(const Block& block, const std::vector<Interface>& interfaces, Record& record) const;

    ByteOrder order_;
    std::uint32_t section_ = 0;         // counted from 1
    std::size_t section_interface_ = 0; // index of the section's first interface
};

} // namespace veriroce::capture
