// Unpacks a compressed input as it is read: members or frames one after the other, with no more
// memory than the library's window. Internal to this room; `Source` is what readers use.
#pragma once

#include <variant>

#include "dissector/capture/packed_stream.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

class Unpacker {
  public:
    Unpacker(Source packed, Packing packing);

    // Fills `out` from its beginning with at least one byte; 0 at the end, or when error() tells.
    std::size_t unpack(std::span<std::byte> out);
    [[nodiscard]] const std::optional<ReadError>& error() const { return error_; }
    // Of the packed input.
    [[nodiscard]] std::optional<double> part_done() const { return packed_.part_done(); }

  private:
    bool next_member();
    PackedStep step(wire::Bytes in, std::span<std::byte> out);
    void fail(ReadErrorKind kind, std::uint64_t offset, std::string_view why = {});

    Source packed_;
    Packing packing_;
    std::variant<GzipStream, ZstdStream> stream_;
    bool inside_ = true; // of a member; the first is there, its magic was seen
    std::optional<ReadError> error_;
};

} // namespace veriroce::capture
