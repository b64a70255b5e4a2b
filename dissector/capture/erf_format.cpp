#include "dissector/capture/erf_format.hpp"

#include <cstdlib>

namespace veriroce::capture {
namespace {

constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kTypeAt = 8;
constexpr std::size_t kRecordLengthAt = 10; // header, extensions, packet and padding
constexpr std::uint8_t kTypeMask = 0x7F;
constexpr std::uint8_t kMostTypes = 48; // the highest number that was given out
constexpr std::uint8_t kPadType = 48;   // records between others, without a packet

// Seconds and their fraction, 32 bits each, the least significant byte first in every file.
std::int64_t time_of(wire::Bytes header) {
    const std::uint64_t stamp = ByteOrder{std::endian::native == std::endian::big}.u64(header, 0);
    const auto seconds = static_cast<std::int64_t>(stamp >> 32);
    constexpr std::uint64_t kHalf = 1ULL << 31;
    const std::uint64_t nanoseconds = ((stamp & 0xFFFFFFFF) * 1'000'000'000 + kHalf) >> 32;
    return seconds * 1'000'000'000 + static_cast<std::int64_t>(nanoseconds);
}

std::uint8_t type_of(wire::Bytes header) {
    return std::to_integer<std::uint8_t>(header[kTypeAt]) & kTypeMask;
}

bool plausible(wire::Bytes header, std::int64_t first) {
    constexpr std::int64_t kCentury = 946'684'800'000'000'000; // its first second
    constexpr std::int64_t kDay = 86'400'000'000'000;
    const std::uint8_t type = type_of(header);
    const std::int64_t time = time_of(header);
    return type >= 1 && type <= kMostTypes && time >= kCentury && std::abs(time - first) <= kDay &&
           wire::load_u16(header, kRecordLengthAt) >= kHeaderBytes;
}

} // namespace

void take_erf_time(Record& record) {
    if (record.bytes.size() >= kHeaderBytes) record.time_ns = time_of(record.bytes);
}

std::optional<ErfFormat> ErfFormat::recognise(Source& source) {
    constexpr std::size_t kLooked = 8;
    std::size_t at = 0;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < kLooked; ++i) {
        const wire::Bytes ahead = source.ahead(at + kHeaderBytes);
        if (i > 0 && ahead.size() <= at) return ErfFormat{}; // the file ends here
        if (ahead.size() < at + kHeaderBytes) return std::nullopt;
        const wire::Bytes header = ahead.subspan(at, kHeaderBytes);
        if (i == 0) first = time_of(header);
        if (!plausible(header, first)) return std::nullopt;
        at += wire::load_u16(header, kRecordLengthAt);
        if (source.ahead(at).size() < at) return std::nullopt;
    }
    return ErfFormat{};
}

Interface ErfFormat::interface() {
    return {.link_code = kErfLinkCode,
            .snap_length = 0,
            .time = {.exponent = 9},
            .name = {},
            .description = {}};
}

std::expected<bool, ReadError> ErfFormat::next(Source& source, Record& record) {
    for (;;) {
        const wire::Bytes header = source.ahead(kHeaderBytes);
        if (header.empty() && !source.error()) return false;
        if (header.size() < kHeaderBytes) return std::unexpected(source.too_short());
        const std::size_t length = wire::load_u16(header, kRecordLengthAt);
        if (length < kHeaderBytes) {
            return std::unexpected(ReadError{
                .kind = ReadErrorKind::BadRecord, .offset = source.offset(), .detail = length});
        }
        const wire::Bytes whole = source.ahead(length);
        if (whole.size() < length) return std::unexpected(source.too_short());
        if (type_of(whole) == kPadType) {
            source.skip(length);
            continue;
        }
        record.time_ns = time_of(whole);
        record.link_code = kErfLinkCode;
        record.interface = 0;
        record.bytes = whole;
        record.original_length = static_cast<std::uint32_t>(length);
        record.offset = source.offset();
        record.options = {};
        source.skip(length);
        return true;
    }
}

} // namespace veriroce::capture
