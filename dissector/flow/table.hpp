// A hash table: open addressing, doubled when half full, never shrunk, deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/wire/fetch.hpp"

namespace veriroce::flow {

constexpr std::uint64_t mixed(std::uint64_t value) {
    value ^= value >> 32;
    value *= 0x9E3779B97F4A7C15U;
    value ^= value >> 29;
    value *= 0xBF58476D1CE4E5B9U;
    return value ^ value >> 32;
}

// Key needs equality and `std::uint64_t hash() const`.
template <typename Key>
class Table {
  public:
    [[nodiscard]] std::optional<std::uint32_t> find(const Key& key) const {
        const std::size_t at = place(key);
        if (!slots_[at].used) return std::nullopt;
        return slots_[at].value;
    }
    // Prefetches the slot for this hash; a find() follows soon.
    void fetch(std::uint64_t hash) const { wire::fetch(slots_[hash & (slots_.size() - 1)]); }
    // Inserts the key or updates its value.
    void put(const Key& key, std::uint32_t value) {
        if (size_ * 2 >= slots_.size()) grow();
        const std::size_t at = place(key);
        if (!slots_[at].used) ++size_;
        slots_[at] = {.key = key, .value = value, .used = true};
    }
    void remove(const Key& key) {
        std::size_t hole = place(key);
        if (!slots_[hole].used) return;
        slots_[hole].used = false;
        --size_;
        // Later entries of the probe sequence move up, so that look-ups do not stop at the hole.
        for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
            const std::size_t home = slots_[at].key.hash() & (slots_.size() - 1);
            const std::size_t from_home = (at - home) & (slots_.size() - 1);
            const std::size_t from_hole = (at - hole) & (slots_.size() - 1);
            if (from_home < from_hole) continue;
            slots_[hole] = slots_[at];
            slots_[at].used = false;
            hole = at;
        }
    }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    struct Slot {
        Key key{};
        std::uint32_t value = 0;
        bool used = false;
    };

    void grow() {
        std::vector<Slot> smaller(slots_.size() * 2);
        smaller.swap(slots_);
        for (const Slot& slot : smaller) {
            if (slot.used) slots_[place(slot.key)] = slot;
        }
    }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
    // The key's slot, or the free slot where it belongs.
    [[nodiscard]] std::size_t place(const Key& key) const {
        std::size_t at = key.hash() & (slots_.size() - 1);
        while (slots_[at].used && !(slots_[at].key == key))
            at = next(at);
        return at;
    }

    static constexpr std::size_t kFirstRoom = 16; // a power of two, as are all larger sizes
    std::vector<Slot> slots_ = std::vector<Slot>(kFirstRoom);
    std::size_t size_ = 0;
};

} // namespace veriroce::flow
