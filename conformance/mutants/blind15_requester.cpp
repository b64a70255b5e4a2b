// Defects of a device that asks, written blind.
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind15_requester {
namespace {

using engine::QpAttributes;
using engine::QpState;
using engine::SendCheck;
using engine::SendRequest;
using engine::SendView;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
namespace right = engine::send_check;

using Datagrams = std::vector<engine::OwnedDatagram>;

bool sends_data(WrOpcode opcode) {
    return !engine::wants_response(opcode) && !engine::is_local(opcode);
}

// --- plain traffic

// The gather unit takes an entry of length 0 for the stop marker that the driver puts behind a
// short list. Shows when: a SEND or WRITE has the SGEs {64 bytes, 0 bytes, 64 bytes}.
class EndsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (request.flags.inline_data || !sends_data(request.opcode)) return;
        const auto end = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(end - request.sges.begin()));
    }
};

struct ExtraPackets {
    std::int64_t psns = 0; // that were sent beyond what the engine counts
};

// The segmenter asks "more than a PMTU left?" to find the last packet, and UC's WRITE with
// immediate data has its own copy of that test, with >= in it. Shows when: a UC WRITE with
// immediate data is two full PMTUs long: FIRST, MIDDLE and an empty LAST_WITH_IMM leave.
class EmptyLastOfUcWrite final : public QpFilter<ExtraPackets> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc || !info.request()) return;
        packet.bth.psn += qp.memory.psns;
        const bool full = packet.payload().size() == wire::bytes_of(qp.mtu());
        const bool meant = info.operation == Operation::RdmaWrite &&
                           info.position == Position::Last && info.immediate();
        const auto middle =
            wire::opcode_of(wire::Service::Uc, Operation::RdmaWrite, Position::Middle);
        if (!meant || !full || !middle) return;
        wire::Packet last = packet;
        last.body = {};
        last.bth.psn += 1;
        passage.after.push_back(last);
        packet.bth.opcode = *middle;
        packet.bth.solicited = false;
        packet.headers = packet.info().headers;
        ++qp.memory.psns;
    }
};

struct SolicitedLatch {
    bool set = false;
};

// The SE bit of the header template is loaded for messages that may carry it and not cleared for
// the others. Shows when: a plain WRITE follows a SEND with the solicited flag.
class KeepsSolicited final : public QpFilter<SolicitedLatch> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.request() || !info.ends_message()) return;
        if (info.consumes_receive()) {
            qp.memory.set = packet.bth.solicited;
        } else if (info.operation == Operation::RdmaWrite) {
            packet.bth.solicited = qp.memory.set;
        }
    }
};

// With a VLAN tag the IPv6 header writer finds the priority where the traffic class would be
// without one. Shows when: requests go over IPv6 in a VLAN whose priority is not 0, with a DSCP
// that is not eight times the priority.
void dscp_of_priority(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    wire::Envelope& envelope = datagram.envelope;
    if (!packet.info().request() || envelope.destination.v4()) return;
    if (envelope.vlan && envelope.vlan->priority != 0) {
        envelope.dscp = static_cast<std::uint8_t>(envelope.vlan->priority << 3);
    }
}

// The firmware compares the port's MTU with everything behind the DETH, and ImmDt is behind it.
// Shows when: a UD SEND with immediate data of 4096 bytes leaves a port with an MTU of 4096.
class ImmediateCountsAsPayload final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/, Datagrams& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool too_long =
            packet && packet->info().service == wire::Service::Ud && packet->info().immediate() &&
            packet->payload().size() + wire::ImmDt::kSize > wire::bytes_of(wire::Mtu::B4096);
        if (!too_long) out.push_back(std::move(datagram));
    }
};

// The atomic's result is one DMA write of eight bytes to the first entry of the list. Shows when:
// an atomic has two SGEs of four bytes that do not lie behind each other.
class ResultIntoFirstSge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        constexpr std::uint32_t result = sizeof(std::uint64_t);
        std::uint64_t length = 0;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        if (!engine::is_atomic(request.opcode) || length != result) return;
        whole_ = {request.sges.front()};
        whole_.front().length = result;
        request.sges = whole_;
    }

  private:
    std::array<engine::Sge, 1> whole_;
};

// The driver turns the placement bits into an enumeration of one type, the stronger one. Shows
// when: a FLUSH asks for both global visibility and persistence (PLT 3).
void one_kind_of_flush(wire::Packet& packet) {
    constexpr std::uint8_t both = 3;
    constexpr std::uint8_t persistence = 2;
    const bool flush = packet.info().operation == Operation::Flush;
    if (flush && packet.feth.placement == both) packet.feth.placement = persistence;
}

struct EmptyRead {
    wire::Psn psn; // as the engine counts
    bool answered = false;
};
struct EmptyReads {
    std::deque<EmptyRead> reads;
};

// The PSN adder gets the number of response packets from a division that rounds up and gives 0 for
// a READ of no bytes. Shows when: anything is sent behind an RDMA READ of length 0: it has the
// READ's PSN.
class EmptyReadTakesNoPsn final : public QpFilter<EmptyReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        std::deque<EmptyRead>& reads = qp.memory.reads;
        const wire::Psn psn = packet.bth.psn;
        packet.bth.psn += -std::ranges::count_if(
            reads, [psn](const EmptyRead& read) { return wire::distance(read.psn, psn) > 0; });
        const bool fresh = std::ranges::find(reads, psn, &EmptyRead::psn) == reads.end();
        if (is_read_request(packet) && packet.reth.dma_length == 0 && fresh) {
            reads.push_back({.psn = psn});
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        std::int64_t behind = 0; // as many empty READs lie before what is answered
        for (EmptyRead& read : qp.memory.reads) {
            const std::int32_t ahead = wire::distance(read.psn, packet.bth.psn + behind);
            if (ahead < 0) break;
            if (ahead == 0 && !read.answered && !is_ack(packet)) {
                read.answered = is_read_response(packet);
                break;
            }
            ++behind;
        }
        packet.bth.psn += behind;
    }
};

// --- errors and retransmission

struct SentReads {
    ReadLog log;
    NewestPsn sent;
};

// The address of a READ's rest is made by a 32 bit adder; the upper word is the original's. Shows
// when: a READ crosses a multiple of 4 GiB and is asked for again from a PSN behind it.
class LosesCarry final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        SentReads& reads = qp.memory;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (!reads.sent.note(packet.bth.psn, packets)) {
            reads.log.note(packet, qp.mtu());
            return;
        }
        constexpr std::uint64_t low = 0xFFFFFFFF;
        if (const auto known = reads.log.holding(packet.bth.psn)) {
            std::uint64_t& address = packet.reth.virtual_address;
            address = (known->request.reth.virtual_address & ~low) | (address & low);
        }
    }
};

struct ResentAtomics : Outgoing {
    std::set<std::uint32_t> psns;
};

// Answers to resent requests go through the microcode's slow path, which stores the result as it
// came. Shows when: an atomic's first answer is lost and its repetition is answered with a value
// that is no palindrome of bytes.
class SwapsResentResult final : public FollowsRequests<ResentAtomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again && is_atomic_request(packet)) qp.memory.psns.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool result = packet.info().operation == Operation::AtomicAcknowledge;
        if (result && qp.memory.psns.erase(packet.bth.psn.value()) > 0) {
            packet.atomic_ack.original = std::byteswap(packet.atomic_ack.original);
        }
    }
};

// The flush loop of the driver looks at the "wants a CQE" bit of each WQE as the success path does.
// Shows when: a QP goes to ERR while unsignaled requests wait behind the one that failed.
class FlushesSignaledOnly final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (request.flags.signaled) {
            unsignaled_.erase(request.id);
        } else {
            unsignaled_.insert(request.id);
        }
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool hidden = completion.queue == engine::Queue::Send &&
                            completion.status == engine::WcStatus::WrFlushErr &&
                            unsignaled_.contains(completion.id);
        return hidden ? std::nullopt : std::optional(completion);
    }

  private:
    std::set<std::uint64_t> unsignaled_;
};

struct PsnOffset {
    std::int64_t by = 0;
};

// The firmware's transition to RTS loads the send PSN from the attributes of the QP, whichever
// state it comes from. Shows when: a UC QP that has sent something falls into SQE (a bad lkey),
// goes to RTS and sends again: its PSNs begin with the first one.
class RestartsPsns final : public QpFilter<PsnOffset> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override { owners_[request.id] = qpn; }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool failed = completion.queue == engine::Queue::Send &&
                            completion.status != engine::WcStatus::Success &&
                            completion.status != engine::WcStatus::WrFlushErr;
        const auto owner = owners_.find(completion.id);
        if (failed && owner != owners_.end()) lives_[owner->second].failed = true;
        return completion;
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        Life& life = lives_[qpn];
        if (attributes.state == QpState::Reset) life = {};
        if (attributes.sq_psn) life.begin = *attributes.sq_psn;
        if (attributes.state == QpState::Rts && std::exchange(life.failed, false)) {
            life.restarts = true;
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc) return;
        Life& life = lives_[qp.report.qpn];
        if (std::exchange(life.restarts, false)) {
            qp.memory.by = wire::distance(packet.bth.psn, life.begin);
        }
        packet.bth.psn += qp.memory.by;
    }

  private:
    struct Life {
        wire::Psn begin;
        bool failed = false;
        bool restarts = false;
    };
    std::map<std::uint64_t, wire::Qpn> owners_; // of work requests, by id
    std::map<wire::Qpn, Life> lives_;
};

// "Is this ACK old?" compares 24 bit numbers without a wrap. Shows when: the PSNs of outstanding
// SENDs or WRITEs wrap and one ACK, behind the wrap, acknowledges all of them.
class DropsAckOverWrap final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rc_request(passage.packet)) qp.memory.note_request(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Outgoing& memory = qp.memory;
        if (!is_rc_response(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        if (is_ack(packet) && memory.holds(psn) && memory.oldest->value() > psn.value()) {
            passage.dropped = true;
            return;
        }
        memory.note_answer(packet);
    }
};

// The core marks descriptors of resent packets in the byte of AckReq for its own statistics, and
// the header builder forgets to mask the mark. Shows when: any RC request is sent again.
class MarksResends final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && is_rc_request(packet)) packet.bth.reserved7 |= 1;
    }
};

struct PlacedRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    std::vector<engine::Sge> sges;
    bool done = false;

    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t offset = wire::distance(first, psn);
        return offset >= 0 && static_cast<std::uint32_t>(offset) < packets;
    }
};
struct PlacedReads {
    std::deque<PlacedRead> reads;
    NewestPsn sent;
};

// A READ's scatter context is freed when the QP has no READ left and not when its own READ is
// done, and data is placed before the PSN is checked. Shows when: READ A is complete and its buffer
// has got other contents, READ B is unanswered, and a response of A comes once more.
class PlacesLateResponses final : public DmaFilter<PlacedReads> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        if (request.opcode != WrOpcode::RdmaRead) return;
        Posted read{.address = request.remote_address};
        for (const engine::Sge& sge : request.sges) {
            read.sges.push_back(sge);
            read.length += sge.length;
        }
        posted_[qpn].push_back(std::move(read));
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (qp.memory.sent.note(packet.bth.psn, packets)) return;
        std::deque<Posted>& posted = posted_[qp.report.qpn];
        const auto read = std::ranges::find_if(posted, [&packet](const Posted& one) {
            return one.address == packet.reth.virtual_address &&
                   one.length == packet.reth.dma_length;
        });
        if (read == posted.end()) return;
        constexpr std::size_t kept = 16;
        std::deque<PlacedRead>& reads = qp.memory.reads;
        reads.push_back(
            {.first = packet.bth.psn, .packets = packets, .sges = std::move(read->sges)});
        if (reads.size() > kept) reads.pop_front();
        posted.erase(posted.begin(), read + 1);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        std::deque<PlacedRead>& reads = qp.memory.reads;
        const wire::Psn psn = packet.bth.psn;
        const auto read =
            std::ranges::find_if(reads, [psn](const PlacedRead& one) { return one.holds(psn); });
        if (read == reads.end()) return;
        const bool more = !std::ranges::all_of(reads, &PlacedRead::done);
        if (read->done && more) place(qp, *read, packet);
        if (psn == read->first + (read->packets - 1)) read->done = true;
    }

  private:
    struct Posted {
        std::uint64_t address = 0;
        std::uint64_t length = 0;
        std::vector<engine::Sge> sges;
    };
    void place(const Qp& qp, const PlacedRead& read, const wire::Packet& packet) const {
        wire::Bytes bytes = packet.payload();
        std::uint64_t offset =
            static_cast<std::uint64_t>(wire::distance(read.first, packet.bth.psn)) *
            wire::bytes_of(qp.mtu());
        for (const engine::Sge& sge : read.sges) {
            if (offset >= sge.length) {
                offset -= sge.length;
                continue;
            }
            const auto piece = std::min<std::size_t>(sge.length - offset, bytes.size());
            const wire::MutableBytes to =
                regions().at({sge.lkey.value}, sge.address + offset, piece);
            if (!to.empty()) std::memcpy(to.data(), bytes.data(), piece);
            bytes = bytes.subspan(piece);
            offset = 0;
        }
    }
    std::map<wire::Qpn, std::deque<Posted>> posted_;
};

struct NewestImmediate : Outgoing {
    std::optional<std::uint32_t> value;
};

// A resend takes payload and addresses from the WQE that it goes back to, and the immediate data
// from the register that the newest WQE left. Shows when: two messages with different immediate
// data are outstanding and the first one is resent.
class ImmediateOfNewest final : public FollowsRequests<NewestImmediate> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_rc_request(packet) || !packet.info().immediate()) return;
        auto& newest = qp.memory.value;
        if (!again) newest = packet.imm.value;
        if (newest) packet.imm.value = *newest;
    }
};

// --- where two features or two QPs meet

struct OpenReads : Outgoing {
    std::deque<wire::Psn> reads; // the last PSN of each that is not answered
};

// "A response is on its way" saves the request for an ACK, also where that response belongs to an
// earlier PSN. Shows when: a SEND or WRITE leaves behind an unanswered READ and the responder
// acknowledges only what asks for it: the request hangs until its timeout.
class AsksNoAckBehindRead final : public FollowsRequests<OpenReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again || !is_rc_request(packet)) return;
        auto& reads = qp.memory.reads;
        const wire::OpcodeInfo& info = packet.info();
        if (is_read_request(packet)) {
            const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
            reads.push_back(packet.bth.psn + (packets - 1));
        }
        const bool data =
            info.operation == Operation::Send || info.operation == Operation::RdmaWrite;
        if (data && info.ends_message() && !reads.empty()) packet.bth.ack_request = false;
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        std::erase_if(qp.memory.reads, [&packet](wire::Psn last) {
            return wire::distance(last, packet.bth.psn) >= 0;
        });
    }
};

// BIND_MW and LOCAL_INV go to the memory unit's queue before the fence stage. Shows when: a
// LOCAL_INV with the fence flag, of the key of a READ's buffer or of a key that the peer uses, is
// posted behind a READ that is not answered yet.
bool fence_of_packets(const SendView& view) {
    return engine::is_local(view.request.opcode) || right::fence(view);
}

// The limiter of READs and atomics decodes the opcodes of the base specification; ATOMIC WRITE
// looks like a WRITE to it. Shows when: max_rd_atomic READs are unanswered and an ATOMIC WRITE is
// posted behind them.
bool rd_atomic_of_old_opcodes(const SendView& view) {
    return view.request.opcode == WrOpcode::AtomicWrite || right::rd_atomic(view);
}

// The driver sets the notify bit of the QP context with an OR. Shows when: a QP was drained with
// sqd_async_notify, went to RTS, and is drained again with it false: SQ_DRAINED comes.
class NotifySticks final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) qps_.erase(qpn);
        if (!attributes.sqd_async_notify) return;
        Notify& notify = qps_[qpn];
        notify.asked = *attributes.sqd_async_notify;
        notify.sticks |= notify.asked;
        attributes.sqd_async_notify = notify.sticks;
    }
    void queried(engine::QpReport& report) override {
        const auto notify = qps_.find(report.qpn);
        if (notify != qps_.end()) report.attributes.sqd_async_notify = notify->second.asked;
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }

  private:
    struct Notify {
        bool asked = false;
        bool sticks = false;
    };
    std::map<wire::Qpn, Notify> qps_;
};

struct FirstWqe {
    std::optional<wire::Psn> psn; // of the life's first request, whose data was inline
    std::vector<std::byte> body;  // that it is sent with
    bool begun = false;
};

// RESET rewinds the send queue and leaves its first WQE in the device's cache, inline data
// included. Shows when: the first request of a QP is inline, the QP goes to RESET and is connected
// again, and its first request is inline, with other data that is not longer.
class InlineOfFormerLife final : public QpFilter<FirstWqe> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        Life& life = lives_[qpn];
        if (!std::exchange(life.posted, true)) {
            life.inline_data = request.flags.inline_data && sends_data(request.opcode);
        }
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        Life& life = lives_[qpn];
        if (attributes.state == QpState::Reset) life = {.former = std::move(life.data)};
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.request()) return;
        FirstWqe& first = qp.memory;
        Life& life = lives_[qp.report.qpn];
        if (!std::exchange(first.begun, true) && life.inline_data && info.starts_message() &&
            info.ends_message()) {
            const std::size_t size = packet.payload().size();
            life.data.assign(packet.body.begin(), packet.body.end());
            first.psn = packet.bth.psn;
            first.body = life.data;
            life.data.resize(size);
            if (life.former.size() >= size) {
                std::ranges::copy(wire::Bytes(life.former).first(size), first.body.begin());
            }
        }
        if (first.psn == packet.bth.psn) packet.body = first.body;
    }

  private:
    struct Life {
        bool posted = false;
        bool inline_data = false;
        std::vector<std::byte> data;   // of the first request
        std::vector<std::byte> former; // the same, of the life before
    };
    std::map<wire::Qpn, Life> lives_;
};

// A CNP reschedules its QP with the new rate, and the scheduler takes a scheduled QP for one that
// may send. Shows when: a CNP comes during the wait that an RNR NAK asked for: the request leaves
// at once.
class CnpEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::Psn psn = packet.bth.psn;
        Copies& memory = qp.memory;
        std::uint32_t& naks = naks_[qp.report.qpn];
        const auto& address = qp.report.attributes.address;
        if (!address || address->destination != passage.envelope.source) return;
        if (!memory.oldest) naks = 0;
        if (is_cnp(packet)) {
            const bool sends = qp.report.state == QpState::Rts || qp.report.state == QpState::Sqd;
            if (sends && memory.waits) send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        } else if (is_rnr_nak(packet)) {
            if (!memory.sent.contains(psn.value())) return;
            acknowledge_until(memory, psn - 1);
            constexpr std::uint8_t for_ever = 7;
            const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(0);
            if (++naks <= most || most == for_ever) memory.waits = psn;
        } else if (packet.info().response()) {
            memory.waits.reset();
            if (is_nak(packet) || !memory.sent.contains(psn.value())) return;
            naks = 0;
            acknowledge_until(memory, psn);
        }
    }

  private:
    std::map<wire::Qpn, std::uint32_t> naks_; // RNR NAKs since the last progress
};

// The QPs of one path share a scheduling queue, and a QP that waits for its RNR timer stays at the
// queue's head. Shows when: one of two QPs to the same address gets an RNR NAK with a long timer
// code and the other one has something to send.
class RnrHoldsNeighbours final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        qps_.insert_or_assign(report.qpn, report);
        if (report.state == QpState::Reset || report.state == QpState::Err) {
            waits_.erase(report.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override {
        qps_.erase(qpn);
        waits_.erase(qpn);
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant now, Datagrams& in,
                 Datagrams& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? qps_.find(packet->bth.dest_qp) : qps_.end();
        const bool from_peer =
            qp != qps_.end() && qp->second.attributes.address &&
            qp->second.attributes.address->destination == datagram.envelope.source;
        if (from_peer && qp->second.state == QpState::Rts) {
            if (is_rnr_nak(*packet)) {
                waits_[qp->first] = now + wire::rnr_time(packet->aeth.syndrome.code());
            } else if (is_rc_response(*packet)) {
                waits_.erase(qp->first);
            }
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant now, Datagrams& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            const auto& to = datagram.envelope.destination;
            for (const auto& [qpn, until] : waits_) {
                const engine::QpReport& waiting = qps_.at(qpn);
                const auto& path = waiting.attributes.address;
                const bool itself = waiting.attributes.dest_qp == packet->bth.dest_qp;
                if (!itself && path && path->destination == to) {
                    datagram.delay = std::max(datagram.delay, until - now);
                }
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, engine::QpReport> qps_;
    std::map<wire::Qpn, wire::Instant> waits_; // until when
};

struct OpenAtomics : Outgoing {
    std::deque<wire::Psn> psns;
};

// The completion unit counts the bytes that a READ still misses; an atomic has no such count and is
// done with any acknowledge behind it. Shows when: an atomic's answer is lost and the ACK of a SEND
// behind it comes: the atomic completes, its result is 0.
class AckCompletesAtomic final : public FollowsRequests<OpenAtomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!again && is_atomic_request(packet)) qp.memory.psns.push_back(packet.bth.psn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& psns = qp.memory.psns;
        const wire::Psn psn = packet.bth.psn;
        if (packet.info().operation == Operation::AtomicAcknowledge) std::erase(psns, psn);
        if (!is_ack(packet) || !qp.memory.holds(psn)) return;
        while (!psns.empty() && wire::distance(psns.front(), psn) > 0) {
            wire::Packet result = packet;
            set_opcode(result, Operation::AtomicAcknowledge, Position::Only);
            result.bth.psn = psns.front();
            passage.before.push_back(result);
            psns.pop_front();
        }
    }
};

// The device keeps address vectors of datagrams in a cache whose tag is the destination address
// alone. Shows when: two datagrams go to one address by address handles of different traffic
// class; from one UD QP or from two.
class OneClassForEachAddress final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const auto known = classes_.try_emplace(path.destination.bytes, path.traffic_class).first;
        path.traffic_class = known->second;
    }

  private:
    std::map<std::array<std::byte, 16>, std::uint8_t> classes_;
};

// QP1 is a proxy of the firmware, and the template of its IPv6 datagrams has the proxy's own
// number as the source. Shows when: a CM message over IPv6 is answered (a REQ for a service that
// does not exist, or a DREQ).
class ShowsProxyQp final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/, Datagrams& out) override {
        constexpr wire::Qpn proxy{0x41};
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->headers.has(wire::Header::Deth) &&
            packet->deth.source_qp == wire::kGsiQpn && !datagram.envelope.destination.v4()) {
            packet->deth.source_qp = proxy;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }
};

// The credit gate sits behind the decoder's "is a SEND" line. Shows when: the peer has told of no
// credits, never of code 31, and several WRITEs with immediate data are posted while a request is
// outstanding.
bool credits_of_sends(const SendView& view) {
    return view.request.opcode == WrOpcode::RdmaWriteWithImm || right::credits(view);
}

constexpr std::array kMutants{
    Mutant{.name = "gather_ends_at_empty_sge",
           .rule = "LEN-10",
           .description = "A SEND or WRITE ends at the first SGE of length 0; the data of the SGEs "
                          "behind it is not sent.",
           .make_filter = make<EndsAtEmptySge>},
    Mutant{.name = "uc_write_imm_of_full_packets_ends_empty",
           .rule = "LEN-10",
           .description = "A UC WRITE with immediate data whose last packet of several is full "
                          "ends with one more, empty packet.",
           .cases = "ext/unreliable-immediates-of-whole-packets",
           .make_filter = make<EmptyLastOfUcWrite>},
    Mutant{.name = "write_keeps_solicited_of_send",
           .rule = "BTH-14",
           .description = "The last packet of a plain WRITE has the SE bit of the last message "
                          "before it that could have one.",
           .make_filter = make<KeepsSolicited>},
    Mutant{.name = "v6_request_has_dscp_of_vlan_priority",
           .rule = "CA17-13",
           .description = "Requests over IPv6 in a VLAN with a priority have eight times the "
                          "priority as DSCP, whatever the traffic class.",
           .make_filter = make<EditsSentDatagram<dscp_of_priority>>},
    Mutant{.name = "ud_immediate_counts_against_mtu",
           .rule = "EXT-05",
           .description = "A datagram with immediate data that fills the MTU of 4096 bytes to less "
                          "than four bytes is not sent, and completes.",
           .cases = "ext/datagram-immediate-lengths",
           .make_filter = make<ImmediateCountsAsPayload>},
    Mutant{.name = "atomic_result_all_in_first_sge",
           .rule = "ATM-01",
           .description = "All eight bytes of an atomic's result are written from the first SGE's "
                          "address on, however short that SGE is.",
           .make_filter = make<ResultIntoFirstSge>},
    Mutant{.name = "flush_of_both_kinds_asks_for_one",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH for global visibility and persistence is sent with the bit of "
                          "persistence alone.",
           .cases = "ext/flush-of-each-kind",
           .make_filter = make<EditsOutbound<one_kind_of_flush>>},
    Mutant{.name = "empty_read_moves_no_psn",
           .rule = "N-36",
           .description = "An RDMA READ of no bytes takes no PSN: the next request has the same.",
           .make_filter = make<EmptyReadTakesNoPsn>},
    Mutant{.name = "rnr_wait_of_first_nak",
           .rule = "RNR-08",
           .description = "After each further RNR NAK of a request the requester waits as long as "
                          "the first one asked for.",
           .make_filter = make<NextRnrWaitsAsFirst>},
    Mutant{.name = "read_restart_loses_carry",
           .rule = "REQ-10",
           .description = "A READ that is asked for again from behind a multiple of 4 GiB names an "
                          "address 4 GiB too low.",
           .make_filter = make<LosesCarry>},
    Mutant{.name = "resent_atomic_result_in_wire_order",
           .rule = "ATM-11",
           .description = "The result of an atomic that was sent more than once is stored with its "
                          "bytes in reverse order.",
           .make_filter = make<SwapsResentResult>},
    Mutant{.name = "unsignaled_requests_not_flushed",
           .rule = "STA-07",
           .description = "Unsignaled requests of a QP that goes to ERR vanish without a flush "
                          "completion.",
           .make_filter = make<FlushesSignaledOnly>},
    Mutant{.name = "uc_psns_restart_after_sqe",
           .rule = "REQ-01",
           .description = "A UC QP that comes from SQE to RTS begins again with the send PSN that "
                          "it was set up with.",
           .cases = "ext/unreliable-after-its-own-fault",
           .make_filter = make<RestartsPsns>},
    Mutant{.name = "ack_over_psn_wrap_taken_for_old",
           .rule = "REQ-03",
           .description = "An ACK behind the wrap of the PSNs is ignored while the oldest request "
                          "that it acknowledges lies before the wrap.",
           .make_filter = make<DropsAckOverWrap>},
    Mutant{.name = "resends_marked_in_reserved_bits",
           .rule = "BTH-16",
           .description = "Request packets that are sent again have the lowest of the seven "
                          "reserved bits behind AckReq set.",
           .make_filter = make<MarksResends>},
    Mutant{.name = "late_read_response_placed",
           .rule = "N-38",
           .description = "A repeated response of a READ that is complete is written to its buffer "
                          "again while another READ of the QP is unanswered.",
           .cases = "n/extra-responses-while-reading",
           .make_filter = make<PlacesLateResponses>},
    Mutant{.name = "resend_has_newest_immediate",
           .rule = "REQ-34",
           .description = "A message that is sent again carries the immediate data of the newest "
                          "message that was sent with some.",
           .make_filter = make<ImmediateOfNewest>},
    Mutant{.name = "no_ack_request_behind_read",
           .rule = "N-18",
           .description = "SENDs and WRITEs that leave while a READ is unanswered do not ask for "
                          "an ACK before they are sent again.",
           .cases = "req/asks-behind-a-read",
           .make_filter = make<AsksNoAckBehindRead>},
    Mutant{.name = "local_operations_ignore_fence",
           .rule = "REQ-28",
           .description = "A fenced BIND_MW or LOCAL_INV is carried out while earlier READs or "
                          "atomics are unanswered.",
           .cases = "req/fence-bind req/fence-invalidate",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_of_packets)},
    Mutant{.name = "atomic_write_beyond_rd_atomic",
           .rule = "REQ-27",
           .description = "An ATOMIC WRITE is sent although max_rd_atomic requests with a response "
                          "of their own are outstanding.",
           .cases = "ext/outstanding-atomic-writes",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, rd_atomic_of_old_opcodes)},
    Mutant{.name = "drain_notification_sticks",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A QP that was once drained with a notification raises SQ_DRAINED also "
                          "when it is drained without.",
           .cases = "sta/drained-without-event",
           .make_filter = make<NotifySticks>},
    Mutant{.name = "inline_data_of_former_life",
           .rule = "STA-10",
           .description = "The first inline request after RESET carries the inline data of the "
                          "first request before it.",
           .cases = "sta/inline-in-each-life",
           .make_filter = make<InlineOfFormerLife>},
    Mutant{.name = "cnp_in_an_rnr_wait_ends_it",
           .rule = "RNR-08",
           .description = "A CNP during an RNR wait makes the requester resend the refused packet "
                          "at once.",
           .make_filter = make<CnpEndsRnrWait>},
    Mutant{.name = "rnr_wait_holds_neighbours",
           .rule = "ROB-07",
           .level = "SHOULD",
           .description = "While one QP waits after an RNR NAK no other QP sends requests to the "
                          "same address.",
           .make_filter = make<RnrHoldsNeighbours>},
    Mutant{.name = "ack_behind_atomic_completes_it",
           .rule = "N-11",
           .description = "An ACK behind an unanswered atomic completes it successfully with the "
                          "result 0.",
           .make_filter = make<AckCompletesAtomic>},
    Mutant{.name = "ud_traffic_class_cached_by_address",
           .rule = "CA17-4",
           .description = "All datagrams to an address have the traffic class of the first one "
                          "that went there.",
           .make_filter = make<OneClassForEachAddress>},
    Mutant{.name = "gsi_over_ipv6_shows_proxy_qp",
           .rule = "N-30",
           .description = "Datagrams of QP1 over IPv6 name QP 0x41 as their source.",
           .make_filter = make<ShowsProxyQp>},
    Mutant{.name = "write_imm_ignores_credits",
           .rule = "REQ-29",
           .level = "SHOULD",
           .description = "The requester obeys end-to-end credits for SENDs and sends WRITEs with "
                          "immediate data without regard to them.",
           .checks = engine::kStandardChecks.with(SendCheck::Credits, credits_of_sends),
           .behaviour = {.obey_credits = true}},
};

} // namespace
} // namespace veriroce::mutants::of_blind15_requester

namespace veriroce::mutants {

std::span<const Mutant> blind15_requester() {
    return of_blind15_requester::kMutants;
}

} // namespace veriroce::mutants
