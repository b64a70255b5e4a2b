// Defects of the responder, the receiver of packets and what its host sees, written without a look
// at the cases: the seventeenth sample.
#include <cstring>
#include <functional>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/frame.hpp"
#include "transport/engine/grh.hpp"

namespace veriroce::mutants::of_blind17_responder {
namespace {

using engine::DatagramCheck;
using engine::DatagramView;
using engine::DuplicateCheck;
using engine::PacketCheck;
using engine::PacketView;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

// --- sizes, opcodes, flags

// Beats of the stream are counted before the pad is taken off: a message that fills its receive
// and is padded is taken for one that is too long.
// Shows when: a SEND of 5 bytes (1, 2 or 3 modulo 4) meets a receive of as many bytes.
RequestVerdict room_for_the_pad(const RequestView& view) {
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool too_long = view.info.operation == Operation::Send &&
                          before + view.packet.body.size() > view.receive_bytes;
    return too_long ? RequestVerdict::NakInvalidRequest : engine::request_check::receive_room(view);
}

// The parser hands the length behind the DETH to the room check; ImmDt is still in it.
// Shows when: a UD SEND with immediate data fills its receive (40 bytes and the payload) to within
// less than 4 bytes.
bool room_for_the_immediate(const DatagramView& view) {
    const std::uint64_t immediate = view.info.immediate() ? wire::ImmDt::kSize : 0;
    return engine::datagram_check::receive_room(view) &&
           engine::kGrhBytes + immediate + view.packet.payload().size() <= view.receive_bytes;
}

// The table from DSCP to receive buffer has 32 entries; what is not in it goes to no buffer.
// Shows when: a request comes with DSCP 32 or more, as 46 or 48.
bool dscp_without_buffer(const engine::OwnedDatagram& datagram) {
    constexpr std::uint8_t entries = 32;
    return datagram.envelope.dscp >= entries;
}

struct Reads {
    ReadLog log;
};

// The fetch of a response's bytes is split where a page of 4 KiB ends; the second descriptor is
// made before the address register was advanced, and fetches the packet's first bytes again.
// Shows when: the bytes of one READ response packet lie on two pages, as those of a READ of 256
// bytes at 128 bytes before a multiple of 4096.
class FetchesTwiceAtPageEnd final : public QpFilter<Reads> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.log.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto read = qp.memory.log.holding(packet.bth.psn);
        qp.memory.log.answer(packet.bth.psn);
        if (!read) return;
        constexpr std::uint64_t page = 4096;
        const auto at =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t address =
            read->request.reth.virtual_address + at * wire::bytes_of(qp.mtu());
        const std::uint64_t until_end = page - address % page;
        const std::size_t bytes = packet.payload().size();
        if (bytes <= until_end) return;
        body_.assign(packet.body.begin(), packet.body.end());
        for (std::size_t i = until_end; i < bytes; ++i)
            body_[i] = packet.body[i - until_end];
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

// The register of the PSN that is to be acknowledged is empty where it is 0.
// Shows when: a SEND or WRITE with PSN 0 asks for an ACK and nothing follows it: the first of a
// connection that begins there, or one behind 0xFFFFFF.
class ZeroIsNoPsn final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        passage.dropped = is_ack(passage.packet) && passage.packet.bth.psn == wire::Psn(0);
    }
};

// The driver knows from the field itself whether there is immediate data.
// Shows when: a SEND or WRITE brings the immediate data 0.
class ImmediateByValue final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.queue == engine::Queue::Receive && seen.imm == 0U) seen.imm.reset();
        return seen;
    }
};

// The device's end mark of a list of SGEs is an entry of length 0, and the driver writes the
// caller's entries as they are.
// Shows when: the receive of a SEND has an SGE of length 0 before others, and the message needs
// more than those in front of it.
class EmptySgeEndsList final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        const auto end = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(end - request.sges.begin()));
    }
};

// --- faults, duplicates, what is lost

struct Ended {
    std::optional<wire::Psn> at; // of the fatal NAK
    wire::Msn msn;
};

// Duplicates are answered by the stage that compares PSNs, in front of the one that reads the QP's
// state.
// Shows when: a SEND or WRITE that was carried out comes again, with AckReq, behind a fatal NAK.
class AnswersDuplicatesWhenDead final : public QpFilter<Ended> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Ended& ended = qp.memory;
        const bool one_way = packet.info().operation == Operation::Send ||
                             packet.info().operation == Operation::RdmaWrite;
        const auto& path = qp.report.attributes.address;
        if (!ended.at || qp.report.state == engine::QpState::Err || !is_rc_request(packet) ||
            !one_way || !packet.bth.ack_request || packet.bth.version != 0 || !path ||
            path->destination != passage.envelope.source ||
            path->source != passage.envelope.destination) {
            return;
        }
        const std::int32_t ahead = wire::distance(*ended.at, packet.bth.psn);
        if (ahead >= 0 || ahead < -kFarAhead) return;
        if (wire::distance(qp.first_request(), packet.bth.psn) < 0) return;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, packet.bth.psn,
                                              wire::Syndrome::ack(wire::kNoCredits), ended.msn));
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_fatal_nak(passage.packet)) return;
        qp.memory = {.at = passage.packet.bth.psn, .msn = passage.packet.aeth.msn};
    }
};

// The MSN is advanced when a message's first packet is scheduled, and ACKs subtract one while a
// message is open; the NAK's path does not.
// Shows when: a packet is missing inside a SEND or WRITE of several packets, and the MSN of the
// sequence NAK is compared with that of the ACKs.
class NakCountsOpenMessage final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet) && qp.memory.open) packet.aeth.msn = packet.aeth.msn + 1;
    }
};

// The search for a remembered READ compares its first PSN as a number.
// Shows when: the responses of a READ go over 0xFFFFFF, and its tail is asked for again from PSN 0
// or later.
bool remembered_as_number(const RequestView& view) {
    return engine::duplicate_check::remembered(view) &&
           view.packet.bth.psn.value() >= view.saved->psn.value();
}

struct Gap : Arrivals {
    bool open_gap = false;
};

// While a sequence NAK is outstanding one comparator does the work of two, and tells what is ahead
// from what is not: a WRITE of one packet from before the gap goes to memory once more.
// Shows when: a WRITE_ONLY is repeated between a sequence NAK and the missing packet, and the host
// has changed its bytes meanwhile.
class WritesAgainInGap final : public PlacesRequests<Gap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place == Place::Expected) qp.memory.open_gap = false;
        const bool write = is_rc_request(packet) &&
                           packet.info().operation == Operation::RdmaWrite &&
                           packet.info().position == Position::Only;
        if (place != Place::Behind || !qp.memory.open_gap || !write) return;
        const auto region = regions().live(packet.reth.rkey);
        const wire::Bytes payload = packet.payload();
        const auto bytes =
            regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!region || !region->access.remote_write || bytes.size() != payload.size()) return;
        std::ranges::copy(payload, bytes.begin());
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_sequence_nak(passage.packet)) qp.memory.open_gap = true;
    }
};

// The state that takes the last packet of a WRITE compares the lengths; the one that also takes
// immediate data does not ask whether something is missing.
// Shows when: a WRITE of several packets with immediate data brings fewer bytes than its RETH says.
RequestVerdict short_write_with_immediate(const RequestView& view) {
    const bool last = view.info.operation == Operation::RdmaWrite && view.info.immediate() &&
                      view.info.position == Position::Last;
    const bool is_short =
        view.inbound.received + view.packet.payload().size() < view.inbound.announced;
    return last && is_short ? RequestVerdict::Accept : engine::request_check::message_length(view);
}

// The QP's context holds 64 bits of its peer's address, of IPv6 the interface identifier.
// Shows when: a request comes from an IPv6 address that has another prefix than the peer's.
bool source_identifier(const PacketView& view) {
    const wire::IpAddress& source = view.envelope.source;
    const wire::IpAddress& peer = view.path().destination;
    if (view.connection.type == engine::QpType::Ud || source.v4() || peer.v4()) {
        return engine::packet_check::source_address(view);
    }
    constexpr std::size_t identifier_at = 8;
    return wire::load_u64(source.bytes, identifier_at) == wire::load_u64(peer.bytes, identifier_at);
}

// The result of the CRC is latched with the last beat of payload; a packet that has none passes.
// Shows when: a READ request, an atomic or an empty SEND or WRITE comes with a wrong ICRC.
std::optional<engine::OwnedDatagram> bare_request_in(wire::Bytes frame) {
    const auto judged = wire::unseal(frame);
    if (judged || judged.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded) return std::nullopt;
    const auto packet = wire::decode_packet(decoded->transport);
    if (!packet || !is_rc_request(*packet) || !packet->body.empty()) return std::nullopt;
    return datagram_of(*packet, decoded->envelope());
}

struct UcMessage {
    bool open = false;
    wire::Psn expected;
};

// The last packet of a UC SEND is told by its opcode alone; only middle ones are compared with the
// expected PSN.
// Shows when: of a UC SEND of three or more packets the one before the last is lost.
class UcTakesAnyLast final : public QpFilter<UcMessage> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        UcMessage& message = qp.memory;
        if (info.service != wire::Service::Uc) return;
        const wire::Psn psn = packet.bth.psn;
        if (info.operation != Operation::Send) {
            message.open = false;
        } else if (info.starts_message()) {
            message = {.open = !info.ends_message(), .expected = psn + 1};
        } else if (!info.ends_message()) {
            message.open = message.open && psn == message.expected;
            message.expected = psn + 1;
        } else {
            if (message.open && wire::distance(message.expected, psn) > 0) {
                packet.bth.psn = message.expected;
            }
            message.open = false;
        }
    }
};

// Firmware sends the NAKs that end a QP, out of a template without a VLAN tag.
// Shows when: a QP in a VLAN is sent a request with a wrong key, or another that ends it.
void fatal_nak_untagged(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_fatal_nak(packet)) datagram.envelope.vlan.reset();
}

// --- where two features or two QPs meet

struct NakFlag : Arrivals {
    bool set = false;
};

// "A NAK is outstanding" is cleared where data is taken in, not where READs and atomics are queued.
// Shows when: the packet that a sequence NAK asked for is a READ or an atomic, and behind it a
// packet is missing again before a SEND or WRITE came.
class ReadLeavesNakFlag final : public PlacesRequests<NakFlag> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const Operation operation = passage.packet.info().operation;
        const bool data = operation == Operation::Send || operation == Operation::RdmaWrite;
        if (place == Place::Expected && data) qp.memory.set = false;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        passage.dropped = qp.memory.set;
        qp.memory.set = true;
    }
};

struct SavedResult : Arrivals {
    NewestPsn answered; // atomics
    wire::Psn read;     // the newest READ
    std::optional<std::uint64_t> read_address;
};

// Results of atomics and addresses of READs share a memory. A READ directly behind an atomic is
// entered before the write pointer has moved on.
// Shows when: an atomic is answered, the next request is a READ, and then the atomic comes again.
class ReadOverSavedResult final : public PlacesRequests<SavedResult> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected || !is_read_request(passage.packet)) return;
        qp.memory.read = passage.packet.bth.psn;
        qp.memory.read_address = passage.packet.reth.virtual_address;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        SavedResult& memory = qp.memory;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const bool again = memory.answered.note(packet.bth.psn);
        if (!again || !memory.read_address || memory.read != packet.bth.psn + 1) return;
        packet.atomic_ack.original = *memory.read_address;
    }
};

struct MayEnd : Arrivals {
    bool dead = false; // a fatal NAK was sent
};

// The atomic unit keeps the line that it changed last. The host's stores and the QP's own WRITEs
// make it stale, those of other QPs do not, as their snoop goes by QP.
// Shows when: an atomic is carried out on QP A, QP B overwrites the eight bytes by a WRITE_ONLY,
// and an atomic on either reads them next.
class AtomicMissesOtherWrites final : public PlacesRequests<MayEnd> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected || qp.memory.dead || !is_rc_request(packet)) return;
        if (is_atomic_request(packet)) atomic(qp, packet);
        const bool write = packet.info().operation == Operation::RdmaWrite &&
                           packet.info().position == Position::Only;
        if (write) note_write(qp, packet);
    }
    void answered(Qp& qp, Passage& passage) override {
        qp.memory.dead |= is_fatal_nak(passage.packet);
    }

  private:
    static constexpr std::size_t kBytes = sizeof(std::uint64_t);

    struct Line {
        const std::byte* at = nullptr;
        std::uint64_t value = 0;
        wire::Qpn qpn;
        std::optional<std::uint64_t> overwritten; // by another QP, with this
    };

    void atomic(const Qp& qp, const wire::Packet& packet) {
        const wire::AtomicEth& asked = packet.atomic;
        const auto region = regions().live(asked.rkey);
        const auto bytes = regions().at(asked.rkey, asked.virtual_address, kBytes);
        const bool allowed = region && region->access.remote_atomic &&
                             qp.report.attributes.access.value_or(engine::Access{}).remote_atomic;
        if (!allowed || bytes.size() != kBytes || asked.virtual_address % kBytes != 0) return;
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), kBytes);
        if (line_.at == bytes.data() && line_.overwritten == value) {
            value = line_.value;
            std::memcpy(bytes.data(), &value, kBytes);
        }
        if (packet.info().operation == Operation::FetchAdd) {
            value += asked.swap_or_add;
        } else if (value == asked.compare) {
            value = asked.swap_or_add;
        }
        line_ = {.at = bytes.data(), .value = value, .qpn = qp.report.qpn, .overwritten = {}};
    }
    void note_write(const Qp& qp, const wire::Packet& packet) {
        const wire::Bytes payload = packet.payload();
        const auto bytes =
            regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (line_.at == nullptr || bytes.size() < kBytes) return;
        const std::byte* const last = bytes.data() + (bytes.size() - kBytes);
        constexpr std::less<> before;
        if (before(line_.at, bytes.data()) || before(last, line_.at)) return;
        if (line_.qpn == qp.report.qpn) {
            line_ = {};
            return;
        }
        std::uint64_t value = 0;
        std::memcpy(&value, payload.data() + (line_.at - bytes.data()), kBytes);
        line_.overwritten = value;
    }

    Line line_;
};

struct LastSolicited : Arrivals {
    bool solicited = false; // the message before this one
};

// SE is latched at a message's end. A message of one packet is completed with its own bit, one of
// several with that and the latch, which has the bit of the message before it still.
// Shows when: a CQ is armed for solicited events between a SEND_ONLY with SE and a SEND of several
// packets without.
class SolicitedSticks final : public PlacesRequests<LastSolicited> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool completes = info.consumes_receive() && info.ends_message();
        if (place != Place::Expected || !completes) return;
        const bool before = std::exchange(qp.memory.solicited, packet.bth.solicited);
        if (info.position == Position::Last && before) packet.bth.solicited = true;
    }
};

// The CNP has the key out of the port's table by which the packet was let in, not the packet's.
// Shows when: a packet of a limited member (P_Key 0x7FFF at a QP with 0xFFFF) carries CE.
void cnp_of_full_member(wire::Packet& packet) {
    constexpr std::uint16_t full_member = 0x8000;
    if (is_cnp(packet)) packet.bth.pkey.value |= full_member;
}

// The event is raised when the last receive that the QP took is written back; a QP that took none
// waits for ever.
// Shows when: a QP with a shared receive queue enters ERR without having completed a receive.
class LastWqeWaitsForOne final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.queue == engine::Queue::Receive) took_.insert(completion.qp);
        return completion;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool lost = event.type == engine::EventType::LastWqeReached && event.qp &&
                          !took_.contains(*event.qp);
        return lost ? std::nullopt : std::optional(event);
    }

  private:
    std::set<engine::QpId> took_;
};

// Only the newest request is kept to be recognized: the search among the older ones is for those
// whose answer carries data, and an ATOMIC WRITE has none.
// Shows when: an ATOMIC WRITE comes again after a later request, and its bytes have changed.
class OldAtomicWriteAgain final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        constexpr std::size_t size = sizeof(std::uint64_t);
        const bool meant = place == Place::Behind && is_rc_request(packet) &&
                           packet.info().operation == Operation::AtomicWrite &&
                           packet.payload().size() == size &&
                           packet.reth.virtual_address % size == 0;
        if (!meant || !qp.memory.next || packet.bth.psn + 1 == *qp.memory.next) return;
        const auto region = regions().live(packet.reth.rkey);
        const auto bytes = regions().at(packet.reth.rkey, packet.reth.virtual_address, size);
        if (!region || !region->access.remote_write || bytes.size() != size) return;
        std::ranges::copy(packet.payload(), bytes.begin());
    }
};

struct Refused {
    std::optional<wire::Psn> psn; // of the newest RNR NAK
};

// The bytes of the last packet are added to the message's count before its receive is asked for,
// and not taken off when there is none.
// Shows when: the last packet of a WRITE of several packets with immediate data gets an RNR NAK and
// then comes again to a receive.
class CountsRefusedLast final : public QpFilter<Refused> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool meant = seen.queue == engine::Queue::Receive &&
                           seen.status == engine::WcStatus::Success &&
                           seen.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (meant) seen.byte_len += std::exchange(counted_, 0);
        return seen;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool meant = is_rc_request(packet) && info.operation == Operation::RdmaWrite &&
                           info.immediate() && info.position == Position::Last;
        if (!meant || qp.memory.psn != packet.bth.psn) return;
        counted_ = static_cast<std::uint32_t>(packet.payload().size());
        qp.memory.psn.reset();
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        qp.memory.psn = passage.packet.bth.psn;
        counted_ = 0; // the repeated packet was refused as well
    }

  private:
    std::uint32_t counted_ = 0; // for the next completion of a WRITE
};

struct Life : Arrivals {
    bool begun = false;
};

// RESET clears the words of the context that the driver writes; "a message is open" stands in one
// that only the receive pipeline writes.
// Shows when: a QP is taken to RESET in the middle of a SEND or WRITE, connected anew, and gets
// its first request.
class OpenAfterReset final : public PlacesRequests<Life> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !is_rc_request(packet)) return;
        bool& open = open_[qp.report.qpn];
        const bool first = !std::exchange(qp.memory.begun, true);
        if (first && open && packet.info().starts_message()) {
            set_opcode(packet, Operation::Send, Position::Middle); // is NAKed out of sequence
            open = false;
            return;
        }
        open = qp.memory.open;
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool not_begun = is_rnr_nak(packet) && packet.bth.psn == qp.memory.first;
        if (is_fatal_nak(packet) || not_begun) open_[qp.report.qpn] = false;
    }

  private:
    std::map<wire::Qpn, bool> open_; // whatever becomes of the QP
};

// The write path has a look-aside buffer for windows that is filled by index and not emptied when a
// window is bound anew: it does not compare the variant byte.
// Shows when: a WRITE uses the key that a window had before it was bound again.
RequestVerdict window_key_without_variant(const RequestView& view) {
    const bool window =
        view.target && view.memory.slot(view.target->rkey.value).kind != engine::KeyKind::Region;
    const bool write = view.info.operation == Operation::RdmaWrite;
    return window && write ? RequestVerdict::Accept : engine::request_check::key_variant(view);
}

// The flush takes what is in the queue when the QP enters ERR; the driver queues later receives and
// nobody looks at them again.
// Shows when: a receive is posted to a QP that modify_qp has taken to ERR.
class LateReceiveStays final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& qp) override {
        if (qp.state == engine::QpState::Err) {
            in_error_.insert(qp.qpn);
        } else {
            in_error_.erase(qp.qpn);
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { in_error_.erase(qpn); }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        if (in_error_.contains(qpn)) late_.insert(request.id);
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool flushed = completion.queue == engine::Queue::Receive &&
                             completion.status == engine::WcStatus::WrFlushErr;
        return flushed && late_.erase(completion.id) != 0 ? std::nullopt
                                                          : std::optional(completion);
    }

  private:
    std::set<wire::Qpn> in_error_;
    std::set<std::uint64_t> late_; // ids
};

constexpr std::array kMutants{
    Mutant{.name = "padded_send_overflows_exact_receive",
           .rule = "LEN-06",
           .description = "The pad counts when a SEND is compared with its receive: a message of "
                          "5 bytes into 5 bytes is NAKed as too long.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveRoom, room_for_the_pad)},
    Mutant{.name = "ud_immediate_counts_as_room",
           .rule = "EXT-05",
           .description = "A UD SEND with immediate data needs 4 bytes of room more than it "
                          "writes; one that just fits is dropped.",
           .checks =
               engine::kStandardChecks.with(DatagramCheck::ReceiveRoom, room_for_the_immediate)},
    Mutant{.name = "upper_dscp_has_no_buffer",
           .rule = "CRC-02",
           .description = "Packets whose DSCP is 32 or more are dropped.",
           .make_filter = make<DropsInbound<dscp_without_buffer>>},
    Mutant{.name = "read_over_page_end_fetches_twice",
           .rule = "RDR-01",
           .description = "In a READ response packet whose bytes lie on two pages of 4 KiB, the "
                          "packet's first bytes stand again where the second page begins.",
           .make_filter = make<FetchesTwiceAtPageEnd>},
    Mutant{.name = "psn_zero_is_never_acknowledged",
           .rule = "ACK-01",
           .description = "An ACK that would carry PSN 0 is not sent.",
           .make_filter = make<ZeroIsNoPsn>},
    Mutant{.name = "immediate_zero_not_shown",
           .rule = "N-15",
           .description = "The completion of a message with the immediate data 0 says that it had "
                          "none.",
           .make_filter = make<ImmediateByValue>},
    Mutant{.name = "empty_sge_ends_receive",
           .rule = "LEN-06",
           .description = "SGEs of a receive behind one of length 0 are not used: a SEND that "
                          "needs them is NAKed as too long.",
           .make_filter = make<EmptySgeEndsList>},
    Mutant{.name = "drep_with_half_a_transaction_id",
           .rule = "N-30",
           .description = "A DREP carries the lower half of the DREQ's transaction ID, and zero "
                          "for the upper one.",
           .cases = "cm/unknown-connection",
           // The answer to an unknown connection is made in a handler of its own. Shows when: a
           // DREQ of a connection that is not known has a transaction ID above 2^32.
           .make_filter = make<EditsSentDatagram<lose_upper_half_of_transaction<wire::cm::kDrep>>>},
    Mutant{.name = "dead_qp_answers_duplicates",
           .rule = "N-07",
           .description = "Behind a fatal NAK a duplicate SEND or WRITE is still acknowledged.",
           .make_filter = make<AnswersDuplicatesWhenDead>},
    Mutant{.name = "gap_nak_counts_the_open_message",
           .rule = "ACK-08",
           .description = "A sequence NAK inside a message of several packets has an MSN that "
                          "counts this message already.",
           .make_filter = make<NakCountsOpenMessage>},
    Mutant{.name = "tail_of_wrapped_read_forgotten",
           .rule = "RDR-05",
           .description = "A READ whose PSNs wrap is not found again by a request for its tail "
                          "behind the wrap, which gets no answer.",
           .cases = "rdr/tail-across-the-wrap",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::Remembered, remembered_as_number)},
    Mutant{.name = "gap_lets_old_write_through",
           .rule = "RSP-15",
           .description = "While a sequence NAK is outstanding a duplicate WRITE_ONLY is written "
                          "to memory again.",
           .make_filter = make<WritesAgainInGap>},
    Mutant{.name = "short_write_with_immediate_completes",
           .rule = "LEN-04",
           .description = "A WRITE of several packets with immediate data that brings less than "
                          "its RETH announced is acknowledged and completes.",
           .checks = engine::kStandardChecks.with(RequestCheck::MessageLength,
                                                  short_write_with_immediate)},
    Mutant{.name = "peer_prefix_not_compared",
           .rule = "ENC-14",
           .description = "Of an IPv6 source address only the lower 64 bits are compared with "
                          "those of the QP's peer.",
           .checks = engine::kStandardChecks.with(PacketCheck::SourceAddress, source_identifier)},
    Mutant{.name = "bare_request_passes_wrong_icrc",
           .rule = "CRC-07",
           .description = "The ICRC of RC requests without payload is not checked.",
           .make_filter = make<Admits<bare_request_in>>},
    Mutant{.name = "uc_last_closes_any_gap",
           .rule = "EXT-06",
           .description = "A UC SEND whose packets directly before the last one are lost completes "
                          "all the same, shorter than it was.",
           .make_filter = make<UcTakesAnyLast>},
    Mutant{.name = "fatal_nak_leaves_the_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "The NAK that ends a QP leaves untagged though the QP's path lies in a "
                          "VLAN; all else is tagged.",
           .make_filter = make<EditsSentDatagram<fatal_nak_untagged>>},
    Mutant{.name = "read_leaves_nak_outstanding",
           .rule = "RSP-06",
           .description = "If a READ or atomic fills a gap, the next gap draws no NAK until a SEND "
                          "or WRITE has come.",
           .make_filter = make<ReadLeavesNakFlag>},
    Mutant{.name = "read_overwrites_atomic_result",
           .rule = "ATM-04",
           .description = "The duplicate of an atomic that a READ follows directly is answered "
                          "with the READ's address in place of the saved value.",
           .make_filter = make<ReadOverSavedResult>},
    Mutant{.name = "atomic_line_misses_foreign_write",
           .rule = "ATM-01",
           .description = "An atomic works on what the atomic before it left in memory if only "
                          "another QP has written there meanwhile, and undoes that WRITE.",
           .cases = "atm/write-by-another-qp-between",
           .make_filter = make<AtomicMissesOtherWrites>},
    Mutant{.name = "solicited_event_for_next_long_message",
           .rule = "N-26",
           .description = "A message of several packets without SE fires a CQ that is armed for "
                          "solicited events if the message before it had SE.",
           .cases = "n/solicited-then-a-long-message",
           .make_filter = make<SolicitedSticks>},
    Mutant{.name = "cnp_promotes_limited_member",
           .rule = "CNP-02",
           .description = "The CNP for a marked packet with a limited P_Key has the full one.",
           .make_filter = make<EditsOutbound<cnp_of_full_member>>},
    Mutant{.name = "unused_srq_qp_has_no_last_wqe",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "LAST_WQE_REACHED is not raised for a QP that never completed a receive "
                          "of its shared queue.",
           .make_filter = make<LastWqeWaitsForOne>},
    Mutant{.name = "older_atomic_write_is_repeated",
           .rule = "EXT-04",
           .description = "A duplicate ATOMIC WRITE that is not the newest request is written to "
                          "memory again.",
           .make_filter = make<OldAtomicWriteAgain>},
    Mutant{.name = "rnr_counts_last_write_twice",
           .rule = "N-15",
           .description = "byte_len of a WRITE with immediate data counts the last packet twice "
                          "if that was sent again after an RNR NAK.",
           .make_filter = make<CountsRefusedLast>},
    Mutant{.name = "reset_leaves_message_open",
           .rule = "STA-10",
           .description = "After a RESET in the middle of a message the new connection's first "
                          "request is NAKed as out of sequence.",
           .make_filter = make<OpenAfterReset>},
    Mutant{.name = "old_window_key_still_writes",
           .rule = "KEY-08",
           .description = "A WRITE with an earlier key of a bound window is carried out; other "
                          "requests with it are refused.",
           .cases = "key/window-lost-inside-a-write",
           .checks =
               engine::kStandardChecks.with(RequestCheck::KeyVariant, window_key_without_variant)},
    Mutant{.name = "receive_posted_in_err_is_lost",
           .rule = "STA-07",
           .description = "A receive that is posted to a QP in ERR is taken and never flushed.",
           .cases = "sta/chain-posted-in-error",
           .make_filter = make<LateReceiveStays>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind17_responder

namespace veriroce::mutants {

std::span<const Mutant> blind17_responder() {
    return of_blind17_responder::kMutants;
}

} // namespace veriroce::mutants
