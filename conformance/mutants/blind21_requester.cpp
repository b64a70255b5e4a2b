// Defects of the requesting side, written blind. Three devices that were imagined for them:
//
// - a pipelined FPGA core: a segmenter behind a WQE prefetch, header templates per QP, a FIFO of
//   outstanding READs with scatter contexts, one RNR timer per port, a beat-wise CRC;
// - a firmware NIC: an address-handle cache, retry counters in a response table, an event queue
//   that is fed by acknowledges, a completion walk with a budget;
// - a host driver that builds inline descriptors, flushes queues in software and has its own CM.
#include <array>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind21_requester {
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

// --- work requests and the packets that they become

struct Work {
    WrOpcode opcode = WrOpcode::Send;
    engine::SendFlags flags;
    std::uint64_t remote_address = 0;
    wire::Rkey rkey;
    std::uint32_t imm = 0;
    std::uint64_t length = 0;
    std::vector<engine::Sge> sges;
    wire::Psn first;
    std::uint32_t packets = 1;
    bool answered = false; // by READ data

    [[nodiscard]] bool holds(wire::Psn psn) const {
        return ((psn.value() - first.value()) & wire::kMask24) < packets;
    }
    [[nodiscard]] bool has_imm() const {
        return opcode == WrOpcode::SendWithImm || opcode == WrOpcode::RdmaWriteWithImm;
    }
    [[nodiscard]] bool becomes(const wire::Packet& packet, wire::Mtu mtu) const {
        if (operation_of(opcode) != packet.info().operation) return false;
        if (packet.headers.has(wire::Header::Reth)) {
            return packet.reth.virtual_address == remote_address && packet.reth.rkey == rkey;
        }
        if (is_atomic_request(packet)) {
            return packet.atomic.virtual_address == remote_address && packet.atomic.rkey == rkey;
        }
        return packet.info().ends_message() ? packet.payload().size() == length
                                            : length > wire::bytes_of(mtu);
    }
};

// Whether the requester takes in what comes, and it comes from the QP's peer.
bool hears(const engine::QpReport& report, const Passage& passage) {
    const bool open = report.state == engine::QpState::Rts || report.state == engine::QpState::Sqd;
    return open && of_this_connection(report, passage);
}

// A filter that knows the work request of each request packet.
template <typename Memory>
class KnowsWork : public DmaFilter<Memory> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        if (engine::is_local(request.opcode)) return;
        Work work{.opcode = request.opcode,
                  .flags = request.flags,
                  .remote_address = request.remote_address,
                  .rkey = request.rkey,
                  .imm = request.imm,
                  .sges = {request.sges.begin(), request.sges.end()}};
        for (const engine::Sge& sge : request.sges)
            work.length += sge.length;
        auto& waiting = queues_[qpn].waiting;
        waiting.push_back(std::move(work));
        if (waiting.size() > kKept) waiting.pop_front();
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) queues_.erase(qpn);
    }

  protected:
    using typename QpFilter<Memory>::Qp;

    struct Queue {
        std::deque<Work> waiting; // posted, and no packet has left
        std::deque<Work> sent;
        NewestPsn newest;

        Work* holding(wire::Psn psn) {
            const auto found =
                std::ranges::find_if(sent, [psn](const Work& work) { return work.holds(psn); });
            return found == sent.end() ? nullptr : &*found;
        }
    };

    // `work` is null where it is not known.
    virtual void request_leaves(Qp& /*qp*/, Passage& /*passage*/, Work* /*work*/, bool /*again*/) {}

    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        Queue& queue = queues_[qp.report.qpn];
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        const bool again = queue.newest.note(packet.bth.psn, packets);
        if (!again && packet.info().starts_message()) begin(queue, packet, qp.mtu());
        request_leaves(qp, passage, queue.holding(packet.bth.psn), again);
    }
    Queue& queue_of(const Qp& qp) { return queues_[qp.report.qpn]; }

  private:
    static constexpr std::size_t kKept = 1024;

    static void begin(Queue& queue, const wire::Packet& packet, wire::Mtu mtu) {
        const auto found = std::ranges::find_if(
            queue.waiting, [&](const Work& work) { return work.becomes(packet, mtu); });
        if (found == queue.waiting.end()) return;
        Work work = std::move(*found);
        queue.waiting.erase(queue.waiting.begin(), std::next(found));
        work.first = packet.bth.psn;
        const bool one = packet.info().ends_message() && !is_read_request(packet);
        work.packets = one ? 1 : wire::packets_of(work.length, mtu);
        queue.sent.push_back(std::move(work));
        if (queue.sent.size() > kKept) queue.sent.pop_front();
    }

    std::map<wire::Qpn, Queue> queues_;
};

// --- plain traffic: sizes, flags, forms

// The CRC unit takes eight bytes a beat. In a last beat with one byte of payload and three of pad
// behind four others the byte enables are those of the payload, and the pad is left out.
// Shows when: SEND or WRITE of 1, 9, 17 ... bytes over IPv4, of 5, 13, 21 ... over IPv6 (with
// immediate data the other way round).
class LeavesPadOutOfIcrc final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        const wire::Bytes transport = outer.transport();
        if (transport.size() < wire::Bth::kSize) return;
        const wire::Bth bth = wire::Bth::read(transport);
        const wire::Bytes covered = outer.covered();
        constexpr std::size_t beat = 8;
        constexpr std::uint8_t pad = 3;
        if (!wire::opcode_info(bth.opcode).request() || bth.pad != pad) return;
        if (covered.size() % beat != beat / 2) return;
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(covered.first(covered.size() - pad)));
    }
};

// The length of the RETH is loaded into the header template by the gather engine, which has nothing
// to do for an empty message; the plain WRITE of no bytes has a path of its own.
// Shows when: WRITE of n bytes, then WRITE with immediate data of no bytes on the same QP.
class KeepsLengthOfLastWrite final : public QpFilter<std::uint32_t> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_write(packet) || !packet.headers.has(wire::Header::Reth)) return;
        if (packet.reth.dma_length != 0) {
            qp.memory = packet.reth.dma_length;
        } else if (packet.info().immediate()) {
            packet.reth.dma_length = qp.memory;
        }
    }
};

// In the hardware's list a piece of length zero marks the end; the driver copies the caller's list
// as it is.
// Shows when: SEND, WRITE or READ with three SGEs of which the second has length 0.
class EndsListAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        const Operation operation = operation_of(request.opcode);
        if (operation != Operation::Send && operation != Operation::RdmaWrite &&
            operation != Operation::RdmaReadRequest) {
            return;
        }
        const auto empty =
            std::ranges::find_if(request.sges, [](const auto& sge) { return sge.length == 0; });
        const auto kept = static_cast<std::size_t>(empty - request.sges.begin());
        request.sges = request.sges.first(kept);
    }
};

// Inline operands of eight bytes go through the operand registers of the atomics, which are loaded
// as big-endian numbers; the bytes of an ATOMIC WRITE are none.
// Shows when: ATOMIC WRITE with inline data whose bytes differ.
class SwapsInlineAtomicWrite final : public KnowsWork<Nothing> {
  protected:
    void request_leaves(Qp& /*qp*/, Passage& passage, Work* work, bool /*again*/) override {
        wire::Packet& packet = passage.packet;
        const bool meant = packet.info().operation == Operation::AtomicWrite && work != nullptr &&
                           work->flags.inline_data && packet.body.size() == swapped_.size();
        if (!meant) return;
        std::ranges::reverse_copy(packet.body, swapped_.begin());
        packet.body = swapped_;
    }

  private:
    std::array<std::byte, sizeof(std::uint64_t)> swapped_{};
};

// The FETH of a QP's header template is ORed with what each work request asks for, and cleared at
// RESET only.
// Shows when: FLUSH of a whole region, then FLUSH of a range on the same QP.
class KeepsFlushSelectivity final : public QpFilter<std::uint8_t> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::Flush) return;
        qp.memory = static_cast<std::uint8_t>(qp.memory | packet.feth.selectivity);
        packet.feth.selectivity = qp.memory;
    }
};

// The staging buffer of a datagram has 4096 bytes and holds the immediate data too; what does not
// fit is taken for oversize, and completes unsent.
// Shows when: UD SEND with immediate data of 4093 to 4096 bytes (port MTU 4096).
class StagesImmediateWithDatagram final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::size_t room = 4096;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool full = packet && packet->info().service == wire::Service::Ud &&
                          packet->info().immediate() &&
                          packet->payload().size() + wire::ImmDt::kSize > room;
        if (!full) out.push_back(std::move(datagram));
    }
};

// RC takes the SE bit from the opcode's row; the smaller sequencer of UC copies it from the work
// request whatever the opcode is.
// Shows when: UC WRITE without immediate data, posted with the solicited flag.
class SolicitsWithUcWrite final : public KnowsWork<Nothing> {
  protected:
    void request_leaves(Qp& /*qp*/, Passage& passage, Work* work, bool /*again*/) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc || !is_write(packet) || info.immediate()) return;
        if (info.ends_message() && work != nullptr) packet.bth.solicited = work->flags.solicited;
    }
};

// The pad goes through the scatter engine with the data: its byte enables are for whole words, so
// that up to three bytes behind the buffer are overwritten.
// Shows when: READ whose length is no multiple of 4 into a buffer inside a larger region.
class ScattersPadOfRead final : public KnowsWork<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        if (packet.bth.pad == 0 || packet.pad_exceeds_body()) return;
        Work* const work = queue_of(qp).holding(packet.bth.psn);
        if (work == nullptr || work->opcode != WrOpcode::RdmaRead || work->answered) return;
        const bool whole =
            packet.bth.psn == work->first + (std::int64_t{work->packets} - 1) &&
            packet.payload().size() ==
                work->length - std::uint64_t{work->packets - 1} * wire::bytes_of(qp.mtu());
        if (!whole || !hears(qp.report, passage)) return;
        work->answered = true;
        const auto last = std::ranges::find_if(work->sges.rbegin(), work->sges.rend(),
                                               [](const auto& sge) { return sge.length > 0; });
        if (last == work->sges.rend()) return;
        const auto behind =
            regions().at({last->lkey.value}, last->address + last->length, packet.bth.pad);
        if (!behind.empty()) std::ranges::copy(packet.body.last(packet.bth.pad), behind.begin());
    }
};

// --- errors and retransmission

// How far a READ has come is the difference of two PSNs in 64 bits, without the mask of 24.
// Shows when: the responses to a READ cross PSN 0xFFFFFF -> 0, and one behind the wrap is lost.
class ResumesReadBeforeWrap final : public KnowsWork<Nothing> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, Work* work, bool again) override {
        wire::Packet& packet = passage.packet;
        if (!again || work == nullptr || !is_read_request(packet)) return;
        if (packet.bth.psn.value() >= work->first.value()) return;
        constexpr std::uint64_t circle = std::uint64_t{1} << 24;
        packet.reth.virtual_address -= circle * wire::bytes_of(qp.mtu());
    }
};

// After an RNR NAK the segmenter is entered at the refused packet with "first" set, as for a READ
// that asks for its rest: what was the last packet becomes a message of its own.
// Shows when: WRITE with immediate data of several packets, its last packet gets an RNR NAK.
class ResendsRefusedLastAsOnly final : public KnowsWork<std::optional<wire::Psn>> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet) && hears(qp.report, passage)) {
            qp.memory = passage.packet.bth.psn;
        }
    }
    void request_leaves(Qp& qp, Passage& passage, Work* work, bool again) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool meant = again && work != nullptr && qp.memory == packet.bth.psn &&
                           is_rc_request(packet) && is_write(packet) && info.immediate() &&
                           info.position == Position::Last;
        if (!meant) return;
        const auto before = static_cast<std::uint64_t>(wire::distance(work->first, packet.bth.psn));
        set_place(packet, Position::Only);
        packet.reth = {.virtual_address = work->remote_address + before * wire::bytes_of(qp.mtu()),
                       .rkey = work->rkey,
                       .dma_length = static_cast<std::uint32_t>(packet.payload().size())};
    }
};

// READs and atomics are retried out of the response table, whose entries have one limit: firmware
// loads it from the context word that has rnr_retry.
// Shows when: rnr_retry differs from retry_cnt, and a READ or atomic is never answered.
bool reads_retried_as_rnr(const SendView& view) {
    if (!engine::brings_data(view.request.opcode)) return engine::send_check::retry_left(view);
    constexpr std::uint8_t for_ever = 7;
    return view.connection.rnr_retry == for_ever ||
           view.outbound.retries < view.connection.rnr_retry;
}

// RNR NAKs were expected for what takes a receive, and for READs since on-demand paging; an atomic
// falls through the switch to the wait, past the counter.
// Shows when: an atomic gets more than rnr_retry RNR NAKs in a row.
bool atomics_wait_for_ever(const SendView& view) {
    return engine::is_atomic(view.request.opcode) || engine::send_check::rnr_retry_left(view);
}

// The length of a READ response is counted in words by the receive pipe, pad included; up to three
// bytes too few go unnoticed.
// Shows when: READ of 8 bytes, answered by 5 bytes and 3 of pad.
ResponseVerdict length_in_words(const ResponseView& view) {
    if (view.info.operation == Operation::RdmaReadResponse && view.request &&
        view.packet.bth.psn == view.request->last) {
        constexpr std::uint64_t word = 4;
        const std::uint64_t mtu = wire::bytes_of(view.connection.mtu);
        const std::uint64_t before = engine::forward(view.request->first, view.packet.bth.psn);
        const std::uint64_t due = view.request->length - before * mtu;
        const std::uint64_t came = view.packet.payload().size();
        const bool same_words = (came + word - 1) / word == (due + word - 1) / word;
        if (came > 0 && came < due && same_words) return ResponseVerdict::Take;
    }
    return engine::response_check::read_length(view);
}

// The scatter context of a READ of one packet stays valid until its slot is used again, and the
// payload goes to memory before the PSN is judged.
// Shows when: a READ of one packet is answered, the host changes the buffer, the response comes
// again.
class ScattersLateResponse final : public KnowsWork<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || packet.info().position != Position::Only) return;
        Work* const work = queue_of(qp).holding(packet.bth.psn);
        const bool fits = work != nullptr && work->opcode == WrOpcode::RdmaRead &&
                          work->packets == 1 && packet.payload().size() == work->length &&
                          hears(qp.report, passage);
        if (!fits) return;
        if (!std::exchange(work->answered, true)) return;
        wire::Bytes rest = packet.payload();
        for (const engine::Sge& sge : work->sges) {
            const auto to = regions().at({sge.lkey.value}, sge.address, sge.length);
            if (to.empty()) continue;
            std::ranges::copy(rest.first(sge.length), to.begin());
            rest = rest.subspan(sge.length);
        }
    }
};

// CNPs come to the requester through the queue of acknowledges, whose state machine takes what it
// does not know for a reason to send the oldest packet again.
// Shows when: a CNP comes while a request is not acknowledged.
class CnpRepeatsOldest final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!hears(qp.report, passage)) return;
        Copies& memory = qp.memory;
        if (is_cnp(packet)) {
            if (memory.oldest && of_rc(memory)) send_again(memory, *memory.oldest, passage);
        } else if (packet.info().response()) {
            acknowledge_until(memory, is_nak(packet) ? packet.bth.psn - 1 : packet.bth.psn);
        }
    }

  private:
    static bool of_rc(const Copies& memory) {
        const auto copy = memory.sent.find(memory.oldest->value());
        if (copy == memory.sent.end()) return false;
        const auto packet = wire::decode_packet(copy->second.bytes);
        return packet && is_rc_request(*packet);
    }
};

// BIND_MW and LOCAL_INV are carried out by the driver, which has them in a list of its own; the
// flush walks the hardware's ring only.
// Shows when: LOCAL_INV or BIND_MW waits in the send queue behind a request that fails.
class FlushesNoLocalWork final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        const bool local = completion.opcode == engine::WcOpcode::LocalInv ||
                           completion.opcode == engine::WcOpcode::BindMw;
        const bool flushed = completion.queue == engine::Queue::Send &&
                             completion.status == WcStatus::WrFlushErr && local;
        return flushed ? std::nullopt : std::optional(completion);
    }
};

// The driver keeps the wr_id of signaled requests only and takes the oldest one for a completion;
// that is also where an unsignaled request's error looks.
// Shows when: an unsignaled request fails and a signaled one was posted behind it.
class ErrorNamesNextSignaled final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        auto& list = posted_[qpn];
        list.push_back({.id = request.id, .signaled = request.flags.signaled});
        constexpr std::size_t kept = 1024;
        if (list.size() > kept) list.pop_front();
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) posted_.erase(qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { posted_.erase(qpn); }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion shown = completion;
        const bool error = completion.queue == engine::Queue::Send &&
                           completion.status != WcStatus::Success &&
                           completion.status != WcStatus::WrFlushErr;
        if (error) shown.id = next_signaled(completion.id).value_or(completion.id);
        return shown;
    }

  private:
    struct Posted {
        std::uint64_t id = 0;
        bool signaled = true;
    };
    // Nothing if the id is that of a signaled request, on whatever QP, or nothing follows.
    [[nodiscard]] std::optional<std::uint64_t> next_signaled(std::uint64_t id) const {
        std::optional<std::uint64_t> next;
        for (const auto& [qpn, list] : posted_) {
            std::optional<std::uint64_t> here;
            for (auto one = list.rbegin(); one != list.rend(); ++one) {
                if (one->id == id) {
                    if (one->signaled) return std::nullopt;
                    if (here) next = here;
                    break;
                }
                if (one->signaled) here = one->id;
            }
        }
        return next;
    }

    std::map<wire::Qpn, std::deque<Posted>> posted_;
};

// --- where two features or two QPs meet

// A request with inline data is complete in the doorbell and goes an express way, past the stage
// that waits for outstanding READs.
// Shows when: READ that is not answered, then an inline SEND or WRITE with the fence flag.
bool inline_passes_fence(const SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

// Contexts of READs of one packet are a FIFO whose head is popped by each READ RESPONSE ONLY; the
// PSN is only asked to be outstanding.
// Shows when: two READs of the same size, of one packet each; the first one's response is lost.
class OnlyAnswersOldestRead final : public KnowsWork<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || packet.info().position != Position::Only) return;
        auto& queue = queue_of(qp);
        Work* const meant = queue.holding(packet.bth.psn);
        if (meant == nullptr || !of_short_read(*meant) || meant->answered) return;
        if (packet.payload().size() != meant->length) return;
        if (!hears(qp.report, passage)) return;
        const auto head = std::ranges::find_if(
            queue.sent, [](const Work& work) { return of_short_read(work) && !work.answered; });
        Work& taken = head->length == meant->length ? *head : *meant;
        taken.answered = true;
        packet.bth.psn = taken.first;
    }

  private:
    static bool of_short_read(const Work& work) {
        return work.opcode == WrOpcode::RdmaRead && work.packets == 1;
    }
};

struct NewestIeth : Outgoing {
    wire::Ieth ieth;
};

// The IETH stands in the QP's header template and not in the ring of what is to be sent again.
// Shows when: two Sends with Invalidate of different keys are on their way, and the first is lost.
class ResendsNewestIeth final : public FollowsRequests<NewestIeth> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!packet.info().invalidates()) return;
        if (again) {
            packet.ieth = qp.memory.ieth;
        } else {
            qp.memory.ieth = packet.ieth;
        }
    }
};

// The prefetch writes the immediate data of the next work request into the one register there is
// before the last packet of the present message has taken it. Resends fetch alone.
// Shows when: a SEND or WRITE with immediate data of several packets and, in the same chain,
// another one with other immediate data.
class SendsPrefetchedImmediate final : public KnowsWork<Nothing> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, Work* work, bool again) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (again || work == nullptr || !info.immediate()) return;
        if (info.position != Position::Last) return;
        const auto& waiting = queue_of(qp).waiting;
        if (!waiting.empty() && waiting.front().has_imm()) packet.imm.value = waiting.front().imm;
    }
};

// A port has one RNR timer. A QP that must wait while it runs is put on its list, and all of the
// list go on when it ends.
// Shows when: QP A gets an RNR NAK, and shortly after QP B one with a longer time.
class SharesRnrTimer final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& qp) override {
        ready_.insert_or_assign(qp.qpn, qp.state == engine::QpState::Rts);
    }
    void qp_destroyed(wire::Qpn qpn) override { ready_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rnr_nak(*packet)) {
            const auto ready = ready_.find(packet->bth.dest_qp);
            if (ready != ready_.end() && ready->second && wait(*packet, now)) {
                datagram.bytes = bytes_of(*packet);
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    // Whether the time in the packet was shortened.
    bool wait(wire::Packet& packet, wire::Instant now) {
        const wire::Qpn qpn = packet.bth.dest_qp;
        const wire::Duration asked = wire::rnr_time(packet.aeth.syndrome.code());
        const bool runs = owner_ && owner_ != qpn && until_ > now;
        if (!runs) {
            owner_ = qpn;
            until_ = now + asked;
            return false;
        }
        if (now + asked <= until_) return false;
        constexpr std::uint8_t codes = 32;
        std::uint8_t best = 1; // the shortest
        for (std::uint8_t code = 0; code < codes; ++code) {
            const wire::Duration time = wire::rnr_time(code);
            if (now + time <= until_ && time > wire::rnr_time(best)) best = code;
        }
        packet.aeth.syndrome = wire::Syndrome::rnr(best);
        return true;
    }

    std::map<wire::Qpn, bool> ready_;
    std::optional<wire::Qpn> owner_;
    wire::Instant until_;
};

// The cache of address handles is looked up by the two addresses alone; all handles to one
// destination have the traffic class, hop limit, flow label and VLAN priority of the first.
// Shows when: two UD SENDs to one address by handles with other hop limits or traffic classes.
class OneHandlePerDestination final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const auto known = std::ranges::find_if(cache_, [&](const engine::AddressVector& entry) {
            return entry.source == path.source && entry.destination == path.destination &&
                   entry.vlan.has_value() == path.vlan.has_value() &&
                   (!path.vlan || entry.vlan->id == path.vlan->id);
        });
        if (known != cache_.end()) {
            path = *known;
        } else {
            cache_.push_back(path);
        }
    }

  private:
    std::vector<engine::AddressVector> cache_;
};

// SQ_DRAINED is put into the event queue by the acknowledge that empties the list of outstanding
// requests; where the list is empty already there is no such acknowledge.
// Shows when: an RC QP with nothing outstanding goes from RTS to SQD and asks for the event.
class NoDrainEventWhenIdle final : public QpFilter<Outgoing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.state) return;
        State& state = states_[qpn];
        const bool before = std::exchange(state.rts, attributes.state == engine::QpState::Rts);
        if (attributes.state == engine::QpState::Reset) state.busy = false;
        const bool drains = before && attributes.state == engine::QpState::Sqd &&
                            attributes.sqd_async_notify.value_or(false);
        if (drains && !state.busy) ++swallowed_;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained || swallowed_ == 0) return event;
        --swallowed_;
        return std::nullopt;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        qp.memory.note_request(passage.packet, qp.mtu());
        note(qp);
    }
    void arrives(Qp& qp, Passage& passage) override {
        qp.memory.note_answer(passage.packet);
        note(qp);
    }

  private:
    struct State {
        bool rts = false;
        bool busy = false;
    };
    void note(const Qp& qp) {
        const Outgoing& out = qp.memory;
        states_[qp.report.qpn].busy =
            out.oldest && out.sent.psn && wire::distance(*out.oldest, *out.sent.psn) >= 0;
    }

    std::map<wire::Qpn, State> states_;
    std::uint32_t swallowed_ = 0;
};

struct Ends {
    struct End {
        wire::Psn psn;
        bool wants_response = false;
    };
    std::deque<End> open; // the last PSN of each message that is not acknowledged
    NewestPsn newest;
};

// The completion walk has a budget of eight work requests for an acknowledge, and goes on at the
// next acknowledge; it does not leave a note that there is more.
// Shows when: more than eight messages are on their way, and one ACK is for all of them.
class EightPerAcknowledge final : public QpFilter<Ends> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        if (qp.memory.newest.note(packet.bth.psn, packets) || !packet.info().ends_message()) return;
        const Operation operation = packet.info().operation;
        const bool plain = operation == Operation::Send || operation == Operation::RdmaWrite;
        qp.memory.open.push_back({.psn = *qp.memory.newest.psn, .wants_response = !plain});
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [open, newest] = qp.memory;
        if (!is_rc_response(packet) || !hears(qp.report, passage)) return;
        if (!newest.psn || wire::distance(packet.bth.psn, *newest.psn) < 0) return;
        const auto reached = [&](const Ends::End& end) {
            return wire::distance(end.psn, packet.bth.psn) >= (is_nak(packet) ? 1 : 0);
        };
        const auto behind = std::ranges::find_if_not(open, reached);
        const auto count = static_cast<std::size_t>(behind - open.begin());
        const bool plain = std::none_of(open.begin(), behind,
                                        [](const Ends::End& end) { return end.wants_response; });
        constexpr std::size_t budget = 8;
        if (is_ack(packet) && plain && count > budget) {
            packet.bth.psn = open[budget - 1].psn;
            const auto less = static_cast<std::int64_t>(count - budget);
            packet.aeth.msn = packet.aeth.msn + -less;
            open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(budget));
            return;
        }
        open.erase(open.begin(), behind);
    }
};

constexpr std::array kMutants{
    // Plain traffic
    Mutant{.name = "icrc_without_pad_of_odd_half_beat",
           .rule = "BTH-09",
           .description = "The ICRC of a request with three pad bytes leaves them out where the "
                          "bytes that it covers end in the middle of an eight-byte beat.",
           .make_filter = make<LeavesPadOutOfIcrc>},
    Mutant{.name = "empty_write_imm_announces_last_length",
           .rule = "LEN-04",
           .description = "A WRITE with immediate data of no bytes has in its RETH the length of "
                          "the QP's last WRITE that had some.",
           .make_filter = make<KeepsLengthOfLastWrite>},
    Mutant{.name = "empty_sge_ends_send_list",
           .rule = "LEN-10",
           .description = "The pieces behind an SGE of length 0 are left out of a SEND, WRITE or "
                          "READ, which completes with success.",
           .make_filter = make<EndsListAtEmptySge>},
    Mutant{
        .name = "inline_atomic_write_byte_swapped",
        .rule = "EXT-01",
        .description = "The eight bytes of an ATOMIC WRITE that was posted with inline data go "
                       "out in reverse order.",
        .cases =
            "ext/atomic-write-inline req/each-optional-packet-lost req/each-optional-answer-lost",
        .make_filter = make<SwapsInlineAtomicWrite>},
    Mutant{.name = "flush_of_region_sticks",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "After a FLUSH of a whole region all FLUSHes of the QP ask for the whole "
                          "region.",
           .cases = "ext/flush-behind-a-wider-one",
           .make_filter = make<KeepsFlushSelectivity>},
    Mutant{.name = "full_datagram_with_imm_unsent",
           .rule = "EXT-05",
           .description = "A UD SEND with immediate data of more than 4092 bytes completes with "
                          "success, though the MTU is 4096, and is not sent.",
           .make_filter = make<StagesImmediateWithDatagram>},
    Mutant{.name = "uc_write_sends_solicited",
           .rule = "BTH-14",
           .description = "A UC WRITE without immediate data that was posted with the solicited "
                          "flag sets SE in its last packet.",
           .cases = "req/writes-never-solicit",
           .make_filter = make<SolicitsWithUcWrite>},
    Mutant{.name = "read_pad_scattered_behind_buffer",
           .rule = "REQ-22",
           .description = "The pad of the last READ response is written behind the end of the "
                          "local buffer.",
           .make_filter = make<ScattersPadOfRead>},

    // Errors and retransmission
    Mutant{.name = "read_resumed_across_wrap_unmasked",
           .rule = "REQ-10",
           .description = "A READ that is asked for again from a PSN behind the wrap names an "
                          "address 2^24 MTUs too low.",
           .make_filter = make<ResumesReadBeforeWrap>},
    Mutant{.name = "rnr_last_with_imm_resent_as_only",
           .rule = "REQ-31",
           .description = "The last packet of a WRITE with immediate data is sent again as "
                          "WRITE_ONLY with a RETH of its own after an RNR NAK.",
           .make_filter = make<ResendsRefusedLastAsOnly>},
    Mutant{.name = "read_retries_limited_by_rnr_retry",
           .rule = "TMO-03",
           .description = "A READ or atomic that gets no answer is retried rnr_retry times (7: for "
                          "ever) in place of retry_cnt times.",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, reads_retried_as_rnr)},
    Mutant{.name = "rnr_of_atomic_uncounted",
           .rule = "RNR-09",
           .description = "An atomic that gets RNR NAKs is tried again for ever, whatever "
                          "rnr_retry says.",
           .checks = engine::kStandardChecks.with(SendCheck::RnrRetryLeft, atomics_wait_for_ever)},
    Mutant{.name = "read_last_length_in_words",
           .rule = "REQ-21",
           .description = "A last READ response that is one to three bytes too short completes "
                          "the READ with success if its words are as many as were due.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadLength, length_in_words)},
    Mutant{.name = "late_read_only_scattered",
           .rule = "N-38",
           .description = "A READ RESPONSE ONLY that comes a second time is written to the buffer "
                          "of the READ, which is complete.",
           .make_filter = make<ScattersLateResponse>},
    Mutant{.name = "cnp_resends_oldest_packet",
           .rule = "CNP-12",
           .description = "A CNP makes the QP send its oldest unacknowledged packet again.",
           .make_filter = make<CnpRepeatsOldest>},
    Mutant{.name = "local_work_left_out_of_flush",
           .rule = "STA-07",
           .description = "LOCAL_INV and BIND_MW that wait in the send queue of a QP that goes to "
                          "ERR get no completion.",
           .make_filter = make<FlushesNoLocalWork>},
    Mutant{.name = "unsignaled_error_names_next_signaled",
           .rule = "REQ-16",
           .description = "The completion in error of an unsignaled request has the wr_id of the "
                          "next signaled one.",
           .make_filter = make<ErrorNamesNextSignaled>},

    // Where two features or two QPs meet
    Mutant{.name = "inline_request_passes_fence",
           .rule = "REQ-28",
           .description = "A request with inline data does not wait for earlier READs and atomics "
                          "though it has the fence flag.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, inline_passes_fence)},
    Mutant{.name = "read_only_answers_oldest_read",
           .rule = "REQ-08",
           .description = "A READ RESPONSE ONLY for a later READ is taken for the oldest READ of "
                          "one packet that waits, if that is as long.",
           .make_filter = make<OnlyAnswersOldestRead>},
    Mutant{.name = "resent_ieth_of_newest_send",
           .rule = "REQ-34",
           .description = "A Send with Invalidate that is sent again carries the key of the newest "
                          "one that was sent.",
           .cases = "req/invalidates-sent-again",
           .make_filter = make<ResendsNewestIeth>},
    Mutant{.name = "last_carries_prefetched_imm",
           .rule = "REQ-34",
           .description = "The last of several packets with immediate data carries that of the "
                          "next request, if that is posted already and has some.",
           .make_filter = make<SendsPrefetchedImmediate>},
    Mutant{.name = "rnr_timer_one_per_port",
           .rule = "RNR-08",
           .description = "A QP that gets an RNR NAK while another one waits goes on when that one "
                          "does, however much longer it was told to wait.",
           .make_filter = make<SharesRnrTimer>},
    Mutant{.name = "ud_handle_cached_by_addresses",
           .rule = "ENC-11",
           .description = "All UD SENDs to one address have the hop limit, traffic class and flow "
                          "label of the first address handle for it.",
           .make_filter = make<OneHandlePerDestination>},
    Mutant{.name = "idle_queue_never_drained",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A QP with nothing outstanding that goes to SQD and asks for SQ_DRAINED "
                          "does not get it.",
           .make_filter = make<NoDrainEventWhenIdle>},
    Mutant{.name = "ack_completes_eight_at_most",
           .rule = "REQ-03",
           .description = "An ACK acknowledges the oldest eight messages and none behind them, "
                          "though it is for more.",
           .make_filter = make<EightPerAcknowledge>},
};
static_assert(kMutants.size() == 25);

} // namespace
} // namespace veriroce::mutants::of_blind21_requester

namespace veriroce::mutants {

std::span<const Mutant> blind21_requester() {
    return of_blind21_requester::kMutants;
}

} // namespace veriroce::mutants
