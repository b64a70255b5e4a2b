// Defects of responders, written blind: a sample by which the suite is measured.
//
// They come from three devices that were invented for it:
//
// "Beats", an FPGA core. Its bus is 64 bytes wide; the parser leaves a record for each packet, the
// payload lies in slots of one PMTU; one record of the message that is open serves the port or the
// QP; READs are answered from descriptors; short packets are built from templates.
//
// "Stages", a match-action pipeline with register arrays. A packet passes each stage once, with
// metadata fields of 16 and 32 bits between them; what needs more is sent round again.
//
// "Lodger", a paravirtual function. A guest's driver writes descriptors, the hypervisor keeps a
// shadow of each QP, completions come compressed, events come through a moderated queue, and the
// datagrams of QP 1 go through an agent in software.
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind22_responder {
namespace {

using engine::Completion;
using engine::DatagramCheck;
using engine::DatagramView;
using engine::DuplicateCheck;
using engine::Event;
using engine::EventType;
using engine::OwnedDatagram;
using engine::QpAttributes;
using engine::QpReport;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using wire::Service;

bool is_uc(const wire::Packet& packet) {
    return packet.info().service == Service::Uc;
}

// Makes a packet inside a message, or the last one, an invalid request (LEN-01, LEN-02).
void spoil(wire::Packet& packet) {
    packet.body = {};
    packet.bth.pad = 0;
}

// A datagram that is changed on its way in, by the packet in it.
template <void (*Edit)(const wire::Packet&, OwnedDatagram&)>
class EditsReceivedDatagram final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (const auto packet = wire::decode_packet(datagram.bytes)) Edit(*packet, datagram);
        in.push_back(std::move(datagram));
    }
};

// --- plain traffic

// Beats: the READ engine cuts a request into descriptors of 32 packets, and the framer, which sees
// descriptors and not requests, begins each with FIRST and ends it with LAST.
// Shows when: a READ has more than 32 response packets.
struct ReadsInBursts {
    std::deque<LoggedRead> reads;
    wire::Aeth aeth; // of the response that goes out
};

class AnswersInBursts final : public QpFilter<ReadsInBursts> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& reads = qp.memory.reads;
        if (!is_read_request(packet)) return;
        LoggedRead fresh{.request = packet,
                         .packets = wire::packets_of(packet.reth.dma_length, qp.mtu())};
        fresh.request.body = {};
        const bool repeats = std::ranges::any_of(reads, [&](const LoggedRead& read) {
            return read.answered && read.holds(packet.bth.psn);
        });
        if (repeats) return;
        std::erase_if(reads, [&](const LoggedRead& read) { // it came too early
            return !read.answered &&
                   (read.holds(packet.bth.psn) || fresh.holds(read.request.bth.psn));
        });
        reads.push_back(fresh);
        if (reads.size() > kept) reads.pop_front();
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        ReadsInBursts& memory = qp.memory;
        if (has_aeth(packet)) memory.aeth = packet.aeth;
        const auto read = std::ranges::find_if(
            memory.reads, [&](const LoggedRead& one) { return one.holds(packet.bth.psn); });
        if (read == memory.reads.end()) return;
        read->answered = true;
        const std::int32_t at = wire::distance(read->request.bth.psn, packet.bth.psn);
        const Position place =
            wire::position_of(packet.info().starts_message() || at % burst == 0,
                              packet.info().ends_message() || at % burst == burst - 1);
        if (place == packet.info().position) return;
        set_place(packet, place);
        packet.aeth = memory.aeth;
    }

  private:
    static constexpr std::size_t kept = 32;
    static constexpr std::int32_t burst = 32;
};

// Stages: the 64-bit adder is made of two of 32 bits in two stages. The first one lets the packet
// pass as "nothing to add" where its half of the operand is zero, and the second is never entered.
// Shows when: a FETCH_ADD adds a multiple of 2^32.
void add_nothing_without_lower_half(wire::Packet& packet) {
    constexpr std::uint64_t lower = 0xFFFFFFFF;
    if (packet.info().operation != Operation::FetchAdd) return;
    if ((packet.atomic.swap_or_add & lower) == 0) packet.atomic.swap_or_add = 0;
}

// Beats: eight bytes in the last place of a beat are written with two strobes of four bytes, since
// the byte enables of a beat's end are those of a payload that goes on in the next one; the halves
// take turns in the wrong order.
// Shows when: an ATOMIC WRITE goes to an address that is 56 modulo 64.
void swap_halves_at_end_of_beat(const wire::Packet& packet, OwnedDatagram& datagram) {
    constexpr std::uint64_t beat = 64;
    constexpr std::size_t half = 4;
    if (packet.info().operation != Operation::AtomicWrite || packet.body.size() != 2 * half) return;
    if (packet.reth.virtual_address % beat != beat - 2 * half) return;
    const wire::MutableBytes body =
        wire::MutableBytes(datagram.bytes).subspan(packet.header_bytes());
    std::ranges::swap_ranges(body.first(half), body.last(half));
}

// Stages: the flow label travels from the parser to the stage that writes the GRH in a metadata
// field of 16 bits; its upper four bits are zero there.
// Shows when: a UD datagram comes over IPv6 with a flow label of 0x10000 or more.
void lose_upper_flow_label(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (packet.info().service != Service::Ud || datagram.envelope.destination.v4()) return;
    datagram.envelope.flow_label &= 0xFFFF;
}

// Beats: the immediate data of a LAST packet is parked in the payload's slot, behind the bytes. The
// slot has one PMTU: where the payload fills it, the write goes nowhere, and what is read from the
// last word is payload.
// Shows when: a SEND or WRITE with immediate data of several packets has a whole multiple of the
// PMTU as its length.
class ImmediateFromFullSlot final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const wire::Bytes payload = packet.payload();
        const bool connected = info.service == Service::Rc || info.service == Service::Uc;
        if (!connected || info.position != Position::Last || !info.immediate()) return;
        if (payload.size() != wire::bytes_of(qp.mtu())) return;
        packet.imm.value = wire::load_u32(payload, payload.size() - 4);
    }
};

// Lodger: the descriptor of a receive has no count of its pieces, and the function takes the first
// one without length for the end of the list; the driver writes pieces as the program gave them.
// Shows when: a receive has an SGE of length 0 in front of others, and a message reaches beyond it.
class EmptySgeEndsList final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(empty - request.sges.begin()));
    }
};

// Stages: the address of a WRITE's later packets is RETH plus bytes so far, in an adder of 32 bits
// whose carry is not taken over to the upper half; the translation then misses.
// Shows when: a WRITE of several packets crosses a multiple of 4 GiB of its virtual addresses (a
// region that is registered there) and a later packet begins behind it.
RequestVerdict no_carry_of_address(const RequestView& view) {
    const bool later_write =
        view.info.operation == Operation::RdmaWrite && !view.info.starts_message();
    if (later_write && view.target && view.target->address >> 32 != view.inbound.address >> 32) {
        return RequestVerdict::NakRemoteAccess;
    }
    return engine::request_check::key_range(view);
}

// Lodger: the agent behind QP 1 answers as any UDP server does, to the port that the request came
// from.
// Shows when: a REQ, DREQ or SIDR_REQ comes from another UDP port than 4791.
class AnswersToSourcePort final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->bth.dest_qp == wire::kGsiQpn) port_ = datagram.envelope.source_port;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool from_agent = packet && packet->info().service == Service::Ud &&
                                packet->deth.source_qp == wire::kGsiQpn;
        if (from_agent && port_) datagram.envelope.destination_port = *port_;
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<std::uint16_t> port_; // of the newest request
};

// Beats: CNPs leave from a template, and the CRC unit is told by the packet builder, which CNPs
// pass by, to take the byte of FECN and BECN as ones; so BECN enters the ICRC as it is.
// Shows when: the device answers a marked packet with a CNP, and its ICRC is looked at.
class CnpIcrcOverBecn final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        if (wire::load_u8(frame, outer.bth_at) != wire::kCnpOpcode) return;
        const wire::Bytes as_sent = outer.covered();
        std::vector<std::byte> covered(as_sent.begin(), as_sent.end());
        constexpr std::byte ones{0xFF};
        if (outer.v6) {
            wire::store_be<4>(covered, 0, wire::load_u32(covered, 0) | 0x0FFFFFFF);
            covered[7] = ones; // hop limit
        } else {
            covered[1] = covered[8] = ones;         // ToS, TTL
            wire::store_be<2>(covered, 10, 0xFFFF); // checksum
        }
        wire::store_be<2>(covered, outer.udp_at - outer.ip_at + 6, 0xFFFF);
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc_unmasked(covered));
    }
};

// --- errors and retransmission

// Lodger: the slow path that looks for the READ of a duplicate computes its offset from the two
// PSNs as plain numbers, and finds one behind the wrap below the READ's first.
// Shows when: a READ's responses cross PSN 0, and its tail behind the wrap is asked for again.
bool within_read_before_wrap(const RequestView& view) {
    const bool wrapped = view.info.operation == Operation::RdmaReadRequest &&
                         view.saved != nullptr &&
                         view.packet.bth.psn.value() < view.saved->psn.value();
    return !wrapped && engine::duplicate_check::within_read(view);
}

// Stages: the register of an atomic's result is written in the stage that stores the new value. A
// COMPARE & SWAP that does not match stores nothing and leaves no result; its duplicate reads the
// memory again.
// Shows when: a COMPARE & SWAP fails, the memory changes, and the request is repeated.
struct Swap {
    Operation operation = Operation::CompareSwap;
    wire::AtomicEth asked;
    std::optional<std::uint64_t> original; // once it is answered
    bool again = false;                    // a duplicate waits for its answer
};

class FailedSwapIsReadAgain final : public DmaFilter<std::map<std::uint32_t, Swap>> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_atomic_request(packet)) return;
        Swap& known = qp.memory[packet.bth.psn.value()];
        if (!known.original) {
            known = {.operation = packet.info().operation, .asked = packet.atomic};
            return;
        }
        known.again = known.operation == Operation::CompareSwap &&
                      packet.info().operation == known.operation && packet.atomic == known.asked &&
                      *known.original != known.asked.compare;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto found = qp.memory.find(packet.bth.psn.value());
        if (found == qp.memory.end()) return;
        Swap& known = found->second;
        if (!known.original) known.original = packet.atomic_ack.original;
        if (!std::exchange(known.again, false)) return;
        const auto place = regions().at(known.asked.rkey, known.asked.virtual_address, 8);
        if (place.empty()) return;
        std::memcpy(&packet.atomic_ack.original, place.data(), place.size());
    }
};

// Stages: a request that waits for a receive goes round again with the code of its RNR NAK in the
// field that counts its rounds; the second NAK is made of the field as it is then, one less.
// Shows when: a SEND is tried again after an RNR NAK and the receive queue is still empty.
class RnrCodeCountsDown final : public QpFilter<std::optional<wire::Psn>> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        if (qp.memory == packet.bth.psn) {
            const unsigned code = packet.aeth.syndrome.code();
            packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(code - 1U));
        }
        qp.memory = packet.bth.psn;
    }
};

// Beats: the counter of a WRITE's bytes stands in front of the comparison of PSNs, so that a
// repeated MIDDLE of the open WRITE counts once more; nothing is written, but the sum is wrong when
// the last packet comes.
// Shows when: a MIDDLE packet of a WRITE that is not complete is repeated, and the WRITE then ends.
struct CountedWrite : Arrivals {
    bool too_many = false;
};

class CountsRepeatedMiddle final : public PlacesRequests<CountedWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        CountedWrite& memory = qp.memory;
        if (info.service != Service::Rc || place == Arrivals::Place::Ahead) return;
        if (place == Arrivals::Place::Behind) {
            memory.too_many |= memory.open && is_write(packet) &&
                               info.position == Position::Middle &&
                               wire::distance(memory.first, packet.bth.psn) > 0 &&
                               of_this_connection(qp.report, passage);
            return;
        }
        if (info.starts_message()) memory.too_many = false;
        if (memory.too_many && is_write(packet) && info.ends_message()) spoil(packet);
    }
};

// Beats: the MSN is raised when the message's receive is fetched, and lowered again where a check
// refuses the packet. The fault of a piece of the receive is found by the DMA engine, later, and
// nobody lowers the MSN.
// Shows when: a SEND meets a receive whose SGE names memory that it must not, and the MSN of the
// NAK is looked at.
void count_message_of_bad_receive(wire::Packet& packet) {
    const bool meant =
        is_fatal_nak(packet) && packet.aeth.syndrome.nak_code() == wire::NakCode::RemoteOperational;
    if (meant) packet.aeth.msn = packet.aeth.msn + 1;
}

// Stages: where a packet of a UC message is missing, the data stage drops the rest; the completion
// stage is another one, knows only that a WRITE has begun, and completes a receive for its LAST
// with the immediate data.
// Shows when: a UC WRITE with immediate data loses a packet in its middle.
struct UcWrite {
    bool began = false; // a FIRST was seen
    bool lost = false;  // and a packet after it was not
    wire::Psn next;
};

class CompletesBrokenUcWrite final : public QpFilter<UcWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        UcWrite& memory = qp.memory;
        if (!is_uc(packet) || !info.request() || !of_this_connection(qp.report, passage)) return;
        if (info.starts_message()) {
            memory = {.began = is_write(packet) && !info.ends_message(),
                      .lost = false,
                      .next = packet.bth.psn + 1};
            return;
        }
        memory.lost |= packet.bth.psn != memory.next;
        memory.next = packet.bth.psn + 1;
        const bool broken = memory.began && memory.lost;
        if (!info.ends_message()) return;
        memory.began = false;
        if (!broken || !is_write(packet) || !info.immediate()) return;
        const auto only = wire::opcode_of(Service::Uc, Operation::RdmaWrite, Position::Only, true);
        if (!only) return;
        packet.bth.opcode = *only;
        packet.headers = packet.info().headers;
        packet.reth = {};
        spoil(packet);
    }
};

// Stages: the room that a datagram needs is its payload and the IP header as it came, 20 bytes over
// IPv4; but 40 bytes are placed before the payload. What is in between reaches the DMA engine,
// which takes it for a fault of the receive.
// Shows when: a UD datagram over IPv4 is up to 20 bytes longer than its receive.
bool room_for_ipv4_header(const DatagramView& view) {
    constexpr std::size_t ipv4_bytes = 20;
    const bool short_header =
        view.envelope.destination.v4() && view.connection.qpn != wire::kGsiQpn;
    if (!short_header) return engine::datagram_check::receive_room(view);
    return ipv4_bytes + view.packet.payload().size() <= view.receive_bytes;
}

// Lodger: the agent looks for a listener by the port of the IP CM service. A service ID of another
// kind has no port; such a REQ is handed to a second table, which has no entry that rejects.
// Shows when: a REQ names a service ID outside of 0x0000000001xxxxxx.
bool request_for_other_service(const OwnedDatagram& datagram) {
    constexpr std::uint64_t ip_services = 1;
    const auto packet = wire::decode_packet(datagram.bytes);
    const bool management = packet && packet->bth.dest_qp == wire::kGsiQpn &&
                            packet->info().service == Service::Ud &&
                            packet->payload().size() == wire::kMadBytes;
    return management && wire::load_u8(packet->body, wire::cm::kClassAt) == wire::kCmClass &&
           wire::cm::attribute_of(packet->body) == wire::cm::kReq &&
           wire::load_be<5>(packet->body, wire::cm::req::kServiceAt) != ip_services;
}

// Stages: the expected PSN moves by one in the first stage, and by the rest of a READ's responses
// when the READ comes round again from the READ stage. A gap behind it is found before, and the NAK
// is made of what the register holds.
// Shows when: the request right behind a READ of several packets is lost, and a later one comes.
struct SlowRead : Arrivals {
    std::uint32_t missing = 0; // of the expected PSN, as the first stage has it
};

class NakBeforeReadHasMoved final : public PlacesRequests<SlowRead> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Arrivals::Place::Expected) return;
        qp.memory.missing =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) - 1 : 0;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet)) packet.bth.psn += -std::int64_t{qp.memory.missing};
    }
};

// --- two features, two QPs

// Beats: what the parser keeps of a message of several packets is one record of the port. Packets
// of another QP take it; the owner loads it anew from the QP's context, which has no place for SE.
// Shows when: the LAST packet with SE of a message comes right behind a packet for another QP, and
// the CQ is armed for solicited completions.
class SolicitedOfPort final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const bool taken = owner_ && *owner_ != qp.report.qpn;
        if (taken && packet.info().position == Position::Last) packet.bth.solicited = false;
        owner_ = qp.report.qpn;
    }

  private:
    std::optional<wire::Qpn> owner_; // whose packet was the last
};

// Stages: the table from which CNPs are made is keyed by the address of the sender and filled at
// the first mark: address, MAC, and the QP that it was about.
// Shows when: packets of two QPs of one peer are marked, and the CNP of the second is looked at.
class CnpToFirstQpOfPeer final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            const auto known =
                std::ranges::find(peers_, datagram.envelope.destination, &Peer::address);
            if (known == peers_.end()) {
                peers_.push_back({datagram.envelope.destination, packet->bth.dest_qp});
            } else {
                packet->bth.dest_qp = known->qpn;
                datagram.bytes = bytes_of(*packet);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Peer {
        wire::IpAddress address;
        wire::Qpn qpn;
    };
    std::vector<Peer> peers_;
};

// Lodger: the moderated event queue merges an event with the entry before it. Whether it is the
// same is asked of the type alone.
// Shows when: requests of two QPs draw the same kind of fatal NAK one after the other, with no
// other event in between, and no receive is in use.
class MergesEventsOfQps final : public engine::SurfaceFilter {
  public:
    std::optional<Event> event(const Event& event) override {
        const bool fault =
            event.type == EventType::QpReqErr || event.type == EventType::QpAccessErr;
        const bool merged = fault && before_ == event.type;
        before_ = event.type;
        if (merged) return std::nullopt;
        return event;
    }

  private:
    std::optional<EventType> before_;
};

// Beats: the record of the open message is keyed by the QP alone. A CNP has its own way behind the
// parser, but the parser has put its opcode into the record; the next packet of the message then
// follows a CNP, which nothing may follow.
// Shows when: a CNP for the QP comes between the packets of a message that the QP receives.
struct InterruptedMessage : Arrivals {
    bool cnp = false; // since the message began
};

class CnpEndsOpenMessage final : public PlacesRequests<InterruptedMessage> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        wire::Packet& packet = passage.packet;
        InterruptedMessage& memory = qp.memory;
        if (packet.info().service != Service::Rc || place != Arrivals::Place::Expected) return;
        if (packet.info().starts_message()) {
            memory.cnp = false;
        } else if (memory.cnp) {
            spoil(packet);
        }
    }
    void other_arrives(Qp& qp, Passage& passage) override {
        const bool heard = is_cnp(passage.packet) && of_this_connection(qp.report, passage);
        qp.memory.cnp |= heard && qp.memory.open;
    }
};

// Beats: the key unit revokes a window as soon as the parser has found an IETH, while the receive
// is being fetched. Where there is none the SEND draws an RNR NAK; when it comes again its key is
// gone already.
// Shows when: a SEND_ONLY with invalidate meets an empty receive queue and is tried again.
struct EarlyRevoke {
    std::optional<wire::Psn> newest;  // SEND that revokes
    std::optional<wire::Psn> revoked; // one that drew an RNR NAK
};

class RevokesBeforeReceive final : public QpFilter<EarlyRevoke> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().invalidates()) return;
        qp.memory.newest = packet.bth.psn;
        // A key of the same window that is not valid.
        if (qp.memory.revoked == packet.bth.psn) packet.ieth.rkey.value ^= 0xFFU;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.newest == packet.bth.psn) {
            qp.memory.revoked = packet.bth.psn;
        }
    }
};

// Beats: the unit that verifies the UDP checksum begins its sum at a fixed offset of the frame,
// that of an untagged one; with a VLAN tag before it, four bytes too early. Zero is not verified.
// Shows when: a request with a VLAN tag (of priority alone, too) over IPv4 has a right UDP checksum
// that is not zero.
std::optional<OwnedDatagram> drop_tagged_with_checksum(wire::Bytes frame) {
    constexpr std::size_t checksum_at = 6;
    wire::Outer outer{.frame = frame};
    if (wire::find_layers(outer) || !outer.tagged || outer.v6) return std::nullopt;
    if (wire::load_u16(frame, outer.udp_at + checksum_at) == 0) return std::nullopt;
    return OwnedDatagram{};
}

// Lodger: rights that are changed in RTS are written to the hypervisor's shadow, which answers
// queries; the function's own context is written only on the way into RTS.
// Shows when: a QP in RTS is given or denied REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC and is then
// sent such a request.
class KeepsRightsInRts final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        const auto known = states_.find(qpn);
        const QpState from = known == states_.end() ? QpState::Reset : known->second;
        const QpState to = attributes.state.value_or(from);
        if (from == QpState::Rts && to == QpState::Rts) {
            if (attributes.access) shadow_.insert_or_assign(qpn, *attributes.access);
            attributes.access.reset();
        } else if (from == QpState::Sqd && to == QpState::Rts && shadow_.contains(qpn)) {
            if (!attributes.access) attributes.access = shadow_.at(qpn);
            shadow_.erase(qpn);
        } else if (attributes.access) {
            shadow_.erase(qpn);
        }
    }
    void queried(QpReport& report) override {
        const auto shadow = shadow_.find(report.qpn);
        if (shadow != shadow_.end()) report.attributes.access = shadow->second;
    }
    void qp_changed(const QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
        if (report.state == QpState::Reset) shadow_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        states_.erase(qpn);
        shadow_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, QpState> states_;
    std::map<wire::Qpn, engine::Access> shadow_;
};

// Lodger: LAST_WQE_REACHED comes when the count of receives that a QP has fetched from the shared
// queue falls to zero. A QP that has fetched none does not come to zero, it is there.
// Shows when: a QP with an SRQ goes to ERR before it has received anything.
class NoLastWqeOfIdleQp final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue == engine::Queue::Receive) fetched_.insert(completion.qp);
        return completion;
    }
    std::optional<Event> event(const Event& event) override {
        const bool idle =
            event.type == EventType::LastWqeReached && event.qp && !fetched_.contains(*event.qp);
        if (idle) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::QpId> fetched_;
};

// Lodger: completions of one QP and one kind that follow each other are compressed behind a title.
// A short entry has one word, the length or the immediate data; where it has the latter, the driver
// takes the length out of the title.
// Shows when: two WRITEs with immediate data, of different lengths, complete one after the other on
// a QP.
class LengthOfTitle final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion shown = completion;
        const bool compressible = shown.queue == engine::Queue::Receive &&
                                  shown.status == engine::WcStatus::Success &&
                                  shown.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (!compressible) {
            title_.reset();
        } else if (title_ && title_->qp == shown.qp) {
            shown.byte_len = title_->byte_len;
        } else {
            title_ = shown;
        }
        return shown;
    }

  private:
    std::optional<Completion> title_;
};

// Stages: FLUSH is carried out by the memory stage, which lies behind the one that counts messages;
// its answer has the register's MSN, and the FLUSH is never counted.
// Shows when: the MSN of a FLUSH's answer, or of any answer after it, is looked at.
struct UncountedFlushes {
    std::set<std::uint32_t> flushes; // PSNs that are not answered
    NewestPsn answered;
    std::int64_t count = 0;
};

class FlushIsNoMessage final : public QpFilter<UncountedFlushes> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().operation == Operation::Flush) {
            qp.memory.flushes.insert(packet.bth.psn.value());
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        UncountedFlushes& memory = qp.memory;
        if (!is_rc_response(packet)) return;
        if (!is_nak(packet)) {
            const bool flush = memory.flushes.erase(packet.bth.psn.value()) != 0;
            const bool old = memory.answered.note(packet.bth.psn);
            if (flush && !old && is_read_response(packet)) ++memory.count;
        }
        if (has_aeth(packet)) packet.aeth.msn = packet.aeth.msn + -memory.count;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "read_answer_framed_per_32_packets",
           .rule = "RDR-01",
           .description = "The answer to a READ of more than 32 packets is framed in pieces of 32: "
                          "each begins with FIRST and ends with LAST; the last may be an ONLY.",
           .make_filter = make<AnswersInBursts>},
    Mutant{.name = "fetch_add_of_upper_half_skipped",
           .rule = "ATM-01",
           .description = "FETCH_ADD adds nothing if the lower 32 bits of its operand are zero.",
           .make_filter = make<EditsInbound<add_nothing_without_lower_half>>},
    Mutant{.name = "atomic_write_halves_swapped_at_beat_end",
           .rule = "EXT-01",
           .description = "An ATOMIC WRITE to the last eight bytes of a line of 64 stores its two "
                          "halves in each other's place.",
           .make_filter = make<EditsReceivedDatagram<swap_halves_at_end_of_beat>>},
    Mutant{.name = "ud_grh_flow_label_of_16_bits",
           .rule = "EXT-05",
           .description = "The GRH in front of a datagram over IPv6 has only the lower 16 bits of "
                          "the flow label that came.",
           .make_filter = make<EditsReceivedDatagram<lose_upper_flow_label>>},
    Mutant{.name = "immediate_of_full_last_is_payload",
           .rule = "REQ-34",
           .description = "The immediate data of a message whose LAST packet is full is completed "
                          "as the last four bytes of its payload.",
           .make_filter = make<ImmediateFromFullSlot>},
    Mutant{.name = "receive_ends_at_empty_sge",
           .rule = "LEN-06",
           .description = "An SGE of length 0 ends a receive's list: a message that needs the SGEs "
                          "behind it is NAKed as too long.",
           .make_filter = make<EmptySgeEndsList>},
    Mutant{.name = "write_across_4_gib_refused",
           .rule = "N-37",
           .description = "A WRITE that crosses a multiple of 4 GiB of its virtual addresses draws "
                          "NAK 0x62 at the first packet that begins behind it.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, no_carry_of_address)},
    Mutant{.name = "cm_answer_to_source_port",
           .rule = "N-30",
           .description = "Answers of connection management go to the UDP port that the request "
                          "came from in place of 4791.",
           .make_filter = make<AnswersToSourcePort>},
    Mutant{.name = "cnp_icrc_covers_becn",
           .rule = "CRC-10",
           .description = "The ICRC of CNPs is computed over the byte of FECN and BECN as it is, "
                          "in place of ones.",
           .make_filter = make<CnpIcrcOverBecn>},

    Mutant{.name = "read_tail_behind_wrap_not_found",
           .rule = "RDR-05",
           .description = "A repeated tail of a READ that begins behind the wrap of PSNs, in which "
                          "the READ began before it, is dropped silently.",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::WithinRead, within_read_before_wrap)},
    Mutant{.name = "duplicate_of_failed_swap_reads_memory",
           .rule = "ATM-04",
           .description = "The duplicate of a COMPARE & SWAP that did not match is answered with "
                          "what memory holds now.",
           .make_filter = make<FailedSwapIsReadAgain>},
    Mutant{.name = "second_rnr_nak_one_code_less",
           .rule = "RNR-07",
           .description = "A further RNR NAK for the same PSN has the timer code below the one "
                          "that the QP was set up with.",
           .make_filter = make<RnrCodeCountsDown>},
    Mutant{.name = "repeated_middle_counts_as_length",
           .rule = "RSP-13",
           .description = "A repeated MIDDLE of the WRITE that is open counts in its length: the "
                          "WRITE's last packet draws NAK 0x61.",
           .make_filter = make<CountsRepeatedMiddle>},
    Mutant{.name = "operational_nak_counts_its_message",
           .rule = "ACK-08",
           .description = "The MSN of NAK 0x63 counts the SEND that it refuses.",
           .make_filter = make<EditsOutbound<count_message_of_bad_receive>>},
    Mutant{.name = "uc_broken_write_completes_receive",
           .rule = "EXT-06",
           .description = "The LAST packet with immediate data of a UC WRITE of which a packet is "
                          "missing completes a receive, with byte_len 0.",
           .make_filter = make<CompletesBrokenUcWrite>},
    Mutant{.name = "ud_ipv4_oversize_ends_qp",
           .rule = "EXT-05",
           .description = "A datagram over IPv4 that is at most 20 bytes longer than its receive "
                          "completes it in error and takes the UD QP to ERR.",
           .checks =
               engine::kStandardChecks.with(DatagramCheck::ReceiveRoom, room_for_ipv4_header)},
    Mutant{.name = "cm_req_of_other_service_unanswered",
           .rule = "CM-06",
           .description = "A REQ whose service ID is none of the IP CM service is not answered.",
           .make_filter = make<DropsInbound<request_for_other_service>>},
    Mutant{.name = "sequence_nak_inside_new_read",
           .rule = "RSP-02",
           .description = "The sequence NAK for a gap right behind a READ names the PSN after the "
                          "READ's first one.",
           .make_filter = make<NakBeforeReadHasMoved>},

    Mutant{.name = "solicited_lost_behind_other_qp",
           .rule = "N-26",
           .description = "SE of a LAST packet has no effect if the packet before it at the port "
                          "was for another QP.",
           .cases = "bth/solicited-among-other-qps",
           .make_filter = make<SolicitedOfPort>},
    Mutant{.name = "cnp_names_first_qp_of_peer",
           .rule = "CNP-02",
           .description = "All CNPs to an address name the QP of the first one that went there.",
           .make_filter = make<CnpToFirstQpOfPeer>},
    Mutant{.name = "fault_events_merged_across_qps",
           .rule = "N-13",
           .level = "SHOULD",
           .description = "QP_REQ_ERR or QP_ACCESS_ERR is not raised if the event before it was of "
                          "the same type, of whichever QP.",
           .make_filter = make<MergesEventsOfQps>},
    Mutant{.name = "cnp_breaks_open_message",
           .rule = "CNP-12",
           .description = "A CNP that comes in the middle of a message makes the message's next "
                          "packet draw NAK 0x61.",
           .make_filter = make<CnpEndsOpenMessage>},
    Mutant{.name = "invalidate_before_rnr",
           .rule = "RNR-06",
           .description = "A SEND with invalidate that draws an RNR NAK has revoked its key; when "
                          "it comes again, the QP ends as for an invalid key.",
           .make_filter = make<RevokesBeforeReceive>},
    Mutant{.name = "vlan_tag_breaks_udp_checksum",
           .rule = "ENC-04",
           .description = "IPv4 packets with a VLAN tag and a UDP checksum that is right and not "
                          "zero are dropped.",
           .make_filter = make<Admits<drop_tagged_with_checksum>>},
    Mutant{.name = "rights_changed_in_rts_not_loaded",
           .rule = "KEY-01",
           .description = "The access rights that a QP is given while it is in RTS are reported by "
                          "queries, but the former ones are enforced.",
           .make_filter = make<KeepsRightsInRts>},
    Mutant{.name = "no_last_wqe_event_of_idle_qp",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP with an SRQ that has completed no receive raises no "
                          "LAST_WQE_REACHED when it goes to ERR.",
           .make_filter = make<NoLastWqeOfIdleQp>},
    Mutant{.name = "compressed_write_imm_length_of_first",
           .rule = "N-15",
           .description = "Of WRITEs with immediate data of one QP that complete one after the "
                          "other, all have the byte_len of the first.",
           .make_filter = make<LengthOfTitle>},
    Mutant{.name = "flush_not_counted_in_msn",
           .rule = "ACK-07",
           .description = "A FLUSH does not raise the MSN, neither in its answer nor afterwards.",
           .make_filter = make<FlushIsNoMessage>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind22_responder

namespace veriroce::mutants {

std::span<const Mutant> blind22_responder() {
    return of_blind22_responder::kMutants;
}

} // namespace veriroce::mutants
