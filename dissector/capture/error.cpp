#include "dissector/capture/error.hpp"

#include <algorithm>
#include <cstring>

namespace veriroce::capture {
namespace {

std::string hex(std::byte value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto number = std::to_integer<unsigned>(value);
    return {kDigits[number >> 4], kDigits[number & 0xF]};
}

std::string first_bytes(const ReadError& error) {
    std::string text;
    for (std::size_t i = 0; i < error.head_bytes; ++i)
        text += hex(error.head[i]);
    return text;
}

// Compressions that are not read here, by the first bytes of their files, and what undoes them.
struct OtherCompression {
    std::string_view magic;
    std::string_view name;
    std::string_view command;
};
constexpr std::array kOtherCompressions{
    OtherCompression{"\xFD\x37\x7A\x58", "xz", "xz -dc"},
    OtherCompression{"BZh", "bzip2", "bzip2 -dc"},
    OtherCompression{"\x04\x22\x4D\x18", "LZ4", "lz4 -dc"},
    OtherCompression{"PK\x03\x04", "zip", "unzip -p"},
};

std::string not_a_capture(const ReadError& error, std::string_view path) {
    const std::string after = error.decompressed ? "after decompression " : "";
    std::string head;
    for (std::size_t i = 0; i < error.head_bytes; ++i)
        head += static_cast<char>(error.head[i]);
    const auto other = std::ranges::find_if(
        kOtherCompressions, [&](const auto& one) { return head.starts_with(one.magic); });
    if (other != kOtherCompressions.end()) {
        const std::string file = path == "-" ? "" : " " + std::string(path);
        return after + "compressed with " + std::string(other->name) + "; pipe the output of '" +
               std::string(other->command) + file + "' into this command, and give - as the file";
    }
    return after + "not a pcap or pcapng file (first bytes " + first_bytes(error) +
           "); give a capture file";
}

std::string sentence(const ReadError& error, std::string_view path) {
    const std::string place = std::to_string(error.offset);
    const std::string at =
        " at byte " + place + (error.decompressed ? " of the decompressed data" : "");
    const std::string compression(error.compression);
    const std::string detail = std::to_string(error.detail);
    switch (error.kind) {
    case ReadErrorKind::Open: return std::strerror(error.system);
    case ReadErrorKind::Read: return "reading failed" + at + ": " + std::strerror(error.system);
    case ReadErrorKind::Empty:
        return std::string(error.decompressed ? "empty after decompression" : "empty file") +
               "; give a capture file";
    case ReadErrorKind::NotACapture: return not_a_capture(error, path);
    case ReadErrorKind::CompressedTruncated:
        return "the " + compression + " data ends at byte " + place +
               " before it is complete; the packets before it were read";
    case ReadErrorKind::CompressedCorrupt:
        return "damaged: the " + compression + " data before byte " + place +
               " cannot be decompressed (" + std::string(error.why) +
               "); the packets before it were read";
    case ReadErrorKind::CompressedTrailer:
        return "the data at byte " + place + " is not compressed with " + compression +
               "; the packets before it were read";
    case ReadErrorKind::Truncated:
        return "the file ends in the middle of a packet or header" + at +
               "; the packets before it were read";
    case ReadErrorKind::BadRecord:
        return "damaged: the packet" + at + " claims " + detail +
               " bytes; the packets before it were read";
    case ReadErrorKind::BadBlock:
        return "damaged: the lengths of the block" + at +
               " contradict each other; the packets before it were read";
    case ReadErrorKind::UnknownInterface:
        return "damaged: the packet" + at + " belongs to interface " + detail +
               ", which the file does not describe; the packets before it were read";
    case ReadErrorKind::MissingSection:
        return "damaged: the section" + at + " has an invalid byte-order magic";
    case ReadErrorKind::BadVersion:
        return "the section" + at + " has version " + detail + "; only version 1 is supported";
    }
    return {};
}

} // namespace

std::string text_of(const ReadError& error, std::string_view path) {
    return std::string(path == "-" ? "standard input" : path) + ": " + sentence(error, path);
}

} // namespace veriroce::capture
