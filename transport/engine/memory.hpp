// Registered memory: regions and windows, their keys, and the look-up of a key.
//
// A key is (index << 8 | variant). The index names a slot of the table, the variant byte changes
// each time the slot is used again, so that a stale key finds its slot and is still refused
// (KEY-08). A region's lkey and rkey are the same number. A window is a slot as well: while it is
// bound, its rkey works as that of a region of its own, and its key is not an lkey.
//
// Source: rules KEY-02..KEY-09, KEY-11, N-37; binding as the verbs have it (ibv_bind_mw).
#pragma once

#include <expected>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// The kind of object of a key. A window of type 2 belongs to the QP that bound it, one of type 1 to
// its whole protection domain.
enum class KeyKind : std::uint8_t { Region, WindowType1, WindowType2 };

// The memory that a key names: a region, or the part of one that a window is bound to. On one line
// of the cache, because every packet asks for it.
struct alignas(64) Region {
    bool live = false; // of a window: whether it is bound
    KeyKind kind = KeyKind::Region;
    MrId mr; // of a window: the region behind it
    PdId pd;
    Access access;
    wire::Qpn owner;           // of a bound window of type 2: the only QP that may use it
    std::uint32_t windows = 0; // of a region: how many are bound to it
    std::uint32_t key = 0;
    std::uint64_t address = 0; // virtual address of the first byte
    wire::MutableBytes bytes;

    // Whether [va, va + length) lies inside; a range that wraps past 2^64 does not (KEY-05).
    [[nodiscard]] constexpr bool covers(std::uint64_t va, std::uint64_t length) const {
        if (va < address) return false;
        const std::uint64_t offset = va - address;
        return offset <= bytes.size() && length <= bytes.size() - offset;
    }
    // KEY-03, KEY-09: whether a QP of this domain may use the key at all.
    [[nodiscard]] constexpr bool open_to(PdId domain, wire::Qpn qpn) const {
        return pd == domain && (kind != KeyKind::WindowType2 || owner == qpn);
    }
    // The bytes of a range that is covered.
    [[nodiscard]] wire::MutableBytes at(std::uint64_t va, std::uint64_t length) const {
        return bytes.subspan(va - address, length);
    }
};

// Who binds a window to what. `key` is the window's from then on: its slot's index with a variant
// byte of the caller's choice.
struct Binding {
    MwId mw;
    std::uint32_t key = 0;
    BindInfo what;
    PdId pd; // of the QP that binds
    wire::Qpn qpn;
};

class Memory {
  public:
    Memory(std::uint32_t first_key, std::uint32_t region_limit, std::uint32_t window_limit);

    // The caller answers for `pd`. NoMemory when the limit of regions is reached.
    std::expected<Region, VerbError> add(PdId pd, wire::MutableBytes bytes, std::uint64_t address,
                                         Access access);
    // NotFound if there is no such region, Busy while a window is bound to it.
    std::expected<void, VerbError> remove(MrId mr);

    // --- windows

    struct Window {
        MwId mw;
        std::uint32_t key = 0;
    };
    // The caller answers for `pd`. A new window is bound to nothing: its key opens nothing.
    std::expected<Window, VerbError> add_window(PdId pd, KeyKind type);
    // NotFound if there is no such window. A bound one may go.
    std::expected<void, VerbError> remove_window(MwId mw);
    // Region if there is no such window.
    [[nodiscard]] KeyKind type_of(MwId mw) const;
    // The key for the next bind of a window: each call gives the next variant, because binds may
    // be on their way already.
    std::uint32_t next_key(MwId mw);
    // Binds a window, or says false and changes nothing (MW_BIND_ERR).
    bool bind(const Binding& binding);
    // KEY-11: whether this QP may revoke the key: a window of type 2 that it has bound. A region
    // that was registered by the verb is none of those.
    [[nodiscard]] bool may_invalidate(wire::Rkey key, PdId pd, wire::Qpn qpn) const;
    bool invalidate(wire::Rkey key, PdId pd, wire::Qpn qpn);
    // The QP is gone, and what it has bound with it.
    void unbind_all_of(wire::Qpn qpn);

    // ---

    // The slot that a key's index names: a region that is not live if there is none. The variant
    // byte is not judged here.
    [[nodiscard]] const Region& slot(std::uint32_t key) const {
        const std::uint64_t index = std::uint64_t{key >> 8} - first_index_;
        return index < regions_.size() ? regions_[index] : none_;
    }
    [[nodiscard]] bool uses(PdId pd) const;

  private:
    static constexpr std::uint32_t no_slot = 0xFFFFFFFF;
    struct WindowPlace {
        std::uint32_t slot = no_slot;
        std::uint32_t promised = 0; // the key that was given out last
    };

    // A slot with its next key; NoMemory when the indices are used up.
    std::expected<std::uint32_t, VerbError> take_slot();
    [[nodiscard]] std::uint32_t slot_of(MrId mr) const;
    [[nodiscard]] std::uint32_t slot_of(MwId mw) const;
    // Whether the verbs allow it (KEY-09).
    [[nodiscard]] bool may_bind(const Binding& binding) const;
    void unbind(Region& window);

    std::uint32_t first_index_ = 0;
    std::uint32_t first_variant_ = 0;
    std::uint32_t region_limit_ = 0;
    std::uint32_t window_limit_ = 0;
    std::uint32_t live_regions_ = 0;
    std::uint32_t live_windows_ = 0;
    std::vector<Region> regions_;         // by index, windows too
    std::vector<std::uint32_t> mr_slots_; // by MrId - 1
    std::vector<WindowPlace> mw_places_;  // by MwId - 1
    std::vector<std::uint32_t> free_;     // slots to use again, the one freed last comes first
    Region none_;
};

} // namespace veriroce::engine
