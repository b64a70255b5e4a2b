// Defects of responders, written blind: what a device does with requests, receives, keys and marks.
#include <array>
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/grh.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_blind19_responder {
namespace {

using engine::DatagramCheck;
using engine::DatagramView;
using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;
namespace right_datagram = engine::datagram_check;
namespace right_duplicate = engine::duplicate_check;

// --- what several of them use

// A request of RC that a right device looks at.
bool heard(const engine::QpReport& report, const Passage& passage) {
    return engine::receives(report.state) && is_rc_request(passage.packet) &&
           of_this_connection(report, passage);
}

// Requests that a right device looks at, each with its place.
template <std::derived_from<Arrivals> Memory>
class Hears : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void requested(Qp& /*qp*/, Passage& /*passage*/, Arrivals::Place /*place*/) {}
    virtual void answered(Qp& /*qp*/, Passage& /*passage*/) {}

    void arrives(Qp& qp, Passage& passage) final {
        if (!heard(qp.report, passage)) return;
        requested(qp, passage, qp.memory.note(passage.packet, qp.first_request(), qp.mtu()));
    }
    void leaves(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().response()) return;
        heed_nak(qp.memory, passage.packet);
        answered(qp, passage);
    }
};

bool is_send_or_write(const wire::Packet& packet) {
    return packet.info().operation == Operation::Send || is_write(packet);
}

// Makes the engine refuse a request as an invalid one.
void make_invalid(wire::Packet& packet) {
    constexpr std::uint8_t reserved = 0x15;
    packet.bth.opcode = reserved;
}

// --- plain traffic

// The read engine counts the PMTU blocks that the range touches, as its DMA splits it, and the
// expected PSN advances by that; the responses are cut right. Shows when: a READ begins at an
// address that is no multiple of the PMTU, so that it touches a block more than it has packets, and
// a request follows: that one is taken for a duplicate.
struct Counted : Arrivals {
    std::int32_t by = 0;            // the wire's PSN less the engine's
    std::int32_t before = 0;        // the same of PSNs before `since`
    std::optional<wire::Psn> since; // as the engine counts
};

class CountsBlocks final : public QpFilter<Counted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!heard(qp.report, passage)) return;
        Counted& memory = qp.memory;
        wire::Packet& packet = passage.packet;
        const bool old =
            memory.since && wire::distance(*memory.since + memory.before, packet.bth.psn) < 0;
        packet.bth.psn += -(old ? memory.before : memory.by);
        const auto place = memory.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected || !is_read_request(packet)) return;
        const wire::Reth& reth = packet.reth;
        if (reth.dma_length == 0) return;
        const std::uint64_t offset = reth.virtual_address % wire::bytes_of(qp.mtu());
        const std::uint32_t blocks = wire::packets_of(offset + reth.dma_length, qp.mtu());
        const std::uint32_t packets = wire::packets_of(reth.dma_length, qp.mtu());
        if (blocks == packets) return;
        memory.before = memory.by;
        memory.by += static_cast<std::int32_t>(blocks - packets);
        memory.since = memory.next;
    }
    void leaves(Qp& qp, Passage& passage) override {
        Counted& memory = qp.memory;
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        heed_nak(memory, packet);
        const bool old = memory.since && wire::distance(*memory.since, packet.bth.psn) < 0;
        packet.bth.psn += old ? memory.before : memory.by;
    }
};

// The header parser keeps the flow label in a register of 16 bits, out of which the GRH of a
// datagram is made. Shows when: a UD QP receives a datagram over IPv6 with a flow label above
// 0xFFFF, and the host looks at the GRH.
class ShortFlowLabel final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Ud) {
            datagram.envelope.flow_label &= 0xFFFF;
        }
        in.push_back(std::move(datagram));
    }
};

// The room of a receive is compared with the length on the wire, before the pad is taken off.
// Shows when: a datagram of 4n+1..4n+3 bytes meets a receive of exactly 40 bytes and these.
bool room_for_pad_too(const DatagramView& view) {
    return right_datagram::receive_room(view) &&
           engine::kGrhBytes + view.packet.body.size() <= view.receive_bytes;
}

// Firmware compares the byte of AckReq with 0x80. Shows when: a SEND or WRITE asks for an ACK and
// one of the seven reserved bits beside AckReq is set.
void whole_byte_of_ack_request(wire::Packet& packet) {
    if (is_rc_request(packet) && packet.bth.reserved7 != 0) packet.bth.ack_request = false;
}

// An SGE of length 0 is what the driver writes behind the last one, and what the device stops at.
// Shows when: a receive has the SGEs {64 bytes, 0 bytes, 64 bytes} and a SEND of 65..128 bytes
// comes.
class StopsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(empty - request.sges.begin()));
    }
};

// An adder of 32 bits serves operands of 32 bits, and its carry is not connected. Shows when: a
// FETCH_ADD whose operand is below 2^32 makes the lower half of the value overflow: 0xFFFFFFFF + 1.
struct Adds : Arrivals {
    struct Edit {
        wire::Psn psn;
        std::uint64_t asked = 0;
        std::uint64_t done = 0;
    };
    std::deque<Edit> edits;
};

class LosesCarry final : public Hears<Adds> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::FetchAdd) return;
        wire::AtomicEth& asked = packet.atomic;
        auto& edits = qp.memory.edits;
        if (place == Arrivals::Place::Behind) { // the same for the duplicate
            for (const Adds::Edit& edit : edits) {
                if (edit.psn != packet.bth.psn || edit.asked != asked.swap_or_add) continue;
                asked.swap_or_add = edit.done;
                return;
            }
        }
        constexpr std::uint64_t carry = std::uint64_t{1} << 32;
        if (place != Arrivals::Place::Expected || asked.swap_or_add >= carry) return;
        std::uint64_t value = 0;
        const auto bytes = regions().at(asked.rkey, asked.virtual_address, sizeof value);
        if (bytes.empty()) return;
        std::memcpy(&value, bytes.data(), sizeof value);
        if ((value & (carry - 1)) + asked.swap_or_add < carry) return;
        constexpr std::size_t kept = 32;
        edits.push_back(
            {.psn = packet.bth.psn, .asked = asked.swap_or_add, .done = asked.swap_or_add - carry});
        asked.swap_or_add = edits.back().done;
        if (edits.size() > kept) edits.pop_front();
    }
};

// The write of eight bytes is a burst of two beats of eight with byte enables, and the range check
// gets the length of the burst. Shows when: an ATOMIC WRITE goes to the last eight bytes of a
// region.
RequestVerdict range_of_whole_burst(const RequestView& view) {
    const RequestVerdict verdict = right::key_range(view);
    const bool meant = view.info.operation == Operation::AtomicWrite && view.target;
    if (verdict != RequestVerdict::Accept || !meant) return verdict;
    constexpr std::uint64_t burst = 16;
    const bool fits = view.memory.slot(view.target->rkey.value).covers(view.target->address, burst);
    return fits ? verdict : RequestVerdict::NakRemoteAccess;
}

// A SEND of 32 bytes at most comes in the CQE, and the driver copies it to the first SGE and cuts
// it there. Shows when: a SEND of 32 bytes at most meets a receive whose first SGE is shorter.
class CopiesToFirstSge final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        Posted posted;
        for (const engine::Sge& sge : request.sges) {
            const auto bytes = memory_of(sge, std::min(sge.length, kInline));
            posted.push_back({.sge = sge, .before = {bytes.begin(), bytes.end()}});
        }
        posted_[request.id].push_back(std::move(posted));
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        const auto found = posted_.find(one.id);
        if (one.queue != engine::Queue::Receive || found == posted_.end()) return one;
        const Posted posted = std::move(found->second.front());
        found->second.pop_front();
        if (found->second.empty()) posted_.erase(found);
        const bool meant = one.status == engine::WcStatus::Success && !one.grh &&
                           one.opcode == engine::WcOpcode::Recv && one.byte_len <= kInline;
        if (meant) take_back(posted, one.byte_len);
        return one;
    }

  private:
    static constexpr std::uint32_t kInline = 32;
    struct Piece {
        engine::Sge sge;
        std::vector<std::byte> before;
    };
    using Posted = std::vector<Piece>;

    wire::MutableBytes memory_of(const engine::Sge& sge, std::uint32_t length) const {
        return regions().at(wire::Rkey{sge.lkey.value}, sge.address, length);
    }
    // All but what lies in the first SGE is as it was.
    void take_back(const Posted& posted, std::uint32_t length) const {
        for (std::size_t i = 0; i < posted.size() && length != 0; ++i) {
            const Piece& piece = posted[i];
            const std::uint32_t bytes = std::min(length, piece.sge.length);
            length -= bytes;
            const auto place = memory_of(piece.sge, bytes);
            if (i == 0 || place.empty() || piece.before.size() < bytes) continue;
            std::copy_n(piece.before.begin(), bytes, place.begin());
        }
    }

    std::map<std::uint64_t, std::deque<Posted>> posted_; // by wr_id
};

// Where immediate data stands before the payload, the byte enables of the last word are made from
// the body's length. Shows when: a WRITE_ONLY with immediate data brings 4n+1..4n+3 bytes: the pad
// is written behind them, if the region goes on there.
class WritesPad final : public Hears<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool meant = place == Arrivals::Place::Expected && is_write(packet) &&
                           info.position == Position::Only && info.immediate() &&
                           packet.bth.pad != 0 && !packet.pad_exceeds_body();
        if (!meant || packet.reth.dma_length != packet.payload().size()) return;
        const auto region = regions().live(packet.reth.rkey);
        const auto& access = qp.report.attributes.access;
        if (!region || !region->access.remote_write || !access || !access->remote_write) return;
        const std::uint64_t end = packet.reth.virtual_address + packet.reth.dma_length;
        const auto behind = Regions::range(*region, end, packet.bth.pad);
        if (!behind.empty()) std::ranges::copy(packet.body.last(packet.bth.pad), behind.begin());
    }
};

// --- errors and retransmission

bool is_read(const RequestView& view) {
    return view.info.operation == Operation::RdmaReadRequest;
}

// The PSN of a repeated READ is compared as a number with that of the one that is remembered. Shows
// when: the PSNs of a READ's response wrap, and the tail behind the wrap is asked for again.
bool tail_by_number(const RequestView& view) {
    if (!right_duplicate::within_read(view)) return false;
    return !is_read(view) || view.packet.bth.psn.value() >= view.saved->psn.value();
}

// "Remembered" is a length that is not zero. Shows when: a READ of zero bytes is sent again.
bool remembered_by_length(const RequestView& view) {
    return right_duplicate::within_read(view) && (!is_read(view) || view.saved->length != 0);
}

// A READ that is asked for again takes a slot of the response context, which is given back when
// its response reaches the whole length: the tail's does not. Shows when: with max_dest_rd_atomic N
// tails were asked for again N times (1: a single time), and another READ or atomic comes.
struct Slots : Arrivals {
    ReadLog reads;
    std::uint32_t lost = 0;
};

class TailKeepsSlot final : public Hears<Slots> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Packet& packet = passage.packet;
        Slots& memory = qp.memory;
        if (is_send_or_write(packet) || place == Arrivals::Place::Ahead) return;
        if (place == Arrivals::Place::Behind) {
            const auto read = memory.reads.holding(packet.bth.psn);
            const bool tail = is_read_request(packet) && read &&
                              read->request.bth.psn != packet.bth.psn &&
                              read->request.reth.rkey == packet.reth.rkey;
            if (tail) ++memory.lost;
            return;
        }
        const std::uint32_t slots = qp.report.attributes.max_dest_rd_atomic.value_or(0);
        if (slots != 0 && memory.lost >= slots) {
            make_invalid(packet);
        } else if (is_read_request(packet)) {
            memory.reads.note(packet, qp.mtu());
        }
    }
};

// The entry of an executed request has its old value and the address of a READ in one place (a
// union), and a READ that is carried out again stores its address in all of them. Shows when:
// FETCH_ADD, READ, the READ again, the FETCH_ADD again.
struct Unions : Arrivals {
    std::optional<wire::Psn> spoiled; // atomics up to this PSN
    std::uint64_t with = 0;
    std::optional<wire::Psn> asked_again;
};

class AddressForOldValue final : public Hears<Unions> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Arrivals::Place::Behind) return;
        Unions& memory = qp.memory;
        if (is_read_request(packet)) {
            memory.spoiled = memory.next.value_or(qp.first_request()) - 1;
            memory.with = packet.reth.virtual_address;
        } else if (is_atomic_request(packet)) {
            memory.asked_again = packet.bth.psn;
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Unions& memory = qp.memory;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        if (memory.asked_again != packet.bth.psn) return;
        memory.asked_again.reset();
        if (!memory.spoiled || wire::distance(packet.bth.psn, *memory.spoiled) < 0) return;
        packet.atomic_ack.original = memory.with;
    }
};

// The bytes of a packet are counted before the receive is looked for. Shows when: the last packet
// of a WRITE of several with immediate data meets an RNR NAK, and its retry succeeds: byte_len
// counts the packet twice.
struct LastWrite : Arrivals {
    std::optional<wire::Psn> psn;
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0;
};

class CountsRefusedBytes final : public Hears<LastWrite> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        if (one.opcode != engine::WcOpcode::RecvRdmaWithImm || !one.imm) return shown;
        const auto more = more_.find(*one.imm);
        if (more == more_.end() || one.status != engine::WcStatus::Success) return shown;
        shown.byte_len += more->second;
        more_.erase(more);
        return shown;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        LastWrite& memory = qp.memory;
        if (place != Arrivals::Place::Expected) return;
        memory.psn.reset();
        if (!is_write(packet) || info.position != Position::Last || !info.immediate()) return;
        memory.psn = packet.bth.psn;
        memory.bytes = static_cast<std::uint32_t>(packet.payload().size());
        memory.immediate = packet.imm.value;
    }
    void answered(Qp& qp, Passage& passage) override {
        const LastWrite& memory = qp.memory;
        if (!is_rnr_nak(passage.packet) || memory.psn != passage.packet.bth.psn) return;
        more_[memory.immediate] += memory.bytes;
    }

  private:
    std::map<std::uint32_t, std::uint32_t> more_; // by immediate data
};

// The flag that a sequence NAK was sent is cleared where SENDs and WRITEs are carried out, and not
// on the way of READs and atomics. Shows when: a gap is NAKed, a READ or atomic fills it, and a new
// gap comes before any SEND or WRITE: no NAK.
struct NakFlag : Arrivals {
    bool set = false;
    bool stuck = false;
};

class ReadKeepsNakFlag final : public Hears<NakFlag> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        if (place != Arrivals::Place::Expected) return;
        NakFlag& memory = qp.memory;
        if (is_send_or_write(passage.packet)) {
            memory.set = memory.stuck = false;
        } else {
            memory.stuck |= memory.set;
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        if (qp.memory.stuck) passage.dropped = true;
        qp.memory.set = true;
    }
};

// The key is revoked when the header is parsed, before a receive is looked for. Shows when: a SEND
// with invalidate meets an RNR NAK and comes again: its key is gone already, and the QP ends.
struct Revoked : Arrivals {
    std::optional<wire::Psn> asked;
    std::optional<wire::Psn> refused;
};

class RevokesBeforeRnr final : public Hears<Revoked> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Packet& packet = passage.packet;
        if (place != Arrivals::Place::Expected || !packet.info().invalidates()) return;
        constexpr std::uint32_t variant = 0xFF;
        if (qp.memory.refused == packet.bth.psn) packet.ieth.rkey.value ^= variant;
        qp.memory.asked = packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.asked == packet.bth.psn) {
            qp.memory.refused = packet.bth.psn;
        }
    }
};

// The parser sets "solicited" for the completion stage, which clears it when it makes a completion;
// a duplicate makes none. Shows when: a SEND with SE is sent again, then one without SE comes while
// the CQ is armed for solicited completions: the host is woken.
struct Solicited : Arrivals {
    bool left = false;
};

class DuplicateLeavesSolicited final : public Hears<Solicited> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Bth& bth = passage.packet.bth;
        const wire::OpcodeInfo& info = passage.packet.info();
        if (!info.consumes_receive() || !info.ends_message()) return;
        bool& left = qp.memory.left;
        if (place == Arrivals::Place::Behind) {
            left |= bth.solicited;
        } else if (place == Arrivals::Place::Expected && left) {
            bth.solicited = true;
            left = false;
        }
    }
};

// After a gap in UC the expected PSN is taken over from an ONLY, but not from a FIRST. Shows when:
// a packet before the FIRST of a message of several is lost: that whole message is lost too.
struct NextUc {
    std::optional<wire::Psn> psn;
};

class FirstAfterGapIsLost final : public QpFilter<NextUc> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool meant = packet.info().service == wire::Service::Uc && packet.info().request() &&
                           engine::receives(qp.report.state) &&
                           of_this_connection(qp.report, passage);
        if (!meant) return;
        const wire::Psn expected = qp.memory.psn.value_or(qp.first_request());
        const bool first = packet.info().position == Position::First;
        passage.dropped = first && packet.bth.psn != expected;
        qp.memory.psn = packet.bth.psn + 1;
    }
};

// RESET clears PSNs, MSN and NAK state, but not the opcode sequence. Shows when: a QP is reset
// inside a message of several packets and connected again: its first request is NAKed as invalid.
struct SinceReset : Arrivals {
    bool any = false;
};

class OpenMessageSurvives final : public Hears<SinceReset> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        if (place != Arrivals::Place::Expected) return;
        bool& open = open_[qp.report.qpn];
        const bool begins = !qp.memory.any;
        qp.memory.any = true;
        if (begins && open && passage.packet.info().starts_message()) {
            make_invalid(passage.packet);
            open = false;
            return;
        }
        open = qp.memory.open;
    }

  private:
    std::map<wire::Qpn, bool> open_;
};

// The receive of a message that has begun is out of the queue already, where the host's ERR does
// not find it. Shows when: the host moves a QP without SRQ to ERR between the FIRST and the LAST of
// a SEND: the oldest receive gets no completion, the others are flushed.
class OpenReceiveIsLost final : public Hears<Arrivals> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        queues_[qpn].posted.push_back(request.id);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Queue& queue = queues_[qpn];
        if (attributes.state == engine::QpState::Err) queue.loses = queue.open_send;
        if (attributes.state == engine::QpState::Reset) queue = {};
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue != engine::Queue::Receive) return one;
        const bool flushed = one.status == engine::WcStatus::WrFlushErr;
        Queue* const queue = queue_of(one.id, flushed);
        if (queue == nullptr) return one;
        while (queue->posted.front() != one.id)
            queue->posted.pop_front();
        queue->posted.pop_front();
        if (!flushed || !queue->loses) return one;
        queue->loses = false;
        return std::nullopt;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        if (place != Arrivals::Place::Expected) return;
        queues_[qp.report.qpn].open_send =
            qp.memory.open && passage.packet.info().operation == Operation::Send;
    }

  private:
    struct Queue {
        std::deque<std::uint64_t> posted; // and not completed
        bool open_send = false;
        bool loses = false;
    };
    // Whose receive this is; of several, one that loses its own.
    Queue* queue_of(std::uint64_t id, bool flushed) {
        Queue* found = nullptr;
        for (auto& [qpn, queue] : queues_) {
            if (std::ranges::find(queue.posted, id) == queue.posted.end()) continue;
            if (found == nullptr || (flushed && queue.loses)) found = &queue;
        }
        return found;
    }

    std::map<wire::Qpn, Queue> queues_;
};

// --- features and QPs that meet

// The lkeys of a receive are looked up in the QP's protection domain, also where the receive comes
// from a shared queue of another one. Shows when: SRQ and QP are of different domains, the buffers
// of the SRQ's, and a SEND comes: NAK Remote Operational Error.
RequestVerdict domain_of_qp(const RequestView& view) {
    if (view.info.operation != Operation::Send) return RequestVerdict::Accept;
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool reached =
        engine::reachable(view.memory, view.connection.pd, view.receive_sges, before,
                          view.packet.payload().size(), engine::Direction::ToMemory);
    return reached ? right::receive_memory(view) : RequestVerdict::NakRemoteOperational;
}

// The event is made where the last receive of the QP's own is given back; a QP that never took one
// does not come there. Shows when: a QP with SRQ goes to ERR before its first receive completes.
class LastWqeOfUsersOnly final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue == engine::Queue::Receive) took_.insert(one.qp);
        return one;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool last = event.type == engine::EventType::LastWqeReached && event.qp;
        if (last && !took_.contains(*event.qp)) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::QpId> took_;
};

// The timer code comes out of a register that is loaded for the next RNR NAK while one is sent, for
// the same QP. Shows when: two QPs with different min_rnr_timer send RNR NAKs in turn: each has the
// other's code, one of them a shorter wait than it was set up with.
class RnrCodeOfOtherQp final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        const std::uint8_t own = qp.report.attributes.min_rnr_timer.value_or(0);
        packet.aeth.syndrome = wire::Syndrome::rnr(loaded_.value_or(own));
        loaded_ = own;
    }

  private:
    std::optional<std::uint8_t> loaded_;
};

// Bytes that do not fill a word of eight wait in the aligner for the message's next packet, one
// register for all QPs. Shows when: packets of WRITEs of two QPs alternate and one of the WRITEs
// begins at an address that is no multiple of 8: up to 7 bytes where a packet of it begins are
// those with which the other's packet ended.
class SharedAligner final : public QpFilter<OpenWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!heard(qp.report, passage)) return;
        wire::Packet& packet = passage.packet;
        OpenWrite& memory = qp.memory;
        if (!memory.note(packet, qp.first_request(), qp.mtu())) return;
        constexpr std::size_t word = 8;
        const wire::Bytes payload = packet.payload();
        const std::vector<std::byte> tail(
            payload.end() - static_cast<std::ptrdiff_t>(std::min(word, payload.size())),
            payload.end());
        const bool foreign = owner_ && *owner_ != qp.report.qpn;
        const std::size_t wrong =
            std::min({static_cast<std::size_t>(memory.begin % word), payload.size(), tail_.size()});
        if (foreign && !packet.info().starts_message() && wrong != 0) {
            memory.body.assign(packet.body.begin(), packet.body.end());
            std::copy(tail_.end() - static_cast<std::ptrdiff_t>(wrong), tail_.end(),
                      memory.body.begin());
            packet.body = memory.body;
        }
        tail_ = tail;
        owner_ = qp.report.qpn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().response()) heed_nak(qp.memory.arrivals, passage.packet);
    }

  private:
    std::optional<wire::Qpn> owner_;
    std::vector<std::byte> tail_;
};

// The notification point sits at the port and knows QPs by number only; who sends is asked later.
// Shows when: a CE-marked request for an RC QP comes from an address that is not its peer's: the
// packet is dropped, but a CNP goes to that address.
class NotifiesStrangers final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const auto& attributes = qp.report.attributes;
        const wire::Envelope& envelope = passage.envelope;
        if (envelope.ecn != wire::kCongestionExperienced || !is_rc_request(passage.packet)) return;
        if (!engine::receives(qp.report.state) || !attributes.address) return;
        const bool known =
            envelope.source == attributes.address->destination ||
            (attributes.alternate && envelope.source == attributes.alternate->address.destination);
        if (known || envelope.destination != attributes.address->source) return;
        wire::Envelope to = back(envelope);
        constexpr std::uint8_t dscp = 48;
        to.dscp = dscp;
        to.ecn = 0;
        passage.sent.push_back(datagram_of(notification(qp.peer(), passage.packet.bth.pkey), to));
    }
};

// The responder works with a copy of the QP's context, which is loaded when the QP comes to RTS; a
// change of rights in RTS reaches the context alone. Shows when: the host gives or takes a remote
// right by modify_qp in RTS, without SQD: requests are still judged by the old rights.
class RightsOfRts final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Known& known = known_[qpn];
        const bool stays = known.state == engine::QpState::Rts &&
                           attributes.state.value_or(known.state) == engine::QpState::Rts;
        if (attributes.access) known.asked = *attributes.access;
        if (stays) {
            if (attributes.access) attributes.access = known.used;
            return;
        }
        const bool reloads = known.state == engine::QpState::Sqd &&
                             attributes.state == engine::QpState::Rts && known.asked;
        if (reloads) attributes.access = known.asked;
        if (attributes.access) known.used = *attributes.access;
    }
    void queried(engine::QpReport& report) override {
        const auto known = known_.find(report.qpn);
        if (known != known_.end() && known->second.asked) {
            report.attributes.access = known->second.asked;
        }
    }
    void qp_changed(const engine::QpReport& report) override {
        Known& known = known_[report.qpn];
        if (report.state == engine::QpState::Reset) known = {};
        known.state = report.state;
    }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }

  private:
    struct Known {
        engine::QpState state = engine::QpState::Reset;
        engine::Access used;
        std::optional<engine::Access> asked;
    };
    std::map<wire::Qpn, Known> known_;
};

// The first packet's event is made where a message is received; READs and atomics are carried out
// elsewhere and only mark the QP as established. Shows when: the first request to a QP in RTR is a
// READ or an atomic: no COMM_EST, then or later.
struct Established : Arrivals {
    bool any = false;
    std::optional<wire::Psn> quiet;
};

class NoEventForRead final : public Hears<Established> {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::CommEst || swallows_ == 0) return event;
        --swallows_;
        return std::nullopt;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        Established& memory = qp.memory;
        if (place != Arrivals::Place::Expected || memory.any) return;
        memory.any = true;
        const bool quiet =
            qp.report.state == engine::QpState::Rtr && !is_send_or_write(passage.packet);
        if (!quiet) return;
        memory.quiet = passage.packet.bth.psn;
        ++swallows_;
    }
    void answered(Qp& qp, Passage& passage) override {
        Established& memory = qp.memory;
        if (!memory.quiet || memory.quiet != passage.packet.bth.psn) return;
        if (is_nak(passage.packet) && swallows_ != 0) { // refused: there is no event
            --swallows_;
            memory.any = is_fatal_nak(passage.packet);
        }
        memory.quiet.reset();
    }

  private:
    std::uint32_t swallows_ = 0;
};

// Pending requests for connections are found by the peer's communication ID alone, and one that is
// found is a repetition, which is dropped. Shows when: two peers (CA GUIDs) send a REQ with the
// same local communication ID: the second one gets no REJ.
class OneCommunicationId final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !repeats(*packet)) in.push_back(std::move(datagram));
    }

  private:
    bool repeats(const wire::Packet& packet) {
        const wire::Bytes mad = packet.body;
        const bool request = packet.bth.dest_qp == wire::kGsiQpn &&
                             packet.info().service == wire::Service::Ud &&
                             packet.deth.qkey == wire::kGsiQkey && mad.size() == wire::kMadBytes &&
                             wire::load_u8(mad, wire::cm::kClassAt) == wire::kCmClass &&
                             wire::cm::attribute_of(mad) == wire::cm::kReq;
        if (!request) return false;
        const std::uint64_t guid = wire::load_u64(mad, wire::cm::req::kGuidAt);
        const auto known =
            guids_.try_emplace(wire::load_u32(mad, wire::cm::kLocalIdAt), guid).first;
        return known->second != guid;
    }

    std::map<std::uint32_t, std::uint64_t> guids_; // by communication ID
};

constexpr std::array kMutants{
    Mutant{.name = "read_psns_by_touched_blocks",
           .rule = "RSP-01",
           .description = "A READ advances the expected PSN by the PMTU blocks that its range "
                          "touches, one too many at an odd address.",
           .make_filter = make<CountsBlocks>},
    Mutant{.name = "grh_flow_label_of_16_bits",
           .rule = "EXT-05",
           .description = "The GRH in front of a datagram over IPv6 lacks the upper four bits of "
                          "the flow label.",
           .cases = "ext/datagram-header-ipv6",
           .make_filter = make<ShortFlowLabel>},
    Mutant{.name = "ud_room_needed_for_pad",
           .rule = "EXT-05",
           .description = "A datagram that fits its receive is dropped if its pad would not fit.",
           .checks = engine::kStandardChecks.with(DatagramCheck::ReceiveRoom, room_for_pad_too)},
    Mutant{.name = "reserved_bits_hide_ack_request",
           .rule = "BTH-16",
           .description = "AckReq is not seen when one of the reserved bits beside it is set.",
           .make_filter = make<EditsInbound<whole_byte_of_ack_request>>},
    Mutant{.name = "receive_ends_at_empty_piece",
           .rule = "LEN-06",
           .description = "SGEs of a receive behind one of length 0 are not used, and a SEND that "
                          "needs them is NAKed as too long.",
           .make_filter = make<StopsAtEmptySge>},
    Mutant{.name = "fetch_add_without_middle_carry",
           .rule = "ATM-08",
           .description = "FETCH_ADD of an operand below 2^32 loses the carry from bit 31 to 32.",
           .make_filter = make<LosesCarry>},
    Mutant{.name = "atomic_write_at_end_refused",
           .rule = "EXT-01",
           .description = "An ATOMIC WRITE to the last eight bytes of a region is NAKed as out of "
                          "range.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, range_of_whole_burst)},
    Mutant{.name = "short_send_in_first_sge_only",
           .rule = "LEN-03",
           .description = "Of a SEND of 32 bytes at most only what the first SGE holds comes to "
                          "memory, while the completion tells all of it.",
           .cases = "rsp/short-sends-in-pieces",
           .make_filter = make<CopiesToFirstSge>},
    Mutant{.name = "pad_written_by_write_with_imm",
           .rule = "BTH-09",
           .description = "A WRITE_ONLY with immediate data writes its pad bytes behind the "
                          "payload.",
           .cases = "bth/pad-is-not-written",
           .make_filter = make<WritesPad>},
    Mutant{.name = "read_tail_behind_wrap_unknown",
           .rule = "RSP-09",
           .description = "A repeated READ tail gets no answer if the PSN has wrapped since the "
                          "READ began.",
           .checks = engine::kStandardChecks.with(DuplicateCheck::WithinRead, tail_by_number)},
    Mutant{.name = "empty_read_not_answered_again",
           .rule = "RDR-04",
           .description = "A duplicate of a READ of zero bytes gets no answer.",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::WithinRead, remembered_by_length)},
    Mutant{.name = "read_tail_keeps_its_slot",
           .rule = "RDR-09",
           .description = "Each READ tail that was asked for again uses up one of "
                          "max_dest_rd_atomic for ever, until READs and atomics are NAKed.",
           .cases = "rdr/tails-take-no-room",
           .make_filter = make<TailKeepsSlot>},
    Mutant{.name = "repeated_read_spoils_old_value",
           .rule = "ATM-04",
           .description = "After a duplicate READ a duplicate atomic is answered with the READ's "
                          "address in place of the value that it found.",
           .make_filter = make<AddressForOldValue>},
    Mutant{.name = "rnr_bytes_counted_twice",
           .rule = "N-15",
           .description = "byte_len of a WRITE with immediate data counts the last packet once "
                          "more for each RNR NAK that it met.",
           .make_filter = make<CountsRefusedBytes>},
    Mutant{.name = "nak_flag_not_cleared_by_read",
           .rule = "RSP-06",
           .description = "After a gap that a READ or atomic has filled the next gap draws no "
                          "sequence NAK.",
           .make_filter = make<ReadKeepsNakFlag>},
    Mutant{.name = "rnr_after_key_is_revoked",
           .rule = "RNR-06",
           .description = "A SEND with invalidate that meets an RNR NAK has revoked its key, and "
                          "its retry ends the QP.",
           .make_filter = make<RevokesBeforeRnr>},
    Mutant{.name = "duplicate_leaves_solicited",
           .rule = "BTH-13",
           .description = "SE of a duplicate makes the next message's completion a solicited one.",
           .make_filter = make<DuplicateLeavesSolicited>},
    Mutant{.name = "uc_first_after_gap_lost",
           .rule = "EXT-06",
           .description = "A UC message of several packets is dropped if a packet before its FIRST "
                          "was lost.",
           .make_filter = make<FirstAfterGapIsLost>},
    Mutant{.name = "open_message_survives_reset",
           .rule = "STA-10",
           .description = "The first request after a RESET inside a message of several packets is "
                          "NAKed as invalid.",
           .make_filter = make<OpenMessageSurvives>},
    Mutant{.name = "receive_of_open_send_not_flushed",
           .rule = "STA-07",
           .description = "A receive that a SEND has begun to fill gets no completion when the "
                          "host moves the QP to ERR.",
           .make_filter = make<OpenReceiveIsLost>},
    Mutant{.name = "srq_lkeys_in_domain_of_qp",
           .rule = "KEY-12",
           .description = "A SEND into a receive of an SRQ of another protection domain than the "
                          "QP's is NAKed with Remote Operational Error.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveMemory, domain_of_qp)},
    Mutant{.name = "no_last_wqe_without_receive",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP with SRQ that goes to ERR before it took a receive raises no "
                          "LAST_WQE_REACHED.",
           .make_filter = make<LastWqeOfUsersOnly>},
    Mutant{.name = "rnr_code_of_qp_before",
           .rule = "RNR-07",
           .description = "An RNR NAK carries the timer code of the QP that sent the one before.",
           .make_filter = make<RnrCodeOfOtherQp>},
    Mutant{.name = "write_aligner_shared_by_qps",
           .rule = "RSP-01",
           .description = "Where WRITE packets of two QPs alternate, bytes at an odd address are "
                          "those of the other QP's packet.",
           .make_filter = make<SharedAligner>},
    Mutant{.name = "cnp_to_foreign_source",
           .rule = "ENC-14",
           .description = "A CE-marked request from another address than the peer's is dropped, "
                          "but draws a CNP to that address.",
           .make_filter = make<NotifiesStrangers>},
    Mutant{.name = "rights_changed_in_rts_unused",
           .rule = "KEY-01",
           .description = "Remote rights that are changed in RTS take effect only when the QP "
                          "comes to RTS again from SQD.",
           .make_filter = make<RightsOfRts>},
    Mutant{.name = "read_first_raises_no_comm_est",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "A QP in RTR whose first request is a READ or an atomic raises no "
                          "COMM_EST.",
           .make_filter = make<NoEventForRead>},
    Mutant{.name = "req_known_by_comm_id_alone",
           .rule = "CM-06",
           .description = "A REQ with the communication ID of an earlier one of another CA gets no "
                          "answer.",
           .cases = "cm/same-number-of-another-adapter",
           .make_filter = make<OneCommunicationId>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind19_responder

namespace veriroce::mutants {

std::span<const Mutant> blind19_responder() {
    return of_blind19_responder::kMutants;
}

} // namespace veriroce::mutants
