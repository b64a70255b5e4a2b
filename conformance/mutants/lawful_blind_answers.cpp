// Lawful oddities that were written from the rules alone, without a look at the cases, the model,
// or the other oddities: responders.
#include <deque>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/pacing.hpp"

namespace veriroce::mutants::of_lawful_blind_answers {
namespace {

using namespace std::chrono_literals;

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;

struct Repeats {
    NewestPsn answered;
    std::deque<wire::Psn> repeated; // duplicates that were not answered yet
};

// RSP-10: the answer covers the duplicate's PSN and is below the expected one.
class AcknowledgesTheDuplicateItself final : public QpFilter<Repeats> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto operation = packet.info().operation;
        if (operation != Operation::Send && operation != Operation::RdmaWrite) return;
        Repeats& memory = qp.memory;
        if (!memory.answered.psn) return;
        if (wire::distance(*memory.answered.psn, packet.bth.psn) > 0) return;
        memory.repeated.push_back(packet.bth.psn);
        constexpr std::size_t most = 64;
        if (memory.repeated.size() > most) memory.repeated.pop_front();
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        Repeats& memory = qp.memory;
        const bool old = memory.answered.note(packet.bth.psn);
        if (!is_ack(packet)) return;
        if (!old) memory.repeated.clear();
        if (memory.repeated.empty()) return;
        packet.bth.psn = memory.repeated.front();
        memory.repeated.pop_front();
    }
};

// ACK-04: a READ's PSN may stand in an ACK once its responses were sent.
class AcknowledgesBehindReads final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !has_aeth(packet) || !packet.info().ends_message()) return;
        wire::Packet ack = acknowledge(packet.bth.dest_qp, packet.bth.pkey, packet.bth.psn,
                                       packet.aeth.syndrome, packet.aeth.msn);
        ack.bth.mig_req = packet.bth.mig_req;
        passage.after.push_back(ack);
    }
};

struct Newest {
    NewestPsn answered;
    wire::Msn msn;
};

// ACK-04, ACK-11: what was acknowledged is acknowledged once more in front of the NAK.
class AcknowledgesBeforeNaks final : public QpFilter<Newest> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        Newest& memory = qp.memory;
        if (!is_nak(packet)) {
            memory.answered.note(packet.bth.psn);
            return;
        }
        if (!is_sequence_nak(packet) || memory.answered.psn != packet.bth.psn - 1) return;
        wire::Packet ack = acknowledge(packet.bth.dest_qp, packet.bth.pkey, packet.bth.psn - 1,
                                       wire::Syndrome::ack(wire::kNoCredits), packet.aeth.msn);
        ack.bth.mig_req = packet.bth.mig_req;
        passage.before.push_back(ack);
    }
};

bool takes_receive_at_once(const wire::OpcodeInfo& info) {
    return info.operation == Operation::Send && info.starts_message();
}
bool begins_plain(const wire::OpcodeInfo& info) {
    return info.starts_message() && !info.reserved() &&
           (info.operation == Operation::RdmaReadRequest ||
            (info.operation == Operation::RdmaWrite && !info.consumes_receive()));
}
// When answers leave.
struct TwelveMsLate {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 12ms, .next = earliest};
    }
};

struct PausesInsideReads {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool last = is_read_response(packet) && !packet.info().starts_message() &&
                          packet.info().ends_message();
        const wire::Instant at = last ? earliest + 4ms : earliest;
        return {.at = at, .next = at};
    }
};

// A QP's context is fetched when its first packet comes.
struct FirstAnswerLate {
    std::set<std::uint32_t> known;

    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool first = known.insert(packet.bth.dest_qp.value).second;
        const wire::Instant at = first ? earliest + 20ms : earliest;
        return {.at = at, .next = at};
    }
};

// KEY-10: which of two faults of one packet counts. Receives are looked at behind lengths.
RequestVerdict accept(const RequestView& /*view*/) {
    return RequestVerdict::Accept;
}
RequestVerdict receive_then_alignment(const RequestView& view) {
    const RequestVerdict ready = engine::request_check::receive_ready(view);
    return ready == RequestVerdict::Accept ? engine::request_check::atomic_alignment(view) : ready;
}

// KEY-11: with or without a NAK.
RequestVerdict nak_bad_invalidate(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::invalidate_key(view);
    return verdict == RequestVerdict::FailSilently ? RequestVerdict::NakRemoteAccess : verdict;
}

constexpr std::array kOddities{
    Mutant{.name = "duplicate_acknowledged_with_its_own_psn",
           .rule = "RSP-10",
           .description = "A duplicate SEND or WRITE draws an ACK of its own PSN with the MSN of "
                          "now.",
           .make_filter = make<AcknowledgesTheDuplicateItself>},
    Mutant{.name = "ack_behind_each_read",
           .rule = "ACK-04",
           .description = "The last response of each READ is followed by an ACK of the same PSN.",
           .make_filter = make<AcknowledgesBehindReads>},
    Mutant{.name = "ack_before_each_sequence_nak",
           .rule = "ACK-04",
           .description = "In front of each sequence NAK the newest ACK is repeated.",
           .make_filter = make<AcknowledgesBeforeNaks>},
    Mutant{.name = "occasional_rnr_for_send",
           .rule = "RNR-03",
           .description = "Each third SEND gets an RNR NAK although there is a receive, and "
                          "succeeds on retry.",
           .make_filter = make<LacksResources<takes_receive_at_once, 3, 1>>},
    Mutant{.name = "two_rnrs_for_one_write",
           .rule = "RNR-03",
           .description =
               "Each fourth plain WRITE or READ gets two RNR NAKs in a row, and succeeds "
               "at the third time.",
           .make_filter = make<LacksResources<begins_plain, 4, 2>>},
    Mutant{.name = "answers_after_twelve_ms",
           .rule = "TMO-07",
           .description = "Each answer leaves 12 ms late.",
           .make_filter = make<SendsLater<TwelveMsLate>>},
    Mutant{.name = "pause_inside_read_responses",
           .rule = "TMO-07",
           .description = "The LAST of a READ's responses leaves 4 ms after those before it.",
           .make_filter = make<SendsLater<PausesInsideReads>>},
    Mutant{.name = "first_answer_of_a_qp_late",
           .rule = "TMO-07",
           .description = "The first answer of each QP leaves 20 ms late.",
           .make_filter = make<SendsLater<FirstAnswerLate>>},
    Mutant{.name = "acks_twenty_ms_held_back",
           .rule = "TMO-07",
           .description = "One ACK answers all that came within 20 ms.",
           .behaviour = {.ack_policy = engine::AckPolicy::Delayed, .ack_delay = 20ms}},
    Mutant{
        .name = "each_second_ack_at_once",
        .rule = "ACK-03",
        .description = "One ACK answers two packets that ask, or what came within 5 ms.",
        .behaviour = {.ack_policy = engine::AckPolicy::EveryNth, .ack_every = 2, .ack_delay = 5ms}},
    Mutant{.name = "lengths_looked_at_before_receives",
           .rule = "KEY-10",
           .description = "A SEND of a wrong length is NAKed, even if it meets no receive.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady, accept)
                         .with(RequestCheck::AtomicAlignment, receive_then_alignment)},
    Mutant{.name = "bad_invalidate_naked",
           .rule = "KEY-11",
           .description = "A SEND that invalidates a bad key draws NAK Remote Access.",
           .checks = engine::kStandardChecks.with(RequestCheck::InvalidateKey, nak_bad_invalidate)},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind_answers

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind_answers() {
    return of_lawful_blind_answers::kOddities;
}

} // namespace veriroce::mutants
