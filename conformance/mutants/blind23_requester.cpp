// Defects of the requester side, written blind. Three devices stand behind them:
//
// - "Lode", a network chip: QP contexts lie in host memory behind a cache; a pipeline builds the
//   packets from the work requests, and firmware does what is rare (errors, SQD, RNR, resends).
//   Its engineers get wrong what the firmware rebuilds and what a context keeps one copy of.
// - "Weir", an FPGA core: a data path 64 bytes wide, lengths in words, tables with few entries, and
//   a separate unit that sends again. Its engineers get wrong edges of beats, tables and counters.
// - "Cairn", a software stack on the cores of a smart card: it works in batches, has short cuts for
//   what is frequent, and one timer for each core. Its engineers get wrong the short cuts.
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/mutants.hpp"

namespace veriroce::mutants::of_blind23_requester {
namespace {

using engine::QpState;
using engine::SendCheck;
using engine::SendView;
using engine::WcStatus;
using engine::WrOpcode;

// --- requests as they leave, and as they are sent again

// Weir adds the offset of a READ's rest to the lower half of the address only.
struct SentReads {
    std::deque<wire::Packet> asked; // as they were first sent; they have no body

    // The READ inside which this one goes on.
    [[nodiscard]] const wire::Packet* original(const wire::Packet& packet, wire::Mtu mtu) const {
        for (const wire::Packet& read : asked) {
            const std::int32_t offset = wire::distance(read.bth.psn, packet.bth.psn);
            const std::uint32_t packets = wire::packets_of(read.reth.dma_length, mtu);
            if (offset > 0 && static_cast<std::uint32_t>(offset) < packets) return &read;
        }
        return nullptr;
    }
    void note(const wire::Packet& packet) {
        constexpr std::size_t kept = 32;
        std::erase_if(asked, [&](const wire::Packet& read) {
            return wire::distance(read.bth.psn, packet.bth.psn) == 0;
        });
        asked.push_back(packet);
        asked.back().body = {};
        if (asked.size() > kept) asked.pop_front();
    }
};

// Shows when: a READ whose remote range crosses a border of 4 GiB loses a response behind the
// border, so that the READ that asks for the rest begins behind it.
class LosesTheCarry final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const wire::Packet* const original = qp.memory.original(packet, qp.mtu());
        if (original == nullptr) {
            qp.memory.note(packet);
            return;
        }
        constexpr std::uint64_t lower = 0xFFFFFFFF;
        std::uint64_t& address = packet.reth.virtual_address;
        address = (original->reth.virtual_address & ~lower) | (address & lower);
    }
};

struct Refused : Outgoing {
    std::optional<wire::Psn> at; // the packet that was RNR NAKed
    bool goes_on = false;        // its message is being sent again
};

// After an RNR wait Lode's firmware builds the flags of a message again, and forgets one.
// Shows when: a request that was posted solicited is RNR NAKed and then sent again.
class UnsolicitedAfterRnr final : public FollowsRequests<Refused> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Psn psn = passage.packet.bth.psn;
        if (is_rnr_nak(passage.packet) && qp.memory.holds(psn)) qp.memory.at = psn;
    }
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        Refused& memory = qp.memory;
        if (again && memory.at == packet.bth.psn) memory.goes_on = true;
        if (!memory.goes_on) return;
        packet.bth.solicited = false;
        if (packet.info().ends_message()) memory.goes_on = false;
    }
};

// Weir looks for the end of a message in the table of opcodes; two rows lack the flag.
// Shows when: a SEND or WRITE with immediate data takes several packets: its LAST has AckReq 0.
void asks_not_on_last_with_immediate(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (is_rc_request(packet) && info.position == wire::Position::Last && info.immediate()) {
        packet.bth.ack_request = false;
    }
}

// Shows when: a SEND or WRITE is posted with an SGE of zero bytes before others that have some: the
// message ends there (Cairn's loop over the list stops at a zero).
class StopsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (engine::wants_response(request.opcode) || engine::is_local(request.opcode)) return;
        const auto sges = request.sges;
        for (std::size_t i = 0; i + 1 < sges.size(); ++i) {
            if (sges[i].length != 0) continue;
            request.sges = sges.first(i);
            return;
        }
    }
};

// --- order and limits

// Shows when: an inline request with FENCE is posted while a READ or atomic is unanswered (Cairn
// sends what is inline from the doorbell, past the fence).
bool fence_of_not_inline(const SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

// Shows when: a LOCAL_INV with FENCE is posted while a READ or atomic is unanswered: the window's
// key is dead before the answer comes (Cairn does what is local at once).
bool fence_of_not_local_invalidate(const SendView& view) {
    return view.request.opcode == WrOpcode::LocalInv || engine::send_check::fence(view);
}

// Shows when: as many READs and atomics as max_rd_atomic allows are unanswered and an atomic is
// posted behind them (Weir's atomics have a register of their own).
bool one_atomic_more(const SendView& view) {
    if (engine::send_check::rd_atomic(view)) return true;
    return engine::is_atomic(view.request.opcode) &&
           view.outbound.outstanding_rd_atomic == view.connection.max_rd_atomic;
}

// --- retries and waits

// Shows when: a READ is the oldest request and is never answered: it fails after retry_count
// transmissions, one too few (Weir counts the READ's first request as a try).
bool one_try_less_for_reads(const SendView& view) {
    const unsigned first = view.request.opcode == WrOpcode::RdmaRead ? 1 : 0;
    return view.outbound.retries + first < view.connection.retry_count;
}

// Shows when: RNR NAKs come after timeouts or sequence NAKs of the same request, rnr_retry is
// neither 0 nor 7, and all together are more than rnr_retry.
bool rnr_retries_and_others(const SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    const unsigned used = view.outbound.rnr_retries + 0U + view.outbound.retries;
    return view.connection.rnr_retry == for_ever || used < view.connection.rnr_retry;
}

// Cairn has one RNR timer for each core: the wait that ends first ends all that began after it.
// Shows when: a QP gets an RNR NAK while another QP waits, whose wait ends earlier than the new one
// would.
class SharesRnrTimer final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rnr_nak(*packet)) {
            const std::uint8_t code =
                shortened(packet->bth.dest_qp, packet->aeth.syndrome.code(), now);
            ends_.insert_or_assign(packet->bth.dest_qp, now + wire::rnr_time(code));
            packet->aeth.syndrome = wire::Syndrome::rnr(code);
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) ends_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { ends_.erase(qpn); }

  private:
    [[nodiscard]] std::uint8_t shortened(wire::Qpn own, std::uint8_t code,
                                         wire::Instant now) const {
        wire::Duration left = wire::rnr_time(code);
        bool cut = false;
        for (const auto& [qpn, end] : ends_) {
            if (qpn == own || end <= now || end - now >= left) continue;
            left = end - now;
            cut = true;
        }
        return cut ? code_within(left) : code;
    }
    // The longest wait that is not above this time; the shortest if each is above it.
    static std::uint8_t code_within(wire::Duration time) {
        constexpr std::uint8_t codes = 32;
        std::uint8_t best = 1;
        for (std::uint8_t code = 0; code < codes; ++code) {
            const wire::Duration wait = wire::rnr_time(code);
            if (wait <= time && wait > wire::rnr_time(best)) best = code;
        }
        return best;
    }

    std::map<wire::Qpn, wire::Instant> ends_; // of the waits
};

// Lode's firmware looks whether the QP has something on its way, not whether the NAK is of it.
// Shows when: an RNR NAK comes once more after its request was acknowledged, while a later request
// is on its way: that one waits, and uses up rnr_retry.
class WaitsForOldRnr final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Psn& psn = passage.packet.bth.psn;
        const Outgoing& memory = qp.memory;
        if (!is_rnr_nak(passage.packet) || !memory.oldest) return;
        const bool old = wire::distance(psn, *memory.oldest) > 0;
        if (old && memory.holds(*memory.oldest)) psn = *memory.oldest;
    }
};

// --- answers

// Weir compares the length of READ responses in words of four bytes.
// Shows when: a READ response brings one to three bytes less than are due, with the pad for it.
engine::ResponseVerdict read_length_in_words(const engine::ResponseView& view) {
    constexpr std::uint64_t word = 4;
    const auto verdict = engine::response_check::read_length(view);
    if (verdict == engine::ResponseVerdict::Take || !view.request) return verdict;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    const wire::Psn psn = view.packet.bth.psn;
    const std::uint64_t offset = engine::forward(view.request->first, psn) * full;
    const std::uint64_t due = psn == view.request->last ? view.request->length - offset : full;
    const std::uint64_t brought = view.packet.payload().size();
    const bool same_words = (brought + word - 1) / word == (due + word - 1) / word;
    return brought < due && same_words ? engine::ResponseVerdict::Take : verdict;
}

struct OpenAtomics {
    NewestPsn sent;
    std::deque<wire::Psn> open; // atomics without an answer, the oldest in front
};

// Cairn completes a range of requests in a batch, and only READs stop it.
// Shows when: the request behind an unanswered atomic is acknowledged: the atomic completes with
// success, and its result is zero.
class CompletesAtomicsByAck final : public QpFilter<OpenAtomics> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        const bool again = qp.memory.sent.note(packet.bth.psn, packets);
        if (!again && is_atomic_request(packet)) qp.memory.open.push_back(packet.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [sent, open] = qp.memory;
        if (packet.info().operation == wire::Operation::AtomicAcknowledge) {
            std::erase(open, packet.bth.psn);
        }
        const bool covers =
            is_ack(packet) && sent.psn && wire::distance(packet.bth.psn, *sent.psn) >= 0;
        while (covers && !open.empty() && wire::distance(open.front(), packet.bth.psn) > 0) {
            wire::Packet answer = packet;
            set_opcode(answer, wire::Operation::AtomicAcknowledge, wire::Position::Only);
            answer.bth.psn = open.front();
            answer.atomic_ack.original = 0;
            passage.before.push_back(answer);
            open.pop_front();
        }
    }
};

// An atomic of the host's, and where its result goes.
struct PostedAtomic {
    engine::Sge result;
    std::uint64_t remote_address = 0;
    wire::Rkey rkey;
    bool answered = false;
};

struct PostedAtomics {
    std::deque<PostedAtomic> waiting;            // posted and not sent
    std::map<std::uint32_t, PostedAtomic> asked; // by PSN

    void send(const wire::Packet& packet) {
        constexpr std::size_t kept = 16;
        const std::uint32_t psn = packet.bth.psn.value();
        if (asked.contains(psn)) return;
        while (!waiting.empty()) {
            const PostedAtomic next = waiting.front();
            waiting.pop_front();
            if (next.remote_address != packet.atomic.virtual_address) continue;
            if (next.rkey != packet.atomic.rkey) continue;
            if (asked.size() == kept) asked.erase(asked.begin());
            asked.insert_or_assign(psn, next);
            return;
        }
    }
};

// Weir's table of atomics by PSN is not cleaned when one completes.
// Shows when: an ATOMIC ACKNOWLEDGE comes once more, and the host has changed the result's bytes
// since the completion, or the repeated answer carries another value.
class WritesLateAtomics final : public DmaFilter<Nothing> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (!engine::is_atomic(request.opcode) || request.sges.size() != 1) return;
        posted_[qpn].waiting.push_back({.result = request.sges.front(),
                                        .remote_address = request.remote_address,
                                        .rkey = request.rkey});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_atomic_request(passage.packet)) posted_[qp.report.qpn].send(passage.packet);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool atomic = packet.info().operation == wire::Operation::AtomicAcknowledge;
        const bool good = packet.body.empty() && packet.aeth.syndrome.kind() == wire::AckKind::Ack;
        if (!atomic || !good || !of_this_connection(qp.report, passage)) return;
        auto& asked = posted_[qp.report.qpn].asked;
        const auto found = asked.find(packet.bth.psn.value());
        if (found == asked.end()) return;
        const engine::Sge& result = found->second.result;
        if (!found->second.answered) {
            found->second.answered = true;
            return;
        }
        const wire::Rkey key{result.lkey.value};
        const auto bytes = regions().at(key, result.address, sizeof(std::uint64_t));
        if (bytes.empty() || qp.report.state == QpState::Err) return;
        std::memcpy(bytes.data(), &packet.atomic_ack.original, sizeof(std::uint64_t));
    }

  private:
    std::map<wire::Qpn, PostedAtomics> posted_;
};

// Weir has one address for the result of an atomic.
// Shows when: an atomic is posted with a result in two or more pieces, and the region of the first
// goes on for eight bytes: all of them are written there.
class WritesResultInOnePiece final : public DmaFilter<Nothing> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr std::uint32_t result = sizeof(std::uint64_t);
        if (!engine::is_atomic(request.opcode) || request.sges.size() < 2) return;
        const engine::Sge& first = request.sges.front();
        std::uint64_t length = 0;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        if (length != result || first.length == 0 || first.length == result) return;
        if (regions().at({first.lkey.value}, first.address, result).empty()) return;
        whole_ = {.address = first.address, .length = result, .lkey = first.lkey};
        request.sges = std::span<const engine::Sge>(&whole_, 1);
    }

  private:
    engine::Sge whole_;
};

// Lode's resend unit has the packet in its buffer already when firmware stops the QP.
// Shows when: a fatal NAK comes for a request that is on its way: its packet leaves once more.
class SendsAfterFatalNak final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !of_this_connection(qp.report, passage)) return;
        if (!is_nak(packet)) {
            acknowledge_until(qp.memory, packet.bth.psn);
            return;
        }
        acknowledge_until(qp.memory, packet.bth.psn - 1);
        if (!is_fatal_nak(packet)) return;
        send_again(qp.memory, packet.bth.psn, passage);
        qp.memory.sent.clear();
    }
};

// --- completions and events

// Cairn writes the fault into a field of the QP that the next flush takes as well.
// Shows when: a send request fails and another one is behind it: both complete with the status of
// the first.
class FlushesWithFault final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        if (one.queue != engine::Queue::Send) return seen;
        const auto fault = faults_.find(one.qp);
        if (one.status == WcStatus::WrFlushErr) {
            if (fault == faults_.end()) return seen;
            seen.status = fault->second;
            faults_.erase(fault);
        } else if (one.status == WcStatus::Success) {
            faults_.erase(one.qp);
        } else {
            faults_.insert_or_assign(one.qp, one.status);
        }
        return seen;
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) faults_.clear();
    }

  private:
    std::map<engine::QpId, WcStatus> faults_; // that no flush followed
};

// Cairn flushes in batches of sixteen, and takes up one entry too late after the first.
// Shows when: a queue has seventeen requests or more when its QP ends.
class LosesSeventeenthFlush final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        constexpr std::uint32_t batch = 16;
        std::uint32_t& flushed = flushed_[{one.qp, one.queue}];
        if (one.status != WcStatus::WrFlushErr) {
            flushed = 0;
            return one;
        }
        if (++flushed == batch + 1) return std::nullopt;
        return one;
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) flushed_.clear();
    }

  private:
    std::map<std::pair<engine::QpId, engine::Queue>, std::uint32_t> flushed_; // in a row
};

// Lode clears the flag "drained was told" only in RESET.
// Shows when: a QP goes to SQD, back to RTS and to SQD again, both times with the event asked for.
class TellsDrainedOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& one) override {
        const bool drained = one.type == engine::EventType::SqDrained && one.qp;
        if (drained && !told_.insert(*one.qp).second) return std::nullopt;
        return one;
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) told_.clear();
    }

  private:
    std::set<engine::QpId> told_;
};

// --- states

struct Skipped {
    NewestPsn sent;                // as the engine counts
    std::optional<wire::Psn> from; // what comes from here on is sent one PSN later
};

// Lode writes the next PSN back when it drains, and counts it up once more when it goes on.
// Shows when: a QP that came from SQD to RTS sends its first new packet.
class SkipsPsnAfterSqd final : public QpFilter<Skipped> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Sqd) drained_.insert(qpn);
        if (attributes.sq_psn) drained_.erase(qpn); // it comes from RTR
        if (attributes.state == QpState::Rts && drained_.erase(qpn) != 0) resumed_.insert(qpn);
        if (attributes.state == QpState::Reset) {
            drained_.erase(qpn);
            resumed_.erase(qpn);
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [sent, from] = qp.memory;
        if (!packet.info().request()) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        const bool again = sent.note(packet.bth.psn, packets);
        if (!again && !from && resumed_.contains(qp.report.qpn)) from = packet.bth.psn;
        if (from && wire::distance(*from, packet.bth.psn) >= 0) packet.bth.psn += 1;
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& from = qp.memory.from;
        if (!packet.info().response() || !from) return;
        if (wire::distance(*from, packet.bth.psn) > 0) packet.bth.psn += -1;
    }

  private:
    std::set<wire::Qpn> drained_;
    std::set<wire::Qpn> resumed_;
};

// Lode's send pipeline has its own copy of the limit, which is loaded on the way to RTS only.
// Shows when: max_rd_atomic is lowered or raised in SQD, and several READs or atomics are posted
// afterwards; the query tells the new value.
class KeepsReadLimitInSqd final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t most = 16;
        auto& wanted = attributes.max_rd_atomic;
        Known& known = known_[qpn];
        if (!wanted || *wanted > most) return;
        known.asked.reset();
        if (*wanted == 0) return;
        const bool stays = attributes.state.value_or(QpState::Sqd) == QpState::Sqd;
        if (known.state != QpState::Sqd || !stays || !known.reads) return;
        known.asked = *wanted;
        wanted.reset();
    }
    void queried(engine::QpReport& report) override {
        const auto found = known_.find(report.qpn);
        if (found == known_.end() || !found->second.asked) return;
        report.attributes.max_rd_atomic = found->second.asked;
    }
    void qp_changed(const engine::QpReport& report) override {
        Known& known = known_[report.qpn];
        known.state = report.state;
        known.reads = report.attributes.max_rd_atomic.value_or(0) != 0;
        if (report.state == QpState::Reset) known.asked.reset();
    }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }

  private:
    struct Known {
        QpState state = QpState::Reset;
        bool reads = false;                // its send queue takes READs and atomics
        std::optional<std::uint8_t> asked; // in SQD
    };
    std::map<wire::Qpn, Known> known_;
};

// --- windows

// Weir keeps the end of a window in units of 64 bytes.
// Shows when: a window of type 2 whose end is no multiple of 64 is bound in a region that goes on,
// and the peer writes or reads a few bytes behind its end.
class RoundsWindows final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        ends_.insert_or_assign(region.mr, region.address + region.memory.size());
    }
    void region_deregistered(engine::MrId mr) override { ends_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::BindMw || !request.bind) return;
        constexpr std::uint64_t unit = 64;
        engine::BindInfo& bind = *request.bind;
        const auto region = ends_.find(bind.mr);
        const std::uint64_t end = bind.address + bind.length;
        if (region == ends_.end() || bind.length == 0 || end < bind.address) return;
        if (end >= region->second) return;
        const std::uint64_t rounded = (end + unit - 1) / unit * unit;
        bind.length = std::min(rounded, region->second) - bind.address;
    }

  private:
    std::map<engine::MrId, std::uint64_t> ends_; // behind the last byte of each region
};

// --- UC and UD

struct UnreliablePsn {
    std::optional<wire::Psn> newest; // as the engine counts
    std::int32_t ahead = 0;
};

// Weir takes PSN 0 for "no PSN yet" in the table of UC.
// Shows when: a UC QP sends across the wrap of the PSN.
class UcSkipsZero final : public QpFilter<UnreliablePsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc) return;
        auto& [newest, ahead] = qp.memory;
        if (newest == wire::Psn(wire::kMask24) && packet.bth.psn == wire::Psn{}) ++ahead;
        newest = packet.bth.psn;
        packet.bth.psn += ahead;
    }
};

// Cairn keeps the headers of the last datagram of a QP, and asks only for whom they are.
// Shows when: a UD QP sends two datagrams in a row to one QPN with different Q_Keys.
class KeepsQkey final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (!request.ud) return;
        const auto last = last_.find(qpn);
        const bool same = last != last_.end() && last->second.qpn == request.ud->qpn &&
                          last->second.path.destination == request.ud->path.destination;
        if (same) {
            request.ud->qkey = last->second.qkey;
        } else {
            last_.insert_or_assign(qpn, *request.ud);
        }
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) last_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { last_.erase(qpn); }

  private:
    std::map<wire::Qpn, engine::UdDestination> last_; // by the sender
};

// --- the headers around

// Lode's firmware makes the IP header of what it sends again, with the port's hop limit.
// Shows when: a QP with a hop limit other than 64 sends a request again.
class ResendsWithHopLimit64 final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::uint8_t of_the_port = 64;
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet) && again(*packet, datagram.envelope)) {
            datagram.envelope.hop_limit = of_the_port;
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        Known& known = known_[report.qpn];
        if (report.state == QpState::Reset) known.sent = {};
        known.report = report;
    }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }

  private:
    struct Known {
        engine::QpReport report;
        NewestPsn sent;
    };
    bool again(const wire::Packet& packet, const wire::Envelope& envelope) {
        for (auto& [qpn, known] : known_) {
            const engine::QpAttributes& attributes = known.report.attributes;
            const bool sender = attributes.dest_qp == packet.bth.dest_qp && attributes.address &&
                                attributes.address->destination == envelope.destination;
            if (!sender) continue;
            const wire::Mtu mtu = attributes.path_mtu.value_or(wire::Mtu::B1024);
            const std::uint32_t packets =
                is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, mtu) : 1;
            return known.sent.note(packet.bth.psn, packets);
        }
        return false;
    }

    std::map<wire::Qpn, Known> known_;
};

// Weir inserts the VLAN tag where the first beat of the payload comes.
// Shows when: a QP in a VLAN sends a request without payload: an empty SEND or WRITE, a READ, an
// atomic.
void untagged_if_empty(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (packet.info().request() && packet.body.empty()) datagram.envelope.vlan.reset();
}

// Weir's CRC unit takes a beat too many where the last one is full.
// Shows when: the bytes from the IP header to the pad of a request are a multiple of 64: over IPv4
// a SEND ONLY of 21 to 24 bytes, or 64 more; over IPv6 one of 1 to 4 bytes, or 64 more.
class BreaksFullBeats final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t beat = 64;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        const auto packet = wire::decode_packet(outer.transport());
        if (!packet || !packet->info().request() || outer.covered().size() % beat != 0) return;
        const auto icrc = frame.subspan(outer.icrc_at, wire::kIcrcBytes);
        wire::store_icrc(icrc, ~wire::load_icrc(icrc));
    }
};

constexpr std::array kMutants{
    Mutant{.name = "read_restart_address_loses_the_carry",
           .rule = "REQ-10",
           .description = "A READ that asks for the rest of another one has the upper half of the "
                          "address that the whole READ began with.",
           .cases = "req/read-resumed-across-a-border",
           .make_filter = make<LosesTheCarry>},
    Mutant{.name = "resent_request_has_the_newest_immediate",
           .rule = "REQ-34",
           .description = "A request that is sent again carries the immediate data of the newest "
                          "request that has some.",
           .make_filter = make<ResendsNewestImmediate>},
    Mutant{.name = "se_lost_over_an_rnr_wait",
           .rule = "BTH-14",
           .description = "A solicited message that is sent again after an RNR NAK has SE 0.",
           .make_filter = make<UnsolicitedAfterRnr>},
    Mutant{.name = "last_with_immediate_asks_for_no_ack",
           .rule = "BTH-18",
           .description = "LAST packets with immediate data leave with AckReq 0.",
           .make_filter = make<EditsOutbound<asks_not_on_last_with_immediate>>},
    Mutant{.name = "empty_sge_ends_the_gather_list",
           .rule = "LEN-10",
           .description = "A SEND or WRITE ends at the first SGE of zero bytes.",
           .make_filter = make<StopsAtEmptySge>},
    Mutant{.name = "inline_request_ignores_the_fence",
           .rule = "REQ-28",
           .description = "An inline request with FENCE does not wait for READs and atomics.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_of_not_inline)},
    Mutant{.name = "local_invalidate_passes_the_fence",
           .rule = "REQ-28",
           .description = "A LOCAL_INV with FENCE does not wait for READs and atomics.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_of_not_local_invalidate)},
    Mutant{.name = "one_atomic_above_max_rd_atomic",
           .rule = "REQ-27",
           .description = "An atomic is sent although max_rd_atomic READs and atomics are out.",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, one_atomic_more)},
    Mutant{.name = "reads_have_one_try_less",
           .rule = "TMO-03",
           .description = "A READ is sent retry_count times in all, and not once more.",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, one_try_less_for_reads)},
    Mutant{.name = "retries_count_against_rnr_retry",
           .rule = "N-10",
           .description = "Timeouts and sequence NAKs of a request use up rnr_retry as well.",
           .checks = engine::kStandardChecks.with(SendCheck::RnrRetryLeft, rnr_retries_and_others)},
    Mutant{.name = "rnr_wait_ends_with_that_of_another_qp",
           .rule = "RNR-08",
           .description = "A QP that begins an RNR wait while another one waits goes on when the "
                          "other does.",
           .make_filter = make<SharesRnrTimer>},
    Mutant{.name = "repeated_old_rnr_nak_stops_the_next_request",
           .rule = "REQ-18",
           .description = "An RNR NAK of a request that is acknowledged counts for the oldest "
                          "request on its way.",
           .cases = "rnr/answered-nak-again",
           .make_filter = make<WaitsForOldRnr>},
    Mutant{.name = "read_response_length_judged_in_words",
           .rule = "REQ-21",
           .description = "A READ response that is up to three bytes short is taken, and the READ "
                          "completes with success.",
           .checks = engine::kStandardChecks.with(engine::ResponseCheck::ReadLength,
                                                  read_length_in_words)},
    Mutant{.name = "ack_behind_an_open_atomic_completes_it",
           .rule = "REQ-08",
           .description = "An ACK for a later request completes an unanswered atomic with zero.",
           .make_filter = make<CompletesAtomicsByAck>},
    Mutant{.name = "repeated_atomic_answer_written_again",
           .rule = "N-38",
           .description = "A second answer to an atomic that has completed is written to memory.",
           .cases = "req/completed-answer-again",
           .make_filter = make<WritesLateAtomics>},
    Mutant{.name = "atomic_result_in_one_piece",
           .rule = "ATM-01",
           .description = "The result of an atomic is written behind the address of the first SGE, "
                          "though that has less than eight bytes.",
           .make_filter = make<WritesResultInOnePiece>},
    Mutant{.name = "refused_request_leaves_once_more",
           .rule = "STA-07",
           .description = "After a fatal NAK the packet that it names is sent again.",
           .make_filter = make<SendsAfterFatalNak>},
    Mutant{.name = "first_flushed_send_has_the_fault_of_the_failed",
           .rule = "STA-07",
           .description = "The send request behind a failed one completes with the same status.",
           .make_filter = make<FlushesWithFault>},
    Mutant{.name = "seventeenth_flush_of_a_queue_missing",
           .rule = "STA-07",
           .description = "Of the flushes of a queue the seventeenth has no completion.",
           .make_filter = make<LosesSeventeenthFlush>},
    Mutant{.name = "second_drain_of_a_qp_raises_no_event",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is raised only the first time that a QP drains.",
           .make_filter = make<TellsDrainedOnce>},
    Mutant{.name = "psn_left_out_after_sqd",
           .rule = "REQ-01",
           .description = "The first new packet after SQD and RTS leaves one PSN out.",
           .make_filter = make<SkipsPsnAfterSqd>},
    Mutant{.name = "max_rd_atomic_of_sqd_has_no_effect",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "max_rd_atomic that is set in SQD is reported and not obeyed.",
           .make_filter = make<KeepsReadLimitInSqd>},
    Mutant{.name = "window_end_rounded_up_to_64",
           .rule = "KEY-05",
           .description = "A bound window reaches to the next multiple of 64 bytes in its region.",
           .cases = "key/behind-a-window key/window-zero-based-ends",
           .make_filter = make<RoundsWindows>},
    Mutant{.name = "uc_psn_zero_left_out_at_the_wrap",
           .rule = "REQ-01",
           .description = "A UC QP sends PSN 1 behind PSN 0xFFFFFF.",
           .make_filter = make<UcSkipsZero>},
    Mutant{.name = "ud_qkey_of_the_datagram_before",
           .rule = "EXT-05",
           .description = "A datagram to the QP that had the one before it carries the same Q_Key, "
                          "whatever was posted.",
           .make_filter = make<KeepsQkey>},
    Mutant{.name = "resends_with_the_hop_limit_of_the_port",
           .rule = "CA17-9",
           .description = "Requests that are sent again have hop limit 64.",
           .make_filter = make<ResendsWithHopLimit64>},
    Mutant{.name = "requests_without_payload_untagged",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Requests without payload leave without the VLAN tag of the QP.",
           .make_filter = make<EditsSentDatagram<untagged_if_empty>>},
    Mutant{.name = "icrc_wrong_where_the_last_beat_is_full",
           .rule = "CRC-01",
           .description = "The ICRC of a request is wrong if it covers a multiple of 64 bytes.",
           .make_filter = make<BreaksFullBeats>},
};

} // namespace
} // namespace veriroce::mutants::of_blind23_requester

namespace veriroce::mutants {

std::span<const Mutant> blind23_requester() {
    return of_blind23_requester::kMutants;
}

} // namespace veriroce::mutants
