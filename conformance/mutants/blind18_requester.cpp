// A blind sample: defects of the device as requester, and of its host interface.
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/mutants.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::mutants::of_blind18_requester {
namespace {

using engine::SendCheck;
using engine::SendView;
using wire::Operation;
using wire::Position;
namespace right = engine::send_check;

// The number of a QP by its handle: both count up as QPs are created.
wire::Qpn qpn_of(engine::QpId qp) {
    static const std::uint32_t first = engine::Config{}.first_qpn.value;
    return {first + qp.value - 1};
}

// A work request of a QP.
using WorkKey = std::pair<wire::Qpn, std::uint64_t>;

// --- plain traffic

// ENC-12: the cache of resolved address handles is looked up by the two addresses; the traffic
// class, which belongs to the handle and not to the neighbour, is cached with them.
// Shows when: two datagrams go to one address by handles of different traffic classes.
class CachesTrafficClass final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const auto known = classes_.try_emplace(
            std::pair(path.source.bytes, path.destination.bytes), path.traffic_class);
        path.traffic_class = known.first->second;
    }

  private:
    using Address = std::array<std::byte, 16>;
    std::map<std::pair<Address, Address>, std::uint8_t> classes_;
};

// N-05: the register with the tag to insert is written for handles that have a VLAN, and cleared
// for none.
// Shows when: a UD QP sends a datagram by a handle with a VLAN and then one by a handle without.
class KeepsDatagramTag final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (!request.ud) return;
        std::optional<wire::VlanId>& tag = tags_[qpn];
        if (request.ud->path.vlan) tag = request.ud->path.vlan;
        request.ud->path.vlan = tag;
    }
    void qp_destroyed(wire::Qpn qpn) override { tags_.erase(qpn); }

  private:
    std::map<wire::Qpn, std::optional<wire::VlanId>> tags_;
};

// REQ-01: the UC sequencer steps its PSN with the payload's DMA, and an empty message has none.
// Shows when: a UC QP sends a message of zero bytes and then any other.
struct Unstepped {
    std::int32_t by = 0;
};

class EmptyUcTakesNoPsn final : public QpFilter<Unstepped> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || packet.info().service != wire::Service::Uc) return;
        packet.bth.psn += -qp.memory.by;
        if (packet.info().position == Position::Only && packet.payload().empty()) ++qp.memory.by;
    }
};

// BTH-14: the table of opcodes that may carry SE is that of the first hardware generation, which
// had no SEND with invalidate.
// Shows when: a SEND_WITH_INV is posted solicited.
void quiet_invalidate(wire::Packet& packet) {
    if (packet.info().invalidates()) packet.bth.solicited = false;
}

// BTH-18: AckReq is set when the segmenter sees a remainder smaller than the MTU; a last packet
// that is full leaves through the branch of the middle ones.
// Shows when: a message of two or more whole MTUs goes to a peer that answers AckReq only.
class FullLastAsksNothing final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool last = is_rc_request(packet) && packet.info().position == Position::Last;
        if (last && packet.payload().size() == wire::bytes_of(qp.mtu())) {
            packet.bth.ack_request = false;
        }
    }
};

// LEN-04: the WRITE's length is put together of a count of 64 KiB blocks and a 16-bit rest; where
// the rest is zero the carry into the count is lost.
// Shows when: 65,536 bytes, or a multiple of that, are written by one request.
void lose_carry(wire::Packet& packet) {
    constexpr std::uint32_t block = 0x10000;
    const bool begins =
        packet.info().operation == Operation::RdmaWrite && packet.info().starts_message();
    if (begins && packet.reth.dma_length != 0 && packet.reth.dma_length % block == 0) {
        packet.reth.dma_length -= block;
    }
}

// REQ-34: the immediate data is loaded into the header builder together with the first data
// segment; a WRITE that has none goes out with what the builder holds of the message before.
// Shows when: a message with immediate data, then an RDMA_WRITE_WITH_IMM of zero bytes.
struct Immediates {
    NewestPsn newest;
    std::optional<std::uint32_t> loaded;
    std::map<std::uint32_t, std::uint32_t> sent; // by PSN: resends are as the first time
};

class EmptyWriteKeepsImmediate final : public QpFilter<Immediates> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !packet.info().immediate()) return;
        Immediates& memory = qp.memory;
        const std::uint32_t psn = packet.bth.psn.value();
        if (memory.newest.note(packet.bth.psn)) {
            const auto before = memory.sent.find(psn);
            if (before != memory.sent.end()) packet.imm.value = before->second;
            return;
        }
        const bool empty = packet.info().operation == Operation::RdmaWrite &&
                           packet.info().position == Position::Only && packet.payload().empty();
        if (empty && memory.loaded) {
            packet.imm.value = *memory.loaded;
        } else {
            memory.loaded = packet.imm.value;
        }
        memory.sent.insert_or_assign(psn, packet.imm.value);
    }
};

// LEN-10: the driver hands a piece of length zero on, and the descriptor fetch takes a length of
// zero for the end of the list.
// Shows when: a request is posted with an SGE of zero bytes before one that has some.
class EmptySgeEndsList final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(empty - request.sges.begin()));
    }
};

// LEN-10: the driver's copy loop for inline data goes on to the next 64-byte block of the send
// queue with its source pointer set back to the beginning.
// Shows when: more than 44 bytes are sent inline from one SGE.
class InlineRepeatsBeginning final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr std::uint32_t first_block = 44; // behind control segment and inline header
        const bool meant = request.flags.inline_data && !request.ud && request.sges.size() == 1 &&
                           operation_of(request.opcode) == Operation::Send;
        if (!meant || request.sges.front().length <= first_block) return;
        engine::Sge head = request.sges.front();
        engine::Sge tail = head; // from the beginning again
        head.length = first_block;
        tail.length -= first_block;
        pieces_ = {head, tail};
        request.sges = pieces_;
    }

  private:
    std::vector<engine::Sge> pieces_;
};

// --- errors and retransmission

// The READs that a QP has sent.
struct SentRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    wire::Reth reth;

    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t at = wire::distance(first, psn);
        return at >= 0 && static_cast<std::uint32_t>(at) < packets;
    }
};

struct SentReads {
    NewestPsn newest;
    std::deque<SentRead> reads;
};

constexpr std::size_t kReadsKept = 64;

// REQ-10: where a READ is taken up again is worked out as packets times MTU in a register of 16
// bits.
// Shows when: a response more than 64 KiB behind a READ's beginning is lost, at any MTU.
class RestartWrapsAt64K final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        auto& [newest, reads] = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (!newest.note(psn, packets)) {
            reads.push_back({.first = psn, .packets = packets, .reth = packet.reth});
            if (reads.size() > kReadsKept) reads.pop_front();
            return;
        }
        const auto read =
            std::ranges::find_if(reads, [psn](const SentRead& one) { return one.holds(psn); });
        if (read == reads.end()) return;
        const auto at = static_cast<std::uint64_t>(wire::distance(read->first, psn));
        const std::uint64_t offset = at * wire::bytes_of(qp.mtu());
        packet.reth.virtual_address = read->reth.virtual_address + (offset & 0xFFFF);
    }
};

// REQ-31: the retry engine reads the atomic segment of the work request in the order of the
// verbs' structure (compare, swap) and writes it out as if it were the header's (swap, compare).
// Shows when: a COMPARE_SWAP, or its answer, is lost.
class ResentSwapIsTurned final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (!again || packet.info().operation != Operation::CompareSwap) return;
        std::swap(packet.atomic.swap_or_add, packet.atomic.compare);
    }
};

// REQ-12: the retry queue of atomics is another one than that of requests with data, and its
// counter is never compared with the QP's retry_cnt.
// Shows when: an atomic is the oldest request and the peer answers nothing.
bool atomics_have_retries_left(const SendView& view) {
    return engine::is_atomic(view.request.opcode) || right::retry_left(view);
}

// Keeps copies, and knows which QPs a failed request has ended: those send nothing any more.
class KeepsCopiesOfLive : public KeepsCopies {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) final {
        const bool failed = one.status != engine::WcStatus::Success;
        if (failed && one.queue == engine::Queue::Send) ended_.insert(qpn_of(one.qp));
        return one;
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) final {
        if (attributes.state == engine::QpState::Reset) ended_.erase(qpn);
    }

  protected:
    // A copy of this RC request leaves, if it was sent and is not acknowledged.
    void repeat(const Qp& qp, wire::Psn psn, Passage& passage) const {
        const auto copy = qp.memory.sent.find(psn.value());
        if (copy == qp.memory.sent.end() || ended_.contains(qp.report.qpn)) return;
        const auto packet = wire::decode_packet(copy->second.bytes);
        if (packet && is_rc_request(*packet)) passage.sent.push_back(copy->second);
    }

  private:
    std::set<wire::Qpn> ended_;
};

// RNR-08: an acknowledge that repeats the last PSN is handled as news of credits, which wakes the
// QP up without a look at why it sleeps.
// Shows when: a SEND is RNR NAKed with a long time, and the peer repeats its last ACK meanwhile, as
// it may when it posts a receive (ACK-11).
class RepeatedAckWakes final : public KeepsCopiesOfLive {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!is_rc_response(packet) || !of_this_connection(qp.report, passage)) return;
        const wire::Psn psn = packet.bth.psn;
        if (is_nak(packet)) {
            acknowledge_until(memory, psn - 1);
            if (is_rnr_nak(packet)) memory.waits = psn;
            return;
        }
        if (memory.waits && is_ack(packet) && psn == *memory.waits - 1) {
            repeat(qp, *memory.waits, passage);
            memory.waits.reset();
        } else if (memory.waits && wire::distance(*memory.waits, psn) >= 0) {
            memory.waits.reset();
        }
        acknowledge_until(memory, psn);
    }
};

// RNR-08: the pointer from which the QP goes on is saved with the state of the message. At the end
// of one of several packets that state has moved on to the next message already.
// Shows when: the last packet of a long message is RNR NAKed, for instance of a WRITE with
// immediate data without a receive, and another message is behind it.
struct LastPackets {
    std::set<std::uint32_t> psns;
    std::optional<wire::Psn> skipped; // when it would be sent again
};

class ResumesBehindLast final : public QpFilter<LastPackets> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        LastPackets& memory = qp.memory;
        if (is_rnr_nak(packet) && memory.psns.contains(packet.bth.psn.value())) {
            memory.skipped = packet.bth.psn;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        LastPackets& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        if (memory.skipped == packet.bth.psn) {
            memory.skipped.reset();
            passage.dropped = true;
        }
        if (packet.info().position == Position::Last) {
            memory.psns.insert(packet.bth.psn.value());
        } else {
            memory.psns.erase(packet.bth.psn.value());
        }
    }
};

// READs from their posting to their responses.
struct PostedRead {
    std::uint64_t id = 0;
    std::uint64_t address = 0; // remote
    wire::Rkey rkey;
    std::uint64_t length = 0;
    std::vector<engine::Sge> sges;
};

struct OpenRead : SentRead {
    PostedRead work;
    wire::Psn expected; // the next response that is taken
};

struct OpenReads {
    NewestPsn newest;
    std::deque<OpenRead> reads;

    OpenRead* holding(wire::Psn psn) {
        const auto found =
            std::ranges::find_if(reads, [psn](const OpenRead& one) { return one.holds(psn); });
        return found == reads.end() ? nullptr : &*found;
    }
};

class FollowsReads : public DmaFilter<OpenReads> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) final {
        if (request.opcode != engine::WrOpcode::RdmaRead) return;
        PostedRead read{.id = request.id,
                        .address = request.remote_address,
                        .rkey = request.rkey,
                        .sges = {request.sges.begin(), request.sges.end()}};
        for (const engine::Sge& sge : read.sges)
            read.length += sge.length;
        posted_[qpn].push_back(std::move(read));
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) final {
        if (attributes.state == engine::QpState::Reset) posted_.erase(qpn);
    }

  protected:
    virtual void asked(const Qp& /*qp*/, const OpenRead& /*read*/) {}
    virtual void asked_again(const Qp& /*qp*/, const OpenRead& /*read*/,
                             const wire::Packet& /*request*/) {}

    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        auto& [newest, reads] = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (newest.note(psn, packets)) {
            const OpenRead* const read = qp.memory.holding(psn);
            if (read != nullptr) asked_again(qp, *read, packet);
            return;
        }
        OpenRead read;
        read.first = read.expected = psn;
        read.packets = packets;
        read.reth = packet.reth;
        if (!take_posted(qp.report.qpn, packet.reth, read.work)) return;
        asked(qp, read);
        reads.push_back(std::move(read));
        if (reads.size() > kReadsKept) reads.pop_front();
    }

  private:
    // What was refused when it was posted is left behind.
    bool take_posted(wire::Qpn qpn, const wire::Reth& reth, PostedRead& work) {
        std::deque<PostedRead>& posted = posted_[qpn];
        const auto found = std::ranges::find_if(posted, [&reth](const PostedRead& one) {
            return one.address == reth.virtual_address && one.rkey == reth.rkey &&
                   one.length == reth.dma_length;
        });
        if (found == posted.end()) return false;
        work = std::move(*found);
        posted.erase(posted.begin(), found + 1);
        return true;
    }

    std::map<wire::Qpn, std::deque<PostedRead>> posted_;
};

// REQ-34: byte_len is copied from the length register of the READ context, which a retry has set
// to what was still missing.
// Shows when: a response in the middle of a READ is lost, and the READ completes after its retry.
class CountsRetriedPart final : public FollowsReads {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue != engine::Queue::Send) return one;
        const auto part = parts_.find(WorkKey(qpn_of(one.qp), one.id));
        if (part == parts_.end()) return one;
        engine::Completion shown = one;
        const bool read = one.opcode == engine::WcOpcode::RdmaRead;
        if (read && one.status == engine::WcStatus::Success) shown.byte_len = part->second;
        parts_.erase(part);
        return shown;
    }

  protected:
    void asked(const Qp& qp, const OpenRead& read) override {
        parts_.erase(WorkKey(qp.report.qpn, read.work.id));
    }
    void asked_again(const Qp& qp, const OpenRead& read, const wire::Packet& request) override {
        parts_.insert_or_assign(WorkKey(qp.report.qpn, read.work.id), request.reth.dma_length);
    }

  private:
    std::map<WorkKey, std::uint32_t> parts_;
};

// TMO-04: when the whole of a message is out its context waits for the PSN of its last packet, and
// the comparison is for equal or later ones of the next messages: an ACK of a part of it, which is
// taken while the message is still being sent, is no news any more.
// Shows when: the peer acknowledges the packets of a message one by one, each before T is over, but
// the last later than T after the message was sent.
struct SentMessage {
    wire::Psn first;
    std::uint32_t packets = 0;
    bool ended = false;

    [[nodiscard]] bool has_inside(wire::Psn psn) const {
        const std::int32_t at = wire::distance(first, psn);
        return ended && at >= 0 && static_cast<std::uint32_t>(at) + 1 < packets;
    }
};

struct SentMessages : Outgoing {
    std::deque<SentMessage> messages;
};

class PartsAreNoNews final : public FollowsRequests<SentMessages> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        constexpr std::size_t kept = 512;
        std::deque<SentMessage>& messages = qp.memory.messages;
        if (again) return;
        if (packet.info().starts_message()) messages.push_back({.first = packet.bth.psn});
        if (messages.empty()) return;
        SentMessage& newest = messages.back();
        newest.packets =
            static_cast<std::uint32_t>(wire::distance(newest.first, packet.bth.psn)) + 1;
        newest.ended = packet.info().ends_message();
        if (messages.size() > kept) messages.pop_front();
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Psn& psn = passage.packet.bth.psn;
        const std::deque<SentMessage>& messages = qp.memory.messages;
        const std::optional<wire::Psn>& oldest = qp.memory.oldest;
        if (!is_ack(passage.packet)) return;
        const auto message = std::ranges::find_if(
            messages, [psn](const SentMessage& one) { return one.has_inside(psn); });
        if (message == messages.end()) return;
        // It still acknowledges the messages before.
        const wire::Psn before = message->first - 1;
        if (!oldest || wire::distance(*oldest, before) < 0) {
            passage.dropped = true;
        } else {
            psn = before;
        }
    }
};

// N-38: the placement of READ responses runs ahead of the PSN check, and the check that a response
// is a repeated one only keeps it from being counted. The context of a READ, with its local
// addresses, stays in its slot after the completion.
// Shows when: a READ response comes twice, and the host has changed the buffer, or the data is
// another, the second time.
class PlacesRepeatedResponses final : public FollowsReads {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !of_this_connection(qp.report, passage)) return;
        OpenRead* const read = qp.memory.holding(packet.bth.psn);
        if (read == nullptr) return;
        const std::int32_t ahead = wire::distance(read->expected, packet.bth.psn);
        if (ahead == 0) read->expected += 1;
        if (ahead < 0) place(qp, *read, packet);
    }

  private:
    void place(const Qp& qp, const OpenRead& read, const wire::Packet& packet) const {
        wire::Bytes bytes = packet.payload();
        const auto at = static_cast<std::uint64_t>(wire::distance(read.first, packet.bth.psn));
        std::uint64_t offset = at * wire::bytes_of(qp.mtu());
        for (const engine::Sge& sge : read.work.sges) {
            if (offset >= sge.length) {
                offset -= sge.length;
                continue;
            }
            const auto piece = std::min<std::uint64_t>(sge.length - offset, bytes.size());
            const wire::MutableBytes memory =
                regions().at({sge.lkey.value}, sge.address + offset, piece);
            if (piece == 0 || memory.empty()) return;
            std::memcpy(memory.data(), bytes.data(), piece);
            bytes = bytes.subspan(piece);
            offset = 0;
        }
    }
};

// STA-07: a request that comes to a QP in ERR is completed with the error code that stands in the
// QP's context, and that is still the one which ended it.
// Shows when: a request is posted after one has failed, for instance by a remote access error.
class LatePostRepeatsError final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        using engine::WcStatus;
        if (one.queue != engine::Queue::Send || one.status == WcStatus::Success) return one;
        const wire::Qpn qpn = qpn_of(one.qp);
        engine::Completion shown = one;
        if (one.status != WcStatus::WrFlushErr) {
            ended_by_.try_emplace(qpn, one.status);
        } else if (late_.erase(WorkKey(qpn, one.id)) != 0) {
            const auto cause = ended_by_.find(qpn);
            if (cause != ended_by_.end()) shown.status = cause->second;
        }
        return shown;
    }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (ended_by_.contains(qpn)) late_.emplace(qpn, request.id);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const bool lives =
            attributes.state == engine::QpState::Reset || attributes.state == engine::QpState::Rts;
        if (!lives) return;
        ended_by_.erase(qpn);
        std::erase_if(late_, [qpn](const WorkKey& key) { return key.first == qpn; });
    }

  private:
    std::map<wire::Qpn, engine::WcStatus> ended_by_;
    std::set<WorkKey> late_;
};

// --- where two features or two QPs meet

// REQ-28: inline requests are pushed to the device with the doorbell, past the scheduler, and it
// is the scheduler that obeys fences.
// Shows when: a READ is not answered, and a request with fence and inline data is posted behind it.
bool inline_passes_fence(const SendView& view) {
    return view.request.flags.inline_data || right::fence(view);
}

// RNR-08: one register for each port holds the code of the wait; it is free to be written again
// when the QP that wrote it goes on.
// Shows when: a QP waits after an RNR NAK with a short time, and another QP gets one with a long
// time meanwhile.
class SharesRnrCode final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const bool ends =
            attributes.state == engine::QpState::Reset || attributes.state == engine::QpState::Err;
        if (ends && waits_ && waits_->qpn == qpn) waits_.reset();
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        const bool failed = one.status != engine::WcStatus::Success;
        if (failed && waits_ && waits_->qpn == qpn_of(one.qp)) waits_.reset();
        return one;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || !of_this_connection(qp.report, passage)) return;
        if (waits_ && waits_->qpn != qp.report.qpn) {
            packet.aeth.syndrome = waits_->code;
            return;
        }
        waits_ = {.qpn = qp.report.qpn, .psn = packet.bth.psn, .code = packet.aeth.syndrome};
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || !waits_ || waits_->qpn != qp.report.qpn) return;
        if (wire::distance(waits_->psn, packet.bth.psn) >= 0) waits_.reset();
    }

  private:
    struct Waiting {
        wire::Qpn qpn;
        wire::Psn psn;
        wire::Syndrome code;
    };
    std::optional<Waiting> waits_;
};

// REQ-20: which requests an ACK cannot answer is a table of opcodes, in which the FLUSH, a later
// extension, stands as a WRITE.
// Shows when: a FLUSH is on its way, and an ACK comes that has its PSN.
struct SentFlushes : Outgoing {
    std::set<std::uint32_t> psns;
};

class AckAnswersFlush final : public FollowsRequests<SentFlushes> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        const std::uint32_t psn = packet.bth.psn.value();
        if (packet.info().operation == Operation::Flush) {
            qp.memory.psns.insert(psn);
        } else {
            qp.memory.psns.erase(psn);
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_ack(packet) || !packet.body.empty()) return;
        if (!qp.memory.psns.contains(packet.bth.psn.value())) return;
        set_opcode(packet, Operation::RdmaReadResponse, Position::Only);
    }
};

// REQ-27: RESET does not empty the pool of tickets for READs and atomics; the way to RTS only adds
// the tickets that are missing.
// Shows when: a QP goes through RESET and comes back with a smaller max_rd_atomic than before.
class KeepsReadTickets final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Pool& pool = pools_[qpn];
        if (attributes.state == engine::QpState::Reset) {
            pool.left = std::max(pool.left, pool.asked.value_or(0));
            pool.asked.reset();
        }
        if (!attributes.max_rd_atomic) return;
        pool.asked = attributes.max_rd_atomic;
        if (*pool.asked != 0 && pool.left > *pool.asked) attributes.max_rd_atomic = pool.left;
    }
    void queried(engine::QpReport& report) override {
        const auto pool = pools_.find(report.qpn);
        if (pool == pools_.end() || !pool->second.asked) return;
        report.attributes.max_rd_atomic = pool->second.asked;
    }
    void qp_destroyed(wire::Qpn qpn) override { pools_.erase(qpn); }

  private:
    struct Pool {
        std::uint8_t left = 0; // of former lives
        std::optional<std::uint8_t> asked;
    };
    std::map<wire::Qpn, Pool> pools_;
};

// KEY-08: LOCAL_INV finds the window by the index of the key, and the comparison of the variant
// byte, which the remote accesses have, is missing on this way.
// Shows when: a window of type 2 is bound, revoked and bound again with another key, and the first
// key is revoked a second time.
class LocalInvalidateByIndex final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr int variant_bits = 8;
        if (request.opcode == engine::WrOpcode::BindMw) {
            bound_.insert_or_assign(request.rkey.value >> variant_bits, request.rkey);
        }
        if (request.opcode != engine::WrOpcode::LocalInv) return;
        const auto window = bound_.find(request.invalidate_rkey.value >> variant_bits);
        if (window != bound_.end()) request.invalidate_rkey = window->second;
    }

  private:
    std::map<std::uint32_t, wire::Rkey> bound_; // the key that was given last, by index
};

// N-16: LAST_WQE_REACHED is raised by the firmware's error flow; a QP that the host itself takes to
// ERR does not go through it.
// Shows when: the host takes a QP with a shared receive queue to ERR, as before destroying it.
class NoLastWqeForHost final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Err) ended_.insert(qpn);
        if (attributes.state == engine::QpState::Reset) ended_.erase(qpn);
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool last = event.type == engine::EventType::LastWqeReached && event.qp;
        if (last && ended_.erase(qpn_of(*event.qp)) != 0) return std::nullopt;
        return event;
    }
    void qp_destroyed(wire::Qpn qpn) override { ended_.erase(qpn); }

  private:
    std::set<wire::Qpn> ended_;
};

// CNP-12: a CNP takes the QP out of the schedule for a moment, and what puts it back is the entry
// of the retry engine, which begins at the oldest packet that is not acknowledged.
// Shows when: a CNP comes for a QP that has a request on its way.
class CnpSendsAgain final : public KeepsCopiesOfLive {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        const bool ours = of_this_connection(qp.report, passage);
        if (is_cnp(packet) && ours && memory.oldest && !memory.waits) {
            repeat(qp, *memory.oldest, passage);
        }
        if (!is_rc_response(packet)) return;
        const bool nak = is_nak(packet);
        if (is_rnr_nak(packet)) memory.waits = packet.bth.psn;
        acknowledge_until(memory, nak ? packet.bth.psn - 1 : packet.bth.psn);
    }
};

// N-20: completions of READs are written by the receive pipeline into a slot of the QP, which the
// send pipeline empties after its own next completion if it has one to come.
// Shows when: a READ and a signaled SEND or WRITE behind it are on their way, and both complete.
class ReadCompletesSecond final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (!request.flags.signaled) return;
        const Operation operation = operation_of(request.opcode);
        const bool sends = operation == Operation::Send || operation == Operation::RdmaWrite;
        queues_[qpn].posted.push_back({.id = request.id, .sends = sends});
    }
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        const auto found =
            one.queue == engine::Queue::Send ? queues_.find(qpn_of(one.qp)) : queues_.end();
        if (found == queues_.end()) {
            seen.push_back(one);
            return;
        }
        auto& [posted, slot] = found->second;
        const auto at = std::ranges::find(posted, one.id, &Posted::id);
        if (at != posted.end()) posted.erase(posted.begin(), at + 1);
        const bool read =
            one.opcode == engine::WcOpcode::RdmaRead && one.status == engine::WcStatus::Success;
        if (read && !slot && !posted.empty() && posted.front().sends) {
            slot = one;
            return;
        }
        seen.push_back(one);
        if (slot) seen.push_back(*std::exchange(slot, std::nullopt));
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) queues_.erase(qpn);
    }

  private:
    struct Posted {
        std::uint64_t id = 0;
        bool sends = false;
    };
    struct Queue {
        std::deque<Posted> posted;
        std::optional<engine::Completion> slot;
    };
    std::map<wire::Qpn, Queue> queues_;
};

// N-25: a new address vector in SQD rewrites the addresses in the QP's header template; the byte
// with the traffic class belongs to a part of it that is built at RTR only.
// Shows when: the traffic class of a QP is changed in SQD and the QP sends again in RTS.
class DrainedKeepsTrafficClass final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        reports_.insert_or_assign(report.qpn, report);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) asked_.erase(qpn);
        const auto known = reports_.find(qpn);
        if (known == reports_.end() || !attributes.address) return;
        const auto& [state, number, old] = known->second;
        if (state != engine::QpState::Sqd || !old.address) return;
        asked_.insert_or_assign(qpn, attributes.address->traffic_class);
        attributes.address->traffic_class = old.address->traffic_class;
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked == asked_.end() || !report.attributes.address) return;
        report.attributes.address->traffic_class = asked->second;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        reports_.erase(qpn);
        asked_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, engine::QpReport> reports_;
    std::map<wire::Qpn, std::uint8_t> asked_;
};

constexpr std::array kMutants{
    Mutant{.name = "ah_cache_holds_traffic_class",
           .rule = "ENC-12",
           .description = "All datagrams to one address have the traffic class of the first one, "
                          "whatever their address handles say.",
           .make_filter = make<CachesTrafficClass>},
    Mutant{.name = "ud_tag_register_not_cleared",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "A datagram whose address handle has no VLAN leaves with the tag of the "
                          "QP's datagram before it that had one.",
           .make_filter = make<KeepsDatagramTag>},
    Mutant{.name = "uc_empty_message_steps_no_psn",
           .rule = "REQ-01",
           .description = "A UC message of zero bytes takes no PSN: the next packet repeats its.",
           .make_filter = make<EmptyUcTakesNoPsn>},
    Mutant{.name = "send_with_inv_loses_solicited",
           .rule = "BTH-14",
           .description = "A SEND with invalidate that was posted solicited leaves without SE.",
           .cases = "req/solicited-of-each-operation",
           .make_filter = make<EditsOutbound<quiet_invalidate>>},
    Mutant{.name = "full_last_packet_without_ackreq",
           .rule = "BTH-18",
           .description = "The last packet of a message of several packets does not ask for an "
                          "ACK where its payload is a whole MTU.",
           .make_filter = make<FullLastAsksNothing>},
    Mutant{.name = "write_of_64k_blocks_announced_short",
           .rule = "LEN-04",
           .description = "A WRITE of a multiple of 65,536 bytes announces 65,536 bytes less than "
                          "it sends.",
           .make_filter = make<EditsOutbound<lose_carry>>},
    Mutant{.name = "empty_write_imm_sends_former_imm",
           .rule = "REQ-34",
           .description = "A WRITE of zero bytes with immediate data carries the immediate data "
                          "of the message before it that had some.",
           .make_filter = make<EmptyWriteKeepsImmediate>},
    Mutant{.name = "empty_sge_ends_the_list",
           .rule = "LEN-10",
           .description = "The SGEs behind one of zero bytes are ignored: the message is shorter "
                          "than was posted.",
           .make_filter = make<EmptySgeEndsList>},
    Mutant{.name = "inline_second_block_repeats_first",
           .rule = "LEN-10",
           .description = "Of a SEND with more than 44 bytes inline those behind the 44th are the "
                          "first ones again.",
           .cases = "req/inline-bytes",
           .make_filter = make<InlineRepeatsBeginning>},
    Mutant{.name = "read_restart_offset_of_two_bytes",
           .rule = "REQ-10",
           .description = "A READ that is taken up again more than 64 KiB behind its beginning "
                          "asks for an address a multiple of 64 KiB too low.",
           .make_filter = make<RestartWrapsAt64K>},
    Mutant{.name = "resend_carries_newest_imm",
           .rule = "REQ-34",
           .description = "A message with immediate data that is sent again carries that of the "
                          "newest message.",
           .make_filter = make<ResendsNewestImmediate>},
    Mutant{.name = "resent_cmp_swap_operands_turned",
           .rule = "REQ-31",
           .description = "A COMPARE_SWAP that is sent again has its two operands exchanged.",
           .make_filter = make<ResentSwapIsTurned>},
    Mutant{.name = "atomic_retry_queue_without_limit",
           .rule = "REQ-12",
           .description = "An atomic that is not answered is tried again for ever, whatever "
                          "retry_cnt says.",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, atomics_have_retries_left)},
    Mutant{.name = "repeated_ack_wakes_rnr_sleeper",
           .rule = "RNR-08",
           .description = "An ACK that repeats the PSN before the RNR NAKed one ends the wait: "
                          "the refused packet is sent again at once.",
           .make_filter = make<RepeatedAckWakes>},
    Mutant{.name = "rnr_of_last_resumes_behind_it",
           .rule = "RNR-08",
           .description = "After an RNR NAK of the last packet of a long message the requester "
                          "goes on with the packet behind it.",
           .make_filter = make<ResumesBehindLast>},
    Mutant{.name = "read_byte_len_of_last_request",
           .rule = "REQ-34",
           .description = "The completion of a READ that was taken up again counts the bytes of "
                          "the last request only.",
           .make_filter = make<CountsRetriedPart>},
    Mutant{.name = "ack_of_part_unheard_once_all_sent",
           .rule = "TMO-04",
           .description = "When a message has wholly left, an ACK of a part of it neither starts "
                          "the timer again nor keeps the part from being sent again.",
           .make_filter = make<PartsAreNoNews>},
    Mutant{.name = "repeated_read_response_is_placed",
           .rule = "N-38",
           .description = "A READ response that comes a second time is written to the READ's "
                          "buffer again, even after the READ has completed.",
           .make_filter = make<PlacesRepeatedResponses>},
    Mutant{.name = "late_post_completes_with_first_error",
           .rule = "STA-07",
           .description = "A request that is posted in ERR completes with the error that ended "
                          "the QP and not as flushed.",
           .cases = "sta/posted-after-a-failure",
           .make_filter = make<LatePostRepeatsError>},
    Mutant{.name = "inline_push_passes_fence",
           .rule = "REQ-28",
           .description = "The fence of a request with inline data is not obeyed.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, inline_passes_fence)},
    Mutant{.name = "rnr_code_register_of_port",
           .rule = "RNR-08",
           .description = "An RNR NAK that comes while another QP waits after one makes its QP "
                          "wait for as long as that other NAK asked.",
           .make_filter = make<SharesRnrCode>},
    Mutant{.name = "plain_ack_answers_flush",
           .rule = "REQ-20",
           .description = "An ACK with the PSN of a FLUSH completes the FLUSH.",
           .make_filter = make<AckAnswersFlush>},
    Mutant{.name = "read_tickets_survive_reset",
           .rule = "REQ-27",
           .description = "A QP that comes back from RESET with a smaller max_rd_atomic still "
                          "sends as many READs and atomics at once as in its former life.",
           .cases = "sta/fewer-reads-after-reset",
           .make_filter = make<KeepsReadTickets>},
    Mutant{.name = "local_inv_finds_window_by_index",
           .rule = "KEY-08",
           .description = "LOCAL_INV with an old key of a window revokes the window, which is "
                          "bound with another key by now.",
           .cases = "key/window-old-keys-invalidated",
           .make_filter = make<LocalInvalidateByIndex>},
    Mutant{.name = "no_last_wqe_event_when_host_ends_qp",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP with a shared receive queue raises no LAST_WQE_REACHED when the "
                          "host takes it to ERR.",
           .cases = "sta/last-receive-of-each",
           .make_filter = make<NoLastWqeForHost>},
    Mutant{.name = "cnp_sends_oldest_again",
           .rule = "CNP-12",
           .description = "A CNP makes the requester send its oldest unacknowledged packet again.",
           .make_filter = make<CnpSendsAgain>},
    Mutant{.name = "read_completion_behind_next_send",
           .rule = "N-20",
           .description = "A READ's completion is shown after that of the SEND or WRITE behind "
                          "it, if one is on its way.",
           .cases = "req/fence-behind-a-long-read req/fence-behind-a-read-and-more",
           .make_filter = make<ReadCompletesSecond>},
    Mutant{.name = "sqd_path_keeps_traffic_class",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A change of the path in SQD leaves the traffic class as it was.",
           .make_filter = make<DrainedKeepsTrafficClass>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind18_requester

namespace veriroce::mutants {

std::span<const Mutant> blind18_requester() {
    return of_blind18_requester::kMutants;
}

} // namespace veriroce::mutants
