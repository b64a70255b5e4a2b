// Why a capture file could not be read, or not to its end. Errors are small values; the sentence is
// made when somebody wants to read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace veriroce::capture {

enum class ReadErrorKind : std::uint8_t {
    Open,             // `system` is errno
    Read,             // `system` is errno, `offset` how far reading came
    Empty,            // a file of no bytes
    NotACapture,      // `head` holds the first bytes
    PackedTruncated,  // compressed data end at `offset` inside a gzip member or zstd frame
    PackedCorrupt,    // compressed data cannot be unpacked; `why`, noticed before `offset`
    PackedTrailer,    // behind compressed data, at `offset`, stands something else
    Truncated,        // the file ends inside the header, packet or block that begins at `offset`
    BadRecord,        // a packet header at `offset` that claims `detail` bytes
    BadBlock,         // a block at `offset` whose lengths contradict each other
    UnknownInterface, // a packet at `offset` of interface `detail`, which was not described
    MissingSection,   // pcapng whose byte-order magic is neither order
    BadVersion,       // a section of major version `detail`
};

struct ReadError {
    ReadErrorKind kind = ReadErrorKind::Open;
    int system = 0;
    std::uint64_t offset = 0; // bytes from the beginning of the file, as it stands there
    std::uint64_t detail = 0;
    std::array<std::byte, 4> head{};
    std::uint8_t head_bytes = 0;
    bool unpacked = false;    // `offset` counts bytes after unpacking
    std::string_view packing; // of the Packed... kinds: "gzip" or "zstd"
    std::string_view why;     // the library's words; both live as long as the program
};

// One line for people: what, where, what to do next. "rxe.txt: not a pcap or pcapng file ...".
std::string text_of(const ReadError& error, std::string_view path);

} // namespace veriroce::capture
