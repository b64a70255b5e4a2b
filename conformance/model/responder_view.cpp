#include "conformance/model/responder_view.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 31; // LEN-05
constexpr std::uint64_t kMostComparedRead = std::uint64_t{1} << 22;
constexpr std::size_t kMostReads = 256;

std::array<std::byte, kAtomicBytes> little_endian(std::uint64_t value) {
    std::array<std::byte, kAtomicBytes> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(value >> (8 * i));
    return bytes;
}

std::uint64_t value_after(const wire::Packet& packet, std::uint64_t original) {
    const wire::AtomicEth& asked = packet.atomic;
    if (packet.info().operation == wire::Operation::FetchAdd) return original + asked.swap_or_add;
    return original == asked.compare ? asked.swap_or_add : original;
}

// The remote address, key and length that a request names; nothing if it names none.
struct Named {
    std::uint64_t address = 0;
    wire::Rkey rkey;
    std::uint64_t length = 0;
};
std::optional<Named> named_by(const wire::Packet& packet) {
    if (packet.headers.has(wire::Header::AtomicEth)) {
        return Named{packet.atomic.virtual_address, packet.atomic.rkey, kAtomicBytes};
    }
    const bool writes = packet.info().operation == wire::Operation::RdmaWrite ||
                        packet.info().operation == wire::Operation::AtomicWrite;
    if (writes && packet.headers.has(wire::Header::Reth)) {
        return Named{packet.reth.virtual_address, packet.reth.rkey, packet.payload().size()};
    }
    return std::nullopt;
}

} // namespace

std::vector<Place> places_of(const std::vector<dut::Sge>& pieces, std::uint64_t offset,
                             std::uint64_t length, Registered& memory) {
    std::vector<Place> places;
    std::uint64_t begin = 0; // of the piece in the message
    const std::uint64_t end = offset + length;
    for (const dut::Sge& piece : pieces) {
        const std::uint64_t from = std::max(begin, offset);
        const std::uint64_t to = std::min(begin + piece.length, end);
        Region* region = memory.find(piece.mr);
        if (from < to && region != nullptr) {
            places.push_back({.region = region,
                              .range = {piece.offset + (from - begin), to - from},
                              .from = from - offset});
        }
        begin += piece.length;
    }
    return places;
}

ResponderView::Slot* ResponderView::slot_of(std::int64_t psn) {
    const auto next = std::ranges::upper_bound(slots_, psn, {}, &Slot::first);
    if (next == slots_.begin()) return nullptr;
    Slot& slot = *std::prev(next);
    return psn < slot.first + slot.packets ? &slot : nullptr;
}

bool ResponderView::same(const Packet& a, const Packet& b) const {
    const wire::Packet& one = *a.packet;
    const wire::Packet& other = *b.packet;
    return one.bth.opcode == other.bth.opcode && one.bth.psn == other.bth.psn &&
           one.bth.pad == other.bth.pad && one.reth == other.reth && one.atomic == other.atomic &&
           one.imm == other.imm && std::ranges::equal(one.body, other.body);
}

bool ResponderView::message_open() const {
    const auto left = std::ranges::count_if(
        slots_, [&](const Slot& one) { return one.receive && *one.receive >= received_; });
    return left > 0;
}

void ResponderView::dropped(Qp& qp, const Packet& packet, std::string rule, std::string why) {
    const auto named = named_by(*packet.packet);
    if (!named) return;
    for (const auto right : {&wire::Access::remote_write, &wire::Access::remote_atomic}) {
        const auto target =
            memory_.target(named->rkey, named->address, named->length, qp.pd, right);
        if (!target) continue;
        untouchable_.push_back({.region = target->region,
                                .range = target->range,
                                .rule = std::move(rule),
                                .why = std::move(why),
                                .packet = packet.number});
        return;
    }
}

void ResponderView::loosen(Qp& qp) {
    if (std::exchange(loose_, true)) return;
    counters_.loose = true;
    const auto open = [&](Region& region, ByteRange range) {
        region.may_hold_anything({++counters_.write, origin_, counters_.serial}, range,
                                 counters_.now);
    };
    for (ReceiveWork& work : posted_.receives_of(qp)) {
        for (const Place& place : places_of(work.request.sge, 0, work.bytes(), memory_))
            open(*place.region, place.range);
    }
    for (const Untouchable& one : untouchable_)
        open(*one.region, one.range);
    for (const Slot& slot : slots_) {
        for (const Effect& effect : slot.effects)
            open(*effect.region, effect.range);
    }
    reads_.clear();
}

// --- requests ---------------------------------------------------------------------------------

void ResponderView::request(Qp& qp, const Packet& packet) {
    if (ended_) {
        return dropped(qp, packet, "N-07", "a request to a QP that has failed");
    }
    const std::int64_t psn = qp.peer_psn(packet.packet->bth.psn, high_);
    take(qp, packet, psn);
    if (!loose_) owe(qp, packet, psn);
}

// What the request may change.
void ResponderView::take(Qp& qp, const Packet& packet, std::int64_t psn) {
    const bool reads = packet.packet->info().operation == wire::Operation::RdmaReadRequest;
    if (psn > high_) {
        dropped(qp, packet, "RSP-02", "a request ahead of the expected PSN");
        if (story_.setting.trait("out_of_order")) loosen(qp);
        return;
    }
    if (psn == high_) return next(qp, packet, psn, psn >= taken_);
    Slot* slot = slot_of(psn);
    const bool repeated = slot != nullptr && slot->first == psn && same(*slot->packet, packet);
    // A part of an open READ, or what has been answered, asked for again.
    const bool part = reads && !repeated && slot != nullptr &&
                      slot->packet->packet->info().operation == wire::Operation::RdmaReadRequest;
    if (psn < low_ || part) {
        if (reads) {
            Slot again{
                .first = psn, .before = {}, .packet = &packet, .effects = {}, .snapshots = {}};
            apply_read(qp, again);
        } else {
            dropped(qp, packet, "RSP-15", "a duplicate");
        }
        return;
    }
    if (slot == nullptr) return loosen(qp);
    if (repeated) {
        Context after = slot->before;
        slot->effects.clear();
        const DueAnswer::Kind due = slot->due.kind;
        examine(qp, *slot);
        slot->one_due = slot->one_due && slot->due.kind == due;
        return apply(qp, *slot, after);
    }
    // Another packet with a PSN that the device may still expect: it may have dropped the first.
    const std::int64_t from = slot->first;
    taken_ = std::max(taken_, high_);
    context_ = slot->before;
    while (!slots_.empty() && slots_.back().first >= from)
        slots_.pop_back();
    high_ = from;
    told_ = std::min(told_, slots_.size());
    shown_ = std::min(shown_, slots_.size());
    if (psn != from) return loosen(qp);
    next(qp, packet, psn, false);
}

void ResponderView::next(Qp& qp, const Packet& packet, std::int64_t psn, bool alone) {
    const wire::Packet& request = *packet.packet;
    Slot& slot = slots_.emplace_back(Slot{.first = psn,
                                          .before = context_,
                                          .packet = &packet,
                                          .alone = alone,
                                          .write = ++counters_.write,
                                          .made = counters_.serial,
                                          .effects = {},
                                          .snapshots = {}});
    if (request.info().operation == wire::Operation::RdmaReadRequest) {
        slot.packets = wire::packets_of(request.reth.dma_length, qp.mtu());
    }
    examine(qp, slot);
    Context after = context_;
    apply(qp, slot, after);
    after.sure = context_.sure && alone && slot.due.context_known;
    context_ = after;
    high_ = psn + slot.packets;
}

Receives ResponderView::receive_for(Qp& qp, std::uint64_t number) {
    const auto state = [number](std::size_t posted, std::size_t taken) {
        if (number < taken) return Receive::There;
        return number < posted ? Receive::Unknown : Receive::Missing;
    };
    if (!qp.srq) {
        const bool known = number < qp.receives.size();
        return {.state = state(qp.receives.size(), qp.receives_taken),
                .work = known ? &qp.receives[number] : nullptr};
    }
    const auto& posted = posted_.shared(*qp.srq);
    if (posted.empty()) return {.state = Receive::Missing, .shared = true};
    const auto users = std::ranges::count_if(
        posted_.qps(), [&](const Qp& one) { return one.srq == qp.srq && one.lives > 0; });
    if (users != 1 || qp.lives > 1) return {.shared = true};
    return {.state = state(posted.size(), posted_.shared_taken(*qp.srq)),
            .work = &*std::ranges::min_element(posted, {}, &ReceiveWork::bytes),
            .shared = true};
}

void ResponderView::examine(Qp& qp, Slot& slot) {
    const wire::OpcodeInfo& info = slot.packet->packet->info();
    const bool starts = info.starts_message();
    const bool sends = info.operation == wire::Operation::Send;
    const std::uint64_t number = slot.before.receives - (sends && !starts ? 1 : 0);
    Receives receives;
    if (sends || info.immediate()) receives = receive_for(qp, number);
    // READs and atomics before it that may not be answered yet.
    std::size_t open_answers = 0;
    const bool single = !sends && info.operation != wire::Operation::RdmaWrite;
    for (std::size_t i = covered_; single && i < slots_.size() && &slots_[i] != &slot; ++i) {
        const wire::Operation operation = slots_[i].packet->packet->info().operation;
        const bool answers = operation == wire::Operation::RdmaReadRequest || is_atomic(operation);
        open_answers += answers ? 1 : 0;
    }
    slot.due = due_answer(story_, *slot.packet, slot.before, qp, memory_, receives, open_answers);
}

// Only where the order of all packets at the device's port is known.
void ResponderView::owe(const Qp& qp, const Packet& packet, std::int64_t psn) {
    if (psn == sure_) ++at_sure_;
    if (!story_.setting.exact || story_.setting.trait("out_of_order")) return;
    if (qp.state != wire::QpState::Rtr && qp.state != wire::QpState::Rts) return;
    if (psn > sure_) {
        if (at_sure_ == 0) owe_nak(packet);
        return;
    }
    const Slot* slot = slot_of(psn);
    const bool in_order = psn == sure_ && slot != nullptr && slot->first == psn && slot->alone;
    if (!in_order || (wait_ && packet.at.latest < *wait_)) return;
    // RSP-16: what was missing comes before the NAK leaves. No device waits for it that long.
    constexpr int kNakLate = 4;
    const auto is_nak = [](const Owed& one) { return one.kind == Owed::Kind::SequenceNak; };
    const auto nak = std::ranges::find_if(owed_, is_nak);
    const auto latest = [&] { return nak->since + kNakLate * story_.setting.answer_time; };
    if (nak != owed_.end() && packet.at.earliest > latest()) missed_nak_ = *nak;
    std::erase_if(owed_, is_nak);
    nak_sent_ = false;
    wait_.reset();
    owe_for(*slot, packet);
}

void ResponderView::owe_for(const Slot& slot, const Packet& packet) {
    const wire::Packet& request = *packet.packet;
    const DueAnswer& due = slot.due;
    const auto add = [&](Owed::Kind kind, std::string_view rule, std::string_view why) {
        owed_.push_back({.kind = kind,
                         .before = slot.first + slot.packets,
                         .since = packet.at.latest,
                         .rule = rule,
                         .why = why,
                         .packet = packet.number});
    };
    switch (due.kind) {
    case DueAnswer::Kind::Open: return;
    case DueAnswer::Kind::Accept: {
        sure_ = slot.first + slot.packets;
        // What came behind it before was dropped, if this one is the first that counts.
        at_sure_ = at_sure_ > 1 && sure_ < high_ ? 1 : 0;
        const wire::Operation operation = request.info().operation;
        const bool asks = request.bth.ack_request || is_atomic(operation) ||
                          operation == wire::Operation::RdmaReadRequest; // N-17
        if (asks) add(Owed::Kind::Answer, "ACK-01", "it asks for an answer");
        return;
    }
    case DueAnswer::Kind::Refuse:
        if (!due.may_be_lost && due.level == rules::Level::Must)
            add(Owed::Kind::FatalNak, due.rule, due.why);
        return;
    case DueAnswer::Kind::Wait: return add(Owed::Kind::RnrNak, "RNR-01", "no receive is posted");
    }
}

// RSP-02: a packet ahead of the expected PSN.
void ResponderView::owe_nak(const Packet& packet) {
    const wire::Packet& request = *packet.packet;
    const wire::Operation operation = request.info().operation;
    const bool plain =
        packet.sound() && !request.info().reserved() &&
        (operation == wire::Operation::Send || operation == wire::Operation::RdmaWrite ||
         operation == wire::Operation::RdmaReadRequest || is_atomic(operation));
    const bool owed =
        std::ranges::any_of(owed_, [](const Owed& one) { return one.kind != Owed::Kind::Answer; });
    if (!plain || nak_sent_ || owed) return;
    owed_.push_back({.kind = Owed::Kind::SequenceNak,
                     .before = sure_ + 1,
                     .since = packet.at.latest,
                     .rule = "RSP-02",
                     .why = "it is ahead of the expected PSN",
                     .packet = packet.number});
}

void ResponderView::overdue(const Qp& qp, std::vector<Deviation>& found) const {
    const auto expected = [](Owed::Kind kind) -> std::string_view {
        switch (kind) {
        case Owed::Kind::Answer: return "an answer";
        case Owed::Kind::FatalNak: return "a fatal NAK";
        case Owed::Kind::RnrNak: return "an RNR NAK";
        case Owed::Kind::SequenceNak: return "a sequence NAK";
        }
        return "";
    };
    const auto tell = [&](const Owed& owed, std::string_view measured) {
        found.push_back(
            {.rule = std::string(owed.rule),
             .level = rules::Level::Must,
             .kind = rules::FindingClass::Absence,
             .field = "answer",
             .allowed = fmt::format("the device must send {}: {}", expected(owed.kind), owed.why),
             .measured = std::string(measured),
             .packets = {owed.packet}});
    };
    if (missed_nak_ && !loose_)
        tell(*missed_nak_, "none came until the missing packet was sent again");
    const bool alive = qp.reported == wire::QpState::Rtr || qp.reported == wire::QpState::Rts;
    if (loose_ || ended_ || owed_.empty() || !alive) return;
    const Owed& owed = owed_.front();
    if (story_.end - owed.since < story_.setting.answer_time) return;
    tell(owed, "none came until the end");
}

// What the packet may do if the device takes it now.
void ResponderView::apply(Qp& qp, Slot& slot, Context& after) {
    const wire::OpcodeInfo& info = slot.packet->packet->info();
    // BadUdpChecksum: whether a receiver looks at it is its own affair (ENC-06).
    slot.legal = slot.packet->sound();
    switch (info.operation) {
    case wire::Operation::RdmaWrite:
    case wire::Operation::AtomicWrite: return apply_write(qp, slot, after);
    case wire::Operation::Send: return apply_send(qp, slot, after);
    case wire::Operation::RdmaReadRequest: return apply_read(qp, slot);
    case wire::Operation::CompareSwap:
    case wire::Operation::FetchAdd: return apply_atomic(qp, slot);
    case wire::Operation::Flush: return;
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::Acknowledge:
    case wire::Operation::AtomicAcknowledge:
    case wire::Operation::Resync:
    case wire::Operation::Cnp:
    case wire::Operation::Reserved: slot.legal = false; return;
    }
}

void ResponderView::put(Slot& slot, Region& region, std::uint64_t offset, wire::Bytes data) {
    if (data.empty()) return;
    const Write write{slot.write, origin_, slot.made};
    region.may_hold(write, offset, data, counters_.now);
    region.touched.push_back({{offset, data.size()}, "RSP-01", slot.packet->number});
    slot.effects.push_back({&region, {offset, data.size()}, write});
}

void ResponderView::apply_write(Qp& qp, Slot& slot, Context& after) {
    const wire::Packet& packet = *slot.packet->packet;
    const wire::OpcodeInfo& info = packet.info();
    const wire::Bytes payload = packet.payload();
    const bool fits =
        info.starts_message() ? !after.open : after.open && after.operation == info.operation;
    slot.legal = slot.legal && fits && !packet.pad_exceeds_body();
    if (info.starts_message()) {
        after = {.open = true,
                 .operation = info.operation,
                 .reth = packet.reth,
                 .start = slot.first,
                 .receives = after.receives};
        const auto all = memory_.target(packet.reth.rkey, packet.reth.virtual_address,
                                        packet.reth.dma_length, qp.pd, &wire::Access::remote_write);
        const bool reached = packet.reth.dma_length == 0 || (all && all->whole);
        after.legal = reached && packet.reth.dma_length <= kLongestMessage;
    }
    const bool full = payload.size() == wire::bytes_of(qp.mtu()) && packet.bth.pad == 0;
    const std::uint64_t total = after.bytes + payload.size();
    const bool sized = info.ends_message()
                           ? total == after.reth.dma_length && payload.size() <= bytes_of(qp.mtu())
                           : full && total < after.reth.dma_length;
    after.legal = after.legal && sized;
    slot.legal = slot.legal && after.legal;
    // What a message that may not begin here names is undefined as well (KEY-14).
    if ((fits || info.starts_message()) && !payload.empty()) {
        const auto target =
            memory_.target(after.reth.rkey, after.reth.virtual_address + after.bytes,
                           payload.size(), qp.pd, &wire::Access::remote_write);
        // KEY-01: a QP without the right lets nothing through.
        const bool may = !qp.attributes.access || qp.attributes.access->remote_write;
        if (target && may) {
            put(slot, *target->region, target->range.offset,
                payload.subspan(target->skip, target->range.length));
        } else {
            slot.legal = false;
        }
    }
    after.bytes = total;
    if (info.immediate()) {
        slot.receive = after.receives;
        ++after.receives;
    }
    if (info.ends_message()) after.open = false;
}

void ResponderView::apply_send(Qp& qp, Slot& slot, Context& after) {
    const wire::Packet& packet = *slot.packet->packet;
    const wire::OpcodeInfo& info = packet.info();
    const wire::Bytes payload = packet.payload();
    const bool fits = info.starts_message()
                          ? !after.open
                          : after.open && after.operation == wire::Operation::Send;
    slot.legal = slot.legal && fits && !packet.pad_exceeds_body();
    if (info.starts_message()) {
        after = {.open = true,
                 .operation = wire::Operation::Send,
                 .start = slot.first,
                 .receives = after.receives + 1};
    }
    if (!fits && !info.starts_message()) return;
    const std::uint64_t number = after.receives - 1;
    slot.receive = number;
    if (!qp.srq && number < qp.receives.size()) {
        const ReceiveWork& work = qp.receives[number];
        for (const Place& place :
             places_of(work.request.sge, after.bytes, payload.size(), memory_)) {
            put(slot, *place.region, place.range.offset,
                payload.subspan(place.from, place.range.length));
        }
    }
    after.bytes += payload.size();
    if (info.ends_message()) after.open = false;
}

void ResponderView::apply_atomic(Qp& qp, Slot& slot) {
    const wire::AtomicEth& asked = slot.packet->packet->atomic;
    slot.legal = slot.legal && !slot.before.open && asked.virtual_address % kAtomicBytes == 0;
    const auto target = memory_.target(asked.rkey, asked.virtual_address, kAtomicBytes, qp.pd,
                                       &wire::Access::remote_atomic);
    const bool may = !qp.attributes.access || qp.attributes.access->remote_atomic;
    if (!target || !may) {
        slot.legal = false;
        return;
    }
    slot.legal = slot.legal && target->whole;
    // What it leaves is known when its answer tells the original.
    Region& region = *target->region;
    Snapshot snapshot{.id = ++counters_.snapshot,
                      .offset = target->range.offset,
                      .origin = origin_,
                      .made = counters_.serial,
                      .contents =
                          region.contents.slice(target->range.offset, target->range.length)};
    const Write write{slot.write, origin_, slot.made};
    region.may_hold_anything(write, target->range, counters_.now);
    region.touched.push_back({target->range, "ATM-01", slot.packet->number});
    region.keep(std::move(snapshot));
    slot.snapshots.push_back(counters_.snapshot);
    slot.effects.push_back({&region, target->range, write});
}

void ResponderView::apply_read(Qp& qp, Slot& slot) {
    const wire::Reth& asked = slot.packet->packet->reth;
    const bool may = !qp.attributes.access || qp.attributes.access->remote_read;
    const auto target = memory_.target(asked.rkey, asked.virtual_address, asked.dma_length, qp.pd,
                                       &wire::Access::remote_read);
    Read read{.first = slot.first, .length = asked.dma_length, .packet = slot.packet->number};
    slot.legal = slot.legal && may && !slot.before.open &&
                 (asked.dma_length == 0 || (target && target->whole));
    if (target && target->whole && asked.dma_length > 0 && asked.dma_length <= kMostComparedRead) {
        read.region = target->region;
        read.snapshot = ++counters_.snapshot;
        target->region->keep(
            {.id = read.snapshot,
             .offset = target->range.offset,
             .origin = origin_,
             .made = counters_.serial,
             .contents = target->region->contents.slice(target->range.offset, asked.dma_length)});
    }
    reads_.push_back(read);
    if (reads_.size() > kMostReads) reads_.pop_front();
}

// --- answers ----------------------------------------------------------------------------------

void ResponderView::settle(Slot& slot) {
    const wire::Operation operation = slot.packet->packet->info().operation;
    if (slot.done || !slot.legal || !slot.alone || is_atomic(operation)) return;
    if (operation == wire::Operation::Send) return; // known when its receive has completed
    slot.done = true;
    for (const Effect& one : slot.effects) {
        one.region->settle(one.write, one.range, counters_.serial);
        one.region->changed = counters_.now; // visible soon (ACK-05)
    }
}

void ResponderView::show(std::int64_t before) {
    for (; shown_ < slots_.size(); ++shown_) {
        const Slot& slot = slots_[shown_];
        if (slot.first + slot.packets > before) return;
        if (!slot.done) continue;
        for (const Effect& one : slot.effects)
            one.region->show(one.write, one.range, counters_.serial);
    }
}

void ResponderView::cover(Qp& qp, std::int64_t before) {
    if (before > high_) return loosen(qp); // it answers for what was not sent, as far as we saw
    if (before > sure_) {
        sure_ = before;
        at_sure_ = before < high_ ? 1 : 0;
    }
    while (!owed_.empty() && owed_.front().before <= before)
        owed_.pop_front();
    // Each answer shows that the device is at work.
    for (Owed& one : owed_)
        one.since = std::max(one.since, counters_.now);
    if (before <= low_ || loose_) return;
    low_ = before;
    covered_at_ = counters_.now;
    while (covered_ < slots_.size() && slots_[covered_].first + slots_[covered_].packets <= low_) {
        Slot& slot = slots_[covered_++];
        // It had no receive. A copy of it, which the wire made, came later and found one; or the
        // device looked for a receive some time after the packet had come.
        if (slot.due.kind == DueAnswer::Kind::Wait) {
            if (!story_.setting.exact) return loosen(qp);
            examine(qp, slot);
            if (slot.due.kind != DueAnswer::Kind::Wait) return loosen(qp);
        }
        settle(slot);
    }
}

void ResponderView::refuse(Qp& qp, std::int64_t psn) {
    const Slot* refused = slot_of(psn);
    // What an aborted message leaves in its target is undefined (KEY-14).
    const std::int64_t start =
        refused != nullptr && refused->before.open ? refused->before.start : psn;
    cover(qp, start);
    ended();
    // Requests behind a READ may be executed before it is answered (RDR-12).
    const bool read = refused != nullptr &&
                      refused->packet->packet->info().operation == wire::Operation::RdmaReadRequest;
    if (refused == nullptr || read) return;
    for (Slot& slot : slots_) {
        if (slot.first <= psn || slot.done) continue;
        for (const Effect& one : slot.effects) {
            one.region->retract(one.write, one.range);
            untouchable_.push_back({.region = one.region,
                                    .range = one.range,
                                    .rule = "N-07",
                                    .why = "a request behind a refused one",
                                    .packet = slot.packet->number});
        }
    }
}

void ResponderView::note_fault(const Qp& qp, const Slot& refused, wire::NakCode code) {
    const bool sends = refused.packet->packet->info().operation == wire::Operation::Send;
    const bool certain = refused.alone && refused.one_due && !loose_ && !ended_;
    if (!sends || !certain || qp.srq || !refused.receive) return;
    const std::uint64_t number = *refused.receive;
    if (number >= qp.receives.size()) return;
    const auto& pieces = qp.receives[number].request.sge;
    const bool opens = std::ranges::all_of(
        pieces, [&](const dut::Sge& one) { return memory_.device_may_write(one, qp.pd); });
    const bool too_short =
        refused.due.kind == DueAnswer::Kind::Refuse && refused.due.rule == "LEN-06";
    if (!too_short && (opens || code != wire::NakCode::RemoteOperational)) return;
    fault_ = {.kind = too_short ? ReceiveFault::Kind::TooShort : ReceiveFault::Kind::LocalKey,
              .receive = number,
              .packet = refused.packet->number};
}

bool ResponderView::harmless() const {
    return !loose_ && !refused_ && !context_.open &&
           std::ranges::all_of(slots_, [&](const Slot& one) {
               const bool taken =
                   one.due.kind == DueAnswer::Kind::Accept || one.due.kind == DueAnswer::Kind::Wait;
               // A READ that loses its key while it is answered may end the QP without a word.
               const bool opened = !one.due.rkey || memory_.always_settled(*one.due.rkey);
               return taken && one.alone && one.one_due && opened;
           });
}

void ResponderView::answer(Qp& qp, const Packet& packet, std::vector<Deviation>& found) {
    const wire::Packet& answer = *packet.packet;
    const std::int64_t psn = qp.peer_psn(answer.bth.psn, high_);
    if (psn > high_ || psn < 0) return;
    const wire::OpcodeInfo& info = answer.info();
    const bool refused =
        answer.headers.has(wire::Header::Aeth) && answer.aeth.syndrome.kind() != wire::AckKind::Ack;
    if (refused) {
        if (answer.aeth.syndrome.kind() == wire::AckKind::Reserved) return;
        const bool fatal = answer.aeth.syndrome.kind() == wire::AckKind::Nak &&
                           answer.aeth.syndrome.nak_code() != wire::NakCode::PsnSequence;
        if (fatal) check_refusal(packet, psn, found);
        const Slot* named = slot_of(psn);
        if (fatal && named != nullptr) {
            note_fault(qp, *named, answer.aeth.syndrome.nak_code().value_or(wire::NakCode{}));
        }
        refused_ = refused_ || fatal;
        if (fatal) return refuse(qp, psn);
        check_accepted(packet, psn, found);
        return retry(qp, packet, psn);
    }
    if (info.operation == wire::Operation::Acknowledge) {
        check_accepted(packet, psn + 1, found);
        return cover(qp, psn + 1);
    }
    if (info.operation == wire::Operation::AtomicAcknowledge) {
        check_accepted(packet, psn + 1, found);
        cover(qp, psn + 1);
        return take_original(packet, psn, found);
    }
    if (info.operation != wire::Operation::RdmaReadResponse) return;
    const Slot* slot = slot_of(psn);
    const bool ends = slot != nullptr && psn + 1 == slot->first + slot->packets;
    if (slot != nullptr) {
        check_accepted(packet, psn + 1, found);
        cover(qp, ends ? psn + 1 : slot->first);
    }
    check_read(qp, packet, psn, found);
}

// A sequence or RNR NAK: the tester must send again from this PSN.
void ResponderView::retry(Qp& qp, const Packet& packet, std::int64_t psn) {
    const wire::Syndrome syndrome = packet.packet->aeth.syndrome;
    const bool rnr = syndrome.kind() == wire::AckKind::RnrNak;
    const int refused = rnr ? 1 : 0;
    const bool awaited = psn == high_ || (psn == sure_ && at_sure_ <= refused);
    cover(qp, psn);
    owed_.clear();
    sure_ = psn;
    at_sure_ = awaited ? 0 : 1;
    nak_sent_ = true;
    wait_.reset();
    if (rnr) {
        wait_ = packet.at.latest + wire::rnr_time(syndrome.code());
    }
}

void ResponderView::check_accepted(const Packet& packet, std::int64_t before,
                                   std::vector<Deviation>& found) {
    if (checked_ || loose_) return;
    for (std::size_t i = covered_; i < slots_.size() && slots_[i].first < before; ++i) {
        const Slot& slot = slots_[i];
        if (slot.due.kind != DueAnswer::Kind::Refuse || !slot.alone || !slot.one_due) continue;
        // Its key may have got a meaning before the request was carried out.
        if (slot.due.rkey && !memory_.settled(*slot.due.rkey)) continue;
        checked_ = true;
        found.push_back({.rule = std::string(slot.due.rule),
                         .level = slot.due.level,
                         .field = "answer",
                         .allowed = fmt::format("it must be refused: {}", slot.due.why),
                         .measured = "the device accepts the request",
                         .packets = {packet.number, slot.packet->number}});
        return;
    }
}

void ResponderView::check_refusal(const Packet& packet, std::int64_t psn,
                                  std::vector<Deviation>& found) {
    check_accepted(packet, psn, found);
    const Slot* slot = slot_of(psn);
    const bool certain = slot != nullptr && !loose_ && slot->alone && slot->one_due;
    const auto code = packet.packet->aeth.syndrome.nak_code();
    if (!certain || !code || slot->due.kind == DueAnswer::Kind::Open) return;
    const DueAnswer& due = slot->due;
    if (due.kind == DueAnswer::Kind::Refuse && due.codes.contains(*code)) return;
    // Its key may have lost its meaning before the request was carried out.
    const bool settled = !due.rkey || memory_.always_settled(*due.rkey);
    if (due.kind != DueAnswer::Kind::Refuse && !settled) return;
    const std::string measured = fmt::format("code is {}", wire::name_of(*code));
    if (due.kind == DueAnswer::Kind::Refuse) {
        found.push_back({.rule = std::string(due.rule),
                         .level = due.level,
                         .field = "code",
                         .allowed = fmt::format("it must be another: {}", due.why),
                         .measured = measured,
                         .packets = {packet.number, slot->packet->number}});
        return;
    }
    const bool waits = due.kind == DueAnswer::Kind::Wait;
    found.push_back({.rule = waits ? "RNR-01" : "ACK-01",
                     .level = rules::Level::Must,
                     .field = "code",
                     .allowed = waits ? "it must be an RNR NAK: no receive is posted"
                                      : "the request must be accepted",
                     .measured = measured,
                     .packets = {packet.number, slot->packet->number}});
}

void ResponderView::check_read(const Qp& qp, const Packet& packet, std::int64_t psn,
                               std::vector<Deviation>& found) {
    const wire::Bytes payload = packet.packet->payload();
    if (payload.empty() || counters_.loose) return;
    const std::uint64_t mtu = wire::bytes_of(qp.mtu());
    const Read* asked = nullptr;
    std::uint64_t wrong = 0;
    for (const Read& read : reads_) {
        if (psn < read.first || psn >= read.first + wire::packets_of(read.length, qp.mtu()))
            continue;
        if (read.region == nullptr) return;
        const Snapshot* snapshot = read.region->snapshot(read.snapshot);
        if (snapshot == nullptr) return;
        const auto offset = static_cast<std::uint64_t>(psn - read.first) * mtu;
        const auto differing = snapshot->contents.differences(offset, payload);
        if (differing.empty()) return;
        asked = &read;
        wrong = differing.front().offset;
    }
    if (asked == nullptr) return;
    const auto at = wrong - static_cast<std::uint64_t>(psn - asked->first) * mtu;
    const Snapshot* snapshot = asked->region->snapshot(asked->snapshot);
    found.push_back({.rule = "RDR-01",
                     .level = rules::Level::Must,
                     .field = "payload",
                     .allowed = fmt::format("it must be {}, what the memory held",
                                            snapshot->contents.text(wrong)),
                     .measured = fmt::format("byte {} of the READ response's payload is {:02x}", at,
                                             std::to_integer<unsigned>(payload[at])),
                     .packets = {packet.number, asked->packet}});
}

void ResponderView::take_original(const Packet& packet, std::int64_t psn,
                                  std::vector<Deviation>& found) {
    Slot* slot = slot_of(psn);
    if (slot == nullptr || !is_atomic(slot->packet->packet->info().operation)) return;
    const std::uint64_t original = packet.packet->atomic_ack.original;
    if (counters_.loose || !slot->alone) return;
    if (slot->original) {
        if (*slot->original == original) return;
        found.push_back(
            {.rule = "ATM-04",
             .level = rules::Level::Must,
             .field = "original",
             .allowed = fmt::format("it must be 0x{:X}, as first answered", *slot->original),
             .measured = fmt::format("the repeated answer's original is 0x{:X}", original),
             .packets = {packet.number}});
        return;
    }
    slot->original = original;
    if (slot->effects.empty() || !slot->legal) return;
    const Effect& effect = slot->effects.front();
    const auto before = little_endian(original);
    const Snapshot* snapshot = effect.region->snapshot(slot->snapshots.front());
    if (snapshot != nullptr && !snapshot->contents.differences(0, before).empty()) {
        found.push_back({.rule = "ATM-01",
                         .level = rules::Level::Must,
                         .field = "original",
                         .allowed = fmt::format("memory held {}", snapshot->contents.text(0, 8)),
                         .measured = fmt::format("the atomic's original is 0x{:X}", original),
                         .packets = {packet.number, slot->packet->number}});
    }
    const auto after = little_endian(value_after(*slot->packet->packet, original));
    effect.region->refine(effect.write, effect.range, after);
    effect.region->settle(effect.write, effect.range, counters_.serial);
    slot->done = true;
}

Message ResponderView::message_of(const Slot& last) const {
    const wire::Packet& packet = *last.packet->packet;
    Message message{.bytes = last.before.bytes + packet.payload().size(),
                    .operation = packet.info().operation,
                    .packet = last.packet->number};
    if (packet.info().starts_message()) message.bytes = packet.payload().size();
    if (packet.info().immediate()) message.imm = packet.imm.value;
    if (packet.info().invalidates()) message.invalidated = packet.ieth.rkey;
    return message;
}

std::optional<ResponderView::Unreported> ResponderView::unreported(const Qp& qp) const {
    const bool up = qp.state == wire::QpState::Rtr || qp.state == wire::QpState::Rts;
    if (loose_ || ended_ || !up) return std::nullopt;
    for (const Slot& slot : slots_) {
        const bool ends = slot.packet->packet->info().ends_message();
        if (!slot.receive || *slot.receive < received_ || !ends) continue;
        if (!slot.legal || !slot.alone || slot.first + slot.packets > low_) return std::nullopt;
        return Unreported{message_of(slot), covered_at_};
    }
    return std::nullopt;
}

bool ResponderView::nothing_came() const {
    return !loose_ && std::ranges::none_of(slots_, [&](const Slot& one) {
        return one.receive == received_ && one.packet->packet->info().ends_message();
    });
}

std::optional<Message> ResponderView::received(Qp& qp, ReceiveWork& work) {
    const std::uint64_t number = received_++;
    if (loose_) return std::nullopt;
    const bool in_order = qp.srq || (number < qp.receives.size() && &qp.receives[number] == &work);
    if (!in_order) {
        loosen(qp);
        return std::nullopt;
    }
    std::int64_t end = low_;
    std::uint64_t at = 0;
    bool certain = true;
    std::optional<Message> message;
    for (; told_ < slots_.size(); ++told_) {
        Slot& slot = slots_[told_];
        if (slot.receive && *slot.receive > number) break;
        if (slot.receive != number) continue;
        end = slot.first + slot.packets;
        certain = certain && slot.alone && slot.legal;
        if (slot.packet->packet->info().ends_message()) message = message_of(slot);
        if (slot.packet->packet->info().operation != wire::Operation::Send) continue;
        const wire::Bytes payload = slot.packet->packet->payload();
        if (qp.srq && slot.effects.empty()) {
            for (const Place& place : places_of(work.request.sge, at, payload.size(), memory_)) {
                put(slot, *place.region, place.range.offset,
                    payload.subspan(place.from, place.range.length));
            }
        }
        at += payload.size();
        if (slot.done || !slot.alone || !slot.legal) continue;
        slot.done = true;
        for (const Effect& one : slot.effects)
            one.region->settle(one.write, one.range, counters_.serial);
    }
    cover(qp, end);
    show(end);
    return certain ? message : std::nullopt;
}

} // namespace veriroce::model
