// Defects of responders, receivers and of what a responder's host sees, written blind.
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind16_responder {
namespace {

using engine::DatagramCheck;
using engine::DuplicateCheck;
using engine::PacketCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;

// --- what the filters share -------------------------------------------------------------------

// What a filter knows of a QP's responder.
struct Served : Arrivals {
    bool dead = false; // a fatal NAK was sent
};

// A filter that is told of the requests which a right responder looks at, and of what it answers.
template <std::derived_from<Served> Memory>
class WatchesResponder : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;
    using Place = Arrivals::Place;

    virtual void requested(Qp& /*qp*/, Passage& /*passage*/, Place /*place*/) {}
    virtual void answered(Qp& /*qp*/, Passage& /*passage*/) {}

    void arrives(Qp& qp, Passage& passage) final {
        if (!hears(qp, passage)) return;
        requested(qp, passage, qp.memory.note(passage.packet, qp.first_request(), qp.mtu()));
    }
    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        heed_nak(qp.memory, packet);
        qp.memory.dead |= is_fatal_nak(packet);
        answered(qp, passage);
    }

  private:
    // BTH-01, BTH-07, ENC-14, STA-01, STA-07, N-07
    static bool hears(const Qp& qp, const Passage& passage) {
        const wire::Packet& packet = passage.packet;
        return !qp.memory.dead && engine::receives(qp.report.state) && is_rc_request(packet) &&
               of_this_connection(qp.report, passage);
    }
};

std::uint64_t load_number(wire::Bytes place) {
    std::uint64_t value = 0;
    std::memcpy(&value, place.data(), sizeof value);
    return value;
}

// --- plain traffic ----------------------------------------------------------------------------

// The parser counts what follows the BTH and the RETH. It takes the immediate data off again for
// the byte count of the completion, but only after the comparison with the path MTU.
// Shows when: a SEND_ONLY or SEND_LAST with immediate data, or a WRITE_LAST or WRITE_ONLY with it,
// carries more than PMTU - 4 bytes, for example exactly PMTU.
RequestVerdict immediate_counts(const RequestView& view) {
    const std::size_t full = wire::bytes_of(view.connection.mtu);
    const bool longer =
        view.info.immediate() && view.packet.payload().size() + wire::ImmDt::kSize > full;
    return longer ? RequestVerdict::NakInvalidRequest : right::payload_length(view);
}

// Between two packets the scatter unit keeps the SGE and how much of it is left. A packet that ends
// together with its SGE leaves "0 bytes", which the next packet takes for the end of the list.
// Shows when: a SEND of several packets meets a receive of several SGEs of which one ends at a
// multiple of the PMTU: two SGEs of PMTU bytes, a SEND of two packets.
RequestVerdict exhausted_sge_ends_list(const RequestView& view) {
    const RequestVerdict verdict = right::receive_room(view);
    const std::uint64_t before = view.inbound.received;
    const bool goes_on = view.info.operation == Operation::Send && !view.info.starts_message();
    if (verdict != RequestVerdict::Accept || !goes_on || before == 0) return verdict;
    std::uint64_t end = 0;
    for (const engine::Sge& sge : view.receive_sges) {
        end += sge.length;
        if (end == before) return RequestVerdict::NakInvalidRequest;
    }
    return verdict;
}

// The byte count of a completion is latched when the first data of a WRITE is placed. A WRITE with
// immediate data and without any bytes places none, and its completion has the latch's old value.
// Shows when: a WRITE_ONLY_WITH_IMM of zero bytes follows a longer WRITE with immediate data on the
// same QP.
class StaleWriteLength final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        const bool meant = one.queue == engine::Queue::Receive &&
                           one.status == engine::WcStatus::Success &&
                           one.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (!meant) return seen;
        std::uint32_t& latch = latches_[one.qp];
        if (one.byte_len != 0) latch = one.byte_len;
        seen.byte_len = latch;
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> latches_;
};

// The verdict of the CRC unit is joined to the payload's last beat. A request that ends with its
// headers has no such beat and goes on as good.
// Shows when: a READ, an atomic, a FLUSH or a SEND or WRITE of zero bytes comes with a wrong ICRC:
// it is carried out and answered.
std::optional<engine::OwnedDatagram> admit_without_payload(wire::Bytes frame) {
    wire::Outer outer{.frame = frame};
    if (wire::check_frame(outer) != wire::FrameError::BadIcrc) return std::nullopt;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded) return std::nullopt;
    const wire::Datagram datagram = decoded->datagram();
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet || !packet->info().request() || !packet->body.empty()) return std::nullopt;
    return engine::OwnedDatagram{.envelope = datagram.envelope,
                                 .bytes = {datagram.bytes.begin(), datagram.bytes.end()}};
}

// The steering rule of a connected QP was written with a mask over the whole tag control word, and
// not over its VLAN identifier.
// Shows when: a packet has a priority tag (VID 0) of another priority than 0, or the QP's VLAN with
// another priority than the address vector's: it is dropped.
bool tag_fits_as_a_whole(const engine::PacketView& view) {
    if (!engine::packet_check::vlan(view)) return false;
    if (view.connection.type == engine::QpType::Ud || !view.behaviour.vlan_checked) return true;
    constexpr wire::VlanId none;
    return view.envelope.vlan.value_or(none) == view.path().vlan.value_or(none);
}

struct Marked : Served {
    bool fecn = false;
};

// The silicon also speaks InfiniBand, whose receivers return a FECN as a BECN in the next response;
// the switch that turns this off on Ethernet ports is missing.
// Shows when: a request with FECN set in its BTH is answered: the next response, be it an ACK, a
// READ response or an atomic's, has BECN set.
class ReturnsFecn final : public WatchesResponder<Marked> {
  protected:
    void requested(Qp& qp, Passage& passage, Place /*place*/) override {
        qp.memory.fecn |= passage.packet.bth.fecn;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (std::exchange(qp.memory.fecn, false)) passage.packet.bth.becn = true;
    }
};

// The high bit, which makes a Q_Key a controlled one for senders, is masked out before the
// comparison at the receiver as well.
// Shows when: a datagram comes whose Q_Key differs from the QP's in bit 31 alone: it is delivered.
bool qkey_without_high_bit(const engine::DatagramView& view) {
    constexpr std::uint32_t high_bit = 0x80000000;
    const std::uint32_t other = view.packet.deth.qkey.value ^ view.connection.qkey.value;
    return (other & ~high_bit) == 0;
}

struct Message : Served {
    bool solicited = false; // as the FIRST had it
};

// What a message needs to be completed with is latched when it begins, SE included.
// Shows when: a SEND or WRITE with immediate data of several packets has SE in its LAST, as it must
// be, and the host has armed its CQ for solicited completions: it is never woken. With SE in the
// FIRST alone it is woken.
class SolicitedByFirst final : public WatchesResponder<Message> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        if (packet.info().position == Position::First) qp.memory.solicited = packet.bth.solicited;
        if (packet.info().position == Position::Last) packet.bth.solicited = qp.memory.solicited;
    }
};

// The firmware writes the GRH with one DMA of 40 bytes and takes a receive whose first SGE is
// shorter for one that is too small.
// Shows when: a UD receive has a first SGE of less than 40 bytes and enough in all (20 and 300
// bytes): the datagrams that meet it are dropped.
class GrhInFirstSge final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.qkey) datagram_qps_.insert(qpn); // no other QP may be given one
    }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        constexpr std::uint32_t grh_bytes = 40;
        const bool split = !request.sges.empty() && request.sges.front().length < grh_bytes;
        if (split && datagram_qps_.contains(qpn)) request.sges = {};
    }
    void qp_destroyed(wire::Qpn qpn) override { datagram_qps_.erase(qpn); }

  private:
    std::set<wire::Qpn> datagram_qps_;
};

// The answer to a DREQ of a connection that is not known is made in place out of the request: only
// the attribute is replaced, the two communication ids keep their places.
// Shows when: a DREQ with two different communication ids of no known connection comes: the DREP
// has the sender's own id as its local one.
class DrepKeepsIds final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_drep(*packet)) {
            const auto mad = wire::MutableBytes(datagram.bytes).subspan(packet->header_bytes());
            std::ranges::swap_ranges(mad.subspan(24, 4), mad.subspan(28, 4));
        }
        out.push_back(std::move(datagram));
    }

  private:
    static bool is_drep(const wire::Packet& packet) {
        return packet.info().service == wire::Service::Ud &&
               packet.headers.has(wire::Header::Deth) && packet.deth.source_qp == wire::kGsiQpn &&
               packet.body.size() == wire::kMadBytes &&
               wire::load_u8(packet.body, wire::cm::kClassAt) == wire::kCmClass &&
               wire::cm::attribute_of(packet.body) == wire::cm::kDrep;
    }
};

// --- faults, duplicates, retransmission -------------------------------------------------------

struct RunningWrite : Served {
    wire::Reth reth;       // of the newest WRITE
    std::uint64_t end = 0; // of what has come of it
};

// The look at the PSN stands in front of the load of the address register, which only a FIRST or
// ONLY does; the data of a MIDDLE or LAST goes to where the register points, duplicate or not.
// Shows when: the LAST of a WRITE of several packets comes once more, and the region goes on behind
// the WRITE's end: the bytes there are overwritten.
class DuplicateTailIsPlaced final : public WatchesResponder<RunningWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        RunningWrite& memory = qp.memory;
        if (!is_write(packet)) return;
        const wire::Bytes payload = packet.payload();
        if (place == Place::Expected) {
            if (packet.info().starts_message()) memory.reth = packet.reth;
            const auto at =
                static_cast<std::uint64_t>(wire::distance(memory.first, packet.bth.psn));
            memory.end =
                memory.reth.virtual_address + at * wire::bytes_of(qp.mtu()) + payload.size();
        }
        if (place != Place::Behind || packet.info().starts_message()) return;
        const auto target = regions().at(memory.reth.rkey, memory.end, payload.size());
        if (!target.empty()) std::ranges::copy(payload, target.begin());
    }
};

// A saved READ is remembered as an address and a number of packets; a duplicate is compared with
// these, and not with the bytes that were asked for.
// Shows when: a duplicate of a READ of 100 bytes asks for 200 at the same PSN and address, and the
// key covers them: 200 bytes are sent in place of silence.
bool within_packets_of_read(const RequestView& view) {
    if (engine::duplicate_check::within_read(view)) return true;
    if (view.info.operation != Operation::RdmaReadRequest || view.saved == nullptr) return false;
    const engine::SavedRequest& saved = *view.saved;
    const wire::Reth& asked = view.packet.reth;
    const std::uint64_t mtu = wire::bytes_of(view.connection.mtu);
    const std::uint64_t offset = engine::forward(saved.psn, view.packet.bth.psn) * mtu;
    return saved.opcode == view.packet.bth.opcode && asked.rkey == saved.rkey &&
           asked.virtual_address == saved.address + offset &&
           offset + asked.dma_length <= saved.packets * mtu;
}

struct AnsweredAtomic {
    wire::Psn psn;
    std::uint64_t address = 0;
    std::optional<std::uint64_t> original;
};
struct Atomics : Served {
    std::deque<AnsweredAtomic> newest;
};

// The replay memory of atomics is looked up by address, so that the newest entry of an address
// hides the older ones.
// Shows when: two FETCH_ADDs to one address are answered (max_dest_rd_atomic 2 or more) and the
// first one comes again: it is answered with what the second one found.
class ReplaysByAddress final : public WatchesResponder<Atomics> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !is_atomic_request(packet)) return;
        constexpr std::size_t most = 16;
        auto& newest = qp.memory.newest;
        newest.push_back({.psn = packet.bth.psn,
                          .address = packet.atomic.virtual_address,
                          .original = std::nullopt});
        if (newest.size() > most) newest.pop_front();
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        auto& newest = qp.memory.newest;
        const auto own = std::ranges::find(newest, packet.bth.psn, &AnsweredAtomic::psn);
        if (own == newest.end()) return;
        if (!own->original) {
            own->original = packet.atomic_ack.original;
            return;
        }
        for (const AnsweredAtomic& one : newest) {
            if (one.address == own->address && one.original) {
                packet.atomic_ack.original = *one.original;
            }
        }
    }
};

struct NakedOnce : Served {
    bool naked = false; // a sequence NAK was sent, and nothing has ended its time
};

// The flag "a sequence NAK is outstanding" is cleared by the pulse with which the receive path
// takes a packet; READs and atomics go through the other path.
// Shows when: a gap is NAKed, the request that comes at the expected PSN is a READ or an atomic,
// and then there is another gap: it draws no NAK.
class NakOutlivesRead final : public WatchesResponder<NakedOnce> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const Operation operation = passage.packet.info().operation;
        const bool by_receive_path =
            operation == Operation::Send || operation == Operation::RdmaWrite;
        if (place == Place::Expected && by_receive_path) qp.memory.naked = false;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        passage.dropped = std::exchange(qp.memory.naked, true);
    }
};

struct NewestPacket : Served {
    std::optional<wire::Psn> last; // it was a LAST
    bool write = false;            // of a WRITE
};

class WatchesLast : public WatchesResponder<NewestPacket> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) final {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        qp.memory.last.reset();
        qp.memory.write = is_write(packet);
        if (packet.info().position == Position::Last) qp.memory.last = packet.bth.psn;
    }
};

// An RNR NAK is made out of the message's context, whose PSN is that of its first packet; for a
// SEND this is the refused packet itself.
// Shows when: a WRITE with immediate data of several packets meets no receive: the RNR NAK of its
// LAST has the PSN of its FIRST.
class RnrAtFirst final : public WatchesLast {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool meant =
            is_rnr_nak(packet) && qp.memory.write && qp.memory.last == packet.bth.psn;
        if (meant) packet.bth.psn = qp.memory.first;
    }
};

// The MSN counts on the decoded "end of message" while the length is still being compared; the step
// back that follows a fault is there for ONLY packets and forgotten for LAST.
// Shows when: a request is refused for good at its LAST, for example a SEND that is longer than its
// receive in the last packet: the MSN of the NAK counts it.
class RefusedLastCounts final : public WatchesLast {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_fatal_nak(packet) || qp.memory.last != packet.bth.psn) return;
        packet.aeth.msn = packet.aeth.msn + 1;
    }
};

struct Refused : Served {
    std::optional<wire::Psn> refused; // by an RNR NAK, and not come again
};

// "The last PSN to acknowledge" is written when a packet is dispatched, before the receive queue is
// found empty, and not taken back by the RNR NAK. Duplicates are acknowledged with it.
// Shows when: SEND n is taken, SEND n+1 gets an RNR NAK, and n comes once more: the ACK says n+1,
// so that the peer completes a SEND that was never received.
class DuplicateAckCountsRefused final : public WatchesResponder<Refused> {
  protected:
    void requested(Qp& qp, Passage& /*passage*/, Place place) override {
        if (place == Place::Expected) qp.memory.refused.reset();
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& refused = qp.memory.refused;
        if (is_rnr_nak(packet)) refused = packet.bth.psn;
        if (is_ack(packet) && refused && packet.bth.psn + 1 == *refused) packet.bth.psn = *refused;
    }
};

// The keys of a receive's SGEs are looked up as the data reaches them. A failure in the first
// packet goes to the handler of receive faults, a later one to that of packet faults.
// Shows when: a SEND of several packets meets a receive whose first SGE is good for the first
// packet, and whose second SGE has a wrong lkey: NAK 0x61 in place of 0x63.
RequestVerdict later_lkey_fault_is_the_peers(const RequestView& view) {
    const RequestVerdict verdict = right::receive_memory(view);
    const bool later =
        verdict == RequestVerdict::NakRemoteOperational && !view.info.starts_message();
    return later ? RequestVerdict::NakInvalidRequest : verdict;
}

struct UcStream {
    std::optional<wire::Psn> next;
};

// UC takes up the PSN of the peer again at an ONLY packet alone; a FIRST is held against the
// expected PSN like a MIDDLE.
// Shows when: a packet of a UC message is lost, and the message after it has several packets: it is
// dropped too, up to the next message of one packet.
class UcResumesAtOnly final : public QpFilter<UcStream> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc || !info.request()) return;
        const bool fits = packet.bth.psn == qp.memory.next.value_or(qp.first_request());
        passage.dropped = info.position == Position::First && !fits;
        if (fits || info.position == Position::Only) qp.memory.next = packet.bth.psn + 1;
    }
};

// --- two features, two QPs --------------------------------------------------------------------

// The notification point has an entry for each address that marked packets came from, with the QP
// of the flow that made it, and finds this entry for all flows of the address.
// Shows when: two QPs of one peer get a marked packet, one a while after the other: both CNPs name
// the first one's QP.
class CnpByAddress final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            const Flow flow{.peer = packet->bth.dest_qp, .address = datagram.envelope.destination};
            packet->bth.dest_qp = entry_for(flow).peer;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& qp) override {
        const auto& attributes = qp.attributes;
        flows_.erase(qp.qpn);
        if (!engine::receives(qp.state) || !attributes.dest_qp || !attributes.address) return;
        flows_[qp.qpn] = {.peer = *attributes.dest_qp, .address = attributes.address->destination};
    }
    void qp_destroyed(wire::Qpn qpn) override { flows_.erase(qpn); }

  private:
    struct Flow {
        wire::Qpn peer;
        wire::IpAddress address;
        friend bool operator==(const Flow&, const Flow&) = default;
    };
    // An entry goes with its flow.
    const Flow& entry_for(const Flow& flow) {
        std::erase_if(entries_, [&](const Flow& entry) {
            return std::ranges::none_of(flows_,
                                        [&](const auto& live) { return live.second == entry; });
        });
        const auto found = std::ranges::find(entries_, flow.address, &Flow::address);
        if (found != entries_.end()) return *found;
        entries_.push_back(flow);
        return entries_.back();
    }

    std::map<wire::Qpn, Flow> flows_; // by our QPN
    std::vector<Flow> entries_;
};

struct AtomicLine : Served {
    std::map<std::uint32_t, wire::AtomicEth> asked; // by PSN, not answered
    const std::byte* place = nullptr;               // of the value that is cached
    std::uint64_t value = 0;
};

// Each QP's atomic unit keeps the value that it wrote last. What the host writes invalidates it,
// but the atomic units do not watch each other.
// Shows when: QP A, then QP B, then A again adds to one place: A's second FETCH_ADD finds what A
// has left there, and B's addition is lost.
class AtomicUnitsApart final : public WatchesResponder<AtomicLine> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        AtomicLine& memory = qp.memory;
        if (place != Place::Expected || !is_atomic_request(packet)) return;
        memory.asked.insert_or_assign(packet.bth.psn.value(), packet.atomic);
        const wire::MutableBytes target = target_of(packet.atomic);
        if (target.empty() || memory.place != target.data()) return;
        const auto written = written_.find(target.data());
        const bool by_other = written != written_.end() && written->second.by != qp.report.qpn &&
                              written->second.value == load_number(target);
        if (by_other) std::memcpy(target.data(), &memory.value, sizeof memory.value);
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        AtomicLine& memory = qp.memory;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto asked = memory.asked.find(packet.bth.psn.value());
        if (asked == memory.asked.end()) return; // answered once more
        const wire::MutableBytes target = target_of(asked->second);
        memory.asked.erase(asked);
        if (target.empty()) return;
        memory.place = target.data();
        memory.value = load_number(target);
        written_[target.data()] = {.by = qp.report.qpn, .value = memory.value};
    }

  private:
    struct Written {
        wire::Qpn by;
        std::uint64_t value = 0;
    };
    [[nodiscard]] wire::MutableBytes target_of(const wire::AtomicEth& atomic) const {
        return regions().at(atomic.rkey, atomic.virtual_address, sizeof(std::uint64_t));
    }
    std::map<const std::byte*, Written> written_;
};

struct KeyInUse : Served {
    std::optional<wire::Rkey> key; // that the QP's requests named last
};

// A QP caches the index of the key that it used last, with the key as the peer says it. When the
// region goes, the entry stays, and is good again as soon as the index belongs to a new region.
// Shows when: a QP uses a key, the host deregisters the region and registers another (the same
// memory, for example) that gets the same index with another variant byte, and the peer uses the
// old key on this QP: it opens the new region.
class OldKeyOpensNewRegion final : public WatchesResponder<KeyInUse> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const bool atomic = packet.headers.has(wire::Header::AtomicEth);
        if (!atomic && !packet.headers.has(wire::Header::Reth)) return;
        wire::Rkey& key = atomic ? packet.atomic.rkey : packet.reth.rkey;
        if (regions().live(key)) {
            if (place == Place::Expected) qp.memory.key = key;
        } else if (qp.memory.key == key && regions().gone(key)) {
            key = successor_of(key);
        }
    }

  private:
    [[nodiscard]] wire::Rkey successor_of(wire::Rkey key) const {
        constexpr std::uint32_t variants = 0x100;
        for (std::uint32_t variant = 0; variant < variants; ++variant) {
            const wire::Rkey other{(key.value & ~(variants - 1)) | variant};
            if (regions().live(other)) return other;
        }
        return key;
    }
};

// READ responses are made by the send engine, which SQD has stopped for this QP; requests that it
// would have to answer are not put into its queue.
// Shows when: the host brings the QP to SQD and the peer sends a READ: there is no response, while
// SENDs and WRITEs are taken and acknowledged.
RequestVerdict no_read_in_sqd(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (read && view.connection.state == engine::QpState::Sqd) return RequestVerdict::Drop;
    return right::state(view);
}

// The order to revoke a key leaves the packet parser beside the data, before the PSN is looked at.
// Shows when: a SEND with invalidate revokes a window of type 2, the host binds the window again
// with the same key, and the SEND comes once more as a duplicate: the key opens nothing any more.
class DuplicateRevokes final : public WatchesResponder<Served> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::LocalInv) bound_.erase(request.invalidate_rkey);
        if (request.opcode != engine::WrOpcode::BindMw) return;
        bound_.insert_or_assign(request.rkey, qpn);
        revoked_.erase(request.rkey);
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().invalidates()) {
            const auto bound = bound_.find(packet.ieth.rkey);
            const bool here = bound != bound_.end() && bound->second == qp.report.qpn;
            if (here && place == Place::Behind) revoked_.insert(packet.ieth.rkey);
            if (place == Place::Expected) spoil(packet.ieth.rkey);
            if (here && place != Place::Ahead) bound_.erase(bound);
        }
        if (packet.headers.has(wire::Header::Reth)) spoil(packet.reth.rkey);
        if (packet.headers.has(wire::Header::AtomicEth)) spoil(packet.atomic.rkey);
    }

  private:
    // A revoked key becomes one that is stale to the engine (KEY-08).
    void spoil(wire::Rkey& key) const {
        constexpr std::uint32_t in_variant = 0x80;
        if (revoked_.contains(key)) key.value ^= in_variant;
    }
    std::map<wire::Rkey, wire::Qpn> bound_; // by whom
    std::set<wire::Rkey> revoked_;          // by a duplicate, since they were bound
};

// The atomic unit gets the offset in the region, not the virtual address, and tests the alignment
// of what it gets.
// Shows when: a region begins at an address that is no multiple of 8: an atomic to a multiple of 8
// in it is NAKed, and one beside is carried out.
RequestVerdict aligned_in_region(const RequestView& view) {
    const bool meant = view.packet.headers.has(wire::Header::AtomicEth) ||
                       view.info.operation == Operation::AtomicWrite;
    if (!meant || !view.target) return right::atomic_alignment(view);
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    const bool aligned = (view.target->address - region.address) % sizeof(std::uint64_t) == 0;
    return aligned ? RequestVerdict::Accept : RequestVerdict::NakInvalidRequest;
}

struct AtomicWrites : Served {
    struct Write {
        wire::Psn psn;
        wire::Reth reth;
        bool flushed = false; // a FLUSH came after it
    };
    std::deque<Write> writes;
};

// A FLUSH drains the write path, and with it the list of ATOMIC WRITEs whose duplicates are only
// answered.
// Shows when: an ATOMIC WRITE, then a FLUSH is answered, the host changes the eight bytes, and the
// ATOMIC WRITE comes once more: it is written again.
class FlushForgetsAtomicWrites final : public WatchesResponder<AtomicWrites> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        auto& writes = qp.memory.writes;
        const bool write = packet.info().operation == Operation::AtomicWrite;
        if (place == Place::Expected && packet.info().operation == Operation::Flush) {
            for (AtomicWrites::Write& one : writes)
                one.flushed = true;
        }
        if (place == Place::Expected && write) {
            constexpr std::size_t most = 16;
            writes.push_back({.psn = packet.bth.psn, .reth = packet.reth});
            if (writes.size() > most) writes.pop_front();
        }
        if (place != Place::Behind || !write) return;
        const auto known = std::ranges::find(writes, packet.bth.psn, &AtomicWrites::Write::psn);
        if (known == writes.end() || !known->flushed || known->reth != packet.reth) return;
        const wire::Bytes payload = packet.payload();
        if (payload.size() != sizeof(std::uint64_t)) return;
        const auto target =
            regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!target.empty()) std::ranges::copy(payload, target.begin());
    }
};

// What ends a QP flushes the QP's own receive queue. The receive that an unfinished SEND holds out
// of a shared queue belongs to neither queue at that time; only a fault of that SEND completes it.
// Shows when: the FIRST of a SEND has come to a QP with a shared receive queue, and the host brings
// the QP to ERR: the receive that the SEND had taken never completes.
class HeldReceiveIsLost final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        own_.insert(request.id);
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue != engine::Queue::Receive) return one;
        const auto own = own_.find(one.id);
        if (own != own_.end()) {
            own_.erase(own);
            return one;
        }
        if (one.status == engine::WcStatus::WrFlushErr) return std::nullopt;
        return one;
    }

  private:
    std::multiset<std::uint64_t> own_; // receives that were posted to a QP and wait
};

struct OpenedWrite : Served {
    wire::Reth reth;
    std::vector<std::byte> body;
};

// The address of an open WRITE is read from a QP's context in one stage and written in the next. A
// FIRST forwards its new address to the packet right behind it, and nobody compares the QP.
// Shows when: the FIRST of a WRITE on one QP is followed at once by a MIDDLE or LAST of a WRITE on
// another QP: the second one's bytes go to the memory of the first WRITE.
class ForwardsToOtherQp final : public WatchesResponder<OpenedWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const auto before = std::exchange(newest_first_, std::nullopt);
        if (place != Place::Expected || !is_write(packet)) return;
        if (packet.info().starts_message()) {
            qp.memory.reth = packet.reth;
            if (packet.info().ends_message()) return;
            newest_first_ = {.qpn = qp.report.qpn,
                             .rkey = packet.reth.rkey,
                             .address = packet.reth.virtual_address + packet.payload().size()};
        } else if (before && before->qpn != qp.report.qpn) {
            misplace(qp, packet, *before);
        }
    }

  private:
    struct NewestFirst {
        wire::Qpn qpn;
        wire::Rkey rkey;
        std::uint64_t address = 0; // of what comes next
    };
    // The bytes go there, and where they belong all stays as it is.
    void misplace(Qp& qp, wire::Packet& packet, const NewestFirst& there) {
        OpenedWrite& memory = qp.memory;
        const wire::Bytes payload = packet.payload();
        const auto at = static_cast<std::uint64_t>(wire::distance(memory.first, packet.bth.psn));
        const std::uint64_t begin = memory.reth.virtual_address + at * wire::bytes_of(qp.mtu());
        const auto own = regions().at(memory.reth.rkey, begin, payload.size());
        const auto other = regions().at(there.rkey, there.address, payload.size());
        if (own.empty() || other.empty()) return;
        memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(own, memory.body.begin());
        std::ranges::copy(payload, other.begin());
        packet.body = memory.body;
    }
    std::optional<NewestFirst> newest_first_; // nothing: another request came after it
};

constexpr std::array kMutants{
    Mutant{.name = "immediate_data_counts_against_path_mtu",
           .rule = "LEN-03",
           .description = "Immediate data counts as four bytes of payload when a SEND's or WRITE's "
                          "packet is compared with the path MTU: one that is full is NAKed.",
           .checks = engine::kStandardChecks.with(RequestCheck::PayloadLength, immediate_counts)},
    Mutant{.name = "sge_that_ends_with_a_packet_ends_the_receive",
           .rule = "LEN-06",
           .description = "A SEND that fits is NAKed as too long when one of its packets ends "
                          "exactly at the end of an SGE of its receive.",
           .cases = "len/pieces-end-with-packets key/receive-lkey-of-a-later-piece",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveRoom, exhausted_sge_ends_list)},
    Mutant{.name = "empty_write_with_imm_has_former_length",
           .rule = "N-15",
           .description = "The completion of a WRITE with immediate data and zero bytes has the "
                          "byte_len of the QP's WRITE with immediate data before it.",
           .make_filter = make<StaleWriteLength>},
    Mutant{.name = "icrc_of_requests_without_payload_unchecked",
           .rule = "CRC-07",
           .description = "Requests that carry no payload are carried out whatever their ICRC is.",
           .make_filter = make<Admits<admit_without_payload>>},
    Mutant{.name = "vlan_priority_must_be_the_paths",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "A packet whose tag has another priority than the QP's path is dropped, "
                          "although the VLAN is right; priority tags (VID 0) too.",
           .checks = engine::kStandardChecks.with(PacketCheck::Vlan, tag_fits_as_a_whole)},
    Mutant{.name = "fecn_comes_back_as_becn",
           .rule = "BTH-17",
           .description = "FECN in the BTH of a request sets BECN in the next response.",
           .make_filter = make<ReturnsFecn>},
    Mutant{.name = "qkey_high_bit_not_compared",
           .rule = "EXT-05",
           .description = "A datagram is delivered when its Q_Key differs from the QP's in bit 31 "
                          "alone.",
           .checks = engine::kStandardChecks.with(DatagramCheck::Qkey, qkey_without_high_bit)},
    Mutant{.name = "solicited_event_taken_from_first_packet",
           .rule = "BTH-13",
           .description = "Of a message of several packets the SE bit of the first one counts, not "
                          "that of the last.",
           .make_filter = make<SolicitedByFirst>},
    Mutant{.name = "grh_must_fit_into_first_sge",
           .rule = "EXT-05",
           .description = "Datagrams that meet a receive whose first SGE is shorter than the 40 "
                          "bytes of the GRH are dropped, however much room there is in all.",
           .make_filter = make<GrhInFirstSge>},
    Mutant{.name = "drep_of_unknown_connection_keeps_ids",
           .rule = "CM-09",
           .description = "The DREP for a DREQ of no known connection has the two communication "
                          "ids in the places of the DREQ, not exchanged.",
           .make_filter = make<DrepKeepsIds>},
    Mutant{.name = "tail_of_duplicate_write_is_placed",
           .rule = "RSP-15",
           .description = "A duplicate MIDDLE or LAST of a WRITE is written behind what came last "
                          "of the newest WRITE, as far as its region goes.",
           .make_filter = make<DuplicateTailIsPlaced>},
    Mutant{.name = "duplicate_read_grows_up_to_whole_packets",
           .rule = "RDR-07",
           .description = "A duplicate READ that is longer than the original is answered if it "
                          "takes no more packets.",
           .cases = "rdr/longer-duplicate",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::WithinRead, within_packets_of_read)},
    Mutant{.name = "duplicate_atomic_is_looked_up_by_address",
           .rule = "ATM-04",
           .description = "A duplicate atomic is answered with what the newest atomic to the same "
                          "address found.",
           .make_filter = make<ReplaysByAddress>},
    Mutant{.name = "nak_state_outlives_read",
           .rule = "RSP-06",
           .description = "When a READ or atomic fills a gap that was NAKed, the next gap draws no "
                          "sequence NAK.",
           .make_filter = make<NakOutlivesRead>},
    Mutant{.name = "rnr_nak_of_write_names_its_first_packet",
           .rule = "RNR-01",
           .description = "The RNR NAK for the LAST of a WRITE with immediate data has the PSN of "
                          "the WRITE's FIRST.",
           .make_filter = make<RnrAtFirst>},
    Mutant{.name = "nak_of_last_packet_counts_its_message",
           .rule = "ACK-08",
           .description = "The MSN of a fatal NAK for a LAST counts the refused message.",
           .make_filter = make<RefusedLastCounts>},
    Mutant{.name = "duplicate_ack_covers_rnr_naked_request",
           .rule = "RSP-10",
           .description = "After an RNR NAK a duplicate of the request before is acknowledged with "
                          "the PSN of the refused one.",
           .make_filter = make<DuplicateAckCountsRefused>},
    Mutant{.name = "bad_lkey_behind_first_packet_is_invalid_request",
           .rule = "KEY-12",
           .description = "A wrong lkey of a receive that a later packet of a SEND reaches is "
                          "NAKed as invalid request, not as remote operational error.",
           .cases = "key/receive-lkey-of-a-later-piece",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveMemory,
                                                  later_lkey_fault_is_the_peers)},
    Mutant{.name = "uc_resumes_at_only_packets",
           .rule = "EXT-06",
           .description = "After a loss on UC messages of several packets are dropped until one of "
                          "a single packet has come.",
           .make_filter = make<UcResumesAtOnly>},
    Mutant{.name = "cnp_names_the_first_qp_of_the_address",
           .rule = "CNP-02",
           .description = "CNPs for all QPs of one peer name the QP whose packet was marked first.",
           .make_filter = make<CnpByAddress>},
    Mutant{.name = "atomics_of_other_qps_are_not_seen",
           .rule = "ATM-09",
           .description = "An atomic works on the value that its QP left in that place last, when "
                          "only an atomic of another QP has changed it since.",
           .make_filter = make<AtomicUnitsApart>},
    Mutant{.name = "old_key_opens_region_of_same_index",
           .rule = "KEY-08",
           .description = "The key that a QP used last opens, on this QP, the region that has its "
                          "index after the first one was deregistered.",
           .cases = "key/old-key-of-a-newer-region",
           .make_filter = make<OldKeyOpensNewRegion>},
    Mutant{.name = "reads_are_not_served_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A QP in SQD drops READ requests; it serves SENDs, WRITEs and atomics.",
           .checks = engine::kStandardChecks.with(RequestCheck::State, no_read_in_sqd)},
    Mutant{.name = "duplicate_send_revokes_key_again",
           .rule = "RSP-10",
           .description = "A duplicate SEND with invalidate revokes the window once more that was "
                          "bound again with the same key.",
           .make_filter = make<DuplicateRevokes>},
    Mutant{.name = "atomic_alignment_counts_from_region_start",
           .rule = "ATM-02",
           .description = "The alignment of atomics and ATOMIC WRITEs is that of the offset in "
                          "their region, not of the virtual address.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::AtomicAlignment, aligned_in_region)},
    Mutant{.name = "flush_makes_duplicate_atomic_write_new",
           .rule = "EXT-04",
           .description = "A duplicate ATOMIC WRITE is written again when a FLUSH was executed "
                          "after the original.",
           .cases = "ext/atomic-write-behind-a-flush",
           .make_filter = make<FlushForgetsAtomicWrites>},
    Mutant{.name = "receive_held_out_of_srq_is_not_flushed",
           .rule = "STA-07",
           .description = "The receive that an unfinished SEND holds out of a shared queue does "
                          "not complete when the host, or another request, brings the QP to ERR.",
           .cases = "sta/held-shared-receive-flushed",
           .make_filter = make<HeldReceiveIsLost>},
    Mutant{.name = "write_goes_on_at_other_qps_address",
           .rule = "KEY-14",
           .description = "A MIDDLE or LAST of a WRITE right behind the FIRST of another QP's is "
                          "written to that one's memory.",
           .make_filter = make<ForwardsToOtherQp>},
};

} // namespace
} // namespace veriroce::mutants::of_blind16_responder

namespace veriroce::mutants {

std::span<const Mutant> blind16_responder() {
    return of_blind16_responder::kMutants;
}

} // namespace veriroce::mutants
