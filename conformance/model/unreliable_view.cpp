#include "conformance/model/unreliable_view.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace veriroce::model {
namespace {

constexpr std::uint64_t kGrhBytes = 40; // before the data of a datagram
constexpr std::size_t kMostArrived = 1024;

bool fits(const Message& message, const dut::Completion& completion) {
    return completion.byte_len == message.bytes && completion.imm == message.imm &&
           (!message.source || completion.src_qpn == message.source);
}

} // namespace

// --- both ---------------------------------------------------------------------------------------

void UnreliableView::request(Qp& qp, const Packet& packet, bool clear) {
    // A READ of a receive would have to know when its message came.
    if (qp.srq || !story_.setting.exact) counters_.loose = true;
    if (qp.type == wire::QpType::Ud) return datagram(qp, packet, clear);
    if (!story_.setting.exact || !clear) loosen(qp);
    connected(qp, packet, clear);
}

void UnreliableView::drop(Qp& qp, const Packet& packet, std::string why) {
    const wire::Packet& what = *packet.packet;
    if (!what.headers.has(wire::Header::Reth)) return;
    const auto target = memory_.target(what.reth.rkey, what.reth.virtual_address,
                                       what.payload().size(), qp.pd, &wire::Access::remote_write);
    if (!target) return;
    untouchable_.push_back({.region = target->region,
                            .range = target->range,
                            .rule = "EXT-06",
                            .why = std::move(why),
                            .packet = packet.number});
}

void UnreliableView::open(Region& region, ByteRange range) {
    region.may_hold_anything({++counters_.write, origin_, counters_.serial}, range, counters_.now);
}

std::pair<std::size_t, std::size_t> UnreliableView::next_receives() const {
    const auto sure = std::ranges::count(arrived_, true, &Arrived::sure);
    return {received_ + static_cast<std::size_t>(sure), received_ + arrived_.size() + 1};
}

UnreliableView::Room UnreliableView::room(Qp& qp, std::uint64_t bytes) {
    if (qp.srq || !story_.setting.exact || wild_) return Room::Unknown;
    const auto [first, end] = next_receives();
    if (first >= qp.receives.size()) return Room::Missing;
    if (end > qp.receives_taken || end > first + 1) return Room::Unknown;
    return qp.receives[first].bytes() < bytes ? Room::TooShort : Room::Enough;
}

void UnreliableView::open_receives(Qp& qp, const Packet& packet, std::uint64_t offset,
                                   std::uint64_t length) {
    if (qp.srq || !story_.setting.exact) return; // open_undecided() does that
    const std::string_view rule = qp.type == wire::QpType::Ud ? "EXT-05" : "EXT-06";
    const auto [first, end] = next_receives();
    for (std::size_t i = first; i < std::min(end, qp.receives.size()); ++i) {
        for (const Place& place : places_of(qp.receives[i].request.sge, offset, length, memory_)) {
            open(*place.region, place.range);
            place.region->touched.push_back({place.range, rule, packet.number});
        }
    }
}

void UnreliableView::deliver(Arrived arrived) {
    arrived.in_doubt = in_doubt_;
    arrived.written = shown_ + written_.size();
    arrived.sure = arrived.sure && !in_doubt_;
    if (arrived_.size() >= kMostArrived) wild_ = true;
    if (!wild_) arrived_.push_back(std::move(arrived));
}

void UnreliableView::loosen(Qp& qp) {
    if (std::exchange(wild_, true)) return;
    if (partial_.open && partial_.operation == wire::Operation::RdmaWrite)
        open_named(qp, partial_.reth);
    arrived_.clear();
    if (!qp.srq && qp.receives_done < qp.receives.size()) counters_.loose = true;
}

void UnreliableView::open_undecided(Qp& qp) {
    if (!wild_ && !qp.srq && story_.setting.exact) return;
    for (const ReceiveWork& work : posted_.receives_of(qp)) {
        if (work.polled && work.status == wire::WcStatus::Success) continue;
        for (const Place& place : places_of(work.request.sge, 0, work.bytes(), memory_)) {
            place.region->contents.may_hold_anything({++counters_.write, origin_, counters_.serial},
                                                     place.range.offset, place.range.length);
        }
    }
}

// --- UD -----------------------------------------------------------------------------------------

void UnreliableView::datagram(Qp& qp, const Packet& packet, bool clear) {
    const wire::Packet& what = *packet.packet;
    const wire::Bytes payload = what.payload();
    const bool sends = what.info().operation == wire::Operation::Send &&
                       what.info().position == wire::Position::Only;
    if (!sends) return;
    if (qp.attributes.qkey && what.deth.qkey != *qp.attributes.qkey) return; // EXT-05: dropped
    const std::uint64_t bytes = kGrhBytes + payload.size();
    const Room room = this->room(qp, bytes);
    if (room == Room::Missing) return;
    open_receives(qp, packet, 0, bytes);
    if (room == Room::TooShort) return;
    Arrived arrived{
        .message = {.bytes = bytes, .source = what.deth.source_qp, .packet = packet.number},
        .stretches = {},
        .sure = room == Room::Enough && clear && !what.pad_exceeds_body(),
        .at = packet.at.latest};
    if (what.info().immediate()) arrived.message.imm = what.imm.value;
    // EXT-05: the header that came: whole over IPv6, at the end of the 40 bytes over IPv4. What
    // routers, or the device, may write anew in it is left out.
    constexpr std::uint64_t kV4 = 20;
    const wire::Bytes ip = packet.frame.covered();
    if (packet.frame.ipv4 && packet.frame.ipv4->header_length == 5) {
        arrived.stretches = {{kV4, ip.first(1)}, {kV4 + 12, ip.subspan(12, 8)}};
        if (story_.setting.exact) arrived.stretches.push_back({kV4 + 2, ip.subspan(2, 2)});
    } else if (packet.frame.ipv6) {
        arrived.stretches = {{8, ip.subspan(8, 32)}};
        if (story_.setting.exact) arrived.stretches.push_back({1, ip.subspan(1, 5)});
    }
    arrived.stretches.push_back({kGrhBytes, payload});
    deliver(std::move(arrived));
}

// --- UC -----------------------------------------------------------------------------------------

// EXT-06: a FIRST or ONLY begins a message wherever it comes; anything else must follow the packet
// before it.
void UnreliableView::connected(Qp& qp, const Packet& packet, bool clear) {
    const wire::Packet& what = *packet.packet;
    const wire::OpcodeInfo& info = what.info();
    const bool known =
        info.operation == wire::Operation::Send || info.operation == wire::Operation::RdmaWrite;
    if (!known || info.reserved()) return;
    if (wild_) {
        if (info.starts_message() && what.headers.has(wire::Header::Reth))
            open_named(qp, what.reth);
        return;
    }
    const std::int64_t psn = qp.peer_psn(what.bth.psn, next_);
    const bool behind = psn < next_;
    const bool gap = psn > next_;
    // A packet from before: a device may take it for one, or for a new one.
    if (behind && info.starts_message()) {
        loosen(qp);
        return connected(qp, packet, clear);
    }
    if (behind) {
        partial_.sure = false;
        return drop(qp, packet, "a packet of UC that does not follow the one before");
    }
    next_ = psn + 1;
    if (info.starts_message()) {
        // OPC-10: one that follows at once may also be dropped.
        const bool inside = partial_.open && !gap;
        partial_ = {.open = true,
                    .sure = !inside,
                    .operation = info.operation,
                    .reth = what.reth,
                    .stretches = {},
                    .effects = {}};
    } else if (!partial_.open || gap || partial_.operation != info.operation) {
        in_doubt_ = in_doubt_ || (partial_.open && !gap);
        partial_.open = false;
        return drop(qp, packet, "the rest of a UC message with a gap");
    }
    continue_message(qp, packet);
}

void UnreliableView::continue_message(Qp& qp, const Packet& packet) {
    const wire::Packet& what = *packet.packet;
    const wire::OpcodeInfo& info = what.info();
    const wire::Bytes payload = what.payload();
    const std::uint64_t mtu = wire::bytes_of(qp.mtu());
    const bool last = info.ends_message();
    const bool empty_last = info.position == wire::Position::Last && payload.empty();
    const bool sized =
        last ? payload.size() <= mtu && !empty_last : payload.size() == mtu && what.bth.pad == 0;
    if (!sized || what.pad_exceeds_body()) {
        in_doubt_ = true;
        partial_.sure = false;
    }
    if (partial_.operation == wire::Operation::RdmaWrite) {
        write_packet(qp, packet, payload);
    } else {
        send_packet(qp, packet, payload);
    }
    partial_.bytes += payload.size();
    if (last && partial_.open) end_message(qp, packet);
    if (last) partial_.open = false;
}

void UnreliableView::write_packet(Qp& qp, const Packet& packet, wire::Bytes payload) {
    const wire::Reth& reth = partial_.reth;
    const bool may = !qp.attributes.access || qp.attributes.access->remote_write;
    const auto right = &wire::Access::remote_write;
    const auto all = memory_.target(reth.rkey, reth.virtual_address, reth.dma_length, qp.pd, right);
    const bool whole = reth.dma_length == 0 || (all && all->whole);
    const std::uint64_t total = partial_.bytes + payload.size();
    const bool sized =
        packet.packet->info().ends_message() ? total == reth.dma_length : total < reth.dma_length;
    const bool settled = reth.dma_length == 0 || memory_.settled(reth.rkey);
    if (!may || !whole || !sized || !settled) {
        in_doubt_ = true;
        partial_.sure = false;
    }
    if (payload.empty() || !may) return;
    const auto target = memory_.target(reth.rkey, reth.virtual_address + partial_.bytes,
                                       payload.size(), qp.pd, right);
    if (!target) return;
    const Write write{++counters_.write, origin_, counters_.serial};
    const wire::Bytes data = payload.subspan(target->skip, target->range.length);
    target->region->may_hold(write, target->range.offset, data, counters_.now);
    target->region->touched.push_back({target->range, "EXT-06", packet.number});
    partial_.effects.push_back({target->region, target->range, write});
}

void UnreliableView::send_packet(Qp& qp, const Packet& packet, wire::Bytes payload) {
    const std::uint64_t total = partial_.bytes + payload.size();
    switch (room(qp, total)) {
    case Room::Enough: break;
    case Room::Unknown: partial_.sure = false; break;
    case Room::TooShort: // it may fail the receive
        in_doubt_ = true;
        partial_.sure = false;
        break;
    case Room::Missing: // no receive, no message
        partial_.open = false;
        return;
    }
    open_receives(qp, packet, partial_.bytes, payload.size());
    partial_.stretches.push_back({partial_.bytes, payload});
}

void UnreliableView::end_message(Qp& qp, const Packet& packet) {
    const wire::Packet& what = *packet.packet;
    Arrived arrived{.message = {.bytes = partial_.bytes,
                                .operation = partial_.operation,
                                .packet = packet.number},
                    .stretches = std::move(partial_.stretches),
                    .sure = partial_.sure,
                    .at = packet.at.latest};
    const bool immediate = what.info().immediate();
    if (immediate) arrived.message.imm = what.imm.value;
    if (partial_.operation == wire::Operation::Send) return deliver(std::move(arrived));
    const Room room = immediate ? this->room(qp, 0) : Room::Enough;
    arrived.sure = arrived.sure && room == Room::Enough && !in_doubt_;
    if (arrived.sure) { // else the bytes may be there
        for (const Effect& one : partial_.effects) {
            // Nothing tells when it is done; a request to another QP may overtake it.
            memory_.settle_at(counters_.now + story_.setting.answer_time, *one.region, one.range,
                              one.write);
            one.region->changed = counters_.now; // visible soon (ACK-05)
        }
        written_.push_back(std::move(partial_.effects));
    }
    if (immediate && room != Room::Missing) deliver(std::move(arrived));
}

void UnreliableView::open_named(Qp& qp, const wire::Reth& reth) {
    const auto target = memory_.target(reth.rkey, reth.virtual_address, reth.dma_length, qp.pd,
                                       &wire::Access::remote_write);
    if (target) open(*target->region, target->range);
}

// --- completions --------------------------------------------------------------------------------

std::size_t UnreliableView::match(const dut::Completion& completion, bool& alone) const {
    std::optional<std::size_t> found;
    std::size_t last = 0;
    for (std::size_t i = 0; i < arrived_.size(); ++i) {
        last = i;
        const bool fitting = fits(arrived_[i].message, completion);
        if (fitting && found) alone = false;
        if (fitting && !found) found = i;
        if (arrived_[i].sure) break; // nothing after it can come first
    }
    return found.value_or(last);
}

void UnreliableView::show(std::uint64_t writes) {
    for (; shown_ < writes && !written_.empty(); ++shown_) {
        for (const Effect& one : written_.front()) {
            one.region->settle(one.write, one.range, counters_.serial);
            one.region->show(one.write, one.range, counters_.serial);
        }
        written_.pop_front();
    }
}

void UnreliableView::put(const ReceiveWork& work, const Arrived& arrived) {
    for (const Place& place : places_of(work.request.sge, 0, arrived.message.bytes, memory_))
        open(*place.region, place.range);
    for (const Stretch& stretch : arrived.stretches) {
        const Write write{++counters_.write, origin_, counters_.serial};
        for (const Place& place :
             places_of(work.request.sge, stretch.offset, stretch.bytes.size(), memory_)) {
            place.region->may_hold(write, place.range.offset,
                                   stretch.bytes.subspan(place.from, place.range.length),
                                   counters_.now);
            place.region->settle(write, place.range, counters_.serial);
            place.region->show(write, place.range, counters_.serial);
        }
    }
}

std::optional<Message> UnreliableView::received(Qp& qp, ReceiveWork& work,
                                                const dut::Completion& completion) {
    ++received_;
    bool alone = true;
    const std::size_t at = match(completion, alone);
    if (wild_ || at >= arrived_.size()) {
        for (const Place& place : places_of(work.request.sge, 0, work.bytes(), memory_))
            open(*place.region, place.range);
        return std::nullopt;
    }
    Arrived taken = arrived_[at];
    if (!alone) taken.stretches.clear();
    // What a WRITE with immediate data brings is elsewhere.
    if (taken.message.operation == wire::Operation::Send) put(work, taken);
    show(taken.written);
    if (story_.setting.exact) {
        if (taken.in_doubt) in_doubt_ = false; // the QP has not failed
        arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    // On a real link a copy, or one that overtook others, may be in it.
    const bool certain = story_.setting.exact || qp.type == wire::QpType::Ud;
    return certain ? std::optional(taken.message) : std::nullopt;
}

std::optional<UnreliableView::Due> UnreliableView::unreported(const Qp& qp) const {
    const bool up = qp.state == wire::QpState::Rtr || qp.state == wire::QpState::Rts;
    if (wild_ || ended_at_ || !up || !story_.setting.exact || qp.srq) return std::nullopt;
    const auto sure = std::ranges::find(arrived_, true, &Arrived::sure);
    if (sure == arrived_.end()) return std::nullopt;
    return Due{sure->message, sure->at};
}

} // namespace veriroce::model
