// The classic pcap file: a 24-byte header, then packets with 16-byte headers. Times are in micro-
// or nanoseconds; both byte orders occur. Source: draft-ietf-opsawg-pcap.
#pragma once

#include <expected>
#include <optional>

#include "dissector/capture/record.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

// A larger packet means a damaged header. The limit is far above a 64-bit GSO frame.
inline constexpr std::uint32_t kMaxPacketBytes = 16U * 1024 * 1024;

class PcapFormat {
  public:
    // Empty if the four bytes are not the magic number of a pcap file.
    static std::optional<PcapFormat> recognise(wire::Bytes magic);

    // Consumes the file header and describes the file's only interface.
    std::expected<Interface, ReadError> read_header(Source& source);

    static constexpr std::size_t kFileHeaderBytes = 24;
    static constexpr std::size_t kPacketHeaderBytes = 16;
    // Where the first packet at or behind `from` seems to begin, in a whole file: several in
    // a row look like packets. The end of the file if none does. Whoever needs to be sure reads up
    // to there.
    [[nodiscard]] std::uint64_t likely_packet(wire::Bytes file, std::uint64_t from) const;

    // Whether these bytes, where a packet begins, hold all of it.
    [[nodiscard]] bool holds_packet(wire::Bytes bytes) const;
    // Fills `record` and returns true; returns false at the end of the file.
    std::expected<bool, ReadError> next(Source& source, Record& record) const;

  private:
    [[nodiscard]] bool likely(wire::Bytes header, std::uint32_t first_seconds) const;

    ByteOrder order_;
    TimeScale time_;
    std::uint32_t nanoseconds_per_unit_ = 1000;
    std::uint16_t link_code_ = 0;
};

} // namespace veriroce::capture
