// Defects of responders, written blind: headers, keys and memory, UC and UD, CNPs, connection
// management, states, completions and events.
//
// Three devices are thought of. The first is an FPGA core with a 64-byte data path: the first beat
// of a frame is judged while the rest still comes, and answers are made in the buffer of the
// request. The second is a NIC of many small processors that keep the contexts of QPs, keys and
// windows in caches, and write them back late. The third is a card whose fast path is a fixed
// pipeline, while a driver in the host does what is rare: states, faults, events, management.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/mutants.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind23_responder {
namespace {

using engine::kStandardChecks;
using engine::PacketCheck;
using engine::RequestCheck;
using engine::RequestVerdict;

// --- the core with the wide data path

constexpr std::size_t kBeat = 64;

// The verdict on the ICRC comes one beat behind the data; a frame of one beat has passed by then.
// Shows when: a frame of at most 64 bytes up to its ICRC (IPv4, no or 4 bytes of payload) has a bad
// ICRC.
std::optional<engine::OwnedDatagram> one_beat(wire::Bytes frame) {
    const auto right = wire::unseal(frame);
    if (right || right.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || decoded->outer.icrc_at + wire::kIcrcBytes > kBeat) return std::nullopt;
    const wire::Datagram datagram = decoded->datagram();
    return engine::OwnedDatagram{.envelope = datagram.envelope,
                                 .bytes = {datagram.bytes.begin(), datagram.bytes.end()}};
}

// The parser's row for a tag of VLAN 0 leads to IPv4 only.
// Shows when: an IPv6 packet comes with a priority tag (VLAN 0).
bool tagged_ipv6(const engine::PacketView& view) {
    const bool priority_alone = view.envelope.vlan && view.envelope.vlan->id == 0;
    if (priority_alone && !view.envelope.destination.v4()) return false;
    return engine::packet_check::vlan(view);
}

struct AskedBits {
    std::optional<wire::Psn> psn; // of the newest request that asked for an ACK
    std::uint8_t reserved7 = 0;
};

// The ACK is made over the request, of whose byte 8 only the top bit is cleared.
// Shows when: a SEND or WRITE with AckReq has reserved bits set in byte 8 of its BTH.
class KeepsReservedBits final : public QpFilter<AskedBits> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Bth& bth = passage.packet.bth;
        if (!is_rc_request(passage.packet) || !bth.ack_request) return;
        qp.memory = {.psn = bth.psn, .reserved7 = bth.reserved7};
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_ack(packet) || qp.memory.psn != packet.bth.psn) return;
        packet.bth.reserved7 = qp.memory.reserved7;
    }
};

// The P_Key is compared where a message gets its context.
// Shows when: a MIDDLE or LAST of a message that goes on comes with a foreign P_Key.
bool pkey_of_first(const engine::PacketView& view) {
    if (view.info.request() && !view.info.starts_message()) return true;
    return engine::packet_check::pkey(view);
}

// The compare is as wide as an IPv4 address.
// Shows when: a request over IPv6 has a source address that differs from the peer's in its upper 96
// bits alone.
bool low_word_of_source(const engine::PacketView& view) {
    const wire::IpAddress& peer = view.path().destination;
    const bool v6 = !view.envelope.source.v4() && !peer.v4();
    if (view.connection.type == engine::QpType::Ud || !v6) {
        return engine::packet_check::source_address(view);
    }
    return view.envelope.source.low32() == peer.low32();
}

bool listens(const engine::QpReport& report) {
    return report.state == engine::QpState::Rtr || report.state == engine::QpState::Rts ||
           report.state == engine::QpState::Sqd;
}

struct LongWrite {
    OpenWrite write;
    bool dead = false; // a fatal NAK was sent
};

// The byte enables of the last beat come from its word count.
// Shows when: a WRITE of several packets has a length that is no multiple of 4, and the bytes
// behind its range, in the same region, are not those of its pad.
class WritesPad final : public DmaFilter<LongWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        OpenWrite& write = qp.memory.write;
        if (!is_rc_request(packet) || !listens(qp.report) || qp.memory.dead) return;
        if (!of_this_connection(qp.report, passage)) return;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        if (packet.info().position != wire::Position::Last || packet.pad_exceeds_body()) return;
        const std::uint64_t end = write.begin + packet.payload().size();
        if (end != write.reth.virtual_address + write.reth.dma_length) return;
        const wire::MutableBytes behind = regions().at(write.reth.rkey, end, packet.bth.pad);
        std::ranges::copy(packet.body.last(behind.size()), behind.begin());
    }
    void leaves(Qp& qp, Passage& passage) override {
        heed_nak(qp.memory.write.arrivals, passage.packet);
        qp.memory.dead |= is_fatal_nak(passage.packet);
    }
};

// The bound of a region is kept in lines of 64 bytes; the DMA engine, which knows it exactly, cuts
// off what is too much.
// Shows when: a WRITE ONLY runs over the end of a region that does not end at a multiple of 64, and
// ends before that multiple: it is acknowledged.
class RoundsRegionEnd final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_write(packet) || packet.info().position != wire::Position::Only) return;
        const auto region = regions().live(packet.reth.rkey);
        const wire::Bytes payload = packet.payload();
        if (!region || payload.size() != packet.reth.dma_length) return;
        const std::uint64_t address = packet.reth.virtual_address;
        if (address < region->address) return;
        const std::uint64_t offset = address - region->address;
        const std::uint64_t size = region->memory.size();
        if (offset >= size || payload.size() <= size - offset) return;
        const std::uint64_t excess = payload.size() - (size - offset);
        if (excess > (0 - (region->address + size)) % kBeat) return;
        cut(packet, static_cast<std::size_t>(size - offset));
    }

  private:
    void cut(wire::Packet& packet, std::size_t length) {
        const wire::Bytes kept = packet.payload().first(length);
        body_.assign(kept.begin(), kept.end());
        packet.bth.pad = wire::pad_of(length);
        body_.resize(length + packet.bth.pad);
        packet.body = body_;
        packet.reth.dma_length = static_cast<std::uint32_t>(length);
    }

    std::vector<std::byte> body_; // of the packet that is changed
};

// The scatter list is kept in words; only the first piece has a shifter.
// Shows when: a receive has two or more pieces, one behind the first begins at an address that is
// no multiple of 4, and a message reaches it.
class RoundsLaterPieces final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (request.sges.size() < 2) return;
        pieces_.assign(request.sges.begin(), request.sges.end());
        for (std::size_t i = 1; i < pieces_.size(); ++i) {
            const auto region = regions().live({pieces_[i].lkey.value});
            const std::uint64_t word = pieces_[i].address & ~std::uint64_t{3};
            if (region && word >= region->address) pieces_[i].address = word;
        }
        request.sges = pieces_;
    }

  private:
    std::vector<engine::Sge> pieces_; // of the newest request
};

// The length of a WRITE is counted in words where it passes.
// Shows when: a WRITE with immediate data has a length that is no multiple of 4: byte_len.
class CountsWords final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        const bool meant = one.status == engine::WcStatus::Success &&
                           one.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (meant) seen.byte_len += wire::pad_of(one.byte_len);
        return seen;
    }
};

// --- the caches of contexts

// A bind writes the new key through, and the cache still has the old one beside it.
// Shows when: a window of type 1 is bound again, and a WRITE or an atomic names the key of the bind
// before.
RequestVerdict former_key_of_window(const engine::RequestView& view) {
    if (view.target) {
        const engine::Region& slot = view.memory.slot(view.target->rkey.value);
        const bool window = slot.live && slot.kind == engine::KeyKind::WindowType1;
        const std::uint32_t behind = (slot.key - view.target->rkey.value) & 0xFF;
        const bool same_slot = slot.key >> 8 == view.target->rkey.value >> 8;
        if (window && same_slot && behind == 1) return RequestVerdict::Accept;
    }
    return engine::request_check::key_variant(view);
}

// The key is fetched ahead for each WRITE that takes a receive, and a miss is a fault at once.
// Shows when: a WRITE ONLY with immediate data and no bytes names a key that does not exist.
RequestVerdict key_of_empty_write(const engine::RequestView& view) {
    const bool empty = !view.target && view.info.operation == wire::Operation::RdmaWrite &&
                       view.info.immediate() && view.packet.headers.has(wire::Header::Reth);
    if (empty && !view.memory.slot(view.packet.reth.rkey.value).live) {
        return RequestVerdict::NakRemoteAccess;
    }
    return engine::request_check::key_known(view);
}

// The address is translated to a place in the region before its low bits are looked at.
// Shows when: an atomic names a region or a window that does not begin at a multiple of 8.
RequestVerdict alignment_of_offset(const engine::RequestView& view) {
    if (!view.packet.headers.has(wire::Header::AtomicEth)) {
        return engine::request_check::atomic_alignment(view);
    }
    const wire::AtomicEth& asked = view.packet.atomic;
    const engine::Region& region = view.memory.slot(asked.rkey.value);
    const std::uint64_t begin = region.live ? region.address : 0;
    return (asked.virtual_address - begin) % 8 != 0 ? RequestVerdict::NakInvalidRequest
                                                    : RequestVerdict::Accept;
}

struct Interrupted {
    Arrivals arrivals;
    bool by_cnp = false;
};

// The microcode keeps what is left of a message in one word with the newest opcode, and a CNP is an
// opcode as well.
// Shows when: a CNP for the QP comes inside of a message of several packets: what follows is
// refused.
class LosesPlaceByCnp final : public QpFilter<Interrupted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Interrupted& memory = qp.memory;
        if (!listens(qp.report) || !of_this_connection(qp.report, passage)) return;
        if (is_cnp(packet)) memory.by_cnp |= memory.arrivals.open;
        if (!is_rc_request(packet)) return;
        const auto place = memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        const bool lost = memory.by_cnp && !packet.info().starts_message();
        memory.by_cnp = false;
        // A message that begins inside of another one: the engine refuses it.
        if (lost) set_opcode(packet, packet.info().operation, wire::Position::Only);
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory.arrivals, passage.packet); }
};

struct Marked {
    std::optional<wire::Psn> psn; // of the newest request that came marked and asked for an ACK
    bool told = false;            // a CNP has left for it
};

// A packet has room for one answer; the CNP is made first.
// Shows when: a SEND or WRITE that asks for an ACK comes marked (CE), and a CNP answers it: the ACK
// comes for the repetition only.
class AnswersMarkAlone final : public QpFilter<Marked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet)) return;
        qp.memory = {};
        const bool marked = passage.envelope.ecn == wire::kCongestionExperienced;
        if (marked && passage.packet.bth.ack_request) qp.memory.psn = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Marked& memory = qp.memory;
        if (is_cnp(packet)) memory.told = memory.psn.has_value();
        if (!memory.told || !is_ack(packet) || packet.bth.psn != *memory.psn) return;
        passage.dropped = true;
        memory = {};
    }
};

// The header of the marked packet is turned around; for IPv4 its ECN bits are cleared.
// Shows when: a marked packet over IPv6 is answered by a CNP.
void marked_cnp(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    const bool v6 = !datagram.envelope.destination.v4();
    if (is_cnp(packet) && v6) datagram.envelope.ecn = wire::kCongestionExperienced;
}

struct Ended {
    bool dead = false; // a fatal NAK was sent
};

// The notification point stands in front of the look at the state.
// Shows when: a request that is marked (CE) comes to a QP in ERR.
class NotifiesInError final : public QpFilter<Ended> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const bool error = qp.memory.dead || qp.report.state == engine::QpState::Err;
        const bool marked = passage.envelope.ecn == wire::kCongestionExperienced;
        if (!error || !marked || !is_rc_request(passage.packet)) return;
        if (!of_this_connection(qp.report, passage)) return;
        wire::Envelope envelope = qp.answering(passage.envelope);
        envelope.dscp = engine::NotificationPoint{}.dscp;
        envelope.ecn = 0;
        passage.sent.push_back(
            datagram_of(notification(qp.peer(), passage.packet.bth.pkey), envelope));
    }
    void leaves(Qp& qp, Passage& passage) override {
        qp.memory.dead |= is_fatal_nak(passage.packet);
    }
};

// UC has a context of half the size, with the low 8 bits of the PSN.
// Shows when: a MIDDLE or LAST over UC comes with a PSN that is a multiple of 256 away from the
// expected one: the message is delivered.
class ComparesLowPsn final : public QpFilter<std::optional<wire::Psn>> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Bth& bth = passage.packet.bth;
        const wire::OpcodeInfo& info = passage.packet.info();
        std::optional<wire::Psn>& next = qp.memory;
        if (info.service != wire::Service::Uc || !info.request()) return;
        if (info.starts_message()) {
            next = bth.psn + 1;
            return;
        }
        if (!next) return;
        if (((bth.psn.value() ^ next->value()) & 0xFF) == 0) bth.psn = *next;
        if (bth.psn == *next) {
            *next += 1;
        } else {
            next.reset();
        }
    }
};

struct Life {
    bool begun = false; // something has left since RESET
};

// RESET empties the context and not the cache of atomic results, which goes by QPN and PSN.
// Shows when: a QP is reset and connected again with the same first PSN, and its new atomic has the
// PSN of the newest atomic of the life before: it is carried out, and the old value returned.
class RemembersFormerLife final : public QpFilter<Life> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Results& results = results_[qp.report.qpn];
        if (!qp.memory.begun) results = {.former = results.newest, .newest = {}};
        qp.memory.begun = true;
        if (packet.info().operation != wire::Operation::AtomicAcknowledge) return;
        if (results.former && results.former->psn == packet.bth.psn) {
            packet.atomic_ack.original = results.former->original;
        }
        results.newest = {.psn = packet.bth.psn, .original = packet.atomic_ack.original};
    }

  private:
    struct Entry {
        wire::Psn psn;
        std::uint64_t original = 0;
    };
    struct Results {
        std::optional<Entry> former{}; // of the life before
        std::optional<Entry> newest{};
    };
    std::map<wire::Qpn, Results> results_;
};

// The immediate data of the QP's newest completion stay in the cached entry; a SEND with Invalidate
// sets its own flag and clears no other.
// Shows when: on one QP a message with immediate data and later a SEND with Invalidate complete.
class KeepsImmediate final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        const bool received =
            one.queue == engine::Queue::Receive && one.status == engine::WcStatus::Success;
        if (!received) return seen;
        const auto known = newest_.find(one.qp);
        if (one.invalidated_rkey && known != newest_.end()) seen.imm = known->second;
        if (one.imm) newest_.insert_or_assign(one.qp, *one.imm);
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> newest_;
};

// --- the fast path and the driver

// READs and atomics are answered by the unit that sends requests, which SQD has stopped.
// Shows when: a READ, an atomic, a FLUSH or an ATOMIC WRITE comes to a QP in SQD: nothing answers.
RequestVerdict stopped_in_sqd(const engine::RequestView& view) {
    const bool stopped = view.connection.state == engine::QpState::Sqd;
    if (stopped && engine::wants_response(view.info)) return RequestVerdict::Drop;
    return engine::request_check::state(view);
}

// The driver takes the top bit of the Q_Key for the mark of a controlled key and masks it.
// Shows when: a datagram's Q_Key differs from the QP's in bit 31 alone: it is delivered.
bool low_bits_of_qkey(const engine::DatagramView& view) {
    constexpr std::uint32_t high_bit = 0x80000000;
    return ((view.packet.deth.qkey.value ^ view.connection.qkey.value) & ~high_bit) == 0;
}

// The GRH is rebuilt from what the pipeline's record has; that of IPv6 has no traffic class.
// Shows when: a datagram over IPv6 with a DSCP is received: the traffic class in its GRH.
class LosesTrafficClass final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool meant = packet && packet->info().service == wire::Service::Ud &&
                           packet->bth.dest_qp != wire::kGsiQpn;
        if (meant && !datagram.envelope.destination.v4()) datagram.envelope.dscp = 0;
        in.push_back(std::move(datagram));
    }
};

// Whether it is a message of connection management, as far as its length allows to say.
bool of_connection_management(const wire::Packet& packet) {
    constexpr std::size_t least = 64;
    return packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn &&
           packet.body.size() >= least &&
           wire::load_u8(packet.body, wire::cm::kClassAt) == wire::kCmClass;
}

// The driver copies each MAD into a cleared buffer of 256 bytes and forgets how long it was.
// Shows when: a REQ or DREQ of 64 to 252 bytes is sent: it is answered.
class FillsShortMads final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && of_connection_management(*packet) && packet->bth.pad == 0 &&
            packet->body.size() < wire::kMadBytes) {
            std::array<std::byte, wire::kMadBytes> whole{};
            std::ranges::copy(packet->body, whole.begin());
            packet->body = whole;
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }
};

// The pipeline hands on the REQs of the IP service range; others have no listener, and no answer.
// Shows when: a REQ for an unknown service has an ID that does not begin with 0x0000000001: no REJ.
bool of_other_services(const engine::OwnedDatagram& datagram) {
    constexpr std::uint64_t ip_services = 1;
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && of_connection_management(*packet) &&
           wire::cm::attribute_of(packet->body) == wire::cm::kReq &&
           wire::load_u64(packet->body, wire::cm::req::kServiceAt) >> 24 != ip_services;
}

// ibv_query_qp answers out of the driver's copy, which is written by ibv_modify_qp.
// Shows when: a fault of a request ends a QP (a fatal NAK), and its state is queried: not ERR.
class TellsAskedState final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state) asked_.insert_or_assign(qpn, *attributes.state);
    }
    void qp_changed(const engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        const bool by_host = asked != asked_.end() && asked->second == engine::QpState::Err;
        if (report.state == engine::QpState::Err && !by_host) return;
        told_.insert_or_assign(report.qpn, report.state);
    }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (report.state != engine::QpState::Err || told == told_.end()) return;
        report.state = told->second;
        report.attributes.state = told->second;
    }

  private:
    std::map<wire::Qpn, engine::QpState> asked_;
    std::map<wire::Qpn, engine::QpState> told_;
};

struct FirstBit {
    Arrivals arrivals;
    bool solicited = false; // the message began with SE
};

// The record of a message is made at its first packet, with SE.
// Shows when: a FIRST has SE, its LAST has not, and the queue is armed for solicited completions.
class TakesFirstSolicited final : public QpFilter<FirstBit> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        FirstBit& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        const auto place = memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        if (packet.info().starts_message()) memory.solicited = packet.bth.solicited;
        if (packet.info().ends_message()) packet.bth.solicited |= memory.solicited;
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory.arrivals, passage.packet); }
};

// The pipeline completes the receive that is too short, and the driver flushes from there on.
// Shows when: a SEND is longer than its receive: that receive completes twice.
class CompletesAndFlushes final : public engine::SurfaceFilter {
  public:
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        seen.push_back(one);
        const bool too_short =
            one.queue == engine::Queue::Receive && one.status == engine::WcStatus::LocLenErr;
        if (!too_short) return;
        seen.push_back(one);
        seen.back().status = engine::WcStatus::WrFlushErr;
    }
};

// The event waits for the receive that the pipeline still holds, and is then forgotten.
// Shows when: a QP of a shared receive queue is moved to ERR inside of a SEND of several packets:
// no LAST_WQE_REACHED.
class ForgetsLastWqe final : public QpFilter<Arrivals> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& /*request*/) override {
        with_own_queue_.insert(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.state) return;
        const bool ends = *attributes.state == engine::QpState::Err;
        const bool begins_anew = *attributes.state == engine::QpState::Reset;
        if (ends && in_send_.contains(qpn) && !with_own_queue_.contains(qpn)) ++hidden_;
        if (ends || begins_anew) in_send_.erase(qpn);
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::LastWqeReached || hidden_ == 0) return event;
        --hidden_;
        return std::nullopt;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || !listens(qp.report)) return;
        if (!of_this_connection(qp.report, passage)) return;
        const auto place = qp.memory.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        const bool send = packet.info().operation == wire::Operation::Send;
        if (send && qp.memory.open) {
            in_send_.insert(qp.report.qpn);
        } else {
            in_send_.erase(qp.report.qpn);
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        heed_nak(qp.memory, packet);
        if (is_rnr_nak(packet) || is_fatal_nak(packet)) in_send_.erase(qp.report.qpn);
    }

  private:
    std::set<wire::Qpn> with_own_queue_; // that have receives of their own
    std::set<wire::Qpn> in_send_;        // inside of a SEND
    std::uint32_t hidden_ = 0;           // events that will not be told
};

constexpr std::array kMutants{
    Mutant{.name = "one_beat_frames_pass_with_bad_icrc",
           .rule = "CRC-07",
           .description = "Frames of at most 64 bytes are taken in with a bad ICRC.",
           .make_filter = make<Admits<one_beat>>},
    Mutant{.name = "priority_tag_over_ipv6_dropped",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "IPv6 packets with a tag of VLAN 0 are dropped.",
           .checks = kStandardChecks.with(PacketCheck::Vlan, tagged_ipv6)},
    Mutant{.name = "ack_keeps_reserved_bits_of_its_request",
           .rule = "BTH-16",
           .description = "An ACK carries the reserved bits 6:0 of BTH byte 8 of the request.",
           .make_filter = make<KeepsReservedBits>},
    Mutant{.name = "pkey_compared_where_a_message_begins",
           .rule = "BTH-07",
           .description = "MIDDLE and LAST requests are taken with any P_Key.",
           .checks = kStandardChecks.with(PacketCheck::Pkey, pkey_of_first)},
    Mutant{.name = "ipv6_source_compared_by_its_last_word",
           .rule = "ENC-14",
           .description = "Of an IPv6 source address only the last 32 bits are compared.",
           .checks = kStandardChecks.with(PacketCheck::SourceAddress, low_word_of_source)},
    Mutant{.name = "pad_of_a_long_write_reaches_memory",
           .rule = "KEY-14",
           .description = "The pad of a WRITE LAST is written behind the range of the WRITE.",
           .make_filter = make<WritesPad>},
    Mutant{.name = "write_may_end_in_the_last_line_of_a_region",
           .rule = "KEY-05",
           .description = "A WRITE ONLY that ends behind its region, but in the same 64 bytes, is "
                          "acknowledged; what lies behind is not written.",
           .make_filter = make<RoundsRegionEnd>},
    Mutant{.name = "later_receive_pieces_begin_at_a_word",
           .rule = "KEY-14",
           .description = "The second and later pieces of a receive begin at an address that is "
                          "rounded down to 4.",
           .make_filter = make<RoundsLaterPieces>},
    Mutant{.name = "write_immediate_length_counts_its_pad",
           .rule = "N-15",
           .description = "byte_len of a WRITE with immediate data is rounded up to 4.",
           .make_filter = make<CountsWords>},
    Mutant{.name = "type1_window_opens_to_its_former_key",
           .rule = "KEY-08",
           .description = "WRITEs and atomics reach a window of type 1 by the key that it had "
                          "before it was bound again.",
           .cases = "key/window-lost-inside-a-write key/window-old-keys-of-type-1",
           .checks = kStandardChecks.with(RequestCheck::KeyVariant, former_key_of_window)},
    Mutant{.name = "key_of_empty_write_immediate_checked",
           .rule = "N-15",
           .description = "A WRITE with immediate data and no bytes is refused if there is no "
                          "such key.",
           .checks = kStandardChecks.with(RequestCheck::KeyKnown, key_of_empty_write)},
    Mutant{.name = "atomic_aligned_by_its_place_in_the_region",
           .rule = "ATM-02",
           .description = "Not the address of an atomic must be a multiple of 8, but its distance "
                          "from the beginning of the region or window.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, alignment_of_offset)},
    Mutant{.name = "cnp_inside_a_message_breaks_it",
           .rule = "CNP-12",
           .description = "After a CNP the next packet of an open message is refused (0x61).",
           .make_filter = make<LosesPlaceByCnp>},
    Mutant{.name = "cnp_takes_the_place_of_the_ack",
           .rule = "ACK-01",
           .description = "A marked request that is answered by a CNP gets no ACK.",
           .make_filter = make<AnswersMarkAlone>},
    Mutant{.name = "cnp_over_ipv6_leaves_marked",
           .rule = "CA17-14",
           .description = "CNPs over IPv6 leave with ECN 11.",
           .make_filter = make<EditsSentDatagram<marked_cnp>>},
    Mutant{.name = "qp_in_error_answers_marks",
           .rule = "STA-07",
           .description = "A marked request to a QP in ERR is answered by a CNP.",
           .make_filter = make<NotifiesInError>},
    Mutant{.name = "uc_compares_eight_bits_of_the_psn",
           .rule = "EXT-06",
           .description = "A UC message of which 256 packets are missing goes on.",
           .cases = "ext/unreliable-gap-of-every-power",
           .make_filter = make<ComparesLowPsn>},
    Mutant{.name = "atomic_result_of_former_life_returned",
           .rule = "STA-10",
           .description = "After RESET an atomic with the PSN of the last one before it returns "
                          "what that one found.",
           .make_filter = make<RemembersFormerLife>},
    Mutant{.name = "invalidate_completes_with_old_immediate",
           .rule = "KEY-11",
           .description = "The completion of a SEND with Invalidate also has the immediate data of "
                          "an earlier message.",
           .cases = "key/invalidate-behind-an-immediate",
           .make_filter = make<KeepsImmediate>},
    Mutant{.name = "reads_and_atomics_unanswered_in_sqd",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "In SQD a QP drops requests that want more than an ACK.",
           .checks = kStandardChecks.with(RequestCheck::State, stopped_in_sqd)},
    Mutant{.name = "qkey_compared_without_its_high_bit",
           .rule = "EXT-05",
           .description = "A datagram whose Q_Key differs in bit 31 alone is delivered.",
           .checks = kStandardChecks.with(engine::DatagramCheck::Qkey, low_bits_of_qkey)},
    Mutant{.name = "grh_of_ipv6_lacks_its_traffic_class",
           .rule = "EXT-05",
           .description = "The GRH of a datagram over IPv6 has DSCP 0.",
           .cases = "ext/datagram-header-class",
           .make_filter = make<LosesTrafficClass>},
    Mutant{.name = "short_mad_filled_up_with_zeros",
           .rule = "N-31",
           .description = "Messages of connection management of less than 256 bytes are answered.",
           .make_filter = make<FillsShortMads>},
    Mutant{.name = "req_outside_ip_services_unanswered",
           .rule = "CM-06",
           .description = "A REQ whose service ID is not one of the IP service gets no REJ.",
           .make_filter = make<DropsInbound<of_other_services>>},
    Mutant{.name = "query_tells_the_state_that_was_asked_for",
           .rule = "STA-12",
           .description = "After a fatal NAK the queried state is that of the last modify.",
           .make_filter = make<TellsAskedState>},
    Mutant{.name = "solicited_bit_of_first_packet_counts",
           .rule = "BTH-13",
           .description = "SE of a FIRST makes the message's completion a solicited one.",
           .make_filter = make<TakesFirstSolicited>},
    Mutant{.name = "too_short_receive_completes_twice",
           .rule = "STA-07",
           .description = "A receive that was too short for its SEND is flushed after its error.",
           .make_filter = make<CompletesAndFlushes>},
    Mutant{.name = "last_wqe_event_lost_inside_a_send",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP of a shared receive queue that is moved to ERR while a SEND is "
                          "open raises no LAST_WQE_REACHED.",
           .cases = "sta/last-receive-inside-a-send",
           .make_filter = make<ForgetsLastWqe>},
};

} // namespace
} // namespace veriroce::mutants::of_blind23_responder

namespace veriroce::mutants {

std::span<const Mutant> blind23_responder() {
    return of_blind23_responder::kMutants;
}

} // namespace veriroce::mutants
