// Written blind: defects of what a device does as requester.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind19_requester {
namespace {

using engine::Completion;
using engine::OwnedDatagram;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendRequest;
using engine::SendView;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

std::uint64_t length_of(std::span<const engine::Sge> sges) {
    std::uint64_t length = 0;
    for (const engine::Sge& sge : sges)
        length += sge.length;
    return length;
}

// --- plain traffic

// The table by which the header builder decides whether an opcode may carry SE was written before
// SEND with invalidate and got a row for ONLY alone. Shows when: a solicited SEND_WITH_INV of two
// packets or more.
void unsolicited_last_with_invalidate(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.invalidates() && info.position == Position::Last) packet.bth.solicited = false;
}

// The eight bytes of an atomic's result come out of the byte swap as two words, and the scatter
// engine pops the words of a short list in the order of the wire's. Shows when: an atomic with two
// SGEs, as 4 + 4 bytes.
class ReversesAtomicSges final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!engine::is_atomic(request.opcode) || request.sges.size() != 2) return;
        reversed_.assign(request.sges.rbegin(), request.sges.rend());
        request.sges = reversed_;
    }

  private:
    std::vector<engine::Sge> reversed_;
};

// Unused data segments of a work request are marked by length 0, and the device takes a real empty
// one for that mark. Shows when: a SEND or WRITE, not inline, whose second SGE has no bytes and
// whose third one has some.
class StopsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        const Operation operation = operation_of(request.opcode);
        const bool sends = operation == Operation::Send || operation == Operation::RdmaWrite;
        if (!sends || request.flags.inline_data) return;
        for (std::size_t i = 1; i < request.sges.size(); ++i) {
            if (request.sges[i].length != 0) continue;
            request.sges = request.sges.first(i);
            return;
        }
    }
};

// The driver writes the immediate data of an inline SEND before it copies the data; where they run
// over the first block of the work request the device reads the control segment of the slot's
// former use. Shows when: inline SENDs of more than 32 bytes with different immediate data.
class KeepsOldImmediate final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        constexpr std::uint64_t first_block = 32;
        if (request.opcode != WrOpcode::SendWithImm || !request.flags.inline_data) return;
        const std::uint32_t old = std::exchange(newest_[qpn], request.imm);
        if (length_of(request.sges) > first_block) request.imm = old;
    }

  private:
    std::map<wire::Qpn, std::uint32_t> newest_;
};

// The placement type goes through a priority encoder, as if there were one kind at a time. Shows
// when: a FLUSH that asks for global visibility and persistence together.
void one_kind_of_flush(wire::Packet& packet) {
    constexpr std::uint8_t both = 3;
    constexpr std::uint8_t visibility = 1;
    const bool flush = packet.info().operation == Operation::Flush;
    if (flush && packet.feth.placement == both) packet.feth.placement = visibility;
}

// UC shares the segmenter of UD, which counts whole words: the length of the message is taken after
// padding. Shows when: a UC WRITE of several packets and 4n + 1, 2 or 3 bytes.
void padded_length_of_uc_write(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool meant =
        info.service == wire::Service::Uc && is_write(packet) && info.position == Position::First;
    if (meant) packet.reth.dma_length = (packet.reth.dma_length + 3) & ~3U;
}

// The first word of the IPv6 header is put together from a traffic class without its two lowest
// bits and a flow label that is not masked at 18 bits. Shows when: IPv6, a flow label of 0x40000 or
// more.
void label_in_ecn(wire::Envelope& envelope) {
    if (envelope.source.v4()) return;
    envelope.ecn = static_cast<std::uint8_t>((envelope.ecn | envelope.flow_label >> 18) & 3);
}

struct InMessage : Outgoing {
    wire::Psn first; // of the newest message
};

// "Every 64th packet asks" and "the last packet asks" are combined by XOR. What is sent again takes
// another way and asks. Shows when: an RC message of exactly 64 packets.
class TogglesAckRequest final : public FollowsRequests<InMessage> {
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        constexpr std::int32_t every = 64;
        if (packet.info().starts_message()) qp.memory.first = packet.bth.psn;
        const std::int32_t place = wire::distance(qp.memory.first, packet.bth.psn) + 1;
        const bool segment = packet.info().operation == Operation::Send || is_write(packet);
        if (!again && segment && packet.info().ends_message() && place == every) {
            packet.bth.ack_request = false;
        }
    }
};

// --- errors and retransmission

// The dispatcher of RNR NAKs looks the request up in the table of the old opcodes; the two that
// came later are not found, and the NAK is thrown away. Shows when: a FLUSH or ATOMIC WRITE is
// answered by an RNR NAK of a time longer than the ACK timeout.
ResponseVerdict no_rnr_of_extensions(const ResponseView& view) {
    const bool rnr = view.info.operation == Operation::Acknowledge &&
                     view.packet.aeth.syndrome.kind() == wire::AckKind::RnrNak;
    const bool extension = view.request && (view.request->opcode == WrOpcode::Flush ||
                                            view.request->opcode == WrOpcode::AtomicWrite);
    if (rnr && extension) return ResponseVerdict::Drop;
    return engine::response_check::fits_request(view);
}

// The "7 is for ever" test stands in the SEND and WRITE branch of the handler; the READ branch
// compares counters only. Shows when: a READ with rnr_retry 7 is RNR NAKed eight times.
bool seven_tries_of_read(const SendView& view) {
    if (view.request.opcode != WrOpcode::RdmaRead) return engine::send_check::rnr_retry_left(view);
    return view.outbound.rnr_retries < view.connection.rnr_retry;
}

struct ReadsSent : Outgoing {
    ReadLog log;
};

// The adder that moves a READ's address on to the rest is 32 bits wide. Shows when: a READ whose
// remote range crosses a multiple of 4 GiB loses a response behind it.
class LosesCarryOfReadRest final : public FollowsRequests<ReadsSent> {
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        if (!again) {
            qp.memory.log.note(packet, qp.mtu());
            return;
        }
        const auto whole = qp.memory.log.holding(packet.bth.psn);
        if (!whole) return;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        packet.reth.virtual_address =
            (whole->request.reth.virtual_address & ~low) | (packet.reth.virtual_address & low);
    }
};

// A work request that sends packets, as it was posted, and the PSN of its first packet.
struct Posted {
    std::uint64_t id = 0;
    WrOpcode opcode = WrOpcode::Send;
    bool inline_data = false;
    std::vector<engine::Sge> sges;
    std::uint64_t length = 0;
    wire::Psn first{};
    std::uint32_t packets = 1;

    [[nodiscard]] bool holds(wire::Psn psn) const { return engine::forward(first, psn) < packets; }
};

// A filter that knows which work request a packet belongs to.
template <std::derived_from<Outgoing> Memory>
class KnowsPosts : public DmaFilter<Memory> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        if (operation_of(request.opcode) == Operation::Reserved) return;
        lines_[qpn].waiting.push_back({.id = request.id,
                                       .opcode = request.opcode,
                                       .inline_data = request.flags.inline_data,
                                       .sges = {request.sges.begin(), request.sges.end()},
                                       .length = length_of(request.sges)});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) lines_.erase(qpn);
    }

  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void request_leaves(Qp& qp, wire::Packet& packet, bool again, const Posted& of) = 0;

    void leaves(Qp& qp, Passage& passage) final {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const bool again = qp.memory.note_request(packet, qp.mtu());
        auto& [waiting, begun] = lines_[qp.report.qpn];
        if (!again && packet.info().starts_message()) {
            // What was refused when it was posted does not come.
            while (!waiting.empty() &&
                   operation_of(waiting.front().opcode) != packet.info().operation)
                waiting.pop_front();
            if (waiting.empty()) return;
            Posted& work = begun.emplace_back(std::move(waiting.front()));
            waiting.pop_front();
            work.first = packet.bth.psn;
            work.packets =
                engine::is_atomic(work.opcode) ? 1 : wire::packets_of(work.length, qp.mtu());
            constexpr std::size_t kept = 256;
            if (begun.size() > kept) begun.pop_front();
        }
        const wire::Psn psn = packet.bth.psn;
        const auto of = std::ranges::find_if(begun.rbegin(), begun.rend(),
                                             [psn](const Posted& work) { return work.holds(psn); });
        if (of != begun.rend()) request_leaves(qp, packet, again, *of);
    }
    void arrives(Qp& qp, Passage& passage) final { qp.memory.note_answer(passage.packet); }

  private:
    struct Line {
        std::deque<Posted> waiting;
        std::deque<Posted> begun;
    };
    std::map<wire::Qpn, Line> lines_;
};

struct Resending : Outgoing {
    std::optional<wire::Psn> newest; // that was sent again, of this run
    std::uint64_t shift = 0;         // how far behind its place the gather engine reads
};

// A retransmission finds the SGE in which it goes on, and forgets the offset in it. Shows when: a
// message of several SGEs is sent again from a packet that begins inside the second SGE or later.
class ResendsFromStartOfSge final : public KnowsPosts<Resending> {
    void request_leaves(Qp& qp, wire::Packet& packet, bool again, const Posted& of) override {
        Resending& memory = qp.memory;
        const bool segment = packet.info().operation == Operation::Send || is_write(packet);
        if (!again || !segment || of.inline_data || packet.info().starts_message()) {
            memory.newest = again ? std::optional(packet.bth.psn) : std::nullopt;
            memory.shift = 0;
            return;
        }
        const bool goes_on = memory.newest && *memory.newest + 1 == packet.bth.psn;
        memory.newest = packet.bth.psn;
        const std::uint64_t offset =
            std::uint64_t{engine::forward(of.first, packet.bth.psn)} * wire::bytes_of(qp.mtu());
        if (!goes_on) memory.shift = place_in_later_sge(of.sges, offset);
        if (memory.shift != 0) read(of.sges, offset - memory.shift, packet);
    }

    static std::uint64_t place_in_later_sge(std::span<const engine::Sge> sges,
                                            std::uint64_t offset) {
        for (std::size_t i = 0; i < sges.size(); ++i) {
            if (offset < sges[i].length) return i == 0 ? 0 : offset;
            offset -= sges[i].length;
        }
        return 0;
    }
    void read(std::span<const engine::Sge> sges, std::uint64_t offset, wire::Packet& packet) {
        std::vector<std::byte> bytes;
        const std::size_t wanted = packet.payload().size();
        for (const engine::Sge& sge : sges) {
            if (offset >= sge.length) {
                offset -= sge.length;
                continue;
            }
            const auto part = std::min<std::uint64_t>(sge.length - offset, wanted - bytes.size());
            const auto from = regions().at(wire::Rkey{sge.lkey.value}, sge.address + offset, part);
            if (from.size() != part) return; // deregistered meanwhile
            bytes.insert(bytes.end(), from.begin(), from.end());
            offset = 0;
            if (bytes.size() == wanted) break;
        }
        if (bytes.size() != wanted) return;
        bytes.resize(packet.body.size());
        bytes_ = std::move(bytes);
        packet.body = bytes_;
    }

    std::vector<std::byte> bytes_; // of the packet that leaves
};

struct FirstLoss : Outgoing {
    std::optional<wire::Psn> nak; // that the resend in progress obeys
};

// "Retransmission in progress" closes the door to sequence NAKs until something is acknowledged,
// also to one that names another loss, among what is sent again. Shows when: of a burst n and n + 2
// are lost: after the NAK of n and the resend comes a NAK of n + 2 before any ACK.
class IgnoresSecondLoss final : public FollowsRequests<FirstLoss> {
    void answer_arrives(Qp& qp, Passage& passage) override {
        FirstLoss& memory = qp.memory;
        const wire::Psn psn = passage.packet.bth.psn;
        if (!is_sequence_nak(passage.packet) || !memory.holds(psn)) return;
        if (memory.again && memory.nak && wire::distance(*memory.nak, psn) > 0) {
            passage.dropped = true;
        } else {
            memory.nak = psn;
        }
    }
};

// The completion behind the one in error was formatted with the status register that the error had
// just set. Shows when: an RNR-exhausted request has others of its QP behind it.
class RepeatsRnrStatus final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Send) return completion;
        Completion shown = completion;
        const bool behind =
            std::exchange(behind_[completion.qp], completion.status == WcStatus::RnrRetryExcErr);
        if (behind && shown.status == WcStatus::WrFlushErr) {
            shown.status = WcStatus::RnrRetryExcErr;
        }
        return shown;
    }

  private:
    std::map<engine::QpId, bool> behind_;
};

// The completion takes its length from the READ that is in the request context, which the retry has
// cut to the rest. Shows when: a READ of several packets is asked for again from its middle.
class ReportsRestOfRead final : public KnowsPosts<Outgoing> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion shown = completion;
        const auto rest = rests_.find(completion.id);
        if (rest == rests_.end() || completion.queue != engine::Queue::Send) return shown;
        const bool read = completion.opcode == engine::WcOpcode::RdmaRead;
        if (read && completion.status == WcStatus::Success) shown.byte_len = rest->second;
        rests_.erase(rest);
        return shown;
    }

  private:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again, const Posted& of) override {
        if (!again || !is_read_request(packet)) return;
        if (packet.reth.dma_length < of.length) rests_[of.id] = packet.reth.dma_length;
    }

    std::map<std::uint64_t, std::uint32_t> rests_; // by work request
};

// NAKs are compared with the oldest PSN as plain numbers, ACKs on the circle. Shows when: messages
// on both sides of PSN 0xFFFFFF are on their way, the first one unacknowledged, and a NAK names one
// behind the wrap.
ResponseVerdict nak_compared_as_number(const ResponseView& view) {
    const bool nak = view.info.operation == Operation::Acknowledge &&
                     view.packet.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
    const bool less = view.packet.bth.psn.value() < view.outbound.unacked_psn.value();
    return nak && less ? ResponseVerdict::Drop : engine::response_check::window(view);
}

// The length check of responses counts words before the pad is taken off. Shows when: a READ of
// 4n + 2 bytes is answered by a last packet of 4n + 1 bytes.
ResponseVerdict length_in_words(const ResponseView& view) {
    const ResponseVerdict right = engine::response_check::read_length(view);
    if (right == ResponseVerdict::Take || !view.request) return right;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    const std::uint64_t offset = engine::forward(view.request->first, view.packet.bth.psn) * full;
    const bool last = view.packet.bth.psn == view.request->last;
    const std::uint64_t due = last ? view.request->length - offset : full;
    const auto words = [](std::uint64_t bytes) { return (bytes + 3) / 4; };
    const std::uint64_t came = view.packet.payload().size();
    return words(came) == words(due) ? ResponseVerdict::Take : right;
}

// --- two features, two QPs

// The cache of address handles is looked up by the destination's GID alone. Shows when: two
// datagrams to one address by address handles with different traffic class or hop limit.
class FirstHandleOfDestination final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const auto [known, fresh] = cache_.try_emplace(path.destination.bytes, path);
        path.traffic_class = known->second.traffic_class;
        path.hop_limit = known->second.hop_limit;
    }

  private:
    std::map<std::array<std::byte, 16>, engine::AddressVector> cache_;
};

// Inline requests go down a short way that has no input from the counter of outstanding READs.
// Shows when: a fenced inline SEND or WRITE behind an unanswered READ.
bool no_fence_of_inline(const SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

// A READ that expects no bytes takes no entry in the table of outstanding READs, so it is not
// stopped when the table is full. Shows when: max_rd_atomic READs are unanswered and one of no
// bytes follows.
bool empty_read_unlimited(const SendView& view) {
    const bool empty =
        view.request.opcode == WrOpcode::RdmaRead && length_of(view.request.sges) == 0;
    return empty || engine::send_check::rd_atomic(view);
}

// The header template is written when a QP goes to RTR; the command that changes an address vector
// in SQD rewrites addresses and forgets the two bytes beside them. Shows when: SQD, a new traffic
// class or hop limit, RTS, and a message.
class KeepsClassInSqd final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) asked_.erase(report.qpn);
        known_[report.qpn] = report;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        known_.erase(qpn);
        asked_.erase(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const auto known = known_.find(qpn);
        if (!attributes.address || known == known_.end()) return;
        const engine::QpReport& report = known->second;
        if (report.state != engine::QpState::Sqd || !report.attributes.address) return;
        asked_[qpn] = *attributes.address;
        attributes.address->traffic_class = report.attributes.address->traffic_class;
        attributes.address->hop_limit = report.attributes.address->hop_limit;
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked == asked_.end() || !report.attributes.address) return;
        report.attributes.address->traffic_class = asked->second.traffic_class;
        report.attributes.address->hop_limit = asked->second.hop_limit;
    }

  private:
    std::map<wire::Qpn, engine::QpReport> known_;
    std::map<wire::Qpn, engine::AddressVector> asked_;
};

// The new rate that follows a CNP puts the QP back into the scheduler, out of the list of those
// that wait for a receiver. Shows when: a CNP arrives during an RNR wait.
class CnpEndsRnrWait final : public KeepsCopies {
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!of_this_connection(qp.report, passage)) return;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            const bool sent = memory.sent.contains(packet.bth.psn.value());
            if (sent && memory.oldest == packet.bth.psn) memory.waits = packet.bth.psn;
        } else if (is_cnp(packet) && memory.waits) {
            send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        } else if (packet.info().response() && !is_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn);
            if (memory.waits && wire::distance(*memory.waits, packet.bth.psn) >= 0) {
                memory.waits.reset();
            }
        }
    }
};

// The queue to a destination holds the head that waits for its receiver, and all QPs to that
// address stand behind it. Shows when: one of two QPs to a host gets an RNR NAK of a long time.
class RnrHoldsDestination final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override { known_[report.qpn] = report; }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? known_.find(packet->bth.dest_qp) : known_.end();
        if (qp != known_.end() && is_rnr_nak(*packet) && qp->second.state == engine::QpState::Rts) {
            held_[datagram.envelope.source.bytes] = {
                .peer = qp->second.attributes.dest_qp.value_or(wire::Qpn{}),
                .until = now + wire::rnr_time(packet->aeth.syndrome.code())};
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto held = held_.find(datagram.envelope.destination.bytes);
        const bool waits = packet && is_rc_request(*packet) && held != held_.end() &&
                           held->second.peer != packet->bth.dest_qp && now < held->second.until;
        if (waits) datagram.delay = std::max(datagram.delay, held->second.until - now);
        out.push_back(std::move(datagram));
    }

  private:
    struct Held {
        wire::Qpn peer; // of the QP that waits
        wire::Instant until;
    };
    std::map<wire::Qpn, engine::QpReport> known_;
    std::map<std::array<std::byte, 16>, Held> held_;
};

struct RnrSeen : Outgoing {
    bool rnr = false; // something that was RNR NAKed is not acknowledged yet
};

// The immediate data wait in one register for each QP, which is loaded when the doorbell rings and
// not again when an RNR wait is over. Shows when: a SEND or WRITE with immediate data is RNR NAKed,
// and another one with other data is posted before it is sent again.
class NewestImmediateAfterRnr final : public FollowsRequests<RnrSeen> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        const bool immediate =
            request.opcode == WrOpcode::SendWithImm || request.opcode == WrOpcode::RdmaWriteWithImm;
        if (immediate) newest_[qpn] = request.imm;
    }

  private:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const auto newest = newest_.find(qp.report.qpn);
        const bool meant = again && qp.memory.rnr && packet.info().immediate();
        if (meant && newest != newest_.end()) packet.imm.value = newest->second;
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!qp.memory.holds(packet.bth.psn)) return;
        if (is_rnr_nak(packet)) qp.memory.rnr = true;
        if (is_ack(packet)) qp.memory.rnr = false;
    }

    std::map<wire::Qpn, std::uint32_t> newest_;
};

// The header of a QP's first packet is fetched before the new context has replaced the old one in
// the cache; the fetch of the next one finds it right. Shows when: a QP is reset and connected to a
// peer with another QPN, and sends.
class FirstPacketToFormerPeer final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Life& life = lives_[report.qpn];
        if (report.state == engine::QpState::Reset) {
            if (life.peer) life.former = std::exchange(life.peer, std::nullopt);
            return;
        }
        const bool connected = report.state == engine::QpState::Rtr;
        if (connected && !life.peer) life.peer = report.attributes.dest_qp;
    }
    void qp_destroyed(wire::Qpn qpn) override { lives_.erase(qpn); }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            const wire::Qpn to = packet->bth.dest_qp;
            const auto found = std::ranges::find_if(
                lives_, [to](const auto& entry) { return entry.second.peer == to; });
            if (found != lives_.end() && found->second.former) {
                packet->bth.dest_qp = *std::exchange(found->second.former, std::nullopt);
                datagram.bytes = bytes_of(*packet);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Life {
        std::optional<wire::Qpn> peer;
        std::optional<wire::Qpn> former; // until the first packet of the new life
    };
    std::map<wire::Qpn, Life> lives_;
};

struct Flushes : Outgoing {
    std::vector<wire::Psn> psns;
};

// FLUSH was added beside WRITE in the completion logic: an ACK of its PSN ends it. Shows when: a
// FLUSH is answered by an ACKNOWLEDGE and by nothing else.
class AckEndsFlush final : public FollowsRequests<Flushes> {
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const bool flush = packet.info().operation == Operation::Flush;
        if (flush && !again) qp.memory.psns.push_back(packet.bth.psn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& psns = qp.memory.psns;
        const bool flush = std::ranges::find(psns, packet.bth.psn) != psns.end();
        if (flush && is_ack(packet) && qp.memory.holds(packet.bth.psn)) {
            set_opcode(packet, Operation::RdmaReadResponse, Position::Only);
        }
    }
};

// Local work has a completion unit of its own, which overtakes the one of the wire by an entry when
// both are due at once. Shows when: a signaled LOCAL_INV is posted behind a signaled request that
// is not complete yet.
class LocalWorkOvertakes final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        const auto last = last_.find(qpn);
        const bool local = request.opcode == WrOpcode::LocalInv && request.sges.empty() &&
                           !request.flags.inline_data;
        if (local && request.flags.signaled && last != last_.end()) {
            pairs_[last->second] = request.id;
        }
        if (local || !request.flags.signaled) {
            if (last != last_.end()) last_.erase(last);
        } else {
            last_[qpn] = request.id;
        }
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != engine::QpState::Reset) return;
        last_.erase(qpn);
        pairs_.clear();
    }
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        if (one.queue != engine::Queue::Send) {
            seen.push_back(one);
            return;
        }
        std::erase_if(last_, [&](const auto& entry) { return entry.second == one.id; });
        const auto pair = pairs_.find(one.id);
        if (pair != pairs_.end()) {
            const std::uint64_t local = pair->second;
            pairs_.erase(pair);
            if (one.status == WcStatus::Success) {
                held_.insert_or_assign(local, one);
                return;
            }
        }
        const auto held = held_.find(one.id);
        const bool overtakes = held != held_.end() && held->second.qp == one.qp;
        if (overtakes) seen.push_back(one);
        std::erase_if(held_, [&](const auto& entry) {
            const bool same_qp = entry.second.qp == one.qp;
            if (same_qp) seen.push_back(entry.second);
            return same_qp;
        });
        if (!overtakes) seen.push_back(one);
    }

  private:
    std::map<wire::Qpn, std::uint64_t> last_;      // work request, if it is not complete
    std::map<std::uint64_t, std::uint64_t> pairs_; // the local work behind a request
    std::map<std::uint64_t, Completion> held_;     // by the local work that goes first
};

using engine::kStandardChecks;

constexpr std::array kMutants{
    Mutant{.name = "last_with_invalidate_is_unsolicited",
           .rule = "BTH-13",
           .description =
               "SEND_LAST with invalidate never carries SE, though the request asked for "
               "it; SEND_ONLY with invalidate does.",
           .make_filter = make<EditsOutbound<unsolicited_last_with_invalidate>>},
    Mutant{.name = "atomic_result_in_two_sges_swapped",
           .rule = "ATM-01",
           .description = "The result of an atomic with two SGEs goes to them in the wrong order.",
           .make_filter = make<ReversesAtomicSges>},
    Mutant{.name = "empty_sge_ends_list",
           .rule = "LEN-10",
           .description = "A SEND or WRITE is cut off at its first SGE of no bytes that is not the "
                          "first of the list.",
           .make_filter = make<StopsAtEmptySge>},
    Mutant{.name = "long_inline_send_has_old_immediate",
           .rule = "REQ-34",
           .description = "An inline SEND of more than 32 bytes carries the immediate data of the "
                          "inline SEND before it.",
           .make_filter = make<KeepsOldImmediate>},
    Mutant{.name = "flush_of_both_kinds_asks_for_first",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description =
               "A FLUSH for global visibility and persistence asks for visibility alone.",
           .make_filter = make<EditsOutbound<one_kind_of_flush>>},
    Mutant{.name = "uc_write_announces_padded_length",
           .rule = "LEN-04",
           .description = "The RETH of a UC WRITE of several packets says the length with the pad.",
           .make_filter = make<EditsOutbound<padded_length_of_uc_write>>},
    Mutant{.name = "flow_label_reaches_ecn",
           .rule = "CA17-14",
           .description = "The two highest bits of the IPv6 flow label are set in the ECN bits as "
                          "well.",
           .make_filter = make<EditsSentEnvelope<label_in_ecn>>},
    Mutant{.name = "sixty_fourth_and_last_asks_nothing",
           .rule = "BTH-18",
           .description = "The last packet of a message of 64 packets does not ask for an ACK when "
                          "it is sent for the first time.",
           .make_filter = make<TogglesAckRequest>},

    Mutant{.name = "rnr_of_flush_ignored",
           .rule = "RNR-15",
           .description = "An RNR NAK of a FLUSH or ATOMIC WRITE is ignored: the request is sent "
                          "again by the ACK timeout.",
           .cases = "rnr/flush-waits",
           .checks = kStandardChecks.with(ResponseCheck::FitsRequest, no_rnr_of_extensions)},
    Mutant{.name = "rnr_retry_seven_of_read_is_seven",
           .rule = "RNR-09",
           .description = "With rnr_retry 7 a READ ends in error at the eighth RNR NAK.",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, seven_tries_of_read)},
    Mutant{.name = "rest_of_read_loses_carry",
           .rule = "REQ-10",
           .description = "A READ that is asked for again from beyond a multiple of 4 GiB names an "
                          "address 4 GiB too low.",
           .make_filter = make<LosesCarryOfReadRest>},
    Mutant{.name = "resend_reads_sge_from_its_start",
           .rule = "REQ-31",
           .description = "What is sent again from inside the second SGE of a message or a later "
                          "one carries the bytes from that SGE's start.",
           .make_filter = make<ResendsFromStartOfSge>},
    Mutant{.name = "nak_of_second_loss_ignored",
           .rule = "REQ-11",
           .description =
               "During a resend a sequence NAK of a later PSN is ignored until something "
               "is acknowledged.",
           .make_filter = make<IgnoresSecondLoss>},
    Mutant{.name = "request_behind_rnr_exhausted_has_its_status",
           .rule = "STA-07",
           .description = "The first request behind one that ends with RNR_RETRY_EXC_ERR has that "
                          "status too and is not flushed.",
           .make_filter = make<RepeatsRnrStatus>},
    Mutant{.name = "retried_read_reports_rest",
           .rule = "REQ-34",
           .description =
               "byte_len of a READ that was asked for again from its middle is the length "
               "of the rest.",
           .make_filter = make<ReportsRestOfRead>},
    Mutant{.name = "nak_behind_wrap_ignored",
           .rule = "REQ-11",
           .description =
               "A sequence NAK behind the wrap is ignored while the oldest PSN is before "
               "the wrap.",
           .checks = kStandardChecks.with(ResponseCheck::Window, nak_compared_as_number)},
    Mutant{.name = "read_response_length_in_words",
           .rule = "REQ-21",
           .description =
               "The last response of a READ may be up to three bytes too short within its "
               "last word, and the READ succeeds.",
           .cases = "req/last-response-short req/response-short-by-bytes",
           .checks = kStandardChecks.with(ResponseCheck::ReadLength, length_in_words)},

    Mutant{.name = "address_handle_by_destination",
           .rule = "CA17-9",
           .description = "All datagrams to an address have the traffic class and hop limit of the "
                          "first address handle for it.",
           .make_filter = make<FirstHandleOfDestination>},
    Mutant{.name = "fence_of_inline_ignored",
           .rule = "REQ-28",
           .description = "A fenced inline request does not wait for earlier READs and atomics.",
           .checks = kStandardChecks.with(SendCheck::Fence, no_fence_of_inline)},
    Mutant{.name = "empty_read_above_max_rd_atomic",
           .rule = "REQ-27",
           .description = "A READ of no bytes is sent although max_rd_atomic READs and atomics are "
                          "outstanding.",
           .cases = "req/empty-reads-outstanding",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, empty_read_unlimited)},
    Mutant{.name = "sqd_keeps_traffic_class",
           .rule = "N-25",
           .level = "SHOULD",
           .description =
               "A new address vector that is set in SQD changes neither traffic class nor "
               "hop limit of what is sent.",
           .make_filter = make<KeepsClassInSqd>},
    Mutant{.name = "cnp_ends_wait_of_rnr",
           .rule = "RNR-08",
           .description = "A CNP during an RNR wait makes the refused packet leave at once.",
           .make_filter = make<CnpEndsRnrWait>},
    Mutant{.name = "rnr_wait_holds_other_qps",
           .rule = "ROB-07",
           .level = "SHOULD",
           .description = "While a QP waits after an RNR NAK the requests of all other QPs to the "
                          "same address wait with it.",
           .cases = "rnr/others-go-on",
           .make_filter = make<RnrHoldsDestination>},
    Mutant{.name = "resend_after_rnr_has_newest_immediate",
           .rule = "REQ-34",
           .description =
               "A message with immediate data that is sent again after an RNR NAK carries "
               "those of the request that was posted last.",
           .make_filter = make<NewestImmediateAfterRnr>},
    Mutant{.name = "first_packet_to_former_peer",
           .rule = "STA-10",
           .description = "The first request of a QP that was reset and connected again names the "
                          "peer QP of its former life.",
           .cases = "sta/first-request-to-another-peer",
           .make_filter = make<FirstPacketToFormerPeer>},
    Mutant{.name = "ack_ends_flush",
           .rule = "REQ-20",
           .description = "An ACKNOWLEDGE with the PSN of a FLUSH completes it.",
           .make_filter = make<AckEndsFlush>},
    Mutant{.name = "local_work_completes_early",
           .rule = "N-20",
           .description = "The completion of a LOCAL_INV comes before that of the request "
                          "posted before it.",
           .make_filter = make<LocalWorkOvertakes>},
};
static_assert(kMutants.size() == 27);

} // namespace
} // namespace veriroce::mutants::of_blind19_requester

namespace veriroce::mutants {

std::span<const Mutant> blind19_requester() {
    return of_blind19_requester::kMutants;
}

} // namespace veriroce::mutants
