// Lawful oddities, written without a look at the cases: none of them declares a trait.
#include <algorithm>
#include <bit>
#include <deque>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_lawful_blind5_plain {
namespace {

using engine::Behaviour;
using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
namespace request_check = engine::request_check;
namespace response_check = engine::response_check;
namespace send_check = engine::send_check;

bool is_atomic(const RequestView& view) {
    return view.packet.headers.has(wire::Header::AtomicEth);
}

// --- READs and atomics at the responder

// RDR-09: "T-ERR: more received and not ACKed than allowed -> NAK 0x61 ... code INFO"; RNR-03: "RNR
// = WQE or other resource not ready. PEN RNR-NAKs an ATOMIC when out of atomic resources".
RequestVerdict excess_atomic_waits(const RequestView& view) {
    const RequestVerdict verdict = request_check::reply_resources(view);
    const bool excess =
        verdict != RequestVerdict::Accept && view.connection.max_dest_rd_atomic != 0;
    return excess && is_atomic(view) ? RequestVerdict::Rnr : verdict;
}

// RNR-03: "PEN RNR-NAKs an ATOMIC when out of atomic resources (DOL resp_rx_atomic_rnr) ... an
// occasional RNR is INFO and the tester must obey it; permanent RNR = fail": its next try is taken.
RequestVerdict atomic_unit_busy(const RequestView& view) {
    const RequestVerdict verdict = request_check::reply_resources(view);
    const bool second_try = view.inbound.nak == engine::NakState::Rnr;
    if (verdict != RequestVerdict::Accept || !is_atomic(view) || second_try) return verdict;
    return view.packet.bth.psn.value() % 8 == 3 ? RequestVerdict::Rnr : verdict;
}

// ATM-05: "non-matching duplicate = class D, silent; saved answer also seen"; "qib requires same
// opcode"; never carried out. ATM-06: "a deeper cache is legal".
bool same_place(const RequestView& view) {
    if (engine::duplicate_check::same_atomic(view)) return true;
    if (view.saved == nullptr || !is_atomic(view)) return false;
    const wire::AtomicEth& asked = view.packet.atomic;
    return view.saved->opcode == view.packet.bth.opcode && view.saved->psn == view.packet.bth.psn &&
           view.saved->rkey == asked.rkey && view.saved->address == asked.virtual_address;
}

// RDR-06: "MUST -> INFO (accept both). qib/hfi1 start FIRST/ONLY; rxe and shipped hardware (PEN)
// continue with MIDDLE/LAST." Here the PSN where the tail begins tells which.
struct ReadsAnswered {
    NewestPsn newest;                // of all READ responses
    std::deque<std::uint32_t> began; // PSNs where new answers began, the newest of them
};

class ResumesByPsn final : public QpFilter<ReadsAnswered> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        auto& [newest, began] = qp.memory;
        const std::uint32_t psn = packet.bth.psn.value();
        const bool again = newest.note(packet.bth.psn);
        if (!packet.info().starts_message()) return;
        if (!again) {
            began.push_back(psn);
            if (began.size() > kept) began.pop_front();
            return;
        }
        if (psn % 2 == 0 || std::ranges::find(began, psn) != began.end()) return;
        const bool only = packet.info().position == Position::Only;
        set_place(packet, only ? Position::Last : Position::Middle);
    }

  private:
    static constexpr std::size_t kept = 64; // more than the engine remembers
};

// --- faults at the responder

// BTH-06: "silent drop legal; no other effect". A decoder that knows only what a message may go on
// with NAKs inside one, because there anything else breaks the sequence (OPC-01, OPC-02).
RequestVerdict known_within_message(const RequestView& view) {
    const RequestVerdict verdict = request_check::known_opcode(view);
    if (verdict == RequestVerdict::Accept) return verdict;
    return view.inbound.open == engine::OpenMessage::None ? RequestVerdict::Drop
                                                          : RequestVerdict::NakInvalidRequest;
}

// BTH-12: "PadCnt > payload: NAK 0x61 is a lawful answer (QIB), silent also".
RequestVerdict excess_pad_of_send_is_silent(const RequestView& view) {
    const bool silent = view.packet.pad_exceeds_body() && view.info.operation == Operation::Send;
    return silent ? RequestVerdict::Drop : request_check::pad_count(view);
}

// KEY-10: "Add pairs: alignment vs rkey, RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all
// either way." A key is at hand early when the message's number is even.
RequestVerdict keys(const RequestView& view) {
    constexpr std::array list{request_check::key_known, request_check::key_variant,
                              request_check::key_domain, request_check::key_rights,
                              request_check::key_range};
    for (const auto check : list) {
        const RequestVerdict verdict = check(view);
        if (verdict != RequestVerdict::Accept) return verdict;
    }
    return RequestVerdict::Accept;
}

RequestVerdict key_unless(RequestVerdict later, const RequestView& view) {
    const bool early = view.inbound.msn.value % 2 == 0;
    if (later == RequestVerdict::Accept || !early) return later;
    const RequestVerdict key = keys(view);
    return key == RequestVerdict::Accept ? later : key;
}

RequestVerdict key_before_receive(const RequestView& view) {
    return key_unless(request_check::receive_ready(view), view);
}
RequestVerdict key_before_alignment(const RequestView& view) {
    return key_unless(request_check::atomic_alignment(view), view);
}

// KEY-05: "For multi-packet WRITE the NAK may come at FIRST or at the first packet out of range
// (KEY-06)"; KEY-14: "Contents of the target buffer of a failed SEND/WRITE are undefined (earlier
// packets, or part of the NAKed one, may be there)".
RequestVerdict long_write_piecewise(const RequestView& view) {
    constexpr std::uint64_t translated_at_once = 4; // packets
    const bool first = view.info.operation == Operation::RdmaWrite && view.info.starts_message();
    const std::uint64_t mtu = wire::bytes_of(view.connection.mtu);
    if (!first || !view.target || view.target->length <= translated_at_once * mtu) {
        return request_check::key_range(view);
    }
    const bool covered = view.memory.slot(view.target->rkey.value)
                             .covers(view.target->address, view.packet.payload().size());
    return covered ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

// LEN-04: "NAK may come anywhere from the packet that first proves the excess up to LAST/ONLY";
// LEN-05: "{0x61, 0x62} both legal unless the R_Key really covers > 2^31 bytes".
RequestVerdict excess_by_length(const RequestView& view) {
    const RequestVerdict verdict = request_check::message_length(view);
    if (verdict == RequestVerdict::NakInvalidRequest &&
        view.info.operation == Operation::RdmaReadRequest) {
        return RequestVerdict::NakRemoteAccess;
    }
    const bool inside = view.info.operation == Operation::RdmaWrite && !view.info.ends_message();
    if (verdict != RequestVerdict::Accept || !inside) return verdict;
    const bool begins = view.info.starts_message();
    const std::uint64_t announced = begins ? view.packet.reth.dma_length : view.inbound.announced;
    const std::uint64_t so_far =
        (begins ? 0 : view.inbound.received) + view.packet.payload().size();
    const bool counted = announced <= std::uint64_t{2} * wire::bytes_of(view.connection.mtu);
    return counted && so_far >= announced ? RequestVerdict::NakInvalidRequest : verdict;
}

// KEY-11: "Accept silent / NAK / (rxe) ACK on the wire; MUST only QP ERR + error CQE."
RequestVerdict invalidation_refused_aloud(const RequestView& view) {
    const RequestVerdict verdict = request_check::invalidate_key(view);
    const bool aloud =
        verdict == RequestVerdict::FailSilently && view.info.position == Position::Last;
    return aloud ? RequestVerdict::NakRemoteAccess : verdict;
}

// OPC-09: "atomics absent: NAK 0x61 MUST". The device says that it has none.
RequestVerdict no_atomics(const RequestView& view) {
    return is_atomic(view) ? RequestVerdict::NakInvalidRequest : request_check::known_opcode(view);
}

// --- duplicates and RNR at the responder

// RSP-11: "duplicate without AckReq may be ignored: both accepted". RSP-10: "(b) resend of the READ
// response/ATOMIC_ACK itself, which acknowledges the SEND". RSP-03: "Duplicate-in-between variant =
// INFO": QIB re-arms its NAK.
RequestVerdict quiet_duplicate_of_send(const RequestView& view) {
    const RequestVerdict verdict = request_check::expected_psn(view);
    const bool quiet = verdict == RequestVerdict::Duplicate &&
                       view.info.operation == Operation::Send && !view.packet.bth.ack_request;
    return quiet ? RequestVerdict::Drop : verdict;
}

// RNR-05: "resend before the responder's timer ends may be dropped silently"; "Or a new RNR NAK;
// both legal." In the first half of the time this one does not look for a receive. N-16: no rule
// says which receive of a shared queue is taken.
RequestVerdict deaf_for_half_the_wait(const RequestView& view) {
    if (view.takes_receive() && view.inbound.nak == engine::NakState::Rnr) {
        const wire::Duration wait = wire::rnr_time(view.connection.min_rnr_timer);
        if (view.now < view.inbound.rnr_until - wait / 2) return RequestVerdict::Drop;
    }
    return request_check::receive_ready(view);
}

// --- responses at the requester

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN"; no
// rule says how soon. A gap is looked for when the READ's last response has come.
ResponseVerdict gap_seen_at_the_end(const ResponseView& view) {
    const ResponseVerdict verdict = response_check::read_order(view);
    if (verdict != ResponseVerdict::Retry || !view.request) return verdict;
    return view.packet.bth.psn == view.request->last ? verdict : ResponseVerdict::Drop;
}

// REQ-20: "an ACK whose PSN lies in a READ/ATOMIC range never completes that READ/ATOMIC; legal:
// ignore, retry it, (error completion)".
ResponseVerdict short_read_retried_on_ack(const ResponseView& view) {
    const bool acknowledged =
        view.request && is_ack(view.packet) && engine::wants_response(view.request->opcode);
    if (!acknowledged) return response_check::fits_request(view);
    return view.request->first == view.request->last ? ResponseVerdict::Retry
                                                     : ResponseVerdict::Drop;
}

// REQ-21: "Expected set: LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry (RETRY_EXC if
// repeated)".
ResponseVerdict inner_length_retried(const ResponseView& view) {
    const ResponseVerdict verdict = response_check::read_length(view);
    const bool retried =
        verdict == ResponseVerdict::LengthError && !view.packet.info().ends_message();
    return retried ? ResponseVerdict::Retry : verdict;
}

// REQ-23: "Set {ignore, retry, error}."
ResponseVerdict early_end_is_an_error(const ResponseView& view) {
    const ResponseVerdict verdict = response_check::read_position(view);
    const bool early =
        verdict == ResponseVerdict::Drop && view.request && view.packet.info().ends_message();
    return early ? ResponseVerdict::BadResponse : verdict;
}

// --- what the requester sends

// REQ-02: the "limit is 8,388,608 (2^23) outstanding PSNs"; how many less is the device's choice.
// After a loss nothing new goes out until something is acknowledged. REQ-15: "-> INFO. qib restarts
// (and counts) per NAK".
bool window_shut_after_loss(const SendView& view) {
    constexpr std::uint64_t open = 96;
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    if (out == 0) return true;
    return view.outbound.retries == 0 && out + std::uint64_t{view.packets} <= open;
}

// REQ-27: "MUST with powers of two. Value 3 = SHOULD: the mlx5 QPC field is log_sra_max, so 3 must
// be rounded; sending 4 is a real deviation, sending 2 is legal." Less is always legal: an atomic
// goes alone.
bool reads_by_powers_of_two(const SendView& view) {
    if (!engine::wants_response(view.request.opcode)) return true;
    const std::uint32_t out = view.outbound.outstanding_rd_atomic;
    if (engine::is_atomic(view.request.opcode)) return out == 0;
    return out < std::bit_floor(view.connection.max_rd_atomic);
}

// REQ-28: "WQE with FENCE waits for all earlier READ/ATOMIC"; nothing says that others may not.
bool fence_before_immediates(const SendView& view) {
    const WrOpcode opcode = view.request.opcode;
    const bool tells_host = opcode == WrOpcode::SendWithImm || opcode == WrOpcode::SendWithInv ||
                            opcode == WrOpcode::RdmaWriteWithImm;
    return send_check::fence(view) && (!tells_host || view.outbound.outstanding_rd_atomic == 0);
}

// Whether a READ request asks for the tail of this one.
bool asks_for_tail(const wire::Packet& request, const LoggedRead& read, wire::Mtu mtu) {
    const std::uint64_t skipped =
        std::uint64_t{engine::forward(read.request.bth.psn, request.bth.psn)} * wire::bytes_of(mtu);
    const wire::Reth& whole = read.request.reth;
    return request.reth.rkey == whole.rkey &&
           request.reth.virtual_address == whole.virtual_address + skipped &&
           request.reth.dma_length + skipped == whole.dma_length;
}

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN": a
// multiple of four packets into the READ.
class RestartsOnBlocks final : public QpFilter<ReadLog> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t block = 4;
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto known = qp.memory.holding(packet.bth.psn);
        if (!known || !asks_for_tail(packet, *known, qp.mtu())) {
            qp.memory.note(packet, qp.mtu());
            return;
        }
        const std::uint32_t back = engine::forward(known->request.bth.psn, packet.bth.psn) % block;
        const std::uint32_t bytes = back * wire::bytes_of(qp.mtu());
        packet.bth.psn += -std::int64_t{back};
        packet.reth.virtual_address -= bytes;
        packet.reth.dma_length += bytes;
    }
};

// REQ-32: "READ may be split on PSN borders"; REQ-10: "retried READ is an exact subset of the
// original". The missing tail of a READ whose answer has begun is asked for in two halves, the
// second when the first has come. The engine sees one answer.
struct Halves {
    ReadLog log;
    std::optional<wire::Psn> read;  // the READ that is asked for in halves
    std::set<std::uint32_t> ends;   // PSNs where a first half of it ended
    std::set<std::uint32_t> joints; // PSNs where a second half of it began
    std::optional<wire::Packet> second;
    wire::Envelope envelope{};
    wire::Psn expected;    // the next response of the first half
    std::uint32_t era = 0; // in which it was asked for
};

class RetriesInHalves final : public QpFilter<Halves> {
  public:
    // After an error of any QP nothing goes out that waited here.
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.status != engine::WcStatus::Success) ++era_;
        return one;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        Halves& memory = qp.memory;
        const auto known = memory.log.holding(packet.bth.psn);
        if (!known || !asks_for_tail(packet, *known, qp.mtu())) {
            memory.log.note(packet, qp.mtu());
            return;
        }
        if (known->request.bth.psn == packet.bth.psn) return; // whole: no answer has begun
        split(qp, passage, known->request.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Halves& memory = qp.memory;
        if (is_fatal_nak(packet)) memory.second.reset();
        if (!is_read_response(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        const Position position = packet.info().position;
        if (memory.ends.contains(psn.value()) && position == Position::Last) {
            set_place(packet, Position::Middle);
        }
        if (memory.joints.contains(psn.value())) {
            if (position == Position::First) set_place(packet, Position::Middle);
            if (position == Position::Only) set_place(packet, Position::Last);
        }
        go_on(qp, passage, psn);
    }

  private:
    static constexpr std::uint32_t least = 8; // packets that are asked for at once

    void split(Qp& qp, Passage& passage, wire::Psn read) const {
        wire::Packet& packet = passage.packet;
        Halves& memory = qp.memory;
        if (memory.read != read) {
            memory.ends.clear();
            memory.joints.clear();
        }
        memory.read = read;
        memory.second.reset();
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (packets <= least) return;
        const std::uint32_t half = (packets + 1) / 2;
        const std::uint32_t bytes = half * wire::bytes_of(qp.mtu());
        wire::Packet second = packet;
        second.body = {};
        second.bth.psn += half;
        second.reth.virtual_address += bytes;
        second.reth.dma_length -= bytes;
        packet.reth.dma_length = bytes;
        memory.ends.insert((second.bth.psn - 1).value());
        memory.expected = packet.bth.psn;
        memory.envelope = passage.envelope;
        memory.era = era_;
        memory.second = second;
    }
    void go_on(Qp& qp, Passage& passage, wire::Psn psn) const {
        Halves& memory = qp.memory;
        if (!memory.second) return;
        const std::int32_t ahead = wire::distance(memory.expected, psn);
        if (ahead < 0) return;
        const engine::QpState state = qp.report.state;
        const bool sends = state == engine::QpState::Rts || state == engine::QpState::Sqd;
        if (ahead > 0 || memory.era != era_ || !sends) { // the engine will ask again itself
            memory.second.reset();
            return;
        }
        memory.expected = psn + 1;
        if (memory.expected != memory.second->bth.psn) return;
        memory.joints.insert(memory.expected.value());
        passage.sent.push_back(datagram_of(*memory.second, memory.envelope));
        memory.second.reset();
    }

    std::uint32_t era_ = 0;
};

// RNR-08: "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)"; RNR-13: "After the wait the
// requester may first send only the NAKed message (CX-4) or the whole window."
void rounded_up_wait(wire::Packet& packet) {
    constexpr std::uint8_t tick = 14; // 1.28 ms
    if (!is_rnr_nak(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code != 0 && code < tick) packet.aeth.syndrome = wire::Syndrome::rnr(tick);
}

// --- what the host asks for

// An attribute that the device rounds. It reports what it was asked for.
template <auto Attribute, std::uint8_t (*Rounded)(wire::Qpn, std::uint8_t)>
class Rounds final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        wanted_.erase(qpn);
        auto& value = attributes.*Attribute;
        if (!value) return;
        wanted_.insert_or_assign(qpn, *value);
        value = Rounded(qpn, *value);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) asked_.erase(report.qpn);
        const auto wanted = wanted_.find(report.qpn);
        if (wanted == wanted_.end()) return;
        asked_.insert_or_assign(report.qpn, wanted->second);
        wanted_.erase(wanted);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        wanted_.erase(qpn);
        asked_.erase(qpn);
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end()) report.attributes.*Attribute = asked->second;
    }

  private:
    std::map<wire::Qpn, std::uint8_t> wanted_; // asked for by the verb under way
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// TMO-01: ">= T, <= 4T": a wheel of timers that every second QP shares turns half as fast.
std::uint8_t slower_wheel(wire::Qpn qpn, std::uint8_t code) {
    constexpr std::uint8_t slowest = 31;
    const bool slow = qpn.value % 2 == 1 && code != 0 && code < slowest;
    return slow ? static_cast<std::uint8_t>(code + 1) : code;
}

// RDR-08: "Device may remember more than max_dest_rd_atomic: correct re-execution is also legal";
// RDR-09: "Keep MUST not corrupt, code INFO". G3: responders "may resend later responses too".
std::uint8_t power_of_two(wire::Qpn /*qpn*/, std::uint8_t depth) {
    constexpr std::uint8_t most = 16;
    return depth == 0 || depth > most ? depth : std::bit_ceil(depth);
}

// --- when something leaves

// ACK-12, TMO-07: the latency of an ACK is only measured. A device that heard and said nothing for
// a millisecond takes 40 us to acknowledge; what follows keeps its order (RDR-11). READ responses
// do not wait by themselves. ACK-02: "AckReq=0 -> ACK allowed", at the end of a message.
class SlowAfterIdle {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration idle = std::chrono::milliseconds(1);
        constexpr wire::Duration waking = std::chrono::microseconds(40);
        const bool slow = !is_read_response(packet) && (!last_ || earliest - *last_ > idle);
        const wire::Instant at = slow ? earliest + waking : earliest;
        last_ = at;
        return {.at = at, .next = at};
    }

  private:
    std::optional<wire::Instant> last_;
};

// RSP-16: "NAK latency, NAK batching: measure; qib defers NAK until rx queue empty". ACK-03: "one
// ACK for many; PSN = last covered".
struct NaksLate {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const wire::Duration handled =
            is_nak(packet) ? std::chrono::microseconds(15) : std::chrono::microseconds(0);
        return {.at = earliest + handled, .next = earliest + handled};
    }
};

// CA17-44: "coalescing allowed"; CNP-04: the interval "is vendor configuration", its scope is
// recorded; CNP-07: marks on responses are only recorded; nothing says how soon a CNP leaves.
void notifies_late(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_cnp(packet)) datagram.delay += std::chrono::microseconds(6);
}

// CM-01, CM-07: an answer comes within the peer's timeouts; how soon is open. A refusal takes the
// way through the host, other messages do not, and none overtakes another.
class ManagesLate {
  public:
    static bool delays(const wire::Packet& packet) { return packet.bth.dest_qp == wire::kGsiQpn; }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool refusal = packet.body.size() >= wire::kMadBytes &&
                             wire::cm::attribute_of(packet.body) == wire::cm::kRej;
        const wire::Duration handled =
            refusal ? std::chrono::microseconds(1200) : std::chrono::microseconds(300);
        last_ = std::max(last_, earliest + handled);
        return {.at = last_, .next = earliest};
    }

  private:
    wire::Instant last_;
};

// --- acknowledges

// ACK-04: "Unsolicited/ghost ACK repeats a PSN"; ACK-11: INFO; ACK-02: "no obligation; ACK
// allowed". Every eighth new ACK leaves twice.
struct Acknowledged {
    NewestPsn newest;
    std::uint32_t count = 0;
};

class RepeatsEighthAck final : public QpFilter<Acknowledged> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t every = 8;
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        const bool old = qp.memory.newest.note(packet.bth.psn);
        if (old || !is_ack(packet) || ++qp.memory.count % every != 0) return;
        passage.after.push_back(packet);
    }
};

// ACK-10: "never more credits than posted WQEs + completed-in-flight slack (SHOULD) ... value
// otherwise INFO"; ACK-11: an unsolicited update is INFO. No more than six are told.
void at_most_six_credits(wire::Packet& packet) {
    constexpr std::uint8_t six = 5;
    if (!has_aeth(packet) || packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code != wire::kNoCredits && code > six) packet.aeth.syndrome = wire::Syndrome::ack(six);
}

// --- outer headers

// ENC-02: the source port "may be any", one for each QP. CRC-03 masks the flow label, and no rule
// says what it is where the address vector has none: here it follows from the port.
void labelled_by_port(wire::Envelope& envelope) {
    constexpr std::uint32_t golden_ratio = 0x9E3779B1;
    if (envelope.destination.v4() || envelope.flow_label != 0) return;
    envelope.flow_label = envelope.source_port * golden_ratio >> 12U;
}

// ENC-04: "UDP checksum 0 accepted for IPv4; non-zero correct accepted"; ENC-05: "both"; REQ-31:
// "IP ID ... may differ". Short frames leave with a checksum, and all have numbers of the device.
class NumbersAndSums final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        if (!outer.v6) number(frame, outer);
        wire::seal(frame);
        if (frame.size() <= summed) sum(frame, outer);
    }

  private:
    static constexpr std::size_t summed = 256; // bytes of a frame that is summed up
    static constexpr std::size_t id_at = 4;
    static constexpr std::size_t ip_checksum_at = 10;
    static constexpr std::size_t udp_checksum_at = 6;

    void number(wire::MutableBytes frame, const wire::Outer& outer) {
        const wire::MutableBytes header = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
        wire::store_be<2>(header, id_at, next_);
        next_ = static_cast<std::uint16_t>(next_ + 3);
        wire::store_be<2>(header, ip_checksum_at, wire::ipv4_checksum(header));
    }
    static void sum(wire::MutableBytes frame, const wire::Outer& outer) {
        const std::size_t bytes = outer.v6 ? 32 : 8; // source and destination, before UDP
        const wire::Bytes addresses = frame.subspan(outer.udp_at - bytes, bytes);
        const wire::MutableBytes datagram =
            frame.subspan(outer.udp_at, outer.icrc_at + wire::kIcrcBytes - outer.udp_at);
        wire::store_be<2>(datagram, udp_checksum_at, wire::udp_checksum(addresses, datagram));
    }

    std::uint16_t next_ = 0xFFF1;
};

// --- choices that have a name

// RDR-06: "shipped hardware (PEN) continue[s] with MIDDLE/LAST"; RDR-03: "MSN may also be higher";
// ACK-03, TMO-07: one ACK for up to five packets or 30 us; BTH-18: AckReq every sixteen packets;
// ATM-07: "silent, NAK 0x61 or ignored"; RDR-13: "NAK 0x62 or 0x63".
constexpr Behaviour kFirmwarePipeline{
    .ack_policy = engine::AckPolicy::EveryNth,
    .partial_read_reply = engine::PartialReadReply::MiddleOrLast,
    .ack_request_every = 16,
    .ack_every = 5,
    .ack_delay = std::chrono::microseconds(30),
    .response_msn = engine::ResponseMsn::Current,
    .lost_key = engine::LostKey::NakRemoteOperational,
    .stray_payload = engine::StrayPayload::Ignored,
};

constexpr Behaviour kOneNotificationForAll{
    .congestion = {.notification = {.scope = engine::CnpScope::Port,
                                    .interval = std::chrono::microseconds(120),
                                    .for_responses = false}}};

constexpr std::array kDevices{
    Mutant{.name = "excess_atomics_wait_and_excess_reads_end_the_qp",
           .rule = "RDR-09",
           .description = "An atomic beyond max_dest_rd_atomic gets an RNR NAK, a READ, FLUSH or "
                          "ATOMIC WRITE beyond it a NAK Invalid Request.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReplyResources, excess_atomic_waits)},
    Mutant{.name = "atomic_unit_is_busy_at_some_psns",
           .rule = "RNR-03",
           .description = "An atomic at a PSN of 3 modulo 8 gets an RNR NAK at its first try and "
                          "is carried out at the next.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReplyResources, atomic_unit_busy)},
    Mutant{.name = "atomic_cache_is_tagged_by_address",
           .rule = "ATM-05",
           .description = "A duplicate atomic is answered from a cache that is six entries deeper "
                          "than agreed and compares opcode, key and address, but no operands.",
           .checks = engine::kStandardChecks.with(DuplicateCheck::SameAtomic, same_place),
           .behaviour = {.remembered_extra = 6}},
    Mutant{.name = "repeated_tail_goes_on_at_odd_psns",
           .rule = "RDR-06",
           .description = "The repeated tail of a READ goes on with MIDDLE or LAST where it begins "
                          "at an odd PSN, and with FIRST or ONLY else; a new FIRST has the old "
                          "MSN.",
           .behaviour = {.first_msn = engine::FirstMsn::Old},
           .make_filter = make<ResumesByPsn>},
    Mutant{.name = "malformed_requests_are_silent_between_messages",
           .rule = "BTH-06",
           .description = "A reserved opcode is dropped silently between messages and NAKed inside "
                          "one; a SEND with more pad than payload is dropped, a WRITE is NAKed.",
           .checks = engine::kStandardChecks.with(RequestCheck::KnownOpcode, known_within_message)
                         .with(RequestCheck::PadCount, excess_pad_of_send_is_silent)},
    Mutant{.name = "key_fault_is_told_first_at_even_msns",
           .rule = "KEY-10",
           .description = "After an even number of messages a bad key is told before a missing "
                          "receive or a wrong alignment, after an odd number behind them.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady, key_before_receive)
                         .with(RequestCheck::AtomicAlignment, key_before_alignment),
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError}},
    Mutant{.name = "long_writes_are_translated_packet_by_packet",
           .rule = "KEY-06",
           .description = "The range of a WRITE above four packets is checked at each packet, a "
                          "shorter one at its first; what fits of a refused packet is written.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, long_write_piecewise),
           .behaviour = {.refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "long_writes_are_counted_at_their_end",
           .rule = "LEN-04",
           .description = "A WRITE of more bytes than announced is NAKed at once if it announced "
                          "two packets at most, else at its LAST; an oversize READ gets a NAK "
                          "Remote Access.",
           .checks = engine::kStandardChecks.with(RequestCheck::MessageLength, excess_by_length),
           .behaviour = {.write_excess = engine::WriteExcess::AtLast}},
    Mutant{.name = "failed_invalidation_is_naked_at_last_only",
           .rule = "KEY-11",
           .description = "A key that cannot be invalidated ends the QP with a NAK Remote Access "
                          "for SEND_LAST_INV and silently for SEND_ONLY_INV.",
           .checks = engine::kStandardChecks.with(RequestCheck::InvalidateKey,
                                                  invalidation_refused_aloud)},
    Mutant{.name = "device_without_atomics",
           .rule = "OPC-09",
           .description = "The device has no atomics and answers them with a NAK Invalid Request.",
           .lacks = "atomics",
           .checks = engine::kStandardChecks.with(RequestCheck::KnownOpcode, no_atomics)},
    Mutant{.name = "duplicates_answered_like_qib",
           .rule = "RSP-10",
           .description = "A duplicate before a READ draws the READ's response again, a duplicate "
                          "SEND without AckReq draws nothing, and answered ones re-arm the "
                          "sequence NAK.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ExpectedPsn, quiet_duplicate_of_send),
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .duplicate_rearms_nak = true}},
    Mutant{.name = "deaf_for_half_of_the_rnr_wait",
           .rule = "RNR-05",
           .description = "A request that comes back in the first half of the RNR wait is dropped, "
                          "later it is looked at; a shared queue gives its newest receive.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveReady, deaf_for_half_the_wait),
           .behaviour = {.shared_receive = engine::SharedReceive::Newest}},
    Mutant{.name = "read_gap_is_seen_at_the_last_response",
           .rule = "REQ-09",
           .description = "A gap in READ responses is acted upon when the LAST comes or time is "
                          "over; an ACK at the PSN of a READ retries it if it takes one packet.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadOrder, gap_seen_at_the_end)
                         .with(ResponseCheck::FitsRequest, short_read_retried_on_ack)},
    Mutant{.name = "bad_read_responses_by_place",
           .rule = "REQ-21",
           .description = "A READ response of the wrong length inside an answer is asked for "
                          "again, at its end it is an error, and so is an end that comes early.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadLength, inner_length_retried)
                         .with(ResponseCheck::ReadPosition, early_end_is_an_error)},
    Mutant{.name = "window_is_shut_after_a_loss",
           .rule = "REQ-02",
           .description = "At most 96 packets are on their way, and after a loss no new one goes "
                          "out before progress; each sequence NAK restarts.",
           .checks = engine::kStandardChecks.with(SendCheck::Window, window_shut_after_loss),
           .behaviour = {.repeated_nak = engine::RepeatedNak::Restarts}},
    Mutant{.name = "reads_in_powers_of_two_and_atomics_alone",
           .rule = "REQ-27",
           .description = "No more READs are on their way than the power of two below "
                          "max_rd_atomic, and an atomic begins only when none is.",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, reads_by_powers_of_two)},
    Mutant{.name = "requests_with_immediates_are_always_fenced",
           .rule = "REQ-28",
           .description = "Requests with immediate data or an invalidation wait for all earlier "
                          "READs and atomics; after a loss one packet goes out first.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_before_immediates),
           .behaviour = {.after_loss = engine::AfterLoss::OnePacket}},
    Mutant{.name = "reads_restart_on_blocks_of_four",
           .rule = "REQ-09",
           .description = "A READ that lost responses is asked for again from the last multiple of "
                          "four packets before the first missing one.",
           .make_filter = make<RestartsOnBlocks>},
    Mutant{.name = "missing_tail_of_a_read_in_two_halves",
           .rule = "REQ-32",
           .description = "The missing tail of a READ, if longer than eight packets, is asked for "
                          "in two requests, the second when the first is answered.",
           .make_filter = make<RetriesInHalves>},
    Mutant{.name = "rnr_wait_in_ticks_and_one_message_first",
           .rule = "RNR-13",
           .description = "An RNR wait lasts 1.28 ms at least, and the refused message goes alone "
                          "after it.",
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage},
           .make_filter = make<EditsInbound<rounded_up_wait>>},
    Mutant{.name = "ack_timer_wheel_by_qp",
           .rule = "TMO-01",
           .description = "The ACK timeout is 1.125 T for QPs with even numbers and 2.25 T for the "
                          "others.",
           .behaviour = {.timeout_sixteenths = 18},
           .make_filter = make<Rounds<&engine::QpAttributes::timeout, slower_wheel>>},
    Mutant{.name = "responder_depth_is_rounded_up",
           .rule = "RDR-08",
           .description = "The responder takes and remembers as many READs and atomics as the next "
                          "power of two, and a duplicate sends all later responses again.",
           .behaviour = {.duplicate_resends_later = true},
           .make_filter = make<Rounds<&engine::QpAttributes::max_dest_rd_atomic, power_of_two>>},
    Mutant{.name = "slow_to_acknowledge_after_a_pause",
           .rule = "ACK-12",
           .description = "After a millisecond without responses an acknowledge takes 40 us; each "
                          "end of a message is acknowledged, asked for or not.",
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage},
           .make_filter = make<SendsLater<SlowAfterIdle>>},
    Mutant{.name = "naks_leave_late_and_acks_merge",
           .rule = "RSP-16",
           .description = "NAKs leave 15 us later than they could and hold up what follows; ACKs "
                          "that wait together become one.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced},
           .make_filter = make<SendsLater<NaksLate>>},
    Mutant{.name = "every_eighth_ack_is_repeated",
           .rule = "ACK-04",
           .description = "Each request packet is acknowledged, asked for or not, and every eighth "
                          "ACK leaves twice.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket},
           .make_filter = make<RepeatsEighthAck>},
    Mutant{.name = "at_most_six_credits_are_told",
           .rule = "ACK-10",
           .description = "End-to-end credits are given, six at most, and told unasked after there "
                          "were none.",
           .behaviour = {.credits = true, .unsolicited_credits = true},
           .make_filter = make<EditsOutbound<at_most_six_credits>>},
    Mutant{.name = "firmware_pipeline",
           .rule = "RDR-06",
           .description = "One ACK for five packets or 30 us, tails that go on with MIDDLE, "
                          "current MSNs, AckReq every 16 packets, stray payload ignored, NAK "
                          "Remote Operational for a key lost during a READ.",
           .behaviour = kFirmwarePipeline},
    Mutant{.name = "flow_label_follows_the_port",
           .rule = "ENC-02",
           .description = "The source port is a hash of the QPN, and the flow label of IPv6 a hash "
                          "of the port where the address vector has none.",
           .behaviour = {.source_port = engine::SourcePort::QpnHash},
           .make_filter = make<EditsSentEnvelope<labelled_by_port>>},
    Mutant{.name = "short_frames_have_udp_checksums",
           .rule = "ENC-04",
           .description = "Frames of up to 256 bytes leave with a right UDP checksum, and the IPv4 "
                          "identification counts in threes over all QPs.",
           .make_filter = make<NumbersAndSums>},
    Mutant{.name = "one_notification_for_the_whole_port",
           .rule = "CNP-04",
           .description = "At most one CNP leaves the port in 120 us, 6 us late, and none for a "
                          "marked response.",
           .behaviour = kOneNotificationForAll,
           .make_filter = make<EditsSentDatagram<notifies_late>>},
    Mutant{.name = "connection_messages_leave_late",
           .rule = "CM-01",
           .description = "A REJ leaves 1.2 ms late, other messages to QP 1 0.3 ms late.",
           .make_filter = make<SendsLater<ManagesLate>>},
    // ACK-05: no rule says how soon a completion or an event is told. STA-06: "Which WQEs count as
    // started is the device's choice".
    Mutant{.name = "moderated_host_drains_all_it_was_given",
           .rule = "STA-06",
           .description = "The host sees memory 40 us, completions 60 us and events 900 us late; "
                          "in SQD all posted requests are carried out before the drain event.",
           .behaviour = {.drain = engine::Drain::Posted},
           .make_filter = make<HostLate<60, 40, 900>>},
};
static_assert(kDevices.size() == 32);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind5_plain

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind5_plain() {
    return of_lawful_blind5_plain::kDevices;
}

} // namespace veriroce::mutants
