// Lawful oddities of the requester.

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants {

namespace {

struct Sent {
    std::optional<wire::Psn> newest; // of a request

    // Whether the packet was sent before; notes it.
    bool again(wire::Psn psn) {
        if (newest && wire::distance(psn, *newest) >= 0) return true;
        newest = psn;
        return false;
    }
};

class ResendsWithAckRequest final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().request() && qp.memory.again(packet.bth.psn)) {
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
    Mutant{.name = "timeout_of_exactly_t",
           .rule = "TMO-01",
           .description = "Resends come 1.0625 T after the last packet that asked for an ACK.",
           .behaviour = {.timeout_sixteenths = 17}},
    Mutant{.name = "timeout_of_twice_t",
           .rule = "TMO-01",
           .description = "Resends come 2 T after the last packet that asked for an ACK.",
           .behaviour = {.timeout_sixteenths = 32}},
    Mutant{.name = "resend_asks_for_acks",
           .rule = "REQ-31",
           .description = "Each packet that is sent again asks for an ACK.",
           .make_filter = make<ResendsWithAckRequest>},
};

} // namespace

std::span<const Mutant> lawful_requester() {
    return kOddities;
}

} // namespace veriroce::mutants
