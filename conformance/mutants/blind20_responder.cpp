// Defects of responders and receivers, written without a look at the cases.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/packets.hpp"
#include "dissector/wire/connection_message.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_blind20_responder {
namespace {

using engine::DatagramCheck;
using engine::DatagramView;
using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;
using Place = Arrivals::Place;

bool is_atomic(const wire::OpcodeInfo& info) {
    return info.operation == Operation::CompareSwap || info.operation == Operation::FetchAdd;
}

// --- requests as they come to a QP that takes them

struct Requests {
    Arrivals arrivals;
    bool dead = false; // a fatal NAK was sent
};

// What the packet checks and the state of the QP let through to an RC responder.
bool is_taken(const engine::QpReport& report, const Passage& passage) {
    return engine::receives(report.state) && is_rc_request(passage.packet) &&
           of_this_connection(report, passage);
}

template <std::derived_from<Requests> Memory>
class HearsRequests : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    // `was_open`: whether a message of several packets had begun before this packet.
    virtual void request(Qp& /*qp*/, Passage& /*passage*/, Place /*place*/, bool /*was_open*/) {}
    virtual void response(Qp& /*qp*/, Passage& /*passage*/) {}

    void arrives(Qp& qp, Passage& passage) final {
        Memory& memory = qp.memory;
        if (memory.dead || !is_taken(qp.report, passage)) return;
        const bool was_open = memory.arrivals.open;
        const Place place = memory.arrivals.note(passage.packet, qp.first_request(), qp.mtu());
        request(qp, passage, place, was_open);
    }
    void leaves(Qp& qp, Passage& passage) final {
        if (!is_rc_response(passage.packet)) return;
        qp.memory.dead |= is_fatal_nak(passage.packet);
        heed_nak(qp.memory.arrivals, passage.packet);
        response(qp, passage);
    }
};

// The number that an atomic at this place of the host's memory would find.
std::optional<std::uint64_t> number_at(wire::Bytes place) {
    std::uint64_t value = 0;
    if (place.size() != sizeof value) return std::nullopt;
    std::memcpy(&value, place.data(), sizeof value);
    return value;
}

// --- plain traffic

// The byte counter of the RDMA WRITE path counts whole words from the bus; only the SEND path takes
// the pad off before the completion is written. Shows when: a WRITE with immediate data whose
// length is no multiple of 4 completes a receive.
class CountsPadOfWrite final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool written = seen.status == engine::WcStatus::Success &&
                             seen.queue == engine::Queue::Receive &&
                             seen.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (written) seen.byte_len += wire::pad_of(seen.byte_len);
        return seen;
    }
};

// The atomic unit has a data path of 32 bits, and COMPARE_SWAP uses the comparator's first beat
// only. Shows when: a COMPARE_SWAP on a region's key whose compare value differs from memory in the
// upper 32 bits alone; it swaps.
struct Compared : Requests {
    struct Edit {
        std::uint64_t asked = 0;
        std::uint64_t used = 0;
    };
    std::map<std::uint32_t, Edit> edits; // by PSN, so that a duplicate stays the same request
};

class ComparesLowHalf final : public HearsRequests<Compared> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::CompareSwap) return;
        auto& edits = qp.memory.edits;
        wire::AtomicEth& asked = packet.atomic;
        const std::uint32_t psn = packet.bth.psn.value();
        if (place == Place::Expected) {
            edits.erase(psn);
            const auto found =
                number_at(regions().at(asked.rkey, asked.virtual_address, sizeof(std::uint64_t)));
            const bool low_half_equal = found && static_cast<std::uint32_t>(*found) ==
                                                     static_cast<std::uint32_t>(asked.compare);
            if (low_half_equal && *found != asked.compare) {
                edits[psn] = {.asked = asked.compare, .used = *found};
            }
        }
        const auto edit = edits.find(psn);
        if (edit != edits.end() && edit->second.asked == asked.compare) {
            asked.compare = edit->second.used;
        }
    }
};

// The packer of READ responses takes its pad from the length of the whole beat: a LAST of less than
// four bytes ends in its first beat, for which the state machine has no row, and PadCnt stays 0
// though the beat is sent whole. Shows when: a READ of a multiple of the PMTU plus 1, 2 or 3 bytes.
void pad_not_told(wire::Packet& packet) {
    const bool short_tail = is_read_response(packet) && packet.info().position == Position::Last &&
                            packet.bth.pad != 0 && packet.payload().size() < sizeof(std::uint32_t);
    if (short_tail) packet.bth.pad = 0;
}

// The header of an ACK is built in place out of the request's: of the word with the PSN only the
// AckReq bit is cleared. Shows when: a request with AckReq has reserved bits before its PSN set.
struct LastWord {
    wire::Psn psn;
    std::uint8_t reserved7 = 0;
};

class EchoesReservedBits final : public QpFilter<LastWord> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Bth& bth = passage.packet.bth;
        if (!is_taken(qp.report, passage) || !bth.ack_request) return;
        qp.memory = {.psn = bth.psn, .reserved7 = bth.reserved7};
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool answers =
            packet.info().operation == Operation::Acknowledge && packet.bth.psn == qp.memory.psn;
        if (answers) packet.bth.reserved7 = qp.memory.reserved7;
    }
};

// The completion of a SEND with invalidate is written later, when the key is revoked, out of a
// descriptor that has no room for the SE bit. Shows when: a SEND_ONLY or SEND_LAST with invalidate
// and SE=1 meets a CQ that is armed for solicited completions.
void solicited_not_kept(wire::Packet& packet) {
    if (is_rc_request(packet) && packet.info().invalidates()) packet.bth.solicited = false;
}

// The ECN bits of the IP header travel with the descriptor of the ACK to be made, and the CNP is
// made where that is consumed. Shows when: a SEND or WRITE packet without AckReq (a FIRST or
// MIDDLE) comes marked CE, and no CNP was sent for a while.
class SeesMarkWithAckRequest final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        constexpr std::uint8_t ect0 = 2;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool unseen = packet && is_rc_request(*packet) && !packet->bth.ack_request &&
                            datagram.envelope.ecn == wire::kCongestionExperienced &&
                            (packet->info().operation == Operation::Send || is_write(*packet));
        if (unseen) datagram.envelope.ecn = ect0;
        in.push_back(std::move(datagram));
    }
};

// The driver marks the end of a receive's list of SGEs by one of length 0, so that an empty one of
// the program ends the list. Shows when: a receive has an SGE of 0 bytes in front of another, and a
// SEND comes that needs the later one: it is refused as too long.
class ListEndsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(empty - request.sges.begin()));
    }
};

// ATOMIC WRITE shares the alignment check of the inline data path, which works in words of four
// bytes. Shows when: an ATOMIC WRITE to an address that is 4 modulo 8; it is carried out.
RequestVerdict aligned_to_four(const RequestView& view) {
    if (view.info.operation != Operation::AtomicWrite) return right::atomic_alignment(view);
    return view.packet.reth.virtual_address % 4 == 0 ? RequestVerdict::Accept
                                                     : RequestVerdict::NakInvalidRequest;
}

// --- errors, duplicates, retransmission

// A WRITE FIRST loads the address register before its PSN is judged, and only accepted packets
// advance the register. Shows when: the FIRST of the WRITE that is open is repeated alone or with
// what followed it (its ACK was lost), and the message then goes on: the later packets land at the
// beginning of the range.
struct Rewound : Requests {
    wire::Reth reth;        // of the newest WRITE FIRST
    bool writing = false;   // the open message is a WRITE
    std::uint64_t back = 0; // bytes that the register is behind
    std::vector<std::byte> kept;
};

class RewindsAtRepeatedFirst final : public HearsRequests<Rewound> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        Rewound& memory = qp.memory;
        const Arrivals& arrivals = memory.arrivals;
        const std::uint64_t full = wire::bytes_of(qp.mtu());
        if (place == Place::Behind) {
            const bool repeated = is_write(packet) && info.position == Position::First &&
                                  arrivals.open && memory.writing && arrivals.next &&
                                  packet.bth.psn == arrivals.first;
            if (!repeated) return;
            memory.back =
                full * static_cast<std::uint64_t>(wire::distance(arrivals.first, *arrivals.next));
        }
        if (place != Place::Expected) return;
        if (info.starts_message()) {
            memory.back = 0;
            memory.writing = is_write(packet);
            if (memory.writing) memory.reth = packet.reth;
            return;
        }
        if (!is_write(packet) || !memory.writing || memory.back == 0) return;
        const std::uint64_t before =
            full * static_cast<std::uint64_t>(wire::distance(arrivals.first, packet.bth.psn));
        misplace(memory, passage, memory.reth.virtual_address + before, full);
    }

  private:
    // Writes the payload where the register points to, and lets the engine write at the right place
    // what is there.
    void misplace(Rewound& memory, Passage& passage, std::uint64_t address,
                  std::uint64_t full) const {
        wire::Packet& packet = passage.packet;
        const wire::Bytes payload = packet.payload();
        const bool fits = packet.info().position == Position::Middle
                              ? payload.size() == full
                              : !payload.empty() && payload.size() <= full;
        if (!fits) return;
        const auto meant = regions().at(memory.reth.rkey, address, payload.size());
        const auto taken = regions().at(memory.reth.rkey, address - memory.back, payload.size());
        if (meant.empty() || taken.empty()) return;
        const std::vector<std::byte> written(payload.begin(), payload.end());
        memory.kept.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(meant, memory.kept.begin());
        std::ranges::copy(written, taken.begin());
        packet.body = memory.kept;
    }
};

// READ requests go to a queue of their own, which compares PSNs once more and knows of sequence
// NAKs, but not of RNR NAKs. Shows when: a SEND without a receive is RNR NAKed and a READ request
// follows it on the wire.
RequestVerdict read_behind_rnr(const RequestView& view) {
    const bool ahead = wire::distance(view.inbound.expected_psn, view.packet.bth.psn) > 0;
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (ahead && read && view.inbound.nak == engine::NakState::Rnr) {
        return RequestVerdict::NakSequence;
    }
    return right::one_nak(view);
}

// The entry of an atomic that tells a duplicate apart is filled in the write-back stage, which a
// COMPARE_SWAP that does not swap never reaches: a duplicate of it is carried out. Shows when: a
// COMPARE_SWAP finds another value, memory changes, and the same request comes again: it returns
// the new value, and swaps if that is the one it compares with.
struct FailedSwaps : Requests {
    std::map<std::uint32_t, wire::AtomicEth> failed;  // by PSN
    std::map<std::uint32_t, std::uint64_t> originals; // of those that were carried out again
};

class ForgetsFailedSwap final : public HearsRequests<FailedSwaps> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        const wire::Packet& packet = passage.packet;
        if (!is_atomic_request(packet)) return;
        auto& failed = qp.memory.failed;
        auto& originals = qp.memory.originals;
        const wire::AtomicEth& asked = packet.atomic;
        const std::uint32_t psn = packet.bth.psn.value();
        const auto place_of =
            regions().at(asked.rkey, asked.virtual_address, sizeof(std::uint64_t));
        const auto found = number_at(place_of);
        const bool swap = packet.info().operation == Operation::CompareSwap;
        if (place == Place::Expected) {
            failed.erase(psn);
            originals.erase(psn);
            if (swap && found && *found != asked.compare) failed[psn] = asked;
            return;
        }
        const auto known = failed.find(psn);
        const bool again = place == Place::Behind && swap && found && known != failed.end() &&
                           known->second == asked;
        if (!again) return;
        originals[psn] = *found;
        if (*found != asked.compare) return;
        std::memcpy(place_of.data(), &asked.swap_or_add, sizeof asked.swap_or_add);
        failed.erase(known);
    }
    void response(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto original = qp.memory.originals.find(packet.bth.psn.value());
        if (original != qp.memory.originals.end()) packet.atomic_ack.original = original->second;
    }
};

// Whether a repeated READ lies in the one that is remembered is asked by plain comparisons of 24
// bits. Shows when: a READ whose PSNs go through the wrap is asked for again from behind the wrap
// on: silence.
bool within_read_unwrapped(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (read && view.saved != nullptr && view.packet.bth.psn.value() < view.saved->psn.value()) {
        return false;
    }
    return engine::duplicate_check::within_read(view);
}

// The key that a SEND revokes is looked up while its PSN is judged; at a duplicate it is gone,
// which ends the QP. Shows when: a SEND with invalidate was carried out and comes again.
RequestVerdict revokes_at_duplicate(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    if (verdict != RequestVerdict::Duplicate) return verdict;
    const RequestVerdict key = right::invalidate_key(view);
    return key == RequestVerdict::Accept ? verdict : key;
}

// The MSN is incremented where the data of a WRITE is complete, before the receive of its immediate
// data is fetched, and an RNR NAK does not take it back. Shows when: a WRITE with immediate data
// finds no receive, is sent again and accepted: the MSN counts it twice from then on.
struct CountedEarly {
    std::optional<wire::Psn> write; // the newest WRITE with immediate data
    std::int64_t extra = 0;
};

class CountsRefusedImmediate final : public QpFilter<CountedEarly> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_taken(qp.report, passage) && is_write(packet) && packet.info().immediate()) {
            qp.memory.write = packet.bth.psn;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || !has_aeth(packet)) return;
        CountedEarly& memory = qp.memory;
        packet.aeth.msn = packet.aeth.msn + memory.extra;
        if (is_rnr_nak(packet) && memory.write == packet.bth.psn) ++memory.extra;
    }
};

// The completion of a SEND that is too long is written by the error path, which finds in the QP's
// scratch entry the wr_id of the receive that completed before. Shows when: a SEND completes a
// receive, and a later one is longer than the next receive.
class ErrorHasFormerId final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.queue != engine::Queue::Receive) return seen;
        if (seen.status == engine::WcStatus::Success) former_[seen.qp] = seen.id;
        const auto former = former_.find(seen.qp);
        if (seen.status == engine::WcStatus::LocLenErr && former != former_.end()) {
            seen.id = former->second;
        }
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint64_t> former_;
};

// The room of a receive is compared with the payload alone; that the 40 bytes in front do not fit
// either is seen by the DMA, which takes it for a protection error. Shows when: a datagram meets a
// receive that holds its payload, but less than 40 bytes more: LOC_PROT_ERR and ERR, no drop.
bool room_without_grh(const DatagramView& view) {
    return view.packet.payload().size() <= view.receive_bytes;
}

// Opcode 0x16 was added later, and the table of opcode sequences has it as a message of one packet
// like 0x17. Shows when: SEND_LAST with invalidate comes while no message is open: it is executed.
class LastInvalidateBegins final : public HearsRequests<Requests> {
  protected:
    void request(Qp& /*qp*/, Passage& passage, Place place, bool was_open) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool lone = place == Place::Expected && !was_open && info.invalidates() &&
                          info.position == Position::Last;
        if (!lone) return;
        const auto only =
            wire::opcode_of(wire::Service::Rc, Operation::Send, Position::Only, false, true);
        if (only) packet.bth.opcode = *only;
    }
};

// The versions of a message are compared in the handler of REQ; the handler of DREQ relies on it.
// Shows when: a DREQ of another class version than 2 (all else right) comes to QP 1: it is answered
// by a DREP.
class AnyVersionOfDreq final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool meant = packet && packet->info().service == wire::Service::Ud &&
                           packet->bth.dest_qp == wire::kGsiQpn &&
                           packet->body.size() == wire::kMadBytes &&
                           wire::load_u8(packet->body, wire::cm::kClassAt) == wire::kCmClass &&
                           wire::cm::attribute_of(packet->body) == wire::cm::kDreq;
        if (meant) {
            constexpr std::uint8_t version = 2;
            wire::store_be<1>(datagram.bytes, packet->header_bytes() + wire::cm::kClassVersionAt,
                              version);
        }
        in.push_back(std::move(datagram));
    }
};

// --- two features or two QPs together

// "A NAK was sent" is no bit of each QP but a register with the QP that sent the newest one. Shows
// when: two QPs wait after a sequence NAK at once, and a further packet ahead of its PSN comes to
// the one that sent its NAK first: it sends the NAK again, for each turn between the two once.
struct SentNak : Requests {
    std::optional<wire::Packet> nak; // while it is outstanding
};

class OneNakRegister final : public HearsRequests<SentNak> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        auto& nak = qp.memory.nak;
        if (place == Place::Expected) nak.reset();
        if (place != Place::Ahead || !nak || newest_ == qp.report.qpn) return;
        newest_ = qp.report.qpn;
        passage.answers.push_back(*nak);
    }
    void response(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_nak(packet)) qp.memory.nak.reset();
        if (!is_sequence_nak(packet)) return;
        newest_ = qp.report.qpn;
        qp.memory.nak = packet;
        qp.memory.nak->body = {};
    }

  private:
    std::optional<wire::Qpn> newest_;
};

// The answers to atomics are kept in a table by QPN and PSN that RESET does not clear. Shows when:
// a QP executes an atomic, goes through RESET, is connected anew with a PSN a little ahead of that
// atomic's, and an atomic with the old PSN comes: the old life's answer comes back.
struct NewLife : Requests {
    std::set<std::uint32_t> answered; // PSNs of atomics of this life
};

class ReplaysFormerLife final : public HearsRequests<NewLife> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        if (place != Place::Behind || !is_atomic_request(passage.packet)) return;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        const auto& answers = answers_[qp.report.qpn];
        const auto old = answers.find(psn);
        if (old == answers.end() || qp.memory.answered.contains(psn)) return;
        wire::Packet answer = old->second;
        answer.bth.dest_qp = qp.peer();
        passage.answers.push_back(answer);
    }
    void response(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        qp.memory.answered.insert(packet.bth.psn.value());
        wire::Packet& kept = answers_[qp.report.qpn][packet.bth.psn.value()];
        kept = packet;
        kept.body = {};
    }

  private:
    std::map<wire::Qpn, std::map<std::uint32_t, wire::Packet>> answers_;
};

// The responder keeps its own copy of a QP's access rights, which is fetched when the QP is
// connected; a later modify changes the context in the host's memory alone. Shows when: the host
// takes REMOTE_WRITE (or another right) from a QP in RTS, and such a request still is executed.
class KeepsAccessOfConnection final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.access) return;
        Known& known = known_[qpn];
        const bool in_rts = known.state == engine::QpState::Rts && known.access &&
                            attributes.state.value_or(known.state) == known.state;
        if (in_rts) {
            known.asked = attributes.access;
            attributes.access = known.access;
        } else {
            known.asked.reset();
            known.access = attributes.access;
        }
    }
    void queried(engine::QpReport& report) override {
        const auto known = known_.find(report.qpn);
        if (known != known_.end() && known->second.asked) {
            report.attributes.access = known->second.asked;
        }
    }
    void qp_changed(const engine::QpReport& qp) override {
        Known& known = known_[qp.qpn];
        known.state = qp.state;
        if (qp.state == engine::QpState::Reset) known = {};
    }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }

  private:
    struct Known {
        engine::QpState state = engine::QpState::Reset;
        std::optional<engine::Access> access; // that the responder has fetched
        std::optional<engine::Access> asked;  // in RTS
    };
    std::map<wire::Qpn, Known> known_;
};

// An event of a QP waits in a slot of its context until the event queue has room; a second one in
// the same instant finds the slot taken. Shows when: a QP with a shared receive queue ends by a
// request that is refused and holds no receive (a WRITE with a bad key): of the error event and
// LAST_WQE_REACHED only the first is raised.
class LosesSecondEvent final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (!event.qp) return event;
        const bool refused = event.type == engine::EventType::QpReqErr ||
                             event.type == engine::EventType::QpAccessErr;
        if (event.type == engine::EventType::LastWqeReached && refused_.erase(*event.qp) != 0) {
            return std::nullopt;
        }
        if (refused) refused_.insert(*event.qp);
        return event;
    }

  private:
    std::set<engine::QpId> refused_;
};

// The atomic unit looks keys up by itself and compares protection domains only, not the owner of a
// window of type 2. Shows when: a QP binds such a window with remote atomic access, and an atomic
// with its key comes to another QP of the domain: it is executed.
RequestVerdict window_open_to_domain(const RequestView& view) {
    if (!view.target || !is_atomic(view.info)) return right::key_domain(view);
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    return region.pd == view.connection.pd ? RequestVerdict::Accept
                                           : RequestVerdict::NakRemoteAccess;
}

// The lkeys of a receive are looked up in the domain of the QP's context, also where the receive
// comes out of a shared queue with a domain of its own. Shows when: a SEND comes to a QP whose
// shared receive queue has another PD than the QP: NAK 0x63, LOC_PROT_ERR.
RequestVerdict receive_in_domain_of_qp(const RequestView& view) {
    if (view.info.operation != Operation::Send) return RequestVerdict::Accept;
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool reached =
        engine::reachable(view.memory, view.connection.pd, view.receive_sges, before,
                          view.packet.payload().size(), engine::Direction::ToMemory);
    return reached ? RequestVerdict::Accept : RequestVerdict::NakRemoteOperational;
}

// Each QP keeps the translation of its newest WRITE in a cache line that a revoked key does not
// evict: the next WRITE that hits it goes through, and takes the line with it. Shows when: a
// WRITE_ONLY through a window of type 2, a SEND with invalidate of its key, and once more a
// WRITE_ONLY into the same range with that key.
struct CachedTranslation : Requests {
    wire::Reth newest;                 // the WRITE that filled the line
    std::optional<wire::Psn> revoking; // the SEND that revokes its key, until it is acknowledged
    bool revoked = false;

    void fill(const wire::Reth& reth) {
        newest = reth;
        revoking.reset();
        revoked = false;
    }
    [[nodiscard]] bool holds(const wire::Reth& asked) const {
        if (asked.rkey != newest.rkey || asked.virtual_address < newest.virtual_address) {
            return false;
        }
        const std::uint64_t offset = asked.virtual_address - newest.virtual_address;
        return offset + asked.dma_length <= newest.dma_length;
    }
};

class CachesRevokedKey final : public HearsRequests<CachedTranslation> {
  protected:
    void request(Qp& qp, Passage& passage, Place place, bool /*was_open*/) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        CachedTranslation& memory = qp.memory;
        if (place != Place::Expected) return;
        if (info.invalidates() && packet.ieth.rkey == memory.newest.rkey) {
            memory.revoking = packet.bth.psn;
        }
        const bool write = is_write(packet) && info.position == Position::Only &&
                           !info.immediate() && packet.reth.dma_length != 0 &&
                           packet.payload().size() == packet.reth.dma_length;
        if (!write) return;
        if (!memory.revoked || !memory.holds(packet.reth)) {
            memory.fill(packet.reth);
            return;
        }
        const wire::Bytes payload = packet.payload();
        const auto target = regions().anywhere(packet.reth.virtual_address, payload.size());
        memory.fill({});
        const auto access = qp.report.attributes.access;
        const bool may = access && access->remote_write && payload.size() <= bytes_of(qp.mtu());
        if (target.empty() || !may) return;
        std::ranges::copy(payload, target.begin());
        packet.reth.dma_length = 0; // what is left for the engine: to acknowledge it
        packet.body = {};
        packet.bth.pad = 0;
    }
    void response(Qp& qp, Passage& passage) override {
        CachedTranslation& memory = qp.memory;
        const wire::Packet& packet = passage.packet;
        const bool carried_out = memory.revoking && is_ack(packet) &&
                                 wire::distance(*memory.revoking, packet.bth.psn) >= 0;
        if (!carried_out) return;
        memory.revoking.reset();
        memory.revoked = true;
    }
};

// The DMA of a broken UC message is stopped, but its LAST still reaches the completion unit, which
// only looks at the immediate data. Shows when: of a UC WRITE with immediate data of three or more
// packets a MIDDLE is lost: a receive completes, with byte_len 0.
struct UcWrite {
    std::optional<wire::Psn> next; // while a WRITE is open
};

class CompletesBrokenWrite final : public QpFilter<UcWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool taken = engine::receives(qp.report.state) && info.request() &&
                           info.service == wire::Service::Uc &&
                           of_this_connection(qp.report, passage);
        if (!taken) return;
        auto& next = qp.memory.next;
        if (info.starts_message()) {
            next.reset();
            if (is_write(packet) && !info.ends_message()) next = packet.bth.psn + 1;
            return;
        }
        const bool gap = next && wire::distance(*next, packet.bth.psn) > 0;
        const bool goes_on = next == packet.bth.psn && is_write(packet);
        if (gap && is_write(packet) && !info.ends_message()) return; // its LAST is still to come
        next.reset();
        if (goes_on && !info.ends_message()) next = packet.bth.psn + 1;
        if (gap && is_write(packet) && info.immediate()) complete(packet);
    }

  private:
    static void complete(wire::Packet& packet) {
        const auto only =
            wire::opcode_of(wire::Service::Uc, Operation::RdmaWrite, Position::Only, true);
        if (!only) return;
        packet.bth.opcode = *only;
        packet.bth.pad = 0;
        packet.headers = packet.info().headers;
        packet.reth = {};
        packet.body = {};
    }
};

// The offload that checks UDP checksums counts its offset from an untagged Ethernet header. Shows
// when: an IPv4 frame with a VLAN tag (of the QP's VLAN, or VLAN 0) has a right UDP checksum that
// is not 0: it is dropped.
std::optional<engine::OwnedDatagram> tagged_checksum(wire::Bytes bytes) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame || !frame->vlan || !frame->ipv4 || frame->udp.checksum == 0) return std::nullopt;
    return engine::OwnedDatagram{};
}

// Address and length of a FLUSH go through the range check before its selectivity is looked at.
// Shows when: a FLUSH of the whole region has an address or a length that is not in it: NAK 0x62.
RequestVerdict whole_region_in_range(const RequestView& view) {
    const bool whole = view.target && view.target->whole && view.target->length != 0;
    if (whole && !view.memory.slot(view.target->rkey.value)
                      .covers(view.target->address, view.target->length)) {
        return RequestVerdict::NakRemoteAccess;
    }
    return right::key_range(view);
}

constexpr std::array kMutants{
    Mutant{.name = "write_imm_length_counts_pad",
           .rule = "N-15",
           .level = "MUST",
           .description = "byte_len of a receive that a WRITE with immediate data completes counts "
                          "the pad bytes.",
           .make_filter = make<CountsPadOfWrite>},
    Mutant{.name = "compare_swap_compares_low_half",
           .rule = "ATM-08",
           .level = "MUST",
           .description = "COMPARE_SWAP swaps if the low 32 bits are equal, whatever the upper "
                          "ones are.",
           .make_filter = make<ComparesLowHalf>},
    Mutant{.name = "read_last_of_few_bytes_without_padcnt",
           .rule = "BTH-09",
           .level = "MUST",
           .description = "A READ_RESPONSE_LAST of 1 to 3 bytes has four bytes after its headers "
                          "and PadCnt 0.",
           .make_filter = make<EditsOutbound<pad_not_told>>},
    Mutant{.name = "ack_echoes_seven_reserved_bits",
           .rule = "BTH-16",
           .level = "MUST",
           .description = "The 7 reserved bits in front of an ACK's or NAK's PSN are those of the "
                          "request that it answers.",
           .make_filter = make<EchoesReservedBits>},
    Mutant{.name = "solicited_lost_in_send_with_invalidate",
           .rule = "BTH-13",
           .level = "MUST",
           .description = "A SEND with invalidate never notifies a CQ that is armed for solicited "
                          "completions.",
           .cases = "bth/solicited-with-invalidate",
           .make_filter = make<EditsInbound<solicited_not_kept>>},
    Mutant{.name = "mark_seen_with_ack_request_only",
           .rule = "CNP-01",
           .level = "MUST",
           .description = "A congestion mark on a SEND or WRITE packet without AckReq draws no "
                          "CNP.",
           .make_filter = make<SeesMarkWithAckRequest>},
    Mutant{.name = "receive_list_ends_at_empty_sge",
           .rule = "LEN-06",
           .level = "MUST",
           .description = "SGEs of a receive that stand behind one of length 0 are not used, and a "
                          "SEND that needs them is NAKed as too long.",
           .make_filter = make<ListEndsAtEmptySge>},
    Mutant{.name = "atomic_write_aligned_to_four",
           .rule = "EXT-01",
           .level = "MUST",
           .description = "An ATOMIC WRITE to an address that is a multiple of 4 and not of 8 is "
                          "executed.",
           .checks = engine::kStandardChecks.with(RequestCheck::AtomicAlignment, aligned_to_four)},

    Mutant{.name = "repeated_write_first_rewinds_address",
           .rule = "RSP-13",
           .level = "MUST",
           .description = "After a duplicate of the open WRITE's FIRST the rest of the message is "
                          "written from the beginning of its range on.",
           .make_filter = make<RewindsAtRepeatedFirst>},
    Mutant{.name = "read_behind_rnr_draws_sequence_nak",
           .rule = "RNR-04",
           .level = "MUST",
           .description = "A READ request behind a request that was RNR NAKed draws a sequence "
                          "NAK.",
           .checks = engine::kStandardChecks.with(RequestCheck::OneNak, read_behind_rnr)},
    Mutant{.name = "failed_compare_swap_not_remembered",
           .rule = "ATM-04",
           .level = "MUST",
           .description = "A duplicate of a COMPARE_SWAP that did not swap is carried out again.",
           .make_filter = make<ForgetsFailedSwap>},
    Mutant{.name = "read_tail_across_wrap_unknown",
           .rule = "RSP-09",
           .level = "MUST",
           .description = "A READ whose PSNs wrap is not answered again from a PSN behind the wrap "
                          "on.",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::WithinRead, within_read_unwrapped)},
    Mutant{.name = "repeated_send_with_invalidate_ends_qp",
           .rule = "RSP-12",
           .level = "MUST",
           .description =
               "A duplicate SEND with invalidate, whose key is revoked by now, takes the "
               "QP to ERR.",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn, revokes_at_duplicate)},
    Mutant{.name = "rnr_of_write_imm_moves_msn",
           .rule = "ACK-08",
           .level = "MUST",
           .description = "Each RNR NAK of a WRITE with immediate data increments the MSN, and the "
                          "WRITE does so again when it is accepted.",
           .make_filter = make<CountsRefusedImmediate>},
    Mutant{.name = "too_long_send_has_former_wr_id",
           .rule = "KEY-14",
           .level = "MUST",
           .description = "The LOC_LEN_ERR of a receive carries the wr_id of the receive that "
                          "completed before on this QP.",
           .cases = "len/empty-receive-in-turn len/shorter-receives-in-turn "
                    "len/shorter-shared-receives-in-turn",
           .make_filter = make<ErrorHasFormerId>},
    Mutant{.name = "ud_room_without_grh",
           .rule = "EXT-05",
           .level = "MUST",
           .description = "A datagram for whose payload, but not for the 40 bytes in front, there "
                          "is room takes its QP to ERR.",
           .checks = engine::kStandardChecks.with(DatagramCheck::ReceiveRoom, room_without_grh)},
    Mutant{.name = "send_last_invalidate_begins_message",
           .rule = "OPC-03",
           .level = "MUST",
           .description = "SEND_LAST with invalidate that no FIRST precedes is executed as a whole "
                          "message.",
           .make_filter = make<LastInvalidateBegins>},
    Mutant{.name = "dreq_of_any_class_version",
           .rule = "CM-11",
           .level = "MUST",
           .description = "A DREQ with another class version than 2 is answered by a DREP.",
           .cases = "cm/versions-of-each-message",
           .make_filter = make<AnyVersionOfDreq>},

    Mutant{.name = "nak_register_of_one_qp",
           .rule = "RSP-03",
           .level = "MUST",
           .description =
               "A sequence NAK of another QP makes a QP forget that it has sent its own, "
               "and it NAKs the same gap again.",
           .make_filter = make<OneNakRegister>},
    Mutant{.name = "atomic_answer_of_former_life",
           .rule = "STA-10",
           .level = "MUST",
           .description = "After RESET an old PSN's atomic is answered with what the QP answered "
                          "before RESET.",
           .make_filter = make<ReplaysFormerLife>},
    Mutant{.name = "access_taken_in_rts_unseen",
           .rule = "KEY-01",
           .level = "MUST",
           .description = "A change of a QP's access rights in RTS has no effect, though a query "
                          "shows it.",
           .make_filter = make<KeepsAccessOfConnection>},
    Mutant{.name = "last_wqe_event_lost_behind_error_event",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP with a shared receive queue that ends with QP_REQ_ERR or "
                          "QP_ACCESS_ERR raises no LAST_WQE_REACHED.",
           .make_filter = make<LosesSecondEvent>},
    Mutant{.name = "atomic_through_window_of_other_qp",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "An atomic through a window of type 2 is executed on every QP of the "
                          "protection domain.",
           .cases = "key/window-of-another-qp-by-each-request",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyDomain, window_open_to_domain)},
    Mutant{.name = "shared_receive_by_domain_of_qp",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A SEND into a receive of a shared queue whose PD is not the QP's ends "
                          "with NAK 0x63.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveMemory, receive_in_domain_of_qp)},
    Mutant{.name = "revoked_window_open_once_more",
           .rule = "KEY-07",
           .level = "MUST",
           .description = "One more WRITE into the range of the last one goes through after a SEND "
                          "has revoked its key.",
           .make_filter = make<CachesRevokedKey>},
    Mutant{.name = "uc_broken_write_imm_completes",
           .rule = "EXT-06",
           .level = "MUST",
           .description = "A UC WRITE with immediate data that has lost a packet still completes a "
                          "receive, with byte_len 0.",
           .make_filter = make<CompletesBrokenWrite>},
    Mutant{.name = "tagged_frame_with_udp_checksum_dropped",
           .rule = "ENC-04",
           .level = "MUST",
           .description = "An IPv4 frame with a VLAN tag and a right UDP checksum is dropped.",
           .cases = "enc/udp-checksum-in-a-vlan",
           .make_filter = make<Admits<tagged_checksum>>},
    Mutant{.name = "flush_of_region_wants_valid_range",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH of a whole region is NAKed if its address and length do not lie "
                          "in the region.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, whole_region_in_range)},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind20_responder

namespace veriroce::mutants {

std::span<const Mutant> blind20_responder() {
    return of_blind20_responder::kMutants;
}

} // namespace veriroce::mutants
