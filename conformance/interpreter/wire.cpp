#include "conformance/interpreter/wire.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::interpreter {
namespace {

// REQ-32: whether the packet asks for a piece, of any length, of this earlier READ.
bool is_piece_of(const Entry& read, const Entry& entry, wire::Mtu mtu) {
    if (entry.packet->info().operation != wire::Operation::RdmaReadRequest) return false;
    const std::int64_t ahead = entry.psn - read.psn;
    const wire::Reth& whole = read.packet->reth;
    const wire::Reth& piece = entry.packet->reth;
    const std::uint64_t offset = static_cast<std::uint64_t>(ahead) * wire::bytes_of(mtu);
    return ahead >= 0 && piece.rkey == whole.rkey && offset < whole.dma_length &&
           piece.virtual_address == whole.virtual_address + offset &&
           piece.dma_length <= whole.dma_length - offset;
}

// When the DUT last sent a packet with the same opcode and PSN, or a READ of which this asks for a
// piece.
std::optional<Interval> sent_before(const Record& record, const CaseQp& qp, const Entry& entry) {
    for (auto one = qp.heard.rbegin(); one != qp.heard.rend(); ++one) {
        const Entry& earlier = record[*one];
        if (!earlier.packet || earlier.packet->bth.opcode != entry.packet->bth.opcode) continue;
        if (earlier.psn != entry.psn && !is_piece_of(earlier, entry, qp.book.identity().mtu))
            continue;
        if (earlier.at.earliest < entry.at.earliest) return earlier.at;
    }
    return std::nullopt;
}

// REQ-32: whether the DUT asks for a READ again in pieces, and this piece comes after the one that
// it asked for just before.
bool continues_pieces(const Record& record, const CaseQp& qp, const Entry& entry) {
    const wire::Mtu mtu = qp.book.identity().mtu;
    const Entry* before = nullptr;
    for (auto one = qp.heard.rbegin(); one != qp.heard.rend(); ++one) {
        const Entry& earlier = record[*one];
        if (!earlier.packet || earlier.packet->bth.opcode != entry.packet->bth.opcode) continue;
        if (before == nullptr) {
            if (!earlier.sent_before || !earlier.packet->info().request()) return false;
            const std::int64_t next =
                earlier.psn + wire::packets_of(earlier.packet->reth.dma_length, mtu);
            if (next != entry.psn) return false;
            before = &earlier;
        } else if (is_piece_of(earlier, entry, mtu) && is_piece_of(earlier, *before, mtu)) {
            return true;
        }
    }
    return false;
}

// Whether this packet of ours answers that request of the DUT: wholly, or by ending it.
bool answers(const Entry& ours, const Entry& request, std::int64_t last_request) {
    if (ours.from != Side::Tester || !ours.packet || ours.lost()) return false;
    const wire::OpcodeInfo& info = ours.packet->info();
    if (!info.response()) return false;
    if (info.operation != wire::Operation::Acknowledge) {
        return ours.psn >= request.psn && info.ends_message();
    }
    const wire::Operation asked = request.packet->info().operation;
    const bool by_ack = asked == wire::Operation::Send || asked == wire::Operation::RdmaWrite;
    switch (ours.packet->aeth.syndrome.kind()) {
    case wire::AckKind::Ack: return by_ack && ours.psn >= request.psn;
    case wire::AckKind::Nak:
        if (ours.packet->aeth.syndrome.nak_code() != wire::NakCode::PsnSequence)
            return ours.psn >= 0 && ours.psn <= last_request; // REQ-18
        return by_ack && ours.psn > request.psn;
    case wire::AckKind::RnrNak:
        // RNR-13: it waits, and sends nothing meanwhile.
        return ours.psn <= request.psn || by_ack;
    case wire::AckKind::Reserved: return false;
    }
    return false;
}

// Whether the device sent the same request in this packet.
bool is_copy(const Entry& entry, const Entry& request) {
    return &entry != &request && entry.from == Side::Dut && entry.packet &&
           entry.packet->bth.opcode == request.packet->bth.opcode && entry.psn == request.psn;
}

// When the tester first answered the request. Of a device that sends it again and again, what came
// before its last sending is looked at once. An answer outside `vlan` does not count (N-05).
std::optional<Entry::Answered> answered(const Record& record, const CaseQp& qp,
                                        const Entry& request, std::uint16_t vlan) {
    std::optional<Entry::Answered> first;
    for (auto one = qp.entries.rbegin(); one != qp.entries.rend(); ++one) {
        const Entry& entry = record[*one];
        if (is_copy(entry, request) && entry.sent_before && !entry.lost()) {
            const bool settled = entry.answered && entry.answered->for_good;
            return settled ? entry.answered : first;
        }
        if (vlan_id_of(entry.frame.vlan) == vlan &&
            answers(entry, request, qp.book.last_dut_request())) {
            const bool waits = entry.packet->headers.has(wire::Header::Aeth) &&
                               entry.packet->aeth.syndrome.kind() == wire::AckKind::RnrNak;
            first = {.at = entry.at, .for_good = !waits};
        }
    }
    return first;
}

// Whether the tester has sent nothing since the device sent the request last. Of a device with
// `early` resends it may have sent something at the moment when it heard the request.
bool is_unprovoked(const Record& record, const CaseQp& qp, const Entry& request, bool early) {
    for (auto one = qp.entries.rbegin(); one != qp.entries.rend(); ++one) {
        const Entry& entry = record[*one];
        const bool since = early && entry.at.earliest >= request.at.latest;
        if (entry.from == Side::Tester && !since) return false;
        if (is_copy(entry, request)) return true;
    }
    return false;
}

// Of a packet of the DUT.
void take_note(CaseQp& qp, const Entry& entry) {
    qp.book.note(Side::Dut, *entry.packet, entry.at);
    const bool acknowledge = entry.packet->info().operation == wire::Operation::Acknowledge;
    const wire::Syndrome syndrome = entry.packet->aeth.syndrome;
    if (acknowledge && syndrome.kind() == wire::AckKind::RnrNak) qp.rnr_timer = syndrome.code();
}

} // namespace

Entry parsed(Side from, std::vector<std::byte> bytes, Interval at) {
    Entry entry{.from = from, .bytes = std::move(bytes), .at = at};
    const auto whole = wire::parse_frame(entry.bytes);
    if (!whole) {
        entry.refusal = whole.error();
        return entry;
    }
    entry.frame = whole->frame;
    entry.packet = whole->packet;
    entry.refusal = whole->refusal;
    // ENC-06: a receiver may pass over a wrong UDP checksum, but not over a wrong ICRC (CRC-07).
    const bool wrong_icrc =
        entry.refusal == wire::FrameError::BadUdpChecksum &&
        entry.frame.icrc != wire::icrc_of(wire::IcrcKind::Good, entry.frame.covered());
    if (wrong_icrc) entry.refusal = wire::FrameError::BadIcrc;
    return entry;
}

Wire::Wire(const Environment& environment, Events& events, Record& record, Objects& objects,
           TesterPeer& tester)
    : environment_(environment), events_(events), record_(record), objects_(objects),
      tester_(tester), faults_(environment.seed, environment.settle) {
    for (const fault::Rule& rule : environment.plan.rules)
        faults_.add(rule);
}

// What the fault rules decide about a packet; nothing if it passes unchanged.
std::optional<std::vector<fault::Emission>> Wire::fault(const CaseQp& qp, Entry& entry) {
    const auto decision =
        faults_.handle({.from = entry.from == Side::Dut ? fault::kDutEnd : fault::kTesterEnd,
                        .qp = qp.book.identity().name,
                        .qpn = entry.packet->bth.dest_qp.value,
                        .psn = entry.psn,
                        .now = events_.now(),
                        .frame = entry.bytes});
    for (const std::size_t rule : decision.rules)
        entry.remarks.push_back(fmt::format("injected: {}", faults_.rules()[rule].text));
    if (decision.untouched) return std::nullopt;
    return std::move(decision.emissions);
}

// --- from the DUT -----------------------------------------------------------------------------

void Wire::hear(wire::Bytes bytes, Interval at) {
    Entry heard = parsed(Side::Dut, {bytes.begin(), bytes.end()}, at);
    // On a real link no frame to another port comes this far.
    if (heard.refusal == wire::FrameError::NotRoce) record_.to_another_port = true;
    const bool of_dut = (heard.frame.ipv4 || heard.frame.ipv6) &&
                        heard.frame.envelope().source == environment_.dut_address;
    if (!of_dut) return;
    if (record_.full()) return record_.count_unrecorded();
    const std::size_t index = record_.add(std::move(heard));
    Entry& entry = record_[index];
    if (!entry.packet) {
        entry.remarks.emplace_back("too short for its headers");
        if (record_.keep_few()) record_.astray = index;
        return;
    }
    CaseQp* qp = objects_.qp_of_packet(Side::Dut, entry.packet->bth.dest_qp);
    if (qp == nullptr) return hear_astray(index);
    entry.psn = qp->book.relative_psn(Side::Dut, *entry.packet);
    auto emissions = fault(*qp, entry);
    if (!emissions) return arrive(*qp, index);
    put_off(std::move(*emissions));
    release();
}

// A packet to a QPN that no QP of the case has. If an earlier case or life had the QPN, the packet
// is only late; management goes to QP 1. If the ICRC is wrong, the QPN may be wrong too.
void Wire::hear_astray(std::size_t index) {
    Entry& entry = record_[index];
    const std::uint32_t qpn = entry.packet->bth.dest_qp.value;
    const bool retired = std::ranges::any_of(
        objects_.past, [&](const PastQp& one) { return one.identity.tester_qpn.value == qpn; });
    const bool late =
        retired || (qpn >= kLowestTesterQpn.value && qpn < environment_.first_tester_qpn.value);
    const bool wrapped = is_wrapped_twice(entry);
    const bool datagram = entry.packet->info().service == wire::Service::Ud && !wrapped;
    const bool reliable = entry.packet->info().service == wire::Service::Rc;
    const bool stranger = !late && (wrapped || (reliable && !entry.lost()));
    if (stranger && !record_.stranger) {
        record_.stranger = record_.astray = index;
        return;
    }
    if (record_.keep_few() && !late && !datagram) record_.astray = index;
}

// A packet of the DUT has reached us: lines may claim it, and the tester's engine answers it.
void Wire::arrive(CaseQp& qp, std::size_t index) {
    Entry& entry = record_[index];
    entry.sent_before = sent_before(record_, qp, entry);
    if (entry.sent_before) {
        entry.answered = answered(record_, qp, entry, vlan_id_of(environment_.vlan));
        entry.unprovoked = is_unprovoked(record_, qp, entry, environment_.early_ack_timer());
    }
    if (entry.packet->info().operation == wire::Operation::RdmaReadRequest)
        entry.continues_pieces = continues_pieces(record_, qp, entry);
    if (entry.lost())
        entry.remarks.emplace_back("wrong ICRC: the tester drops it");
    else if (entry.refusal)
        entry.remarks.emplace_back(wire::text_of(*entry.refusal));
    else
        take_note(qp, entry);
    if (qp.gsi && !entry.refusal) objects_.cm.note(Side::Dut, *entry.packet);
    qp.entries.push_back(index);
    qp.heard.push_back(index);
    if (!qp.answering || entry.refusal) return;
    tester_.engine().handle(entry.datagram(), events_.now());
    transmit_of_engine();
}

// --- from the tester --------------------------------------------------------------------------

std::size_t Wire::transmit(CaseQp* qp, std::vector<std::byte> frame) {
    const Interval now{events_.now(), events_.now()};
    const std::size_t index = record_.add(parsed(Side::Tester, std::move(frame), now));
    Entry& entry = record_[index];
    if (!entry.packet || qp == nullptr) {
        entry.number = events_.send(entry.bytes);
        return index;
    }
    entry.psn = qp->book.relative_psn(Side::Tester, *entry.packet);
    qp->book.note(Side::Tester, *entry.packet, now);
    if (qp->gsi) objects_.cm.note(Side::Tester, *entry.packet);
    qp->entries.push_back(index);
    auto emissions = fault(*qp, entry);
    if (!emissions) {
        entry.number = events_.send(entry.bytes);
        return index;
    }
    entry.on_wire = false;
    put_off(std::move(*emissions));
    release();
    return index;
}

void Wire::transmit_of_engine() {
    while (const auto* transmit = tester_.engine().poll_transmit(events_.now())) {
        std::vector<std::byte> payload(transmit->payload.size() + transmit->pad);
        std::ranges::copy(transmit->payload, payload.begin());
        std::vector<std::byte> frame(wire::kMaxFrameOverhead + transmit->headers.size() +
                                     payload.size());
        frame.resize(wire::write_frame({environment_.tester.mac, environment_.dut_mac},
                                       transmit->envelope, next_ip_id(), transmit->headers, payload,
                                       frame));
        CaseQp* qp = objects_.qp_of_engine(transmit->qp);
        this->transmit(qp, std::move(frame));
    }
}

std::uint16_t Wire::next_ip_id() {
    if (++ip_id_ == 0) ip_id_ = 1;
    return ip_id_;
}

// --- delayed by fault rules -------------------------------------------------------------------

void Wire::put_off(std::vector<fault::Emission> emissions) {
    for (fault::Emission& emission : emissions) {
        const Side from = emission.from == fault::kDutEnd ? Side::Dut : Side::Tester;
        delayed_.emplace(events_.now() + emission.delay, Delayed{from, std::move(emission.frame)});
    }
}

std::optional<wire::Instant> Wire::next_release() const {
    std::optional<wire::Instant> earliest = faults_.next_release();
    if (!delayed_.empty() && (!earliest || delayed_.begin()->first < *earliest)) {
        earliest = delayed_.begin()->first;
    }
    return earliest;
}

void Wire::release() {
    put_off(faults_.release(events_.now()));
    while (!delayed_.empty() && delayed_.begin()->first <= events_.now()) {
        Delayed due = std::move(delayed_.extract(delayed_.begin()).mapped());
        const Interval now{events_.now(), events_.now()};
        const std::size_t index = record_.add(parsed(due.from, std::move(due.frame), now));
        Entry& entry = record_[index];
        entry.remarks.emplace_back("changed by the fault rules");
        CaseQp* qp =
            entry.packet ? objects_.qp_of_packet(due.from, entry.packet->bth.dest_qp) : nullptr;
        if (qp != nullptr) entry.psn = qp->book.relative_psn(due.from, *entry.packet);
        if (due.from == Side::Tester) {
            entry.number = events_.send(entry.bytes);
            continue;
        }
        entry.on_wire = false;
        if (qp != nullptr) arrive(*qp, index);
    }
}

std::vector<FaultCount> Wire::fault_counts() const {
    std::vector<FaultCount> counts;
    for (std::size_t i = 0; i < faults_.rules().size(); ++i)
        counts.push_back({faults_.rules()[i].text, faults_.fired(i).fired});
    return counts;
}

std::optional<std::string> Wire::idle_rule(bool cut_short) const {
    for (std::size_t i = 0; i < faults_.rules().size(); ++i) {
        const std::uint64_t fired = faults_.fired(i).fired;
        const auto& selector = faults_.rules()[i].selector;
        const bool never = fired == 0 && !selector.probability;
        cut_short = cut_short && !never && (!selector.fires || fired <= *selector.fires);
    }
    const std::vector<std::string> unmet = faults_.unmet();
    if (unmet.empty() || cut_short) return std::nullopt;
    return unmet.front();
}

} // namespace veriroce::interpreter
