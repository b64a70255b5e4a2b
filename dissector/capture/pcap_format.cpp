#include "dissector/capture/pcap_format.hpp"

namespace veriroce::capture {
namespace {

constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kPacketHeaderBytes = 16;
constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4;
constexpr std::uint32_t kNanoseconds = 0xA1B23C4D;

} // namespace

std::optional<PcapFormat> PcapFormat::recognise(wire::Bytes magic) {
    for (const bool swapped : {false, true}) {
        const std::uint32_t value = ByteOrder{swapped}.u32(magic, 0);
        if (value != kMicroseconds && value != kNanoseconds) continue;
        PcapFormat format;
        format.order_ = {swapped};
        format.time_.exponent = value == kNanoseconds ? 9 : 6;
        format.nanoseconds_per_unit_ = value == kNanoseconds ? 1 : 1000;
        return format;
    }
    return std::nullopt;
}

std::expected<Interface, ReadError> PcapFormat::read_header(Source& source) {
    const wire::Bytes header = source.ahead(kFileHeaderBytes);
    if (header.size() < kFileHeaderBytes) return std::unexpected(source.too_short());
    // The upper half of the last word describes the frame check sequence. It is ignored: frames are
    // decoded by their own lengths.
    link_code_ = static_cast<std::uint16_t>(order_.u32(header, 20) & 0xFFFF);
    const Interface interface{.link_code = link_code_,
                              .snap_length = order_.u32(header, 16),
                              .time = time_,
                              .name = {},
                              .description = {}};
    source.skip(kFileHeaderBytes);
    return interface;
}

bool PcapFormat::holds_packet(wire::Bytes bytes) const {
    return bytes.size() >= kPacketHeaderBytes &&
           bytes.size() - kPacketHeaderBytes >= order_.u32(bytes, 8);
}

std::expected<bool, ReadError> PcapFormat::next(Source& source, Record& record) const {
    const wire::Bytes header = source.ahead(kPacketHeaderBytes);
    if (header.empty() && !source.error()) return false;
    if (header.size() < kPacketHeaderBytes) return std::unexpected(source.too_short());
    const std::uint32_t seconds = order_.u32(header, 0);
    const std::uint32_t fraction = order_.u32(header, 4);
    const std::uint32_t captured = order_.u32(header, 8);
    const std::uint32_t original = order_.u32(header, 12);
    if (captured > kMaxPacketBytes) {
        return std::unexpected(ReadError{
            .kind = ReadErrorKind::BadRecord, .offset = source.offset(), .detail = captured});
    }
    const wire::Bytes whole = source.ahead(kPacketHeaderBytes + captured);
    if (whole.size() < kPacketHeaderBytes + captured) return std::unexpected(source.too_short());
    record.time_ns =
        std::int64_t{seconds} * 1'000'000'000 + std::int64_t{fraction} * nanoseconds_per_unit_;
    record.link_code = link_code_;
    record.interface = 0;
    record.original_length = original;
    record.bytes = whole.subspan(kPacketHeaderBytes);
    record.offset = source.offset();
    record.options = {};
    source.skip(whole.size());
    return true;
}

} // namespace veriroce::capture
