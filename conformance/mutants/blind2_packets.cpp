// Written blind, second sample: packets that a responder or a requester sends or judges wrongly.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind2_packets {
namespace {

using engine::kStandardChecks;
using engine::NakState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using wire::Operation;
using wire::Position;

// --- checks

RequestVerdict empty_send_needs_no_receive(const RequestView& view) {
    const bool empty = view.info.operation == Operation::Send &&
                       view.info.position == Position::Only && view.packet.body.empty();
    return empty ? RequestVerdict::Accept : engine::request_check::receive_ready(view);
}

RequestVerdict rnr_for_what_follows(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::one_nak(view);
    const bool waits = view.inbound.nak == NakState::Rnr && view.takes_receive();
    return verdict == RequestVerdict::Drop && waits ? RequestVerdict::Rnr : verdict;
}

ResponseVerdict compares_psns_as_numbers(const ResponseView& view) {
    const bool lower = view.packet.bth.psn.value() < view.outbound.unacked_psn.value();
    return lower ? ResponseVerdict::Drop : engine::response_check::window(view);
}

RequestVerdict address_zero_is_none(const RequestView& view) {
    return view.target && view.target->address == 0 ? RequestVerdict::NakRemoteAccess
                                                    : engine::request_check::key_range(view);
}

// --- a responder's acknowledges

struct Told {
    Arrivals arrivals;
    std::map<std::uint32_t, wire::Msn> msns; // of the ACKs, by PSN
    std::optional<wire::Psn> duplicate;
};

class DuplicateGetsOldMsn final : public QpFilter<Told> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(passage.packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Behind) qp.memory.duplicate = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_ack(packet)) return;
        auto& [arrivals, msns, duplicate] = qp.memory;
        if (duplicate) {
            const auto then = msns.lower_bound(duplicate->value());
            if (then != msns.end()) packet.aeth.msn = then->second;
            duplicate.reset();
            return;
        }
        msns[packet.bth.psn.value()] = packet.aeth.msn;
    }
};

struct Acked {
    std::optional<wire::Psn> newest;
};

class NoAckBehindWrap final : public QpFilter<Acked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_ack(passage.packet)) return;
        const wire::Psn psn = passage.packet.bth.psn;
        auto& newest = qp.memory.newest;
        passage.dropped =
            newest && newest->value() > psn.value() && wire::distance(*newest, psn) > 0;
        newest = psn;
    }
};

struct Counted {
    Arrivals arrivals;
    std::int32_t more = 0;
};

class CountsInvalidatingTwice final : public QpFilter<Counted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Expected && packet.info().invalidates()) ++qp.memory.more;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (has_aeth(packet)) packet.aeth.msn = packet.aeth.msn + qp.memory.more;
    }
};

// --- READ responses

void last_counts_pad(wire::Packet& packet) {
    if (is_read_response(packet) && packet.info().position == Position::Last) packet.bth.pad = 0;
}

struct LongRead {
    wire::Psn psn;
    std::uint32_t packets = 1;
    std::optional<wire::Packet> second;
    std::vector<std::byte> body;
};

class SwapsMiddles final : public QpFilter<LongRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        qp.memory.psn = packet.bth.psn;
        qp.memory.packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t many = 8;
        auto& [psn, packets, second, body] = qp.memory;
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || packets < many) return;
        if (packet.bth.psn == psn + 1) {
            body.assign(packet.body.begin(), packet.body.end());
            second = packet;
            second->body = body;
            passage.dropped = true;
        } else if (second) {
            passage.after.push_back(*second);
            second.reset();
        }
    }
};

// --- a requester

class ResentLastIsPlain final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.request() || !qp.memory.note(packet.bth.psn)) return;
        if (info.position != Position::Last || !info.immediate()) return;
        set_opcode(packet, info.operation, Position::Last);
    }
};

class NakNamesTheLastGood final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().request()) qp.memory.note(packet.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& newest = qp.memory.psn;
        const bool more = newest && wire::distance(packet.bth.psn, *newest) > 0;
        if (is_sequence_nak(packet) && more) packet.bth.psn += 1;
    }
};

struct Sent {
    std::optional<wire::Psn> oldest; // that is not acknowledged, as far as ACKs tell
    NewestPsn newest;
};

class OldAckRestarts final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [oldest, newest] = qp.memory;
        if (!oldest) oldest = packet.bth.psn;
        newest.note(packet.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [oldest, newest] = qp.memory;
        if (!is_ack(packet) || !oldest || !newest.psn) return;
        const bool old = wire::distance(packet.bth.psn, *oldest) > 0;
        const bool outstanding = wire::distance(*oldest, *newest.psn) >= 0;
        if (old && outstanding) {
            packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
            packet.bth.psn = *oldest;
            return;
        }
        if (!old) oldest = packet.bth.psn + 1;
    }
};

class CutsOddInline final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        std::uint64_t length = 0;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        if (!request.flags.inline_data || length % 2 == 0) return;
        lists_.emplace_back(request.sges.begin(), request.sges.end());
        auto& list = lists_.back();
        for (auto sge = list.rbegin(); sge != list.rend(); ++sge) {
            if (sge->length == 0) continue;
            --sge->length;
            break;
        }
        request.sges = list;
    }

  private:
    std::deque<std::vector<engine::Sge>> lists_; // the engine copies one when its chain is posted
};

// --- CNPs

struct SentCnps {
    wire::Psn psn; // of the newest
};

class CnpCounts final : public QpFilter<SentCnps> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.bth.opcode != wire::kCnpOpcode) return;
        qp.memory.psn += 1;
        packet.bth.psn = qp.memory.psn;
    }
};

class CnpNamesFirstPeer final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!first_) first_ = qp.peer();
        if (passage.packet.bth.opcode == wire::kCnpOpcode) passage.packet.bth.dest_qp = *first_;
    }

  private:
    std::optional<wire::Qpn> first_; // to which the device sent its first packet
};

constexpr std::array kMutants{
    Mutant{.name = "empty_send_without_receive_dropped",
           .rule = "RNR-01",
           .description = "A SEND of no bytes that finds no receive is dropped in silence.",
           .cases = "rnr/empty-messages",
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, empty_send_needs_no_receive)},
    Mutant{.name = "rnr_nak_for_what_follows",
           .rule = "RNR-04",
           .level = "SHOULD",
           .description = "After an RNR NAK each later SEND gets an RNR NAK too, at its own PSN.",
           .checks = kStandardChecks.with(RequestCheck::OneNak, rnr_for_what_follows)},
    Mutant{.name = "response_beyond_wrap_ignored",
           .rule = "RSP-09",
           .description = "While a request from before the wrap is outstanding, responses beyond "
                          "the wrap are ignored.",
           .checks = kStandardChecks.with(ResponseCheck::Window, compares_psns_as_numbers)},
    Mutant{.name = "address_zero_refused",
           .rule = "N-37",
           .description = "The first byte of a zero-based region cannot be reached.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, address_zero_is_none)},
    Mutant{.name = "duplicate_acked_with_old_msn",
           .rule = "ACK-07",
           .description = "The ACK of a duplicate has the MSN from when it was executed.",
           .make_filter = make<DuplicateGetsOldMsn>},
    Mutant{.name = "no_ack_behind_wrap",
           .rule = "ACK-01",
           .description = "The first ACK behind the wrap of the PSNs is not sent.",
           .make_filter = make<NoAckBehindWrap>},
    Mutant{.name = "invalidating_send_counted_twice",
           .rule = "ACK-07",
           .description = "A SEND with invalidate raises the MSN by two.",
           .make_filter = make<CountsInvalidatingTwice>},
    Mutant{.name = "last_read_response_counts_pad",
           .rule = "BTH-09",
           .description = "The LAST of a READ response is padded, but has PadCnt 0.",
           .make_filter = make<EditsOutbound<last_counts_pad>>},
    Mutant{.name = "read_middles_swapped",
           .rule = "RDR-02",
           .description = "Of a READ of eight packets or more the second and the third response "
                          "change places.",
           .make_filter = make<SwapsMiddles>},
    Mutant{.name = "resent_last_loses_immediate",
           .rule = "REQ-31",
           .description = "A LAST with immediate data that is sent again is sent as a LAST "
                          "without.",
           .make_filter = make<ResentLastIsPlain>},
    Mutant{.name = "sequence_nak_taken_for_next_psn",
           .rule = "REQ-11",
           .description = "A sequence NAK makes the requester begin one PSN too late.",
           .cases = "req/naks-on-three-qps",
           .make_filter = make<NakNamesTheLastGood>},
    Mutant{.name = "old_ack_restarts",
           .rule = "REQ-06",
           .description = "An ACK that comes once more makes the requester send again what is "
                          "outstanding.",
           .cases = "tmo/old-acks-hold-nothing-back",
           .make_filter = make<OldAckRestarts>},
    Mutant{.name = "inline_of_odd_length_cut",
           .rule = "LEN-10",
           .description = "The last byte of inline data of an odd length is not sent.",
           .cases = "req/inline-in-turn req/inline-odd req/inline-sent-again",
           .make_filter = make<CutsOddInline>},
    Mutant{.name = "cnp_has_running_psn",
           .rule = "CNP-02",
           .description = "The PSN of a CNP counts the CNPs of its QP.",
           .make_filter = make<CnpCounts>},
    Mutant{.name = "cnp_names_first_peer",
           .rule = "CNP-02",
           .description = "Each CNP goes to the QP to which the device sent its first packet.",
           .make_filter = make<CnpNamesFirstPeer>},
};

} // namespace
} // namespace veriroce::mutants::of_blind2_packets

namespace veriroce::mutants {

std::span<const Mutant> blind2_packets() {
    return of_blind2_packets::kMutants;
}

} // namespace veriroce::mutants
