// Dialogues that went through states of the model in which none before them was. Others begin as
// they did and go another way, so what is hard to reach is reached often.
//
// What a dialogue of some number begins with does not depend on how far ahead others were made: it
// may be one of those that were played long before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "conformance/explorer/dialogue.hpp"

namespace veriroce::explorer {

class Corpus {
  public:
    // While a dialogue is made, all but fewer than `most_ahead` before it were added.
    explicit Corpus(std::size_t most_ahead) : batch_(most_ahead) {}

    // Of the dialogue of this number, from 0, and seed. May be called by several threads at once.
    [[nodiscard]] Origin origin_of(std::uint64_t number, std::uint64_t seed) const;
    // The dialogues in the order of their numbers, with the states that each went through.
    void add(const Dialogue& dialogue, std::span<const std::uint32_t> states);
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t states() const { return states_.size(); }

  private:
    struct Entry {
        Origin origin;
        std::uint64_t begin = 0; // as in Dialogue
        std::uint64_t draws = 0;
    };
    // Those of one IP version.
    struct Entries {
        std::vector<Entry> all;
        std::vector<std::size_t> counts; // by batch: how many there were before it
    };
    [[nodiscard]] static std::size_t part_of(std::uint64_t seed) {
        return ip_version_of(seed) == 6 ? 1 : 0;
    }

    std::uint64_t batch_;
    std::uint64_t added_ = 0;
    std::unordered_set<std::uint32_t> states_;
    mutable std::mutex mutex_; // of the entries
    std::array<Entries, 2> entries_;
};

} // namespace veriroce::explorer
