// Defects of a responder, of its port and of its connection management, written without a look at
// the cases: the eighteenth sample.
#include <array>
#include <chrono>
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::mutants::of_blind18_responder {
namespace {

using engine::DuplicateCheck;
using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;
namespace right_duplicate = engine::duplicate_check;

bool is_atomic_write(const wire::Packet& packet) {
    return packet.info().operation == Operation::AtomicWrite;
}

// --- plain traffic

// The AXI master of the READ engine does not split a burst at a 4 KiB boundary, and the bus wraps
// the address inside the page. Shows when: a packet of a READ response has bytes on both sides of a
// multiple of 4096, e.g. a READ of 200 bytes at address 4096 * k + 4000 of a region that begins at
// 4096 * k or before.
struct ReadBursts {
    ReadLog log;
    std::vector<std::byte> body;
};

class BurstWrapsInPage final : public DmaFilter<ReadBursts> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.log.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        ReadBursts& memory = qp.memory;
        const auto read = memory.log.holding(packet.bth.psn);
        memory.log.answer(packet.bth.psn);
        const std::uint64_t bytes = packet.payload().size();
        if (!read || bytes == 0) return;
        const auto at =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t address =
            read->request.reth.virtual_address + at * wire::bytes_of(qp.mtu());
        constexpr std::uint64_t page = 4096;
        const std::uint64_t offset = address % page;
        if (offset + bytes <= page) return;
        const std::uint64_t beyond = offset + bytes - page;
        const auto wrapped = regions().at(read->request.reth.rkey, address - offset, beyond);
        if (wrapped.empty()) return;
        memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(wrapped,
                          memory.body.begin() + static_cast<std::ptrdiff_t>(bytes - beyond));
        packet.body = memory.body;
    }
};

// The CQE of a WRITE with immediate data takes its length from a 16-bit field of the write unit.
// Shows when: a WRITE with immediate data has 65536 bytes or more.
class ShortLengthOfImmediate final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        const bool meant = one.status == engine::WcStatus::Success &&
                           one.opcode == engine::WcOpcode::RecvRdmaWithImm;
        if (meant) seen.byte_len &= 0xFFFF;
        return seen;
    }
};

// The parser compares the whole byte before the PSN with 0x80 to find AckReq. Shows when: a SEND or
// WRITE asks for an ACK and has one of the seven reserved bits before the PSN set.
void compare_whole_ack_byte(wire::Packet& packet) {
    if (packet.info().request() && packet.bth.reserved7 != 0) packet.bth.ack_request = false;
}

// The transport core comes from an InfiniBand HCA, which answers FECN by BECN in what it sends
// back. Shows when: a request with FECN is acknowledged; the answers have BECN until a request
// without FECN comes.
struct Forward {
    bool marked = false; // the newest request
};

class AnswersFecnByBecn final : public QpFilter<Forward> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_rc_request(passage.packet)) qp.memory.marked = passage.packet.bth.fecn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rc_response(passage.packet) && qp.memory.marked) passage.packet.bth.becn = true;
    }
};

// The length of a datagram is computed in the header parser, and the state for DETH and ImmDt has
// its own subtraction, without the pad. Shows when: a UD SEND with immediate data has a length that
// is no multiple of 4: byte_len counts the pad, and the pad is written behind the message.
void forget_pad_of_immediate_datagram(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.service == wire::Service::Ud && info.immediate()) packet.bth.pad = 0;
}

// The byte enables of the CRC unit's last beat are wrong for one valid byte of four, on the path
// that ends a burst of READ responses. Shows when: a READ of several packets has a length of
// 4 * k + 1 bytes: its LAST response has an ICRC that leaves out the third pad byte.
class LastPadByteNotInIcrc final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        const wire::Bth bth = wire::Bth::read(outer.transport());
        const wire::OpcodeInfo& info = wire::opcode_info(bth.opcode);
        const bool meant = info.operation == Operation::RdmaReadResponse &&
                           info.position == Position::Last && bth.pad == 3;
        if (!meant) return;
        const wire::Bytes covered = outer.covered();
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(covered.first(covered.size() - 1)));
    }
};

// A priority encoder picks one placement type of a FLUSH, the lowest, and asks the region for its
// right alone. Shows when: a FLUSH asks for global visibility and persistence (placement 3), the QP
// may do both, and the region has the right of global visibility only.
RequestVerdict right_of_lowest_placement(const RequestView& view) {
    constexpr unsigned global_visibility = 1;
    const bool both = view.info.operation == Operation::Flush && view.target &&
                      (view.packet.feth.placement & global_visibility) != 0;
    if (!both) return right::key_rights(view);
    const bool allowed = view.memory.slot(view.target->rkey.value).access.flush_global;
    return allowed ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

// The VLAN filter compares 13 bits of the tag, the DEI bit with the VID. Shows when: a frame in the
// QP's VLAN, or with a priority tag, has DEI set (a switch marked it as eligible to be dropped).
std::optional<engine::OwnedDatagram> drop_drop_eligible(wire::Bytes frame) {
    constexpr std::uint16_t vlan = 0x8100;
    constexpr std::size_t type_at = 12;
    constexpr std::size_t tag_at = 14;
    constexpr std::uint16_t drop_eligible = 0x1000;
    if (frame.size() < tag_at + 4 || wire::load_u16(frame, type_at) != vlan) return std::nullopt;
    if ((wire::load_u16(frame, tag_at) & drop_eligible) == 0) return std::nullopt;
    return engine::OwnedDatagram{};
}

// --- errors, duplicates, retransmission

// A sequence NAK takes its MSN from the register that the ACK generator loads when it sends. Shows
// when: messages without AckReq are carried out, nothing is sent for them, and then a packet is
// missing: the NAK does not count those messages.
class NakWithMsnOfLastAnswer final : public QpFilter<wire::Msn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || !has_aeth(packet)) return;
        if (is_sequence_nak(packet)) {
            packet.aeth.msn = qp.memory;
        } else {
            qp.memory = packet.aeth.msn;
        }
    }
};

// The flag "a NAK is outstanding" that an RNR NAK sets is cleared where a receive completes, that
// of a sequence NAK where the expected packet comes. Shows when: a SEND of several packets is RNR
// NAKed, comes again and is taken, and one of its later packets is lost: no NAK is sent for it.
struct RnrOutstanding : Arrivals {
    bool blocked = false;
};

class RnrBlocksUntilMessageEnds final : public PlacesRequests<RnrOutstanding> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const bool ends = passage.packet.info().ends_message();
        if (place == Arrivals::Place::Expected && ends) qp.memory.blocked = false;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.blocked = true;
        if (is_sequence_nak(passage.packet) && qp.memory.blocked) passage.dropped = true;
    }
};

// The place of a repeated tail in its READ is found by a subtraction in 32 bits, which is not cut
// to 24. Shows when: a READ's responses cross PSN 0xFFFFFF, and the tail behind the crossing is
// asked for again: silence.
bool within_read_without_wrap(const RequestView& view) {
    const bool wrapped = view.info.operation == Operation::RdmaReadRequest &&
                         view.saved != nullptr &&
                         view.packet.bth.psn.value() < view.saved->psn.value();
    return !wrapped && right_duplicate::within_read(view);
}

// The replay cache keeps what the atomic unit found as it came from memory, and the byte swap is on
// the first answer's way only. Shows when: a FETCH_ADD or CMP_SWAP is repeated, and its original
// value is no palindrome of bytes.
class ReplayedAtomicNotSwapped final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        if (!qp.memory.note(packet.bth.psn)) return;
        packet.atomic_ack.original = std::byteswap(packet.atomic_ack.original);
    }
};

// The key of a SEND with invalidate is looked up before the PSN is, and a key that is no longer
// bound ends the QP. Shows when: the ACK of a SEND with invalidate is lost and the SEND comes
// again: the QP fails, and takes a receive with it.
RequestVerdict revoked_key_of_duplicate(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool looked_up = verdict == RequestVerdict::Duplicate && view.info.invalidates();
    if (!looked_up) return verdict;
    const bool bound =
        view.memory.may_invalidate(view.packet.ieth.rkey, view.connection.pd, view.connection.qpn);
    return bound ? verdict : RequestVerdict::FailSilently;
}

// The RETH stage loads the QP's DMA pointer before the PSN stage finds that the packet is a
// duplicate. Shows when: in the middle of a WRITE of several packets a duplicate WRITE_FIRST or
// WRITE_ONLY comes, of an earlier message or of this one after a second packet: the rest of the
// message is written behind what the duplicate names.
struct MovedPointer : OpenWrite {
    bool write_open = false;
    std::optional<std::uint64_t> next; // where the pointer was moved to
    wire::Rkey rkey;
};

class DuplicateMovesPointer final : public DmaFilter<MovedPointer> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        MovedPointer& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        const wire::OpcodeInfo& info = packet.info();
        const wire::Psn expected = memory.arrivals.next.value_or(qp.first_request());
        if (wire::distance(expected, packet.bth.psn) < 0) {
            if (memory.write_open && is_write(packet) && info.starts_message()) {
                memory.next = packet.reth.virtual_address + packet.payload().size();
                memory.rkey = packet.reth.rkey;
            }
            return;
        }
        if (!memory.note(packet, qp.first_request(), qp.mtu())) return;
        memory.write_open = !info.ends_message();
        if (info.starts_message()) {
            memory.next.reset();
        } else if (memory.next) {
            write_elsewhere(memory, packet);
        }
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory.arrivals, passage.packet); }

  private:
    void write_elsewhere(MovedPointer& memory, wire::Packet& packet) {
        const wire::Bytes payload = packet.payload();
        const auto there = regions().at(memory.rkey, *memory.next, payload.size());
        const auto here = regions().at(memory.reth.rkey, memory.begin, payload.size());
        if (there.empty() || here.empty()) return;
        // The engine writes what is there already.
        const std::size_t size = packet.body.size();
        const std::vector<std::byte> data(payload.begin(), payload.end());
        memory.body.assign(here.begin(), here.end());
        memory.body.resize(size);
        packet.body = memory.body;
        std::ranges::copy(data, there.begin());
        *memory.next += data.size();
    }
};

// The key of a SEND_ONLY with invalidate is revoked in the header pipeline, before the stage that
// fetches a receive and finds none. Shows when: a SEND_ONLY with invalidate is RNR NAKed and comes
// again with a receive posted: its key is not bound any more, and the QP fails.
struct Revoking {
    std::optional<wire::Psn> psn; // of the newest SEND with invalidate
    wire::Rkey key;
};

class RnrRevokesKey final : public DmaFilter<Revoking> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::BindMw) revoked_.erase(request.rkey);
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const bool invalidates = packet.info().invalidates();
        if (invalidates) qp.memory = {.psn = packet.bth.psn, .key = packet.ieth.rkey};
        if (packet.headers.has(wire::Header::Reth)) forget(packet.reth.rkey);
        if (packet.headers.has(wire::Header::AtomicEth)) forget(packet.atomic.rkey);
        if (invalidates) forget(packet.ieth.rkey);
    }
    void leaves(Qp& qp, Passage& passage) override {
        const bool meant = is_rnr_nak(passage.packet) && qp.memory.psn == passage.packet.bth.psn;
        // A registered region's key is not revoked by a SEND.
        if (meant && !regions().live(qp.memory.key)) revoked_.insert(qp.memory.key);
    }

  private:
    void forget(wire::Rkey& key) const {
        if (revoked_.contains(key)) key = {};
    }
    std::set<wire::Rkey> revoked_;
};

// NAKs have a transmit queue of their own, with priority over that of all other responses. Shows
// when: a SEND without a receive, or a packet behind a gap, comes right behind a READ: the NAK
// leaves before the READ's responses.
void naks_go_first(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr wire::Duration in_queue = std::chrono::microseconds(20);
    if (is_rc_response(packet) && !is_nak(packet)) datagram.delay += in_queue;
}

// The UC state machine compares PSNs in its states "first" and "middle"; the row for LAST was
// copied from RC, where the PSN was compared before. Shows when: the packet before the LAST of a UC
// SEND is lost: the message is delivered without it.
struct UcMessage {
    bool open = false;
    Operation operation = Operation::Reserved;
    wire::Psn next;
};

class UcLastAtAnyPsn final : public QpFilter<UcMessage> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.request() || info.service != wire::Service::Uc) return;
        UcMessage& message = qp.memory;
        if (info.starts_message()) {
            message = {.open = !info.ends_message(),
                       .operation = info.operation,
                       .next = packet.bth.psn + 1};
            return;
        }
        const bool goes_on = message.open && info.operation == message.operation;
        const std::int32_t ahead = wire::distance(message.next, packet.bth.psn);
        if (goes_on && ahead > 0 && info.position == Position::Last) {
            packet.bth.psn = message.next;
        }
        message.open = goes_on && ahead == 0 && !info.ends_message();
        message.next = message.next + 1;
    }
};

// One register says of which kind the newest replay entry is, and an older ATOMIC WRITE is taken
// for a WRITE that may be done twice. Shows when: an ATOMIC WRITE, a READ, something else is stored
// at that place, and the ATOMIC WRITE comes again: the old value is back.
struct AtomicWrites : Arrivals {
    std::optional<wire::Psn> psn; // of the newest one
    wire::Reth reth;
    bool read_since = false;
};

class ReplaysAtomicWrite final : public PlacesRequests<AtomicWrites> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        AtomicWrites& memory = qp.memory;
        if (place == Arrivals::Place::Expected) {
            memory.read_since |= is_read_request(packet);
            if (!is_atomic_write(packet)) return;
            memory.psn = packet.bth.psn;
            memory.reth = packet.reth;
            memory.read_since = false;
            return;
        }
        const bool again = is_atomic_write(packet) && memory.psn == packet.bth.psn &&
                           memory.reth == packet.reth && memory.read_since;
        if (place != Arrivals::Place::Behind || !again) return;
        const wire::Bytes payload = packet.payload();
        const auto to = regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!to.empty()) std::ranges::copy(payload, to.begin());
    }
};

// The length of a WRITE is counted down in words of 4 bytes, and the pad count is not looked at.
// Shows when: the last packet of a WRITE brings 1 to 3 bytes more or less than its RETH announced,
// in the same word, e.g. DMALen 5 and 8 bytes without pad.
RequestVerdict length_in_words(const RequestView& view) {
    const RequestVerdict verdict = right::message_length(view);
    const bool end_of_write = is_write(view.packet) && view.info.ends_message();
    if (verdict == RequestVerdict::Accept || !end_of_write) return verdict;
    const bool only = view.info.starts_message();
    const std::uint64_t came = (only ? 0 : view.inbound.received) + view.packet.payload().size();
    const std::uint64_t announced = only ? view.packet.reth.dma_length : view.inbound.announced;
    const auto words = [](std::uint64_t bytes) { return (bytes + 3) / 4; };
    return words(came) == words(announced) ? RequestVerdict::Accept : verdict;
}

// --- where two features or two QPs meet

// Each QP's atomic unit keeps the word that it wrote last, and does not hear of another QP's
// atomic to the same place. Shows when: QP A, then QP B, then QP A have a FETCH_ADD at one address:
// the third one does not see what the second one did, and undoes it.
class AtomicsOfOtherQpLost final : public PlacesRequests<Arrivals> {
  public:
    void region_deregistered(engine::MrId mr) override {
        PlacesRequests::region_deregistered(mr);
        words_.clear();
    }

  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::AtomicEth& asked = passage.packet.atomic;
        const bool fresh = place == Arrivals::Place::Expected && is_atomic_request(passage.packet);
        const auto& access = qp.report.attributes.access;
        if (!fresh || !access || !access->remote_atomic) return;
        const auto region = regions().live(asked.rkey);
        if (!region || !region->access.remote_atomic || asked.virtual_address % 8 != 0) return;
        const auto at = regions().at(asked.rkey, asked.virtual_address, sizeof(std::uint64_t));
        if (at.empty()) return;
        for (auto& [qpn, word] : words_) {
            if (qpn != qp.report.qpn && word.place == at.data() && !word.kept) word.keep();
        }
        Word& own = words_[qp.report.qpn];
        if (own.place == at.data() && own.kept) {
            std::memcpy(at.data(), &*own.kept, sizeof(std::uint64_t));
        }
        own = {.place = at.data(), .kept = {}};
    }

  private:
    struct Word {
        std::byte* place = nullptr;
        std::optional<std::uint64_t> kept; // since another QP changed it

        void keep() {
            std::uint64_t value = 0;
            std::memcpy(&value, place, sizeof value);
            kept = value;
        }
    };
    std::map<wire::Qpn, Word> words_;
};

// All QPs share a replay cache of 16 entries, which is as many as one QP may have. Shows when: QP A
// has an atomic, QP B has 16 READs or atomics, and A's atomic comes again: silence.
class SharedReplayCache final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        constexpr std::size_t entries = 16;
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || !engine::wants_response(packet.info())) return;
        const Entry entry{.qpn = qp.report.qpn, .psn = packet.bth.psn};
        const auto known = std::ranges::find(cache_, entry);
        if (place == Arrivals::Place::Expected) {
            if (known != cache_.end()) cache_.erase(known);
            cache_.push_back(entry);
            if (cache_.size() > entries) cache_.pop_front();
        }
        const bool forgotten = place == Arrivals::Place::Behind && known == cache_.end();
        if (forgotten && is_atomic_request(packet)) passage.dropped = true;
    }

  private:
    struct Entry {
        wire::Qpn qpn;
        wire::Psn psn;

        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::deque<Entry> cache_; // the oldest first
};

// The responder's context has one field for a protection domain, and the shared queue's is written
// over the QP's. Shows when: a QP has a shared receive queue of another domain: keys of the QP's
// domain are refused, and WRITEs by keys of the queue's domain are carried out.
RequestVerdict domain_of_shared_queue(const RequestView& view) {
    if (!view.target) return RequestVerdict::Accept;
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    return region.open_to(view.receive_domain, view.connection.qpn)
               ? RequestVerdict::Accept
               : RequestVerdict::NakRemoteAccess;
}

// The QPs of a device as a filter sees them that must not forget them in RESET.
class FollowsPeers : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) final {
        const auto& [state, qpn, attributes] = report;
        if (state == engine::QpState::Reset || state == engine::QpState::Init) {
            connected_.erase(qpn);
            if (state == engine::QpState::Reset) is_reset(qpn);
            return;
        }
        if (!attributes.address || !attributes.dest_qp) return;
        connected_.insert_or_assign(
            qpn, Peer{.qpn = *attributes.dest_qp, .address = attributes.address->destination});
        is_connected(report);
    }
    void qp_destroyed(wire::Qpn qpn) final {
        connected_.erase(qpn);
        is_reset(qpn);
    }

  protected:
    virtual void is_connected(const engine::QpReport& report) = 0; // or changed since
    virtual void is_reset(wire::Qpn /*qpn*/) {}

    [[nodiscard]] std::optional<wire::Qpn> sender(const wire::Packet& packet,
                                                  const wire::Envelope& envelope) const {
        for (const auto& [qpn, peer] : connected_) {
            const bool fits =
                peer.qpn == packet.bth.dest_qp && peer.address == envelope.destination;
            if (fits) return qpn;
        }
        return std::nullopt;
    }

  private:
    struct Peer {
        wire::Qpn qpn;
        wire::IpAddress address;
    };
    std::map<wire::Qpn, Peer> connected_;
};

// The notification unit has a table of peers by QPN, which is filled when an entry is empty and
// which RESET does not empty. Shows when: a QP is connected, taken to RESET and connected to
// another QPN, and a marked packet comes: the CNP goes to the former peer's QPN.
class CnpToFormerPeer final : public FollowsPeers {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            const auto first =
                first_.find(sender(*packet, datagram.envelope).value_or(wire::Qpn{}));
            if (first != first_.end()) {
                packet->bth.dest_qp = first->second;
                datagram.bytes = bytes_of(*packet);
            }
        }
        out.push_back(std::move(datagram));
    }

  protected:
    void is_connected(const engine::QpReport& report) override {
        first_.try_emplace(report.qpn, *report.attributes.dest_qp);
    }

  private:
    std::map<wire::Qpn, wire::Qpn> first_; // the peer of each QP
};

// The header template of the responder's packets is built at RTR; a new address vector in SQD goes
// to the requester's template only. Shows when: a QP gets another traffic class or hop limit in SQD
// and then answers requests.
class AnswersByPathOfRtr final : public FollowsPeers {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) {
            const auto known =
                paths_.find(sender(*packet, datagram.envelope).value_or(wire::Qpn{}));
            if (known != paths_.end() && known->second.stale) {
                const engine::AddressVector& path = known->second.path;
                datagram.envelope.dscp = static_cast<std::uint8_t>(path.traffic_class >> 2);
                datagram.envelope.hop_limit = path.hop_limit;
            }
        }
        out.push_back(std::move(datagram));
    }

  protected:
    void is_connected(const engine::QpReport& report) override {
        Built& built =
            paths_.try_emplace(report.qpn, Built{.path = *report.attributes.address}).first->second;
        built.stale |= report.state == engine::QpState::Sqd;
    }
    void is_reset(wire::Qpn qpn) override { paths_.erase(qpn); }

  private:
    struct Built {
        engine::AddressVector path;
        bool stale = false; // it may have changed since
    };
    std::map<wire::Qpn, Built> paths_;
};

// A QP that drains has its transmit scheduler off for all but ACKs and READ responses, and an RNR
// NAK counts as neither. Shows when: a QP in SQD gets a SEND without a receive: nothing is sent
// until the SEND comes again with one.
RequestVerdict no_rnr_nak_in_sqd(const RequestView& view) {
    const RequestVerdict verdict = right::receive_ready(view);
    const bool held =
        verdict == RequestVerdict::Rnr && view.connection.state == engine::QpState::Sqd;
    return held ? RequestVerdict::Drop : verdict;
}

// The command that changes a QP in RTS has the Q_Key in its mailbox, but not its bit in the mask
// of what the firmware takes over. Shows when: a UD QP in RTS gets another Q_Key: datagrams with
// the old one are taken, and those with the new one are dropped.
class QkeyOfRtsIgnored final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.qkey) return;
        Known& known = known_[qpn];
        known.asked = *attributes.qkey;
        if (known.state != engine::QpState::Rts) known.used = known.asked;
        attributes.qkey = known.used;
    }
    void queried(engine::QpReport& report) override {
        const auto known = known_.find(report.qpn);
        if (known != known_.end() && known->second.asked && report.attributes.qkey) {
            report.attributes.qkey = known->second.asked;
        }
    }
    void qp_changed(const engine::QpReport& report) override {
        known_[report.qpn].state = report.state;
        if (report.state == engine::QpState::Reset) known_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { known_.erase(qpn); }

  private:
    struct Known {
        engine::QpState state = engine::QpState::Reset;
        std::optional<wire::Qkey> asked; // by the host
        std::optional<wire::Qkey> used;
    };
    std::map<wire::Qpn, Known> known_;
};

// The entry of the event queue for LAST_WQE_REACHED is a constant of the firmware whose QPN is
// filled in the first time only. Shows when: two QPs with a shared receive queue go to ERR, one
// after the other: the second event names the first QP.
class LastWqeOfFirstQp final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& one) override {
        engine::Event seen = one;
        if (one.type == engine::EventType::LastWqeReached) {
            if (!first_) first_ = one.qp;
            seen.qp = first_;
        }
        return seen;
    }

  private:
    std::optional<engine::QpId> first_;
};

constexpr std::array kMutants{
    Mutant{.name = "read_burst_wraps_in_4k_page",
           .rule = "RDR-01",
           .description = "A READ response packet whose bytes cross a multiple of 4096 brings the "
                          "page's first bytes in place of those behind the boundary.",
           .make_filter = make<BurstWrapsInPage>},
    Mutant{.name = "write_imm_byte_len_16_bits",
           .rule = "N-15",
           .description = "The completion of a WRITE with immediate data has the length modulo "
                          "65536.",
           .cases = "n/long-lengths-told",
           .make_filter = make<ShortLengthOfImmediate>},
    Mutant{.name = "ack_request_lost_by_reserved_bits",
           .rule = "BTH-16",
           .description = "AckReq is not seen in a request that has one of the seven reserved bits "
                          "beside it set.",
           .make_filter = make<EditsInbound<compare_whole_ack_byte>>},
    Mutant{.name = "fecn_answered_by_becn",
           .rule = "BTH-17",
           .description = "Responses have BECN set when the newest request had FECN set.",
           .make_filter = make<AnswersFecnByBecn>},
    Mutant{.name = "ud_immediate_pad_counts",
           .rule = "BTH-09",
           .description = "Of a UD SEND with immediate data the pad is delivered and counted as "
                          "part of the message.",
           .make_filter = make<EditsInbound<forget_pad_of_immediate_datagram>>},
    Mutant{.name = "read_last_pad_3_icrc",
           .rule = "BTH-09",
           .description = "A READ_RESPONSE_LAST with three pad bytes has an ICRC that leaves the "
                          "third one out.",
           .make_filter = make<LastPadByteNotInIcrc>},
    Mutant{.name = "flush_asks_lowest_placement_right",
           .rule = "N-29",
           .description = "A FLUSH for both placement types is carried out in a region that has "
                          "the right of global visibility alone.",
           .cases = "ext/flush-both-placements",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, right_of_lowest_placement)},
    Mutant{.name = "sidr_rep_half_transaction_id",
           .rule = "N-30",
           .description = "A SIDR_REP has zeros in the upper half of the transaction id.",
           // The driver keeps that id in 32 bits. Shows when: the upper half of a SIDR_REQ's id is
           // not zero.
           .make_filter =
               make<EditsSentDatagram<lose_upper_half_of_transaction<wire::cm::kSidrRep>>>},
    Mutant{.name = "vlan_dei_taken_for_vid",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Tagged frames whose DEI bit is set are dropped, whatever their VID.",
           .make_filter = make<Admits<drop_drop_eligible>>},
    Mutant{.name = "sequence_nak_msn_of_last_answer",
           .rule = "RSP-02",
           .description = "A sequence NAK repeats the MSN of the last response that was sent, "
                          "without the messages that were carried out since.",
           .cases = "rsp/nak-counts-what-was-not-asked-for",
           .make_filter = make<NakWithMsnOfLastAnswer>},
    Mutant{.name = "rnr_blocks_nak_until_message_ends",
           .rule = "RSP-06",
           .description = "After an RNR NAK no sequence NAK is sent before a message has ended, "
                          "though its first packet was taken.",
           .cases = "rnr/then-a-gap-inside",
           .make_filter = make<RnrBlocksUntilMessageEnds>},
    Mutant{.name = "read_tail_behind_wrap_unanswered",
           .rule = "RSP-09",
           .description = "A repeated tail of a READ is dropped if PSN 0 lies between the READ's "
                          "PSN and its own.",
           .checks = kStandardChecks.with(DuplicateCheck::WithinRead, within_read_without_wrap)},
    Mutant{.name = "replayed_atomic_value_swapped",
           .rule = "ATM-04",
           .description = "The answer to a duplicate atomic has the bytes of the original value in "
                          "reverse order.",
           .make_filter = make<ReplayedAtomicNotSwapped>},
    Mutant{.name = "duplicate_send_inv_ends_qp",
           .rule = "RSP-10",
           .description = "A duplicate SEND with invalidate whose key is revoked already takes the "
                          "QP to ERR in place of being acknowledged.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, revoked_key_of_duplicate)},
    Mutant{.name = "duplicate_write_moves_pointer",
           .rule = "RSP-13",
           .description = "A duplicate WRITE in the middle of a WRITE redirects the rest of it to "
                          "behind the duplicate's own place.",
           .cases = "rsp/old-writes-inside-a-write",
           .make_filter = make<DuplicateMovesPointer>},
    Mutant{.name = "rnr_nak_revokes_key",
           .rule = "RNR-06",
           .description = "A SEND_ONLY with invalidate that is RNR NAKed has revoked its key, so "
                          "that the QP fails when it comes again.",
           .make_filter = make<RnrRevokesKey>},
    Mutant{.name = "naks_overtake_read_responses",
           .rule = "RDR-11",
           .description = "NAKs of all kinds leave before the READ responses and ACKs that wait.",
           .cases = "rdr/fault-behind-a-long-read",
           .make_filter = make<EditsSentDatagram<naks_go_first>>},
    Mutant{.name = "uc_last_at_any_psn",
           .rule = "EXT-06",
           .description = "The LAST packet of a UC SEND is taken though packets before it are "
                          "missing, and the message is delivered short.",
           .make_filter = make<UcLastAtAnyPsn>},
    Mutant{.name = "atomic_write_replayed_after_read",
           .rule = "EXT-04",
           .description = "A duplicate ATOMIC WRITE is carried out again if a READ came since.",
           .cases = "ext/atomic-write-again-behind-others",
           .make_filter = make<ReplaysAtomicWrite>},
    Mutant{.name = "write_length_in_words",
           .rule = "LEN-04",
           .description = "A WRITE that brings up to three bytes more or less than announced is "
                          "accepted where the number of 4-byte words is the same.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, length_in_words)},
    Mutant{.name = "atomic_word_kept_by_qp",
           .rule = "ATM-09",
           .description = "A QP's next atomic at the same address does not see another QP's atomic "
                          "in between, and undoes it.",
           .make_filter = make<AtomicsOfOtherQpLost>},
    Mutant{.name = "replay_cache_shared_by_qps",
           .rule = "ATM-06",
           .description = "An atomic's saved answer is lost when other QPs have had 16 READs or "
                          "atomics since.",
           .cases = "atm/replay-beside-another-qp",
           .make_filter = make<SharedReplayCache>},
    Mutant{.name = "rkey_domain_of_shared_queue",
           .rule = "KEY-03",
           .description = "The R_Keys of a QP with a shared receive queue are looked up in the "
                          "queue's protection domain.",
           .cases = "key/domain-with-a-shared-queue",
           .checks = kStandardChecks.with(RequestCheck::KeyDomain, domain_of_shared_queue)},
    Mutant{.name = "cnp_to_peer_of_former_life",
           .rule = "CNP-02",
           .description = "The CNPs of a QP that was reset and connected again name the QPN of its "
                          "first peer.",
           .cases = "cnp/to-the-peer-of-now",
           .make_filter = make<CnpToFormerPeer>},
    Mutant{.name = "answers_by_path_of_rtr",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "Responses keep the traffic class and hop limit that the QP had at RTR "
                          "after its address vector was changed in SQD.",
           .make_filter = make<AnswersByPathOfRtr>},
    Mutant{.name = "no_rnr_nak_while_draining",
           .rule = "RNR-01",
           .description = "In SQD a SEND that finds no receive is dropped without an RNR NAK.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, no_rnr_nak_in_sqd)},
    Mutant{.name = "old_qkey_kept_when_changed_in_rts",
           .rule = "EXT-05",
           .description = "A UD QP whose Q_Key is changed in RTS goes on with the old one, though "
                          "the new one is reported.",
           .make_filter = make<QkeyOfRtsIgnored>},
    Mutant{.name = "last_wqe_event_names_first_qp",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "Every LAST_WQE_REACHED names the QP of the first one.",
           .cases = "sta/last-receive-of-each",
           .make_filter = make<LastWqeOfFirstQp>},
};

} // namespace
} // namespace veriroce::mutants::of_blind18_responder

namespace veriroce::mutants {

std::span<const Mutant> blind18_responder() {
    return of_blind18_responder::kMutants;
}

} // namespace veriroce::mutants
