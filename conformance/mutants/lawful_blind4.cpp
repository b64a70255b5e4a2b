// Lawful but odd devices, a fourth sample: written without a look at the cases. Each keeps every
// rule and uses a freedom that the rules leave, most of them only at times: by PSN, by message, by
// length, by QP, or by the time since the last packet.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_lawful_blind4 {
namespace {

using namespace std::chrono_literals;

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
namespace right_request = engine::request_check;
namespace right_response = engine::response_check;
namespace right_send = engine::send_check;

bool odd(wire::Psn psn) {
    return psn.value() % 2 == 1;
}

bool is_send_or_write(const wire::Packet& packet) {
    return is_rc_request(packet) && (packet.info().operation == wire::Operation::Send ||
                                     packet.info().operation == wire::Operation::RdmaWrite);
}

// The first instant at or after this one that is a whole number of these periods.
wire::Instant next_tick(wire::Instant at, wire::Duration period) {
    const auto past = at.time_since_epoch() % period;
    return past.count() == 0 ? at : at + (period - past);
}

// --- acknowledges

// ACK-10: "never more credits than posted WQEs [...]; value otherwise INFO". ACK-03: "one ACK for
// many". ACK-11: an unsolicited credit update is INFO. The receive descriptors that the port has
// fetched are six at most, and of more than those it does not tell.
void tell_of_six_at_most(wire::Packet& packet) {
    constexpr std::uint8_t six = 5; // the code
    if (!has_aeth(packet) || packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code != wire::kNoCredits) packet.aeth.syndrome = wire::Syndrome::ack(std::min(code, six));
}

// ACK-04: "Unsolicited/ghost ACK repeats a PSN"; ACK-11 is INFO. Only an ACK of something new is
// repeated, and at once, so that none goes backwards.
struct CountedAcks {
    NewestPsn newest;
    std::uint32_t acks = 0;
};
class GhostOfEachFifthAck final : public QpFilter<CountedAcks> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response() || is_nak(packet)) return;
        const bool old = qp.memory.newest.note(packet.bth.psn);
        if (old || !is_ack(packet)) return;
        if (++qp.memory.acks % 5 == 0) passage.after.push_back(packet);
    }
};

// ACK-02: "AckReq=0 -> no obligation; ACK allowed". What the responder writes back after every
// fourth packet of its ring is acknowledged as well.
void ask_for_an_ack_at_each_fourth(wire::Packet& packet) {
    if (is_send_or_write(packet) && packet.bth.psn.value() % 4 == 0) packet.bth.ack_request = true;
}

// N-01: "FIRST of a READ may carry old or new MSN, LAST/ONLY/ATOMIC_ACK the new one". Which one
// depends on whether the counter's update has come through: here at even PSNs.
class OldMsnInOddFirst final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || is_nak(packet)) return;
        const bool old = qp.memory.note(packet.bth.psn);
        const bool first =
            is_read_response(packet) && packet.info().position == wire::Position::First;
        if (first && !old && odd(packet.bth.psn)) packet.aeth.msn = packet.aeth.msn + -1;
    }
};

// ACK-12, RSP-16: the latency of ACKs and NAKs is INFO; TMO-07: only "small enough". A processor
// writes them each 40 us. READ responses and atomic acknowledges leave when they are ready, but in
// their order behind those (RDR-11).
struct OnTicks {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool written = packet.info().operation == wire::Operation::Acknowledge;
        const wire::Instant at = written ? next_tick(earliest, 40us) : earliest;
        return {.at = at, .next = at};
    }
};

// TMO-07: "responder CA ack delay [...] small enough"; ACK-12: its latency is INFO. The context of
// a QP that received nothing for a millisecond has left the cache: the next request waits until
// it is fetched, and those behind it keep their order.
class FetchesColdContexts final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override { contexts_[report.qpn]; }
    void qp_destroyed(wire::Qpn qpn) override { contexts_.erase(qpn); }
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && (is_rc_request(*packet) || packet->info().reserved())) {
            const auto context = contexts_.find(packet->bth.dest_qp);
            if (context != contexts_.end()) datagram.delay += wait(context->second, now);
        }
        in.push_back(std::move(datagram));
    }

  private:
    struct Context {
        std::optional<wire::Instant> used;
        wire::Instant there; // when what came last is looked at
    };
    static wire::Duration wait(Context& context, wire::Instant now) {
        constexpr wire::Duration kept = 1ms;
        constexpr wire::Duration fetch = 60us;
        const bool cold = !context.used || now - *context.used >= kept;
        context.used = now;
        // What is not put off would overtake what was put off until now.
        context.there = std::max(context.there + 1ns, cold ? now + fetch : now);
        return context.there - now;
    }
    std::map<wire::Qpn, Context> contexts_;
};

// --- when requests leave

// TMO-01: T counts "from the *last* transmitted packet with AckReq"; no rule says how soon a posted
// request leaves. After a pause of 20 us the first packet of a message waits 6 us for a doorbell
// that is not alone. The timer of 2 T leaves room for that at the smallest T.
struct DoorbellsInBatches {
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration pause = 20us;
        constexpr wire::Duration batch = 6us;
        auto& last = last_[packet.bth.dest_qp];
        const bool rested = !last || earliest - *last >= pause;
        const bool waits = rested && packet.info().starts_message();
        const wire::Instant at = waits ? earliest + batch : earliest;
        last = at;
        return {.at = at, .next = at};
    }

  private:
    std::map<wire::Qpn, std::optional<wire::Instant>> last_;
};

// REQ-02 gives the greatest number of outstanding PSNs; a requester may have fewer. Its descriptors
// are a page of 32 packets: one of the next page goes when all of this one are acknowledged.
bool within_one_page(const SendView& view) {
    if (!right_send::window(view)) return false;
    constexpr std::uint32_t page = 32;
    const wire::Psn oldest = view.outbound.unacked_psn;
    const wire::Psn next = view.outbound.next_psn;
    const bool alone = view.packets == 1 || view.request.opcode == engine::WrOpcode::RdmaRead;
    if (oldest == next && alone) return true;
    const wire::Psn last = next + (std::int64_t{view.packets} - 1);
    return last.value() / page == oldest.value() / page;
}

bool nothing_outstanding(const SendView& view) {
    return view.outbound.unacked_psn == view.outbound.next_psn;
}

// REQ-28: "WQE with FENCE waits for all earlier READ/ATOMIC"; that others do not wait is said
// nowhere. The queue's place is written back to the host at each sixteenth message.
bool fence_at_each_sixteenth(const SendView& view) {
    return right_send::fence(view) && (view.ssn.value() % 16 != 0 || nothing_outstanding(view));
}

// REQ-02, N-36: "outstanding limit counts READ response PSNs". A READ of more than 16 packets takes
// the whole response buffer and goes alone.
bool long_reads_alone(const SendView& view) {
    constexpr std::uint32_t most = 16;
    const bool is_long = view.request.opcode == engine::WrOpcode::RdmaRead && view.packets > most;
    return right_send::window(view) && (!is_long || nothing_outstanding(view));
}

// REQ-27: "outstanding READ+ATOMIC <= max_rd_atomic". Atomics go by another path of the device,
// which first waits until the READs are done.
bool atomics_wait_for_all(const SendView& view) {
    return right_send::rd_atomic(view) &&
           (!engine::is_atomic(view.request.opcode) || view.outbound.outstanding_rd_atomic == 0);
}

// REQ-02, which leaves any smaller window. Half of the QPs live in a small pipeline.
bool window_by_qp(const SendView& view) {
    const std::uint32_t most = view.connection.qpn.value % 2 == 1 ? 8 : 256;
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    return out == 0 || std::uint64_t{out} + view.packets <= most;
}

// REQ-27: "Value 3 = SHOULD: the mlx5 QPC field is log_sra_max, so 3 must be rounded [...] sending
// 2 is legal. Read back with query_qp". RDR-09: the code for a READ too many is INFO, so more may
// be taken. TMO-01: ">= T, <= 4T"; here 1.25 T or 2.5 T, as only even codes are there.
class LogarithmicFields final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Asked asked = asked_[qpn];
        if (attributes.max_rd_atomic) {
            attributes.max_rd_atomic = std::bit_floor(*attributes.max_rd_atomic);
        }
        if (attributes.max_dest_rd_atomic) {
            asked.reads = *attributes.max_dest_rd_atomic;
            attributes.max_dest_rd_atomic = power_above(asked.reads);
        }
        if (attributes.timeout) {
            asked.timeout = *attributes.timeout;
            attributes.timeout = even_above(asked.timeout);
        }
        wanted_.insert_or_assign(qpn, asked);
    }
    void qp_changed(const engine::QpReport& report) override {
        const auto wanted = wanted_.find(report.qpn); // and was granted
        if (wanted != wanted_.end()) asked_.insert_or_assign(report.qpn, wanted->second);
    }
    // What was asked for, where it is what the device has rounded.
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked == asked_.end()) return;
        auto& [reads, timeout] = asked->second;
        if (report.attributes.max_dest_rd_atomic == power_above(reads)) {
            report.attributes.max_dest_rd_atomic = reads;
        }
        if (report.attributes.timeout == even_above(timeout)) report.attributes.timeout = timeout;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        asked_.erase(qpn);
        wanted_.erase(qpn);
    }

  private:
    struct Asked {
        std::uint8_t reads = 0;
        std::uint8_t timeout = 0;
    };
    static std::uint8_t power_above(std::uint8_t value) {
        constexpr std::uint8_t most = 16; // what the device allows
        return value == 0 || value > most ? value : std::bit_ceil(value);
    }
    static std::uint8_t even_above(std::uint8_t code) {
        constexpr std::uint8_t most = 31;
        return code % 2 == 0 || code >= most ? code : static_cast<std::uint8_t>(code + 1);
    }
    std::map<wire::Qpn, Asked> asked_;
    std::map<wire::Qpn, Asked> wanted_; // by the change that is under way
};

// --- receiver not ready

// RNR-08: "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)". RNR-13: "After the wait the
// requester may first send only the NAKed message (CX-4)". From the second RNR NAK in a row on the
// wait is about twice, then about four times as long as was asked for.
struct RnrInARow {
    std::uint8_t times = 0;
};
class WaitsLongerEachTime final : public QpFilter<RnrInARow> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        std::uint8_t& times = qp.memory.times;
        if (!is_rnr_nak(packet)) {
            if (!is_nak(packet)) times = 0;
            return;
        }
        constexpr int longest = 31;
        const int code = packet.aeth.syndrome.code();
        // Code 0 is the longest of all.
        const int longer = code == 0 ? 0 : std::min(longest, code + 2 * times);
        packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(longer));
        if (times < 2) ++times;
    }
};

// RNR-05: "resend before the responder's timer ends may be dropped silently", "Or a new RNR NAK;
// both legal".
RequestVerdict early_resend_by_psn(const RequestView& view) {
    const RequestVerdict verdict = right_request::receive_ready(view);
    const bool early =
        view.inbound.nak == engine::NakState::Rnr && view.now < view.inbound.rnr_until;
    const bool silent = early && !odd(view.packet.bth.psn);
    return verdict == RequestVerdict::Rnr && silent ? RequestVerdict::Drop : verdict;
}

// RNR-03: "RNR = WQE or other resource not ready. PEN RNR-NAKs an ATOMIC when out of atomic
// resources [...] an occasional RNR is INFO".
bool is_atomic_opcode(const wire::OpcodeInfo& info) {
    return info.headers.has(wire::Header::AtomicEth);
}

// RDR-09: "MUST not corrupt [...], code INFO": an atomic too many is asked for again later, a READ
// too many is an invalid request.
RequestVerdict atomics_too_many_come_again(const RequestView& view) {
    const RequestVerdict verdict = right_request::reply_resources(view);
    const bool later = verdict == RequestVerdict::NakInvalidRequest &&
                       view.connection.max_dest_rd_atomic != 0 && is_atomic_opcode(view.info);
    return later ? RequestVerdict::Rnr : verdict;
}

// --- which of two faults, and where

bool key_good(const RequestView& view) {
    constexpr std::array checks{right_request::key_known, right_request::key_variant,
                                right_request::key_domain, right_request::key_rights,
                                right_request::key_range};
    return std::ranges::all_of(checks,
                               [&](auto* check) { return check(view) == RequestVerdict::Accept; });
}

// KEY-10: "Add pairs: alignment vs rkey [...], RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all
// either way". Here a bad key is told before a missing receive of a WRITE with immediate data ...
RequestVerdict key_before_receive_of_write(const RequestView& view) {
    const bool write = view.info.operation == wire::Operation::RdmaWrite && view.info.immediate();
    const bool missing = write && !view.receive_ready;
    if (missing && !key_good(view)) return RequestVerdict::NakRemoteAccess;
    return right_request::receive_ready(view);
}

// ... and for a COMPARE & SWAP (ATM-03 is INFO), not for a FETCH & ADD.
RequestVerdict key_before_alignment_of_swap(const RequestView& view) {
    const bool swap = view.info.operation == wire::Operation::CompareSwap;
    if (swap && !key_good(view)) return RequestVerdict::NakRemoteAccess;
    return right_request::atomic_alignment(view);
}

// KEY-05: "For multi-packet WRITE the NAK may come at FIRST or at the first packet out of range
// (KEY-06)". A range of more than four packets is not looked up at once.
RequestVerdict long_ranges_by_packet(const RequestView& view) {
    constexpr std::uint64_t packets = 4;
    const wire::Packet& packet = view.packet;
    const bool first = view.info.operation == wire::Operation::RdmaWrite &&
                       view.info.position == wire::Position::First && view.target;
    if (!first || packet.reth.dma_length <= packets * wire::bytes_of(view.connection.mtu)) {
        return right_request::key_range(view);
    }
    const bool covered = view.memory.slot(packet.reth.rkey.value)
                             .covers(packet.reth.virtual_address, packet.payload().size());
    return covered ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

// LEN-04: "NAK may come anywhere from the packet that first proves the excess up to LAST/ONLY":
// here at the next odd PSN, or at the end.
RequestVerdict excess_seen_at_odd(const RequestView& view) {
    const RequestVerdict verdict = right_request::message_length(view);
    const bool inside =
        view.info.operation == wire::Operation::RdmaWrite && !view.info.ends_message();
    if (verdict != RequestVerdict::Accept || !inside || !odd(view.packet.bth.psn)) return verdict;
    const bool begins = view.info.starts_message();
    const std::uint64_t before = begins ? 0 : view.inbound.received;
    const std::uint64_t announced = begins ? view.packet.reth.dma_length : view.inbound.announced;
    const bool excess = before + view.packet.payload().size() >= announced;
    return excess ? RequestVerdict::NakInvalidRequest : RequestVerdict::Accept;
}

// BTH-12: "NAK 0x61 is a lawful answer [...], silent also".
RequestVerdict excess_pad_by_psn(const RequestView& view) {
    const bool silent = view.packet.pad_exceeds_body() && odd(view.packet.bth.psn);
    return silent ? RequestVerdict::Drop : right_request::pad_count(view);
}

// ATM-07: "INFO (silent, NAK 0x61 or ignored)".
RequestVerdict payload_of_atomics_is_silent(const RequestView& view) {
    const bool stray = is_atomic_request(view.packet) && !view.packet.body.empty();
    return stray ? RequestVerdict::Drop : right_request::payload_length(view);
}

// RSP-08: "everything within 2 of +-2^23 is INFO". Such a PSN is neither ahead nor behind.
RequestVerdict opposite_psns_are_neither(const RequestView& view) {
    constexpr std::uint32_t half = 1U << 23;
    const std::uint32_t ahead = engine::forward(view.inbound.expected_psn, view.packet.bth.psn);
    const bool opposite = ahead >= half - 2 && ahead <= half + 2;
    return opposite ? RequestVerdict::Drop : right_request::expected_psn(view);
}

// --- duplicates

// RSP-11: "duplicate without AckReq may be ignored | both accepted". Those of one packet are.
RequestVerdict short_duplicates_are_ignored(const RequestView& view) {
    const RequestVerdict verdict = right_request::expected_psn(view);
    const bool ignored = verdict == RequestVerdict::Duplicate && is_send_or_write(view.packet) &&
                         view.info.position == wire::Position::Only && !view.packet.bth.ack_request;
    return ignored ? RequestVerdict::Drop : verdict;
}

// RDR-06: "INFO (accept both). qib/hfi1 start FIRST/ONLY; rxe and shipped hardware (PEN) continue
// with MIDDLE/LAST". At odd PSNs it continues, at even ones it begins.
struct AnsweredReads {
    ReadLog log;
    NewestPsn sent;
};
class ContinuesAtOddPsns final : public QpFilter<AnsweredReads> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.log.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || is_nak(packet)) return;
        auto& [log, sent] = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        const bool old = sent.note(psn);
        if (!is_read_response(packet)) return;
        const auto read = log.holding(psn);
        const bool tail = old && read && read->request.bth.psn != psn;
        if (tail && odd(psn) && packet.info().starts_message()) {
            set_place(packet,
                      packet.info().ends_message() ? wire::Position::Last : wire::Position::Middle);
        }
        log.answer(psn);
    }
};

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN". The
// device fetches in pieces of four packets, and asks again from the beginning of such a piece.
class RestartsReadsAtPieces final : public QpFilter<ReadLog> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        constexpr std::int32_t piece = 4; // packets
        const auto whole = qp.memory.holding(packet.bth.psn);
        const std::int32_t at = whole ? wire::distance(whole->request.bth.psn, packet.bth.psn) : 0;
        if (at == 0 || !rest_of(whole->request, packet, offset_of(qp, at))) {
            qp.memory.note(packet, qp.mtu());
            return;
        }
        const std::int32_t back = at % piece;
        packet.bth.psn += -std::int64_t{back};
        packet.reth.virtual_address -= offset_of(qp, back);
        packet.reth.dma_length += offset_of(qp, back);
    }

  private:
    static std::uint32_t offset_of(const Qp& qp, std::int32_t packets) {
        return static_cast<std::uint32_t>(packets) * wire::bytes_of(qp.mtu());
    }
    static bool rest_of(const wire::Packet& whole, const wire::Packet& rest, std::uint32_t offset) {
        return rest.reth.rkey == whole.reth.rkey &&
               rest.reth.virtual_address == whole.reth.virtual_address + offset &&
               std::uint64_t{rest.reth.dma_length} + offset == whole.reth.dma_length;
    }
};

// --- responses at the requester

// REQ-21: "Expected set: LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry". Inside a
// response it is dropped, at its end it is an error.
ResponseVerdict bad_length_by_place(const ResponseView& view) {
    const ResponseVerdict verdict = right_response::read_length(view);
    const bool dropped = verdict == ResponseVerdict::LengthError && !view.info.ends_message();
    return dropped ? ResponseVerdict::Drop : verdict;
}

// REQ-25, as REQ-24: "error completion or ignore". An atomic's answer to something else is an
// error, a READ's is ignored.
ResponseVerdict stray_atomic_answer_is_bad(const ResponseView& view) {
    const ResponseVerdict verdict = right_response::fits_request(view);
    const bool bad = verdict == ResponseVerdict::Drop && view.request &&
                     view.info.operation == wire::Operation::AtomicAcknowledge;
    return bad ? ResponseVerdict::BadResponse : verdict;
}

// REQ-05: "PEN completes by MSN and discards MSN >= SSN"; G2: "PEN drops a response whose MSN >=
// SSN". What tells of more messages than were begun is dropped.
ResponseVerdict msn_of_no_message_is_dropped(const ResponseView& view) {
    const bool first = view.info.position == wire::Position::First;
    const bool beyond =
        has_aeth(view.packet) && !first &&
        wire::distance(view.outbound.credits.newest, wire::Psn(view.packet.aeth.msn.value)) > 0;
    return beyond ? ResponseVerdict::Drop : right_response::window(view);
}

// --- congestion

// CNP-05: "CX5/CX6 send CNP together with NAK when slow restart is on | INFO".
class NotifiesOfLoss final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_sequence_nak(*packet)) {
            constexpr std::uint8_t dscp = 48; // that of the engine's own CNPs (CNP-06)
            auto cnp =
                datagram_of(notification(packet->bth.dest_qp, packet->bth.pkey), datagram.envelope);
            cnp.envelope.dscp = dscp;
            cnp.envelope.ecn = 0;
            out.push_back(std::move(cnp));
        }
        out.push_back(std::move(datagram));
    }
};

// RSP-16: "NAK latency, NAK batching | measure; qib defers NAK until rx queue empty", INFO. The
// responses behind a NAK keep their order.
struct NaksWait {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const wire::Instant at = is_sequence_nak(packet) ? earliest + 40us : earliest;
        return {.at = at, .next = at};
    }
};

// CNP-04: "Interval is vendor configuration, not standard", its scope is to be found; CNP-07: "CE
// on READ response, ACK [...] | record", INFO. That a CNP leaves at once is said nowhere.
void cnps_are_late(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_cnp(packet)) datagram.delay += 25us;
}

// CA17-45: "amount is not specified"; CNP-09 is INFO. CA17-5 has the ECN bits 00 "without
// congestion management", and with it leaves them open: only what carries data can be marked.
void acknowledges_are_not_ect(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_rc_response(packet) && !is_read_response(packet)) datagram.envelope.ecn = 0;
}

// --- how packets travel

// ENC-02: "UDP source port: one value per QP (ordering), may be any", SHOULD, and the trait
// `multipath`. Four packets take one path, the next four another one.
void from_several_ports(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    std::uint32_t path = 0;
    if (is_rc_request(packet)) path = packet.bth.psn.value() / 4 % 4;
    if (is_read_response(packet)) path = packet.bth.psn.value() % 2;
    const std::uint32_t port = datagram.envelope.source_port;
    datagram.envelope.source_port = static_cast<std::uint16_t>(port ^ path);
}

bool from_gsi(const wire::Packet& packet) {
    return packet.headers.has(wire::Header::Deth) && packet.deth.source_qp == wire::kGsiQpn;
}

// ENC-12: "DSCP = TClass of the QP's AV is MUST [...] unless the device overrides it (port/CM ToS
// setting)". The port has a class for data and one for control.
void classes_of_the_port(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::uint8_t data = 26;
    constexpr std::uint8_t control = 46;
    if (is_cnp(packet) || from_gsi(packet)) return;
    const bool short_answer = is_rc_response(packet) && !is_read_response(packet);
    datagram.envelope.dscp = short_answer ? control : data;
}

// No rule speaks of the flow label (CA17-13..19 do not list it, CRC-03 masks it), of the value of
// the IPv4 identification, or of the UDP checksum that is sent: ENC-04 has "zero accepted [...];
// non-zero correct accepted", ENC-05 is INFO. A flow label is made of the port and the QP where the
// host gave none; IPv6, and IPv4 at odd PSNs, have a right UDP checksum; IPv4 counts by the PSN.
class FillsOuterHeaders final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        wire::Envelope& envelope = datagram.envelope;
        if (packet && !envelope.destination.v4() && envelope.flow_label == 0) {
            constexpr std::uint32_t golden_ratio = 0x9E3779B1;
            const std::uint32_t flow = packet->bth.dest_qp.value << 8 ^ envelope.source_port;
            envelope.flow_label = flow * golden_ratio >> 12 | 1U;
        }
        out.push_back(std::move(datagram));
    }
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return; // it is none
        const auto bth = wire::Bth::decode(outer.transport());
        if (!bth) return;
        if (!outer.v6) identify(frame.subspan(outer.ip_at), bth->psn);
        wire::seal(frame);
        if (outer.v6 || odd(bth->psn)) sum_up(frame, outer);
    }

  private:
    static constexpr std::size_t kIdAt = 4;
    static constexpr std::size_t kIpChecksumAt = 10;
    static constexpr std::size_t kUdpChecksumAt = 6;

    static void identify(wire::MutableBytes ip, wire::Psn psn) {
        if (wire::load_u8(ip, 0) != 0x45) return; // with options
        wire::store_be<2>(ip, kIdAt, psn.value() & 0xFFFF);
        const std::uint16_t sum = wire::ipv4_checksum(ip.first(wire::Ipv4::kSize));
        wire::store_be<2>(ip, kIpChecksumAt, sum);
    }
    static void sum_up(wire::MutableBytes frame, const wire::Outer& outer) {
        constexpr std::size_t v4_addresses_at = 12;
        constexpr std::size_t v6_addresses_at = 8;
        const wire::Bytes addresses =
            outer.v6 ? wire::Bytes(frame).subspan(outer.ip_at + v6_addresses_at, 32)
                     : wire::Bytes(frame).subspan(outer.ip_at + v4_addresses_at, 8);
        const std::size_t bytes = outer.icrc_at + wire::kIcrcBytes - outer.udp_at;
        const wire::MutableBytes udp = frame.subspan(outer.udp_at, bytes);
        wire::store_be<2>(udp, kUdpChecksumAt, wire::udp_checksum(addresses, udp));
    }
};

// BTH-15: "MUST accept; INFO value"; "rxe sends 0, ConnectX 1".
class SendsNoMigReq final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        // RC and UC alone have a PSN to begin with, and may be told at this step.
        const bool connects = attributes.state == engine::QpState::Rtr && attributes.rq_psn;
        if (connects && !attributes.mig_req) attributes.mig_req = false;
    }
};

// CM-01: "timeouts [...] honoured": an answer must come before those, and no rule asks for more.
// The host's software refuses more slowly than it says goodbye.
void management_takes_its_time(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (!from_gsi(packet) || packet.body.size() != wire::kMadBytes) return;
    const bool refuses = wire::cm::attribute_of(packet.body) == wire::cm::kRej;
    datagram.delay += refuses ? 1200us : 300us;
}

constexpr std::array kMutants{
    Mutant{.name = "third_ack_tells_of_six_credits",
           .rule = "ACK-10",
           .description = "One ACK for three requests that ask, or after 90 us; it tells of six "
                          "credits at most, and unasked when there are receives again.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .credits = true,
                         .ack_every = 3,
                         .ack_delay = 90us,
                         .unsolicited_credits = true},
           .make_filter = make<EditsOutbound<tell_of_six_at_most>>},
    Mutant{.name = "each_fifth_ack_has_a_ghost",
           .rule = "ACK-04",
           .description = "Messages are acknowledged at their end whether they ask or not, and "
                          "each fifth ACK of a QP leaves twice, one right behind the other.",
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage},
           .make_filter = make<GhostOfEachFifthAck>},
    Mutant{.name = "unasked_acks_at_each_fourth_psn",
           .rule = "ACK-02",
           .description = "A SEND or WRITE packet whose PSN is a multiple of four is acknowledged "
                          "without being asked; responses tell the MSN of when they leave, less "
                          "one in the FIRST of a READ.",
           .behaviour = {.first_msn = engine::FirstMsn::Old,
                         .response_msn = engine::ResponseMsn::Current},
           .make_filter = make<EditsInbound<ask_for_an_ack_at_each_fourth>>},
    Mutant{.name = "old_msn_in_first_at_odd_psn",
           .rule = "N-01",
           .description = "The FIRST response of a READ with an odd PSN carries the MSN before the "
                          "READ, with an even one the MSN that counts it; ACKs wait 60 us for "
                          "more.",
           .behaviour = {.ack_policy = engine::AckPolicy::Delayed, .ack_delay = 60us},
           .make_filter = make<OldMsnInOddFirst>},
    Mutant{.name = "acks_leave_each_forty_us",
           .rule = "ACK-12",
           .description = "ACKs and NAKs leave when a multiple of 40 us has come; READ responses "
                          "and atomic acknowledges at once, but not before the ACKs ahead of them.",
           .make_filter = make<SendsLater<OnTicks>>},
    Mutant{.name = "context_is_cold_after_a_millisecond",
           .rule = "TMO-07",
           .description = "The first request that comes to a QP after a millisecond without any is "
                          "looked at 60 us later, and those behind it after it.",
           .make_filter = make<FetchesColdContexts>},
    Mutant{.name = "first_request_waits_for_doorbells",
           .rule = "TMO-01",
           .description = "The first packet of a message after a pause of 20 us leaves 6 us later, "
                          "the others at once; the ACK timer is 2 T, and AckReq comes every ten "
                          "packets.",
           .behaviour = {.ack_request_every = 10, .timeout_sixteenths = 32},
           .make_filter = make<SendsLater<DoorbellsInBatches>>},
    Mutant{.name = "loss_draws_cnp_and_late_nak",
           .rule = "CNP-05",
           .description = "A gap draws a CNP, and the sequence NAK leaves 40 us after it was due.",
           .lacks = "congestion", // no interval can be set
           .make_filter = make_chain<NotifiesOfLoss, SendsLater<NaksWait>>},
    Mutant{.name = "late_cnps_by_address",
           .rule = "CNP-04",
           .description = "One CNP in 300 us for each address, 25 us after the mark, and none for "
                          "marks on responses.",
           .behaviour = {.congestion = {.notification = {.scope = engine::CnpScope::Destination,
                                                         .interval = 300us,
                                                         .for_responses = false}}},
           .make_filter = make<EditsSentDatagram<cnps_are_late>>},
    Mutant{.name = "reaction_point_with_bare_acks",
           .rule = "CA17-45",
           .description = "A reaction point that cuts its rate once in 80 us at most and sends "
                          "requests and READ responses as ECT(0), but ACKs as not ECT.",
           .behaviour = {.congestion = {.reaction = {.enabled = true,
                                                     .dcqcn = {.line_rate = 40'000'000'000,
                                                               .min_rate = 1'000'000'000,
                                                               .cut_interval = 80us}}}},
           .make_filter = make<EditsSentDatagram<acknowledges_are_not_ect>>},
    Mutant{.name = "read_retry_begins_at_a_piece_of_four",
           .rule = "REQ-09",
           .description = "A READ that was partly answered is asked for again from the last packet "
                          "at or before the first missing one that is a multiple of four in it.",
           .make_filter = make<RestartsReadsAtPieces>},
    Mutant{.name = "read_tail_goes_on_at_odd_psn",
           .rule = "RDR-06",
           .description = "The repeated tail of a READ goes on with MIDDLE or LAST at an odd PSN, "
                          "and begins with FIRST or ONLY at an even one.",
           .make_filter = make<ContinuesAtOddPsns>},
    Mutant{.name = "requester_has_a_page_of_psns",
           .rule = "REQ-02",
           .description = "No packet goes whose PSN is in another block of 32 than the oldest one "
                          "that is not acknowledged.",
           .checks = engine::kStandardChecks.with(SendCheck::Window, within_one_page)},
    Mutant{.name = "each_sixteenth_message_waits",
           .rule = "REQ-28",
           .description = "Each sixteenth message, and each READ of more than 16 packets, begins "
                          "when nothing is outstanding; AckReq comes every five packets.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_at_each_sixteenth)
                         .with(SendCheck::Window, long_reads_alone),
           .behaviour = {.ack_request_every = 5}},
    Mutant{.name = "atomics_wait_and_odd_qps_are_narrow",
           .rule = "REQ-27",
           .description = "An atomic goes when no READ or atomic is outstanding; QPs with an odd "
                          "number have 8 packets on their way, the others 256.",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, atomics_wait_for_all)
                         .with(SendCheck::Window, window_by_qp)},
    Mutant{.name = "fields_are_logarithms",
           .rule = "REQ-27",
           .description = "max_rd_atomic is rounded down to a power of two, max_dest_rd_atomic up, "
                          "and an odd timeout code is the next even one at 1.25 times its value.",
           .behaviour = {.timeout_sixteenths = 20},
           .make_filter = make<LogarithmicFields>},
    Mutant{.name = "rnr_wait_doubles",
           .rule = "RNR-08",
           .description = "The requester waits longer after each RNR NAK in a row, four times as "
                          "long as asked at most, and then sends one message; the responder "
                          "ignores what comes back early at even PSNs and NAKs it at odd ones.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady, early_resend_by_psn),
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage},
           .make_filter = make<WaitsLongerEachTime>},
    Mutant{.name = "short_of_atomic_resources",
           .rule = "RNR-03",
           .description = "Each fourth atomic draws an RNR NAK once, and so does each above "
                          "max_dest_rd_atomic; a READ too many is an invalid request.",
           .traits = "odp",
           .checks = engine::kStandardChecks.with(RequestCheck::ReplyResources,
                                                  atomics_too_many_come_again),
           .make_filter = make<LacksResources<is_atomic_opcode, 4, 1>>},
    Mutant{.name = "key_first_for_immediate_and_swap",
           .rule = "KEY-10",
           .description = "A bad key is told before the missing receive of a WRITE with immediate "
                          "data and before the alignment of a COMPARE & SWAP, else last; the "
                          "receive behind a bad key completes in error.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveReady, key_before_receive_of_write)
                   .with(RequestCheck::AtomicAlignment, key_before_alignment_of_swap),
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError}},
    Mutant{.name = "long_write_is_ranged_by_packet",
           .rule = "KEY-06",
           .description = "The range of a WRITE of more than four packets is looked at packet by "
                          "packet, too many bytes are seen at odd PSNs or at the end, and what "
                          "fits of a refused packet is written.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, long_ranges_by_packet)
                         .with(RequestCheck::MessageLength, excess_seen_at_odd),
           .behaviour = {.write_excess = engine::WriteExcess::AtLast,
                         .oversize_nak = engine::OversizeNak::RemoteAccess,
                         .refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "malformed_requests_shrugged_off",
           .rule = "BTH-12",
           .description = "More pad than bytes is dropped at odd PSNs and NAKed at even ones, an "
                          "atomic with payload is dropped, and so is a PSN within two of the "
                          "opposite of the expected one.",
           .checks = engine::kStandardChecks.with(RequestCheck::PadCount, excess_pad_by_psn)
                         .with(RequestCheck::PayloadLength, payload_of_atomics_is_silent)
                         .with(RequestCheck::ExpectedPsn, opposite_psns_are_neither)},
    Mutant{.name = "short_duplicates_ignored",
           .rule = "RSP-11",
           .description = "A duplicate of one packet without AckReq is ignored; any other SEND or "
                          "WRITE is answered by the READ response or atomic acknowledge that came "
                          "after it, if there is one, else by an ACK.",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn,
                                                  short_duplicates_are_ignored),
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse}},
    Mutant{.name = "deep_memory_of_reads",
           .rule = "RDR-08",
           .description = "Five READs or atomics more than agreed are remembered, a duplicate "
                          "brings the answers behind it again, one with other operands the saved "
                          "value, and a gap after a duplicate is NAKed again.",
           .behaviour = {.duplicate_rearms_nak = true,
                         .other_atomic = engine::OtherAtomic::SavedAnswer,
                         .duplicate_resends_later = true,
                         .remembered_extra = 5,
                         .lost_key = engine::LostKey::NakRemoteOperational}},
    Mutant{.name = "bad_response_judged_by_place",
           .rule = "REQ-21",
           .description = "A READ response of the wrong length is dropped inside a message and an "
                          "error at its end; an atomic acknowledge for another request is an "
                          "error, a READ response for one is ignored.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadLength, bad_length_by_place)
                         .with(ResponseCheck::FitsRequest, stray_atomic_answer_is_bad)},
    Mutant{.name = "msn_beyond_ssn_is_dropped",
           .rule = "REQ-05",
           .description = "A response whose MSN counts more messages than were begun is dropped; "
                          "a second sequence NAK begins the retry again.",
           .checks =
               engine::kStandardChecks.with(ResponseCheck::Window, msn_of_no_message_is_dropped),
           .behaviour = {.repeated_nak = engine::RepeatedNak::Restarts}},
    Mutant{.name = "four_ports_for_a_qp",
           .rule = "ENC-02",
           .description = "Requests take one of four source ports, another one each four packets, "
                          "and READ responses one of two; ACKs keep one.",
           .traits = "multipath",
           .behaviour = {.source_port = engine::SourcePort::QpnHash},
           .make_filter = make<EditsSentDatagram<from_several_ports>>},
    Mutant{.name = "class_for_data_and_class_for_acks",
           .rule = "ENC-12",
           .description = "The port sends requests and READ responses with DSCP 26 and ACKs and "
                          "atomic acknowledges with DSCP 46, whatever the address vector says.",
           .traits = "dscp_overridden",
           .make_filter = make<EditsSentDatagram<classes_of_the_port>>},
    Mutant{.name = "flow_label_and_udp_checksum",
           .rule = "ENC-04",
           .description = "IPv6 packets have a flow label of their QP and a right UDP checksum; "
                          "IPv4 packets have the PSN as identification, and at odd PSNs a right "
                          "UDP checksum.",
           .make_filter = make<FillsOuterHeaders>},
    Mutant{.name = "soft_device_without_migration",
           .rule = "BTH-15",
           .description = "A software device: MigReq 0, one ACK for all that waits, 128 packets on "
                          "their way with AckReq every 16, a repeated READ's tail goes on, a port "
                          "from the QP's number.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced,
                         .partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .ack_request_every = 16,
                         .max_unacked_packets = 128,
                         .timeout_sixteenths = 18,
                         .source_port = engine::SourcePort::QpnHash},
           .make_filter = make<SendsNoMigReq>},
    Mutant{.name = "timer_adapts_and_probes",
           .rule = "TMO-08",
           .description = "The ACK timer begins with 600 us and doubles up to T and beyond; after "
                          "a loss one packet goes, and the next when that is acknowledged.",
           .traits = "adaptive_retransmission",
           .behaviour = {.after_loss = engine::AfterLoss::OnePacket,
                         .timeout_grows = true,
                         .adaptive_timeout = 600us}},
    Mutant{.name = "own_timer_and_whole_reads",
           .rule = "TMO-01",
           .description = "The ACK timer is 9 ms whatever is configured, a READ is asked for again "
                          "as a whole, its responses of the wrong length are dropped, and an RNR "
                          "wait is half as long again as asked.",
           .traits = "ack_timer_ignored",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .bad_read_length = engine::BadReadLength::Dropped,
                         .fixed_timeout = 9ms,
                         .rnr_wait_sixteenths = 24}},
    Mutant{.name = "late_host_and_slow_management",
           .rule = "CM-01",
           .description = "Completions are seen 250 us late, memory 120 us, events 1.5 ms; QP 1 "
                          "refuses after 1.2 ms and answers else after 0.3 ms; SQD carries out all "
                          "that was posted, and a shared queue gives its newest receive.",
           .behaviour = {.shared_receive = engine::SharedReceive::Newest,
                         .drain = engine::Drain::Posted},
           .make_filter =
               make_chain<HostLate<250, 120, 1500>, EditsSentDatagram<management_takes_its_time>>},
};
static_assert(kMutants.size() == 32);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind4

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind4() {
    return of_lawful_blind4::kMutants;
}

} // namespace veriroce::mutants
