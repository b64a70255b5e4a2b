// Reads capture files: pcap and pcapng, from a file, a pipe or memory, also compressed with gzip or
// zstd, without copying a packet.
//
//   auto reader = Reader::open("trace.pcap");
//   Record record;
//   for (;;) {
//       auto more = reader->next(record);
//       if (!more) return say(text_of(more.error(), "trace.pcap"));
//       if (!*more) break;
//       ...
//   }
//
// A file that ends or goes wrong in the middle gives every packet before that place, then the
// error.
#pragma once

#include <span>
#include <variant>

#include "dissector/capture/pcap_format.hpp"
#include "dissector/capture/pcapng_format.hpp"

namespace veriroce::capture {

class Reader {
  public:
    // "-" is standard input. Errors: Open, Read, Empty, NotACapture, Truncated, Packed....
    static std::expected<Reader, ReadError> open(const std::string& path);
    // Over bytes that the caller keeps.
    static std::expected<Reader, ReadError> over(wire::Bytes memory);

    // Fills `record` and returns true; false at the end. After an error or the end the reader is
    // done, and says the same again.
    std::expected<bool, ReadError> next(Record& record);

    // Whether the bytes of a record stay where they are as long as the reader does, and not only
    // until the next one: of a regular file that is not compressed, and of memory.
    [[nodiscard]] bool keeps() const { return source_.whole(); }

    // Those described so far; a pcapng file may describe more on its way.
    [[nodiscard]] std::span<const Interface> interfaces() const { return interfaces_; }
    // How much of the file was read, from 0 to 1. Nothing for a pipe.
    [[nodiscard]] std::optional<double> part_done() const { return source_.part_done(); }

  private:
    using Format = std::variant<PcapFormat, PcapngFormat>;

    Reader(Source source, Format format) : source_(std::move(source)), format_(format) {}
    static std::expected<Reader, ReadError> start(Source source);

    Source source_;
    Format format_;
    std::vector<Interface> interfaces_;
    std::optional<ReadError> failed_;
};

} // namespace veriroce::capture
