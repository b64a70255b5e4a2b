#include "transport/engine/memory.hpp"

#include <algorithm>

namespace veriroce::engine {

namespace {
constexpr std::uint32_t max_index = 0xFFFFFF; // a key has 24 bits for it
} // namespace

Memory::Memory(std::uint32_t first_key, std::uint32_t limit)
    : first_index_(first_key >> 8), first_variant_(first_key & 0xFF), limit_(limit) {}

std::expected<Region, VerbError> Memory::add(PdId pd, wire::MutableBytes bytes,
                                             std::uint64_t address, Access access) {
    if (live_ == limit_) return std::unexpected(VerbError::NoMemory);
    if (!bytes.empty() && address + (bytes.size() - 1) < address) {
        return std::unexpected(VerbError::InvalidArgument); // it would wrap past 2^64
    }
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
    regions_[slot] = {.live = true,
                      .mr = {next_mr_++},
                      .pd = pd,
                      .access = access,
                      .key = (first_index_ + slot) << 8 | variant,
                      .address = address,
                      .bytes = bytes};
    ++live_;
    return regions_[slot];
}

std::expected<void, VerbError> Memory::remove(MrId mr) {
    const auto found = std::ranges::find_if(
        regions_, [mr](const Region& region) { return region.live && region.mr == mr; });
    if (found == regions_.end()) return std::unexpected(VerbError::NotFound);
    found->live = false;
    found->bytes = {};
    free_.push_back(static_cast<std::uint32_t>(found - regions_.begin()));
    --live_;
    return {};
}

bool Memory::uses(PdId pd) const {
    return std::ranges::any_of(
        regions_, [pd](const Region& region) { return region.live && region.pd == pd; });
}

} // namespace veriroce::engine
