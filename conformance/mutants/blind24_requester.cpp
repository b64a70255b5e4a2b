// Defects of the requester, written blind. Three devices are meant:
//  - An adapter whose requester is microcode on a few small cores: the context of a QP lies in a
//    cache on the chip, the doorbell has a fast path for inline data, and each patch of the
//    firmware takes a shortcut that the next one trips over.
//  - An FPGA core: a pipeline over words of the bus, with a buffer of headers that are sent again,
//    adders as narrow as the first customer needed them, and tables of a fixed size.
//  - A stack in user space that polls one port with its own threads: RC, UC and UD share the code
//    that posts, completes and flushes, and what is slow to look up is kept from the last time.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind24_requester {
namespace {

using engine::WrOpcode;
using wire::Operation;

bool is_send_or_write(const wire::Packet& packet) {
    return is_rc_request(packet) && (packet.info().operation == Operation::Send ||
                                     packet.info().operation == Operation::RdmaWrite);
}

bool sends_data(WrOpcode opcode) {
    const Operation operation = operation_of(opcode);
    return operation == Operation::Send || operation == Operation::RdmaWrite;
}

// A datagram of a UD QP of the host.
bool is_datagram(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.headers.has(wire::Header::Deth) &&
           packet.deth.source_qp.value != 1;
}

// --- resends

struct ReadAddresses {
    std::map<std::uint32_t, std::uint64_t> first; // asked for at first, by the READ's last PSN
};

// REQ-09: the adder that moves the address of a READ has 32 bits.
// Shows when: a response is lost of a READ whose remote range crosses a multiple of 4 GiB, and what
// is missing lies behind that.
class ContinuesWithoutCarry final : public QpFilter<ReadAddresses> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
        std::uint64_t& address = packet.reth.virtual_address;
        const auto known = qp.memory.first.try_emplace(last.value(), address).first;
        address = (known->second & ~low) | (address & low);
    }
};

// REQ-31: the operands of a CMP_SWAP come back out of the buffer over one register.
// Shows when: a CMP_SWAP whose operands differ is sent again.
class ResendsSwapAsCompare final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (!again || packet.info().operation != Operation::CompareSwap) return;
        packet.atomic.compare = packet.atomic.swap_or_add;
    }
};

// N-05: the tag is put in where work requests are fetched, which a resend does not pass.
// Shows when: a SEND or WRITE packet of a QP with a VLAN is sent again.
class ResendsUntagged final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state != engine::QpState::Rtr || !report.attributes.dest_qp) return;
        sent_.erase(*report.attributes.dest_qp);
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool meant = packet && is_send_or_write(*packet);
        if (meant && sent_[packet->bth.dest_qp].note(packet->bth.psn)) {
            datagram.envelope.vlan.reset();
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, NewestPsn> sent_; // by the peer's QP
};

// REQ-31: inline data of 33 to 64 bytes does not fit into the doorbell; the device reads it
// from the host's buffer as it reads all other data.
// Shows when: the host overwrites the buffer of such an inline request before the request is sent,
// or before it is sent again.
class ReadsLongInlineLate final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr std::uint64_t doorbell = 32;
        constexpr std::uint64_t most = 64; // what is longer the QP may have to refuse
        std::uint64_t length = 0;
        if (!sends_data(request.opcode)) return;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        if (length > doorbell && length <= most) request.flags.inline_data = false;
    }
};

// --- answers

struct OpenMessages {
    NewestPsn sent;
    std::deque<wire::Psn> ends; // of SENDs and WRITEs that are not acknowledged

    // How many of them end at this PSN or before it.
    [[nodiscard]] std::size_t until(wire::Psn psn) const {
        const auto behind = std::ranges::find_if(
            ends, [psn](wire::Psn end) { return wire::distance(psn, end) > 0; });
        return static_cast<std::size_t>(behind - ends.begin());
    }
    void forget(std::size_t count) {
        ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(count));
    }
};

// REQ-03: the loop that completes requests gives up its core after eight and is not woken.
// Shows when: one ACK covers more than eight messages: the others wait for a timeout.
class CompletesEight final : public QpFilter<OpenMessages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        if (qp.memory.sent.note(packet.bth.psn, packets)) return;
        if (is_send_or_write(packet) && packet.info().ends_message()) {
            qp.memory.ends.push_back(packet.bth.psn);
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t most = 8;
        wire::Packet& packet = passage.packet;
        OpenMessages& open = qp.memory;
        if (!is_rc_response(packet) || !open.sent.psn) return;
        if (wire::distance(packet.bth.psn, *open.sent.psn) < 0) return; // never sent: REQ-07
        if (!is_ack(packet)) {
            open.forget(open.until(packet.bth.psn - 1));
            return;
        }
        const std::size_t covered = open.until(packet.bth.psn);
        if (covered > most) packet.bth.psn = open.ends[most - 1];
        open.forget(std::min(covered, most));
    }
};

// REQ-11: PSN 0 in the register of the NAK means that there is none.
// Shows when: a sequence NAK names PSN 0, as after the wrap: the resend waits for the timer.
bool nak_of_psn_zero(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_rc_response(*packet) && is_sequence_nak(*packet) &&
           packet->bth.psn.value() == 0;
}

struct Psns {
    std::set<std::uint32_t> marked;

    void mark(wire::Psn psn, bool wanted) {
        if (wanted) {
            marked.insert(psn.value());
        } else {
            marked.erase(psn.value());
        }
    }
    [[nodiscard]] bool has(wire::Psn psn) const { return marked.contains(psn.value()); }
};

// RNR-15: who wrote it knew that READs take no receives; any refusal of one is a gap.
// Shows when: a READ draws an RNR NAK: it is repeated at once, and uses up retry_cnt.
class RepeatsReadAtOnce final : public QpFilter<Psns> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet)) return;
        qp.memory.mark(passage.packet.bth.psn, is_read_request(passage.packet));
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || !qp.memory.has(packet.bth.psn)) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    }
};

// RNR-08: the table of waits has only the even codes; the odd ones between them are rounded down.
// Shows when: an RNR NAK has an odd code above 1: the request comes again too early.
void even_rnr_code(wire::Packet& packet) {
    if (!is_rnr_nak(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code < 3 || code % 2 == 0) return;
    packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(code - 1));
}

// ATM-01: a FETCH_ADD of a small number takes the way of the 32 bit adder, its result as well.
// Shows when: the addend is below 2^32, and the value that the peer returns is not.
class ReturnsLowHalf final : public QpFilter<Psns> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const bool small =
            packet.info().operation == Operation::FetchAdd && packet.atomic.swap_or_add >> 32 == 0;
        qp.memory.mark(packet.bth.psn, small);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        if (qp.memory.has(packet.bth.psn)) packet.atomic_ack.original &= 0xFFFFFFFF;
    }
};

// --- what the requester may send

// N-10: one routine counts all that goes wrong, and both limits ask it.
// Shows when: timeouts come before RNR NAKs without progress between them, and rnr_retry is not 7.
bool rnr_retry_counts_all(const engine::SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    return view.connection.rnr_retry == for_ever ||
           view.outbound.rnr_retries + view.outbound.retries < view.connection.rnr_retry;
}

// REQ-28: the fast path of the doorbell sends at once.
// Shows when: a fenced request with inline data follows a READ or atomic that is not answered.
bool fence_of_slow_path(const engine::SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

// REQ-27: what is sent again gives its slot back first, and takes none.
// Shows when: max_rd_atomic READs or atomics are open, others are posted, and a timeout comes.
bool one_read_more_after_retry(const engine::SendView& view) {
    return engine::send_check::rd_atomic(view) ||
           (view.outbound.retries > 0 &&
            view.outbound.outstanding_rd_atomic == view.connection.max_rd_atomic);
}

// N-18: the send buffer holds 32 packets, and only the end of a message asks for an ACK.
// Shows when: a message has more than 32 packets, and the peer acknowledges only what asks for it.
void ack_request_only_at_the_end(wire::Packet& packet) {
    if (is_send_or_write(packet) && !packet.info().ends_message()) packet.bth.ack_request = false;
}

// --- attributes and states

// What the host asked for and the device did not take, as a query tells it.
class Asked {
  public:
    void note(wire::Qpn qpn, std::uint8_t value) { asked_.insert_or_assign(qpn, value); }
    void forget(wire::Qpn qpn) { asked_.erase(qpn); }
    void tell(wire::Qpn qpn, std::optional<std::uint8_t>& reported) const {
        const auto asked = asked_.find(qpn);
        if (asked != asked_.end()) reported = asked->second;
    }

  private:
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// TMO-03: the context keeps the retry count of the connection that the QP had first.
// Shows when: a QP is reset and set up again with another retry count.
class KeepsRetryCount final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t most = 7;
        if (attributes.state != engine::QpState::Rts) return;
        if (attributes.retry_count.value_or(most + 1) > most) return; // none, or to be refused
        asked_.note(qpn, *attributes.retry_count);
        attributes.retry_count = first_.try_emplace(qpn, *attributes.retry_count).first->second;
    }
    void queried(engine::QpReport& report) override {
        asked_.tell(report.qpn, report.attributes.retry_count);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) asked_.forget(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        first_.erase(qpn);
        asked_.forget(qpn);
    }

  private:
    std::map<wire::Qpn, std::uint8_t> first_;
    Asked asked_;
};

// N-25: the timer wheel takes its interval over once, when the QP comes to RTS.
// Shows when: the timeout is changed in SQD, and after the return to RTS an ACK does not come.
class KeepsTimeoutInSqd final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t most = 31;
        const bool stays = attributes.state.value_or(engine::QpState::Sqd) == engine::QpState::Sqd;
        if (!drained_.contains(qpn) || !stays) return;
        if (attributes.timeout.value_or(most + 1) > most) return; // none, or to be refused
        asked_.note(qpn, *attributes.timeout);
        attributes.timeout.reset();
    }
    void queried(engine::QpReport& report) override {
        asked_.tell(report.qpn, report.attributes.timeout);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) asked_.forget(report.qpn);
        if (report.state == engine::QpState::Sqd) {
            drained_.insert(report.qpn);
        } else {
            drained_.erase(report.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override {
        drained_.erase(qpn);
        asked_.forget(qpn);
    }

  private:
    std::set<wire::Qpn> drained_;
    Asked asked_;
};

// STA-06: the bit that says that the event was raised is never cleared.
// Shows when: a QP goes to SQD for the second time and asks for the event again.
class DrainsOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool again = event.type == engine::EventType::SqDrained && event.qp &&
                           !raised_.insert(*event.qp).second;
        return again ? std::nullopt : std::optional(event);
    }

  private:
    std::set<engine::QpId> raised_;
};

// --- completions and flushes

// REQ-16: where a request is not signaled no completion is written, whatever became of it.
// Shows when: an unsignaled request fails: by a fatal NAK, a retry count or a local key.
class HidesUnsignaledFailures final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.flags.signaled) {
            silent_.erase(request.id);
        } else {
            silent_.insert(request.id);
        }
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        const bool failed = one.queue == engine::Queue::Send &&
                            one.status != engine::WcStatus::Success &&
                            one.status != engine::WcStatus::WrFlushErr;
        if (failed && silent_.contains(one.id)) return std::nullopt;
        return one;
    }

  private:
    std::set<std::uint64_t> silent_; // ids
};

// STA-07: the library ends what is posted too late by itself, with the code of any other fault.
// Shows when: the host takes a QP to ERR and posts a send afterwards.
class LatePostsFailOtherwise final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Err) {
            dead_.insert(report.qpn);
        } else {
            dead_.erase(report.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { dead_.erase(qpn); }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (dead_.contains(qpn)) {
            late_.insert(request.id);
        } else {
            late_.erase(request.id);
        }
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        const bool flushed =
            one.queue == engine::Queue::Send && one.status == engine::WcStatus::WrFlushErr;
        if (flushed && late_.erase(one.id) > 0) shown.status = engine::WcStatus::GeneralErr;
        return shown;
    }

  private:
    std::set<wire::Qpn> dead_;
    std::set<std::uint64_t> late_; // ids
};

// STA-07: the flush stops at the end of the block of sixteen requests that it has fetched.
// Shows when: more than sixteen sends are open when a QP goes to ERR.
class FlushesSixteen final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Rts) flushed_.clear();
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        constexpr std::uint32_t block = 16;
        if (one.queue != engine::Queue::Send) return one;
        std::uint32_t& flushed = flushed_[one.qp];
        if (one.status != engine::WcStatus::WrFlushErr) {
            flushed = 0;
            return one;
        }
        if (++flushed > block) return std::nullopt;
        return one;
    }

  private:
    std::map<engine::QpId, std::uint32_t> flushed_; // since the last other completion
};

// REQ-03: what is done without a packet always tells.
// Shows when: an unsignaled LOCAL_INV succeeds.
class LocalInvAlwaysTells final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == WrOpcode::LocalInv) request.flags.signaled = true;
    }
};

// --- local memory, keys and windows

// REQ-22: the DMA engine goes on to a further piece at a word of four bytes.
// Shows when: a READ has several SGEs, and one behind the first has an address that is no multiple
// of four.
class ScattersAtWords final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr std::uint64_t within_word = 3;
        if (request.opcode != WrOpcode::RdmaRead || request.sges.size() < 2) return;
        sges_.assign(request.sges.begin(), request.sges.end());
        for (std::size_t i = 1; i < sges_.size(); ++i)
            sges_[i].address &= ~within_word;
        request.sges = sges_;
    }

  private:
    std::vector<engine::Sge> sges_;
};

// Where the data of a READ ends in the host's memory.
struct Tail {
    wire::Rkey key; // a region has one key, local and remote
    std::uint64_t behind = 0;
};

struct Tails {
    std::map<std::uint32_t, Tail> by_last; // PSN of the READ
};

// REQ-22: the last word of a READ is written whole, its pad bytes too.
// Shows when: a READ has a length that is no multiple of four, and the bytes behind its last piece,
// in the same region, are not zero.
class WritesPadBehindRead final : public DmaFilter<Tails> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::RdmaRead || request.sges.empty()) return;
        std::uint64_t length = 0;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        const engine::Sge& last = request.sges.back();
        posted_.insert_or_assign(
            Range{qpn, request.rkey, request.remote_address, length},
            Tail{.key = {last.lkey.value}, .behind = last.address + last.length});
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const wire::Reth& reth = packet.reth;
        const auto tail =
            posted_.find(Range{qp.report.qpn, reth.rkey, reth.virtual_address, reth.dma_length});
        if (tail == posted_.end()) return;
        const std::uint32_t packets = wire::packets_of(reth.dma_length, qp.mtu());
        const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
        qp.memory.by_last.insert_or_assign(last.value(), tail->second);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const std::size_t pad = packet.bth.pad;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        if (pad == 0 || packet.pad_exceeds_body()) return;
        const auto tail = qp.memory.by_last.find(packet.bth.psn.value());
        if (tail == qp.memory.by_last.end()) return;
        const wire::MutableBytes behind = regions().at(tail->second.key, tail->second.behind, pad);
        if (!behind.empty()) std::ranges::copy(packet.body.last(pad), behind.begin());
        qp.memory.by_last.erase(tail);
    }

  private:
    using Range = std::tuple<wire::Qpn, wire::Rkey, std::uint64_t, std::uint64_t>;
    std::map<Range, Tail> posted_;
};

// N-22: the variant byte of a local key is not compared where data is fetched.
// Shows when: a SEND or WRITE names a live region by a key whose lowest byte is wrong, such as the
// key of an older region whose place it has.
class FetchesByIndexAlone final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        live_.insert_or_assign(region.rkey.value >> 8, Live{region.mr, region.rkey.value});
    }
    void region_deregistered(engine::MrId mr) override {
        std::erase_if(live_, [mr](const auto& entry) { return entry.second.mr == mr; });
    }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (!sends_data(request.opcode) || request.flags.inline_data) return;
        sges_.assign(request.sges.begin(), request.sges.end());
        for (engine::Sge& sge : sges_) {
            const auto found = live_.find(sge.lkey.value >> 8);
            if (found != live_.end()) sge.lkey = {found->second.key};
        }
        request.sges = sges_;
    }

  private:
    struct Live {
        engine::MrId mr;
        std::uint32_t key = 0;
    };
    std::map<std::uint32_t, Live> live_; // by the index in the key
    std::vector<engine::Sge> sges_;
};

// KEY-09: a window's entry in the table gets its rights when it is written first.
// Shows when: a window of type 2 is bound a second time with other rights.
class KeepsFirstRights final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::BindMw || !request.mw || !request.bind) return;
        wire::Access& asked = request.bind->access;
        const bool zero_based = asked.zero_based;
        asked = rights_.try_emplace(*request.mw, asked).first->second;
        asked.zero_based = zero_based;
    }

  private:
    std::map<engine::MwId, wire::Access> rights_;
};

// --- UC and UD

struct UcMessages {
    std::optional<wire::Psn> next; // of the next message
    wire::Psn first;               // of this one
    std::int64_t sent = 0;         // packets of this one
};

// REQ-01: UC takes the PSN out of the counter of messages, and counts on inside them.
// Shows when: a UC message of several packets is followed by another message.
class CountsUcMessages final : public QpFilter<UcMessages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        UcMessages& memory = qp.memory;
        if (packet.info().service != wire::Service::Uc) return;
        if (packet.info().starts_message()) {
            memory.first = memory.next.value_or(packet.bth.psn);
            memory.sent = 0;
        }
        packet.bth.psn = memory.first + memory.sent++;
        if (packet.info().ends_message()) memory.next = memory.first + 1;
    }
};

// EXT-05: the longer header moves the Q_Key out of the word that is filled in.
// Shows when: a UD QP sends a datagram with immediate data after one with another Q_Key.
class TakesLastQkey final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_datagram(*packet)) {
            const wire::Qkey wanted = packet->deth.qkey;
            const auto last = last_.try_emplace(packet->deth.source_qp, wanted).first;
            if (packet->info().immediate()) packet->deth.qkey = last->second;
            last->second = wanted;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }
    void qp_destroyed(wire::Qpn qpn) override { last_.erase(qpn); }

  private:
    std::map<wire::Qpn, wire::Qkey> last_; // by the QP that sends
};

// CA17-4, CA17-13: the header that was made for a destination is used for each further datagram.
// Shows when: a UD QP sends to one QP by two address handles of different traffic classes.
class KeepsFirstClass final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_datagram(*packet)) {
            const std::pair way{packet->deth.source_qp, packet->bth.dest_qp};
            std::uint8_t& dscp = datagram.envelope.dscp;
            dscp = first_.try_emplace(way, dscp).first->second;
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) qp_destroyed(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        std::erase_if(first_, [qpn](const auto& entry) { return entry.first.first == qpn; });
    }

  private:
    std::map<std::pair<wire::Qpn, wire::Qpn>, std::uint8_t> first_; // by sender and receiver
};

constexpr std::array kMutants{
    Mutant{.name = "read_goes_on_without_carry",
           .rule = "REQ-09",
           .description = "A READ that goes on behind a lost response past a multiple of 4 GiB "
                          "names an address 4 GiB too low.",
           .make_filter = make<ContinuesWithoutCarry>},
    Mutant{.name = "resend_brings_newest_immediate",
           .rule = "REQ-34",
           .description = "A packet that is sent again brings the immediate data of the newest "
                          "message that has any.",
           .make_filter = make<ResendsNewestImmediate>},
    Mutant{.name = "resent_swap_compares_with_its_new_value",
           .rule = "REQ-31",
           .description = "A CMP_SWAP that is sent again has its swap operand in both fields.",
           .make_filter = make<ResendsSwapAsCompare>},
    Mutant{.name = "resend_leaves_without_its_vlan_tag",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "SEND and WRITE packets that are sent again have no VLAN tag.",
           .make_filter = make<ResendsUntagged>},
    Mutant{.name = "inline_of_33_bytes_read_when_sent",
           .rule = "REQ-31",
           .description = "Inline data of 33 to 64 bytes is read whenever it is sent, not "
                          "when it is posted.",
           .make_filter = make<ReadsLongInlineLate>},
    Mutant{.name = "one_ack_completes_eight_at_most",
           .rule = "REQ-03",
           .description = "An ACK for more than eight messages completes eight of them.",
           .make_filter = make<CompletesEight>},
    Mutant{.name = "nak_of_psn_zero_not_seen",
           .rule = "REQ-11",
           .description = "A sequence NAK with PSN 0 is ignored.",
           .make_filter = make<DropsInbound<nak_of_psn_zero>>},
    Mutant{.name = "rnr_of_a_read_taken_for_a_gap",
           .rule = "RNR-15",
           .description = "A READ that draws an RNR NAK is repeated at once.",
           .make_filter = make<RepeatsReadAtOnce>},
    Mutant{.name = "rnr_wait_of_odd_code_rounded_down",
           .rule = "RNR-08",
           .description = "After an RNR NAK with an odd timer code the requester waits as the "
                          "even code below it asks.",
           .make_filter = make<EditsInbound<even_rnr_code>>},
    Mutant{.name = "small_addend_returns_low_half",
           .rule = "ATM-01",
           .description = "A FETCH_ADD of less than 2^32 gives the host only the low 32 bits of "
                          "the original value.",
           .make_filter = make<ReturnsLowHalf>},
    Mutant{.name = "timeouts_use_up_rnr_tries",
           .rule = "N-10",
           .description = "Timeouts since the last progress count as RNR tries as well.",
           .checks =
               engine::kStandardChecks.with(engine::SendCheck::RnrRetryLeft, rnr_retry_counts_all)},
    Mutant{.name = "fence_not_kept_by_inline_requests",
           .rule = "REQ-28",
           .description = "Fenced requests with inline data do not wait for READs and atomics.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::Fence, fence_of_slow_path)},
    Mutant{.name = "one_open_read_too_many_after_retry",
           .rule = "REQ-27",
           .description = "While a retry has brought no progress, one READ or atomic more than "
                          "max_rd_atomic is open.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::RdAtomic,
                                                  one_read_more_after_retry)},
    Mutant{.name = "full_window_does_not_ask_for_ack",
           .rule = "N-18",
           .description = "The requester stops after 32 packets, none of which asked for an "
                          "acknowledgement.",
           .behaviour = {.max_unacked_packets = 32},
           .make_filter = make<EditsOutbound<ack_request_only_at_the_end>>},
    Mutant{.name = "retry_count_of_the_connection_before",
           .rule = "TMO-03",
           .description = "A QP that was reset goes on with the retry count that it had first.",
           .make_filter = make<KeepsRetryCount>},
    Mutant{.name = "timeout_set_in_sqd_not_used",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A timeout that is set in SQD is reported, and the old one used.",
           .make_filter = make<KeepsTimeoutInSqd>},
    Mutant{.name = "second_drain_raises_no_event",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is raised once in the life of a QP.",
           .make_filter = make<DrainsOnce>},
    Mutant{.name = "failure_of_unsignaled_not_told",
           .rule = "REQ-16",
           .description = "An unsignaled request that fails has no completion; the ones behind it "
                          "are flushed.",
           .make_filter = make<HidesUnsignaledFailures>},
    Mutant{.name = "post_in_err_ends_in_general_error",
           .rule = "STA-07",
           .description = "Sends that are posted in ERR complete with GENERAL_ERR.",
           .make_filter = make<LatePostsFailOtherwise>},
    Mutant{.name = "flush_ends_after_sixteen_sends",
           .rule = "STA-07",
           .description = "Of the sends that a QP must flush the first sixteen complete.",
           .make_filter = make<FlushesSixteen>},
    Mutant{.name = "unsignaled_local_inv_completes",
           .rule = "REQ-03",
           .description = "An unsignaled LOCAL_INV completes as a signaled one does.",
           .make_filter = make<LocalInvAlwaysTells>},
    Mutant{.name = "read_pieces_begin_at_whole_words",
           .rule = "REQ-22",
           .description = "READ data for a second or later SGE lies up to three bytes in front of "
                          "it.",
           .make_filter = make<ScattersAtWords>},
    Mutant{.name = "pad_of_a_read_written_behind_it",
           .rule = "REQ-22",
           .description = "The pad bytes of a READ response are written behind its data.",
           .cases = "req/read-pad-not-written",
           .make_filter = make<WritesPadBehindRead>},
    Mutant{.name = "lkey_variant_not_compared_by_sends",
           .rule = "N-22",
           .description = "SENDs and WRITEs take a local key whose lowest byte is wrong.",
           .cases = "n/local-key-of-another-variant",
           .make_filter = make<FetchesByIndexAlone>},
    Mutant{.name = "rebound_window_keeps_first_rights",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A window that is bound again has the rights of its first bind.",
           .cases = "key/window-type-2-other-rights",
           .make_filter = make<KeepsFirstRights>},
    Mutant{.name = "uc_psn_counts_messages",
           .rule = "REQ-01",
           .description = "A UC message begins one PSN behind the first packet of the message "
                          "before it.",
           .cases = "ext/unreliable-across-every-power",
           .make_filter = make<CountsUcMessages>},
    Mutant{.name = "ud_immediate_leaves_with_last_qkey",
           .rule = "EXT-05",
           .description = "A datagram with immediate data has the Q_Key of the datagram before it.",
           .cases = "ext/queue-key-of-each-datagram",
           .make_filter = make<TakesLastQkey>},
    Mutant{.name = "ud_class_of_first_datagram",
           .rule = "CA17-4",
           .description = "Datagrams to one QP all have the DSCP of the first one.",
           .make_filter = make<KeepsFirstClass>},
};

} // namespace
} // namespace veriroce::mutants::of_blind24_requester

namespace veriroce::mutants {

std::span<const Mutant> blind24_requester() {
    return of_blind24_requester::kMutants;
}

} // namespace veriroce::mutants
