// The classic pcap file: a header of 24 bytes, then packets with headers of 16 bytes each, times in
// micro- or nanoseconds, either byte order. Source: draft-ietf-opsawg-pcap.
#pragma once

#include <expected>
#include <optional>

#include "dissector/capture/record.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

// A packet larger than this is a damaged header, not a packet: twice what a 64-bit GSO frame has.
inline constexpr std::uint32_t kMaxPacketBytes = 16U * 1024 * 1024;

class PcapFormat {
  public:
    // Nothing if the four bytes are no magic number of a pcap file.
    static std::optional<PcapFormat> recognise(wire::Bytes magic);

    // Consumes the file header and describes the one interface that such a file has.
    std::expected<Interface, ReadError> read_header(Source& source);

    // Fills `record` and returns true; false at the end of the file.
    std::expected<bool, ReadError> next(Source& source, Record& record) const;

  private:
    ByteOrder order_;
    TimeScale time_;
    std::uint32_t nanoseconds_per_unit_ = 1000;
    std::uint16_t link_code_ = 0;
};

} // namespace veriroce::capture
