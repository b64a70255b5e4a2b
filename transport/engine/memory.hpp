// Registered memory: regions, their keys, and the look-up of a key.
//
// A key is (index << 8 | variant). The index names a slot of the table, the variant byte changes
// each time the slot is used again, so that a stale key finds its slot and is still refused
// (KEY-08). A region's lkey and rkey are the same number.
//
// Source: rules KEY-02..KEY-08, N-37.
#pragma once

#include <expected>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

struct Region {
    bool live = false;
    MrId mr;
    PdId pd;
    Access access;
    std::uint32_t key = 0;
    std::uint64_t address = 0; // virtual address of the first byte
    wire::MutableBytes bytes;

    // Whether [va, va + length) lies inside; a range that wraps past 2^64 does not (KEY-05).
    [[nodiscard]] constexpr bool covers(std::uint64_t va, std::uint64_t length) const {
        if (va < address) return false;
        const std::uint64_t offset = va - address;
        return offset <= bytes.size() && length <= bytes.size() - offset;
    }
    // The bytes of a range that is covered.
    [[nodiscard]] wire::MutableBytes at(std::uint64_t va, std::uint64_t length) const {
        return bytes.subspan(va - address, length);
    }
};

class Memory {
  public:
    Memory(std::uint32_t first_key, std::uint32_t limit);

    // The caller answers for `pd`. NoMemory when the limit of regions is reached.
    std::expected<Region, VerbError> add(PdId pd, wire::MutableBytes bytes, std::uint64_t address,
                                         Access access);
    // NotFound if there is no such region.
    std::expected<void, VerbError> remove(MrId mr);

    // The slot that a key's index names: a region that is not live if there is none. The variant
    // byte is not judged here.
    [[nodiscard]] const Region& slot(std::uint32_t key) const {
        const std::uint64_t index = std::uint64_t{key >> 8} - first_index_;
        return index < regions_.size() ? regions_[index] : none_;
    }
    [[nodiscard]] bool uses(PdId pd) const;

  private:
    std::uint32_t first_index_ = 0;
    std::uint32_t first_variant_ = 0;
    std::uint32_t limit_ = 0;
    std::uint32_t live_ = 0;
    std::uint32_t next_mr_ = 1;
    std::vector<Region> regions_;
    std::vector<std::uint32_t> free_; // slots to use again, the one freed last comes first
    Region none_;
};

} // namespace veriroce::engine
