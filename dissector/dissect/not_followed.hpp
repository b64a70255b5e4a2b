// Counts the frames that were not taken apart to their end, by what stopped it: a summary that says
// "no findings" is worth no more than what was looked at. Internal to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dissector/decode/dissection.hpp"

namespace veriroce::dissect {

class NotFollowedCounts {
  public:
    void add(const decode::Dissection& dissection) {
        if (dissection.not_followed.stop != decode::Stop::None) count(dissection.not_followed);
    }
    // Frames.
    [[nodiscard]] std::uint64_t total() const { return total_; }
    // Different types; those beyond the limit are counted as one.
    [[nodiscard]] std::size_t types() const { return counts_.size() + (others_ > 0 ? 1 : 0); }

    // "12 frames not followed: EtherType 0x8864 10, UDP port 2152 2", and a newline; nothing if
    // there are none.
    void append(std::string& out) const;

    struct Count {
        std::string text; // "EtherType 0x8864"
        std::uint64_t frames = 0;
    };
    // The most frequent first, at most `most`.
    [[nodiscard]] std::vector<Count> largest(std::size_t most) const;

  private:
    void count(const decode::NotFollowed& what);

    static constexpr std::size_t kMostTypes = 256;
    std::vector<std::pair<decode::NotFollowed, std::uint64_t>> counts_;
    std::uint64_t others_ = 0;
    std::uint64_t total_ = 0;
};

} // namespace veriroce::dissect
