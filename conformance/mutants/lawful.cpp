// Lawful oddities: what a device may do as a responder and as a requester. The other files have
// more of each.
#include "conformance/mutants/busy_at_times.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_lawful {
namespace {

using engine::ResponseVerdict;
using wire::Position;

void first_with_old_msn(wire::Packet& packet) {
    if (is_read_response(packet) && packet.info().position == Position::First) {
        packet.aeth.msn = packet.aeth.msn + -1;
    }
}

ResponseVerdict drop_wrong_size(const engine::ResponseView& view) {
    return engine::response_check::read_length(view) == ResponseVerdict::Take
               ? ResponseVerdict::Take
               : ResponseVerdict::Drop;
}

// RDR-04: requesters drop what they have already (N-38).
class RepeatsLaterReads final : public QpFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto known = qp.memory.holding(packet.bth.psn);
        if (known && known->answered) {
            for (const LoggedRead& read : qp.memory.reads()) {
                const bool later = wire::distance(packet.bth.psn, read.request.bth.psn) > 0;
                if (later && read.answered) passage.after.push_back(read.request);
            }
        }
        qp.memory.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_read_response(passage.packet)) qp.memory.answer(passage.packet.bth.psn);
    }
};

constexpr std::array kOddities{
    Mutant{.name = "partial_read_retry_goes_on_with_middle",
           .rule = "RDR-06",
           .passive = true,
           .description = "The answer to a READ for the tail of an earlier one begins with MIDDLE "
                          "or LAST.",
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast}},
    Mutant{.name = "duplicate_send_answered_by_read_response",
           .rule = "RSP-10",
           .passive = true,
           .description = "A duplicate SEND before an executed READ is answered by resending the "
                          "READ's responses.",
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse}},
    Mutant{.name = "duplicate_without_ack_request_ignored",
           .rule = "RSP-11",
           .passive = true,
           .description = "A duplicate SEND or WRITE without AckReq gets no answer.",
           .behaviour = {.duplicate_without_ack_request_is_acked = false}},
    Mutant{.name = "whole_read_asked_for_again",
           .rule = "REQ-09",
           .passive = true,
           .description =
               "After a gap, the requester asks for the whole READ again, from its first PSN.",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead}},
    Mutant{.name = "implied_nak_waits_for_the_timer",
           .rule = "REQ-09",
           .passive = true,
           .description = "The requester asks for lost READ responses again when the ACK timer "
                          "expires, not when the gap shows.",
           .behaviour = {.implied_nak = engine::ImpliedNak::OnTimeout}},
    Mutant{.name = "read_first_with_old_msn",
           .rule = "N-01",
           .passive = true,
           .description = "READ RESPONSE FIRST carries the MSN from before the READ.",
           .make_filter = make<EditsOutbound<first_with_old_msn>>},
    Mutant{
        .name = "occasional_rnr_for_write",
        .rule = "RNR-03",
        .passive = true,
        .description =
            "One of sixteen plain WRITEs, READs and atomics gets an RNR NAK and succeeds on retry.",
        .make_filter = make<BusyAtTimes<16>>},
    Mutant{.name = "wrong_sized_read_response_dropped",
           .rule = "REQ-21",
           .passive = false,
           .description = "The requester drops a READ response of a wrong size, and asks for the "
                          "READ again after a timeout.",
           .checks =
               engine::kStandardChecks.with(engine::ResponseCheck::ReadLength, drop_wrong_size)},
    Mutant{.name = "timeout_just_below_four_times",
           .rule = "TMO-01",
           .passive = true,
           .description = "Resends come 3.875 T after the last packet that asked for an ACK.",
           .behaviour = {.timeout_sixteenths = 62}},
    Mutant{.name = "acks_coalesced_to_the_end",
           .rule = "ACK-03",
           .passive = true,
           .description = "One ACK for a whole burst, sent after its last packet.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced}},
    Mutant{.name = "every_message_acknowledged",
           .rule = "ACK-02",
           .passive = true,
           .description = "The end of a message is acknowledged even without AckReq.",
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage}},
    Mutant{.name = "credits_reported",
           .rule = "ACK-10",
           .passive = true,
           .description = "ACKs carry end-to-end credits instead of code 31.",
           .behaviour = {.credits = true}},
    Mutant{
        .name = "later_responses_resent_too",
        .rule = "RDR-04",
        .passive = true,
        .description =
            "After a duplicate READ, the responder resends the responses of all later READs, too.",
        .make_filter = make<RepeatsLaterReads>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful

namespace veriroce::mutants {

std::span<const Mutant> lawful_first() {
    return of_lawful::kOddities;
}

} // namespace veriroce::mutants
