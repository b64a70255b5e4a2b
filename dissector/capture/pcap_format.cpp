#include "dissector/capture/pcap_format.hpp"

#include <algorithm>
#include <cstdlib>

namespace veriroce::capture {
namespace {

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

// As captures have them: whole fractions of a second, at most as many bytes as there were, within a
// year of the file's first packet.
bool PcapFormat::likely(wire::Bytes header, std::uint32_t first_seconds) const {
    constexpr std::uint32_t kSecond = 1'000'000'000;
    constexpr std::int64_t kYear = 366LL * 24 * 3600;
    const std::int64_t seconds = order_.u32(header, 0);
    const std::uint32_t captured = order_.u32(header, 8);
    return order_.u32(header, 4) < kSecond / nanoseconds_per_unit_ &&
           captured <= order_.u32(header, 12) && captured <= kMaxPacketBytes &&
           std::abs(seconds - std::int64_t{first_seconds}) <= kYear;
}

std::uint64_t PcapFormat::likely_packet(wire::Bytes file, std::uint64_t from) const {
    constexpr int kInARow = 8;
    if (file.size() < kFileHeaderBytes + kPacketHeaderBytes) return file.size();
    const std::uint32_t first_seconds = order_.u32(file, kFileHeaderBytes);
    for (std::uint64_t at = std::max<std::uint64_t>(from, kFileHeaderBytes);
         at + kPacketHeaderBytes <= file.size(); ++at) {
        std::uint64_t end = at;
        int row = 0;
        while (row < kInARow && end + kPacketHeaderBytes <= file.size()) {
            const wire::Bytes header = file.subspan(end, kPacketHeaderBytes);
            if (!likely(header, first_seconds)) break;
            end += kPacketHeaderBytes + order_.u32(header, 8);
            ++row;
        }
        if (row == kInARow || (row > 0 && end == file.size())) return at;
    }
    return file.size();
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
