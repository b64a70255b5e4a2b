// Decompresses input while it is read: one member or frame after another, with no more memory than
// the library's window. Internal to this room; use `Source`.
#pragma once

#include <variant>

#include "dissector/capture/compressed_stream.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

class Decompressor {
  public:
    Decompressor(Source compressed, Compression compression);

    // Writes at least one byte to the beginning of `out`. Returns 0 at the end, or on an error (see
    // error()).
    std::size_t decompress(std::span<std::byte> out);
    [[nodiscard]] const std::optional<ReadError>& error() const { return error_; }
    // The fraction of the compressed input that was consumed.
    [[nodiscard]] std::optional<double> part_done() const { return compressed_.part_done(); }

  private:
    bool next_member();
    DecompressStep step(wire::Bytes in, std::span<std::byte> out);
    void fail(ReadErrorKind kind, std::uint64_t offset, std::string_view why = {});

    Source compressed_;
    Compression compression_;
    std::variant<GzipStream, ZstdStream> stream_;
    // Inside a member; true from the start, because the first magic was already seen.
    bool inside_ = true;
    std::optional<ReadError> error_;
};

} // namespace veriroce::capture
