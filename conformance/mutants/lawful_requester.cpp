// Lawful oddities of the requester.
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_requester {
namespace {

using namespace std::chrono_literals;

// REQ-27: "rounding down is allowed".
bool one_rd_atomic(const engine::SendView& view) {
    return engine::send_check::rd_atomic(view) && (!engine::wants_response(view.request.opcode) ||
                                                   view.outbound.outstanding_rd_atomic == 0);
}

// REQ-02: a smaller limit is the requester's own choice.
bool one_message(const engine::SendView& view) {
    return view.outbound.unacked_psn == view.outbound.next_psn;
}

class ResendsWithAckRequest final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().request() && qp.memory.note(packet.bth.psn)) {
            packet.bth.ack_request = true;
        }
    }
};

constexpr std::array kOddities{
    Mutant{.name = "one_message_after_an_rnr_wait",
           .rule = "RNR-13",
           .description = "After an RNR wait the refused message goes alone.",
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage}},
    Mutant{.name = "twice_the_rnr_time",
           .rule = "RNR-08",
           .description = "The requester waits twice as long as an RNR NAK asks for.",
           .behaviour = {.rnr_wait_sixteenths = 32}},
    Mutant{.name = "repeated_nak_restarts",
           .rule = "REQ-15",
           .description = "A second sequence NAK for the same PSN restarts the resend.",
           .behaviour = {.repeated_nak = engine::RepeatedNak::Restarts}},
    Mutant{.name = "acknowledged_read_retried",
           .rule = "REQ-20",
           .description = "A plain ACK for a READ or atomic makes the requester ask again.",
           .behaviour = {.acknowledged_read = engine::AcknowledgedRead::Retried}},
    Mutant{.name = "unexpected_response_ends_the_qp",
           .rule = "REQ-24",
           .description = "A response that does not fit its request completes that with an error.",
           .behaviour = {.unexpected_response = engine::UnexpectedResponse::BadResponse}},
    Mutant{.name = "posted_requests_drained",
           .rule = "STA-06",
           .description = "In SQD all requests that were posted are still sent.",
           .behaviour = {.drain = engine::Drain::Posted}},
    Mutant{.name = "ack_asked_of_every_packet",
           .rule = "BTH-18",
           .description = "Each request packet asks for an ACK.",
           .behaviour = {.ack_request_every = 1}},
    Mutant{.name = "one_packet_outstanding",
           .rule = "REQ-02",
           .description = "The next request packet leaves when the last one is acknowledged.",
           .behaviour = {.ack_request_every = 1, .max_unacked_packets = 1}},
    Mutant{.name = "four_packets_outstanding",
           .rule = "REQ-02",
           .description = "At most four packets are outstanding.",
           .behaviour = {.ack_request_every = 2, .max_unacked_packets = 4}},
    Mutant{.name = "one_read_outstanding",
           .rule = "REQ-27",
           .description = "At most one READ or atomic is outstanding, whatever was negotiated.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::RdAtomic, one_rd_atomic)},
    Mutant{.name = "one_message_outstanding",
           .rule = "REQ-02",
           .description = "The next message begins when all earlier ones are acknowledged.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::Window, one_message),
           .behaviour = {.ack_request_every = 1}},
    Mutant{.name = "timeout_of_exactly_t",
           .rule = "TMO-01",
           .description = "Resends come 1.0625 T after the last packet that asked for an ACK.",
           .behaviour = {.timeout_sixteenths = 17}},
    Mutant{.name = "timeout_of_twice_t",
           .rule = "TMO-01",
           .description = "Resends come 2 T after the last packet that asked for an ACK.",
           .behaviour = {.timeout_sixteenths = 32}},
    Mutant{.name = "timeout_grows",
           .rule = "TMO-08",
           .description = "Each further timeout of a request is twice as long as the last.",
           .behaviour = {.timeout_grows = true}},
    Mutant{.name = "credits_obeyed",
           .rule = "REQ-29",
           .description = "The requester obeys end-to-end credits.",
           .behaviour = {.obey_credits = true}},
    Mutant{.name = "adaptive_timeout",
           .rule = "TMO-08",
           .description = "The first resends come after 4, 8, 16 ms and so on, whatever T is.",
           .traits = "adaptive_retransmission",
           .behaviour = {.adaptive_timeout = 4ms}},
    Mutant{.name = "adaptive_timeout_of_two_ms",
           .rule = "TMO-08",
           .description = "The first resends come after 2, 4, 8 ms and so on, whatever T is.",
           .traits = "adaptive_retransmission",
           .behaviour = {.adaptive_timeout = 2ms}},
    Mutant{.name = "ack_timer_ignored",
           .rule = "TMO-08",
           .description = "The ACK timer is always 30 ms, whatever was configured.",
           .traits = "ack_timer_ignored",
           .behaviour = {.fixed_timeout = 30ms}},
    Mutant{.name = "ack_timer_with_a_floor",
           .rule = "TMO-05",
           .description = "Timeout codes below 15 (134 ms) act as 15.",
           .ack_timer_floor = 15,
           .behaviour = {.timeout_floor = 15}},
    Mutant{.name = "resend_asks_for_acks",
           .rule = "REQ-31",
           .description = "Each packet that is sent again asks for an ACK.",
           .make_filter = make<ResendsWithAckRequest>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_requester

namespace veriroce::mutants {

std::span<const Mutant> lawful_requester() {
    return of_lawful_requester::kOddities;
}

} // namespace veriroce::mutants
