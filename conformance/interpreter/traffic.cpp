// Packets in and out: the record of the case, fault rules, and our engine where it answers.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

std::uint64_t room_of(const Entry& entry) {
    return sizeof entry + entry.bytes.size();
}

} // namespace

Entry& Interpreter::record(Side from, std::vector<std::byte> bytes, Interval at) {
    Entry& entry = history_.emplace_back(Entry{.from = from, .bytes = std::move(bytes), .at = at});
    recorded_bytes_ += room_of(entry);
    auto frame = wire::decode_frame(entry.bytes);
    if (!frame) return entry;
    wire::map_transport(*frame);
    entry.frame = *frame;
    if (const auto packet = wire::decode_packet(entry.frame.transport)) entry.packet = *packet;
    return entry;
}

// The QP that a packet belongs to: the tester's QPN in what the DUT sends, and the DUT's in what
// we send.
const Peer* Interpreter::peer_with(Side from, wire::Qpn destination) const {
    for (const auto& [name, peer] : peers_) {
        const QpIdentity& identity = peer.book.identity();
        if (destination == (from == Side::Dut ? identity.tester_qpn : identity.dut_qpn)) {
            return &peer;
        }
    }
    return nullptr;
}

Peer* Interpreter::peer_with(Side from, wire::Qpn destination) {
    return const_cast<Peer*>(std::as_const(*this).peer_with(from, destination));
}

// What the fault rules make of a packet: nothing if it goes on as it is.
std::optional<std::vector<fault::Emission>> Interpreter::fault(Side from, const Peer& peer,
                                                               Entry& entry) {
    const auto decision =
        faults_.handle({.from = from == Side::Dut ? fault::kDutSide : fault::kTesterSide,
                        .qp = peer.book.identity().name,
                        .qpn = entry.packet->bth.dest_qp.value,
                        .psn = entry.psn,
                        .now = events_.now(),
                        .frame = entry.bytes});
    for (const std::size_t rule : decision.rules) {
        entry.remarks.push_back(fmt::format("injected: {}", faults_.rules()[rule].text));
    }
    if (decision.untouched) return std::nullopt;
    return std::move(decision.emissions);
}

// --- from the DUT -----------------------------------------------------------------------------

void Interpreter::hear(wire::Bytes bytes, Interval at) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame || frame->envelope().source != environment_.dut_address) return;
    if (recorded_bytes_ >= environment_.most_recorded_bytes) {
        ++unrecorded_;
        return;
    }
    Entry& entry = record(Side::Dut, {bytes.begin(), bytes.end()}, at);
    if (!entry.packet) {
        entry.remarks.emplace_back("too short for its headers");
        keep_few();
        return;
    }
    Peer* peer = peer_with(Side::Dut, entry.packet->bth.dest_qp);
    if (peer == nullptr) {
        // One of our QPNs of an earlier case: a late packet. Management goes to QP 1. All else
        // is a packet to a QP that nobody has.
        const std::uint32_t qpn = entry.packet->bth.dest_qp.value;
        const bool late =
            qpn >= lowest_tester_qpn.value && qpn < environment_.first_tester_qpn.value;
        const bool datagram = entry.packet->info().service == wire::Service::Ud;
        if (!late && !datagram && !stranger_)
            stranger_ = history_.size() - 1;
        else
            keep_few();
        return;
    }
    entry.psn = peer->book.relative_psn(Side::Dut, *entry.packet);
    auto emissions = fault(Side::Dut, *peer, entry);
    if (!emissions) {
        take_in(*peer, history_.size() - 1);
        return;
    }
    delay(std::move(*emissions));
}

// Of packets that belong to no QP of the case, the first show what there is to see.
void Interpreter::keep_few() {
    if (foreign_ < packets_that_show) {
        last_foreign_ = history_.size() - 1;
    } else {
        recorded_bytes_ -= room_of(history_.back());
        history_.pop_back();
    }
    ++foreign_;
}

// A packet of the DUT that reached us: lines may claim it, and our engine answers it.
void Interpreter::take_in(Peer& peer, std::size_t index) {
    Entry& entry = history_[index];
    const auto unsealed = wire::unseal(entry.frame);
    if (unsealed) {
        peer.book.note(Side::Dut, *entry.packet, entry.at);
    } else {
        entry.remarks.emplace_back(wire::text_of(unsealed.error()));
    }
    peer.entries.push_back(index);
    peer.heard.push_back(index);
    if (peer.answering && unsealed) {
        engine_->handle(*unsealed, events_.now());
        pump_engine();
    }
}

// --- from the tester --------------------------------------------------------------------------

void Interpreter::transmit(Peer* peer, std::vector<std::byte> frame) {
    const Interval now{events_.now(), events_.now()};
    Entry& entry = record(Side::Tester, std::move(frame), now);
    if (!entry.packet || peer == nullptr) {
        entry.number = events_.send(entry.bytes);
        return;
    }
    entry.psn = peer->book.relative_psn(Side::Tester, *entry.packet);
    peer->book.note(Side::Tester, *entry.packet, now);
    peer->entries.push_back(history_.size() - 1);
    auto emissions = fault(Side::Tester, *peer, entry);
    if (!emissions) {
        entry.number = events_.send(entry.bytes);
        return;
    }
    entry.on_wire = false;
    delay(std::move(*emissions));
}

// Notes frames that leave later.
void Interpreter::put_off(std::vector<fault::Emission> emissions) {
    for (fault::Emission& emission : emissions) {
        const Side from = emission.from == fault::kDutSide ? Side::Dut : Side::Tester;
        delayed_.emplace(events_.now() + emission.delay, Delayed{from, std::move(emission.frame)});
    }
}

void Interpreter::delay(std::vector<fault::Emission> emissions) {
    put_off(std::move(emissions));
    release_delayed();
}

// What fault rules held back until now.
void Interpreter::release_delayed() {
    put_off(faults_.release(events_.now()));
    while (!delayed_.empty() && delayed_.begin()->first <= events_.now()) {
        Delayed due = std::move(delayed_.extract(delayed_.begin()).mapped());
        Entry& entry = record(due.from, std::move(due.frame), {events_.now(), events_.now()});
        entry.remarks.emplace_back("as the fault rules left it");
        if (due.from == Side::Tester) {
            entry.number = events_.send(entry.bytes);
            continue;
        }
        entry.on_wire = false;
        Peer* peer = entry.packet ? peer_with(Side::Dut, entry.packet->bth.dest_qp) : nullptr;
        if (peer == nullptr) continue;
        entry.psn = peer->book.relative_psn(Side::Dut, *entry.packet);
        take_in(*peer, history_.size() - 1);
    }
}

// A fault rule that did not act as it should have makes the case an ERROR, whatever else came of
// it: it tested something else. But where a line was not met, what had begun was cut short there,
// most likely by a DUT that did not send again: that is the finding.
void Interpreter::close_faults(Met<>& outcome) {
    bool cut_short = !outcome;
    for (std::size_t i = 0; i < faults_.rules().size(); ++i) {
        const std::uint64_t fired = faults_.fired(i).fired;
        const auto& fires = faults_.rules()[i].selector.fires;
        result_.faults.push_back({faults_.rules()[i].text, fired});
        const bool never = fired == 0 && !faults_.rules()[i].selector.probability;
        cut_short = cut_short && !never && (!fires || fired <= *fires);
    }
    const std::vector<std::string> unmet = faults_.unmet();
    const bool settled = !outcome && (outcome.error().verdict == Verdict::Skip ||
                                      outcome.error().verdict == Verdict::Error);
    if (!unmet.empty() && !cut_short && !settled) become_error(outcome, {}, unmet.front());
}

// A DUT that does not stop: what came of a case whose packets nobody has seen is no verdict.
void Interpreter::hold_to_record(Met<>& outcome) const {
    if (unrecorded_ == 0) return;
    become_error(outcome, {},
                 fmt::format("the DUT sent {} packets beyond the {} of this case that fill its "
                             "record of {} KiB",
                             unrecorded_, history_.size(), environment_.most_recorded_bytes >> 10));
}

// Not for the DUT's sake. A line that was not met is still told, after this.
void Interpreter::become_error(Met<>& outcome, script::SourceSpan span,
                               std::string_view reason) const {
    Unmet becomes = error(span, std::string(reason));
    if (!outcome) {
        becomes.before = outcome.error().before;
        becomes.before.insert(becomes.before.begin(), finding_of(outcome.error()));
    }
    outcome = std::unexpected(std::move(becomes));
}

// A packet of ours that left late: what the DUT made of it says nothing about the DUT, and a case
// about time has not held it to its time. A tenth of the time that was wanted is lateness enough.
void Interpreter::hold_to_own_times(Met<>& outcome) const {
    const bool failed = !outcome && (outcome.error().verdict == Verdict::Fail ||
                                     outcome.error().verdict == Verdict::Warn);
    if (!failed && !(outcome && script_.tagged("timing"))) return;
    for (const Timed& one : timed_) {
        if (one.packet >= history_.size()) continue; // it never left
        const wire::Duration waited =
            history_[one.packet].at.latest - history_[one.behind].at.latest;
        if (waited <= one.after + one.after / 10) continue;
        become_error(outcome, one.span,
                     fmt::format("too late to judge: our packet of line {} left {} after the one "
                                 "before it, not {}",
                                 one.span.line, duration_text(waited), duration_text(one.after)));
        return;
    }
}

// --- our engine -------------------------------------------------------------------------------

// What our engine wants to say, as frames.
void Interpreter::pump_engine() {
    while (const auto transmit = engine_->poll_transmit(events_.now())) {
        std::vector<std::byte> payload(transmit->payload.size() + transmit->pad);
        std::ranges::copy(transmit->payload, payload.begin());
        std::vector<std::byte> frame(wire::kMaxFrameOverhead + transmit->headers.size() +
                                     payload.size());
        if (++ip_id_ == 0) ip_id_ = 1;
        frame.resize(wire::write_frame({environment_.tester.mac, environment_.dut_mac},
                                       transmit->envelope, ip_id_, transmit->headers, payload,
                                       frame));
        const auto peer = std::ranges::find_if(
            peers_, [&](const auto& one) { return one.second.engine_qp == transmit->qp; });
        this->transmit(peer == peers_.end() ? nullptr : &peer->second, std::move(frame));
    }
}

void Interpreter::sent(std::uint64_t number, Interval at) {
    const auto entry = std::ranges::find(history_, number, &Entry::number);
    if (entry != history_.end()) entry->at = at;
}

std::string Interpreter::notation(const Peer* peer, const Entry& entry) const {
    const char direction = entry.from == Side::Tester ? '>' : '<';
    if (!entry.packet) return fmt::format("{} {} bytes", direction, entry.bytes.size());
    const std::string name = peer == nullptr ? "" : peer->book.identity().name;
    return fmt::format("{}{}{} {}", name, name.empty() ? "" : " ", direction,
                       packet_text(*entry.packet, entry.psn));
}

} // namespace veriroce::interpreter
