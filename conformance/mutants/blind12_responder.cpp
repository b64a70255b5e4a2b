// Written blind, twelfth sample: responders and the port. About half of these defects show only in
// a particular situation.
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind12_responder {
namespace {

using engine::DuplicateCheck;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SurfaceFilter;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

bool is_atomic_ack(const wire::Packet& packet) {
    return packet.info().operation == Operation::AtomicAcknowledge;
}

// --- checks

// The packets of a WRITE are counted down in a register of their own; only the bytes of the last
// one are compared.
RequestVerdict long_write_by_its_remainder(const RequestView& view) {
    const auto verdict = engine::request_check::message_length(view);
    const bool last =
        view.info.operation == Operation::RdmaWrite && view.info.position == Position::Last;
    if (verdict != RequestVerdict::NakInvalidRequest || !last) return verdict;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    const std::uint64_t came = view.inbound.received + view.packet.payload().size();
    const std::uint64_t announced = view.inbound.announced;
    const bool taken = came < announced && came % full == announced % full;
    return taken ? RequestVerdict::Accept : verdict;
}

// The first address behind the word must lie inside too.
RequestVerdict atomic_needs_a_byte_behind(const RequestView& view) {
    const auto verdict = engine::request_check::key_range(view);
    if (verdict != RequestVerdict::Accept || !view.target || !is_atomic_request(view.packet)) {
        return verdict;
    }
    const auto& region = view.memory.slot(view.target->rkey.value);
    const bool inside = region.covers(view.target->address, view.target->length + 1);
    return inside ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}

RequestVerdict atomics_by_index_alone(const RequestView& view) {
    return is_atomic_request(view.packet) ? RequestVerdict::Accept
                                          : engine::request_check::key_variant(view);
}

// The table of what may follow what is older than these opcodes.
RequestVerdict newer_opcodes_anywhere(const RequestView& view) {
    const bool newer =
        view.info.operation == Operation::Flush || view.info.operation == Operation::AtomicWrite;
    return newer ? RequestVerdict::Accept : engine::request_check::opcode_sequence(view);
}

// Where a repeated READ begins is compared, where it ends is not.
bool read_repeated_to_any_end(const RequestView& view) {
    if (engine::duplicate_check::within_read(view)) return true;
    if (view.saved == nullptr || view.info.operation != Operation::RdmaReadRequest) return false;
    const engine::SavedRequest& saved = *view.saved;
    const wire::Reth& asked = view.packet.reth;
    const std::uint64_t offset = std::uint64_t{engine::forward(saved.psn, view.packet.bth.psn)} *
                                 wire::bytes_of(view.connection.mtu);
    return saved.opcode == view.packet.bth.opcode && asked.rkey == saved.rkey &&
           asked.virtual_address == saved.address + offset;
}

// The device keeps the PSN of the outstanding NAK, and takes 0 for no NAK.
RequestVerdict nak_at_zero_forgotten(const RequestView& view) {
    const bool at_zero = view.inbound.expected_psn == wire::Psn{};
    return at_zero && view.inbound.nak == engine::NakState::Sequence
               ? RequestVerdict::Accept
               : engine::request_check::one_nak(view);
}

// The comparison of IPv4 addresses does for both.
bool source_by_its_last_word(const PacketView& view) {
    if (engine::packet_check::source_address(view)) return true;
    const wire::IpAddress& source = view.envelope.source;
    const wire::IpAddress& peer = view.path().destination;
    return !source.v4() && !peer.v4() && source.low32() == peer.low32();
}

// --- immediate data, completions

// Zero stands for none.
class ImmediateZeroIsNone final : public SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.imm == std::uint32_t{0}) seen.imm.reset();
        return seen;
    }
};

// The counter of bytes is stored when bytes come.
class EmptySendHasLengthBefore final : public SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool receive = seen.queue == engine::Queue::Receive &&
                             seen.status == engine::WcStatus::Success && !seen.source_qp;
        if (!receive) return seen;
        std::uint32_t& newest = lengths_[seen.qp];
        if (seen.byte_len != 0) {
            newest = seen.byte_len;
        } else if (seen.opcode == engine::WcOpcode::Recv) {
            seen.byte_len = newest;
        }
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> lengths_; // of the newest message that had bytes
};

// What a message has taken stands in the QP's context, which is dropped; what waits in the queue is
// flushed.
class BegunReceiveNotFlushed final : public PlacesRequests<Arrivals> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        receives_[qpn].ids.push_back(request.id);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset || attributes.state == QpState::Init) {
            receives_.erase(qpn); // nothing is posted in RESET
        }
        if (attributes.state != QpState::Err) return;
        const auto own = receives_.find(qpn);
        if (own != receives_.end()) own->second.lost = std::exchange(own->second.begun, false);
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.queue != engine::Queue::Receive) return completion;
        Receives* const own = owner_of(completion.id);
        if (own == nullptr) return completion;
        own->ids.pop_front();
        const bool flushed = completion.status == engine::WcStatus::WrFlushErr;
        if (flushed && std::exchange(own->lost, false)) return std::nullopt;
        return completion;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        const bool send = is_rc_request(passage.packet) && info.operation == Operation::Send;
        if (place != Place::Expected || !send) return;
        receives_[qp.report.qpn].begun = !info.ends_message();
    }
    void answered(Qp& qp, Passage& passage) override {
        const bool none = is_rnr_nak(passage.packet) || is_fatal_nak(passage.packet);
        if (none) receives_[qp.report.qpn].begun = false;
    }

  private:
    struct Receives {
        std::deque<std::uint64_t> ids; // that have not completed
        bool begun = false;            // a SEND has taken the oldest
        bool lost = false;             // it did when the QP was moved to ERR
    };
    // Whose oldest receive this is; of two, the one that loses it.
    Receives* owner_of(std::uint64_t id) {
        Receives* found = nullptr;
        for (auto& [qpn, own] : receives_) {
            if (own.ids.empty() || own.ids.front() != id) continue;
            if (found == nullptr || own.lost) found = &own;
        }
        return found;
    }

    std::map<wire::Qpn, Receives> receives_;
};

// --- gaps and duplicates

// The message counts when it is opened, and is taken back where an ACK is made.
class SequenceNakCountsOpenMessage final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet) && qp.memory.open) packet.aeth.msn = packet.aeth.msn + 1;
    }
};

struct NewestRead : Arrivals {
    std::optional<wire::Psn> read; // the newest request, if it is a READ of several packets
};

// What the NAK tells is the PSN behind the newest request packet.
class NakBehindLongReadAtItsSecondPsn final : public PlacesRequests<NewestRead> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        qp.memory.read.reset();
        const bool several =
            is_read_request(packet) && wire::packets_of(packet.reth.dma_length, qp.mtu()) > 1;
        if (several) qp.memory.read = packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet) && qp.memory.read) packet.bth.psn = *qp.memory.read + 1;
    }
};

struct Gap : Arrivals {
    bool naked = false;             // a sequence NAK has left, and the request has not come since
    std::optional<wire::Psn> ahead; // the farthest that came behind the gap
};

// A duplicate is acknowledged with the newest PSN that was received, dropped or not.
class DuplicateInGapAcksBehindIt final : public PlacesRequests<Gap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Psn psn = passage.packet.bth.psn;
        Gap& gap = qp.memory;
        if (place == Place::Expected) {
            gap.naked = false;
            gap.ahead.reset();
        }
        if (place != Place::Ahead) return;
        if (!gap.ahead || wire::distance(*gap.ahead, psn) > 0) gap.ahead = psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Gap& gap = qp.memory;
        gap.naked |= is_sequence_nak(packet);
        if (is_ack(packet) && gap.naked && gap.ahead) packet.bth.psn = *gap.ahead;
    }
};

// While the expected request is awaited all others are taken for new, but for the PSN.
class DuplicateWriteInGapCarriedOut final : public PlacesRequests<Gap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place == Place::Expected) qp.memory.naked = false;
        const wire::OpcodeInfo& info = packet.info();
        const bool write = is_rc_request(packet) && info.operation == Operation::RdmaWrite &&
                           info.position == Position::Only;
        const auto& path = qp.report.attributes.address;
        const auto& access = qp.report.attributes.access;
        if (!write || place != Place::Behind || !qp.memory.naked) return;
        if (!path || passage.envelope.source != path->destination) return;
        if (!access || !access->remote_write || !engine::receives(qp.report.state)) return;
        const wire::Bytes payload = packet.payload();
        const auto region = regions().live(packet.reth.rkey);
        if (!region || !region->access.remote_write || payload.size() != packet.reth.dma_length) {
            return;
        }
        const auto bytes = Regions::range(*region, packet.reth.virtual_address, payload.size());
        if (bytes.size() == payload.size()) std::ranges::copy(payload, bytes.begin());
    }
    void answered(Qp& qp, Passage& passage) override {
        qp.memory.naked |= is_sequence_nak(passage.packet);
    }
};

struct NakedInvalidate : Arrivals {
    std::optional<wire::Psn> newest; // request, if it is a SEND ONLY with invalidate
    std::optional<wire::Psn> naked;  // it found no receive
};

// The key is revoked before a receive is looked for, and so a second time.
class NakedInvalidateRevokesTwice final : public PlacesRequests<NakedInvalidate> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        constexpr std::uint32_t variant = 0x80; // of a key that was revoked
        wire::Packet& packet = passage.packet;
        NakedInvalidate& memory = qp.memory;
        if (place != Place::Expected) return;
        const bool again = std::exchange(memory.naked, std::nullopt) == packet.bth.psn;
        memory.newest.reset();
        const wire::OpcodeInfo& info = packet.info();
        if (!is_rc_request(packet) || !info.invalidates() || info.position != Position::Only) {
            return;
        }
        memory.newest = packet.bth.psn;
        if (again) packet.ieth.rkey.value ^= variant;
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.newest == packet.bth.psn) {
            qp.memory.naked = packet.bth.psn;
        }
    }
};

// --- READs

void read_end_padded_by_remainder(wire::Packet& packet) {
    constexpr std::size_t word = 4;
    if (!is_read_response(packet) || packet.info().position != Position::Last) return;
    packet.bth.pad = static_cast<std::uint8_t>(packet.payload().size() % word);
}

// What is not a plain ACK leaves by the send queue, which does not run yet.
class NoResponsesInRtr final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool response = is_read_response(packet) || is_atomic_ack(packet);
        passage.dropped = response && qp.report.state == QpState::Rtr;
    }
};

struct Leak : Arrivals {
    ReadLog reads;
    std::uint32_t leaked = 0; // entries that nothing gives back
};

// A repeated READ takes an entry for its answer, and the answer to it gives none back.
class RepeatedReadsLeak final : public PlacesRequests<Leak> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        Leak& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        if (place == Place::Behind && is_read_request(packet)) {
            const auto known = memory.reads.holding(packet.bth.psn);
            if (known && known->answered) ++memory.leaked;
        }
        if (place != Place::Expected) return;
        const std::uint8_t entries = qp.report.attributes.max_dest_rd_atomic.value_or(0);
        const bool takes_one = is_read_request(packet) || is_atomic_request(packet);
        if (takes_one && entries != 0 && memory.leaked >= entries) {
            refuse(packet);
        } else if (is_read_request(packet)) {
            memory.reads.note(packet, qp.mtu());
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_read_response(passage.packet)) qp.memory.reads.answer(passage.packet.bth.psn);
    }

  private:
    // Makes it what draws NAK Invalid Request.
    static void refuse(wire::Packet& packet) {
        constexpr std::uint8_t reserved = 0x1E;
        packet.bth.opcode = reserved;
        packet.headers = packet.info().headers;
    }
};

struct RepeatedTail : Arrivals {
    ReadLog reads;
    struct Tail {
        wire::Psn psn;
        std::uint32_t packets = 1;
        wire::Rkey rkey;
        std::uint64_t address = 0; // where the whole READ begins
    };
    std::optional<Tail> tail; // that is being repeated
};

// The address is taken out of what was saved, the length and the PSN out of the request.
class ReadTailBeginsWithHead final : public PlacesRequests<RepeatedTail> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        RepeatedTail& memory = qp.memory;
        if (!is_rc_request(packet) || !is_read_request(packet)) return;
        if (place == Place::Expected) memory.reads.note(packet, qp.mtu());
        if (place != Place::Behind) return;
        memory.tail.reset();
        const auto known = memory.reads.holding(packet.bth.psn);
        if (!known || !known->answered || known->request.bth.psn == packet.bth.psn) return;
        memory.tail = {.psn = packet.bth.psn,
                       .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                       .rkey = known->request.reth.rkey,
                       .address = known->request.reth.virtual_address};
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        RepeatedTail& memory = qp.memory;
        if (!is_read_response(packet)) return;
        memory.reads.answer(packet.bth.psn);
        if (!memory.tail) return;
        const RepeatedTail::Tail tail = *memory.tail;
        const std::uint32_t at = engine::forward(tail.psn, packet.bth.psn);
        if (at >= tail.packets) return;
        if (at + 1 == tail.packets) memory.tail.reset();
        const std::uint64_t offset = std::uint64_t{at} * wire::bytes_of(qp.mtu());
        const auto bytes = regions().at(tail.rkey, tail.address + offset, packet.payload().size());
        if (bytes.empty()) return;
        body_.assign(packet.body.size(), std::byte{0});
        std::ranges::copy(bytes, body_.begin());
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

// --- atomics

struct Additions : Arrivals {
    struct Addition {
        std::uint64_t asked = 0;
        std::uint64_t done = 0;
    };
    std::map<std::uint32_t, Addition> spoiled; // by PSN
};

// Two adders of 32 bits.
class CarryBetweenWordsLost final : public PlacesRequests<Additions> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        wire::Packet& packet = passage.packet;
        auto& spoiled = qp.memory.spoiled;
        if (place == Place::Ahead || packet.info().operation != Operation::FetchAdd) return;
        std::uint64_t& add = packet.atomic.swap_or_add;
        const std::uint32_t psn = packet.bth.psn.value();
        if (place == Place::Behind) { // the engine compares it with what it has carried out
            const auto before = spoiled.find(psn);
            if (before != spoiled.end() && before->second.asked == add) add = before->second.done;
            return;
        }
        spoiled.erase(psn);
        const auto word =
            regions().at(packet.atomic.rkey, packet.atomic.virtual_address, sizeof add);
        if (word.empty()) return;
        std::uint64_t found = 0;
        std::memcpy(&found, word.data(), sizeof found);
        if ((found & low) + (add & low) <= low) return;
        const std::uint64_t done = add - (low + 1);
        spoiled.insert_or_assign(psn, Additions::Addition{.asked = add, .done = done});
        add = done;
    }
};

struct ResultSlots {
    struct Result {
        wire::Psn psn;
        std::uint64_t original = 0;
    };
    static constexpr std::size_t count = 8;
    std::array<std::optional<Result>, count> slots;
    NewestPsn told;
};

// The place of a result is named by the low bits of its PSN, and nothing else.
class ResultsByLowPsnBits final : public QpFilter<ResultSlots> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_atomic_ack(packet)) return;
        auto& slot = qp.memory.slots[packet.bth.psn.value() % ResultSlots::count];
        if (!qp.memory.told.note(packet.bth.psn)) {
            slot = {.psn = packet.bth.psn, .original = packet.atomic_ack.original};
        } else if (slot) {
            packet.atomic_ack.original = slot->original;
        }
    }
};

struct FailedSwaps : Arrivals {
    struct Swap {
        wire::AtomicEth asked;
        std::optional<std::uint64_t> result; // of the repetition that has swapped
    };
    std::map<std::uint32_t, Swap> swaps; // that have not swapped, by PSN; or are on their way
    NewestPsn told;
};

// Only what has changed memory is remembered as carried out.
class FailedSwapTriedAgain final : public PlacesRequests<FailedSwaps> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !is_rc_request(packet)) return;
        auto& swaps = qp.memory.swaps;
        swaps.erase(packet.bth.psn.value());
        if (packet.info().operation != Operation::CompareSwap) return;
        swaps.insert_or_assign(packet.bth.psn.value(),
                               FailedSwaps::Swap{.asked = packet.atomic, .result = {}});
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_atomic_ack(packet)) return;
        const bool repeated = qp.memory.told.note(packet.bth.psn);
        auto& swaps = qp.memory.swaps;
        const auto found = swaps.find(packet.bth.psn.value());
        if (found == swaps.end()) return;
        std::uint64_t& original = packet.atomic_ack.original;
        if (repeated) {
            try_again(found->second, original);
        } else if (original == found->second.asked.compare) {
            swaps.erase(found);
        }
    }

  private:
    void try_again(FailedSwaps::Swap& swap, std::uint64_t& original) {
        if (swap.result) {
            original = *swap.result;
            return;
        }
        const wire::AtomicEth& asked = swap.asked;
        const auto word = regions().at(asked.rkey, asked.virtual_address, sizeof original);
        if (word.empty()) return;
        std::memcpy(&original, word.data(), sizeof original);
        if (original != asked.compare) return;
        std::memcpy(word.data(), &asked.swap_or_add, sizeof asked.swap_or_add);
        swap.result = original;
    }
};

// --- rights

// The rights are read out of the QP's context when it begins to receive.
class LaterRightsIgnored final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
        if (report.state == QpState::Reset) asked_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        states_.erase(qpn);
        asked_.erase(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const auto known = states_.find(qpn);
        const bool runs = known != states_.end() &&
                          (known->second == QpState::Rts || known->second == QpState::Sqd);
        if (!runs || !attributes.access) return;
        asked_.insert_or_assign(qpn, *attributes.access);
        attributes.access.reset();
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end()) report.attributes.access = asked->second;
    }

  private:
    std::map<wire::Qpn, QpState> states_;
    std::map<wire::Qpn, engine::Access> asked_; // while the QP ran
};

// --- the port

struct PkeyOfRequest {
    std::optional<wire::Pkey> pkey;
};

// An ACK is made out of the header of what it acknowledges.
class AcksRepeatPkey final : public QpFilter<PkeyOfRequest> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr unsigned key_bits = 0x7FFF;
        const wire::Pkey theirs = passage.packet.bth.pkey;
        const wire::Pkey ours = qp.report.attributes.pkey.value_or(wire::kDefaultPkey);
        const bool matches = ((theirs.value ^ ours.value) & key_bits) == 0;
        if (is_rc_request(passage.packet) && matches) qp.memory.pkey = theirs;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_ack(packet)) packet.bth.pkey = qp.memory.pkey.value_or(packet.bth.pkey);
    }
};

// NAKs have a template of their own.
void naks_have_default_hop_limit(const wire::Packet& packet, OwnedDatagram& datagram) {
    constexpr std::uint8_t standard = 64;
    if (is_nak(packet)) datagram.envelope.hop_limit = standard;
}

// What fits the usual frame is never fragmented anyway, and its template is the one with the flag.
class LongPacketsMayBeFragmented final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::uint16_t usual = 1500;
        constexpr std::uint16_t dont_fragment = 0x4000;
        constexpr std::size_t length_at = 2;
        constexpr std::size_t flags_at = 6;
        constexpr std::size_t checksum_at = 10;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        const auto header = frame.subspan(outer.ip_at, wire::Ipv4::kSize);
        if (wire::load_u16(header, length_at) <= usual) return;
        const unsigned flags = wire::load_u16(header, flags_at);
        wire::store_be<2>(header, flags_at, flags & ~unsigned{dont_fragment});
        wire::store_be<2>(header, checksum_at, wire::ipv4_checksum(header));
        wire::seal(frame);
    }
};

// A notification point looks at the mark where it looks for the RETH.
class MarksInsideMessagesIgnored final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        constexpr std::uint8_t capable = 2; // ECT(0)
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool inside = packet && packet->info().request() && !packet->info().starts_message();
        if (inside && datagram.envelope.ecn == wire::kCongestionExperienced) {
            datagram.envelope.ecn = capable;
        }
        in.push_back(std::move(datagram));
    }
};

constexpr std::array kMutants{
    // Lengths, keys, opcodes
    Mutant{.name = "long_write_held_to_its_remainder",
           .rule = "LEN-04",
           .description = "A WRITE of several packets may lack whole packets: its LAST is taken "
                          "if it brings as many bytes as the announced length leaves for the "
                          "last packet.",
           .checks =
               kStandardChecks.with(RequestCheck::MessageLength, long_write_by_its_remainder)},
    Mutant{.name = "atomic_on_last_word_of_region_refused",
           .rule = "N-37",
           .description = "An atomic on the last eight bytes of a region or window draws NAK "
                          "Remote Access.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, atomic_needs_a_byte_behind)},
    Mutant{.name = "atomics_by_index_of_key_alone",
           .rule = "KEY-08",
           .description = "Atomics do not look at the variant byte of their R_Key.",
           .checks = kStandardChecks.with(RequestCheck::KeyVariant, atomics_by_index_alone)},
    Mutant{.name = "flush_or_atomic_write_inside_message_taken",
           .rule = "OPC-02",
           .description = "A FLUSH or ATOMIC WRITE that comes between the packets of a SEND or "
                          "WRITE is carried out, and the message goes on behind it.",
           .cases = "opc/flush-inside-a-message opc/atomic-write-inside-a-message",
           .checks = kStandardChecks.with(RequestCheck::OpcodeSequence, newer_opcodes_anywhere)},
    Mutant{.name = "rights_changed_in_rts_ignored",
           .rule = "KEY-01",
           .description = "Access flags that the host changes in RTS or SQD are reported and "
                          "have no effect: the former ones stay in force.",
           .make_filter = make<LaterRightsIgnored>},
    // Immediate data, receives
    Mutant{.name = "immediate_of_long_write_byte_swapped",
           .rule = "N-15",
           .description = "The immediate data of a WRITE of several packets reach the host with "
                          "their bytes in reverse order.",
           .make_filter = make<EditsInbound<swap_immediate_of_long_write>>},
    Mutant{.name = "immediate_of_zero_taken_for_none",
           .rule = "N-15",
           .description = "A receive completion does not tell of immediate data that are zero.",
           .make_filter = make<ImmediateZeroIsNone>},
    Mutant{.name = "empty_send_told_with_length_before",
           .rule = "LEN-09",
           .description = "The completion of a SEND of zero bytes has the byte_len of the QP's "
                          "last receive that got any bytes.",
           .make_filter = make<EmptySendHasLengthBefore>},
    Mutant{.name = "begun_receive_lost_when_moved_to_error",
           .rule = "STA-07",
           .description = "The receive that a SEND of several packets has begun to fill is not "
                          "flushed when the host moves the QP to ERR.",
           .cases = "sta/begun-receive-flushed",
           .make_filter = make<BegunReceiveNotFlushed>},
    Mutant{.name = "rnr_naked_invalidate_ends_qp_when_it_comes_again",
           .rule = "RNR-06",
           .description = "A SEND ONLY with invalidate that was RNR NAKed ends the QP when it "
                          "comes again: it finds its key revoked already.",
           .make_filter = make<NakedInvalidateRevokesTwice>},
    // Gaps and duplicates
    Mutant{.name = "nak_of_psn_zero_forgotten",
           .rule = "RSP-03",
           .description = "While PSN 0 is expected, every request ahead of it draws a sequence "
                          "NAK of its own.",
           .cases = "rsp/one-nak-for-each-psn",
           .checks = kStandardChecks.with(RequestCheck::OneNak, nak_at_zero_forgotten)},
    Mutant{.name = "gap_nak_counts_open_message",
           .rule = "ACK-08",
           .description = "The MSN of a sequence NAK for a gap inside a message counts that "
                          "message.",
           .make_filter = make<SequenceNakCountsOpenMessage>},
    Mutant{.name = "nak_behind_long_read_at_its_second_psn",
           .rule = "RSP-02",
           .description = "The sequence NAK for a gap right behind a READ of several packets has "
                          "the second PSN of that READ.",
           .make_filter = make<NakBehindLongReadAtItsSecondPsn>},
    Mutant{.name = "duplicate_in_gap_acks_what_was_dropped",
           .rule = "ACK-04",
           .description = "While a sequence NAK is outstanding, a repeated SEND or WRITE is "
                          "acknowledged with the PSN of the farthest request that was dropped.",
           .make_filter = make<DuplicateInGapAcksBehindIt>},
    Mutant{.name = "duplicate_write_in_gap_carried_out",
           .rule = "RSP-15",
           .description = "While a sequence NAK is outstanding, a repeated WRITE of one packet "
                          "is written to memory once more.",
           .cases = "rsp/old-writes-in-a-gap",
           .make_filter = make<DuplicateWriteInGapCarriedOut>},
    // READs
    Mutant{.name = "read_repeated_to_any_end",
           .rule = "RDR-07",
           .description = "A repeated READ that is longer than the original is answered.",
           .checks = kStandardChecks.with(DuplicateCheck::WithinRead, read_repeated_to_any_end)},
    Mutant{.name = "read_tail_repeated_with_bytes_of_head",
           .rule = "RDR-05",
           .description = "The tail of a READ that is asked for again brings the bytes from the "
                          "READ's beginning.",
           .make_filter = make<ReadTailBeginsWithHead>},
    Mutant{.name = "pad_count_of_last_read_response_is_remainder",
           .rule = "BTH-09",
           .description = "The pad count of a READ response LAST is its length modulo 4, though "
                          "the pad bytes are right.",
           .make_filter = make<EditsOutbound<read_end_padded_by_remainder>>},
    Mutant{.name = "reads_and_atomics_unanswered_in_rtr",
           .rule = "STA-03",
           .description = "READs and atomics that come in RTR are carried out and not answered.",
           .make_filter = make<NoResponsesInRtr>},
    Mutant{.name = "repeated_reads_leak_responder_resources",
           .rule = "RSP-01",
           .description = "After as many repeated READs as max_dest_rd_atomic, the next new READ "
                          "or atomic draws NAK Invalid Request.",
           .make_filter = make<RepeatedReadsLeak>},
    // Atomics
    Mutant{.name = "carry_between_words_of_addition_lost",
           .rule = "ATM-01",
           .description = "A FETCH_ADD loses the carry out of the low 32 bits.",
           .make_filter = make<CarryBetweenWordsLost>},
    Mutant{.name = "atomic_results_kept_by_low_psn_bits",
           .rule = "ATM-04",
           .description = "A repeated atomic is answered with the result of the newest atomic "
                          "whose PSN is the same modulo 8.",
           .make_filter = make<ResultsByLowPsnBits>},
    Mutant{.name = "failed_swap_tried_again",
           .rule = "ATM-04",
           .description = "A COMPARE_SWAP that did not swap is carried out again when it is "
                          "repeated.",
           .cases = "atm/failed-swap-again",
           .make_filter = make<FailedSwapTriedAgain>},
    // The port
    Mutant{.name = "v6_source_compared_by_last_word",
           .rule = "ENC-14",
           .description = "Of an IPv6 source address only the last four bytes are compared with "
                          "the peer's.",
           .checks = kStandardChecks.with(PacketCheck::SourceAddress, source_by_its_last_word)},
    Mutant{.name = "acks_repeat_pkey_of_request",
           .rule = "BTH-08",
           .level = "SHOULD",
           .description = "An ACK has the P_Key of the newest request and not that of its QP, "
                          "which differs in the bit of full membership.",
           .make_filter = make<AcksRepeatPkey>},
    Mutant{.name = "naks_leave_with_default_hop_limit",
           .rule = "ENC-11",
           .description = "NAKs and RNR NAKs leave with TTL or hop limit 64, whatever the QP's "
                          "address vector says.",
           .cases = "enc/hop-limit-of-each-answer",
           .make_filter = make<EditsSentDatagram<naks_have_default_hop_limit>>},
    Mutant{.name = "long_packets_leave_without_dont_fragment",
           .rule = "ENC-09",
           .description = "IPv4 packets of more than 1500 bytes leave without the flag Don't "
                          "Fragment.",
           .make_filter = make<LongPacketsMayBeFragmented>},
    Mutant{.name = "marks_inside_messages_bring_no_cnp",
           .rule = "CNP-01",
           .description = "A congestion mark on a MIDDLE or LAST packet of a request brings no "
                          "CNP.",
           .cases = "cnp/for-each-place",
           .make_filter = make<MarksInsideMessagesIgnored>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind12_responder

namespace veriroce::mutants {

std::span<const Mutant> blind12_responder() {
    return of_blind12_responder::kMutants;
}

} // namespace veriroce::mutants
