#include "conformance/model/requester_view.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace veriroce::model {
namespace {

// The bytes that the response brings for the work request; nothing if it does not answer it.
std::vector<std::byte> bytes_for(const SendWork& work, const wire::Packet& packet) {
    using enum wire::WrOpcode;
    const wire::Operation operation = packet.info().operation;
    std::vector<std::byte> bytes;
    if (work.request.opcode == RdmaRead && operation == wire::Operation::RdmaReadResponse) {
        bytes.resize(packet.payload().size());
        std::ranges::copy(packet.payload(), bytes.begin());
        return bytes;
    }
    const bool atomic =
        work.request.opcode == AtomicCmpAndSwp || work.request.opcode == AtomicFetchAndAdd;
    if (!atomic || operation != wire::Operation::AtomicAcknowledge) return bytes;
    for (std::size_t i = 0; i < kAtomicBytes; ++i)
        bytes.push_back(static_cast<std::byte>(packet.atomic_ack.original >> (8 * i)));
    return bytes;
}

} // namespace

// An answer that a request met on its way may have come to a requester that had it in its queue.
void RequesterView::sent(const Qp& qp, const Packet& packet) {
    constexpr wire::Duration most = std::chrono::milliseconds(1);
    const std::int64_t psn = qp.own_psn(packet.packet->bth.psn, next_sent_);
    next_sent_ = std::max(next_sent_, psn + 1);
    evidence_.answered.sent(qp, packet, psn);
    last_sent_ = packet.at.latest;
    if (evidence_.answered_unseen < next_sent_ && last_sent_ - answered_unseen_at_ <= most)
        evidence_.acknowledged = std::max(evidence_.acknowledged, evidence_.answered_unseen);
}

void RequesterView::note_response(const Qp& qp, const Packet& packet, std::int64_t psn,
                                  bool clear) {
    const wire::Packet& answer = *packet.packet;
    const wire::Operation operation = answer.info().operation;
    const bool plain = operation == wire::Operation::Acknowledge && answer.body.empty();
    const bool data = operation == wire::Operation::RdmaReadResponse ||
                      operation == wire::Operation::AtomicAcknowledge;
    const wire::Syndrome syndrome = answer.aeth.syndrome;
    const bool has_aeth = answer.headers.has(wire::Header::Aeth);
    const bool refuses = has_aeth && syndrome.kind() != wire::AckKind::Ack;
    const bool reserved = syndrome.value >= 0x80 || syndrome.kind() == wire::AckKind::Reserved ||
                          (syndrome.kind() == wire::AckKind::Nak && syndrome.code() > 3);
    ++evidence_.responses;
    evidence_.odd = evidence_.odd || !packet.sound() || !clear || (!plain && !data) ||
                    (has_aeth && reserved) || (data && refuses);
    if (!plain || !refuses) return;
    // Which of them count is no longer known.
    constexpr std::size_t kMostNaks = 1024;
    if (evidence_.naks.size() == kMostNaks) {
        evidence_.odd = true;
        return;
    }
    // N-11: a READ or atomic before it must be answered first.
    const bool behind_open = std::ranges::any_of(qp.sends, [&](const SendWork& one) {
        return one.first < psn && !one.done && one.asks_for_response();
    });
    const bool named = psn > evidence_.acknowledged && psn < next_sent_;
    const auto index = std::ranges::count_if(qp.sends, [&](const SendWork& one) {
        return one.packets > 0 && one.first + one.packets <= psn;
    });
    const bool counted =
        answer.aeth.msn.value == (static_cast<std::uint64_t>(index) & wire::kMask24);
    evidence_.naks.push_back({.psn = psn,
                              .syndrome = syndrome,
                              .clear = named && counted && !behind_open,
                              .at = packet.at.latest,
                              .quiet = packet.at.latest - last_sent_,
                              .number = evidence_.responses,
                              .packet = packet.number});
}

void RequesterView::response(Qp& qp, const Packet& packet, bool clear,
                             std::optional<wire::Duration> timer) {
    if (qp.sends.empty()) return;
    const std::int64_t end = qp.sends.back().first + qp.sends.back().packets;
    const std::int64_t psn = qp.own_psn(packet.packet->bth.psn, end);
    note_response(qp, packet, psn, clear);
    if (clear) evidence_.answered.take(qp, packet, psn, timer);
    // REQ-18: what names a request that was not sent acknowledges nothing.
    const auto behind = std::ranges::upper_bound(qp.sends, psn, {}, &SendWork::first);
    const bool was_sent = behind != qp.sends.begin() && std::prev(behind)->first < next_sent_;
    const bool none_seen = next_sent_ == 0;
    if (none_seen || (was_sent && psn < end)) {
        evidence_.acknowledged = std::max(evidence_.acknowledged, psn);
    } else if (psn < end && psn >= evidence_.answered_unseen) {
        evidence_.answered_unseen = psn;
        answered_unseen_at_ = packet.at.latest;
    }
    // REQ-07: nor does what comes behind all that was posted. The MSN of others counts, since a
    // request may have been sent that was lost on its way here.
    if (psn < end && packet.packet->headers.has(wire::Header::Aeth)) {
        evidence_.msn = std::max(evidence_.msn, packet.packet->aeth.msn.value);
    }
    const auto open = qp.sends.begin() + static_cast<std::ptrdiff_t>(qp.sends_done);
    const auto found = std::find_if(open, qp.sends.end(), [&](const SendWork& one) {
        return one.first <= psn && psn < one.first + one.packets;
    });
    if (found == qp.sends.end() || found->done) return;
    if (packet.packet->info().operation == wire::Operation::RdmaReadResponse)
        read_responses_.insert(psn);
    std::vector<std::byte> data = bytes_for(*found, *packet.packet);
    if (data.empty()) return;
    const auto offset = static_cast<std::uint64_t>(psn - found->first) * wire::bytes_of(qp.mtu());
    Arrived fresh{.data = std::move(data),
                  .write = {++counters_.write, origin_, counters_.serial},
                  .places = {}};
    fresh.places = places_of(found->request.sge, offset, fresh.data.size(), memory_);
    auto [at, added] = arrived_.try_emplace(psn, fresh);
    if (!added && at->second.data != fresh.data) at->second.alone = false;
    if (fresh.data.size() == bytes_expected(*found, psn, qp.mtu())) at->second.sized = true;
    const Arrived& now = added || at->second.data == fresh.data ? at->second : fresh;
    for (const Place& place : now.places) {
        place.region->may_hold(now.write, place.range.offset,
                               wire::Bytes(now.data).subspan(place.from, place.range.length),
                               counters_.now);
        place.region->touched.push_back({place.range, "REQ-34", packet.number});
    }
}

bool RequesterView::response_arrived(const SendWork& work) const {
    if (!work.asks_for_response()) return true;
    const bool empty_read = work.request.opcode == wire::WrOpcode::RdmaRead && work.bytes == 0;
    if (empty_read || !work.asks_for_data()) return read_responses_.contains(work.first);
    const auto first = arrived_.lower_bound(work.first);
    const auto last = arrived_.lower_bound(work.first + work.packets);
    return std::distance(first, last) == work.packets &&
           std::all_of(first, last, [](const auto& one) { return one.second.sized; });
}

void RequesterView::completed(const SendWork& work) {
    const auto first = arrived_.lower_bound(work.first);
    const auto last = arrived_.lower_bound(work.first + work.packets);
    for (auto at = first; at != last; ++at) {
        const Arrived& arrived = at->second;
        if (!arrived.alone || !arrived.sized) continue;
        for (const Place& place : arrived.places) {
            place.region->settle(arrived.write, place.range, counters_.serial);
            place.region->show(arrived.write, place.range, counters_.serial);
        }
    }
    arrived_.erase(first, last);
    read_responses_.erase(read_responses_.lower_bound(work.first),
                          read_responses_.lower_bound(work.first + work.packets));
}

} // namespace veriroce::model
