// Lawful oddities, third blind sample: responders, requesters, the host, and devices that join many
// choices. Written from the rules alone, without a look at the cases, the model or the judge. Each
// row says which words of its rule leave the freedom.
#include <bit>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/splitmix64.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_lawful_blind3 {
namespace {

using namespace std::chrono_literals;

using engine::kStandardChecks;
using engine::NakState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SendCheck;
using engine::SendView;
using wire::Operation;

namespace request_check = engine::request_check;
namespace send_check = engine::send_check;

// A filter that delays or marks packets by the QP that sends them.
class KnowsQps : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        reports_.insert_or_assign(report.qpn, report);
    }
    void qp_destroyed(wire::Qpn qpn) override { reports_.erase(qpn); }

  protected:
    [[nodiscard]] const engine::QpReport* own(wire::Qpn qpn) const {
        const auto found = reports_.find(qpn);
        return found == reports_.end() ? nullptr : &found->second;
    }
    // A QP that has this peer.
    [[nodiscard]] const engine::QpReport* with_peer(wire::Qpn peer) const {
        const auto found = std::ranges::find_if(
            reports_, [peer](const auto& one) { return one.second.attributes.dest_qp == peer; });
        return found == reports_.end() ? nullptr : &found->second;
    }

  private:
    std::map<wire::Qpn, engine::QpReport> reports_;
};

// --- which answers leave, and when

// ACK-02, ACK-04: "AckReq=0: no obligation; ACK allowed". What came before a READ is acknowledged
// before its response, and not by it.
struct NewestAnswer {
    NewestPsn psn;
    std::optional<wire::Msn> msn; // of the answer before
};

class AcknowledgesBeforeReads final : public QpFilter<NewestAnswer> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        const bool first_answer = !qp.memory.psn.psn;
        const bool old = qp.memory.psn.note(packet.bth.psn);
        const bool begins = is_read_response(packet) && packet.info().starts_message();
        // A duplicate may have drawn an ACK that counts the READ already.
        if (!has_aeth(packet)) return;
        const bool counted = std::exchange(qp.memory.msn, packet.aeth.msn) == packet.aeth.msn;
        if (!begins || old || first_answer || counted) return;
        wire::Packet ack = acknowledge(packet.bth.dest_qp, packet.bth.pkey, packet.bth.psn - 1,
                                       packet.aeth.syndrome, packet.aeth.msn + -1);
        ack.bth.mig_req = packet.bth.mig_req;
        passage.before.push_back(ack);
    }
};

// ACK-12: interrupts are moderated while there is much to do.
class ModeratedWhenBusy {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration quiet = 1ms;
        constexpr wire::Duration tick = 250us;
        const auto last = last_.find(packet.bth.dest_qp);
        const bool busy = last != last_.end() && earliest - last->second < quiet;
        const wire::Duration since_tick = earliest.time_since_epoch() % tick;
        const bool waits = busy && since_tick.count() != 0;
        const wire::Instant at = waits ? earliest - since_tick + tick : earliest;
        last_.insert_or_assign(packet.bth.dest_qp, at);
        return {.at = at, .next = at};
    }

  private:
    std::map<wire::Qpn, wire::Instant> last_; // answer, by the peer's QP
};

// ACK-05, ACK-12: the ACK of a WRITE waits until a read behind it has come back from memory.
class AcksOfWritesWait final : public KnowsQps {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto* qp = packet ? own(packet->bth.dest_qp) : nullptr;
        if (qp != nullptr && qp->attributes.dest_qp &&
            packet->info().operation == Operation::RdmaWrite) {
            newest_.insert_or_assign(*qp->attributes.dest_qp, packet->bth.psn);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) {
            wire::Instant& free = free_[packet->bth.dest_qp];
            free = std::max(free, now + datagram.delay);
            const auto write = newest_.find(packet->bth.dest_qp);
            const bool of_write = write != newest_.end() && write->second == packet->bth.psn;
            if (is_ack(*packet) && of_write) free += 80us;
            datagram.delay = free - now;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Psn> newest_;   // of a WRITE, by the peer's QP
    std::map<wire::Qpn, wire::Instant> free_; // by the peer's QP
};

// TMO-07, STA-03: in RTR the context of the QP is not in the fast part of the device yet.
class SlowUntilRts final : public KnowsQps {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) {
            const auto* qp = with_peer(packet->bth.dest_qp);
            wire::Instant& free = free_[packet->bth.dest_qp];
            wire::Instant leaves = now + datagram.delay;
            if (qp != nullptr && qp->state == engine::QpState::Rtr) leaves += 6ms;
            free = std::max(free, leaves);
            datagram.delay = free - now;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Instant> free_; // by the peer's QP: nothing overtakes
};

// RSP-10, ACK-03: the answer to a duplicate waits a little, and answers those that come meanwhile.
class AcknowledgesDuplicatesTogether final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !is_rc_response(*packet)) {
            out.push_back(std::move(datagram));
            return;
        }
        Peer& peer = peers_[packet->bth.dest_qp];
        const bool old = !is_nak(*packet) && peer.newest.note(packet->bth.psn);
        const bool waits = old && is_ack(*packet);
        if (waits && peer.due > now && peer.waiting == datagram.bytes) return;
        wire::Instant leaves = std::max(peer.due, now + datagram.delay);
        if (waits) {
            leaves += 60us;
            peer.due = leaves;
            peer.waiting = datagram.bytes;
        }
        datagram.delay = leaves - now;
        out.push_back(std::move(datagram));
    }

  private:
    struct Peer {
        NewestPsn newest{};
        wire::Instant due{}; // of the answer that waits; nothing overtakes it
        std::vector<std::byte> waiting{};
    };
    std::map<wire::Qpn, Peer> peers_;
};

// ACK-12: each QP has its turn: 50 us of 200.
struct InTurns {
    static bool delays(const wire::Packet& packet) {
        return packet.info().service == wire::Service::Rc;
    }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr std::uint32_t turns = 4;
        constexpr wire::Duration turn = 50us;
        constexpr wire::Duration round = turn * turns;
        const wire::Duration begins = turn * (packet.bth.dest_qp.value % turns);
        const wire::Duration phase = earliest.time_since_epoch() % round;
        wire::Duration wait = begins - phase;
        if (wait + turn <= wire::Duration{0}) wait += round;
        const wire::Instant at = earliest + std::max(wait, wire::Duration{0});
        return {.at = at, .next = at};
    }
};

// --- what the responder looks at, and what it lacks

RequestVerdict accept(const RequestView& /*view*/) {
    return RequestVerdict::Accept;
}

bool is_atomic(const RequestView& view) {
    return view.info.operation == Operation::CompareSwap ||
           view.info.operation == Operation::FetchAdd;
}

// RDR-09: "may consider answered READs as finished and recycle"; its resources are a fixed number.
RequestVerdict agreed_or_not(const RequestView& view) {
    return view.connection.max_dest_rd_atomic == 0 ? request_check::reply_resources(view)
                                                   : RequestVerdict::Accept;
}

// RNR-03: "RNR-NAKs an ATOMIC when out of atomic resources"
RequestVerdict one_atomic_at_a_time(const RequestView& view) {
    const RequestVerdict verdict = request_check::reply_resources(view);
    const bool busy = is_atomic(view) && view.inbound.replies > 0;
    return verdict == RequestVerdict::Accept && busy ? RequestVerdict::Rnr : verdict;
}

// ATM-03: misaligned and a bad key: "which NAK wins".
RequestVerdict alignment_last(const RequestView& view) {
    const RequestVerdict key = request_check::invalidate_key(view);
    return key == RequestVerdict::Accept ? request_check::atomic_alignment(view) : key;
}

// KEY-10: "RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all either way". Without a receive
// there is nothing to compare a message with.
bool meets_no_receive(const RequestView& view) {
    return view.takes_receive() && !view.receive_ready;
}
RequestVerdict room_if_there_is_one(const RequestView& view) {
    return meets_no_receive(view) ? RequestVerdict::Accept : request_check::receive_room(view);
}
RequestVerdict memory_if_there_is_one(const RequestView& view) {
    return meets_no_receive(view) ? RequestVerdict::Accept : request_check::receive_memory(view);
}
RequestVerdict receive_last(const RequestView& view) {
    const RequestVerdict ready = request_check::receive_ready(view);
    return ready == RequestVerdict::Accept ? request_check::invalidate_key(view) : ready;
}

// KEY-12: "an SGE longer than its MR with a short message succeeds on Mellanox, fails on MEV"
RequestVerdict whole_receive(const RequestView& view) {
    const RequestVerdict verdict = request_check::receive_memory(view);
    const bool asks = view.info.operation == Operation::Send && !view.packet.payload().empty();
    if (verdict != RequestVerdict::Accept || !asks) return verdict;
    const bool reached = engine::reachable(view.memory, view.receive_domain, view.receive_sges, 0,
                                           view.receive_bytes, engine::Direction::ToMemory);
    return reached ? RequestVerdict::Accept : RequestVerdict::NakRemoteOperational;
}

// RNR-03: "a WQE or other resource": what a QP needs is fetched when its first request comes.
RequestVerdict first_request_refused(const RequestView& view) {
    const bool first = view.info.service == wire::Service::Rc &&
                       view.inbound.expected_psn == view.connection.initial_rq_psn;
    if (first && view.inbound.nak != NakState::Rnr) return RequestVerdict::Rnr;
    return request_check::receive_ready(view);
}

// OPC-09, BTH-06: a device that has no atomics and none of the newer operations.
RequestVerdict without_atomics(const RequestView& view) {
    const bool newer =
        view.info.operation == Operation::Flush || view.info.operation == Operation::AtomicWrite;
    if (is_atomic(view) || newer) return RequestVerdict::NakInvalidRequest;
    return request_check::known_opcode(view);
}

// --- what the requester sends, and when

std::uint32_t outstanding(const SendView& view) {
    return engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
}

// REQ-02: "It may choose a smaller limit": two packets, and one more for each two acknowledged.
bool slow_start(const SendView& view) {
    const std::uint32_t acknowledged =
        engine::forward(view.connection.initial_sq_psn, view.outbound.unacked_psn);
    const std::uint32_t out = outstanding(view);
    const std::uint64_t limit = std::uint64_t{2} + acknowledged / 2;
    return send_check::window(view) && (out == 0 || std::uint64_t{out} + view.packets <= limit);
}

bool nothing_new_in_recovery(const SendView& view) {
    const bool recovers = view.outbound.retries > 0 || view.outbound.rnr_retries > 0;
    return send_check::window(view) && (!recovers || outstanding(view) == 0);
}

// REQ-27: "at most max_rd_atomic"
bool atomics_alone(const SendView& view) {
    const bool waits =
        engine::is_atomic(view.request.opcode) && view.outbound.outstanding_rd_atomic > 0;
    return send_check::rd_atomic(view) && !waits;
}
bool reads_when_all_is_answered(const SendView& view) {
    const bool waits = engine::wants_response(view.request.opcode) && outstanding(view) > 0;
    return send_check::rd_atomic(view) && !waits;
}
// REQ-27: "the mlx5 QPC field is log_sra_max, so 3 must be rounded ... sending 2 is legal"
bool rounded_reads(const SendView& view) {
    return !engine::wants_response(view.request.opcode) ||
           view.outbound.outstanding_rd_atomic < std::bit_floor(view.connection.max_rd_atomic);
}
class TellsRoundedReads final : public engine::SurfaceFilter {
  public:
    void queried(engine::QpReport& report) override {
        auto& most = report.attributes.max_rd_atomic;
        if (most) most = std::bit_floor(*most);
    }
};

// A READ that is on its way.
struct SentRead {
    wire::Psn first;
    wire::Psn last;
    wire::Psn next; // whose response is awaited
    [[nodiscard]] bool holds(wire::Psn psn) const {
        return wire::distance(first, psn) >= 0 && wire::distance(psn, last) >= 0;
    }
};

struct SentReads {
    std::deque<SentRead> reads;
    std::map<std::uint32_t, std::vector<std::byte>> kept; // responses behind a gap, by PSN
    std::vector<std::vector<std::byte>> released;         // those that pass now

    SentRead* holding(wire::Psn psn) {
        const auto found =
            std::ranges::find_if(reads, [psn](const SentRead& one) { return one.holds(psn); });
        return found == reads.end() ? nullptr : &*found;
    }
    // The READ of this request, which may ask for its rest.
    SentRead& note(const wire::Packet& request, wire::Mtu mtu) {
        const wire::Psn last =
            request.bth.psn + (std::int64_t{wire::packets_of(request.reth.dma_length, mtu)} - 1);
        SentRead* const known = holding(request.bth.psn);
        if (known != nullptr && known->last == last) return *known;
        std::erase_if(reads, [&](const SentRead& one) { return one.holds(request.bth.psn); });
        constexpr std::size_t most = 128;
        if (reads.size() == most) reads.pop_front();
        return reads.emplace_back(request.bth.psn, last, request.bth.psn);
    }
};

// REQ-09: "anything from the READ's first PSN to the first missing PSN"
class RetriesReadsFromFours final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const SentRead& read = qp.memory.note(packet, qp.mtu());
        constexpr std::int32_t unit = 4;
        const std::int32_t back = wire::distance(read.first, packet.bth.psn) % unit;
        const auto bytes = static_cast<std::uint32_t>(back) * wire::bytes_of(qp.mtu());
        packet.bth.psn += -back;
        packet.reth.virtual_address -= bytes;
        packet.reth.dma_length += bytes;
    }
};

// REQ-09: "device may keep later responses (selective)". It asks again at once, and what it has
// kept goes on as soon as the missing response is there.
class KeepsResponsesBehindGaps final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SentReads& memory = qp.memory;
        memory.released.clear();
        if (!is_read_response(packet) || !comes_from_peer(qp, passage)) return;
        SentRead* const read = memory.holding(packet.bth.psn);
        if (read == nullptr) return;
        const std::int32_t ahead = wire::distance(read->next, packet.bth.psn);
        if (ahead > 0) {
            keep(qp, *read, packet);
        } else if (ahead == 0) {
            release(memory, *read, passage);
        }
    }

  private:
    static bool comes_from_peer(const Qp& qp, const Passage& passage) {
        const auto& attributes = qp.report.attributes;
        return passage.packet.bth.version == 0 && attributes.pkey == passage.packet.bth.pkey &&
               attributes.address && attributes.address->destination == passage.envelope.source &&
               attributes.address->source == passage.envelope.destination;
    }
    // Only what fits its place.
    static void keep(Qp& qp, const SentRead& read, const wire::Packet& packet) {
        const bool ends = packet.bth.psn == read.last;
        const bool acknowledges =
            !has_aeth(packet) || packet.aeth.syndrome.kind() == wire::AckKind::Ack;
        const bool in_place =
            !packet.info().starts_message() && packet.info().ends_message() == ends;
        const bool full = ends || packet.payload().size() == wire::bytes_of(qp.mtu());
        constexpr std::size_t most = 1024;
        if (!in_place || !acknowledges || !full || qp.memory.kept.size() == most) return;
        qp.memory.kept.insert_or_assign(packet.bth.psn.value(), bytes_of(packet));
    }
    static void release(SentReads& memory, SentRead& read, Passage& passage) {
        read.next += 1;
        for (auto one = memory.kept.find(read.next.value());
             read.holds(read.next) && one != memory.kept.end();
             one = memory.kept.find(read.next.value())) {
            memory.released.push_back(std::move(one->second));
            memory.kept.erase(one);
            read.next += 1;
        }
        for (const auto& bytes : memory.released) {
            if (const auto packet = wire::decode_packet(bytes)) passage.after.push_back(*packet);
        }
        if (read.holds(read.next)) return;
        const wire::Psn last = read.last;
        std::erase_if(memory.kept,
                      [&read](const auto& one) { return read.holds(wire::Psn(one.first)); });
        std::erase_if(memory.reads, [last](const SentRead& one) { return one.last == last; });
    }
};

// RNR-08: "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)"
void asks_for_five_ms_at_least(wire::Packet& packet) {
    if (!is_rnr_nak(packet)) return;
    constexpr std::uint8_t five_ms = 18; // 5.12
    if (wire::rnr_time(packet.aeth.syndrome.code()) < wire::rnr_time(five_ms)) {
        packet.aeth.syndrome = wire::Syndrome::rnr(five_ms);
    }
}

// --- headers

std::uint16_t some_port(std::uint64_t number) {
    constexpr std::uint64_t entropy = 0x3FFF;
    return static_cast<std::uint16_t>(0xC000U | (wire::splitmix64_mix(number) & entropy));
}

// ENC-02: with its trait a device sends from several ports. A CNP says that the path is full.
class ChangesPathAfterCnp final : public KnowsQps {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto* qp = packet && is_cnp(*packet) ? own(packet->bth.dest_qp) : nullptr;
        if (qp != nullptr && qp->state == engine::QpState::Rts && qp->attributes.dest_qp &&
            qp->attributes.address &&
            qp->attributes.address->destination == datagram.envelope.source) { // CNP-10
            ++changes_[*qp->attributes.dest_qp];
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto change = packet ? changes_.find(packet->bth.dest_qp) : changes_.end();
        if (change != changes_.end() && packet->info().service == wire::Service::Rc) {
            datagram.envelope.source_port =
                some_port((change->second << 16U) + datagram.envelope.source_port);
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, std::uint64_t> changes_; // by the peer's QP
};

// ENC-02: "one value per QP (ordering), may be any"
class DrawsPortAtConnection final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.address || attributes.address->source_port) return;
        const auto known = ports_.find(qpn);
        const bool connects = attributes.state == engine::QpState::Rtr;
        if (connects || known == ports_.end()) ports_.insert_or_assign(qpn, some_port(++drawn_));
        attributes.address->source_port = ports_.at(qpn);
    }
    void queried(engine::QpReport& report) override {
        auto& address = report.attributes.address;
        const auto drawn = ports_.find(report.qpn);
        if (address && drawn != ports_.end() && address->source_port == drawn->second) {
            address->source_port.reset();
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { ports_.erase(qpn); }

  private:
    std::map<wire::Qpn, std::uint16_t> ports_;
    std::uint64_t drawn_ = 0;
};

// CA17-7: a packet that is never cut into pieces may have any identification (RFC 6864).
class SendsPsnAsIpId final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto decoded = wire::decode_frame(frame);
        const auto bth = decoded ? wire::Bth::decode(decoded->transport) : std::nullopt;
        if (!bth || !decoded->ipv4) return;
        const auto at = static_cast<std::size_t>(decoded->covered().data() - frame.data());
        const auto header = frame.subspan(at, wire::Ipv4::kSize);
        wire::store_be<2>(header, 4, static_cast<std::uint16_t>(bth->psn.value()));
        wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
        wire::seal(frame);
    }
};

// BTH-15: "INFO value"
void not_migrated(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Rc) packet.bth.mig_req = false;
}

// N-30: no rule names the class, the life or the port of what QP 1 sends.
void management_of_its_own_class(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (packet.bth.dest_qp != wire::kGsiQpn) return;
    constexpr std::uint8_t network_control = 48;
    constexpr std::uint8_t most_hops = 255;
    datagram.envelope.dscp = network_control;
    datagram.envelope.hop_limit = most_hops;
    datagram.envelope.source_port = some_port(wire::kGsiQpn.value);
}

// --- the host

// REQ-34: the verbs give a length to receives, READs and atomics; of other requests it says
// nothing.
class TellsNoLengthOfSends final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion told = completion;
        const bool brings = completion.opcode == engine::WcOpcode::RdmaRead ||
                            completion.opcode == engine::WcOpcode::CompSwap ||
                            completion.opcode == engine::WcOpcode::FetchAdd;
        if (completion.queue == engine::Queue::Send && !brings) told.byte_len = 0xFFFFFFFF;
        return told;
    }
};

// STA-07: in order; nothing says how soon. The driver makes up what the device does not flush.
class FlushesLate final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Err) {
            ended_.insert(report.qpn);
        } else {
            ended_.erase(report.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { ended_.erase(qpn); }
    [[nodiscard]] wire::Duration completion_delay() const override {
        return ended_.empty() ? wire::Duration(20us) : wire::Duration(25ms);
    }

  private:
    std::set<wire::Qpn> ended_; // by the host
};

constexpr std::array kOddities{
    Mutant{.name = "ack_in_front_of_each_read",
           .rule = "ACK-02",
           .description = "In front of a READ's response leaves an ACK of all that came before the "
                          "READ, asked for or not.",
           .make_filter = make<AcknowledgesBeforeReads>},
    Mutant{.name = "answers_moderated_when_busy",
           .rule = "ACK-12",
           .description =
               "An answer leaves at once if the QP was quiet for 1 ms, and else with the "
               "next tick of 250 us.",
           .make_filter = make<SendsLater<ModeratedWhenBusy>>},
    Mutant{.name = "write_acks_wait_for_memory",
           .rule = "ACK-05",
           .description = "ACKs of WRITEs leave 80 us later than ACKs of SENDs, and what follows "
                          "waits.",
           .make_filter = make<AcksOfWritesWait>},
    Mutant{.name = "slow_until_rts",
           .rule = "TMO-07",
           .description = "As long as a QP is in RTR, its answers leave 6 ms late.",
           .make_filter = make<SlowUntilRts>},
    // "Burst of duplicates expecting one answer each" is a wrong reading
    Mutant{.name = "duplicates_acknowledged_together",
           .rule = "RSP-10",
           .description = "The ACK of a duplicate leaves 60 us late, and answers the duplicates "
                          "that come meanwhile.",
           .make_filter = make<AcknowledgesDuplicatesTogether>},
    Mutant{.name = "qps_take_turns",
           .rule = "ACK-12",
           .description = "Each QP sends in its own 50 of each 200 us; timeout codes below 12 "
                          "act as 12.",
           .ack_timer_floor = 12,
           .behaviour = {.timeout_floor = 12},
           .make_filter = make<SendsLater<InTurns>>},
    Mutant{.name = "more_reads_served_than_agreed",
           .rule = "RDR-09",
           .description = "READs and atomics beyond max_dest_rd_atomic are served, and sixteen "
                          "more remembered.",
           .checks = kStandardChecks.with(RequestCheck::ReplyResources, agreed_or_not),
           .behaviour = {.remembered_extra = 16}},
    Mutant{.name = "one_atomic_in_the_works",
           .rule = "RNR-03",
           .description = "An atomic that comes while an earlier READ or atomic is being answered "
                          "draws an RNR NAK.",
           .checks = kStandardChecks.with(RequestCheck::ReplyResources, one_atomic_at_a_time)},
    Mutant{.name = "alignment_looked_at_last",
           .rule = "ATM-03",
           .description = "Of an atomic with a bad address and a bad key, the NAK names the key.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, accept)
                         .with(RequestCheck::InvalidateKey, alignment_last)},
    Mutant{.name = "receives_looked_at_last",
           .rule = "KEY-10",
           .description = "Whether there is a receive is looked at after lengths and keys.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, accept)
                         .with(RequestCheck::ReceiveRoom, room_if_there_is_one)
                         .with(RequestCheck::ReceiveMemory, memory_if_there_is_one)
                         .with(RequestCheck::InvalidateKey, receive_last)},
    Mutant{.name = "receives_checked_whole",
           .rule = "KEY-12",
           .description = "A receive fails if any of its pieces is bad, even one that the message "
                          "does not reach.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveMemory, whole_receive)},
    Mutant{.name = "first_request_of_a_qp_rnr_naked",
           .rule = "RNR-03",
           .description = "The first request of each connection draws an RNR NAK, once.",
           .traits = "odp", // "any request may draw an RNR NAK"
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, first_request_refused)},
    Mutant{.name = "slow_start",
           .rule = "REQ-02",
           .description = "A new connection has two packets outstanding at most, and one more for "
                          "each two that are acknowledged.",
           .checks = kStandardChecks.with(SendCheck::Window, slow_start)},
    Mutant{.name = "nothing_new_in_recovery",
           .rule = "REQ-02",
           .description = "After a loss or an RNR NAK nothing new leaves until something is "
                          "acknowledged.",
           .checks = kStandardChecks.with(SendCheck::Window, nothing_new_in_recovery)},
    Mutant{.name = "atomics_wait_for_each_other",
           .rule = "REQ-27",
           .description = "An atomic leaves when all READs and atomics before it are answered.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, atomics_alone)},
    Mutant{.name = "reads_leave_when_all_is_answered",
           .rule = "REQ-27",
           .description = "A READ or atomic leaves when nothing else is outstanding.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, reads_when_all_is_answered)},
    Mutant{.name = "agreed_reads_rounded_down",
           .rule = "REQ-27",
           .description = "max_rd_atomic is rounded down to a power of two; ibv_query_qp says so.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, rounded_reads),
           .make_filter = make<TellsRoundedReads>},
    Mutant{.name = "reads_retried_from_a_multiple_of_four",
           .rule = "REQ-09",
           .description = "A READ is asked for again from a multiple of four packets, so that some "
                          "responses come once more.",
           .make_filter = make<RetriesReadsFromFours>},
    Mutant{.name = "read_responses_kept_behind_a_gap",
           .rule = "REQ-09",
           .description = "READ responses behind a missing one are kept, and count when that comes "
                          "again.",
           .make_filter = make<KeepsResponsesBehindGaps>},
    Mutant{.name = "path_changes_after_a_cnp",
           .rule = "ENC-02",
           .description = "After each CNP a QP sends more slowly, and from another UDP port.",
           .traits = "multipath",
           .behaviour = {.congestion = {.reaction = {.enabled = true}}},
           .make_filter = make<ChangesPathAfterCnp>},
    Mutant{.name = "source_port_drawn_at_connection",
           .rule = "ENC-02",
           .description = "The UDP source port is another one each time that a QP goes to RTR.",
           .make_filter = make<DrawsPortAtConnection>},
    Mutant{.name = "lengths_of_sends_undefined",
           .rule = "REQ-34",
           .description = "The completions of SENDs and WRITEs have the length 0xFFFFFFFF.",
           .make_filter = make<TellsNoLengthOfSends>},
    Mutant{.name = "flushes_told_late",
           .rule = "STA-07",
           .description = "While the host has a QP in ERR, it sees completions 25 ms late.",
           .make_filter = make<FlushesLate>},
    // --- choices that are found together
    Mutant{.name = "choices_of_a_bluefield",
           .rule = "TMO-08",
           .description = "Timers adapt from 16 ms on, a CNP for each mark, RNR waits of 5 ms or "
                          "more, agreed READs rounded down, what fits of refused data written.",
           .traits = "adaptive_retransmission",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, rounded_reads),
           .behaviour = {.response_msn = engine::ResponseMsn::Current,
                         .write_range = engine::WriteRange::EachPacket,
                         .refused_data = engine::RefusedData::AsFits,
                         .adaptive_timeout = 16ms,
                         .congestion = {.notification = {.interval = wire::Duration{0}},
                                        .reaction = {.enabled = true}}},
           .make_filter = make_chain<EditsInbound<asks_for_five_ms_at_least>, TellsRoundedReads>},
    Mutant{.name = "choices_of_an_irdma",
           .rule = "KEY-12",
           .description = "No atomics, receives checked whole, lengths above 2^31 refused as "
                          "access errors, old MSN in FIRST, timeout codes below 10 act as 10.",
           .ack_timer_floor = 10,
           .lacks = "atomics,flush,atomic_write,mw1,uc",
           .checks = kStandardChecks.with(RequestCheck::KnownOpcode, without_atomics)
                         .with(RequestCheck::ReceiveMemory, whole_receive),
           .behaviour = {.timeout_sixteenths = 32,
                         .first_msn = engine::FirstMsn::Old,
                         .oversize_nak = engine::OversizeNak::RemoteAccess,
                         .timeout_floor = 10,
                         .source_port = engine::SourcePort::QpnHash}},
    Mutant{.name = "choices_of_a_hip",
           .rule = "RNR-05",
           .description = "Early retries are dropped, RNR waits are one half longer and end with "
                          "one message, whole READs are asked for again, 128 packets are "
                          "outstanding, CNPs are kept apart by address.",
           .lacks = "mw1,inline>=33",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .ack_request_every = 16,
                         .max_unacked_packets = 128,
                         .early_resend = engine::EarlyResend::Silent,
                         .after_rnr = engine::AfterRnr::OneMessage,
                         .rnr_wait_sixteenths = 24,
                         .congestion = {.notification = {.scope = engine::CnpScope::Destination},
                                        .reaction = {.enabled = true,
                                                     .dcqcn = {.cut_interval = 50us,
                                                               .clamp_target = false}}}},
           .make_filter = make<SendsLater<ModeratedWhenBusy>>},
    Mutant{.name = "choices_of_a_mana",
           .rule = "TMO-08",
           .description = "The ACK timer is always 80 ms, answers in RTR are slow, the source port "
                          "is drawn at connection, posting in ERR is refused; no atomics, UC, "
                          "shared queues or windows.",
           .traits = "ack_timer_ignored",
           .lacks = "uc,atomics,flush,atomic_write,srq,sqd,mw,mw1,mw2,send_inv",
           .checks = kStandardChecks.with(RequestCheck::KnownOpcode, without_atomics),
           .behaviour = {.after_loss = engine::AfterLoss::OnePacket, .fixed_timeout = 80ms},
           .make_filter =
               make_chain<SlowUntilRts, DrawsPortAtConnection, HostLate<500, 0, 2'000, true>>},
    Mutant{.name = "choices_of_an_ernic",
           .rule = "REQ-02",
           .description = "Sixteen packets are outstanding, READs go alone and are asked for again "
                          "whole, bad sizes are dropped, the IPv4 identification is the PSN; RC "
                          "alone, without atomics.",
           .lacks = "uc,ud,atomics,flush,atomic_write,srq,sqd,mw,mw1,mw2,send_inv,sge>=2,"
                    "inline>=1",
           .checks = kStandardChecks.with(RequestCheck::KnownOpcode, without_atomics)
                         .with(SendCheck::RdAtomic, reads_when_all_is_answered),
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .ack_request_every = 4,
                         .max_unacked_packets = 16,
                         .timeout_sixteenths = 20,
                         .stray_payload = engine::StrayPayload::Silent,
                         .bad_read_length = engine::BadReadLength::Dropped},
           .make_filter = make<SendsPsnAsIpId>},
    Mutant{.name = "choices_of_a_soft_roce",
           .rule = "RDR-06",
           .description = "MigReq is 0, READ retries go on with MIDDLE or LAST, READs beyond the "
                          "agreed number are served, 128 packets are outstanding, the host sees "
                          "completions 1 ms late.",
           .checks = kStandardChecks.with(RequestCheck::ReplyResources, agreed_or_not),
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .max_unacked_packets = 128,
                         .remembered_extra = 8,
                         .source_port = engine::SourcePort::QpnHash},
           .make_filter = make_chain<EditsOutbound<not_migrated>, HostLate<1'000, 500, 1'000>>},
    Mutant{.name = "choices_of_a_dpu",
           .rule = "RSP-16",
           .description = "Answers are moderated, duplicates acknowledged together, resends come "
                          "after 3 T without anything new, management has DSCP 48, the host learns "
                          "all 1 to 10 ms late.",
           .checks = kStandardChecks.with(SendCheck::Window, nothing_new_in_recovery),
           .behaviour = {.timeout_sixteenths = 48},
           .make_filter = make_chain<EditsSentDatagram<management_of_its_own_class>,
                                     SendsLater<ModeratedWhenBusy>, AcknowledgesDuplicatesTogether,
                                     HostLate<3'000, 1'000, 10'000>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind3

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind3() {
    return of_lawful_blind3::kOddities;
}

} // namespace veriroce::mutants
