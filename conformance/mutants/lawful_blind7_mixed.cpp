// Lawful devices that were written without a look at the cases: responders, requesters, hosts and
// ports, as adapters, FPGA cores and software do it.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::mutants::of_lawful_blind7_mixed {
namespace {

using engine::Behaviour;
using engine::DuplicateCheck;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::Operation;
using wire::Position;

// --- what several of them ask

bool is_atomic(const wire::OpcodeInfo& info) {
    return info.operation == Operation::CompareSwap || info.operation == Operation::FetchAdd;
}

// The verdict of the checks of the key, in their order.
RequestVerdict key_verdict(const RequestView& view) {
    namespace right = engine::request_check;
    constexpr std::array checks{right::key_known, right::key_variant, right::key_domain,
                                right::key_rights, right::key_range};
    for (const auto check : checks) {
        const RequestVerdict verdict = check(view);
        if (verdict != RequestVerdict::Accept) return verdict;
    }
    return RequestVerdict::Accept;
}

// --- the responder's acknowledges

// ACK-04: "Unsolicited/ghost ACK repeats a PSN". ACK-02: "ACK allowed". The ACK is the newest that
// was sent, with the same PSN and MSN, and it never has the PSN of a READ.
class RepeatsAckBeforeNak final : public QpFilter<std::optional<wire::Packet>> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        std::optional<wire::Packet>& last = qp.memory;
        if (is_ack(packet)) {
            last = packet;
            last->body = {};
            return;
        }
        const bool next = last && is_sequence_nak(packet) && last->bth.psn + 1 == packet.bth.psn &&
                          last->aeth.msn == packet.aeth.msn;
        if (next) passage.before.push_back(*last);
        last.reset();
    }
};

// ACK-02: "AckReq=0 -> no obligation; ACK allowed". RSP-11: "duplicate without AckReq may be
// ignored | both accepted".
void ask_on_grid(wire::Packet& packet) {
    constexpr std::uint32_t grid = 4;
    if (!is_rc_request(packet)) return;
    const bool wanted =
        packet.bth.psn.value() % grid == grid - 1 || packet.info().position == Position::First;
    packet.bth.ack_request |= wanted;
}

// ACK-03, ACK-12, RSP-16: how late an answer leaves is INFO. The answers of a QP keep their order
// (RDR-11). The contexts of QPs wait in host memory; the port holds the newest four.
class CachesContexts final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) {
            wire::Instant& free = free_[packet->bth.dest_qp];
            const wire::Duration fetch = hit(packet->bth.dest_qp, now) ? wire::Duration{0} : kFetch;
            const wire::Instant earliest = std::max(free, now + datagram.delay);
            free = std::max(free, std::min(earliest + fetch, now + datagram.delay + kMost));
            datagram.delay = free - now;
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Context {
        wire::Qpn peer;
        wire::Instant used;
    };
    bool hit(wire::Qpn peer, wire::Instant now) {
        const auto found = std::ranges::find(held_, peer, &Context::peer);
        const bool there = found != held_.end() && now - found->used < kEvicted;
        if (found != held_.end()) held_.erase(found);
        held_.push_back({.peer = peer, .used = now});
        if (held_.size() > kHeld) held_.pop_front();
        return there;
    }
    static constexpr std::size_t kHeld = 4;
    static constexpr wire::Duration kFetch = microseconds(25);
    static constexpr wire::Duration kMost = microseconds(100);
    static constexpr wire::Duration kEvicted = microseconds(300);
    std::deque<Context> held_;
    std::map<wire::Qpn, wire::Instant> free_;
};

// --- the responder's READs and atomics

// N-01, RDR-03: "in FIRST it may or may not be incremented"; "FIRST: >= msn(READ)-1".
class OldMsnAtOddFirst final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        const bool again = qp.memory.note(packet.bth.psn);
        const bool first = is_read_response(packet) && packet.info().position == Position::First;
        if (!again && first && packet.bth.psn.value() % 2 == 1) {
            packet.aeth.msn = packet.aeth.msn + -1;
        }
    }
};

// ACK-12: latency is INFO; RDR-11: "responses and ACKs leave in PSN order".
struct SlowAtomics {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration unit = microseconds(20);
        const bool atomic = packet.info().operation == Operation::AtomicAcknowledge;
        const wire::Instant at = atomic ? earliest + unit : earliest;
        return {.at = at, .next = at};
    }
};

// RDR-09: "NAK Invalid Request (or recycle ...)", code INFO. RNR-03: "PEN RNR-NAKs an ATOMIC when
// out of atomic resources". max_dest_rd_atomic 0 stays a NAK (RDR-10).
RequestVerdict excess_by_kind(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::reply_resources(view);
    const bool waits = verdict == RequestVerdict::NakInvalidRequest && is_atomic(view.info) &&
                       view.connection.max_dest_rd_atomic > 0;
    return waits ? RequestVerdict::Rnr : verdict;
}

// ATM-05: "silent or saved answer; never executed".
bool saved_answer_of_fetch_add(const RequestView& view) {
    if (view.info.operation == Operation::FetchAdd && view.saved != nullptr) {
        const bool atomic =
            wire::opcode_info(view.saved->opcode).headers.has(wire::Header::AtomicEth);
        return atomic && view.saved->psn == view.packet.bth.psn;
    }
    return engine::duplicate_check::same_atomic(view);
}

// G3: "Responders may drop a duplicate READ/ATOMIC while another is being served". All answers of
// RC leave 20 us after they are made, in their order; while the first packet of an answer is in
// this pipe, a duplicate of its request makes no second one.
class DropsDuplicateOfWaiting final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        const auto peer = report.attributes.dest_qp;
        if (report.state == engine::QpState::Reset || !peer) {
            qp_destroyed(report.qpn); // STA-10
        } else {
            peers_.insert_or_assign(report.qpn, *peer);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override {
        const auto known = peers_.find(qpn);
        if (known == peers_.end()) return;
        const wire::Qpn peer = known->second;
        std::erase_if(waiting_, [peer](const auto& one) { return one.first.first == peer; });
        peers_.erase(known);
    }
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool asks = packet && is_rc_request(*packet) &&
                          (is_read_request(*packet) || is_atomic_request(*packet));
        const auto peer = asks ? peers_.find(packet->bth.dest_qp) : peers_.end();
        if (peer != peers_.end()) {
            const auto waits = waiting_.find({peer->second, packet->bth.psn.value()});
            if (waits != waiting_.end() && waits->second > now) return;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) {
            datagram.delay += kPipe;
            std::erase_if(waiting_, [now](const auto& one) { return one.second <= now; });
            const bool begins = packet->info().starts_message() &&
                                packet->info().operation != Operation::Acknowledge;
            if (begins) {
                waiting_.insert_or_assign({packet->bth.dest_qp, packet->bth.psn.value()},
                                          now + datagram.delay);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    static constexpr wire::Duration kPipe = microseconds(20);
    std::map<wire::Qpn, wire::Qpn> peers_; // by our QP
    std::map<std::pair<wire::Qpn, std::uint32_t>, wire::Instant> waiting_;
};

// --- the responder's faults

// KEY-10, ATM-03: "which NAK wins" is INFO: FETCH_ADD asks for its key first, CMP_SWAP for its
// alignment.
RequestVerdict alignment_or_key(const RequestView& view) {
    if (view.info.operation == Operation::FetchAdd) {
        const RequestVerdict verdict = key_verdict(view);
        if (verdict != RequestVerdict::Accept) return verdict;
    }
    return engine::request_check::atomic_alignment(view);
}

// KEY-10: "RNR vs rkey for WRITE_ONLY_IMM ... all either way".
RequestVerdict key_before_receive(const RequestView& view) {
    const bool write = view.info.operation == Operation::RdmaWrite &&
                       view.info.position == Position::Only && view.info.immediate();
    if (write) {
        const RequestVerdict verdict = key_verdict(view);
        if (verdict != RequestVerdict::Accept) return verdict;
    }
    return engine::request_check::receive_ready(view);
}

// LEN-05: "{0x61, 0x62} both legal unless the R_Key really covers > 2^31 bytes".
RequestVerdict long_read_has_no_key(const RequestView& view) {
    constexpr std::uint32_t longest = 0x80000000;
    const bool too_long =
        view.info.operation == Operation::RdmaReadRequest && view.packet.reth.dma_length > longest;
    if (too_long) return RequestVerdict::NakRemoteAccess;
    return engine::request_check::message_length(view);
}

// BTH-12: "NAK 0x61 is a lawful answer ... silent also".
RequestVerdict excess_pad_by_kind(const RequestView& view) {
    if (view.packet.pad_exceeds_body()) {
        return view.info.operation == Operation::Send ? RequestVerdict::NakInvalidRequest
                                                      : RequestVerdict::Drop;
    }
    return engine::request_check::pad_count(view);
}

// ATM-07: "INFO (silent, NAK 0x61 or ignored)".
RequestVerdict stray_payload_by_kind(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (read && !view.packet.body.empty()) return RequestVerdict::Drop;
    return engine::request_check::payload_length(view);
}

// --- what the requester sends

// REQ-02: "never more than"; how much less is the device's choice. One packet more than the oldest
// may always be out, so that nothing stalls.
bool window_by_trouble(const SendView& view) {
    constexpr std::uint32_t calm = 64;
    constexpr std::uint32_t after_rnr = 8;
    constexpr std::uint32_t least = 2;
    std::uint32_t most = std::max(calm >> view.outbound.retries, least);
    if (view.outbound.rnr_retries > 0) most = std::min(most, after_rnr);
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    return out == 0 || std::uint64_t{out} + view.packets <= most;
}

// REQ-27: "outstanding READ+ATOMIC <= max_rd_atomic": an upper bound.
bool atomics_alone_reads_by_half(const SendView& view) {
    if (!engine::wants_response(view.request.opcode)) return true;
    const std::uint32_t out = view.outbound.outstanding_rd_atomic;
    if (engine::is_atomic(view.request.opcode)) {
        return out == 0 && engine::send_check::rd_atomic(view);
    }
    const std::uint32_t half = std::max(view.connection.max_rd_atomic / 2U, 1U);
    return out < half && engine::send_check::rd_atomic(view);
}

// REQ-28: "FENCE waits for all earlier READ/ATOMIC"; no rule says that nothing else may wait.
bool endings_wait_as_if_fenced(const SendView& view) {
    using engine::WrOpcode;
    const WrOpcode opcode = view.request.opcode;
    const bool waits = opcode == WrOpcode::SendWithImm || opcode == WrOpcode::SendWithInv ||
                       opcode == WrOpcode::RdmaWriteWithImm || engine::is_local(opcode);
    return engine::send_check::fence(view) && (!waits || view.outbound.outstanding_rd_atomic == 0);
}

struct AskedRead {
    wire::Psn psn;
    std::uint32_t packets = 1;
};
struct AskedReads : Outgoing {
    std::deque<AskedRead> reads;
};

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN". The
// device notes how far a READ has come at every fourth packet only.
class RestartsReadAtFourth final : public FollowsRequests<AskedReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet) || !is_rc_request(packet)) return;
        std::deque<AskedRead>& reads = qp.memory.reads;
        if (!again) {
            reads.push_back({.psn = packet.bth.psn,
                             .packets = wire::packets_of(packet.reth.dma_length, qp.mtu())});
            if (reads.size() > kKept) reads.pop_front();
            return;
        }
        for (const AskedRead& read : reads) {
            const std::int32_t offset = wire::distance(read.psn, packet.bth.psn);
            if (offset < 0 || static_cast<std::uint32_t>(offset) >= read.packets) continue;
            const auto back = static_cast<std::uint32_t>(offset) % kStep;
            const std::uint32_t bytes = back * wire::bytes_of(qp.mtu());
            packet.bth.psn += -static_cast<std::int64_t>(back);
            packet.reth.virtual_address -= bytes;
            packet.reth.dma_length += bytes;
            return;
        }
    }

  private:
    static constexpr std::size_t kKept = 64;
    static constexpr std::uint32_t kStep = 4;
};

// BTH-18: "AckReq set at least on the last packet". REQ-31: "AckReq may change".
class AsksByPsnAndWhenResent final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        constexpr std::uint32_t grid = 8;
        if (!is_rc_request(packet)) return;
        packet.bth.ack_request |= again || packet.bth.psn.value() % grid == grid - 1;
    }
};

// RNR-08: "waits at least the coded time": "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)".
// The wheel has no slot below 0.64 ms, and above it every second code's.
void coarse_rnr_wheel(wire::Packet& packet) {
    constexpr std::uint8_t finest = 12; // 0.64 ms
    constexpr std::uint8_t longest_but_zero = 31;
    if (!is_rnr_nak(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code == 0 || code == longest_but_zero) return;
    const auto slot = static_cast<std::uint8_t>(std::max<int>(code + code % 2, finest));
    packet.aeth.syndrome = wire::Syndrome::rnr(std::min<std::uint8_t>(slot, longest_but_zero));
}

// --- what the requester makes of responses

// REQ-21: "LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry". Of a MIDDLE the device does
// not look at more than whether it may be placed.
ResponseVerdict wrong_length_by_place(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::read_length(view);
    if (verdict != ResponseVerdict::LengthError) return verdict;
    if (view.info.position == Position::Middle) return ResponseVerdict::Drop;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    return view.packet.payload().size() > full ? ResponseVerdict::BadResponse : verdict;
}

// REQ-25: "error completion or ignore"; REQ-24 the same: an ATOMIC_ACK in a wrong place is an
// error, a READ response is ignored. REQ-20: an ACK of a READ may be ignored or make it retry.
ResponseVerdict unfit_by_kind(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::fits_request(view);
    const bool odd = verdict == ResponseVerdict::Drop && view.request &&
                     view.info.operation == Operation::AtomicAcknowledge;
    return odd ? ResponseVerdict::BadResponse : verdict;
}

// --- ports

// No rule names the flow label but CRC-03, which masks it; REQ-31: resent packets may go another
// way. Each time a QP begins to send again its requests get another label, as Linux' PLB does it.
class NewLabelAfterLoss final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            Flow& flow = flows_[packet->bth.dest_qp];
            const bool again = flow.newest.note(packet->bth.psn);
            if (again && !flow.again) ++flow.hops;
            flow.again = again;
            constexpr std::uint32_t step = 0x1357;
            constexpr std::uint32_t mask = 0xFFFFF;
            datagram.envelope.flow_label = (datagram.envelope.flow_label + flow.hops * step) & mask;
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        NewestPsn newest;
        bool again = false;
        std::uint32_t hops = 0;
    };
    std::map<wire::Qpn, Flow> flows_; // by the peer's QP
};

// The trait `multipath`: "sends the packets of a QP from several UDP ports". A flowlet ends with a
// pause of 50 us; ENC-03: receivers ignore the port.
class PortByFlowlet final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Rc) {
            Flow& flow = flows_[packet->bth.dest_qp];
            if (flow.last && now - *flow.last > kPause) ++flow.number;
            flow.last = now;
            constexpr std::uint32_t upper_quarter = 0xC000;
            constexpr std::uint32_t step = 0x0111;
            const std::uint32_t port = datagram.envelope.source_port + flow.number * step;
            datagram.envelope.source_port =
                static_cast<std::uint16_t>(upper_quarter | (port & 0x3FFF));
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        std::optional<wire::Instant> last;
        std::uint32_t number = 0;
    };
    static constexpr wire::Duration kPause = microseconds(50);
    std::map<wire::Qpn, Flow> flows_;
};

// ENC-04, ENC-05: a right checksum or none. Only what lies in the first buffer of the port, 128
// bytes, gets one. No rule names the IPv4 identification (CRC-06 covers it), and as nothing is
// fragmented it may repeat: it is the lower half of the PSN.
class SumsShortFrames final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        if (!outer.v6) {
            constexpr std::size_t id_at = 4;
            constexpr std::size_t checksum_at = 10;
            constexpr std::size_t psn_at = 10;
            const wire::MutableBytes header =
                frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
            wire::store_be<2>(header, id_at, wire::load_u16(frame, outer.bth_at + psn_at));
            wire::store_be<2>(header, checksum_at, wire::ipv4_checksum(header));
            wire::seal(frame);
        }
        const std::size_t end = outer.icrc_at + wire::kIcrcBytes;
        const wire::MutableBytes datagram = frame.subspan(outer.udp_at, end - outer.udp_at);
        constexpr std::size_t buffer = 128;
        if (datagram.size() > buffer) return;
        const wire::Bytes addresses =
            outer.v6 ? frame.subspan(outer.ip_at + 8, 32) : frame.subspan(outer.ip_at + 12, 8);
        constexpr std::size_t udp_checksum_at = 6;
        wire::store_be<2>(datagram, udp_checksum_at, wire::udp_checksum(addresses, datagram));
    }
};

// ACK-12: nothing says how soon a packet is looked at. The receive side of the port sleeps after
// 500 us without a packet; it takes 15 us to wake, and what comes meanwhile waits in order. What is
// for no QP that receives is dropped at once (STA-01, STA-02).
class SleepsWhenIdle final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (engine::receives(report.state)) {
            receiving_.insert(report.qpn);
        } else {
            receiving_.erase(report.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { receiving_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const bool slept = !last_ || now - *last_ > kSleep;
        last_ = now;
        if (slept) awake_ = now + kWake;
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && receiving_.contains(packet->bth.dest_qp)) {
            // What comes at that very moment does not overtake what has waited for it.
            if (now == awake_) awake_ += wire::Duration(1);
            datagram.delay = std::max(datagram.delay, awake_ - now);
        }
        in.push_back(std::move(datagram));
    }

  private:
    static constexpr wire::Duration kSleep = microseconds(500);
    static constexpr wire::Duration kWake = microseconds(15);
    std::optional<wire::Instant> last_;
    wire::Instant awake_;
    std::set<wire::Qpn> receiving_;
};

// REQ-02: how fast requests leave is free. After every fourth PSN of a QP its requests pause for 2
// us; answers do not wait for them. The window keeps the queue below 20 us, and the timer is 3 T
// (TMO-01), so that T has passed after the packet has left, too.
struct BurstsOfFour {
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration pause = microseconds(2);
        constexpr std::uint32_t burst = 4;
        const bool ends = packet.bth.psn.value() % burst == burst - 1;
        return {.at = earliest, .next = ends ? earliest + pause : earliest};
    }
};

// --- hosts

// Of a failed work request the verbs promise the ID, the QP and the status: the opcode is
// "meaningless unless Success" (verbs.hpp), and so are length and immediate data.
class ErrorsSayLittle final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        if (one.status != engine::WcStatus::Success) {
            seen.opcode =
                one.queue == engine::Queue::Send ? engine::WcOpcode::Recv : engine::WcOpcode::Send;
            seen.byte_len = 0xFFFFFFFF;
            seen.imm.reset();
            seen.invalidated_rkey.reset();
        }
        return seen;
    }
};

// REQ-27: "3 must be rounded (direction differs by driver)"; "sending 2 is legal. Read back with
// query_qp". RDR-09, ATM-06: a deeper store is legal.
class DepthsArePowersOfTwo final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (auto& ours = attributes.max_rd_atomic) *ours = std::bit_floor(*ours);
        auto& theirs = attributes.max_dest_rd_atomic;
        constexpr std::uint8_t most = 16;
        if (theirs && *theirs > 0 && *theirs <= most) *theirs = std::bit_ceil(*theirs);
    }
};

// CM-01: within the timeouts a message may be answered at any time. The host's thread for QP 1 runs
// once in a millisecond.
class ManagementOnTicks final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Ud &&
            packet->deth.source_qp == wire::kGsiQpn) {
            constexpr wire::Duration tick = milliseconds(1);
            const wire::Duration past = (now + datagram.delay).time_since_epoch() % tick;
            if (past.count() != 0) datagram.delay += tick - past;
        }
        out.push_back(std::move(datagram));
    }
};

// RNR-03: "RNR = WQE or other resource not ready"; "an occasional RNR is INFO and the tester must
// obey it". The trait `odp`: "any request may draw an RNR NAK".
bool walks_page_tables(const wire::OpcodeInfo& info) {
    return info.operation == Operation::RdmaReadRequest || is_atomic(info);
}

constexpr std::array kMutants{
    // ACK-04: "Unsolicited/ghost ACK repeats a PSN".
    Mutant{.name = "nak_flushes_the_newest_ack",
           .rule = "ACK-04",
           .description = "Right before a sequence NAK the newest ACK is sent once more, if it is "
                          "for the PSN before the NAK's.",
           .make_filter = make<RepeatsAckBeforeNak>},
    // ACK-12: "ACK latency histogram", INFO.
    Mutant{.name = "answers_wait_for_qp_context_of_four",
           .rule = "ACK-12",
           .description = "The answers of a QP leave 25 us later if it is not among the newest "
                          "four or was silent for 300 us, and those behind them wait in order.",
           .make_filter = make<CachesContexts>},
    // ACK-02: "AckReq=0 -> no obligation; ACK allowed"; RSP-11; N-01: FIRST has the old MSN.
    Mutant{.name = "acks_first_packets_and_every_fourth_psn",
           .rule = "ACK-02",
           .description = "The first packet of a message and each PSN that is 3 modulo 4 are "
                          "acknowledged unasked, other duplicates only if they ask, and the FIRST "
                          "of a READ has the old MSN.",
           .behaviour = {.duplicate_without_ack_request_is_acked = false,
                         .first_msn = engine::FirstMsn::Old},
           .make_filter = make<EditsInbound<ask_on_grid>>},
    // N-01: "FIRST of a READ may carry old or new MSN"; G3: "may resend later responses too".
    Mutant{.name = "old_msn_in_first_at_odd_psns",
           .rule = "N-01",
           .description = "The FIRST response of a new READ has the old MSN if its PSN is odd, and "
                          "after a duplicate all later answers are sent again.",
           .behaviour = {.duplicate_resends_later = true},
           .make_filter = make<OldMsnAtOddFirst>},
    // ACK-12, RDR-11; RDR-03: "MSN may also be higher, because later SEND/WRITEs may already be
    // executed".
    Mutant{.name = "atomics_unit_of_20us_with_current_msn",
           .rule = "RDR-11",
           .description = "Each atomic takes 20 us, the QP's later answers wait for it in order, "
                          "and responses carry the MSN of the time when they are made.",
           .behaviour = {.response_msn = engine::ResponseMsn::Current},
           .make_filter = make<SendsLater<SlowAtomics>>},
    // RDR-09: "Keep MUST not corrupt, code INFO"; RNR-03; RNR-05: dropped silently or NAKed again.
    Mutant{.name = "excess_atomic_waits_excess_read_fails",
           .rule = "RDR-09",
           .description = "One atomic too many gets an RNR NAK, one READ too many NAK Invalid "
                          "Request, and a SEND that comes back before its RNR wait is over "
                          "is dropped.",
           .checks = kStandardChecks.with(RequestCheck::ReplyResources, excess_by_kind),
           .behaviour = {.early_resend = engine::EarlyResend::Silent}},
    // KEY-10: "Add pairs: alignment vs rkey, RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all
    // either way".
    Mutant{.name = "fault_order_differs_by_operation",
           .rule = "KEY-10",
           .description = "FETCH_ADD looks at its key before its alignment and CMP_SWAP after, "
                          "WRITE_ONLY_IMM at its key before its receive, and a READ above 2^31 "
                          "bytes is a remote access error.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, alignment_or_key)
                         .with(RequestCheck::ReceiveReady, key_before_receive)
                         .with(RequestCheck::MessageLength, long_read_has_no_key)},
    // BTH-12: NAK or silent; ATM-07: silent, NAK or ignored; N-14: either status; KEY-14.
    Mutant{.name = "malformed_nak_or_silence_by_operation",
           .rule = "BTH-12",
           .description = "More pad than bytes is NAKed in a SEND and dropped elsewhere, payload "
                          "is dropped in a READ request and NAKed in an atomic, and a WRITE with "
                          "a bad key ends its receive with an access error.",
           .checks = kStandardChecks.with(RequestCheck::PadCount, excess_pad_by_kind)
                         .with(RequestCheck::PayloadLength, stray_payload_by_kind),
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError,
                         .refused_data = engine::RefusedData::AsFits}},
    // G3: "Responders may drop a duplicate READ/ATOMIC while another is being served".
    Mutant{.name = "no_second_answer_while_first_is_queued",
           .rule = "RDR-04",
           .description = "Answers leave 20 us after they are made, and a duplicate READ or atomic "
                          "is dropped while the first packet of its answer waits there.",
           .make_filter = make<DropsDuplicateOfWaiting>},
    // ATM-05: "silent or saved answer; never executed"; RDR-06: "accept both"; ATM-06.
    Mutant{.name = "other_fetch_add_gets_saved_answer",
           .rule = "ATM-05",
           .description = "A duplicate FETCH_ADD with other operands gets the saved answer and a "
                          "CMP_SWAP none, five more are remembered, and a READ's repeated tail "
                          "goes on with MIDDLE or LAST.",
           .checks = kStandardChecks.with(DuplicateCheck::SameAtomic, saved_answer_of_fetch_add),
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .remembered_extra = 5}},
    // ACK-03: coalescing; RSP-03: "Duplicate-in-between variant = INFO"; RSP-10 (b): resend of the
    // READ response; RSP-11.
    Mutant{.name = "fifth_ack_and_hfi_like_duplicates",
           .rule = "ACK-03",
           .description = "One ACK for five packets that ask, or after 25 us; a duplicate is "
                          "answered only if it asks, by the READ response after it if there is "
                          "one, and lets the next gap be NAKed.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .duplicate_without_ack_request_is_acked = false,
                         .ack_every = 5,
                         .ack_delay = microseconds(25),
                         .duplicate_rearms_nak = true}},
    // ACK-03: coalescing; ACK-12: "ACK latency histogram", both INFO.
    Mutant{.name = "receive_side_sleeps_when_idle",
           .rule = "ACK-12",
           .description = "After 500 us without a packet the port looks at the next ones 15 us "
                          "late, and each ACK covers all that has waited.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced},
           .make_filter = make<SleepsWhenIdle>},

    // REQ-02: "Limit is 8,388,608": an upper bound. TMO-01: T .. 4 T.
    Mutant{.name = "window_halves_with_each_retry",
           .rule = "REQ-02",
           .description = "At most 64 packets are on their way, half of that for each retry since "
                          "the last progress and 8 after an RNR NAK, and the timeout is 2.5 T.",
           .checks = kStandardChecks.with(SendCheck::Window, window_by_trouble),
           .behaviour = {.ack_request_every = 16,
                         .max_unacked_packets = 64,
                         .timeout_sixteenths = 40}},
    // REQ-27: an upper bound; REQ-20: "legal: ignore, retry it".
    Mutant{.name = "atomics_alone_and_half_the_reads",
           .rule = "REQ-27",
           .description = "An atomic waits until no READ or atomic is outstanding, READs use half "
                          "of max_rd_atomic, and an ACK of a READ makes it ask again.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, atomics_alone_reads_by_half),
           .behaviour = {.acknowledged_read = engine::AcknowledgedRead::Retried}},
    // REQ-28; REQ-11: resend from n; REQ-15: INFO; REQ-09: "whole READ again is an identical
    // duplicate".
    Mutant{.name = "immediate_waits_as_if_fenced",
           .rule = "REQ-28",
           .description = "Requests with immediate data or a key to revoke and local ones wait for "
                          "earlier READs, each sequence NAK makes it send again, one packet goes "
                          "first after a loss, and READs are asked for again as a whole.",
           .checks = kStandardChecks.with(SendCheck::Fence, endings_wait_as_if_fenced),
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .repeated_nak = engine::RepeatedNak::Restarts}},
    // REQ-09: "anything from the READ's first PSN to the first missing PSN".
    Mutant{.name = "read_restarts_at_every_fourth_packet",
           .rule = "REQ-09",
           .description = "Lost READ responses are asked for again from the last packet whose "
                          "place in the READ is a multiple of four.",
           .make_filter = make<RestartsReadAtFourth>},
    // BTH-18, REQ-31: "AckReq may change"; TMO-06: "AckReq on some packet of the resend".
    Mutant{.name = "asks_for_acks_by_psn_and_in_resends",
           .rule = "REQ-31",
           .description = "AckReq is set on each PSN that is 7 modulo 8 and on every packet that "
                          "is sent again, and timeouts double from 2 T.",
           .behaviour = {.timeout_sixteenths = 32, .timeout_grows = true},
           .make_filter = make<AsksByPsnAndWhenResent>},
    // RNR-08: "Lower bound only"; RNR-13: "may first send only the NAKed message (CX-4)".
    Mutant{.name = "rnr_wheel_of_640us_then_one_message",
           .rule = "RNR-08",
           .description = "RNR waits are rounded up to 0.64 ms or the next even timer code, and "
                          "then the refused message goes alone.",
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage},
           .make_filter = make<EditsInbound<coarse_rnr_wheel>>},
    // REQ-21: "Expected set: LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry"; REQ-24,
    // REQ-25.
    Mutant{.name = "bad_response_error_by_place",
           .rule = "REQ-21",
           .description = "A MIDDLE of the wrong length is dropped, other READ responses end the "
                          "request, above the MTU as bad responses, and so does an ATOMIC_ACK for "
                          "something else, while a READ response for it is ignored.",
           .checks = kStandardChecks.with(ResponseCheck::ReadLength, wrong_length_by_place)
                         .with(ResponseCheck::FitsRequest, unfit_by_kind)},

    // CRC-03 masks the flow label; no rule says which one is sent.
    Mutant{.name = "new_flow_label_after_each_loss",
           .rule = "CRC-03",
           .description = "Each time a QP begins to send again its requests go on with another "
                          "IPv6 flow label.",
           .make_filter = make<NewLabelAfterLoss>},
    // ENC-02 but for the trait; ENC-03.
    Mutant{.name = "source_port_changes_with_each_flowlet",
           .rule = "ENC-03",
           .description = "After a pause of 50 us a QP's packets leave from another UDP port of "
                          "the upper quarter.",
           .traits = "multipath",
           .make_filter = make<PortByFlowlet>},
    // ENC-04: "0 and valid"; ENC-05: INFO.
    Mutant{.name = "udp_checksum_in_short_frames_only",
           .rule = "ENC-05",
           .description = "UDP datagrams of at most 128 bytes have a checksum and longer ones "
                          "none, and the IPv4 identification is the lower half of the PSN.",
           .make_filter = make<SumsShortFrames>},
    // REQ-02, TMO-01: no rule says how soon a request leaves.
    Mutant{
        .name = "request_bursts_of_four_psns",
        .rule = "REQ-02",
        .description = "After each PSN that is 3 modulo 4 the QP's requests pause for 2 us, at "
                       "most 32 packets are on their way, and the timeout is 3 T.",
        .behaviour = {.ack_request_every = 8, .max_unacked_packets = 32, .timeout_sixteenths = 48},
        .make_filter = make<SendsLater<BurstsOfFour>>},

    // verbs.hpp: "opcode: meaningless unless Success, as in the verbs"; ACK-05.
    Mutant{.name = "error_completions_say_only_status",
           .rule = "KEY-14",
           .description = "Opcode, length and immediate data of failed completions are rubbish, "
                          "and the host sees completions 30 us late.",
           .make_filter = make_chain<ErrorsSayLittle, HostLate<30, 20, 0>>},
    // ACK-05: INFO; N-16: the verbs promise no order; N-14: "may be completed in error or flushed".
    Mutant{.name = "events_late_and_newest_shared_receive",
           .rule = "N-16",
           .description = "Events come 0.9 ms after the completions, the newest receive of a "
                          "shared queue is taken, posts to a QP in ERR are refused, and SQD "
                          "carries out all that was posted.",
           .behaviour = {.shared_receive = engine::SharedReceive::Newest,
                         .drain = engine::Drain::Posted},
           .make_filter = make<HostLate<10, 5, 900, true>>},
    // REQ-27: "3 must be rounded (direction differs by driver)".
    Mutant{.name = "rd_atomic_depths_are_powers_of_two",
           .rule = "REQ-27",
           .description = "max_rd_atomic is rounded down to a power of two and max_dest_rd_atomic "
                          "up, and both are reported so.",
           .make_filter = make<DepthsArePowersOfTwo>},
    // CM-01: "timeouts ... honoured".
    Mutant{.name = "management_answers_on_millisecond_ticks",
           .rule = "CM-01",
           .description = "What QP 1 sends leaves at the next whole millisecond.",
           .make_filter = make<ManagementOnTicks>},
    // RNR-03: "RNR = WQE or other resource not ready".
    Mutant{.name = "page_walk_of_every_sixth_read_or_atomic",
           .rule = "RNR-03",
           .description = "Every sixth READ or atomic whose place is certain gets one RNR NAK.",
           .traits = "odp",
           .make_filter = make<LacksResources<walks_page_tables, 6, 1>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind7_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind7_mixed() {
    return of_lawful_blind7_mixed::kMutants;
}

} // namespace veriroce::mutants
