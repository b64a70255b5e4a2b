// Defects in how the responder counts PSNs.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"

namespace veriroce::mutants::of_rsp {
namespace {

using engine::NakState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
namespace right = engine::request_check;

struct NewestArrival {
    std::optional<wire::Psn> psn;
};

class NaksArrivedPsn final : public QpFilter<NewestArrival> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.psn = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Psn& psn = passage.packet.bth.psn;
        const wire::Psn arrived = qp.memory.psn.value_or(psn);
        if (is_sequence_nak(passage.packet) && wire::distance(psn, arrived) > 0) psn = arrived;
    }
};

RequestVerdict drop_gap(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    return verdict == RequestVerdict::NakSequence ? RequestVerdict::Drop : verdict;
}

RequestVerdict nak_again(const RequestView& view) {
    return view.inbound.nak == NakState::Sequence ? RequestVerdict::Accept : right::one_nak(view);
}

struct OneNak {
    bool sent = false;
};

class NaksOnlyOnce final : public QpFilter<OneNak> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        passage.dropped = qp.memory.sent;
        qp.memory.sent = true;
    }
};

// RSP-09: as numbers, not on the circle.
RequestVerdict plain_order(const RequestView& view) {
    const std::uint32_t expected = view.inbound.expected_psn.value();
    const std::uint32_t psn = view.packet.bth.psn.value();
    if (psn == expected) return RequestVerdict::Accept;
    return psn < expected ? RequestVerdict::Duplicate : RequestVerdict::NakSequence;
}

RequestVerdict one_nak_in_plain_order(const RequestView& view) {
    const bool ahead = plain_order(view) == RequestVerdict::NakSequence;
    return ahead && view.inbound.nak != NakState::None ? RequestVerdict::Drop
                                                       : RequestVerdict::Accept;
}

struct UnwrappedRead {
    std::optional<wire::Psn> asked; // a READ whose responses reach beyond 0xFFFFFF
    wire::Psn behind;               // it
    bool executed = false;
};

// To the engine everything behind the READ is far ahead: it asks for what it has in its hands.
class ReadsNotWrapped final : public QpFilter<UnwrappedRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        UnwrappedRead& read = qp.memory;
        if (!packet.info().request()) return;
        if (read.executed) {
            if (wire::distance(read.behind, packet.bth.psn) >= 0) packet.bth.psn += kFarAhead;
            return;
        }
        if (!is_read_request(packet)) return;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (packet.bth.psn.value() + std::uint64_t{packets} <= wire::kMask24) return;
        read = {.asked = packet.bth.psn, .behind = packet.bth.psn + packets};
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_read_response(passage.packet) && qp.memory.asked == passage.packet.bth.psn) {
            qp.memory.executed = true;
        }
    }
};

// RSP-10. The engine's PSN goes on with the extra SEND; the device's does not.
RequestVerdict execute_duplicate_send(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool whole = view.info.operation == wire::Operation::Send && view.info.starts_message() &&
                       view.info.ends_message();
    const bool again = verdict == RequestVerdict::Duplicate && whole &&
                       view.packet.bth.ack_request && view.receive_ready &&
                       view.inbound.open == engine::OpenMessage::None;
    return again ? RequestVerdict::Accept : verdict;
}

bool executed_send_again(const wire::Packet& packet, Told told) {
    return is_ack(packet) && told.behind && told.fresh;
}

RequestVerdict drop_duplicate(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool acknowledged = view.info.operation == wire::Operation::Send ||
                              view.info.operation == wire::Operation::RdmaWrite;
    return verdict == RequestVerdict::Duplicate && acknowledged ? RequestVerdict::Drop : verdict;
}

constexpr engine::Checks with_order(engine::RequestFunction function) {
    return engine::kStandardChecks.with(RequestCheck::ExpectedPsn, function);
}

constexpr std::array kMutants{
    Mutant{.name = "nak_names_the_arrived_psn",
           .rule = "RSP-02",
           .passive = true,
           .description = "On a gap the sequence NAK carries the PSN of the packet that arrived "
                          "ahead: the lost one is never asked for.",
           .cases = "rsp/each-request-lost rsp/gap-nak rsp/reordered rsp/wide-gaps "
                    "sta/reset-forgets",
           .make_filter = make<NaksArrivedPsn>},
    Mutant{.name = "gap_dropped_in_silence",
           .rule = "RSP-02",
           .passive = true,
           .description = "Packets ahead of ePSN are dropped without a NAK; only the requester's "
                          "timer recovers.",
           .cases = "n/gap-then-no-receive",
           .judge_cases = "rsp/reordered",
           .checks = with_order(drop_gap)},
    Mutant{.name = "nak_for_every_packet_ahead",
           .rule = "RSP-03",
           .passive = true,
           .description = "Every packet ahead of ePSN gets its own sequence NAK.",
           .cases = "rsp/fault-ahead rsp/gap-nak rsp/lost-again",
           .checks = engine::kStandardChecks.with(RequestCheck::OneNak, nak_again)},
    Mutant{.name = "nak_state_never_cleared",
           .rule = "RSP-06",
           .passive = true,
           .description = "After one sequence NAK and its recovery, the next gap gets none until "
                          "the QP is reset.",
           .cases = "rsp/gap-of-every-power rsp/second-gap",
           .make_filter = make<NaksOnlyOnce>},
    Mutant{.name = "psn_compared_without_wrap",
           .rule = "RSP-09",
           .passive = true,
           .description = "Ahead and behind are told apart as plain numbers: with ePSN 0xFFFFFE a "
                          "packet with PSN 1 is taken for a duplicate.",
           .cases = "rsp/psn-wrap-nak",
           .checks = with_order(plain_order).with(RequestCheck::OneNak, one_nak_in_plain_order)},
    Mutant{.name = "read_psns_not_wrapped",
           .rule = "RSP-09",
           .passive = true,
           .description = "After a READ whose responses cross 0xFFFFFF, ePSN has more than 24 "
                          "bits: the next request gets a sequence NAK and is never executed.",
           .cases = "rsp/psn-wrap",
           .make_filter = make<ReadsNotWrapped>},
    Mutant{.name = "duplicate_send_executed_again",
           .rule = "RSP-10",
           .passive = true,
           .description =
               "A duplicate SEND ONLY takes another receive, completes it and raises the "
               "MSN.",
           .cases = "rsp/duplicate-send rsp/each-request-again rsp/each-request-late "
                    "rsp/ghosts rsp/twice-on-the-way",
           .checks = with_order(execute_duplicate_send),
           .make_filter = make<ShiftsPsns<executed_send_again>>},
    Mutant{.name = "duplicate_never_acknowledged",
           .rule = "RSP-10",
           .passive = true,
           .description = "Duplicates of SEND and WRITE are dropped even with AckReq set: one lost "
                          "ACK ends in retry exceeded at the peer.",
           .cases = "rsp/duplicate-send rsp/duplicate-while-waiting rsp/duplicate-write "
                    "rsp/duplicate-write-imm",
           .checks = with_order(drop_duplicate)},
};

} // namespace
} // namespace veriroce::mutants::of_rsp

namespace veriroce::mutants {

std::span<const Mutant> rsp() {
    return of_rsp::kMutants;
}

} // namespace veriroce::mutants
