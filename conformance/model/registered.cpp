#include "conformance/model/registered.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace veriroce::model {
namespace {

// The part of [address, address + length) that lies in [base, base + size); sums may wrap.
std::optional<Target> cut(std::uint64_t address, std::uint64_t length, std::uint64_t base,
                          std::uint64_t size) {
    if (address >= base) {
        const std::uint64_t offset = address - base;
        if (offset >= size) return std::nullopt;
        const std::uint64_t inside = std::min(length, size - offset);
        return Target{.range = {offset, inside}, .whole = inside == length};
    }
    const std::uint64_t before = base - address;
    if (before >= length) return std::nullopt;
    return Target{.range = {0, std::min(length - before, size)}, .skip = before, .whole = false};
}

// A range of the region in a copy that begins at `first`: nothing if it ends before that.
std::optional<ByteRange> rebased(ByteRange range, std::uint64_t first) {
    const std::uint64_t end = range.offset + range.length;
    if (end <= first) return std::nullopt;
    const std::uint64_t from = std::max(range.offset, first);
    return ByteRange{from - first, end - from};
}

} // namespace

void Region::may_hold(const Write& write, std::uint64_t offset, wire::Bytes data,
                      wire::Instant now) {
    contents.may_hold(write, offset, data);
    visible.may_hold(write, offset, data);
    changed = now;
    for (Snapshot& one : snapshots) {
        const auto range = rebased({offset, data.size()}, one.offset);
        if (range) one.contents.may_hold(write, range->offset, data.last(range->length));
    }
}

void Region::may_hold_anything(const Write& write, ByteRange range, wire::Instant now) {
    contents.may_hold_anything(write, range.offset, range.length);
    visible.may_hold_anything(write, range.offset, range.length);
    changed = now;
    for (Snapshot& one : snapshots) {
        const auto there = rebased(range, one.offset);
        if (there) one.contents.may_hold_anything(write, there->offset, there->length);
    }
}

void Region::settle(const Write& write, ByteRange range, std::uint64_t serial) {
    contents.settle(write.id, range, serial);
    for (Snapshot& one : snapshots) {
        // Only what the READ was ordered after must be in its answer.
        if (write.origin != one.origin || write.made >= one.made) continue;
        const auto there = rebased(range, one.offset);
        if (there) one.contents.settle(write.id, *there, serial);
    }
}

void Region::show(const Write& write, ByteRange range, std::uint64_t serial) {
    visible.settle(write.id, range, serial);
}

void Region::retract(const Write& write, ByteRange range) {
    contents.retract(write.id, range);
    visible.retract(write.id, range);
}

void Region::refine(const Write& write, ByteRange range, wire::Bytes data) {
    contents.refine(write.id, range.offset, data);
    visible.refine(write.id, range.offset, data);
    for (Snapshot& one : snapshots) {
        const auto there = rebased(range, one.offset);
        if (there) one.contents.refine(write.id, there->offset, data.last(there->length));
    }
}

void Region::keep(Snapshot snapshot) {
    snapshots.push_back(std::move(snapshot));
    if (snapshots.size() > kMostSnapshots) snapshots.pop_front();
}

const Snapshot* Region::snapshot(std::uint64_t id) const {
    const auto found = std::ranges::find(snapshots, id, &Snapshot::id);
    return found == snapshots.end() ? nullptr : &*found;
}

std::string_view rule_of(KeyFault fault) {
    switch (fault) {
    case KeyFault::Unknown: return "KEY-02";
    case KeyFault::OtherDomain: return "KEY-03";
    case KeyFault::NoRight: return "KEY-04";
    case KeyFault::Outside: return "KEY-05";
    }
    return "KEY-14";
}

Region& Registered::add(const dut::MrRegister& request, const dut::MrRegistered& made) {
    std::vector<std::byte> bytes(request.length);
    if (request.fill) {
        dut::write_pattern(bytes, request.fill->pattern, 0, request.fill->key.value_or(0));
    }
    return regions_.emplace_back(Region{.mr = made.mr,
                                        .pd = request.pd,
                                        .address = made.address,
                                        .lkey = made.lkey,
                                        .rkey = made.rkey,
                                        .access = request.access,
                                        .contents = PossibleBytes(bytes),
                                        .visible = PossibleBytes(bytes),
                                        .snapshots = {},
                                        .touched = {}});
}

Region* Registered::find(dut::MrHandle mr) {
    const auto found = std::ranges::find_if(
        regions_, [&](const Region& one) { return one.mr == mr && !one.gone; });
    return found == regions_.end() ? nullptr : &*found;
}

bool Registered::device_may_write(const dut::Sge& piece, dut::PdHandle pd) {
    const Region* region = find(piece.mr);
    return !piece.lkey && region != nullptr && region->pd == pd && region->access.local_write &&
           piece.offset <= region->length() && piece.length <= region->length() - piece.offset;
}

void Registered::advance(wire::Instant now, std::uint64_t serial) {
    for (; !settling_.empty() && settling_.front().when <= now; settling_.pop_front()) {
        const Settling& one = settling_.front();
        one.region->settle(one.write, one.range, serial);
    }
}

void Registered::bound(wire::Rkey rkey) {
    const auto done = std::ranges::find(bindings_.rbegin(), bindings_.rend(), rkey, &Binding::rkey);
    if (done == bindings_.rend()) return;
    done->sure = true;
    const dut::MwHandle mw = done->mw;
    const auto index = static_cast<std::size_t>(std::distance(done, bindings_.rend()) - 1);
    std::vector<Binding> left;
    for (std::size_t i = 0; i < bindings_.size(); ++i) {
        if (i >= index || bindings_[i].mw != mw) left.push_back(bindings_[i]);
    }
    bindings_ = std::move(left);
    settle_again(rkey);
}

bool Registered::of_another(wire::Rkey rkey, dut::QpHandle qp) const {
    return std::ranges::any_of(bindings_, [&](const Binding& one) {
        return one.rkey == rkey && one.owner && *one.owner != qp;
    });
}

void Registered::not_bound(wire::Rkey rkey) {
    std::erase_if(bindings_, [&](const Binding& one) { return one.rkey == rkey && !one.sure; });
}

void Registered::unbind_all_of(dut::MwHandle mw) {
    std::erase_if(bindings_, [&](const Binding& one) { return one.mw == mw; });
}

void Registered::invalidate(wire::Rkey rkey) {
    std::erase_if(bindings_, [&](const Binding& one) { return one.rkey == rkey; });
    settle_again(rkey);
}

std::expected<Target, KeyFault> Registered::target(wire::Rkey rkey, std::uint64_t address,
                                                   std::uint64_t length, dut::PdHandle pd,
                                                   bool wire::Access::* right) {
    KeyFault fault = KeyFault::Unknown;
    const auto reached = [&](dut::MrHandle mr, dut::PdHandle of, wire::Access access,
                             std::uint64_t base, ByteRange range) -> std::optional<Target> {
        Region* region = find(mr);
        if (region == nullptr) return std::nullopt;
        fault = KeyFault::OtherDomain;
        if (of != pd) return std::nullopt;
        fault = KeyFault::NoRight;
        if (!(access.*right)) return std::nullopt;
        fault = KeyFault::Outside;
        auto found = cut(address, length, base, range.length);
        if (!found) return std::nullopt;
        found->region = region;
        found->range.offset += range.offset;
        return found;
    };
    for (const Binding& one : bindings_ | std::views::reverse) {
        if (one.rkey != rkey) continue;
        const Region* region = find(one.mr);
        if (region == nullptr) continue;
        const std::uint64_t base = one.access.zero_based ? 0 : region->address + one.range.offset;
        if (const auto found = reached(one.mr, region->pd, one.access, base, one.range)) {
            return *found;
        }
    }
    for (const Region& one : regions_ | std::views::reverse) {
        if (one.rkey != rkey || one.gone) continue;
        if (const auto found =
                reached(one.mr, one.pd, one.access, one.address, {0, one.length()})) {
            return *found;
        }
    }
    return std::unexpected(fault);
}

} // namespace veriroce::model
