// Written blind, ninth sample: responders with READ responses, gaps, duplicates, lengths, windows,
// atomics and states.
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind9_responder {
namespace {

using engine::kStandardChecks;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

// --- checks

RequestVerdict exact_fit_refused(const RequestView& view) {
    const std::uint64_t bytes = view.packet.payload().size();
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool fills =
        view.info.operation == Operation::Send && bytes > 0 && before + bytes == view.receive_bytes;
    return fills ? RequestVerdict::NakInvalidRequest : engine::request_check::receive_room(view);
}

RequestVerdict send_last_of_any_length(const RequestView& view) {
    const bool last =
        view.info.operation == Operation::Send && view.info.position == Position::Last;
    return last ? RequestVerdict::Accept : engine::request_check::payload_length(view);
}

RequestVerdict read_fits_into_send(const RequestView& view) {
    const bool inside = view.info.operation == Operation::RdmaReadRequest &&
                        view.inbound.open == engine::OpenMessage::Send;
    return inside ? RequestVerdict::Accept : engine::request_check::opcode_sequence(view);
}

RequestVerdict duplicates_revoke(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool revokes = verdict == RequestVerdict::Duplicate && view.info.invalidates();
    const bool may = revokes && view.memory.may_invalidate(view.packet.ieth.rkey,
                                                           view.connection.pd, view.connection.qpn);
    return revokes && !may ? RequestVerdict::FailSilently : verdict;
}

// --- READ responses

void middle_with_aeth(wire::Packet& packet) {
    if (!is_read_response(packet) || packet.info().position != Position::Middle) return;
    packet.headers = packet.headers.with(wire::Header::Aeth);
    packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits), .msn = {}};
}

struct BeganAt {
    std::optional<wire::Psn> first; // of the READ response that leaves
};

class ReadOfTwoEndsInOnly final : public QpFilter<BeganAt> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& first = qp.memory.first;
        if (!is_read_response(packet)) return;
        const Position position = packet.info().position;
        if (position == Position::First) first = packet.bth.psn;
        if (position == Position::Last && first && packet.bth.psn == *first + 1) {
            set_place(packet, Position::Only);
        }
    }
};

class RemainderBelowWordLost final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        constexpr std::size_t word = 4;
        const wire::Packet& packet = passage.packet;
        const bool last = is_read_response(packet) && packet.info().position == Position::Last;
        passage.dropped = last && packet.payload().size() < word;
    }
};

struct RepeatedRead : Arrivals {
    wire::Psn repeated;
    std::uint32_t packets = 0; // of its response; 0: no READ is repeated
    std::int32_t shift = 0;
};

class RepeatedReadAtNewestPsn final : public PlacesRequests<RepeatedRead> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        RepeatedRead& memory = qp.memory;
        if (!is_read_request(packet) || place != Place::Behind) return;
        memory.repeated = packet.bth.psn;
        memory.packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        memory.shift = wire::distance(packet.bth.psn, memory.next.value_or(qp.first_request()));
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        RepeatedRead& memory = qp.memory;
        if (!is_read_response(packet) || memory.packets == 0) return;
        const std::int32_t at = wire::distance(memory.repeated, packet.bth.psn);
        if (at < 0 || at >= static_cast<std::int32_t>(memory.packets)) return;
        if (packet.info().ends_message()) memory.packets = 0;
        packet.bth.psn += memory.shift;
    }
};

struct ReadInProgress : Arrivals {
    wire::Psn first;
    std::uint64_t number = 0; // of this READ among those of all QPs
};

// One register holds the address of the READ that came last, whichever QP it came to.
class ReadOfOtherQpTakesOver final : public PlacesRequests<ReadInProgress> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (!is_read_request(passage.packet) || place != Place::Expected) return;
        newest_ = passage.packet.reth;
        newest_qp_ = qp.report.qpn;
        qp.memory.first = passage.packet.bth.psn;
        qp.memory.number = ++reads_;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || packet.info().starts_message()) return;
        if (newest_qp_ == qp.report.qpn || qp.memory.number >= reads_) return;
        const std::int32_t at = wire::distance(qp.memory.first, packet.bth.psn);
        if (at < 0) return;
        const std::uint64_t offset = static_cast<std::uint64_t>(at) * wire::bytes_of(qp.mtu());
        const std::size_t bytes = packet.payload().size();
        const auto other = regions().at(newest_.rkey, newest_.virtual_address + offset, bytes);
        if (other.empty()) return;
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(other, body_.begin());
        packet.body = body_;
    }

  private:
    wire::Reth newest_;
    wire::Qpn newest_qp_;
    std::uint64_t reads_ = 0;
    std::vector<std::byte> body_;
};

// --- windows

// A filter that knows the windows of type 2 that requests have bound, and the regions behind them.
class KnowsWindows : public QpFilter<Nothing> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.insert_or_assign(region.mr, region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::BindMw && request.bind) {
            windows_.insert_or_assign(request.rkey, Window{.bind = *request.bind});
        } else if (request.opcode == engine::WrOpcode::LocalInv) {
            const auto window = windows_.find(request.invalidate_rkey);
            if (window != windows_.end()) window->second.revoked = true;
        }
    }

  protected:
    struct Window {
        engine::BindInfo bind;
        bool revoked = false;
    };
    // Whether the request is let in by the key of the region behind the window.
    virtual bool lets_in(const Window& window, bool inside) = 0;

    void arrives(Qp& /*qp*/, Passage& passage) final {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto window = windows_.find(packet.reth.rkey);
        if (window == windows_.end() || !window->second.bind.access.remote_read) return;
        const engine::BindInfo& bind = window->second.bind;
        const auto region = regions_.find(bind.mr);
        if (region == regions_.end()) return;
        const std::uint64_t begin = packet.reth.virtual_address;
        const std::uint64_t length = packet.reth.dma_length;
        if (Regions::range(region->second, begin, length).empty()) return;
        const bool inside = begin >= bind.address && begin + length <= bind.address + bind.length;
        if (lets_in(window->second, inside)) packet.reth.rkey = region->second.rkey;
    }

  private:
    std::map<wire::Rkey, Window> windows_;
    std::map<engine::MrId, engine::RegisteredRegion> regions_;
};

class WindowOpensWholeRegion final : public KnowsWindows {
  protected:
    bool lets_in(const Window& window, bool inside) override { return !window.revoked && !inside; }
};

class RevokedWindowStaysOpen final : public KnowsWindows {
  protected:
    bool lets_in(const Window& window, bool inside) override { return window.revoked && inside; }
};

// --- WRITEs and atomics

struct LongWrite {
    OpenWrite write;
    std::vector<std::byte> body; // of the packet that passes
};

class WriteOffsetInSixteenBits final : public DmaFilter<LongWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t counted = 0xFFFF;
        wire::Packet& packet = passage.packet;
        auto& [write, body] = qp.memory;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        const std::uint64_t offset = write.begin - write.reth.virtual_address;
        if (offset <= counted) return;
        const auto payload = packet.payload();
        const auto here = regions().at(write.reth.rkey, write.begin, payload.size());
        const auto there = regions().at(
            write.reth.rkey, write.reth.virtual_address + (offset & counted), payload.size());
        if (here.empty() || there.empty()) return;
        std::ranges::copy(payload, there.begin());
        body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(here, body.begin());
        packet.body = body;
    }
    void leaves(Qp& qp, Passage& passage) override {
        heed_nak(qp.memory.write.arrivals, passage.packet);
    }
};

struct Additions : Arrivals {
    std::map<std::uint32_t, std::uint64_t> changed; // what was added instead, by PSN
};

class FetchAddSaturates final : public PlacesRequests<Additions> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::FetchAdd || place == Place::Ahead) return;
        auto& changed = qp.memory.changed;
        const std::uint32_t psn = packet.bth.psn.value();
        if (place == Place::Expected) {
            changed.erase(psn);
            const std::uint64_t most = room(packet.atomic);
            if (packet.atomic.swap_or_add > most) changed.emplace(psn, most);
        }
        const auto other = changed.find(psn);
        if (other != changed.end()) packet.atomic.swap_or_add = other->second;
    }

  private:
    // What can be added to the word.
    [[nodiscard]] std::uint64_t room(const wire::AtomicEth& asked) const {
        constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        std::uint64_t value = 0;
        const auto word = regions().at(asked.rkey, asked.virtual_address, sizeof(value));
        if (word.empty()) return most;
        std::memcpy(&value, word.data(), sizeof(value));
        return most - value;
    }
};

struct Executed : Arrivals {
    std::map<std::uint32_t, std::uint32_t> atomics; // how often the QP had been changed, by PSN
};

class ReplaysLostWhenModified final : public PlacesRequests<Executed> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& /*attributes*/) override {
        ++changes_[qpn];
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (!is_atomic_request(passage.packet)) return;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        const std::uint32_t now = changes_[qp.report.qpn];
        auto& atomics = qp.memory.atomics;
        if (place == Place::Expected) atomics.insert_or_assign(psn, now);
        const auto then = atomics.find(psn);
        passage.dropped = place == Place::Behind && then != atomics.end() && then->second != now;
    }

  private:
    std::map<wire::Qpn, std::uint32_t> changes_;
};

// --- gaps and ACKs

struct WasNaked {
    bool naked = false; // by a sequence NAK, and no ACK has left since
};

class FirstAckAfterNakReserved final : public QpFilter<WasNaked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr unsigned reserved = 0x40;
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet)) qp.memory.naked = true;
        if (!is_ack(packet) || !qp.memory.naked) return;
        qp.memory.naked = false;
        packet.aeth.syndrome = {static_cast<std::uint8_t>(reserved | packet.aeth.syndrome.code())};
    }
};

class NakCountsOpenMessage final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_sequence_nak(packet) && qp.memory.open) packet.aeth.msn = packet.aeth.msn + 1;
    }
};

struct Burst : Arrivals {
    std::optional<wire::Psn> first; // that asked for an ACK, and has none
};

class BurstAckedByItsFirst final : public PlacesRequests<Burst> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !packet.bth.ack_request) return;
        if (!qp.memory.first) qp.memory.first = packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& first = qp.memory.first;
        if (!packet.info().response()) return;
        if (is_ack(packet) && first) packet.bth.psn = *first;
        first.reset();
    }
};

struct ReadsAhead : Arrivals {
    std::uint32_t count = 0;
};

class ReadsAheadUseUpResources final : public PlacesRequests<ReadsAhead> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        auto& count = qp.memory.count;
        if (place == Place::Ahead) ++count;
        const std::uint32_t agreed = qp.report.attributes.max_dest_rd_atomic.value_or(1);
        // What no responder accepts outside a message.
        if (place == Place::Expected && count >= agreed) {
            set_opcode(packet, Operation::Send, Position::Middle);
        }
    }
};

// --- states

class NoAcksBeforeRts final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        passage.dropped = is_ack(passage.packet) && qp.report.state == QpState::Rtr;
    }
};

struct Restarted : Arrivals {
    bool naked = false;
    wire::Msn msn; // told last
};

class FirstPsnExpectedAfterSqd final : public PlacesRequests<Restarted> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Expected& known = expected_[qpn];
        if (attributes.rq_psn) known.first = *attributes.rq_psn;
        if (!attributes.state) return;
        known.restarted = known.sqd && *attributes.state == QpState::Rts;
        known.sqd = *attributes.state == QpState::Sqd;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Expected& known = expected_[qp.report.qpn];
        if (!known.restarted) return;
        const std::int32_t ahead = wire::distance(known.first, packet.bth.psn);
        if (ahead == 0 && place == Place::Expected) known.restarted = false; // nothing came before
        if (ahead <= 0) return;
        passage.dropped = true;
        if (std::exchange(qp.memory.naked, true)) return;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, known.first,
                                              wire::Syndrome::nak(wire::NakCode::PsnSequence),
                                              qp.memory.msn));
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().response() && has_aeth(packet)) qp.memory.msn = packet.aeth.msn;
    }

  private:
    struct Expected {
        wire::Psn first;
        bool sqd = false;
        bool restarted = false;
    };
    std::map<wire::Qpn, Expected> expected_;
};

class NoLastWqeAfterFatalNak final : public QpFilter<Nothing> {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::LastWqeReached || ended_ == 0) return event;
        --ended_;
        return std::nullopt;
    }

  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        if (is_fatal_nak(passage.packet)) ++ended_;
    }

  private:
    std::uint32_t ended_ = 0; // QPs whose event is still to come
};

class DuplicateFlushNotAnswered final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        passage.dropped =
            place == Place::Behind && passage.packet.info().operation == Operation::Flush;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "aeth_in_read_middles",
           .rule = "RDR-01",
           .description = "READ response MIDDLEs have an AETH.",
           .make_filter = make<EditsOutbound<middle_with_aeth>>},
    Mutant{.name = "read_of_two_ends_in_only",
           .rule = "RDR-01",
           .description = "A READ of two packets is answered by a FIRST and an ONLY.",
           .make_filter = make<ReadOfTwoEndsInOnly>},
    Mutant{.name = "read_remainder_below_word_lost",
           .rule = "RDR-01",
           .description = "A READ response LAST of one to three bytes is not sent.",
           .make_filter = make<RemainderBelowWordLost>},
    Mutant{.name = "repeated_read_answered_at_newest_psn",
           .rule = "RDR-04",
           .description = "The responses to a READ that comes again begin at the expected PSN.",
           .make_filter = make<RepeatedReadAtNewestPsn>},
    Mutant{.name = "read_of_other_qp_takes_over",
           .rule = "RDR-01",
           .description = "If another QP takes a READ while one is being answered, the rest of the "
                          "response brings that QP's bytes.",
           .make_filter = make<ReadOfOtherQpTakesOver>},
    Mutant{.name = "window_opens_whole_region",
           .rule = "KEY-05",
           .description = "A READ through a window may read all of the region behind it.",
           .cases = "key/window-far-outside",
           .make_filter = make<WindowOpensWholeRegion>},
    Mutant{.name = "local_invalidate_leaves_window_open",
           .rule = "KEY-07",
           .description = "A window that its host has invalidated by a request may still be read.",
           .cases = "key/window-given-up",
           .make_filter = make<RevokedWindowStaysOpen>},
    Mutant{.name = "send_of_exact_fit_refused",
           .rule = "LEN-06",
           .description = "A SEND that fills its receive to the last byte is refused.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, exact_fit_refused)},
    Mutant{.name = "length_of_send_last_not_checked",
           .rule = "LEN-02",
           .description = "A SEND LAST of any length is accepted.",
           .cases = "len/empty-last-with-immediate",
           .checks = kStandardChecks.with(RequestCheck::PayloadLength, send_last_of_any_length)},
    Mutant{.name = "read_inside_send_answered",
           .rule = "OPC-04",
           .description = "A READ between the packets of a SEND is answered.",
           .checks = kStandardChecks.with(RequestCheck::OpcodeSequence, read_fits_into_send)},
    Mutant{.name = "duplicate_invalidate_ends_qp",
           .rule = "RSP-10",
           .description = "A SEND with invalidate that comes again ends the QP in silence, because "
                          "its key is revoked already.",
           .cases = "rsp/duplicate-send-with-invalidate",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, duplicates_revoke)},
    Mutant{.name = "write_offset_in_sixteen_bits",
           .rule = "RSP-01",
           .description = "The bytes of a WRITE behind its first 64 KiB are written over these.",
           .make_filter = make<WriteOffsetInSixteenBits>},
    Mutant{.name = "fetch_add_saturates",
           .rule = "ATM-08",
           .description = "FETCH_ADD beyond 2^64 leaves 2^64 less one.",
           .make_filter = make<FetchAddSaturates>},
    Mutant{.name = "replays_lost_when_qp_modified",
           .rule = "ATM-04",
           .description = "Once its host has changed an attribute of the QP, a duplicate of an "
                          "earlier atomic gets no answer.",
           .cases = "atm/replays-after-a-change sta/replays-after-sqd",
           .make_filter = make<ReplaysLostWhenModified>},
    Mutant{.name = "first_ack_after_nak_reserved",
           .rule = "ACK-06",
           .description = "The first ACK after a sequence NAK has a reserved syndrome.",
           .make_filter = make<FirstAckAfterNakReserved>},
    Mutant{.name = "sequence_nak_counts_open_message",
           .rule = "ACK-08",
           .description = "The MSN of a sequence NAK inside a message counts the message.",
           .make_filter = make<NakCountsOpenMessage>},
    Mutant{.name = "burst_acked_by_its_first",
           .rule = "ACK-01",
           .description = "Requests that wait together are acknowledged by one ACK, with the PSN "
                          "of the first.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced},
           .make_filter = make<BurstAckedByItsFirst>},
    Mutant{.name = "reads_ahead_use_up_resources",
           .rule = "RSP-01",
           .description = "A READ ahead of a gap takes a place among the READs that were agreed "
                          "upon, and keeps it: when all are taken, READs are refused.",
           .cases = "rdr/reads-ahead",
           .make_filter = make<ReadsAheadUseUpResources>},
    Mutant{.name = "no_acks_before_rts",
           .rule = "STA-03",
           .description = "A QP in RTR sends no ACK.",
           .make_filter = make<NoAcksBeforeRts>},
    Mutant{.name = "first_psn_expected_after_sqd",
           .rule = "RSP-01",
           .description = "A QP that goes from SQD to RTS expects its first PSN again.",
           .make_filter = make<FirstPsnExpectedAfterSqd>},
    Mutant{.name = "no_last_wqe_after_fatal_nak",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "LAST_WQE_REACHED is not raised where a fatal NAK ended the QP.",
           .make_filter = make<NoLastWqeAfterFatalNak>},
    Mutant{.name = "duplicate_flush_not_answered",
           .rule = "EXT-04",
           .description = "A FLUSH that comes again gets no answer.",
           .cases = "ext/flush-again ext/flush-again-without-its-key",
           .make_filter = make<DuplicateFlushNotAnswered>},
};

} // namespace
} // namespace veriroce::mutants::of_blind9_responder

namespace veriroce::mutants {

std::span<const Mutant> blind9_responder() {
    return of_blind9_responder::kMutants;
}

} // namespace veriroce::mutants
