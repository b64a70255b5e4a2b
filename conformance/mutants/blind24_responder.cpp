// Defects of the responder side, written without a look at the cases. Three devices are in mind:
// - "Heron", a NIC whose microcode works on a QP context in 64-bit words and keeps one mailbox for
//   each kind of object: comparisons of half a word, context words that are written too often.
// - "Loom", an FPGA core with a wide streaming datapath: pad, offsets and tails are counted by
//   narrow counters, and datagrams are built out of buffers that are never cleared.
// - "Relay", a software responder on the cores of a DPU: packets are steered to a core by their
//   flow, and a control process in a slower language serves events, windows and QP 1.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_blind24_responder {
namespace {

using engine::DatagramCheck;
using engine::PacketCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;

constexpr const engine::Checks& kStandard = engine::kStandardChecks;

// Whether the QP hears this request at all; what its right device drops leaves no trace.
template <typename Qp>
bool heard(const Qp& qp, const Passage& passage) {
    return engine::receives(qp.report.state) && passage.packet.info().request() &&
           of_this_connection(qp.report, passage);
}

bool is_uc_request(const wire::Packet& packet) {
    return packet.info().request() && packet.info().service == wire::Service::Uc;
}

// --- headers

// ENC-14: Heron loads one word of each address.
// Shows when: a request comes from an IPv6 address that differs from the peer's in its first 64
// bits only.
bool same_interface_id(const engine::PacketView& view) {
    constexpr std::size_t low_half = 8;
    return view.connection.type == engine::QpType::Ud ||
           wire::load_u64(view.envelope.source.bytes, low_half) ==
               wire::load_u64(view.path().destination.bytes, low_half);
}

// N-05: Heron looks whether the whole tag is zero.
// Shows when: a packet to a QP without VLAN has VID 0 and a priority other than 0.
bool no_tag_or_all_zero(const engine::PacketView& view) {
    const bool connected = view.connection.type != engine::QpType::Ud;
    if (connected && !view.path().vlan && view.envelope.vlan && view.envelope.vlan->priority != 0) {
        return false;
    }
    return engine::packet_check::vlan(view);
}

struct FirstPort {
    std::optional<std::uint16_t> port; // of the first packet of the newest message
};

// ENC-03: Relay steers by the source port, and the other core does not know the message.
// Shows when: a MIDDLE or LAST comes from another UDP source port than the FIRST of its message.
class LosesMessageOfOtherPort final : public QpFilter<FirstPort> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!heard(qp, passage)) return;
        auto& port = qp.memory.port;
        if (passage.packet.info().starts_message()) port = passage.envelope.source_port;
        if (port && *port != passage.envelope.source_port) passage.dropped = true;
    }
};

// CRC-02: Loom makes its CNP in the buffer of the packet that was marked.
// Shows when: a MIDDLE of a SEND or WRITE is marked CE.
RequestVerdict marked_middle_lost(const RequestView& view) {
    const bool marked = view.envelope.ecn == wire::kCongestionExperienced;
    if (marked && view.info.position == Position::Middle) return RequestVerdict::Drop;
    return engine::request_check::state(view);
}

// --- keys and memory

const engine::Region& region_of(const RequestView& view) {
    return view.memory.slot(view.target->rkey.value);
}

// KEY-09: Heron keeps the end of a window in words of eight bytes.
// Shows when: a window ends off a multiple of eight, and a request touches its last bytes.
RequestVerdict window_of_whole_words(const RequestView& view) {
    const RequestVerdict standard = engine::request_check::key_range(view);
    if (standard != RequestVerdict::Accept || !view.target || view.target->whole) return standard;
    const engine::Region& window = region_of(view);
    if (window.kind == engine::KeyKind::Region) return standard;
    constexpr std::uint64_t word = 8;
    const std::uint64_t end = (window.address + window.bytes.size()) / word * word;
    const bool beyond = view.target->address + view.target->length > end;
    return beyond ? RequestVerdict::NakRemoteAccess : standard;
}

// N-37: Loom checks the range of the beats that it will send, pad included.
// Shows when: a READ of a length that is no multiple of four ends with its region.
RequestVerdict read_range_with_pad(const RequestView& view) {
    const RequestVerdict standard = engine::request_check::key_range(view);
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (standard != RequestVerdict::Accept || !read || !view.target) return standard;
    const std::uint64_t length = view.target->length + wire::pad_of(view.target->length);
    const bool covered = region_of(view).covers(view.target->address, length);
    return covered ? standard : RequestVerdict::NakRemoteAccess;
}

// KEY-03: Relay's table of windows has an owner for type 2 and nothing for type 1.
// Shows when: a QP of another protection domain writes through a window of type 1.
RequestVerdict type1_without_domain(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (view.target && !read && region_of(view).kind == engine::KeyKind::WindowType1) {
        return RequestVerdict::Accept;
    }
    return engine::request_check::key_domain(view);
}

// KEY-11: Relay asks its table whether the window is bound, and the unbinding fails unseen.
// Shows when: a SEND with Invalidate names a window of type 2 that another QP of the same domain
// has bound: the SEND succeeds and the QP lives.
RequestVerdict foreign_window_passes(const RequestView& view) {
    if (!view.info.invalidates()) return RequestVerdict::Accept;
    const wire::Rkey key = view.packet.ieth.rkey;
    const engine::Region& window = view.memory.slot(key.value);
    const bool bound = window.live && window.key == key.value &&
                       window.kind == engine::KeyKind::WindowType2 &&
                       window.pd == view.connection.pd;
    return bound ? RequestVerdict::Accept : engine::request_check::invalidate_key(view);
}

// N-15: Heron has the exception for empty WRITEs in the path without immediate data only.
// Shows when: a WRITE_ONLY with immediate data and length 0 has a key that names nothing.
RequestVerdict empty_immediate_needs_key(const RequestView& view) {
    const bool empty = view.info.operation == Operation::RdmaWrite && view.info.immediate() &&
                       view.packet.headers.has(wire::Header::Reth) &&
                       view.packet.reth.dma_length == 0;
    if (empty && !view.memory.slot(view.packet.reth.rkey.value).live) {
        return RequestVerdict::NakRemoteAccess;
    }
    return engine::request_check::key_known(view);
}

// N-16: Heron takes the domain out of the QP's context, also for the keys of shared receives.
// Shows when: a SEND with payload comes to a QP whose shared queue is in another domain.
RequestVerdict shared_keys_in_domain_of_qp(const RequestView& view) {
    const RequestVerdict standard = engine::request_check::receive_memory(view);
    if (standard != RequestVerdict::Accept || view.info.operation != Operation::Send) {
        return standard;
    }
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool reached =
        engine::reachable(view.memory, view.connection.pd, view.receive_sges, before,
                          view.packet.payload().size(), engine::Direction::ToMemory);
    return reached ? standard : RequestVerdict::NakRemoteOperational;
}

struct WrittenTail {
    OpenWrite write;
    bool dead = false; // a fatal NAK was sent
};

// KEY-14: Loom strips the pad where a message ends, and forgot the forms with immediate data.
// Shows when: a WRITE with immediate data ends off a multiple of four, and its region goes on.
class StoresPad final : public DmaFilter<WrittenTail> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (qp.memory.dead || !heard(qp, passage)) return;
        const wire::Packet& packet = passage.packet;
        OpenWrite& write = qp.memory.write;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        const std::size_t pad = packet.bth.pad;
        if (!packet.info().immediate() || pad == 0 || packet.pad_exceeds_body()) return;
        const auto region = regions().live(write.reth.rkey);
        const auto& rights = qp.report.attributes.access;
        if (!region || !region->access.remote_write || !rights || !rights->remote_write) return;
        const auto place =
            regions().at(write.reth.rkey, write.begin + packet.payload().size(), pad);
        if (!place.empty()) std::ranges::copy(packet.body.last(pad), place.begin());
    }
    void leaves(Qp& qp, Passage& passage) override {
        qp.memory.dead |= is_fatal_nak(passage.packet);
        heed_nak(qp.memory.write.arrivals, passage.packet);
    }
};

struct LongReads {
    ReadLog log;
    std::vector<std::byte> body; // of the packet that is changed
};

// RDR-01: Loom adds a counter of 16 bits to the address of a READ.
// Shows when: a READ of more than 64 KiB is answered: the rest repeats the beginning.
class WrapsReadOffset final : public DmaFilter<LongReads> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_read_request(packet) && heard(qp, passage)) qp.memory.log.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [log, body] = qp.memory;
        if (!is_read_response(packet)) return;
        const auto read = log.holding(packet.bth.psn);
        log.answer(packet.bth.psn);
        if (!read) return;
        constexpr std::uint64_t wraps_at = 0x10000;
        const wire::Reth& reth = read->request.reth;
        const auto packets =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t offset = packets * wire::bytes_of(qp.mtu());
        if (offset < wraps_at) return;
        const auto bytes = regions().at(reth.rkey, reth.virtual_address + offset % wraps_at,
                                        packet.payload().size());
        if (bytes.empty()) return;
        body.assign(bytes.begin(), bytes.end());
        body.resize(packet.body.size());
        packet.body = body;
    }
};

// --- UD and UC

// EXT-05: Loom keeps 16 bits of the flow label for the GRH that it places.
// Shows when: an IPv6 datagram to a UD QP has a flow label above 0xFFFF.
class ShortensFlowLabel final : public engine::SurfaceFilter {
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

// EXT-05: Loom hands the immediate data on with the first beat of the payload.
// Shows when: a UD datagram has immediate data and no payload.
class LosesLonelyImmediate final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        constexpr std::uint32_t grh_alone = 40;
        engine::Completion seen = completion;
        if (seen.grh && seen.byte_len == grh_alone) seen.imm.reset();
        return seen;
    }
};

// EXT-05: Heron compares the payload alone with the receive; its DMA then hits the end.
// Shows when: a datagram is longer than its receive by less than the 40 bytes of the GRH: the
// receive fails and the QP ends.
bool room_without_grh(const engine::DatagramView& view) {
    if (view.connection.qpn == wire::kGsiQpn) return engine::datagram_check::receive_room(view);
    return view.packet.payload().size() <= view.receive_bytes;
}

struct NextUc {
    std::optional<wire::Psn> psn; // that comes next
};

// EXT-06: Heron uses the packet that shows a gap for nothing but to count from it.
// Shows when: the FIRST or ONLY of a UC message comes behind a gap.
class LosesUcMessageBehindGap final : public QpFilter<NextUc> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_uc_request(packet) || !heard(qp, passage)) return;
        const bool gap = qp.memory.psn.value_or(qp.first_request()) != packet.bth.psn;
        qp.memory.psn = packet.bth.psn + 1;
        if (gap && packet.info().starts_message()) passage.dropped = true;
    }
};

struct OpenUcSend {
    bool open = false;
    wire::Psn next;
    std::int32_t by = 0; // PSNs that are missing in it
};

// EXT-06: Loom has a toggle for the lowest bit of the PSN.
// Shows when: two MIDDLEs of a UC SEND are lost (or four): it completes without them.
class SeesGapsByParity final : public QpFilter<OpenUcSend> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_uc_request(packet) || !heard(qp, passage)) return;
        OpenUcSend& send = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        if (packet.info().starts_message()) {
            const bool opens = packet.info().operation == Operation::Send;
            send = {.open = opens && !packet.info().ends_message(), .next = psn + 1};
            return;
        }
        if (!send.open) return;
        const std::int32_t gap = wire::distance(send.next, psn);
        const bool unseen = gap > 0 && gap % 2 == 0;
        if (unseen) send.by += gap;
        packet.bth.psn += -send.by;
        send.next = psn + 1;
        send.open = (gap == 0 || unseen) && !packet.info().ends_message();
    }
};

// KEY-01: Relay looks at the rights of a QP where it would make the NAK.
// Shows when: a UC WRITE comes to a QP without REMOTE_WRITE.
RequestVerdict no_rights_in_uc(const RequestView& view) {
    if (view.connection.type == engine::QpType::Uc) return RequestVerdict::Accept;
    return engine::request_check::rights(view);
}

// --- CNP

// CNP-02: Loom makes the CNP in a buffer that still holds the marked packet.
// Shows when: the marked packet has 16 bytes of payload or more, and they are not all zero.
class SendsHeadInCnp final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && datagram.envelope.ecn == wire::kCongestionExperienced) {
            head_ = {};
            if (packet->body.size() >= head_.size()) {
                std::ranges::copy(packet->body.first(head_.size()), head_.begin());
            }
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            packet->body = head_;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::array<std::byte, 16> head_{};
};

// --- connection management

// CM-09: Relay's control process makes a DREP of the DREQ by writing the attribute alone.
// Shows when: a DREQ with two different ids is answered.
void ids_as_they_came(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::ptrdiff_t id_bytes = 4;
    const bool management = packet.info().service == wire::Service::Ud &&
                            packet.deth.source_qp == wire::kGsiQpn &&
                            packet.body.size() == wire::kMadBytes;
    if (!management || wire::load_u8(packet.body, wire::cm::kClassAt) != wire::kCmClass) return;
    if (wire::cm::attribute_of(packet.body) != wire::cm::kDrep) return;
    const auto local = datagram.bytes.begin() +
                       static_cast<std::ptrdiff_t>(packet.header_bytes() + wire::cm::kLocalIdAt);
    std::swap_ranges(local, local + id_bytes, local + id_bytes);
}

// N-31: Relay reads the first 256 bytes of what came and never asks how many there were.
// Shows when: a datagram of more than 256 bytes comes to QP 1 that begins like a good message.
void cut_to_a_mad(wire::Packet& packet) {
    const bool management =
        packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn;
    if (!management || packet.payload().size() <= wire::kMadBytes) return;
    packet.body = packet.body.first(wire::kMadBytes);
    packet.bth.pad = 0;
}

// --- states

struct Restarted {
    Arrivals arrivals;              // in RTR
    std::optional<std::int32_t> by; // PSNs that the device counts once more
};

// RSP-01: Heron writes the responder's half of the context again when the QP goes to RTS.
// Shows when: requests are carried out in RTR, then the QP goes to RTS: the next one in order gets
// a sequence NAK for the PSN that the QP began with.
class BeginsAgainAtRts final : public QpFilter<Restarted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet) || !heard(qp, passage)) return;
        auto& [arrivals, by] = qp.memory;
        const wire::Psn first = qp.first_request();
        if (qp.report.state == engine::QpState::Rtr) {
            arrivals.note(passage.packet, first, qp.mtu());
            return;
        }
        if (!by) by = wire::distance(first, arrivals.next.value_or(first));
        passage.packet.bth.psn += *by;
    }
    void leaves(Qp& qp, Passage& passage) override {
        auto& [arrivals, by] = qp.memory;
        if (!is_rc_response(passage.packet)) return;
        if (by) {
            passage.packet.bth.psn += -*by;
        } else {
            heed_nak(arrivals, passage.packet);
        }
    }
};

// STA-06: Heron's READ responses and atomics go through the send queue's scheduler.
// Shows when: a READ or atomic comes to a QP in SQD.
RequestVerdict no_responses_in_sqd(const RequestView& view) {
    if (view.connection.state == engine::QpState::Sqd && engine::wants_response(view.info)) {
        return RequestVerdict::Drop;
    }
    return engine::request_check::state(view);
}

// --- receives, completions, events

// N-15: Loom latches the length of a receive with its last payload.
// Shows when: an empty WRITE with immediate data comes after a message with payload that took a
// receive of the same QP.
class ReportsLengthBefore final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool received = seen.queue == engine::Queue::Receive &&
                              seen.status == engine::WcStatus::Success && !seen.grh;
        if (!received) return seen;
        std::uint32_t& latched = latched_[seen.qp];
        const bool empty = seen.byte_len == 0;
        if (!empty) latched = seen.byte_len;
        if (empty && seen.opcode == engine::WcOpcode::RecvRdmaWithImm) seen.byte_len = latched;
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> latched_;
};

// STA-04: Relay notes in its own table that it has told of a QP, and RESET does not clear that.
// Shows when: a QP is established in RTR, goes through RESET to RTR, and is established again.
class EstablishedOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool meant = event.type == engine::EventType::CommEst && event.qp;
        if (meant && !told_.insert(*event.qp).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::QpId> told_;
};

// N-16: Heron's mailbox of an SRQ has one bit for the event that no later limit clears.
// Shows when: the limit of an SRQ is armed again after its event, and reached again.
class LimitOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool meant = event.type == engine::EventType::SrqLimitReached && event.srq;
        if (meant && !told_.insert(*event.srq).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::SrqId> told_;
};

struct Delayed {
    std::optional<wire::Psn> refused; // by the newest RNR NAK
    bool message = false;             // the one that comes now was refused before
};

// N-26: Relay takes a message that waited in through its slow path, which knows no SE.
// Shows when: a SEND with SE in its last packet was RNR NAKed at its first, and the queue is armed
// for solicited completions.
class ForgetsSeAfterRnr final : public QpFilter<Delayed> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || !heard(qp, passage)) return;
        Delayed& delayed = qp.memory;
        if (packet.info().starts_message()) delayed.message = delayed.refused == packet.bth.psn;
        if (delayed.message) packet.bth.solicited = false;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.refused = passage.packet.bth.psn;
    }
};

struct WaitingWrite : Arrivals {
    bool tail = false; // the newest in order was the LAST of a WRITE with immediate data
};

// RNR-01: Heron's context of a message has the PSN that it began with.
// Shows when: a WRITE of several packets with immediate data finds no receive at its end.
class NamesFirstInRnr final : public PlacesRequests<WaitingWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        if (place != Arrivals::Place::Expected) return;
        const wire::OpcodeInfo& info = passage.packet.info();
        qp.memory.tail = info.operation == Operation::RdmaWrite && info.immediate() &&
                         info.position == Position::Last;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.tail) packet.bth.psn = qp.memory.first;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "v6_peer_compared_by_interface_id",
           .rule = "ENC-14",
           .description = "Of the peer's address only the last 64 bits are compared.",
           .checks = kStandard.with(PacketCheck::SourceAddress, same_interface_id)},
    Mutant{.name = "priority_tag_with_priority_dropped",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Packets with VID 0 and a priority other than 0 are dropped.",
           .checks = kStandard.with(PacketCheck::Vlan, no_tag_or_all_zero)},
    Mutant{.name = "other_source_port_loses_the_message",
           .rule = "ENC-03",
           .description = "A packet from another source port than its message's first is dropped.",
           .cases = "enc/source-port-inside-a-message",
           .make_filter = make<LosesMessageOfOtherPort>},
    Mutant{.name = "marked_middle_packet_lost",
           .rule = "CRC-02",
           .description = "MIDDLE packets that are marked CE are dropped.",
           .checks = kStandard.with(RequestCheck::State, marked_middle_lost)},
    Mutant{.name = "window_end_rounded_down_to_a_word",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "The last bytes of a window that ends off a multiple of 8 are refused.",
           .checks = kStandard.with(RequestCheck::KeyRange, window_of_whole_words)},
    Mutant{.name = "read_range_checked_with_its_pad",
           .rule = "N-37",
           .description = "A READ whose pad would lie beyond the region is refused.",
           .checks = kStandard.with(RequestCheck::KeyRange, read_range_with_pad)},
    Mutant{.name = "type1_window_open_to_all_domains",
           .rule = "KEY-03",
           .description = "QPs of other protection domains may write through windows of type 1.",
           .checks = kStandard.with(RequestCheck::KeyDomain, type1_without_domain)},
    Mutant{.name = "invalidate_of_foreign_window_ignored",
           .rule = "KEY-11",
           .description = "A SEND that revokes another QP's window succeeds and revokes nothing.",
           .checks = kStandard.with(RequestCheck::InvalidateKey, foreign_window_passes)},
    Mutant{.name = "empty_write_imm_needs_a_key",
           .rule = "N-15",
           .description = "A WRITE of no bytes with immediate data and an unknown key is refused.",
           .checks = kStandard.with(RequestCheck::KeyKnown, empty_immediate_needs_key)},
    Mutant{.name = "shared_receive_keys_in_the_qps_domain",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "The keys of shared receives are looked up in the QP's domain.",
           .checks = kStandard.with(RequestCheck::ReceiveMemory, shared_keys_in_domain_of_qp)},
    Mutant{.name = "write_imm_stores_its_pad",
           .rule = "KEY-14",
           .description = "The pad of a WRITE with immediate data is written behind its bytes.",
           .make_filter = make<StoresPad>},
    Mutant{.name = "read_offset_counter_of_sixteen_bits",
           .rule = "RDR-01",
           .description = "Beyond 64 KiB a READ response repeats the bytes from its beginning.",
           .make_filter = make<WrapsReadOffset>},
    Mutant{.name = "grh_flow_label_of_sixteen_bits",
           .rule = "EXT-05",
           .description = "The GRH before a datagram has 16 bits of the flow label.",
           .make_filter = make<ShortensFlowLabel>},
    Mutant{.name = "immediate_of_empty_datagram_lost",
           .rule = "EXT-05",
           .description = "A datagram without payload completes without its immediate data.",
           .make_filter = make<LosesLonelyImmediate>},
    Mutant{.name = "datagram_room_without_the_grh",
           .rule = "EXT-05",
           .description = "A datagram that fits without its GRH only ends the QP.",
           .checks = kStandard.with(DatagramCheck::ReceiveRoom, room_without_grh)},
    Mutant{.name = "uc_message_behind_a_gap_lost",
           .rule = "EXT-06",
           .description = "The UC message whose first packet shows a gap is dropped as well.",
           .cases = "ext/unreliable-write-shows-a-gap",
           .make_filter = make<LosesUcMessageBehindGap>},
    Mutant{.name = "uc_gap_seen_by_parity_of_the_psn",
           .rule = "EXT-06",
           .description = "A UC SEND that lacks an even number of packets completes without them.",
           .make_filter = make<SeesGapsByParity>},
    Mutant{.name = "uc_write_without_the_qps_right",
           .rule = "KEY-01",
           .description = "UC WRITEs are carried out on a QP without REMOTE_WRITE.",
           .cases = "ext/unreliable-write-without-right",
           .checks = kStandard.with(RequestCheck::Rights, no_rights_in_uc)},
    Mutant{.name = "cnp_holds_head_of_the_marked_packet",
           .rule = "CNP-02",
           .description = "The 16 reserved bytes of a CNP are the first of the marked payload.",
           .make_filter = make<SendsHeadInCnp>},
    Mutant{.name = "drep_ids_as_in_the_dreq",
           .rule = "CM-09",
           .description = "DREPs carry the local and remote ids where the DREQ had them.",
           .make_filter = make<EditsSentDatagram<ids_as_they_came>>},
    Mutant{.name = "mad_of_too_many_bytes_answered",
           .rule = "N-31",
           .description = "Datagrams to QP 1 of more than 256 bytes are served by their first 256.",
           .make_filter = make<EditsInbound<cut_to_a_mad>>},
    Mutant{.name = "expected_psn_begins_again_at_rts",
           .rule = "RSP-01",
           .description = "In RTS the responder expects the PSN that it began with in RTR.",
           .make_filter = make<BeginsAgainAtRts>},
    Mutant{.name = "reads_and_atomics_dropped_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "In SQD requests with a response of their own are dropped.",
           .checks = kStandard.with(RequestCheck::State, no_responses_in_sqd)},
    Mutant{.name = "empty_write_imm_has_length_before",
           .rule = "N-15",
           .description = "The byte_len of an empty WRITE with immediate data is that of the "
                          "message before it.",
           .make_filter = make<ReportsLengthBefore>},
    Mutant{.name = "comm_est_missing_after_reset",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "A QP that is set up again after RESET raises no COMM_EST.",
           .make_filter = make<EstablishedOnce>},
    Mutant{.name = "srq_limit_event_never_again",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A limit of an SRQ that is armed again raises no second event.",
           .make_filter = make<LimitOnce>},
    Mutant{.name = "se_forgotten_after_rnr_nak",
           .rule = "N-26",
           .description = "A message with SE that was RNR NAKed notifies no solicited queue.",
           .make_filter = make<ForgetsSeAfterRnr>},
    Mutant{.name = "rnr_nak_names_the_first_of_a_write",
           .rule = "RNR-01",
           .description = "The RNR NAK of a WRITE's LAST with immediate data has the FIRST's PSN.",
           .make_filter = make<NamesFirstInRnr>},
};

} // namespace
} // namespace veriroce::mutants::of_blind24_responder

namespace veriroce::mutants {

std::span<const Mutant> blind24_responder() {
    return of_blind24_responder::kMutants;
}

} // namespace veriroce::mutants
