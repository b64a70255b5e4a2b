// What a stretch of memory may hold. Each byte is known, or one of a few candidates: what it held
// before, and what each write that is not yet known to be done would leave. Only the uncertain
// pieces are kept apart; everything else is one run of known bytes.
//
//   bytes.may_hold(write, 8, data);          a WRITE was sent: old or new
//   bytes.settle(write.id, {8, n}, serial);  its ACK came: new, unless another write raced it
//   bytes.retract(write.id, {8, n});         it was not executed: old
//   bytes.differences(0, actual)             bytes that hold no candidate
//
// Offsets and lengths are bytes; what is beyond the end is cut off. Serials count the events of one
// story, from 1. Source: "Memory" in the rules KEY-14, RSP-15, CRC-07, ACK-05, ATM-09.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dissector/wire/bytes.hpp"

namespace veriroce::model {

struct Write {
    std::uint64_t id = 0;     // unique in a story
    std::uint64_t origin = 0; // writes of one origin happen in the order of their ids
    std::uint64_t made = 0;   // the serial at which it became possible
};

struct ByteRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    friend bool operator==(ByteRange, ByteRange) = default;
};

class PossibleBytes {
  public:
    // With more candidates a byte may hold anything that the writes of the newest origin leave.
    static constexpr std::size_t kMostCandidates = 16;

    explicit PossibleBytes(std::vector<std::byte> known) : known_(std::move(known)) {}

    [[nodiscard]] std::uint64_t size() const { return known_.size(); }
    // Whether every byte is known.
    [[nodiscard]] bool certain() const { return uncertain_.empty(); }
    [[nodiscard]] bool certain(std::uint64_t offset, std::uint64_t length) const;
    // Of the bytes that are known; the others are what they were before.
    [[nodiscard]] wire::Bytes known() const { return known_; }

    // The write may happen from now on.
    void may_hold(const Write& write, std::uint64_t offset, wire::Bytes data);
    // The write may leave anything in the range from now on.
    void may_hold_anything(const Write& write, std::uint64_t offset, std::uint64_t length);
    // The write is done in this range. It replaces what was there before, but not what a concurrent
    // write of another origin may have left.
    void settle(std::uint64_t write, ByteRange range, std::uint64_t serial);
    // A write that could leave anything from `offset` on leaves this.
    void refine(std::uint64_t write, std::uint64_t offset, wire::Bytes data);
    // The write did not happen in this range, and will not.
    void retract(std::uint64_t write, ByteRange range);

    // The ranges of `actual`, which begins at `offset`, that hold no candidate.
    [[nodiscard]] std::vector<ByteRange> differences(std::uint64_t offset,
                                                     wire::Bytes actual) const;
    // What these bytes may be: "00 01 02", "00|05", "any".
    [[nodiscard]] std::string text(std::uint64_t offset, std::uint64_t length = 1) const;
    // The same of the bytes of this range, which begin at 0.
    [[nodiscard]] PossibleBytes slice(std::uint64_t offset, std::uint64_t length) const;

  private:
    struct Candidate {
        Write write;
        std::uint64_t settled = 0; // serial; 0: it may still happen
        bool anything = false;
        std::vector<std::byte> bytes; // as long as the piece
    };
    struct Piece {
        std::uint64_t length = 0;
        bool old = true;                   // what is in known_ is a candidate
        std::vector<Candidate> candidates; // in the order of time
    };
    using Pieces = std::map<std::uint64_t, Piece>;

    [[nodiscard]] std::vector<std::byte> candidates_at(std::uint64_t at, bool& anything) const;
    void split(std::uint64_t at);
    template <typename Change>
    void change_pieces(ByteRange range, const Change& change);
    void add(std::uint64_t offset, std::uint64_t length, const Candidate& candidate);
    // Whether the piece became known; then its bytes are in known_.
    bool resolve(std::uint64_t offset, Piece& piece);
    // `piece` begins at `begin`, and covers `at`.
    [[nodiscard]] bool is_one_of(std::uint64_t begin, const Piece& piece, std::uint64_t at,
                                 wire::Bytes actual) const;
    [[nodiscard]] bool may_be(std::uint64_t begin, const Piece& piece, std::uint64_t at,
                              std::byte value) const;

    std::vector<std::byte> known_;
    Pieces uncertain_; // by offset; they do not overlap
};

} // namespace veriroce::model
