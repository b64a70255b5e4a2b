// Decompresses one gzip member (RFC 1952) or zstd frame (RFC 8878) after another, step by step.
// Only the library's window is kept in memory. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <zlib.h>
#include <zstd.h>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

enum class Compression : std::uint8_t { Gzip, Zstd };

// Detected by the first bytes of a file; empty if they match neither format.
std::optional<Compression> compression_of(wire::Bytes magic);
// Whether a member or frame can begin with these bytes (which may be only part of its magic).
bool may_begin(Compression compression, wire::Bytes bytes);

struct DecompressStep {
    enum class State : std::uint8_t { Inside, Finished, Corrupt };
    std::size_t consumed = 0;
    std::size_t produced = 0;
    State state = State::Inside; // Finished: a member or frame ended here
    std::string_view why;        // set if Corrupt; a static string of the library
};

class GzipStream {
  public:
    GzipStream();
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;
    ~GzipStream();
    DecompressStep step(wire::Bytes in, std::span<std::byte> out);

  private:
    ::z_stream stream_{};
};

class ZstdStream {
  public:
    ZstdStream();
    ZstdStream(const ZstdStream&) = delete;
    ZstdStream& operator=(const ZstdStream&) = delete;
    ~ZstdStream();
    DecompressStep step(wire::Bytes in, std::span<std::byte> out);

  private:
    ::ZSTD_DCtx* context_;
};

} // namespace veriroce::capture
