// One compressed member (gzip, RFC 1952) or frame (zstd, RFC 8878) after the other, a step at a
// time: bytes in, bytes out, nothing kept but the libraries' windows. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <zlib.h>
#include <zstd.h>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

enum class Packing : std::uint8_t { Gzip, Zstd };

// By the first bytes of a file; nothing if they begin neither.
std::optional<Packing> packing_of(wire::Bytes magic);
// Whether these bytes, or more of them, begin a member or frame.
bool may_begin(Packing packing, wire::Bytes bytes);

struct PackedStep {
    enum class State : std::uint8_t { Inside, Finished, Corrupt };
    std::size_t consumed = 0;
    std::size_t produced = 0;
    State state = State::Inside; // Finished: a member or frame ended here
    std::string_view why; // of Corrupt; text of the library that lives as long as the program
};

class GzipStream {
  public:
    GzipStream();
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;
    ~GzipStream();
    PackedStep step(wire::Bytes in, std::span<std::byte> out);

  private:
    ::z_stream stream_{};
};

class ZstdStream {
  public:
    ZstdStream();
    ZstdStream(const ZstdStream&) = delete;
    ZstdStream& operator=(const ZstdStream&) = delete;
    ~ZstdStream();
    PackedStep step(wire::Bytes in, std::span<std::byte> out);

  private:
    ::ZSTD_DCtx* context_;
};

} // namespace veriroce::capture
