// Reads pcap, pcapng and Endace's ERF from a file, a pipe or memory, optionally compressed with
// gzip or zstd. Packets are not copied.
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
// If a file is truncated or damaged, the reader returns every packet before that point, then the
// error.
#pragma once

#include <atomic>
#include <span>
#include <variant>

#include "dissector/capture/erf_format.hpp"
#include "dissector/capture/pcap_format.hpp"
#include "dissector/capture/pcapng_format.hpp"

namespace veriroce::capture {

class Reader {
  public:
    // "-" is standard input. Errors: Open, Read, Empty, NotACapture, Truncated, Compressed....
    // Once `stop` is set, the input ends where reading would have to wait for more of it, which may
    // look like an error. The caller checks `stop` itself between records.
    static std::expected<Reader, ReadError> open(const std::string& path,
                                                 const std::atomic<bool>* stop = nullptr);
    // Reads from memory that the caller keeps alive. `from`, of a pcap file only: begins with the
    // packet there.
    static std::expected<Reader, ReadError> over(wire::Bytes memory, std::uint64_t from = 0);

    // Fills `record` and returns true; returns false at the end. After the end or an error, every
    // call returns the same result again.
    std::expected<bool, ReadError> next(Record& record);

    // Whether next() has the whole packet already. If not, it may wait for the writer of a pipe: a
    // good moment to flush output.
    [[nodiscard]] bool at_hand() const { return source_.whole() || holds_packet(); }

    // Whether a record's bytes stay valid as long as the reader, not only until the next record.
    // True for uncompressed regular files and for memory.
    [[nodiscard]] bool keeps() const { return source_.whole(); }

    // The interfaces described so far; a pcapng file may describe more later.
    [[nodiscard]] std::span<const Interface> interfaces() const { return interfaces_; }
    // The fraction of the file that was read, 0 to 1. Empty for a pipe.
    [[nodiscard]] std::optional<double> part_done() const { return source_.part_done(); }

  private:
    using Format = std::variant<PcapFormat, PcapngFormat, ErfFormat>;

    Reader(Source source, Format format) : source_(std::move(source)), format_(format) {}
    static std::expected<Reader, ReadError> start(Source source);
    std::expected<bool, ReadError> next_of_format(Record& record);
    [[nodiscard]] bool holds_packet() const;

    Source source_;
    Format format_;
    std::vector<Interface> interfaces_;
    std::optional<ReadError> failed_;
};

} // namespace veriroce::capture
