#include "transport/engine/memory.hpp"

#include <algorithm>

namespace veriroce::engine {

namespace {
constexpr std::uint32_t max_index = 0xFFFFFF; // a key has 24 bits for it
} // namespace

Memory::Memory(std::uint32_t first_key, std::uint32_t region_limit, std::uint32_t window_limit)
    : first_index_(first_key >> 8), first_variant_(first_key & 0xFF), region_limit_(region_limit),
      window_limit_(window_limit) {}

std::expected<std::uint32_t, VerbError> Memory::take_slot() {
    std::uint32_t slot = 0;
    std::uint32_t variant = first_variant_;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(regions_.size());
        if (first_index_ + slot > max_index) return std::unexpected(VerbError::NoMemory);
        regions_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
        variant = (regions_[slot].key + 1) & 0xFF; // KEY-08: the old key is stale now
    }
    regions_[slot] = {.key = (first_index_ + slot) << 8 | variant};
    return slot;
}

std::uint32_t Memory::slot_of(MrId mr) const {
    return mr.value == 0 || mr.value > mr_slots_.size() ? no_slot : mr_slots_[mr.value - 1];
}

std::expected<Region, VerbError> Memory::add(PdId pd, wire::MutableBytes bytes,
                                             std::uint64_t address, Access access) {
    if (live_regions_ == region_limit_) return std::unexpected(VerbError::NoMemory);
    if (!bytes.empty() && address + (bytes.size() - 1) < address) {
        return std::unexpected(VerbError::InvalidArgument); // it would wrap past 2^64
    }
    const auto slot = take_slot();
    if (!slot) return std::unexpected(slot.error());
    mr_slots_.push_back(*slot);
    Region& region = regions_[*slot];
    region = {.live = true,
              .mr = {static_cast<std::uint32_t>(mr_slots_.size())},
              .pd = pd,
              .access = access,
              .key = region.key,
              .address = address,
              .bytes = bytes};
    ++live_regions_;
    return region;
}

std::expected<void, VerbError> Memory::remove(MrId mr) {
    const std::uint32_t slot = slot_of(mr);
    if (slot == no_slot) return std::unexpected(VerbError::NotFound);
    Region& region = regions_[slot];
    if (region.windows != 0) return std::unexpected(VerbError::Busy); // as in the verbs
    region.live = false;
    region.bytes = {};
    mr_slots_[mr.value - 1] = no_slot;
    free_.push_back(slot);
    --live_regions_;
    return {};
}

bool Memory::uses(PdId pd) const {
    const auto in_pd = [this, pd](std::uint32_t slot) {
        return slot != no_slot && regions_[slot].pd == pd;
    };
    return std::ranges::any_of(mr_slots_, in_pd) ||
           std::ranges::any_of(mw_places_, in_pd, &WindowPlace::slot);
}

} // namespace veriroce::engine
