// Written blind, seventh sample: responders with duplicates, RNR NAKs, gaps, READs, atomics, keys,
// windows and lengths.
#include <cstring>
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::mutants::of_blind7_responder {
namespace {

using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

constexpr std::size_t kWord = sizeof(std::uint64_t);

bool atomic(const RequestView& view) {
    return view.info.operation == Operation::CompareSwap ||
           view.info.operation == Operation::FetchAdd;
}

// --- checks

RequestVerdict atomics_by_other_rights(const RequestView& view) {
    const auto verdict = engine::request_check::key_rights(view);
    if (!view.target || !atomic(view)) return verdict;
    const wire::Access& access = view.memory.slot(view.target->rkey.value).access;
    return access.remote_read && access.remote_write ? RequestVerdict::Accept : verdict;
}

RequestVerdict range_of_first_byte_of_atomics(const RequestView& view) {
    const bool inside = view.target && atomic(view) &&
                        view.memory.slot(view.target->rkey.value).covers(view.target->address, 1);
    return inside ? RequestVerdict::Accept : engine::request_check::key_range(view);
}

RequestVerdict overflow_at_last_in_silence(const RequestView& view) {
    const auto verdict = engine::request_check::receive_room(view);
    const bool last = view.info.position == Position::Last;
    return last && verdict != RequestVerdict::Accept ? RequestVerdict::Drop : verdict;
}

RequestVerdict receive_needs_no_local_write(const RequestView& view) {
    const auto verdict = engine::request_check::receive_memory(view);
    if (verdict == RequestVerdict::Accept) return verdict;
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool readable = reachable(view.memory, view.receive_domain, view.receive_sges, before,
                                    view.packet.payload().size(), engine::Direction::FromMemory);
    return readable ? RequestVerdict::Accept : verdict;
}

RequestVerdict flush_in_any_domain(const RequestView& view) {
    return view.info.operation == Operation::Flush ? RequestVerdict::Accept
                                                   : engine::request_check::key_domain(view);
}

RequestVerdict no_right_for_atomic_writes(const RequestView& view) {
    return view.info.operation == Operation::AtomicWrite ? RequestVerdict::Accept
                                                         : engine::request_check::rights(view);
}

// --- duplicates

// A packet that no responder accepts where it stands.
void make_illegal(wire::Packet& packet, bool message_open) {
    set_opcode(packet, Operation::Send, message_open ? Position::Only : Position::Middle);
}

struct Disturbed : Arrivals {
    bool disturbed = false; // by a duplicate
};

class DuplicateFirstOpens final : public PlacesRequests<Disturbed> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        Disturbed& memory = qp.memory;
        if (info.service != wire::Service::Rc) return;
        if (place == Place::Behind && !memory.open) {
            memory.disturbed = !info.ends_message();
        } else if (place == Place::Expected) {
            if (memory.disturbed && info.starts_message()) make_illegal(passage.packet, false);
            memory.disturbed = false;
        }
    }
};

class DuplicateAtomicEndsWrite final : public PlacesRequests<Disturbed> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        Disturbed& memory = qp.memory;
        if (place == Place::Behind && memory.open) {
            memory.disturbed |= is_atomic_request(passage.packet);
        } else if (place == Place::Expected) {
            const bool inside = info.operation == Operation::RdmaWrite && !info.starts_message();
            if (memory.disturbed && inside) make_illegal(passage.packet, true);
            memory.disturbed = false;
        }
    }
};

struct Repeats : Arrivals {
    std::optional<wire::Psn> from; // of the READ that was asked for again
    std::uint32_t packets = 0;
};

class RepeatedReadEndsAfterFirst final : public PlacesRequests<Repeats> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Behind || !is_read_request(packet)) return;
        qp.memory.from = packet.bth.psn;
        qp.memory.packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto& from = qp.memory.from;
        if (!from || !is_read_response(packet) || packet.info().starts_message()) return;
        const std::int32_t at = wire::distance(*from, packet.bth.psn);
        passage.dropped = at > 0 && static_cast<std::uint32_t>(at) < qp.memory.packets;
    }
};

struct RnrNaked : Arrivals {
    std::optional<wire::Psn> newest; // PSN of the newest RNR NAK
    bool waits = false;              // for that PSN
    wire::Msn msn;                   // told last
};

// A filter that knows whether the QP waits for a request that it RNR NAKed.
class KnowsRnrWaits : public PlacesRequests<RnrNaked> {
  protected:
    virtual void knowing(Qp& qp, Passage& passage, Place place) = 0;

    void requested(Qp& qp, Passage& passage, Place place) final {
        if (place == Place::Expected) qp.memory.waits = false;
        knowing(qp, passage, place);
    }
    void answered(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        if (has_aeth(packet)) qp.memory.msn = packet.aeth.msn;
        if (!is_rnr_nak(packet)) return;
        qp.memory.newest = packet.bth.psn;
        qp.memory.waits = true;
    }
};

class ReplaysLostAtRnr final : public KnowsRnrWaits {
  protected:
    void knowing(Qp& qp, Passage& passage, Place place) override {
        const auto& newest = qp.memory.newest;
        const wire::Packet& packet = passage.packet;
        if (place != Place::Behind || !newest || !is_atomic_request(packet)) return;
        passage.dropped = wire::distance(packet.bth.psn, *newest) > 0;
    }
};

class DuplicateRnrNaked final : public KnowsRnrWaits {
  protected:
    void knowing(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const bool takes = packet.info().consumes_receive();
        if (place != Place::Behind || !qp.memory.waits || !takes) return;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(
            qp.peer(), packet.bth.pkey, packet.bth.psn,
            wire::Syndrome::rnr(qp.report.attributes.min_rnr_timer.value_or(0)), qp.memory.msn));
    }
};

class WrittenBehindRnr final : public KnowsRnrWaits {
  protected:
    void knowing(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const bool write = packet.info().operation == Operation::RdmaWrite &&
                           packet.info().position == Position::Only;
        if (place != Place::Ahead || !qp.memory.waits || !write) return;
        const auto payload = packet.payload();
        const auto to = regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!to.empty()) std::ranges::copy(payload, to.begin());
    }
};

// --- gaps and NAKs

struct Gap : Arrivals {
    bool naked = false;             // the QP waits for what it NAKed
    std::optional<wire::Psn> ahead; // the READ or atomic that came ahead last
    wire::Msn msn;                  // told last
};

class ReadAheadNakedAgain final : public PlacesRequests<Gap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Gap& memory = qp.memory;
        if (place == Place::Expected) memory.naked = false;
        if (place != Place::Ahead || !memory.naked || !is_read_request(packet)) return;
        passage.answers.push_back(
            acknowledge(qp.peer(), packet.bth.pkey, memory.next.value_or(qp.first_request()),
                        wire::Syndrome::nak(wire::NakCode::PsnSequence), memory.msn));
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        if (has_aeth(packet)) qp.memory.msn = packet.aeth.msn;
        if (is_sequence_nak(packet)) qp.memory.naked = true;
    }
};

class GapNamedByReadBehind final : public PlacesRequests<Gap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        qp.memory.ahead.reset();
        const bool answered_by_data = is_read_request(packet) || is_atomic_request(packet);
        if (place == Place::Ahead && answered_by_data) qp.memory.ahead = packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (qp.memory.ahead && is_sequence_nak(passage.packet)) {
            passage.packet.bth.psn = *qp.memory.ahead;
        }
    }
};

struct Bytes : Arrivals {
    std::vector<std::byte> body;
    bool stale = false; // the body came ahead of the expected packet
};

// The missing packet's place in memory is skipped, and read as zeros here.
class GapBeforeLastOverlooked final : public PlacesRequests<Bytes> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Bytes& memory = qp.memory;
        const bool last =
            packet.info().position == Position::Last && packet.info().service == wire::Service::Rc;
        if (place != Place::Ahead || !memory.open || !last) return;
        const wire::Psn next = memory.next.value_or(qp.first_request());
        if (wire::distance(next, packet.bth.psn) != 1) return;
        memory.body.assign(wire::bytes_of(qp.mtu()), std::byte{0});
        wire::Packet missing = packet;
        set_opcode(missing, packet.info().operation, Position::Middle);
        missing.bth.psn = next;
        missing.bth.pad = 0;
        missing.bth.ack_request = false;
        missing.body = memory.body;
        passage.before.push_back(missing);
        memory.next = packet.bth.psn + 1;
        memory.open = false;
    }
};

class BytesAheadOfGapStay final : public PlacesRequests<Bytes> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        Bytes& memory = qp.memory;
        const bool inside = !packet.info().starts_message() && !packet.body.empty();
        if (place == Place::Ahead && memory.next && memory.open && inside && !memory.stale) {
            memory.body.assign(packet.body.begin(), packet.body.end());
            memory.stale = true;
        } else if (place == Place::Expected && memory.stale) {
            if (inside && memory.body.size() == packet.body.size()) packet.body = memory.body;
            memory.stale = false;
        }
    }
};

class FatalNakNamesFirst final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool fatal = is_nak(packet) && !is_rnr_nak(packet) && !is_sequence_nak(packet);
        if (fatal && qp.memory.next) packet.bth.psn = qp.memory.first;
    }
};

// --- several QPs

class OneOpenMessage final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        if (place != Place::Expected || info.service != wire::Service::Rc) return;
        if (!info.starts_message() && newest_ != qp.report.qpn) make_illegal(passage.packet, true);
        if (info.starts_message() && !info.ends_message()) newest_ = qp.report.qpn;
    }

  private:
    std::optional<wire::Qpn> newest_; // that began a message
};

// --- RNR timer, MSN

void timer_in_four_bits(wire::Packet& packet) {
    constexpr unsigned sent = 0xF;
    if (!is_rnr_nak(packet)) return;
    packet.aeth.syndrome =
        wire::Syndrome::rnr(static_cast<std::uint8_t>(packet.aeth.syndrome.code() & sent));
}

struct Flushes : Arrivals {
    std::int32_t count = 0;
};

class FlushNotCounted final : public PlacesRequests<Flushes> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const bool flush = passage.packet.info().operation == Operation::Flush;
        if (place == Place::Expected && flush) ++qp.memory.count;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        packet.aeth.msn = packet.aeth.msn + -qp.memory.count;
    }
};

// --- atomics

struct Compared : Arrivals {
    std::map<std::uint32_t, std::uint64_t> values; // by PSN: with what zero was replaced
};

class ZeroSwapsAlways final : public PlacesRequests<Compared> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::AtomicEth& asked = passage.packet.atomic;
        auto& values = qp.memory.values;
        const bool swap = passage.packet.info().operation == Operation::CompareSwap;
        if (!swap || asked.compare != 0) return;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        if (place == Place::Expected) {
            const auto word = regions().at(asked.rkey, asked.virtual_address, kWord);
            if (word.empty()) return;
            std::uint64_t value = 0;
            std::memcpy(&value, word.data(), kWord);
            values.insert_or_assign(psn, value);
        }
        const auto found = values.find(psn);
        if (found != values.end()) asked.compare = found->second;
    }
};

// --- windows and keys

class BoundAgainToFirstRange final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != engine::WrOpcode::BindMw || !request.mw || !request.bind) return;
        if (request.bind->length == 0) return;
        const auto [first, fresh] = first_.try_emplace(*request.mw, *request.bind);
        if (fresh || first->second.mr != request.bind->mr) return;
        request.bind->address = first->second.address;
        request.bind->length = first->second.length;
    }

  private:
    std::map<engine::MwId, engine::BindInfo> first_;
};

class AnyVariantRevokes final : public PlacesRequests<Arrivals> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::BindMw) {
            bound_[request.rkey.value >> kVariantBits] = request.rkey;
        }
    }

  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (place != Place::Expected || !packet.headers.has(wire::Header::Ieth)) return;
        const auto found = bound_.find(packet.ieth.rkey.value >> kVariantBits);
        if (found != bound_.end()) packet.ieth.rkey = found->second;
    }

  private:
    static constexpr unsigned kVariantBits = 8;
    std::map<std::uint32_t, wire::Rkey> bound_; // by index: the newest key
};

void empty_send_is_plain(wire::Packet& packet) {
    if (packet.headers.has(wire::Header::Ieth) && packet.body.empty() &&
        packet.info().position == Position::Only) {
        set_place(packet, Position::Only);
    }
}

class ReceiveOfThreePieces final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        constexpr std::size_t read = 3;
        if (request.sges.size() > read) request.sges = request.sges.first(read);
    }
};

constexpr std::array kMutants{
    Mutant{.name = "duplicate_first_opens_message",
           .rule = "RSP-13",
           .description = "A FIRST or MIDDLE that comes again between two messages makes the QP "
                          "wait for the rest of its message.",
           .make_filter = make<DuplicateFirstOpens>},
    Mutant{.name = "duplicate_atomic_ends_open_write",
           .rule = "RSP-13",
           .description = "An atomic that comes again inside a WRITE ends the WRITE.",
           .make_filter = make<DuplicateAtomicEndsWrite>},
    Mutant{.name = "repeated_read_ends_after_first_packet",
           .rule = "RDR-04",
           .description = "A READ that comes again is answered with the first packet of its "
                          "response alone.",
           .make_filter = make<RepeatedReadEndsAfterFirst>},
    Mutant{.name = "atomic_replays_lost_at_rnr_nak",
           .rule = "ATM-04",
           .description = "Atomics in front of a request that was RNR NAKed are forgotten: their "
                          "duplicates get no answer.",
           .make_filter = make<ReplaysLostAtRnr>},
    Mutant{.name = "duplicate_in_rnr_wait_draws_rnr_nak",
           .rule = "RSP-12",
           .description = "A SEND that comes again while the QP waits for the request that it RNR "
                          "NAKed draws an RNR NAK.",
           .make_filter = make<DuplicateRnrNaked>},
    Mutant{.name = "write_behind_rnr_nak_written",
           .rule = "RNR-04",
           .description = "A WRITE behind a request that was RNR NAKed is written.",
           .cases = "rnr/each-request-behind-a-nak",
           .make_filter = make<WrittenBehindRnr>},
    Mutant{.name = "read_ahead_naked_again",
           .rule = "RSP-03",
           .description = "Each READ ahead of a gap draws a NAK of its own.",
           .cases = "rsp/each-request-behind-a-nak",
           .make_filter = make<ReadAheadNakedAgain>},
    Mutant{.name = "gap_before_read_named_by_read",
           .rule = "RSP-02",
           .description = "The sequence NAK that a READ or an atomic draws names its own PSN.",
           .make_filter = make<GapNamedByReadBehind>},
    Mutant{.name = "gap_before_last_overlooked",
           .rule = "RSP-02",
           .description = "A LAST one PSN ahead is accepted; zeros stand for the missing packet.",
           .make_filter = make<GapBeforeLastOverlooked>},
    Mutant{.name = "bytes_ahead_of_gap_written_behind_it",
           .rule = "RSP-02",
           .description = "The packet that closes a gap inside a message is written with the bytes "
                          "of the one that had come ahead of it.",
           .make_filter = make<BytesAheadOfGapStay>},
    Mutant{.name = "fatal_nak_names_first_of_message",
           .rule = "OPC-06",
           .description = "A fatal NAK names the first PSN of the message.",
           .make_filter = make<FatalNakNamesFirst>},
    Mutant{.name = "one_open_message_for_all_qps",
           .rule = "OPC-01",
           .description = "A message of several packets is refused if another QP's began since.",
           .make_filter = make<OneOpenMessage>},
    Mutant{.name = "rnr_timer_sent_in_four_bits",
           .rule = "RNR-07",
           .description = "RNR NAKs have the lower four bits of the timer code.",
           .make_filter = make<EditsOutbound<timer_in_four_bits>>},
    Mutant{.name = "flush_not_counted",
           .rule = "ACK-07",
           .description = "A FLUSH does not raise the MSN.",
           .make_filter = make<FlushNotCounted>},
    Mutant{.name = "compare_with_zero_always_swaps",
           .rule = "ATM-01",
           .description = "A CMP_SWAP that compares with zero swaps whatever the word is.",
           .cases = "atm/compare-swap",
           .make_filter = make<ZeroSwapsAlways>},
    Mutant{.name = "atomics_by_rights_to_read_and_write",
           .rule = "KEY-04",
           .description =
               "Atomics are let into a region with REMOTE_READ and REMOTE_WRITE and without "
               "REMOTE_ATOMIC.",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, atomics_by_other_rights)},
    Mutant{.name = "atomic_across_region_end_not_naked",
           .rule = "KEY-05",
           .description = "An atomic whose word begins in its region and ends behind it gets no "
                          "answer.",
           .cases = "key/atomic-across-the-end",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, range_of_first_byte_of_atomics)},
    Mutant{.name = "overflow_at_last_in_silence",
           .rule = "LEN-06",
           .description = "A SEND whose LAST does not fit its receive gets no answer.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, overflow_at_last_in_silence)},
    Mutant{.name = "receive_without_local_write_in_silence",
           .rule = "KEY-12",
           .description = "A SEND to a receive in a region without LOCAL_WRITE gets no answer.",
           .cases = "key/receive-without-local-write",
           .checks =
               kStandardChecks.with(RequestCheck::ReceiveMemory, receive_needs_no_local_write)},
    Mutant{.name = "receive_of_three_pieces",
           .rule = "LEN-06",
           .description = "Of a receive the first three pieces are used.",
           .make_filter = make<ReceiveOfThreePieces>},
    Mutant{.name = "flush_in_any_domain",
           .rule = "KEY-03",
           .description = "A FLUSH may name a key of another protection domain.",
           .cases = "ext/flush-keys key/flush-of-another-domain",
           .checks = kStandardChecks.with(RequestCheck::KeyDomain, flush_in_any_domain)},
    Mutant{.name = "qp_right_of_atomic_write_not_checked",
           .rule = "KEY-01",
           .description = "A QP without REMOTE_WRITE takes ATOMIC WRITEs.",
           .cases = "ext/atomic-write-rights",
           .checks = kStandardChecks.with(RequestCheck::Rights, no_right_for_atomic_writes)},
    Mutant{.name = "window_bound_again_keeps_first_range",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A window of type 2 that is bound again opens the range of its first "
                          "bind.",
           .cases = "key/window-type-2-bound-again",
           .make_filter = make<BoundAgainToFirstRange>},
    Mutant{.name = "any_variant_revokes",
           .rule = "KEY-11",
           .description = "A SEND with invalidate revokes a window whatever the lowest byte of "
                          "the key is.",
           .cases = "key/invalidate-key-bits",
           .make_filter = make<AnyVariantRevokes>},
    Mutant{.name = "empty_send_revokes_nothing",
           .rule = "KEY-11",
           .description = "A SEND with invalidate of no bytes is taken for a plain one.",
           .cases = "key/invalidate-with-no-bytes",
           .make_filter = make<EditsInbound<empty_send_is_plain>>},
};

} // namespace
} // namespace veriroce::mutants::of_blind7_responder

namespace veriroce::mutants {

std::span<const Mutant> blind7_responder() {
    return of_blind7_responder::kMutants;
}

} // namespace veriroce::mutants
