// The memory that a device registered, and the keys by which its peers and its own work requests
// name it: regions, and the ranges to which memory windows are bound.
//
// Source: rules KEY-02 to KEY-09, N-23, N-37; the DUT contract
// (conformance/dut/object_methods.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/model/possible_bytes.hpp"

namespace veriroce::model {

// What a region held when a READ request was sent, and what it may have held since.
struct Snapshot {
    std::uint64_t id = 0;
    std::uint64_t offset = 0; // in the region
    std::uint64_t origin = 0; // of the writes that are ordered before the READ
    std::uint64_t made = 0;   // serial
    PossibleBytes contents;
};

// A range that a packet names, and the rule that says what the packet leaves there.
struct Touched {
    ByteRange range;
    std::string_view rule;
    std::size_t packet = 0; // in CaseResult::packets
};

struct Region {
    dut::MrHandle mr;
    dut::PdHandle pd;
    std::uint64_t address = 0;
    wire::Lkey lkey;
    wire::Rkey rkey;
    wire::Access access;
    PossibleBytes contents;
    // What the owner may still see: a write is done here only when a polled completion, or the
    // owner itself, has made it visible (ACK-05). It permits all that `contents` permits.
    PossibleBytes visible;
    std::deque<Snapshot> snapshots;
    std::vector<Touched> touched; // in the order of time
    wire::Instant changed{};      // when a write last became possible, or was acknowledged
    bool gone = false;            // deregistered

    [[nodiscard]] std::uint64_t length() const { return contents.size(); }

    void may_hold(const Write& write, std::uint64_t offset, wire::Bytes data, wire::Instant now);
    void may_hold_anything(const Write& write, ByteRange range, wire::Instant now);
    void settle(const Write& write, ByteRange range, std::uint64_t serial);
    // From now on the owner sees the write, which is done.
    void show(const Write& write, ByteRange range, std::uint64_t serial);
    void retract(const Write& write, ByteRange range);
    // What a write leaves that could leave anything before.
    void refine(const Write& write, ByteRange range, wire::Bytes data);

    // How many READs and atomics of one region are compared with what it held.
    static constexpr std::size_t kMostSnapshots = 64;
    void keep(Snapshot snapshot);
    [[nodiscard]] const Snapshot* snapshot(std::uint64_t id) const; // null: no longer kept
};

// A window, bound to a range of a region by a key.
struct Binding {
    dut::MwHandle mw;
    wire::Rkey rkey;
    dut::MrHandle mr;
    ByteRange range;
    wire::Access access;
    std::optional<dut::QpHandle> owner = {}; // of type 2: the one that may use it
    bool sure = false;                       // bound; else the verb has not yet completed
};

// The bytes that a request names and may touch: the named range, cut to the region or window.
struct Target {
    Region* region = nullptr;
    ByteRange range;        // in the region
    std::uint64_t skip = 0; // named bytes that lie before the range
    bool whole = false;     // everything that is named lies inside
};

// Why a key does not open what a request names.
enum class KeyFault : std::uint8_t { Unknown, OtherDomain, NoRight, Outside };
std::string_view rule_of(KeyFault fault); // "KEY-02"

class Registered {
  public:
    Region& add(const dut::MrRegister& request, const dut::MrRegistered& made);
    [[nodiscard]] Region* find(dut::MrHandle mr);
    [[nodiscard]] std::deque<Region>& regions() { return regions_; }
    // Whether the device may read and write all of the piece for a QP of this domain.
    [[nodiscard]] bool device_may_write(const dut::Sge& piece, dut::PdHandle pd);

    void bind(Binding binding) { bindings_.push_back(binding); }
    // The latest binding by this key is done, and its meaning certain; older ones of its window are
    // void.
    void bound(wire::Rkey rkey);
    void not_bound(wire::Rkey rkey);
    void unbind_all_of(dut::MwHandle mw);
    // Nothing can be reached by this key of a window any more.
    void invalidate(wire::Rkey rkey);

    // Until a verb is done, the key may have one meaning or another: packets are under way.
    void unsettle(wire::Rkey rkey) {
        unsettled_.insert(rkey);
        ever_unsettled_.insert(rkey);
    }
    void unsettle_windows(const std::function<bool(const Binding&)>& which) {
        for (const Binding& one : bindings_)
            if (which(one)) unsettle(one.rkey);
    }
    void settle_again(wire::Rkey rkey) { unsettled_.erase(rkey); }
    // KEY-09: whether the key is that of a window which another QP has bound.
    [[nodiscard]] bool of_another(wire::Rkey rkey, dut::QpHandle qp) const;
    [[nodiscard]] bool settled(wire::Rkey rkey) const { return !unsettled_.contains(rkey); }
    [[nodiscard]] bool always_settled(wire::Rkey rkey) const {
        return !ever_unsettled_.contains(rkey);
    }

    // The write is done at this time, and before it may be done. Times never go back.
    void settle_at(wire::Instant when, Region& region, ByteRange range, const Write& write) {
        settling_.push_back({when, &region, range, write});
    }
    void advance(wire::Instant now, std::uint64_t serial);

    // What `length` bytes at this address are, by a key that a peer names, for a QP of this domain.
    [[nodiscard]] std::expected<Target, KeyFault> target(wire::Rkey rkey, std::uint64_t address,
                                                         std::uint64_t length, dut::PdHandle pd,
                                                         bool wire::Access::* right);

  private:
    struct Settling {
        wire::Instant when;
        Region* region = nullptr;
        ByteRange range;
        Write write;
    };

    std::deque<Region> regions_;
    std::deque<Settling> settling_; // in the order of time
    std::vector<Binding> bindings_;
    std::set<wire::Rkey> unsettled_;
    std::set<wire::Rkey> ever_unsettled_;
};

} // namespace veriroce::model
