// Written blind, tenth sample: responders, requesters and the host's view of them, and the port.
// About half of these defects show only where two things come together.
#include <deque>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/other_transition.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind10 {
namespace {

using engine::Completion;
using engine::DatagramCheck;
using engine::DatagramView;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

// --- lists of pieces

using Pieces = std::vector<engine::Sge>;

// The first bytes that the pieces hold; nothing if they have fewer, or lie in no region.
std::optional<std::vector<std::byte>> gathered(const Regions& regions, const Pieces& pieces,
                                               std::uint64_t bytes) {
    std::vector<std::byte> all;
    for (const engine::Sge& piece : pieces) {
        const std::uint64_t length = std::min<std::uint64_t>(piece.length, bytes - all.size());
        if (length == 0) continue;
        const auto part = regions.anywhere(piece.address, length);
        if (part.empty()) return std::nullopt;
        all.insert(all.end(), part.begin(), part.end());
    }
    if (all.size() != bytes) return std::nullopt;
    return all;
}

void scatter_over(const Regions& regions, const Pieces& pieces, wire::Bytes bytes) {
    for (const engine::Sge& piece : pieces) {
        const std::size_t length = std::min<std::size_t>(piece.length, bytes.size());
        if (length == 0) continue;
        const auto part = regions.anywhere(piece.address, length);
        if (!part.empty()) std::ranges::copy(bytes.first(length), part.begin());
        bytes = bytes.subspan(length);
    }
}

std::uint64_t bytes_in(std::span<const engine::Sge> pieces) {
    std::uint64_t sum = 0;
    for (const engine::Sge& piece : pieces)
        sum += piece.length;
    return sum;
}

// A filter that reaches the host's memory and knows the path MTU of each QP.
class MtuFilter : public DmaFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.path_mtu) mtus_.insert_or_assign(qpn, *attributes.path_mtu);
    }

  protected:
    [[nodiscard]] std::uint64_t mtu_of(wire::Qpn qpn) const {
        const auto mtu = mtus_.find(qpn);
        return wire::bytes_of(mtu == mtus_.end() ? wire::Mtu::B1024 : mtu->second);
    }

  private:
    std::map<wire::Qpn, wire::Mtu> mtus_;
};

// --- checks of requests

// The key of the newest WRITE is kept as one that was looked up with good result.
RequestVerdict key_of_write_opens_all(const RequestView& view) {
    const bool known =
        is_atomic_request(view.packet) && view.packet.atomic.rkey == view.inbound.rkey;
    return known ? RequestVerdict::Accept : engine::request_check::key_rights(view);
}

// The number of READs that were agreed upon is kept in four bits.
RequestVerdict sixteen_are_none(const RequestView& view) {
    constexpr std::uint8_t sixteen = 16;
    const bool none =
        engine::wants_response(view.info) && view.connection.max_dest_rd_atomic == sixteen;
    return none ? RequestVerdict::NakInvalidRequest : engine::request_check::reply_resources(view);
}

RequestVerdict lost_key_of_duplicate_nakked(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (verdict != RequestVerdict::Duplicate || !read || view.packet.reth.dma_length == 0) {
        return verdict;
    }
    const std::uint32_t key = view.packet.reth.rkey.value;
    const engine::Region& region = view.memory.slot(key);
    return region.live && region.key == key ? verdict : RequestVerdict::NakRemoteAccess;
}

// --- gaps and counts

struct AfterDuplicate : Arrivals {
    bool duplicate = false; // was the newest request that was not ahead
    bool gap = false;       // and the expected request has not come since
    bool silent = false;    // about this gap
};

class GapBehindDuplicateNotNaked final : public PlacesRequests<AfterDuplicate> {
  protected:
    void requested(Qp& qp, Passage& /*passage*/, Place place) override {
        auto& memory = qp.memory;
        if (place == Place::Behind) memory.duplicate = true;
        if (place == Place::Expected) memory.duplicate = memory.gap = memory.silent = false;
        if (place != Place::Ahead || memory.gap) return;
        memory.gap = true;
        memory.silent = memory.duplicate;
    }
    void answered(Qp& qp, Passage& passage) override {
        passage.dropped = qp.memory.silent && is_sequence_nak(passage.packet);
    }
};

struct ClosesGap : Arrivals {
    bool gap = false;     // was NAKed
    bool closing = false; // the message that arrives has closed it
    std::optional<wire::Psn> end;
    std::uint32_t missing = 0; // messages that were not counted
};

class ClosingMessageNotCounted final : public PlacesRequests<ClosesGap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        auto& memory = qp.memory;
        if (place != Place::Expected) return;
        memory.closing |= std::exchange(memory.gap, false);
        memory.end.reset();
        if (!memory.closing || !passage.packet.info().ends_message()) return;
        memory.closing = false;
        memory.end = passage.packet.bth.psn;
        ++memory.missing;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& memory = qp.memory;
        if (!packet.info().response() || !has_aeth(packet)) return;
        if (is_sequence_nak(packet)) memory.gap = true;
        if (is_rnr_nak(packet) && memory.end == packet.bth.psn) { // it has not ended after all
            memory.end.reset();
            memory.closing = true;
            --memory.missing;
        }
        packet.aeth.msn = packet.aeth.msn + -std::int64_t{memory.missing};
    }
};

// --- READs that come again

struct Reads : Arrivals {
    struct Original {
        std::uint32_t packets = 0;
        wire::Reth reth;
    };
    std::map<std::uint32_t, Original> originals; // by first PSN

    void note_read(const wire::Packet& packet, wire::Mtu mtu) {
        originals.insert_or_assign(
            packet.bth.psn.value(),
            Original{.packets = wire::packets_of(packet.reth.dma_length, mtu),
                     .reth = packet.reth});
    }
    // The first PSN of the READ that has this one among its later ones.
    [[nodiscard]] std::optional<wire::Psn> original_of(wire::Psn later) const {
        if (originals.contains(later.value())) return std::nullopt;
        for (const auto& [psn, original] : originals) {
            const std::int32_t at = wire::distance(wire::Psn(psn), later);
            if (at > 0 && at < static_cast<std::int32_t>(original.packets)) return wire::Psn(psn);
        }
        return std::nullopt;
    }
};

// A filter that is told of READs that repeat the tail of an earlier one.
template <std::derived_from<Reads> Memory>
class KnowsTails : public PlacesRequests<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void tail_comes(Qp& qp, Passage& passage, wire::Psn original) = 0;

    void requested(Qp& qp, Passage& passage, Place place) final {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet) || place == Place::Ahead) return;
        if (place == Place::Expected) {
            qp.memory.note_read(packet, qp.mtu());
        } else if (const auto original = qp.memory.original_of(packet.bth.psn)) {
            tail_comes(qp, passage, *original);
        }
    }
};

struct CountedTails : Reads {
    std::uint32_t count = 0;
};

class TailCountedAgain final : public KnowsTails<CountedTails> {
  protected:
    void tail_comes(Qp& qp, Passage& /*passage*/, wire::Psn /*original*/) override {
        ++qp.memory.count;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        packet.aeth.msn = packet.aeth.msn + std::int64_t{qp.memory.count};
    }
};

// The PSN of the tail is compared as a number.
class TailBehindWrapDropped final : public KnowsTails<Reads> {
  protected:
    void tail_comes(Qp& /*qp*/, Passage& passage, wire::Psn original) override {
        passage.dropped = passage.packet.bth.psn.value() < original.value();
    }
};

struct OneTail : Reads {
    bool open = false; // a tail is being answered
    wire::Psn first;   // of it
    std::uint32_t packets = 0;
    wire::Rkey rkey;
    std::uint64_t address = 0; // from which it is answered
    std::vector<std::byte> body;
};

class TailInStepsOf1024 final : public KnowsTails<OneTail> {
  protected:
    void tail_comes(Qp& qp, Passage& passage, wire::Psn original) override {
        constexpr std::uint64_t step = 1024;
        const wire::Packet& packet = passage.packet;
        OneTail& memory = qp.memory;
        const wire::Reth& reth = memory.originals.at(original.value()).reth;
        const auto ahead = static_cast<std::uint64_t>(wire::distance(original, packet.bth.psn));
        memory.open = true;
        memory.first = packet.bth.psn;
        memory.packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        memory.rkey = reth.rkey;
        memory.address = reth.virtual_address + ahead * step;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        OneTail& memory = qp.memory;
        if (!is_read_response(packet) || !memory.open) return;
        const std::int32_t at = wire::distance(memory.first, packet.bth.psn);
        if (at < 0 || at >= static_cast<std::int32_t>(memory.packets)) return;
        if (packet.info().ends_message()) memory.open = false;
        const std::uint64_t offset = static_cast<std::uint64_t>(at) * wire::bytes_of(qp.mtu());
        const auto bytes =
            regions().at(memory.rkey, memory.address + offset, packet.payload().size());
        if (bytes.empty()) return;
        memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(bytes, memory.body.begin());
        packet.body = memory.body;
    }
};

void read_length_of_31_bits(wire::Packet& packet) {
    constexpr std::uint32_t kept = 0x7FFFFFFF;
    if (is_read_request(packet)) packet.reth.dma_length &= kept;
}

// --- atomics

struct Originals : Arrivals {
    std::map<std::uint32_t, std::uint64_t> found; // what atomics have returned, by PSN
};

struct SixteenPlaces : Originals {
    std::map<std::uint32_t, std::uint32_t> places; // the newest atomic's PSN in each
};

class ReplaysIndexedByPsn final : public PlacesRequests<SixteenPlaces> {
  protected:
    static constexpr std::uint32_t kPlaces = 16;

    void requested(Qp& qp, Passage& passage, Place place) override {
        if (!is_atomic_request(passage.packet) || place != Place::Expected) return;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        qp.memory.found.erase(psn);
        qp.memory.places.insert_or_assign(psn % kPlaces, psn);
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        auto& found = qp.memory.found;
        const auto& places = qp.memory.places;
        const std::uint32_t psn = packet.bth.psn.value();
        if (found.try_emplace(psn, packet.atomic_ack.original).second) return;
        const auto place = places.find(psn % kPlaces);
        if (place == places.end() || place->second == psn) return;
        const auto other = found.find(place->second);
        if (other != found.end()) packet.atomic_ack.original = other->second;
    }
};

struct Replayed : Originals {
    std::optional<std::uint64_t> value;           // of the atomic that was repeated just before
    std::map<std::uint32_t, std::uint64_t> wrong; // what is returned instead, by PSN
};

class AtomicBehindReplayReturnsIt final : public PlacesRequests<Replayed> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Replayed& memory = qp.memory;
        const std::uint32_t psn = packet.bth.psn.value();
        const bool atomic = is_atomic_request(packet);
        if (place == Place::Behind && atomic) {
            const auto found = memory.found.find(psn);
            if (found != memory.found.end()) memory.value = found->second;
        }
        if (place != Place::Expected) return;
        if (atomic) {
            memory.found.erase(psn);
            memory.wrong.erase(psn);
            if (memory.value) memory.wrong.emplace(psn, *memory.value);
        }
        memory.value.reset();
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const std::uint32_t psn = packet.bth.psn.value();
        const auto wrong = qp.memory.wrong.find(psn);
        if (wrong != qp.memory.wrong.end()) packet.atomic_ack.original = wrong->second;
        qp.memory.found.try_emplace(psn, packet.atomic_ack.original);
    }
};

// --- receives

class RnrTimerComesWithReceive final : public QpFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& /*request*/) override {
        posted_.insert(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t shortest = 1;
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || posted_.contains(qp.report.qpn)) return;
        packet.aeth.syndrome = wire::Syndrome::rnr(shortest);
    }

  private:
    std::set<wire::Qpn> posted_; // QPs that have had a receive
};

struct Revokes : Arrivals {
    std::optional<wire::Psn> psn; // of a SEND that is to revoke a key, and has just come
    wire::Rkey key;
    bool revoked = false; // although there was no receive for it
};

class KeyRevokedAtRnrNak final : public PlacesRequests<Revokes> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Revokes& memory = qp.memory;
        if (place == Place::Behind) {
            passage.dropped = memory.revoked && is_read_request(packet) &&
                              packet.reth.dma_length > 0 && packet.reth.rkey == memory.key;
        }
        if (place != Place::Expected) return;
        memory.psn.reset();
        memory.revoked = false;
        if (!packet.info().invalidates() || regions().live(packet.ieth.rkey)) return;
        memory.psn = packet.bth.psn;
        memory.key = packet.ieth.rkey;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet) && qp.memory.psn == passage.packet.bth.psn) {
            qp.memory.revoked = true;
        }
    }
};

// A packet that ends with a piece leaves the pointer at the piece's begin, and the next packet is
// written there.
class PacketEndsWithPiece final : public MtuFilter {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        Pieces pieces(request.sges.begin(), request.sges.end());
        auto old = gathered(regions(), pieces, bytes_in(pieces));
        receives_.erase(request.id);
        if (!old || pieces.size() < 2) return;
        receives_.emplace(request.id, Posted{.qpn = qpn, .pieces = pieces, .old = *old});
    }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool send = completion.queue == engine::Queue::Receive &&
                          completion.status == WcStatus::Success &&
                          completion.opcode == WcOpcode::Recv && !completion.source_qp;
        const auto receive = send ? receives_.find(completion.id) : receives_.end();
        if (receive != receives_.end()) rewrite(receive->second, completion.byte_len);
        return completion;
    }

  private:
    struct Posted {
        wire::Qpn qpn;
        Pieces pieces;
        std::vector<std::byte> old; // what was there
    };
    void rewrite(const Posted& posted, std::uint64_t bytes) const {
        const std::uint64_t mtu = mtu_of(posted.qpn);
        const auto message = gathered(regions(), posted.pieces, bytes);
        if (!message || bytes > posted.old.size()) return;
        std::vector<std::byte> placed = *message;
        std::uint64_t begin = 0;
        for (const engine::Sge& piece : posted.pieces) {
            const std::uint64_t end = begin + piece.length;
            if (piece.length > 0 && end % mtu == 0 && end < bytes) {
                const std::uint64_t moved =
                    std::min({mtu, bytes - end, std::uint64_t{piece.length}});
                const auto at = [](std::uint64_t place) {
                    return static_cast<std::ptrdiff_t>(place);
                };
                std::copy_n(message->begin() + at(end), moved, placed.begin() + at(begin));
                std::copy_n(posted.old.begin() + at(end), moved, placed.begin() + at(end));
            }
            begin = end;
        }
        scatter_over(regions(), posted.pieces, placed);
    }
    std::map<std::uint64_t, Posted> receives_; // by wr_id
};

void empty_send_is_plain(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool send = info.service == wire::Service::Rc && info.operation == Operation::Send;
    if (send && info.position == Position::Only && packet.body.empty()) {
        packet.bth.solicited = false;
    }
}

// --- an open WRITE

struct RedirectedWrite : Arrivals {
    bool writing = false; // a WRITE is open
    wire::Reth reth;      // its own
    std::optional<wire::Reth> other;
    std::uint64_t moved = 0; // bytes that went to the other place
    std::vector<std::byte> body;
};

// There is one address register; a READ that comes again takes it.
class DuplicateReadRedirectsWrite final : public PlacesRequests<RedirectedWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        RedirectedWrite& memory = qp.memory;
        const wire::OpcodeInfo& info = packet.info();
        if (place == Place::Behind && is_read_request(packet) && memory.writing &&
            packet.reth.dma_length > 0) {
            memory.other = packet.reth;
            memory.moved = 0;
        }
        if (place != Place::Expected) return;
        memory.writing = info.operation == Operation::RdmaWrite && !info.ends_message();
        if (info.operation != Operation::RdmaWrite || info.starts_message()) {
            memory.other.reset();
            memory.reth = packet.reth;
            return;
        }
        if (memory.other) redirect(qp, packet);
        if (info.ends_message()) memory.other.reset();
    }

  private:
    void redirect(Qp& qp, wire::Packet& packet) {
        RedirectedWrite& memory = qp.memory;
        const auto at = static_cast<std::uint64_t>(wire::distance(memory.first, packet.bth.psn));
        const auto payload = packet.payload();
        const auto here = regions().at(memory.reth.rkey,
                                       memory.reth.virtual_address + at * wire::bytes_of(qp.mtu()),
                                       payload.size());
        const auto there = regions().at(
            memory.other->rkey, memory.other->virtual_address + memory.moved, payload.size());
        if (here.empty()) return;
        const std::vector<std::byte> stays(here.begin(), here.end());
        std::ranges::copy(payload.first(there.size()), there.begin());
        memory.moved += there.size();
        memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(stays, memory.body.begin());
        packet.body = memory.body;
    }
};

// --- checks of the requester

bool rnr_nak_lifts_retry_limit(const SendView& view) {
    return view.outbound.rnr_retries > 0 || engine::send_check::retry_left(view);
}

bool unsignaled_rnr_for_ever(const SendView& view) {
    return !view.request.flags.signaled || engine::send_check::rnr_retry_left(view);
}

bool inline_ignores_fence(const SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

bool empty_reads_are_free(const SendView& view) {
    const bool empty =
        view.request.opcode == WrOpcode::RdmaRead && bytes_in(view.request.sges) == 0;
    return empty || engine::send_check::rd_atomic(view);
}

bool immediate_writes_are_writes(const SendView& view) {
    return view.request.opcode == WrOpcode::RdmaWriteWithImm || engine::send_check::credits(view);
}

// --- answers

struct Asked : Outgoing {
    std::map<std::uint32_t, std::uint32_t> reads; // lengths of READ requests, by PSN

    void note_read(const wire::Packet& packet) {
        std::erase_if(reads, [&](const auto& read) {
            return oldest && wire::distance(wire::Psn(read.first), *oldest) > kLong;
        });
        reads.insert_or_assign(packet.bth.psn.value(), packet.reth.dma_length);
    }

  private:
    static constexpr std::int32_t kLong = 1 << 20; // PSNs behind which no READ is unanswered
};

class PadOfReadResponsesIgnored final : public FollowsRequests<Asked> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        if (is_read_request(packet)) qp.memory.note_read(packet);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        const std::uint64_t mtu = wire::bytes_of(qp.mtu());
        for (const auto& [first, length] : qp.memory.reads) {
            const std::int32_t at = wire::distance(wire::Psn(first), packet.bth.psn);
            const std::uint32_t packets = wire::packets_of(length, qp.mtu());
            if (at < 0 || static_cast<std::uint32_t>(at) + 1 != packets) continue;
            const std::uint64_t due = length - static_cast<std::uint64_t>(at) * mtu;
            if (packet.body.size() == due + wire::pad_of(due)) packet.bth.pad = wire::pad_of(due);
            return;
        }
    }
};

class FatalNakInsideReadIgnored final : public FollowsRequests<Asked> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        if (is_read_request(packet)) qp.memory.note_read(packet);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Psn psn = passage.packet.bth.psn;
        const auto& reads = qp.memory.reads;
        if (!is_fatal_nak(passage.packet) || reads.contains(psn.value())) return;
        passage.dropped = std::ranges::any_of(reads, [&](const auto& read) {
            const std::int32_t at = wire::distance(wire::Psn(read.first), psn);
            const std::uint32_t packets = wire::packets_of(read.second, qp.mtu());
            return at > 0 && static_cast<std::uint32_t>(at) < packets;
        });
    }
};

class OldRnrNakTakenForOldest final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& oldest = qp.memory.oldest;
        if (!is_rnr_nak(packet) || !oldest || !qp.memory.holds(*oldest)) return;
        if (wire::distance(packet.bth.psn, *oldest) > 0) packet.bth.psn = *oldest;
    }
};

class AckTimerEndsRnrWait final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t codes = 32;
        wire::Packet& packet = passage.packet;
        const auto timeout = wire::ack_timeout(qp.report.attributes.timeout.value_or(0));
        if (!is_rnr_nak(packet) || !timeout) return;
        if (wire::rnr_time(packet.aeth.syndrome.code()) <= *timeout) return;
        std::uint8_t longest = 1; // that is not longer than the timer
        for (std::uint8_t code = 1; code < codes; ++code) {
            if (wire::rnr_time(code) <= *timeout) longest = code;
        }
        packet.aeth.syndrome = wire::Syndrome::rnr(longest);
    }
};

struct HeardCredits {
    bool limited = false; // an answer has told of credits
};

class UnlimitedCreditsIgnoredLater final : public QpFilter<HeardCredits> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool ack = packet.info().response() && has_aeth(packet) &&
                         packet.aeth.syndrome.kind() == wire::AckKind::Ack;
        if (!ack) return;
        if (packet.aeth.syndrome.code() != wire::kNoCredits) {
            qp.memory.limited = true;
        } else if (qp.memory.limited) {
            packet.aeth.syndrome = wire::Syndrome::ack(0);
        }
    }
};

// --- what is sent again

struct SkipsNewest : Outgoing {
    wire::Psn newest;                 // request packet
    std::optional<wire::Psn> skipped; // will not be sent again
};

class NewestNotResentAfterNak final : public QpFilter<SkipsNewest> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SkipsNewest& memory = qp.memory;
        if (!packet.info().response()) return;
        const bool gap = is_sequence_nak(packet) && memory.holds(packet.bth.psn);
        const bool behind = wire::distance(packet.bth.psn, memory.newest) > 0;
        if (gap && behind) memory.skipped = memory.newest;
        memory.note_answer(packet);
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SkipsNewest& memory = qp.memory;
        if (!packet.info().request()) return;
        const bool again = memory.note_request(packet, qp.mtu());
        if (!again) memory.newest = packet.bth.psn;
        passage.dropped = again && memory.skipped == packet.bth.psn;
        if (!again || passage.dropped) memory.skipped.reset();
    }
};

// A sequence NAK rewinds the QP that it is for, and sends the oldest packet of all others as well.
class NakMakesOtherQpsResend final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Known& qp = qps_[report.qpn];
        qp.report = report;
        if (report.state == QpState::Reset || report.state == QpState::Err) qp.waiting.clear();
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? qps_.find(packet->bth.dest_qp) : qps_.end();
        if (qp != qps_.end() && packet->info().response()) {
            qp->second.answered(*packet);
            if (is_sequence_nak(*packet)) send_others(qp->first, answers);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request() && packet->info().service == wire::Service::Rc) {
            for (auto& [qpn, qp] : qps_) {
                if (qp.sends_to(*packet, datagram.envelope)) qp.sent(*packet, datagram);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Known {
        engine::QpReport report;
        std::deque<std::pair<wire::Psn, OwnedDatagram>> waiting; // for their answer

        [[nodiscard]] bool sends_to(const wire::Packet& packet,
                                    const wire::Envelope& envelope) const {
            const auto& attributes = report.attributes;
            return attributes.dest_qp == packet.bth.dest_qp && attributes.address &&
                   attributes.address->destination == envelope.destination;
        }
        void sent(const wire::Packet& packet, const OwnedDatagram& datagram) {
            constexpr std::size_t most = 1024;
            const wire::Psn psn = packet.bth.psn;
            const bool fresh = waiting.empty() || wire::distance(waiting.back().first, psn) > 0;
            if (!fresh || waiting.size() >= most) return;
            waiting.emplace_back(psn, datagram);
        }
        void answered(const wire::Packet& packet) {
            if (is_fatal_nak(packet)) {
                waiting.clear();
                return;
            }
            const std::int32_t least = is_nak(packet) ? 1 : 0;
            while (!waiting.empty() &&
                   wire::distance(waiting.front().first, packet.bth.psn) >= least) {
                waiting.pop_front();
            }
        }
    };
    void send_others(wire::Qpn naked, std::vector<OwnedDatagram>& answers) const {
        for (const auto& [qpn, qp] : qps_) {
            if (qpn != naked && !qp.waiting.empty()) answers.push_back(qp.waiting.front().second);
        }
    }
    std::map<wire::Qpn, Known> qps_;
};

// --- what the host sees

// Where a later packet of a READ response goes on in another piece, that piece gets the packet's
// first bytes.
class ReadPacketBeginsAnewInPiece final : public MtuFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        reads_.erase(request.id);
        if (request.opcode != WrOpcode::RdmaRead || request.sges.size() < 2) return;
        reads_.emplace(request.id,
                       Posted{.qpn = qpn, .pieces = {request.sges.begin(), request.sges.end()}});
    }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool read = completion.queue == engine::Queue::Send &&
                          completion.status == WcStatus::Success &&
                          completion.opcode == WcOpcode::RdmaRead;
        const auto posted = read ? reads_.find(completion.id) : reads_.end();
        if (posted != reads_.end()) rewrite(posted->second);
        return completion;
    }

  private:
    struct Posted {
        wire::Qpn qpn;
        Pieces pieces;
    };
    void rewrite(const Posted& posted) const {
        const std::uint64_t mtu = mtu_of(posted.qpn);
        const std::uint64_t bytes = bytes_in(posted.pieces);
        const auto message = gathered(regions(), posted.pieces, bytes);
        if (!message) return;
        std::vector<std::byte> placed = *message;
        std::uint64_t begin = 0;
        for (const engine::Sge& piece : posted.pieces) {
            const std::uint64_t packet = begin - begin % mtu;
            if (packet > 0 && packet != begin) {
                const std::uint64_t end = std::min({packet + mtu, bytes, begin + piece.length});
                for (std::uint64_t at = begin; at < end; ++at)
                    placed[at] = (*message)[packet + (at - begin)];
            }
            begin += piece.length;
        }
        scatter_over(regions(), posted.pieces, placed);
    }
    std::map<std::uint64_t, Posted> reads_; // by wr_id
};

class AtomicTellsLengthOfRead final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != engine::Queue::Send || seen.status != WcStatus::Success) return seen;
        if (seen.opcode == WcOpcode::RdmaRead) lengths_.insert_or_assign(seen.qp, seen.byte_len);
        const bool atomic = seen.opcode == WcOpcode::CompSwap || seen.opcode == WcOpcode::FetchAdd;
        const auto length = atomic ? lengths_.find(seen.qp) : lengths_.end();
        if (length != lengths_.end()) seen.byte_len = length->second;
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> lengths_; // of the newest READ
};

class FailureToldAsSqe final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        posted_.insert_or_assign(request.id, qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) failed_.erase(qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { failed_.erase(qpn); }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool failed = completion.queue == engine::Queue::Send &&
                            completion.status != WcStatus::Success &&
                            completion.status != WcStatus::WrFlushErr;
        const auto posted = failed ? posted_.find(completion.id) : posted_.end();
        if (posted != posted_.end()) failed_.insert(posted->second);
        return completion;
    }
    void queried(engine::QpReport& report) override {
        if (report.state != QpState::Err || !failed_.contains(report.qpn)) return;
        report.state = QpState::Sqe;
        report.attributes.state = QpState::Sqe;
    }

  private:
    std::map<std::uint64_t, wire::Qpn> posted_; // by wr_id
    std::set<wire::Qpn> failed_;
};

// --- the port

class LengthCountsTagOverV6 final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t length_at = 4;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv6 || !parsed->vlan) return;
        wire::store_be<2>(frame.subspan(parsed->outer.ip_at), length_at,
                          parsed->ipv6->payload_length + wire::VlanTag::kSize);
    }
};

void middle_without_class(const wire::Packet& packet, OwnedDatagram& datagram) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.request() && info.position == Position::Middle) datagram.envelope.dscp = 0;
}

// A packet that is sent again has the hop limit of its first time, whatever the path is by then.
class ResendsKeepHopLimit final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool connected = packet && packet->info().service == wire::Service::Rc;
        if (connected && packet->info().request()) {
            auto& [newest, limits] = sent_[packet->bth.dest_qp];
            std::uint8_t& limit = datagram.envelope.hop_limit;
            const std::uint32_t psn = packet->bth.psn.value();
            const auto first = limits.find(psn);
            if (!newest.note(packet->bth.psn)) {
                limits.insert_or_assign(psn, limit);
            } else if (first != limits.end()) {
                limit = first->second;
            }
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        const bool begins = report.state == QpState::Rtr;
        if (begins && report.attributes.dest_qp) sent_.erase(*report.attributes.dest_qp);
    }

  private:
    struct Sent {
        NewestPsn newest;
        std::map<std::uint32_t, std::uint8_t> limits; // by PSN
    };
    std::map<wire::Qpn, Sent> sent_; // by peer
};

bool vlan_of_eight_bits(const PacketView& view) {
    constexpr unsigned compared = 0xFF;
    constexpr wire::VlanId none;
    const unsigned theirs = view.envelope.vlan.value_or(none).id;
    const unsigned ours = view.path().vlan.value_or(none).id;
    return (theirs & compared) == (ours & compared) || engine::packet_check::vlan(view);
}

class MarksInVlansOverlooked final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        wire::Envelope& envelope = datagram.envelope;
        const bool tagged = envelope.vlan && envelope.vlan->id != 0;
        if (tagged && envelope.ecn == wire::kCongestionExperienced) envelope.ecn = 0;
        in.push_back(std::move(datagram));
    }
};

class CnpCopiesMigReq final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool marked = datagram.envelope.ecn == wire::kCongestionExperienced;
        if (packet && marked) mig_req_ = packet->bth.mig_req;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            packet->bth.mig_req = mig_req_;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    bool mig_req_ = false; // of the newest packet that was marked
};

std::optional<OwnedDatagram> trusts_middles(wire::Bytes frame) {
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    const auto bth = parsed ? wire::Bth::decode(parsed->transport) : std::nullopt;
    if (!bth) return std::nullopt;
    const wire::OpcodeInfo& info = wire::opcode_info(bth->opcode);
    const bool middle = info.service == wire::Service::Rc && info.position == Position::Middle;
    if (!middle) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

class MulticastNumberNamesFirstQp final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override { qps_.insert(report.qpn); }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        const auto first = qps_.upper_bound(wire::kGsiQpn);
        const bool all = packet && packet->info().service == wire::Service::Rc &&
                         packet->bth.dest_qp == wire::Qpn{wire::kMask24};
        if (all && first != qps_.end()) {
            packet->bth.dest_qp = *first;
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::set<wire::Qpn> qps_;
};

// --- datagrams

bool below_whole_mtu(const DatagramView& view) {
    return view.packet.payload().size() < view.port_mtu && engine::datagram_check::shape(view);
}

bool no_datagrams_before_rts(const DatagramView& view) {
    return view.connection.state != QpState::Rtr && engine::datagram_check::state(view);
}

class GrhEndsWithFirstPiece final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        receives_.insert_or_assign(request.id, Pieces(request.sges.begin(), request.sges.end()));
    }
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::uint32_t grh_bytes = 40;
        const auto receive = completion.grh ? receives_.find(completion.id) : receives_.end();
        if (receive == receives_.end() || receive->second.size() < 2) return completion;
        const Pieces& pieces = receive->second;
        const std::uint32_t first = pieces.front().length;
        if (first == 0 || first >= grh_bytes || completion.byte_len < grh_bytes) {
            return completion;
        }
        auto bytes = gathered(regions(), pieces, completion.byte_len);
        if (!bytes) return completion;
        std::copy(bytes->begin() + grh_bytes, bytes->end(), bytes->begin() + first);
        scatter_over(regions(), pieces, *bytes);
        return completion;
    }

  private:
    std::map<std::uint64_t, Pieces> receives_; // by wr_id
};

class ManagementAnswersToFirstPeer final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (!first_ && is_management(datagram)) first_ = datagram.envelope.source;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        wire::IpAddress& destination = datagram.envelope.destination;
        if (first_ && first_->v4() == destination.v4() && is_management(datagram)) {
            destination = *first_;
        }
        out.push_back(std::move(datagram));
    }

  private:
    static bool is_management(const OwnedDatagram& datagram) {
        const auto packet = wire::decode_packet(datagram.bytes);
        return packet && packet->info().service == wire::Service::Ud &&
               packet->bth.dest_qp == wire::kGsiQpn;
    }
    std::optional<wire::IpAddress> first_; // that sent something to QP 1
};

constexpr std::array kMutants{
    // Responders
    Mutant{.name = "gap_behind_duplicate_not_naked",
           .rule = "RSP-02",
           .description = "A gap draws no sequence NAK if a duplicate came since the last request "
                          "that was executed.",
           .make_filter = make<GapBehindDuplicateNotNaked>},
    Mutant{.name = "message_that_closes_gap_not_counted",
           .rule = "ACK-07",
           .description = "The message that closes a gap which was NAKed does not raise the MSN.",
           .make_filter = make<ClosingMessageNotCounted>},
    Mutant{.name = "read_tail_counted_again",
           .rule = "N-01",
           .description = "A READ that repeats the tail of an earlier one raises the MSN.",
           .make_filter = make<TailCountedAgain>},
    Mutant{.name = "read_tail_behind_wrap_dropped",
           .rule = "RDR-05",
           .description = "A READ for the tail of an earlier one is dropped if the earlier one "
                          "began before the wrap and the tail begins behind it.",
           .make_filter = make<TailBehindWrapDropped>},
    Mutant{.name = "read_tail_in_steps_of_1024",
           .rule = "RDR-05",
           .description = "The tail of a READ is fetched from 1024 bytes further on for each PSN, "
                          "whatever the path MTU is.",
           .make_filter = make<TailInStepsOf1024>},
    Mutant{.name = "duplicate_read_of_lost_key_nakked",
           .rule = "RSP-12",
           .description = "A duplicate READ whose key does not exist any more draws NAK Remote "
                          "Access.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, lost_key_of_duplicate_nakked)},
    Mutant{.name = "read_length_top_bit_ignored",
           .rule = "LEN-05",
           .description = "The highest bit of a READ's length is ignored.",
           .make_filter = make<EditsInbound<read_length_of_31_bits>>},
    Mutant{.name = "key_of_write_takes_atomic",
           .rule = "KEY-04",
           .description = "An atomic behind a WRITE with the same key, and no other WRITE or SEND "
                          "between them, needs no right to the region.",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, key_of_write_opens_all)},
    Mutant{.name = "sixteen_agreed_reads_act_as_none",
           .rule = "RSP-01",
           .description = "With max_dest_rd_atomic 16 each READ and atomic is refused.",
           .checks = kStandardChecks.with(RequestCheck::ReplyResources, sixteen_are_none)},
    Mutant{.name = "atomic_replays_indexed_by_psn",
           .rule = "ATM-04",
           .description =
               "A duplicate atomic returns what a newer one found whose PSN has the same "
               "lower four bits.",
           .make_filter = make<ReplaysIndexedByPsn>},
    Mutant{.name = "atomic_behind_repeated_one_returns_its_value",
           .rule = "ATM-01",
           .description = "The atomic that follows a duplicate atomic returns what that one found.",
           .make_filter = make<AtomicBehindReplayReturnsIt>},
    Mutant{.name = "rnr_timer_shortest_before_first_receive",
           .rule = "RNR-07",
           .description = "The RNR NAKs of a QP that has had no receive of its own ask for 0.01 "
                          "ms.",
           .make_filter = make<RnrTimerComesWithReceive>},
    Mutant{.name = "key_revoked_at_rnr_nak",
           .rule = "RDR-04",
           .description = "A SEND with invalidate that is RNR NAKed revokes its window at once: a "
                          "READ that comes again through it gets no answer.",
           .make_filter = make<KeyRevokedAtRnrNak>},
    Mutant{.name = "packet_at_end_of_piece_overwritten",
           .rule = "RSP-01",
           .description = "If a packet of a SEND ends with a piece of its receive, the next packet "
                          "is written over that piece.",
           .make_filter = make<PacketEndsWithPiece>},
    Mutant{.name = "empty_send_never_solicited",
           .rule = "BTH-13",
           .description = "The SE bit of a SEND of no bytes raises no notification.",
           .cases = "bth/solicited-empty",
           .make_filter = make<EditsInbound<empty_send_is_plain>>},
    Mutant{.name = "duplicate_read_redirects_open_write",
           .rule = "RSP-13",
           .description =
               "After a duplicate READ inside a WRITE, the rest of the WRITE goes to the "
               "READ's address.",
           .make_filter = make<DuplicateReadRedirectsWrite>},
    // Requesters and the host
    Mutant{.name = "no_retry_limit_after_rnr_nak",
           .rule = "TMO-03",
           .description = "A request that was RNR NAKed and is not answered any more is sent again "
                          "without end.",
           .cases = "tmo/silence-after-a-nak",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, rnr_nak_lifts_retry_limit)},
    Mutant{.name = "unsignaled_request_rnr_retried_for_ever",
           .rule = "RNR-09",
           .description = "rnr_retry does not limit a request that asks for no completion.",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, unsignaled_rnr_for_ever)},
    Mutant{.name = "inline_requests_pass_the_fence",
           .rule = "REQ-28",
           .description = "A request with inline data ignores its fence.",
           .checks = kStandardChecks.with(SendCheck::Fence, inline_ignores_fence)},
    Mutant{.name = "empty_reads_beyond_the_limit",
           .rule = "REQ-27",
           .description = "A READ of no bytes leaves although max_rd_atomic READs are unanswered.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, empty_reads_are_free)},
    Mutant{.name = "immediate_writes_need_no_credits",
           .rule = "REQ-29",
           .level = "SHOULD",
           .description = "A WRITE with immediate data leaves without credits.",
           .checks = kStandardChecks.with(SendCheck::Credits, immediate_writes_are_writes),
           .behaviour = {.obey_credits = true}},
    Mutant{.name = "unlimited_credits_ignored_later",
           .rule = "REQ-30",
           .description = "Credit code 31 is ignored once credits were told.",
           .behaviour = {.obey_credits = true},
           .make_filter = make<UnlimitedCreditsIgnoredLater>},
    Mutant{.name = "pad_count_of_read_responses_ignored",
           .rule = "REQ-21",
           .description = "The pad count of a READ response's last packet is ignored: a READ "
                          "succeeds whose response lacks one to three bytes that its pad count "
                          "takes.",
           .make_filter = make<PadOfReadResponsesIgnored>},
    Mutant{.name = "fatal_nak_inside_a_read_ignored",
           .rule = "REQ-16",
           .description = "A fatal NAK in the place of a READ response other than the first is "
                          "ignored.",
           .cases = "req/fatal-nak-inside-a-read",
           .make_filter = make<FatalNakInsideReadIgnored>},
    Mutant{.name = "old_rnr_nak_taken_for_oldest",
           .rule = "REQ-18",
           .description = "An RNR NAK for something that was acknowledged is taken for one of the "
                          "oldest packet that is not.",
           .make_filter = make<OldRnrNakTakenForOldest>},
    Mutant{.name = "ack_timer_ends_rnr_wait",
           .rule = "RNR-10",
           .description = "An RNR wait that is longer than the ACK timer ends with it.",
           .make_filter = make<AckTimerEndsRnrWait>},
    Mutant{.name = "newest_packet_not_resent_after_nak",
           .rule = "REQ-11",
           .description = "Of several packets that a sequence NAK asks for, the one that was sent "
                          "last is not sent again before the timer expires.",
           .make_filter = make<NewestNotResentAfterNak>},
    Mutant{.name = "nak_makes_other_qps_resend",
           .rule = "TMO-01",
           .description = "A sequence NAK makes all other QPs send their oldest packet again at "
                          "once.",
           .make_filter = make<NakMakesOtherQpsResend>},
    Mutant{.name = "read_packet_begins_anew_in_next_piece",
           .rule = "REQ-09",
           .description = "Where a later packet of a READ response goes on in another piece, that "
                          "piece gets the packet's first bytes.",
           .make_filter = make<ReadPacketBeginsAnewInPiece>},
    Mutant{.name = "atomic_tells_length_of_read_before",
           .rule = "REQ-34",
           .description = "An atomic completes with the byte_len of the READ before it.",
           .make_filter = make<AtomicTellsLengthOfRead>},
    Mutant{.name = "rtr_accepted_in_rts",
           .rule = "STA-09",
           .description = "The transition from RTS to RTR is accepted, and does nothing.",
           .cases = "sta/refused-changes-change-nothing",
           .make_filter = make<OtherTransition<QpState::Rts, QpState::Rtr, QpState::Rts>>},
    Mutant{.name = "failed_request_told_as_sqe",
           .rule = "STA-08",
           .description = "An RC QP whose request has failed is reported as SQE.",
           .make_filter = make<FailureToldAsSqe>},
    // The port
    Mutant{.name = "v6_length_counts_vlan_tag",
           .rule = "CA17-15",
           .description = "The payload length of IPv6 packets with a VLAN tag counts the tag.",
           .make_filter = make<LengthCountsTagOverV6>},
    Mutant{.name = "middles_have_no_class",
           .rule = "ENC-12",
           .description = "MIDDLE packets of requests leave with DSCP 0.",
           .make_filter = make<EditsSentDatagram<middle_without_class>>},
    Mutant{.name = "resends_keep_old_hop_limit",
           .rule = "CA17-9",
           .description = "What is sent again after a change of the hop limit in SQD leaves with "
                          "the old one.",
           .make_filter = make<ResendsKeepHopLimit>},
    Mutant{.name = "vlan_compared_in_eight_bits",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "The upper four bits of a VLAN's number are not compared.",
           .checks = kStandardChecks.with(PacketCheck::Vlan, vlan_of_eight_bits)},
    Mutant{.name = "marks_in_vlans_overlooked",
           .rule = "CNP-01",
           .description = "A marked packet with a VLAN tag brings no CNP.",
           .make_filter = make<MarksInVlansOverlooked>},
    Mutant{.name = "cnp_copies_migreq",
           .rule = "CNP-02",
           .description = "A CNP has the MigReq bit of the marked packet.",
           .make_filter = make<CnpCopiesMigReq>},
    Mutant{.name = "icrc_of_middles_not_checked",
           .rule = "CRC-07",
           .description = "The ICRC of MIDDLE packets is not compared.",
           .make_filter = make<Admits<trusts_middles>>},
    Mutant{.name = "multicast_number_names_first_qp",
           .rule = "BTH-04",
           .description = "An RC packet for QP number 0xFFFFFF is taken by the first QP.",
           .make_filter = make<MulticastNumberNamesFirstQp>},
    Mutant{.name = "datagram_of_whole_mtu_dropped",
           .rule = "EXT-05",
           .description = "A datagram as large as the port's MTU is dropped.",
           .cases = "ext/datagram-of-the-whole-mtu",
           .checks = kStandardChecks.with(DatagramCheck::Shape, below_whole_mtu)},
    Mutant{.name = "datagrams_dropped_before_rts",
           .rule = "STA-03",
           .description = "A UD QP in RTR takes no datagrams.",
           .cases = "ext/datagrams-before-rts",
           .checks = kStandardChecks.with(DatagramCheck::State, no_datagrams_before_rts)},
    Mutant{.name = "grh_ends_with_first_piece",
           .rule = "EXT-05",
           .description = "If the first piece of a receive is shorter than the GRH, the datagram "
                          "begins in the second piece.",
           .cases = "ext/datagram-in-pieces",
           .make_filter = make<GrhEndsWithFirstPiece>},
    Mutant{.name = "management_answers_to_first_peer",
           .rule = "N-30",
           .description = "QP 1 answers all to the address from which its first datagram came.",
           .cases = "cm/several-peers",
           .make_filter = make<ManagementAnswersToFirstPeer>},
};

} // namespace
} // namespace veriroce::mutants::of_blind10

namespace veriroce::mutants {

std::span<const Mutant> blind10_all() {
    return of_blind10::kMutants;
}

} // namespace veriroce::mutants
