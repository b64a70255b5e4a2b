#include "transport/engine/memory.hpp"

#include <algorithm>

namespace veriroce::engine {

namespace {
constexpr std::uint32_t kMaxIndex = 0xFFFFFF; // a key has 24 bits for it
} // namespace

Memory::Memory(std::uint32_t first_key, std::uint32_t region_limit, std::uint32_t window_limit)
    : first_index_(first_key >> 8), first_variant_(first_key & 0xFF), region_limit_(region_limit),
      window_limit_(window_limit) {}

std::expected<std::uint32_t, VerbError> Memory::take_slot() {
    std::uint32_t slot = 0;
    std::uint32_t variant = first_variant_;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(regions_.size());
        if (first_index_ + slot > kMaxIndex) return std::unexpected(VerbError::NoMemory);
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

// --- windows: what may be bound to what as in the verbs (ibv_bind_mw) and in Linux' soft RoCE

std::expected<Memory::Window, VerbError> Memory::add_window(PdId pd, KeyKind type) {
    if (live_windows_ == window_limit_) return std::unexpected(VerbError::NoMemory);
    const auto slot = take_slot();
    if (!slot) return std::unexpected(slot.error());
    Region& window = regions_[*slot];
    window.kind = type;
    window.pd = pd;
    mw_places_.push_back({.slot = *slot, .promised = window.key});
    ++live_windows_;
    return Window{.mw = {static_cast<std::uint32_t>(mw_places_.size())}, .key = window.key};
}

std::expected<void, VerbError> Memory::remove_window(MwId mw) {
    const std::uint32_t slot = slot_of(mw);
    if (slot == no_slot) return std::unexpected(VerbError::NotFound);
    Region& window = regions_[slot];
    unbind(window);
    // A promised key must not become somebody else's.
    window.key = mw_places_[mw.value - 1].promised;
    window.kind = KeyKind::Region;
    mw_places_[mw.value - 1].slot = no_slot;
    free_.push_back(slot);
    --live_windows_;
    return {};
}

std::uint32_t Memory::slot_of(MwId mw) const {
    return mw.value == 0 || mw.value > mw_places_.size() ? no_slot : mw_places_[mw.value - 1].slot;
}

KeyKind Memory::type_of(MwId mw) const {
    const std::uint32_t slot = slot_of(mw);
    return slot == no_slot ? KeyKind::Region : regions_[slot].kind;
}

std::uint32_t Memory::next_key(MwId mw) {
    if (slot_of(mw) == no_slot) return 0;
    constexpr std::uint32_t variant_bits = 0xFF;
    std::uint32_t& promised = mw_places_[mw.value - 1].promised;
    promised = (promised & ~variant_bits) | ((promised + 1) & variant_bits);
    return promised;
}

bool Memory::may_bind(const Binding& binding) const {
    const std::uint32_t slot = slot_of(binding.mw);
    if (slot == no_slot) return false;
    const Region& window = regions_[slot];
    const BindInfo& what = binding.what;
    if (binding.key >> 8 != window.key >> 8 || window.pd != binding.pd) return false;
    const bool type2 = window.kind == KeyKind::WindowType2;
    // Type 2 must be revoked before it is bound again, and cannot be bound to zero bytes.
    if (type2 && (window.live || what.length == 0)) return false;
    if (!type2 && what.access.zero_based) return false;
    if (what.length == 0) return true; // type 1: bound to nothing
    const std::uint32_t behind = slot_of(what.mr);
    if (behind == no_slot) return false;
    const Region& region = regions_[behind];
    if (region.pd != binding.pd || !region.access.mw_bind || region.access.zero_based) return false;
    // Remote write access requires local write access; remote reads require nothing.
    const bool writes = what.access.remote_write || what.access.remote_atomic;
    if (writes && !region.access.local_write) return false;
    if (what.access.flush_persistent && !region.access.flush_persistent) return false;
    return region.covers(what.address, what.length);
}

bool Memory::bind(const Binding& binding) {
    if (!may_bind(binding)) return false;
    const BindInfo& what = binding.what;
    Region& window = regions_[slot_of(binding.mw)];
    unbind(window);
    window.key = binding.key; // KEY-08: the one before is stale
    if (window.kind == KeyKind::WindowType2) {
        mw_places_[binding.mw.value - 1].promised = binding.key; // the caller chose it
    }
    if (what.length == 0) return true;
    Region& region = regions_[slot_of(what.mr)];
    ++region.windows;
    window.live = true;
    window.mr = what.mr;
    window.access = what.access;
    window.owner = window.kind == KeyKind::WindowType2 ? binding.qpn : wire::Qpn{};
    window.address = what.access.zero_based ? 0 : what.address;
    window.bytes = region.at(what.address, what.length);
    return true;
}

void Memory::unbind(Region& window) {
    if (!window.live) return;
    --regions_[slot_of(window.mr)].windows;
    window.live = false;
    window.mr = {};
    window.access = {};
    window.owner = {};
    window.bytes = {};
}

bool Memory::may_invalidate(wire::Rkey key, PdId pd, wire::Qpn qpn) const {
    const Region& window = slot(key.value);
    return window.live && window.key == key.value && window.kind == KeyKind::WindowType2 &&
           window.open_to(pd, qpn);
}

bool Memory::invalidate(wire::Rkey key, PdId pd, wire::Qpn qpn) {
    if (!may_invalidate(key, pd, qpn)) return false;
    unbind(regions_[(key.value >> 8) - first_index_]);
    return true;
}

void Memory::unbind_all_of(wire::Qpn qpn) {
    for (const WindowPlace& place : mw_places_) {
        if (place.slot == no_slot) continue;
        Region& window = regions_[place.slot];
        if (window.kind == KeyKind::WindowType2 && window.owner == qpn) unbind(window);
    }
}

} // namespace veriroce::engine
