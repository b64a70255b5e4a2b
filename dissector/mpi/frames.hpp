// The frames of a piece of a capture file, which one process reads and decodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dissector/analyze/analyzer.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/mpi/rounds.hpp"

namespace veriroce::mpi {

// In the order of the file. Of each there is a key, and of a packet of RoCEv2 what its owner needs;
// other frames are counted.
class Frames {
  public:
    // A frame without a time follows the one before it.
    void add(std::optional<std::int64_t> time_ns) {
        const Key before = keys_.empty() ? time_ns.value_or(0) : keys_.back();
        keys_.push_back(std::max(time_ns.value_or(before), before));
    }
    void count(const decode::Dissection& other) { analyze::count_frame(other, others_); }
    // Of the frame that was added last.
    void add_packet(std::size_t owner, const flow::Packet& packet);

    // The latest time of the frames before these.
    void raise_keys(Key before);
    // Those that were not released.
    [[nodiscard]] std::span<const Key> keys() const { return std::span(keys_).subspan(released_); }
    // Gives the next frames these numbers, and adds their packets to what goes to their owners.
    // They stay where they are.
    void release(std::span<const std::uint64_t> numbers, std::span<Outgoing> outgoing);
    [[nodiscard]] const analyze::Totals& others() const { return others_; }

    // For frames of another piece, in the same memory.
    void clear();

  private:
    struct Packet {
        std::size_t frame = 0;
        std::size_t begin = 0;
    };
    struct Owned {
        Letter bytes;
        std::vector<Packet> packets;
        std::size_t released = 0; // packets
    };
    std::vector<Key> keys_;
    std::vector<Owned> by_owner_;
    analyze::Totals others_;
    std::size_t released_ = 0; // frames
};

struct ReadPiece {
    Piece piece;
    Frames frames;
    std::uint64_t begin = 0; // of the first frame that was read, if the file is divisible
    std::uint64_t end = 0;   // behind the last one
    bool finished = false;   // the file ends here, or cannot be read on
    std::optional<capture::ReadError> error;
};

// The capture files, as this process reads them.
class Files {
  public:
    struct Options {
        std::vector<std::uint16_t> roce_ports; // as of analyze
        std::size_t owners = 1;                // among which connections are divided
        std::uint64_t piece_bytes = 0;
    };
    Files(std::vector<std::string> paths, Options options)
        : paths_(std::move(paths)), options_(std::move(options)) {}

    // What reading begins with. An error if the file cannot be opened.
    [[nodiscard]] std::expected<Progress, capture::ReadError> begin(std::size_t file) const;
    ReadPiece read(const Piece& piece);
    // Takes back what is no longer needed.
    void recycle(Frames frames);

  private:
    void read_part(ReadPiece& result);
    void read_on(ReadPiece& result);
    void take(const capture::Record& record, Frames& frames);

    std::vector<std::string> paths_;
    Options options_;
    std::map<std::uint32_t, capture::Reader> open_; // of files that are not divisible
    std::vector<Frames> spare_;
    decode::Dissection dissection_;
};

} // namespace veriroce::mpi
