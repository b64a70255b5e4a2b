// Lawful oddities of the responder.
#include <algorithm>
#include <chrono>
#include <map>

#include "conformance/mutants/busy_at_times.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_lawful_responder {
namespace {

using namespace std::chrono_literals;

void without_credits(wire::Packet& packet) {
    if (is_ack(packet)) packet.aeth.syndrome = {0};
}

struct NewestRead {
    std::optional<wire::Psn> psn;
};

// ACK-08: such a device counts a READ when it accepts the request.
class CountsFailedReads final : public QpFilter<NewestRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool by_key = packet.info().operation == wire::Operation::Acknowledge &&
                            packet.aeth.syndrome.kind() == wire::AckKind::Nak &&
                            packet.aeth.syndrome.nak_code() == wire::NakCode::RemoteAccess;
        if (by_key && qp.memory.psn == packet.bth.psn) packet.aeth.msn = packet.aeth.msn + 1;
    }
};

struct Copies {
    NewestPsn newest;                         // answered
    std::map<std::uint32_t, unsigned> copies; // that came of a duplicate, by PSN
};

// RDR-04, ATM-04, RSP-10: a device that drops duplicates under load. The requester comes again.
template <unsigned Dropped>
class AnswersTheThird final : public QpFilter<Copies> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!packet.info().request() || !memory.newest.psn) return;
        if (wire::distance(packet.bth.psn, *memory.newest.psn) < 0) return;
        passage.dropped = ++memory.copies[packet.bth.psn.value()] <= Dropped;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool answer = packet.info().operation == wire::Operation::Acknowledge
                                ? is_ack(packet)
                                : packet.info().response();
        if (answer) qp.memory.newest.note(packet.bth.psn);
    }
};

class RepeatsAcks final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        if (is_ack(passage.packet)) passage.after.push_back(passage.packet);
    }
};

bool is_response(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().response();
}

template <int Microseconds>
class AnswersLater final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (is_response(datagram)) datagram.delay += std::chrono::microseconds(Microseconds);
        out.push_back(std::move(datagram));
    }
};

class SpacesAnswers final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (is_response(datagram)) {
            next_ = std::max(next_, now);
            datagram.delay += next_ - now;
            next_ += 20us;
        }
        out.push_back(std::move(datagram));
    }

  private:
    wire::Instant next_{}; // when the next answer may leave
};

constexpr std::array kOddities{
    Mutant{.name = "every_packet_acknowledged",
           .rule = "ACK-02",
           .description = "Each packet of a SEND or WRITE is acknowledged, inside messages too.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket}},
    Mutant{.name = "one_ack_for_eight_packets",
           .rule = "ACK-03",
           .description = "One ACK answers eight packets that ask, or what came within 100 us.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .ack_every = 8,
                         .ack_delay = 100us}},
    Mutant{.name = "acks_held_back",
           .rule = "TMO-07",
           .description = "One ACK answers all that came within 200 us.",
           .behaviour = {.ack_policy = engine::AckPolicy::Delayed, .ack_delay = 200us}},
    Mutant{.name = "duplicate_acknowledged_up_to_date",
           .rule = "RSP-10",
           .description = "A duplicate SEND or WRITE draws an ACK of the newest executed PSN.",
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::LatestPsn}},
    Mutant{.name = "msn_of_the_time_of_sending",
           .rule = "RDR-03",
           .description =
               "READ responses and atomic acknowledges carry the MSN of the time when they leave.",
           .behaviour = {.response_msn = engine::ResponseMsn::Current}},
    Mutant{.name = "gap_after_a_duplicate_naked_again",
           .rule = "RSP-03",
           .description =
               "After a duplicate was answered, the next packet ahead draws one more sequence NAK.",
           .behaviour = {.duplicate_rearms_nak = true}},
    Mutant{.name = "atomics_resent_after_a_duplicate",
           .rule = "N-38",
           .description =
               "The answer to a duplicate is followed by those to all later READs and atomics.",
           .behaviour = {.duplicate_resends_later = true}},
    Mutant{.name = "other_memory_of_a_duplicate_read",
           .rule = "RDR-07",
           .description =
               "A duplicate READ that names other memory is served if its key allows that.",
           .behaviour = {.duplicate_read = engine::DuplicateRead::Revalidated}},
    Mutant{.name = "saved_answer_to_another_atomic",
           .rule = "ATM-05",
           .description = "A duplicate atomic with other operands draws the saved answer.",
           .behaviour = {.other_atomic = engine::OtherAtomic::SavedAnswer}},
    Mutant{.name = "sixteen_more_remembered",
           .rule = "RDR-08",
           .description = "Sixteen READs and atomics more than negotiated are remembered.",
           .behaviour = {.remembered_extra = 16}},
    Mutant{.name = "excess_read_gets_an_rnr_nak",
           .rule = "RDR-09",
           .description = "A READ or atomic more than negotiated draws an RNR NAK.",
           .behaviour = {.excess_read = engine::ExcessRead::Rnr}},
    Mutant{.name = "excess_read_dropped",
           .rule = "RDR-09",
           .description = "A READ or atomic more than negotiated is dropped.",
           .behaviour = {.excess_read = engine::ExcessRead::Silent}},
    Mutant{.name = "lost_key_is_an_operational_error",
           .rule = "RDR-13",
           .description = "A key that is lost during a READ draws NAK Remote Operational.",
           .behaviour = {.lost_key = engine::LostKey::NakRemoteOperational}},
    Mutant{.name = "lost_key_ends_in_silence",
           .rule = "RDR-13",
           .description = "A key that is lost during a READ moves the QP to ERR without a NAK.",
           .behaviour = {.lost_key = engine::LostKey::Silent}},
    Mutant{.name = "reserved_opcode_dropped",
           .rule = "BTH-06",
           .description = "Reserved opcodes are dropped.",
           .behaviour = {.reserved_opcode = engine::ReservedOpcode::Silent}},
    Mutant{.name = "excess_pad_dropped",
           .rule = "BTH-12",
           .description = "A packet with more pad than payload is dropped.",
           .behaviour = {.excess_pad = engine::ExcessPad::Silent}},
    Mutant{.name = "stray_payload_dropped",
           .rule = "ATM-07",
           .description = "A READ request or atomic with a payload is dropped.",
           .behaviour = {.stray_payload = engine::StrayPayload::Silent}},
    Mutant{.name = "stray_payload_ignored",
           .rule = "ATM-07",
           .description = "A READ request or atomic is executed whatever payload it has.",
           .behaviour = {.stray_payload = engine::StrayPayload::Ignored}},
    Mutant{.name = "keys_looked_at_first",
           .rule = "KEY-10",
           .description = "Of two faults of a request, the NAK names the key's.",
           .behaviour = {.fault_order = engine::FaultOrder::KeysFirst}},
    Mutant{.name = "range_looked_at_in_each_packet",
           .rule = "KEY-06",
           .description =
               "Of a WRITE that leaves its region half way, the packets inside are written.",
           .behaviour = {.write_range = engine::WriteRange::EachPacket}},
    Mutant{.name = "excess_told_at_the_end",
           .rule = "LEN-04",
           .description = "A WRITE that brings more than it announced is NAKed at its last packet.",
           .behaviour = {.write_excess = engine::WriteExcess::AtLast}},
    Mutant{.name = "oversize_is_an_access_error",
           .rule = "LEN-05",
           .description = "A length above 2^31 draws NAK Remote Access.",
           .behaviour = {.oversize_nak = engine::OversizeNak::RemoteAccess}},
    Mutant{
        .name = "refused_immediate_fails_its_receive",
        .rule = "N-14",
        .description =
            "A WRITE with immediate data and a bad key completes a receive with an access error.",
        .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError}},
    Mutant{.name = "early_retry_dropped",
           .rule = "RNR-05",
           .description = "A request that is resent before the RNR time is over is dropped.",
           .behaviour = {.early_resend = engine::EarlyResend::Silent}},
    Mutant{.name = "rnr_timer_longer_than_configured",
           .rule = "RNR-07",
           .description = "RNR NAKs ask for 5.12 ms or more, whatever was configured.",
           .behaviour = {.shortest_rnr_wait = 5ms}},
    Mutant{.name = "early_retry_after_a_longer_timer_dropped",
           .rule = "RNR-05",
           .description = "RNR NAKs ask for 5.12 ms or more, and what comes earlier is dropped.",
           .behaviour = {.early_resend = engine::EarlyResend::Silent, .shortest_rnr_wait = 5ms}},
    Mutant{.name = "credits_told_unasked",
           .rule = "ACK-11",
           .description =
               "ACKs carry credits, and a further ACK tells that there are receives again.",
           .behaviour = {.credits = true, .unsolicited_credits = true}},
    Mutant{.name = "no_credit_ever",
           .rule = "ACK-10",
           .description = "ACKs carry credit code 0, whatever is posted.",
           .make_filter = make<EditsOutbound<without_credits>>},
    Mutant{.name = "failed_read_counted",
           .rule = "ACK-08",
           .description = "NAK Remote Access for a READ counts the READ in its MSN.",
           .make_filter = make<CountsFailedReads>},
    Mutant{.name = "duplicates_answered_at_the_third",
           .rule = "RDR-04",
           .description = "The first two copies of each duplicate are dropped.",
           .make_filter = make<AnswersTheThird<2>>},
    Mutant{.name = "duplicates_answered_at_the_second",
           .rule = "ATM-04",
           .description = "The first copy of each duplicate is dropped.",
           .make_filter = make<AnswersTheThird<1>>},
    Mutant{.name = "acks_sent_twice",
           .rule = "ACK-04",
           .description = "Each ACK without a NAK code is sent twice.",
           .make_filter = make<RepeatsAcks>},
    Mutant{.name = "answers_a_little_later",
           .rule = "ACK-12",
           .description = "Answers leave 100 us later than they could.",
           .make_filter = make<AnswersLater<100>>},
    Mutant{.name = "answers_after_two_ms",
           .rule = "RSP-16",
           .description = "Answers, NAKs included, leave 2 ms later than they could.",
           .make_filter = make<AnswersLater<2000>>},
    Mutant{.name = "responses_twenty_us_apart",
           .rule = "ACK-12",
           .description = "Answers leave at least 20 us apart.",
           .make_filter = make<SpacesAnswers>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_responder

namespace veriroce::mutants {

std::span<const Mutant> lawful_responder() {
    return of_lawful_responder::kOddities;
}

} // namespace veriroce::mutants
