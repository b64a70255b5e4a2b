// The record of a case: every packet that was sent or heard, in order of time. References to its
// entries stay valid while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/interpreter/entry.hpp"

namespace veriroce::interpreter {

class Record {
  public:
    // Of packets that belong to no QP of the case, and of a case whose record is full, the results
    // show so many.
    static constexpr std::size_t packets_that_show = 1000;

    explicit Record(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    // Returns its place.
    std::size_t add(Entry entry);
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] Entry& operator[](std::size_t index) { return entries_[index]; }
    [[nodiscard]] const Entry& operator[](std::size_t index) const { return entries_[index]; }

    // A full record takes no more packets of the DUT; they are counted.
    [[nodiscard]] bool full() const { return bytes_ >= most_bytes_; }
    void count_unrecorded() { ++unrecorded_; }
    [[nodiscard]] std::uint64_t unrecorded() const { return unrecorded_; }
    [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }

    // The newest packet belongs to no QP of the case: it is removed if there are many such packets.
    // Whether it stays.
    bool keep_few();
    // Adds a remark to the last kept packet: how many were not kept.
    void remark_on_those_not_kept();

    // When a frame was on the wire.
    void sent(std::uint64_t number, Interval at);

    // `as NAME`.
    void name(const std::string& name, std::size_t index) { named_[name] = index; }
    [[nodiscard]] std::optional<std::size_t> named(std::string_view name) const;

    // The first packet of the DUT to a QPN that no QP has.
    std::optional<std::size_t> stranger;
    // The latest frame of the DUT that no QP takes: too short, damaged, or to such a QPN.
    std::optional<std::size_t> astray;
    // Whether the DUT has sent something to another UDP port than that of RoCEv2. It is not
    // recorded.
    bool to_another_port = false;

  private:
    std::uint64_t most_bytes_;
    std::deque<Entry> entries_;
    std::uint64_t bytes_ = 0; // of all entries
    std::uint64_t unrecorded_ = 0;
    std::uint64_t foreign_ = 0;
    std::size_t last_foreign_ = 0; // of those that are kept
    std::map<std::string, std::size_t, std::less<>> named_;
};

} // namespace veriroce::interpreter
