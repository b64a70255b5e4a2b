// Defects of responders, written without a look at the cases.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/grh.hpp"

namespace veriroce::mutants::of_blind15_responder {
namespace {

using engine::DatagramCheck;
using engine::DatagramView;
using engine::PacketCheck;
using engine::PacketView;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;
namespace right = engine::request_check;

// Whether a request needs a receive at its end.
bool ends_in_receive(const wire::OpcodeInfo& info) {
    return info.consumes_receive() && info.ends_message();
}

// --- plain traffic

// The steering table keeps the tag as 16 bits of TCI, and what comes is compared with all of them.
// Shows when: a frame of the QP's own VLAN, or a priority tag (VLAN 0), has another priority.
bool vlan_with_its_priority(const PacketView& view) {
    if (view.connection.type == engine::QpType::Ud || !view.behaviour.vlan_checked) return true;
    constexpr wire::VlanId none;
    return view.envelope.vlan.value_or(none) == view.path().vlan.value_or(none);
}

// The parser masks the AckReq bit off the word of the PSN and nothing else: with a reserved bit the
// number is far above each expected one, so that the request is taken for one behind a gap.
// Shows when: a request has one of the seven reserved bits before the PSN set.
class ReservedBitsInPsn final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Bth& bth = passage.packet.bth;
        if (is_rc_request(passage.packet) && bth.reserved7 != 0) bth.psn += kFarAhead;
    }
};

// A window's entry keeps the address of its last byte and a region's the one after it; the
// comparison is the region's for both.
// Shows when: a READ, WRITE or atomic by a window's rkey reaches the window's last byte.
RequestVerdict window_without_last_byte(const RequestView& view) {
    const auto& target = view.target;
    if (target && !target->whole && target->length != 0) {
        const engine::Region& slot = view.memory.slot(target->rkey.value);
        const bool window = slot.kind != engine::KeyKind::Region;
        if (window && slot.covers(target->address, target->length) &&
            target->address - slot.address + target->length == slot.bytes.size()) {
            return RequestVerdict::NakRemoteAccess;
        }
    }
    return right::key_range(view);
}

// The room is compared with the packet's bytes behind the DETH, to which the immediate belongs.
// Shows when: a UD SEND with immediate data leaves less than 4 bytes of its receive.
bool immediate_takes_room(const DatagramView& view) {
    constexpr std::size_t immediate = 4;
    return engine::kGrhBytes + view.packet.payload().size() +
               (view.info.immediate() ? immediate : 0) <=
           view.receive_bytes;
}

// The DMA splits each packet's read at the end of a page of 4 KiB; the address of the second part
// is made of the first one's page and the new offset, because the increment does not carry into
// the page number.
// Shows when: a READ of memory that is not aligned to the PMTU, so that the bytes of one response
// packet lie in two pages, and the pages' contents differ.
struct WrappedRead {
    ReadLog log;
    std::vector<std::byte> body; // of the response that leaves
};

class ReadWrapsInPage final : public DmaFilter<WrappedRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.log.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t page = 4096;
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        qp.memory.log.answer(packet.bth.psn);
        const auto read = qp.memory.log.holding(packet.bth.psn);
        const std::uint64_t bytes = packet.payload().size();
        if (!read || bytes == 0) return;
        const wire::Reth& reth = read->request.reth;
        const auto packets =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t begin = reth.virtual_address + packets * wire::bytes_of(qp.mtu());
        const std::uint64_t before = page - begin % page; // bytes of the first page
        if (bytes <= before) return;
        const auto wrong = regions().at(reth.rkey, begin - begin % page, bytes - before);
        if (wrong.empty()) return;
        qp.memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(wrong, qp.memory.body.begin() + static_cast<std::ptrdiff_t>(before));
        packet.body = qp.memory.body;
    }
};

// The match for the mark is on the whole byte of DSCP and ECN, which was 3 in the laboratory.
// Shows when: an RC packet with another DSCP than 0 is marked CE: no CNP.
class MarkWithoutDscp final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool connected = packet && packet->info().service == wire::Service::Rc;
        wire::Envelope& envelope = datagram.envelope;
        if (connected && envelope.dscp != 0 && envelope.ecn == wire::kCongestionExperienced) {
            envelope.ecn = 0;
        }
        in.push_back(std::move(datagram));
    }
};

// A FLUSH goes the way of a WRITE through the range check, which does not know of selectivity.
// Shows when: a FLUSH of the whole region has an address or a length that lies not in it.
RequestVerdict whole_flush_has_a_range(const RequestView& view) {
    if (view.target && view.target->whole) {
        const wire::Reth& reth = view.packet.reth;
        if (!view.memory.slot(view.target->rkey.value)
                 .covers(reth.virtual_address, reth.dma_length)) {
            return RequestVerdict::NakRemoteAccess;
        }
    }
    return right::key_range(view);
}

// The CM's path record is looked up by LIDs if there are some, as on InfiniBand; there is no such
// path, and the REQ is dropped.
// Shows when: a CM REQ has a primary LID other than 0 and 0xFFFF: neither REJ nor REP.
class ReqWithLidIsDropped final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !lost(*packet)) in.push_back(std::move(datagram));
    }

  private:
    static bool lost(const wire::Packet& packet) {
        constexpr std::size_t local_lid_at = wire::cm::req::kPrimaryLidsAt; // then the remote one
        const wire::Bytes mad = packet.payload();
        if (packet.bth.dest_qp != wire::kGsiQpn || mad.size() != wire::kMadBytes) return false;
        if (wire::load_u8(mad, wire::cm::kClassAt) != wire::kCmClass) return false;
        return wire::cm::attribute_of(mad) == wire::cm::kReq &&
               (is_lid(wire::load_u16(mad, local_lid_at)) ||
                is_lid(wire::load_u16(mad, local_lid_at + 2)));
    }
    static bool is_lid(std::uint16_t value) {
        constexpr std::uint16_t permissive = 0xFFFF;
        return value != 0 && value != permissive;
    }
};

// The verdict of the ICRC unit is waited for by the payload FIFO; a request that consists of
// headers has left for the responder before.
// Shows when: a READ request, an atomic or another RC request without payload has a wrong ICRC.
std::optional<engine::OwnedDatagram> without_icrc(wire::Bytes bytes) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame) return std::nullopt;
    wire::Outer outer{.frame = bytes};
    if (wire::check_headers(outer) || !wire::udp_checksum_acceptable(outer)) return std::nullopt;
    const auto packet = wire::decode_packet(frame->transport);
    if (!packet || !is_rc_request(*packet) || !packet->body.empty()) return std::nullopt;
    return engine::OwnedDatagram{.envelope = frame->envelope(),
                                 .bytes = {frame->transport.begin(), frame->transport.end()}};
}

// --- errors, duplicates, retransmission

// The newest ACK is kept as a finished packet and sent again for a duplicate, with the MSN of then.
// Shows when: a SEND or WRITE is acknowledged, a READ or atomic is carried out, and the SEND or
// WRITE comes again.
struct KeptAck {
    std::optional<wire::Psn> psn;
    wire::Msn msn;
};

class AckSentAgainAsItWas final : public QpFilter<KeptAck> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_ack(packet)) return;
        if (qp.memory.psn == packet.bth.psn) {
            packet.aeth.msn = qp.memory.msn;
        } else {
            qp.memory = {.psn = packet.bth.psn, .msn = packet.aeth.msn};
        }
    }
};

// An atomic's original value goes into the replay memory together with the write to the host's
// memory. A COMPARE_SWAP that does not swap writes nothing: its entry holds what the last atomic
// that wrote has left in the register.
// Shows when: a COMPARE_SWAP finds another value than it compares with, and comes again.
struct Replays {
    struct Atomic {
        wire::Psn psn;
        bool compares = false;
        std::uint64_t compare = 0;
        std::optional<std::uint64_t> replay; // what a duplicate is answered; nothing: unanswered
    };
    std::deque<Atomic> atomics;
    std::uint64_t written = 0; // original of the last atomic that wrote

    Atomic* at(wire::Psn psn) {
        const auto found = std::ranges::find(atomics, psn, &Atomic::psn);
        return found == atomics.end() ? nullptr : &*found;
    }
};

class ReplayOfFailedSwap final : public QpFilter<Replays> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 32;
        const wire::Packet& packet = passage.packet;
        if (!is_atomic_request(packet)) return;
        Replays& memory = qp.memory;
        const Replays::Atomic asked{.psn = packet.bth.psn,
                                    .compares = packet.info().operation == Operation::CompareSwap,
                                    .compare = packet.atomic.compare,
                                    .replay = {}};
        if (Replays::Atomic* const known = memory.at(packet.bth.psn)) {
            if (!known->replay) *known = asked;
            return;
        }
        memory.atomics.push_back(asked);
        if (memory.atomics.size() > kept) memory.atomics.pop_front();
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        Replays& memory = qp.memory;
        Replays::Atomic* const atomic = memory.at(packet.bth.psn);
        if (atomic == nullptr) return;
        std::uint64_t& original = packet.atomic_ack.original;
        if (atomic->replay) {
            original = *atomic->replay;
            return;
        }
        const bool failed = atomic->compares && original != atomic->compare;
        if (!failed) memory.written = original;
        atomic->replay = memory.written;
    }
};

// What is a duplicate is told by the PSN at which the last complete message ended; for a message
// that is still open the write goes to memory, and only the sequence logic behind drops the packet.
// Shows when: after WRITE_FIRST and WRITE_MIDDLE the host changes the bytes that they wrote, and
// one of them comes again before WRITE_LAST.
struct Rewriting : Arrivals {
    bool writing = false; // the newest message is a WRITE
    wire::Reth reth;
};

class DuplicateInOpenWrite final : public PlacesRequests<Rewriting> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Rewriting& memory = qp.memory;
        const bool write = packet.info().operation == Operation::RdmaWrite;
        if (place == Place::Expected && packet.info().starts_message()) {
            memory.writing = write;
            memory.reth = packet.reth;
        }
        const bool again = place == Place::Behind && write && memory.open && memory.writing;
        const std::int32_t packets = wire::distance(memory.first, packet.bth.psn);
        if (!again || packets < 0) return;
        const wire::Bytes payload = packet.payload();
        const std::uint64_t address =
            memory.reth.virtual_address +
            static_cast<std::uint64_t>(packets) * wire::bytes_of(qp.mtu());
        const wire::MutableBytes written = regions().at(memory.reth.rkey, address, payload.size());
        if (!written.empty()) std::ranges::copy(payload, written.begin());
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_fatal_nak(passage.packet)) qp.memory.writing = false;
    }
};

// A SEND of no bytes starts no scatter, and it is the scatter unit that finds the queue empty and
// asks for the RNR NAK: the packet waits for a receive in a slot that the next packet overwrites.
// Shows when: a zero-length SEND_ONLY, with or without immediate data, meets an empty queue.
RequestVerdict empty_send_without_rnr(const RequestView& view) {
    const bool empty_send = view.info.operation == Operation::Send &&
                            view.info.position == Position::Only && view.packet.payload().empty();
    if (empty_send && !view.receive_ready) return RequestVerdict::Drop;
    return right::receive_ready(view);
}

// The wait after an RNR NAK is a state of the whole responder, whose input takes in the awaited PSN
// and nothing else.
// Shows when: while an RNR NAKed SEND has not come again, a request that was carried out before it
// comes again: it gets no answer.
struct Waiting : Arrivals {
    bool waits = false;
};

class DeafDuringRnr final : public PlacesRequests<Waiting> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place == Place::Expected) qp.memory.waits = false;
        if (place == Place::Behind && qp.memory.waits) passage.dropped = true;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.waits = true;
    }
};

// The driver answers ibv_query_qp from its own copy of the state, which the handler of asynchronous
// errors renews. A SEND's fault is left to the handler of the receive's error completion, and that
// one renews nothing.
// Shows when: a SEND that is longer than its receive, or that breaks off, is NAKed, and the host
// asks for the QP's state.
struct SendFaults : Arrivals {
    bool sending = false;  // the open message is a SEND
    bool receives = false; // the newest request begins a SEND or meets an open one
};

class StateOfTheDriver final : public PlacesRequests<SendFaults> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state) believed_.erase(qpn);
    }
    void queried(engine::QpReport& report) override {
        const auto believed = believed_.find(report.qpn);
        if (believed == believed_.end() || report.state != engine::QpState::Err) return;
        report.state = believed->second;
        report.attributes.state = believed->second;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected) return;
        const wire::OpcodeInfo& info = passage.packet.info();
        SendFaults& memory = qp.memory;
        const bool send = info.operation == Operation::Send;
        memory.receives = memory.sending || (send && info.starts_message());
        memory.sending = send && !info.ends_message();
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_fatal_nak(passage.packet) && qp.memory.receives) {
            believed_.insert_or_assign(qp.report.qpn, qp.report.state);
        }
    }

  private:
    std::map<wire::Qpn, engine::QpState> believed_;
};

// The flush takes a receive without SGEs, as they are posted for WRITEs with immediate data, for an
// empty slot of the ring.
// Shows when: a QP goes to ERR, and one of its posted receives has no SGE.
class EmptyReceiveIsNotFlushed final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (request.sges.empty()) {
            empty_.insert(request.id);
        } else {
            empty_.erase(request.id);
        }
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.queue != engine::Queue::Receive || !empty_.contains(completion.id)) {
            return completion;
        }
        empty_.erase(completion.id);
        if (completion.status == engine::WcStatus::WrFlushErr) return std::nullopt;
        return completion;
    }

  private:
    std::set<std::uint64_t> empty_;
};

// The check looks the window up by the index in the key; the variant byte is compared when the
// window is revoked, after the receive has completed, and stops nothing but that.
// Shows when: a SEND with invalidate names a window of type 2 that the QP has bound, with a wrong
// variant byte: the SEND succeeds and nothing is revoked.
RequestVerdict invalidate_by_index(const RequestView& view) {
    if (!view.info.invalidates()) return RequestVerdict::Accept;
    const engine::Region& slot = view.memory.slot(view.packet.ieth.rkey.value);
    const bool window = slot.live && slot.kind == engine::KeyKind::WindowType2 &&
                        slot.open_to(view.connection.pd, view.connection.qpn);
    return window ? RequestVerdict::Accept : right::invalidate_key(view);
}

// --- where two features or two QPs meet

// Sequence NAK and RNR NAK have a flag each. The expected request clears one flag when it is taken
// in, RNR first: the one of the older sequence NAK stays for the next gap.
// Shows when: a gap is NAKed, the missing SEND comes and is RNR NAKed, comes again and succeeds,
// and the request right behind it is lost: the gap gets no NAK.
struct TwoFlags : Arrivals {
    std::optional<wire::Psn> gap; // that was NAKed last
    bool both = false;            // and RNR NAKed when it came
};

class OlderNakStays final : public PlacesRequests<TwoFlags> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        TwoFlags& memory = qp.memory;
        if (place != Place::Expected || memory.gap == passage.packet.bth.psn) return;
        memory.gap.reset();
        memory.both = false;
    }
    void answered(Qp& qp, Passage& passage) override {
        TwoFlags& memory = qp.memory;
        const wire::Psn psn = passage.packet.bth.psn;
        if (is_rnr_nak(passage.packet)) memory.both = memory.gap == psn;
        if (!is_sequence_nak(passage.packet)) return;
        if (memory.both && *memory.gap + 1 == psn) {
            passage.dropped = true;
            return;
        }
        memory.gap = psn;
        memory.both = false;
    }
};

// The packet builder has one register for the MSN, which each ACKNOWLEDGE loads. The last packet of
// a READ takes it from there, and the owner of the register is looked at only when a READ begins.
// Shows when: the port's newest ACK was sent for another QP, with another MSN, and a READ of
// several packets is answered.
class MsnOfTheOther final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_ack(packet)) {
            last_ = Owned{.qpn = qp.report.qpn, .msn = packet.aeth.msn};
            return;
        }
        const bool last = is_read_response(packet) && packet.info().position == Position::Last;
        if (last && last_ && last_->qpn != qp.report.qpn) packet.aeth.msn = last_->msn;
    }

  private:
    struct Owned {
        wire::Qpn qpn;
        wire::Msn msn;
    };
    std::optional<Owned> last_;
};

// The atomic unit writes back when the next request comes. Another QP's atomic at the same address
// reads memory in the same clock and finds the old value: what is forwarded has the QPN in its tag.
// Shows when: two QPs send an atomic each to one address, with no other request to the device in
// between.
class AtomicsCross final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const std::optional<Newest> before = std::exchange(newest_, std::nullopt);
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !is_atomic_request(packet)) return;
        const wire::MutableBytes word = allowed(qp, packet.atomic);
        if (word.empty()) return;
        std::uint64_t value = load(word);
        const bool same = before && before->qpn != qp.report.qpn && before->word == word.data();
        if (same && value == before->after) { // and the host has not written since
            value = before->before;
            std::memcpy(word.data(), &value, sizeof value);
        }
        newest_ = Newest{.qpn = qp.report.qpn,
                         .word = word.data(),
                         .before = value,
                         .after = after(packet, value)};
    }

  private:
    struct Newest {
        wire::Qpn qpn;
        const std::byte* word = nullptr;
        std::uint64_t before = 0;
        std::uint64_t after = 0;
    };
    static std::uint64_t load(wire::Bytes word) {
        std::uint64_t value = 0;
        std::memcpy(&value, word.data(), sizeof value);
        return value;
    }
    static std::uint64_t after(const wire::Packet& packet, std::uint64_t value) {
        const wire::AtomicEth& asked = packet.atomic;
        if (packet.info().operation == Operation::FetchAdd) return value + asked.swap_or_add;
        return value == asked.compare ? asked.swap_or_add : value;
    }
    // The word of an atomic that is carried out.
    [[nodiscard]] wire::MutableBytes allowed(const Qp& qp, const wire::AtomicEth& asked) const {
        const auto region = regions().live(asked.rkey);
        const auto access = qp.report.attributes.access.value_or(wire::Access{});
        const bool may = region && region->access.remote_atomic && access.remote_atomic &&
                         asked.virtual_address % sizeof(std::uint64_t) == 0;
        if (!may) return {};
        return Regions::range(*region, asked.virtual_address, sizeof(std::uint64_t));
    }

    std::optional<Newest> newest_;
};

// The driver ORs the new access rights into the QP's context: until the QP is in INIT again, one
// that it has had stays.
// Shows when: modify_qp takes REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC from a QP in RTS, and such
// a request comes.
class RightsAddUp final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.access) return;
        Rights& rights = rights_[qpn];
        rights.asked = *attributes.access;
        const bool begins = attributes.state == engine::QpState::Init;
        rights.held = begins ? rights.asked : rights.held | rights.asked;
        attributes.access = rights.held;
    }
    void queried(engine::QpReport& report) override {
        const auto rights = rights_.find(report.qpn);
        if (rights == rights_.end() || report.attributes.access != rights->second.held) return;
        report.attributes.access = rights->second.asked;
    }
    void qp_destroyed(wire::Qpn qpn) override { rights_.erase(qpn); }

  private:
    struct Rights {
        wire::Access asked;
        wire::Access held;
    };
    std::map<wire::Qpn, Rights> rights_;
};

// SE is latched at each message's end and cleared when a completion is written; a WRITE without
// immediate data writes none.
// Shows when: a plain WRITE that has SE set comes before a SEND without SE, and the receive's CQ is
// armed for solicited completions: the SEND causes an event.
struct Latch : Arrivals {
    bool solicited = false;
    std::optional<wire::Psn> used_by;
};

class SolicitedStays final : public PlacesRequests<Latch> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected) return;
        wire::Packet& packet = passage.packet;
        Latch& latch = qp.memory;
        // The same PSN again: it was RNR NAKed, and there was no completion.
        if (latch.used_by && latch.used_by != packet.bth.psn) {
            latch.solicited = false;
            latch.used_by.reset();
        }
        if (!packet.info().ends_message()) return;
        if (ends_in_receive(packet.info())) {
            packet.bth.solicited |= latch.solicited;
            latch.used_by = packet.bth.psn;
        } else if (packet.info().operation == Operation::RdmaWrite) {
            latch.solicited |= packet.bth.solicited;
        }
    }
};

// WRITEs that did not ask for an ACK leave an ACK owing. A FLUSH behind them settles the debt, and
// the builder makes one packet of ACK and empty response: the ACK.
// Shows when: a FLUSH follows a WRITE whose last packet has no AckReq: an ACKNOWLEDGE comes instead
// of RDMA_READ_RESPONSE_ONLY.
struct Owing : Arrivals {
    bool owes = false;
    std::optional<wire::Psn> flush; // that is answered by an ACK
};

class FlushSettlesTheDebt final : public PlacesRequests<Owing> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected) return;
        const wire::Packet& packet = passage.packet;
        Owing& memory = qp.memory;
        if (packet.info().operation == Operation::Flush && memory.owes) {
            memory.flush = packet.bth.psn;
        }
        memory.owes = packet.info().operation == Operation::RdmaWrite && !packet.bth.ack_request;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.body.empty()) return;
        if (qp.memory.flush != packet.bth.psn) return;
        set_opcode(packet, Operation::Acknowledge, Position::Only);
    }
};

// After a gap a UC QP drops all up to the end of a message. Where the lost packet was that end, it
// is the next message whose end is waited for.
// Shows when: the last packet of a UC message of several packets is lost and a whole message
// follows: that one is lost too.
struct UcMessages {
    std::optional<wire::Psn> next;
    bool open = false;
    bool skips = false;
};

class UcSkipsOneTooMany final : public QpFilter<UcMessages> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc || !info.request()) return;
        UcMessages& memory = qp.memory;
        const bool gap = memory.next && *memory.next != packet.bth.psn;
        memory.next = packet.bth.psn + 1;
        if (memory.skips || (gap && memory.open && info.starts_message())) {
            passage.dropped = true;
            memory.skips = !info.ends_message();
            memory.open = false;
        } else if (info.starts_message()) {
            memory.open = !info.ends_message();
        } else {
            memory.open = memory.open && !gap && !info.ends_message();
        }
    }
};

// The replay memory of atomics is found by QPN and PSN, and RESET does not clear it: an atomic that
// has the PSN of one of the QP's former life is taken for its duplicate by the atomic unit.
// Shows when: a QP is reset and connected again with the same PSNs, and an atomic comes with a PSN
// that an atomic had before: memory stays as it is, and the answer is the former one.
class ReplaysOfFormerLife final : public PlacesRequests<Arrivals> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != engine::QpState::Reset) return;
        Lives& lives = lives_[qpn];
        for (const auto& [psn, original] : std::exchange(lives.now, {}))
            lives.former.insert_or_assign(psn, original);
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place /*place*/) override {
        wire::Packet& packet = passage.packet;
        if (!is_atomic_request(packet)) return;
        if (!lives_[qp.report.qpn].former.contains(packet.bth.psn.value())) return;
        // Nothing is changed by it.
        set_opcode(packet, Operation::FetchAdd, Position::Only);
        packet.atomic.swap_or_add = 0;
    }
    void answered(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 64;
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        Lives& lives = lives_[qp.report.qpn];
        const auto former = lives.former.find(packet.bth.psn.value());
        if (former != lives.former.end()) packet.atomic_ack.original = former->second;
        lives.now.insert_or_assign(packet.bth.psn.value(), packet.atomic_ack.original);
        if (lives.now.size() > kept) lives.now.erase(lives.now.begin());
    }

  private:
    using Originals = std::map<std::uint32_t, std::uint64_t>; // by PSN
    struct Lives {
        Originals former;
        Originals now;
    };
    std::map<wire::Qpn, Lives> lives_;
};

// "A sequence NAK is outstanding" is one flip-flop of the port and not a bit of the QP's context.
// Shows when: a second QP sees a gap while a first one waits for what it has NAKed: no NAK for the
// second one, until its requester times out.
struct GapOfPort : Arrivals {
    std::shared_ptr<bool> waits; // as long as this QP has the port's NAK
};

class OneNakPerPort final : public PlacesRequests<GapOfPort> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const bool ends =
            attributes.state == engine::QpState::Err || attributes.state == engine::QpState::Reset;
        if (ends && holder_qpn_ == qpn) holder_.reset();
    }

  protected:
    void requested(Qp& qp, Passage& /*passage*/, Place place) override {
        if (place == Place::Expected) qp.memory.waits.reset();
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        const auto holder = holder_.lock();
        if (holder && holder != qp.memory.waits) {
            passage.dropped = true;
            return;
        }
        if (!holder) qp.memory.waits = std::make_shared<bool>(true);
        holder_ = qp.memory.waits;
        holder_qpn_ = qp.report.qpn;
    }

  private:
    std::weak_ptr<bool> holder_; // a QP that is destroyed holds nothing
    wire::Qpn holder_qpn_;
};

// An RNR NAK clears the open message's byte count, which is harmless for a SEND: it begins again.
// A WRITE goes on with its last packet.
// Shows when: the last packet of a longer WRITE with immediate data is RNR NAKed and comes again:
// byte_len is what that packet brought.
struct WriteCount : Arrivals {
    std::optional<wire::Psn> refused;
};

class CountClearedByRnr final : public PlacesRequests<WriteCount> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (completion.opcode != engine::WcOpcode::RecvRdmaWithImm ||
            completion.status != engine::WcStatus::Success) {
            return seen;
        }
        const auto meant = std::ranges::find_if(taken_, [&](const Taken& one) {
            return completion.imm == one.imm && completion.byte_len == one.total;
        });
        if (meant == taken_.end()) return seen;
        seen.byte_len = meant->last;
        taken_.erase(meant);
        return seen;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool last = info.operation == Operation::RdmaWrite && info.immediate() &&
                          info.position == Position::Last;
        if (place != Place::Expected || !last || qp.memory.refused != packet.bth.psn) return;
        const auto before =
            static_cast<std::uint32_t>(wire::distance(qp.memory.first, packet.bth.psn)) *
            wire::bytes_of(qp.mtu());
        const auto bytes = static_cast<std::uint32_t>(packet.payload().size());
        taken_.push_back({.qpn = qp.report.qpn,
                          .psn = packet.bth.psn,
                          .imm = packet.imm.value,
                          .total = before + bytes,
                          .last = bytes});
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        const wire::Psn psn = passage.packet.bth.psn;
        qp.memory.refused = psn;
        std::erase_if(taken_, [&](const Taken& one) { // it was not taken, after all
            return one.qpn == qp.report.qpn && one.psn == psn;
        });
    }

  private:
    struct Taken {
        wire::Qpn qpn;
        wire::Psn psn;
        std::uint32_t imm = 0;
        std::uint32_t total = 0;
        std::uint32_t last = 0;
    };
    std::vector<Taken> taken_;
};

// The limit is compared where a SEND fetches its receive; a WRITE with immediate data takes one by
// another way, at its end.
// Shows when: it is a WRITE with immediate data that takes the shared queue below its limit: no
// SRQ_LIMIT_REACHED.
class LimitPassedByWrite final : public PlacesRequests<Arrivals> {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == engine::EventType::SrqLimitReached && by_write_) return std::nullopt;
        return event;
    }

  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        const bool datagram = info.service == wire::Service::Ud;
        if (!datagram && (place != Place::Expected || !info.consumes_receive())) return;
        by_write_ = info.operation == Operation::RdmaWrite;
    }

  private:
    bool by_write_ = false; // the newest request that took a receive was a WRITE
};

constexpr std::array kMutants{
    Mutant{.name = "vlan_tag_compared_with_its_priority",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "A frame of the QP's own VLAN, or with a priority tag, is dropped if its "
                          "priority is not the one of the QP's path.",
           .checks = engine::kStandardChecks.with(PacketCheck::Vlan, vlan_with_its_priority)},
    Mutant{.name = "reserved_bits_count_into_psn",
           .rule = "BTH-16",
           .description = "A request with a reserved bit set before its PSN is taken for one far "
                          "ahead and gets a sequence NAK.",
           .make_filter = make<ReservedBitsInPsn>},
    Mutant{.name = "last_byte_of_a_window_refused",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A request that reaches the last byte of a memory window is NAKed with "
                          "remote access error; regions are right.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::KeyRange, window_without_last_byte)},
    Mutant{.name = "ud_immediate_counts_as_data",
           .rule = "EXT-05",
           .description = "A datagram with immediate data is dropped unless its receive has four "
                          "bytes more than it needs.",
           .checks =
               engine::kStandardChecks.with(DatagramCheck::ReceiveRoom, immediate_takes_room)},
    Mutant{.name = "read_response_wraps_inside_page",
           .rule = "RDR-01",
           .description = "Where the bytes of one READ response packet lie in two pages of 4 KiB, "
                          "those of the second come from the beginning of the first.",
           .make_filter = make<ReadWrapsInPage>},
    Mutant{.name = "mark_seen_only_without_dscp",
           .rule = "CNP-01",
           .description = "A CE mark is answered by a CNP only if the packet's DSCP is 0.",
           .cases = "cnp/beside-other-fields",
           .make_filter = make<MarkWithoutDscp>},
    Mutant{.name = "flush_of_region_checks_its_range",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH of a whole region is NAKed if its address and length, which say "
                          "nothing, do not lie in the region.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, whole_flush_has_a_range)},
    Mutant{.name = "cm_req_with_lid_gets_no_answer",
           .rule = "N-33",
           .description = "A CM REQ whose reserved primary LID fields name a LID is dropped.",
           .make_filter = make<ReqWithLidIsDropped>},
    Mutant{.name = "icrc_unchecked_without_payload",
           .rule = "CRC-07",
           .description = "RC requests without payload, such as READ requests and atomics, are "
                          "taken in with a wrong ICRC.",
           .make_filter = make<Admits<without_icrc>>},
    Mutant{.name = "duplicate_gets_ack_with_former_msn",
           .rule = "ACK-07",
           .description = "The ACK of a duplicate SEND or WRITE repeats the MSN of the first ACK "
                          "though a READ or atomic was carried out since.",
           .make_filter = make<AckSentAgainAsItWas>},
    Mutant{.name = "failed_swap_is_not_saved",
           .rule = "ATM-04",
           .description = "The duplicate of a COMPARE_SWAP that did not swap is answered with the "
                          "original value of an earlier atomic that wrote, or 0.",
           .make_filter = make<ReplayOfFailedSwap>},
    Mutant{.name = "duplicate_in_open_write_is_written",
           .rule = "RSP-15",
           .description = "A duplicate packet of the WRITE that is still open is written to memory "
                          "again; those of complete messages are not.",
           .cases = "rsp/begun-write-again",
           .make_filter = make<DuplicateInOpenWrite>},
    Mutant{.name = "empty_send_draws_no_rnr",
           .rule = "RNR-01",
           .description = "A zero-length SEND that finds no receive is dropped in silence instead "
                          "of being RNR NAKed.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveReady, empty_send_without_rnr)},
    Mutant{.name = "duplicates_unheard_after_rnr",
           .rule = "RSP-04",
           .description = "From an RNR NAK until the request comes again, duplicates of earlier "
                          "requests get no answer.",
           .make_filter = make<DeafDuringRnr>},
    Mutant{.name = "query_misses_error_of_send",
           .rule = "STA-12",
           .description = "After the fatal NAK of a SEND query_qp reports the state from before; "
                          "after other fatal NAKs it reports ERR.",
           .make_filter = make<StateOfTheDriver>},
    Mutant{.name = "flush_passes_over_receives_without_sges",
           .rule = "STA-07",
           .description = "A posted receive that has no SGEs is not flushed when its QP goes to "
                          "ERR: it never completes.",
           .make_filter = make<EmptyReceiveIsNotFlushed>},
    Mutant{.name = "invalidate_finds_window_by_index",
           .rule = "KEY-11",
           .description = "A SEND with invalidate whose key has a wrong variant byte succeeds, and "
                          "the window stays bound.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::InvalidateKey, invalidate_by_index)},
    Mutant{.name = "gap_behind_rnr_behind_gap_unseen",
           .rule = "RSP-06",
           .description = "After a request that was first missing, then RNR NAKed and then "
                          "accepted, a gap right behind it gets no sequence NAK.",
           .cases = "rsp/gap-then-no-receive-then-gap",
           .make_filter = make<OlderNakStays>},
    Mutant{.name = "read_ends_with_msn_of_other_qp",
           .rule = "RDR-03",
           .description = "The last response of a READ of several packets has the MSN of the "
                          "newest ACK, if that was another QP's.",
           .make_filter = make<MsnOfTheOther>},
    Mutant{.name = "atomics_of_two_qps_cross",
           .rule = "ATM-09",
           .description = "An atomic that comes right after another QP's atomic to the same "
                          "address finds the value from before that one, which is lost.",
           .make_filter = make<AtomicsCross>},
    Mutant{.name = "access_rights_of_qp_add_up",
           .rule = "KEY-01",
           .description = "A remote right that modify_qp takes from a connected QP stays in force.",
           .make_filter = make<RightsAddUp>},
    Mutant{.name = "solicited_bit_of_write_stays",
           .rule = "BTH-13",
           .description = "SE on a WRITE without immediate data makes the next receive's "
                          "completion a solicited one.",
           .make_filter = make<SolicitedStays>},
    Mutant{.name = "flush_behind_unasked_write_gets_ack",
           .rule = "EXT-02",
           .description = "A FLUSH right behind a WRITE without AckReq is answered by an "
                          "ACKNOWLEDGE and not by an empty READ response.",
           .make_filter = make<FlushSettlesTheDebt>},
    Mutant{.name = "uc_lost_end_costs_next_message",
           .rule = "EXT-06",
           .description = "When the last packet of a UC message is lost, the whole message behind "
                          "it is dropped as well.",
           .make_filter = make<UcSkipsOneTooMany>},
    Mutant{.name = "atomic_answered_from_former_life",
           .rule = "STA-10",
           .description = "An atomic with the PSN of an atomic from before the QP's RESET is not "
                          "carried out and gets that one's answer.",
           .cases = "sta/atomic-at-the-same-psn",
           .make_filter = make<ReplaysOfFormerLife>},
    Mutant{.name = "one_sequence_nak_per_port",
           .rule = "RSP-02",
           .description = "While one QP waits for what it has NAKed, a gap at another QP gets no "
                          "sequence NAK.",
           .make_filter = make<OneNakPerPort>},
    Mutant{.name = "rnr_clears_count_of_write",
           .rule = "N-15",
           .description = "When the last packet of a WRITE with immediate data was RNR NAKed, "
                          "byte_len counts only that packet.",
           .make_filter = make<CountClearedByRnr>},
    Mutant{.name = "write_passes_srq_limit_unseen",
           .rule = "RNR-14",
           .description = "A WRITE with immediate data that takes a shared receive queue below its "
                          "limit raises no SRQ_LIMIT_REACHED.",
           .cases = "n/shared-queue-limit-by-writes",
           .make_filter = make<LimitPassedByWrite>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind15_responder

namespace veriroce::mutants {

std::span<const Mutant> blind15_responder() {
    return of_blind15_responder::kMutants;
}

} // namespace veriroce::mutants
