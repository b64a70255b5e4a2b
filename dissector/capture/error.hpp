// Why a capture file could not be opened, or could not be read to its end. An error is a small
// value; the message is built only when it is shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace veriroce::capture {

enum class ReadErrorKind : std::uint8_t {
    Open,                // `system` is errno
    Read,                // `system` is errno; `offset` is how far reading got
    Empty,               // the file has no bytes
    NotACapture,         // `head` holds the first bytes
    CompressedTruncated, // compressed data ends at `offset` inside a gzip member or zstd frame
    CompressedCorrupt,   // compressed data cannot be decompressed; `why` says it, noticed before
                         // `offset`
    CompressedTrailer,   // something else follows the compressed data, at `offset`
    Truncated,        // the file ends in the middle of a packet or header that begins at `offset`
    BadRecord,        // a packet header at `offset` that claims `detail` bytes
    BadBlock,         // a block at `offset` whose lengths contradict each other
    UnknownInterface, // a packet at `offset` of interface `detail`, which was not described
    MissingSection,   // pcapng whose byte-order magic matches neither byte order
    BadVersion,       // a section with major version `detail`
};

struct ReadError {
    ReadErrorKind kind = ReadErrorKind::Open;
    int system = 0;
    std::uint64_t offset = 0; // from the beginning of the file on disk
    std::uint64_t detail = 0;
    std::array<std::byte, 4> head{};
    std::uint8_t head_bytes = 0;
    bool decompressed = false;    // `offset` counts decompressed bytes
    std::string_view compression; // of the Compressed... kinds: "gzip" or "zstd"
    std::string_view why;         // the library's message; both strings are static
};

// One line for users: what is wrong, where, what to do next. "rxe.txt: not a pcap or pcapng file
// ...".
std::string text_of(const ReadError& error, std::string_view path);

} // namespace veriroce::capture
