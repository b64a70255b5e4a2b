// Defects of responders, written blind: without a look at the suite. They come from three devices
// that were thought out first.
//
// "Core", a pipelined FPGA: parser, PSN stage, opcode stage, receive fetch, payload DMA, answer
// FIFO. A cache line for each QP's context; a CAM finds it. Latches between the stages belong to
// the port, not to the QP. "Firmware", a NIC whose processor keeps READs and atomics in a ring of
// slots, replay values in a memory of their own, and keys in a translation cache. "Driver", a host
// driver that emulates a part of the verbs: it rewrites receives, keeps events, and is the CM.
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/frame.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_blind21_responder {
namespace {

using engine::DuplicateCheck;
using engine::OpenMessage;
using engine::OwnedDatagram;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;
namespace right_duplicate = engine::duplicate_check;

// Bytes of the message that came before this packet.
std::uint64_t before(const RequestView& view) {
    return view.info.starts_message() ? 0 : view.inbound.received;
}

bool is_atomic(const RequestView& view) {
    return is_atomic_request(view.packet);
}

bool ends_write_with_immediate(const wire::OpcodeInfo& info) {
    return info.operation == Operation::RdmaWrite && info.position == Position::Last &&
           info.immediate();
}

// --- duplicates

// Core: the receive fetch looks ahead while the PSN stage still compares; when the queue is empty
// its refusal comes first and wins. Shows when: a SEND_ONLY is repeated while no receive is posted.
RequestVerdict fetch_before_psn(const RequestView& view) {
    const bool behind = wire::distance(view.inbound.expected_psn, view.packet.bth.psn) < 0;
    if (behind && view.takes_receive() && !view.receive_ready) return RequestVerdict::Rnr;
    return right::expected_psn(view);
}

// Firmware: a slot of the ring holds the READ's first PSN and the last one, and the search asks for
// `psn < last`. The whole READ is found by its first PSN. Shows when: a READ of three packets was
// answered, and its last packet alone is asked for again.
bool tail_before_last(const RequestView& view) {
    if (!right_duplicate::within_read(view)) return false;
    if (!is_read_request(view.packet) || view.saved == nullptr) return true;
    const std::uint32_t at = engine::forward(view.saved->psn, view.packet.bth.psn);
    return at == 0 || at + 1 != view.saved->packets;
}

struct Tails {
    ReadLog log;
    std::int64_t counted = 0;
};

// Firmware: a repeated tail differs from what its slot holds, so it is put into a slot of its own;
// the code that fills a slot also counts the message. Shows when: a READ of three packets is
// repeated from its second one; all MSNs from then on are one too high.
class CountsTails final : public QpFilter<Tails> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || !is_read_request(packet)) return;
        if (!of_this_connection(qp.report, passage)) return;
        ReadLog& log = qp.memory.log;
        const auto known = log.holding(packet.bth.psn);
        if (known && known->answered && tail_of(*known, packet, qp.mtu())) ++qp.memory.counted;
        log.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        if (is_read_response(packet)) qp.memory.log.answer(packet.bth.psn);
        if (has_aeth(packet)) packet.aeth.msn = packet.aeth.msn + qp.memory.counted;
    }

  private:
    static bool tail_of(const LoggedRead& read, const wire::Packet& packet, wire::Mtu mtu) {
        const wire::Reth& whole = read.request.reth;
        const wire::Reth& asked = packet.reth;
        const std::uint64_t offset =
            std::uint64_t{engine::forward(read.request.bth.psn, packet.bth.psn)} *
            wire::bytes_of(mtu);
        return offset != 0 && asked.rkey == whole.rkey &&
               asked.virtual_address == whole.virtual_address + offset &&
               offset + asked.dma_length == whole.dma_length;
    }
};

// --- acknowledges and NAKs

struct Gap {
    Arrivals arrivals;
    bool told = false; // in this life of the QP
};

// Core: RESET clears the context line, but "a sequence NAK is out" is a bit vector by QPN beside
// it, which only the expected PSN clears. Shows when: a gap is NAKed, the QP goes through RESET to
// RTR, and the first request that comes then is ahead: no NAK.
class NakOutlivesReset final : public QpFilter<Gap> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool heard = is_rc_request(packet) && engine::receives(qp.report.state) &&
                           of_this_connection(qp.report, passage);
        if (!heard) return;
        const auto place = qp.memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        out_.erase(qp.report.qpn);
        qp.memory.told = false;
    }
    void leaves(Qp& qp, Passage& passage) override {
        heed_nak(qp.memory.arrivals, passage.packet);
        if (!is_sequence_nak(passage.packet)) return;
        if (out_.contains(qp.report.qpn) && !qp.memory.told) {
            passage.dropped = true;
            return;
        }
        out_.insert(qp.report.qpn);
        qp.memory.told = true;
    }

  private:
    std::set<wire::Qpn> out_;
};

struct BehindRead {
    std::optional<wire::Psn> psn; // right behind the response that ended last
};

// Core: the end of a long response retires the answer FIFO up to "its PSN plus one", which is an
// exclusive bound everywhere but here. Shows when: a READ of two packets or more, then a SEND of
// one packet with AckReq: the SEND is carried out, but acknowledged only when it is repeated.
class RetiresAckBehindRead final : public QpFilter<BehindRead> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        auto& psn = qp.memory.psn;
        if (is_ack(packet)) passage.dropped = std::exchange(psn, std::nullopt) == packet.bth.psn;
        if (!is_read_response(packet)) return;
        psn.reset();
        if (packet.info().position == Position::Last) psn = packet.bth.psn + 1;
    }
};

// --- receiver not ready

struct FirstCode {
    std::optional<wire::Syndrome> syndrome;
};

// Firmware: the RNR NAK is a template that is filled in when the QP needs it first; a change of
// min_rnr_timer does not reach it. Shows when: an RNR NAK was sent, min_rnr_timer is then changed
// to a longer time in RTS, and the queue is empty once more.
class KeepsFirstRnrCode final : public QpFilter<FirstCode> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        auto& first = qp.memory.syndrome;
        if (!first) first = passage.packet.aeth.syndrome;
        passage.packet.aeth.syndrome = *first;
    }
};

struct LateRefusal {
    std::optional<wire::Psn> write_end; // a WRITE_LAST_WITH_IMM
};

// Core: of a WRITE the payload DMA counts the message when its last byte is placed, and takes that
// back if the receive fetch fails; the RNR NAK is built between the two. Shows when: a WRITE of
// three packets with immediate data meets an empty receive queue.
class RnrCountsLongWrite final : public QpFilter<LateRefusal> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (ends_write_with_immediate(packet.info())) qp.memory.write_end = packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || qp.memory.write_end != packet.bth.psn) return;
        packet.aeth.msn = packet.aeth.msn + 1;
    }
};

struct Solicited {
    std::optional<wire::Psn> psn; // of the newest message that solicits
};

// Core: SE is latched for the completion writer when the parser sees it. A message that is refused
// with RNR leaves it there, for whichever QP completes next. Shows when: a SEND with SE to QP A is
// RNR NAKed, then a SEND without SE completes at QP B, whose CQ is armed for solicited only.
class SolicitedSticks final : public QpFilter<Solicited> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool completes = packet.info().consumes_receive() && packet.info().ends_message();
        if (!completes || !engine::receives(qp.report.state)) return;
        if (packet.bth.solicited) qp.memory.psn = packet.bth.psn;
        packet.bth.solicited = std::exchange(latched_, false) || packet.bth.solicited;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.psn == packet.bth.psn) latched_ = true;
    }

  private:
    bool latched_ = false;
};

// --- atomics

struct AtomicLine : Arrivals {
    struct Line {
        wire::Rkey rkey;
        std::uint64_t address = 0;
        std::uint64_t value = 0;
    };
    std::optional<Line> line;
};

// Core: the atomic unit keeps the eight bytes that a QP's last atomic wrote in the QP's context and
// forwards them to the next one, so that back-to-back atomics need no read; nobody invalidates
// them. Any other request of the QP drops them. Shows when: FETCH_ADDs to one number by QP A, then
// QP B, then QP A again: the second one of A finds its own old sum, and B's is lost.
class ForwardsOwnAtomic final : public PlacesRequests<AtomicLine> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Arrivals::Place::Expected) return;
        auto& line = qp.memory.line;
        const auto bytes = reached(qp, passage);
        if (bytes.empty()) {
            line.reset();
            return;
        }
        const wire::AtomicEth& asked = packet.atomic;
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        if (line && line->rkey == asked.rkey && line->address == asked.virtual_address) {
            value = line->value;
            std::memcpy(bytes.data(), &value, sizeof value);
        }
        if (packet.info().operation == Operation::FetchAdd) {
            value += asked.swap_or_add;
        } else if (value == asked.compare) {
            value = asked.swap_or_add;
        }
        line = {.rkey = asked.rkey, .address = asked.virtual_address, .value = value};
    }

  private:
    // Empty if the packet is no atomic that will be carried out.
    wire::MutableBytes reached(const Qp& qp, const Passage& passage) const {
        const wire::Packet& packet = passage.packet;
        const bool heard = is_rc_request(packet) && is_atomic_request(packet) &&
                           packet.body.empty() && engine::receives(qp.report.state) &&
                           of_this_connection(qp.report, passage);
        const wire::AtomicEth& asked = packet.atomic;
        if (!heard || asked.virtual_address % sizeof(std::uint64_t) != 0) return {};
        const auto region = regions().live(asked.rkey);
        const auto& rights = qp.report.attributes.access;
        const bool allowed =
            region && region->access.remote_atomic && rights && rights->remote_atomic;
        if (!allowed) return {};
        return Regions::range(*region, asked.virtual_address, sizeof(std::uint64_t));
    }
};

// Firmware: the values for replays stand in a memory of sixteen words that is addressed by the low
// bits of the PSN; the QP belongs to the address and was forgotten. Shows when: QPs A and B each
// execute an atomic with the same low PSN bits, A first, and A's is repeated: it gets B's value.
class SharesReplays final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        const bool again = qp.memory.note(packet.bth.psn);
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        std::uint64_t& word = values_[packet.bth.psn.value() % values_.size()];
        if (again) {
            packet.atomic_ack.original = word;
        } else {
            word = packet.atomic_ack.original;
        }
    }

  private:
    std::array<std::uint64_t, 16> values_{};
};

// Core: alignment is asked behind the translation, of the offset in the region. Shows when: the
// region (or window) begins at an address that is no multiple of 8: an atomic to an aligned address
// in it is refused, and one to an unaligned address is carried out.
RequestVerdict alignment_of_offset(const RequestView& view) {
    const bool write = view.info.operation == Operation::AtomicWrite;
    if (!is_atomic(view) && !write) return RequestVerdict::Accept;
    const wire::Rkey rkey = write ? view.packet.reth.rkey : view.packet.atomic.rkey;
    const std::uint64_t address =
        write ? view.packet.reth.virtual_address : view.packet.atomic.virtual_address;
    const engine::Region& region = view.memory.slot(rkey.value);
    if (!region.live || region.key != rkey.value || address < region.address) {
        return right::atomic_alignment(view);
    }
    return (address - region.address) % 8 != 0 ? RequestVerdict::NakInvalidRequest
                                               : RequestVerdict::Accept;
}

// Firmware: an entry of the translation cache has room for a window's two rights, to read and to
// write; an atomic does both and is held to be a write. Shows when: an atomic names a window that
// is bound with REMOTE_WRITE and without REMOTE_ATOMIC, on a QP and region that allow atomics.
RequestVerdict window_has_no_atomic_right(const RequestView& view) {
    if (!view.target || !is_atomic(view)) return right::key_rights(view);
    const engine::Region& entry = view.memory.slot(view.target->rkey.value);
    if (entry.kind == engine::KeyKind::Region) return right::key_rights(view);
    return entry.access.remote_write ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

// --- lengths, receives, keys

// Core: a WRITE's countdown is compared with zero on its way to the answer FIFO; a packet with
// immediate data takes the way by the receive fetch, where only an excess is noticed. Shows when: a
// WRITE announces three packets and ends with LAST_WITH_IMM in the second.
RequestVerdict short_with_immediate(const RequestView& view) {
    const bool is_short = ends_write_with_immediate(view.info) &&
                          before(view) + view.packet.payload().size() < view.inbound.announced;
    return is_short ? RequestVerdict::Accept : right::message_length(view);
}

// Firmware: the list of a receive ends at its first empty entry, because the driver marks the end
// of a short list like that. Shows when: a receive has the pieces 100, 0 and 100 bytes, and a SEND
// brings 150.
RequestVerdict empty_piece_ends_list(const RequestView& view) {
    if (view.info.operation != Operation::Send) return RequestVerdict::Accept;
    std::uint64_t room = 0;
    for (const engine::Sge& piece : view.receive_sges) {
        if (piece.length == 0) break;
        room += piece.length;
    }
    const bool too_long = before(view) + view.packet.payload().size() > room;
    return too_long ? RequestVerdict::NakInvalidRequest : RequestVerdict::Accept;
}

// Firmware: "invalidate" of a translation that is invalid already says "done". Shows when: a second
// SEND with invalidate names the window of type 2 that the first one has revoked.
RequestVerdict revoked_twice(const RequestView& view) {
    const RequestVerdict verdict = right::invalidate_key(view);
    if (verdict == RequestVerdict::Accept) return verdict;
    const std::uint32_t key = view.packet.ieth.rkey.value;
    const engine::Region& window = view.memory.slot(key);
    const bool unbound = !window.live && window.kind == engine::KeyKind::WindowType2 &&
                         window.key == key && window.pd == view.connection.pd;
    return unbound ? RequestVerdict::Accept : verdict;
}

// Driver: to save work for the device it gives a piece the key of the piece before, if it begins
// where that one ends; it does not ask whether they are of one region. Shows when: a receive's
// pieces lie side by side in two regions, and a SEND reaches into the second one.
class KeyOfPieceBefore final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        pieces_.assign(request.sges.begin(), request.sges.end());
        for (std::size_t i = 1; i < pieces_.size(); ++i) {
            const engine::Sge& last = pieces_[i - 1];
            const bool adjoins = last.length != 0 && pieces_[i].length != 0 &&
                                 last.address + last.length == pieces_[i].address;
            if (adjoins) pieces_[i].lkey = last.lkey;
        }
        request.sges = pieces_;
    }

  private:
    std::vector<engine::Sge> pieces_;
};

// --- shared receive queues

// Firmware: the scatter engine is handed the protection domain out of the QP's context, though the
// receive is the shared queue's. Shows when: the SRQ was created in another domain than the QP, its
// receives name regions of its own domain, and a SEND with payload comes.
RequestVerdict receive_in_domain_of_qp(const RequestView& view) {
    const RequestVerdict verdict = right::receive_memory(view);
    if (verdict != RequestVerdict::Accept || view.info.operation != Operation::Send) return verdict;
    const bool reached =
        engine::reachable(view.memory, view.connection.pd, view.receive_sges, before(view),
                          view.packet.payload().size(), engine::Direction::ToMemory);
    return reached ? verdict : RequestVerdict::NakRemoteOperational;
}

// Driver: it hands on the limit event and marks the queue as told; modify_srq writes the new limit
// and leaves the mark. Shows when: the limit is armed, reached, armed again and reached again.
class LimitToldOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool limit = event.type == engine::EventType::SrqLimitReached && event.srq;
        if (limit && !told_.insert(*event.srq).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::SrqId> told_;
};

// --- immediate data

struct LastImmediate {
    std::optional<std::uint32_t> value;
};

// Core: immediate data travels to the completion writer with the payload's descriptor. A WRITE of
// no bytes has none, and the writer finds what came before. Shows when: a message with data and
// immediate data, then a WRITE of zero bytes with other immediate data.
class StaleImmediate final : public QpFilter<LastImmediate> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool heard = packet.info().immediate() && packet.info().request() &&
                           engine::receives(qp.report.state);
        if (!heard) return;
        const bool empty = is_write(packet) && packet.body.empty() &&
                           packet.info().position == Position::Only && packet.reth.dma_length == 0;
        if (!empty) {
            qp.memory.value = packet.imm.value;
        } else if (qp.memory.value) {
            packet.imm.value = *qp.memory.value;
        }
    }
};

// --- FLUSH

// Firmware: a FLUSH's placement and the region's rights are two bit sets, which are ANDed and
// compared with zero. Shows when: a FLUSH asks for visibility and persistence at once, and its
// region allows one of them (the QP allows both).
RequestVerdict one_flush_right_is_enough(const RequestView& view) {
    if (!view.target || view.info.operation != Operation::Flush) return right::key_rights(view);
    const engine::Access& access = view.memory.slot(view.target->rkey.value).access;
    const unsigned wanted = view.packet.feth.placement;
    const unsigned held = (access.flush_global ? 1U : 0U) | (access.flush_persistent ? 2U : 0U);
    return (wanted & held) != 0 ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

// Core: the table of the opcode stage was made before there was a FLUSH; its opcode was added to
// the parser, and the table's default is "legal, no change". Shows when: a FLUSH comes at the
// expected PSN between WRITE_FIRST and WRITE_LAST.
RequestVerdict flush_fits_anywhere(const RequestView& view) {
    if (view.info.operation == Operation::Flush && view.inbound.open != OpenMessage::None) {
        return RequestVerdict::Accept;
    }
    return right::opcode_sequence(view);
}

// --- ICRC

// Core: the MAC hands on the padding of a short frame; the ICRC unit finds its check value not at
// the end, says "unknown" and not "bad", and only "bad" drops a frame. Shows when: a frame with
// bytes behind its UDP datagram (one padded to 60 bytes, such as an empty SEND over IPv4) has a
// wrong ICRC.
std::optional<OwnedDatagram> padded_frame(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || decoded->outer.ip_end >= frame.size()) return std::nullopt;
    const auto taken = wire::unseal(*decoded);
    if (taken || taken.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const wire::Datagram datagram = decoded->datagram();
    return OwnedDatagram{.envelope = datagram.envelope,
                         .bytes = {datagram.bytes.begin(), datagram.bytes.end()}};
}

// Core: the last beat of a long response goes to the ICRC unit with a byte mask that the response
// engine makes out of the pad count; for three pad bytes the table has two. Shows when: the last of
// several response packets has 1 modulo 4 bytes (a READ of PMTU + 1 bytes).
class IcrcOfTwoPadBytes final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto decoded = wire::decode_frame(frame);
        const auto packet = decoded ? wire::decode_packet(decoded->transport)
                                    : std::unexpected(wire::PacketError::TooShortForBth);
        constexpr std::uint8_t most = 3;
        const bool meant = packet && is_rc_response(*packet) && is_read_response(*packet) &&
                           packet->info().position == Position::Last && packet->bth.pad == most;
        if (!meant) return;
        const wire::Bytes covered = decoded->covered();
        const std::uint32_t value = wire::icrc(covered.first(covered.size() - 1));
        wire::store_icrc(frame.subspan(decoded->outer.icrc_at, wire::kIcrcBytes), value);
    }
};

// --- congestion

// Core: the mark of an IPv6 packet is looked for with "traffic class == 3", which was right as long
// as nobody used DSCPs. Shows when: a request over IPv6 with a DSCP other than 0 is marked CE.
class MarkSeenWithoutDscp final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        constexpr std::uint8_t ect0 = 2;
        const auto packet = wire::decode_packet(datagram.bytes);
        wire::Envelope& envelope = datagram.envelope;
        const bool connected = packet && packet->info().service != wire::Service::Ud;
        const bool missed = connected && !envelope.destination.v4() && envelope.dscp != 0 &&
                            envelope.ecn == wire::kCongestionExperienced;
        if (missed) envelope.ecn = ect0;
        in.push_back(std::move(datagram));
    }
};

// --- connection management

bool is_cm(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.body.size() == wire::kMadBytes &&
           wire::load_u8(packet.body, wire::cm::kClassAt) == wire::kCmClass;
}

// Driver: the record of a peer's communication id is made by its REQ and keeps that message's
// transaction; the DREP is made out of the record. Shows when: a REQ and then a DREQ come with the
// same communication id and different transactions (that the REQ was rejected changes nothing).
class DrepOfReq final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool req = packet && packet->bth.dest_qp == wire::kGsiQpn && is_cm(*packet) &&
                         wire::cm::attribute_of(packet->body) == wire::cm::kReq;
        if (req) {
            transactions_.insert_or_assign(wire::load_u32(packet->body, wire::cm::kLocalIdAt),
                                           wire::load_u64(packet->body, wire::cm::kTransactionAt));
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool drep = packet && packet->deth.source_qp == wire::kGsiQpn && is_cm(*packet) &&
                          wire::cm::attribute_of(packet->body) == wire::cm::kDrep;
        if (drep) {
            const auto known =
                transactions_.find(wire::load_u32(packet->body, wire::cm::kRemoteIdAt));
            if (known != transactions_.end()) {
                wire::store_be<8>(datagram.bytes, packet->header_bytes() + wire::cm::kTransactionAt,
                                  known->second);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<std::uint32_t, std::uint64_t> transactions_; // by the peer's communication id
};

// Driver: the address of an answer is made out of the request's GRH, in which no VLAN stands; that
// of the completion is not looked at. Shows when: a REQ to QP 1 comes with a VLAN tag.
void answer_without_vlan(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (is_cm(packet) && packet.deth.source_qp == wire::kGsiQpn) datagram.envelope.vlan.reset();
}

// --- UC

struct UcMessage {
    wire::Psn next;
    bool open = false;
    bool skips = false;
};

// Core: a FIRST inside a message is an error of the opcode stage, whose one remedy for UC is to
// skip up to the next packet that ends a message; the FIRST itself is skipped with it. Shows when:
// the LAST of a long message is lost and another long one follows: both are lost.
class UcSkipsNextMessage final : public QpFilter<UcMessage> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool heard = info.service == wire::Service::Uc && info.request() &&
                           engine::receives(qp.report.state) &&
                           of_this_connection(qp.report, passage);
        if (!heard) return;
        UcMessage& message = qp.memory;
        if (message.open && info.position == Position::First) message.skips = true;
        if (message.skips) {
            passage.dropped = true;
            message.open = false;
            message.skips = !info.ends_message();
            return;
        }
        const bool goes_on = message.open && message.next == packet.bth.psn;
        message.open = !info.ends_message() && (info.starts_message() || goes_on);
        message.next = packet.bth.psn + 1;
    }
};

// --- UD

struct CachedQkey {
    std::optional<wire::Qkey> qkey;
};

// Core: a UD QP's context line is filled by its first datagram; modify_qp changes the context in
// memory, and drops the line only for changes of state. Shows when: a datagram was received, the
// Q_Key is changed in RTS, and datagrams with the new and with the old one come.
class QkeyOfFirstDatagram final : public QpFilter<CachedQkey> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& own = qp.report.attributes.qkey;
        const bool heard = packet.info().service == wire::Service::Ud && packet.info().request() &&
                           engine::receives(qp.report.state) && own;
        if (!heard) return;
        auto& cached = qp.memory.qkey;
        if (!cached) cached = *own;
        if (*cached == *own) return;
        wire::Qkey& theirs = packet.deth.qkey;
        if (theirs == *cached) {
            theirs = *own;
        } else if (theirs == *own) {
            theirs = {~own->value};
        }
    }
};

using engine::kStandardChecks;

constexpr std::array kMutants{
    Mutant{.name = "duplicate_send_without_receive_is_rnr",
           .rule = "RSP-12",
           .description = "A repeated SEND (its first packet) or WRITE with immediate data that "
                          "finds the receive queue empty gets an RNR NAK in place of an ACK.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, fetch_before_psn)},
    Mutant{.name = "read_tail_of_one_packet_ignored",
           .rule = "RDR-05",
           .description = "A READ request that repeats only the last packet of an answered READ "
                          "gets no answer, however often it comes.",
           .cases = "rdr/tail-of-one-packet",
           .checks = kStandardChecks.with(DuplicateCheck::WithinRead, tail_before_last)},
    Mutant{.name = "read_tail_moves_msn",
           .rule = "ACK-07",
           .description = "A READ request that repeats the tail of an answered READ counts as a "
                          "message in all MSNs from then on.",
           .make_filter = make<CountsTails>},
    Mutant{.name = "nak_state_survives_reset",
           .rule = "STA-10",
           .description = "A QP that was reset while a sequence NAK was out does not NAK the gap "
                          "with which its next life begins.",
           .make_filter = make<NakOutlivesReset>},
    Mutant{.name = "ack_behind_long_read_lost",
           .rule = "ACK-01",
           .description = "The ACK whose PSN follows that of the LAST response of a READ is not "
                          "sent; a repeated request is acknowledged.",
           .make_filter = make<RetiresAckBehindRead>},
    Mutant{.name = "rnr_code_kept_from_first_nak",
           .rule = "RNR-07",
           .description = "All RNR NAKs of a QP carry the timer code of its first one, though "
                          "min_rnr_timer was changed to a longer time since.",
           .make_filter = make<KeepsFirstRnrCode>},
    Mutant{.name = "rnr_nak_counts_long_write",
           .rule = "ACK-08",
           .description = "The RNR NAK of a WRITE_LAST_WITH_IMM has an MSN that counts the WRITE, "
                          "which has no receive yet.",
           .make_filter = make<RnrCountsLongWrite>},
    Mutant{.name = "solicited_of_refused_send_sticks",
           .rule = "N-26",
           .description = "After a solicited message was RNR NAKed, the next message that any QP "
                          "completes is taken for solicited.",
           .cases = "bth/solicited-refused-elsewhere",
           .make_filter = make<SolicitedSticks>},
    Mutant{.name = "atomic_value_forwarded_within_qp",
           .rule = "ATM-09",
           .description = "The second of two successive atomics of a QP to one number works on "
                          "what the first one left, though another QP or the host changed it "
                          "in between.",
           .make_filter = make<ForwardsOwnAtomic>},
    Mutant{.name = "replay_values_shared_between_qps",
           .rule = "ATM-04",
           .description = "A repeated atomic is answered with the value that the newest atomic of "
                          "any QP with the same low four bits of the PSN has found.",
           .make_filter = make<SharesReplays>},
    Mutant{.name = "atomic_alignment_of_region_offset",
           .rule = "ATM-02",
           .description = "The offset in the region, and not the address, of an atomic or ATOMIC "
                          "WRITE must be a multiple of 8.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, alignment_of_offset)},
    Mutant{.name = "atomic_needs_write_right_of_window",
           .rule = "KEY-04",
           .description = "An atomic by a memory window needs the window's REMOTE_WRITE in place "
                          "of REMOTE_ATOMIC.",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, window_has_no_atomic_right)},
    Mutant{.name = "short_write_with_imm_accepted",
           .rule = "LEN-04",
           .description = "A WRITE of several packets with immediate data that brings fewer bytes "
                          "than it announced is completed and acknowledged.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, short_with_immediate)},
    Mutant{.name = "receive_stops_before_empty_piece",
           .rule = "LEN-06",
           .description = "The pieces of a receive behind one of zero bytes are not used: a SEND "
                          "that needs them is refused as too long.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, empty_piece_ends_list)},
    Mutant{.name = "send_inv_of_unbound_window_succeeds",
           .rule = "KEY-11",
           .description = "A SEND with invalidate that names a window of type 2 which is not bound "
                          "any more completes successfully and the QP lives on.",
           .cases = "key/invalidate-twice",
           .checks = kStandardChecks.with(RequestCheck::InvalidateKey, revoked_twice)},
    Mutant{.name = "adjoining_sges_share_first_key",
           .rule = "KEY-12",
           .description = "A piece of a receive that begins where the piece before ends is looked "
                          "up by that one's lkey: a SEND that reaches it is NAKed 0x63 if the two "
                          "are of different regions.",
           .cases = "req/pieces-of-adjacent-regions",
           .make_filter = make<KeyOfPieceBefore>},
    Mutant{.name = "srq_receive_in_domain_of_qp",
           .rule = "KEY-12",
           .description = "The lkeys of a shared queue's receive must be of the QP's protection "
                          "domain: where the queue has another, SENDs are NAKed 0x63.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveMemory, receive_in_domain_of_qp)},
    Mutant{.name = "srq_limit_told_once",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "Once SRQ_LIMIT_REACHED was raised for a shared queue, a limit that is "
                          "armed again raises none.",
           .cases = "rnr/shared-limit-again-the-same",
           .make_filter = make<LimitToldOnce>},
    Mutant{.name = "empty_write_has_immediate_before",
           .rule = "N-15",
           .description = "A WRITE of zero bytes with immediate data completes with the immediate "
                          "data of the QP's last message that was not such a WRITE.",
           .make_filter = make<StaleImmediate>},
    Mutant{.name = "flush_needs_one_of_its_rights",
           .rule = "N-29",
           .description = "A FLUSH for visibility and persistence is carried out in a region that "
                          "allows only one of them.",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, one_flush_right_is_enough)},
    Mutant{.name = "flush_accepted_inside_message",
           .rule = "OPC-04",
           .description = "A FLUSH inside a SEND or WRITE of several packets is answered, and the "
                          "message goes on behind it.",
           .checks = kStandardChecks.with(RequestCheck::OpcodeSequence, flush_fits_anywhere)},
    Mutant{.name = "icrc_of_padded_frame_not_judged",
           .rule = "CRC-07",
           .description = "A frame that is longer than its IP packet is taken in with a wrong "
                          "ICRC.",
           .cases = "enc/trailer-and-bad-icrc",
           .make_filter = make<Admits<padded_frame>>},
    Mutant{.name = "icrc_of_last_response_misses_pad",
           .rule = "CRC-06",
           .description = "The ICRC of a READ_RESPONSE_LAST with three pad bytes covers only two "
                          "of them.",
           .make_filter = make<IcrcOfTwoPadBytes>},
    Mutant{.name = "ce_with_dscp_unseen_in_ipv6",
           .rule = "CNP-01",
           .description = "A CE mark on an IPv6 packet whose DSCP is not 0 draws no CNP.",
           .make_filter = make<MarkSeenWithoutDscp>},
    Mutant{.name = "drep_has_transaction_of_req",
           .rule = "N-30",
           .description = "The DREP to a peer whose REQ came before carries the transaction ID of "
                          "the REQ in place of the DREQ's.",
           .cases = "cm/dreq-behind-a-refused-req",
           .make_filter = make<DrepOfReq>},
    Mutant{.name = "cm_answer_leaves_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "The answer to a message of connection management that came in a VLAN "
                          "has no VLAN tag.",
           .make_filter = make<EditsSentDatagram<answer_without_vlan>>},
    Mutant{.name = "uc_message_behind_lost_last_skipped",
           .rule = "EXT-06",
           .description = "When the last packets of a UC message are lost and a FIRST follows, the "
                          "message of that FIRST is dropped as well.",
           .make_filter = make<UcSkipsNextMessage>},
    Mutant{.name = "ud_qkey_of_first_datagram_kept",
           .rule = "EXT-05",
           .description = "A UD QP goes on to accept the Q_Key that it had at its first datagram, "
                          "and drops datagrams with the one that it was given since.",
           .make_filter = make<QkeyOfFirstDatagram>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind21_responder

namespace veriroce::mutants {

std::span<const Mutant> blind21_responder() {
    return of_blind21_responder::kMutants;
}

} // namespace veriroce::mutants
