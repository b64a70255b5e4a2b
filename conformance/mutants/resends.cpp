// Defects in messages of several packets that leave, once and again, and in retries.
#include <algorithm>
#include <deque>
#include <map>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_resends {
namespace {

using engine::SendCheck;
using engine::SendView;
using wire::Operation;
using wire::Position;

bool in_several_packets(const wire::Packet& packet) {
    return packet.info().request() && packet.info().carries_payload() &&
           packet.info().position != Position::Only;
}

// What a requester has sent, for the packets that follow.
struct Sent {
    static constexpr std::size_t kept = 64;

    struct Copy {
        wire::Packet packet;
        std::vector<std::byte> body;
    };

    std::map<std::uint32_t, Copy> copies; // by PSN, with their first bytes
    std::deque<std::uint32_t> order;
    std::optional<wire::Psn> newest;
    std::optional<wire::Psn> last; // that left, new or again

    [[nodiscard]] bool again(wire::Psn psn) const {
        return newest && wire::distance(psn, *newest) >= 0;
    }
    [[nodiscard]] const Copy* find(wire::Psn psn) const {
        const auto found = copies.find(psn.value());
        return found == copies.end() ? nullptr : &found->second;
    }
    void note(const wire::Packet& packet) {
        last = packet.bth.psn;
        if (again(packet.bth.psn)) return;
        newest = packet.bth.psn;
        Copy& copy = copies[packet.bth.psn.value()];
        copy.packet = packet;
        copy.body.assign(packet.body.begin(), packet.body.end());
        copy.packet.body = copy.body;
        order.push_back(packet.bth.psn.value());
        if (order.size() <= kept) return;
        copies.erase(order.front());
        order.pop_front();
    }
};

// A filter of what is sent again.
class EditsResent : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const wire::Packet original = passage.packet;
        if (qp.memory.again(original.bth.psn)) resent(qp.memory, passage);
        qp.memory.note(original);
    }
    virtual void resent(const Sent& sent, Passage& passage) = 0;
};

class FirstAsOnly final : public EditsResent {
  protected:
    void resent(const Sent& /*sent*/, Passage& passage) override {
        if (passage.packet.info().position == Position::First) {
            set_place(passage.packet, Position::Only);
        }
    }
};

// REQ-11: the packets of the message that were received come along.
class WholeMessage final : public EditsResent {
  protected:
    void resent(const Sent& sent, Passage& passage) override {
        const wire::Psn psn = passage.packet.bth.psn;
        const bool goes_on = sent.last && *sent.last + 1 == psn;
        if (goes_on || !in_several_packets(passage.packet)) return;
        const wire::Packet* packet = &passage.packet;
        for (wire::Psn before = psn; !packet->info().starts_message();) {
            before += -1;
            const Sent::Copy* copy = sent.find(before);
            if (copy == nullptr) return;
            packet = &copy->packet;
            passage.before.insert(passage.before.begin(), *packet);
        }
    }
};

class LeavesMiddlesOut final : public EditsResent {
  protected:
    void resent(const Sent& /*sent*/, Passage& passage) override {
        passage.dropped = passage.packet.info().position == Position::Middle;
    }
};

class RepeatsPieces final : public EditsResent {
  protected:
    void resent(const Sent& sent, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Sent::Copy* before = sent.find(packet.bth.psn + -1);
        if (!in_several_packets(packet) || packet.info().starts_message() || before == nullptr ||
            before->body.size() < packet.body.size()) {
            return;
        }
        packet.body = wire::Bytes(before->body).first(packet.body.size());
    }
};

void without_immediate(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (!info.immediate() || info.position != Position::Last) return;
    set_opcode(packet, info.operation, Position::Last);
}

class LosesImmediate final : public EditsResent {
  protected:
    void resent(const Sent& /*sent*/, Passage& passage) override {
        without_immediate(passage.packet);
    }
};

class AnnouncesLess final : public EditsResent {
  protected:
    void resent(const Sent& /*sent*/, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation == Operation::RdmaWrite &&
            packet.info().position == Position::First) {
            packet.reth.dma_length -= static_cast<std::uint32_t>(packet.body.size());
        }
    }
};

class OtherOperand final : public EditsResent {
  protected:
    void resent(const Sent& /*sent*/, Passage& passage) override {
        passage.packet.atomic.swap_or_add += 1;
    }
};

class RenumbersAtomics final : public EditsResent {
  protected:
    void resent(const Sent& sent, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_atomic_request(packet)) packet.bth.psn = *sent.newest + 1;
    }
};

// The first pass: all packets behind the first carry its bytes.
class RepeatsTheFirst final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!in_several_packets(packet)) return;
        qp.memory.note(packet);
        if (packet.info().starts_message()) return;
        const Sent::Copy* before = qp.memory.find(packet.bth.psn + -1);
        if (before != nullptr && before->body.size() >= packet.body.size()) {
            packet.body = wire::Bytes(before->body).first(packet.body.size());
        }
    }
};

struct Begun {
    bool yes = false;
};

// STA-10: RESET clears what this filter remembers of a QP, but for its last request.
class KeepsOldRequest final : public QpFilter<Begun> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        Old& old = old_[qp.report.qpn];
        const bool begins = !std::exchange(qp.memory.yes, true);
        if (begins && old.packet) {
            passage.before.push_back(*old.packet);
            passage.before.back().body = old.body;
            old.packet.reset();
            return;
        }
        old.body.assign(packet.body.begin(), packet.body.end());
        old.packet = packet;
    }

  private:
    struct Old {
        std::optional<wire::Packet> packet;
        std::vector<std::byte> body;
    };
    std::map<wire::Qpn, Old> old_;
};

void no_ack_request_of_long_ones(wire::Packet& packet) {
    if (in_several_packets(packet)) packet.bth.ack_request = false;
}

void compare_for_swap(wire::Packet& packet) {
    if (packet.info().operation == Operation::CompareSwap) {
        std::swap(packet.atomic.compare, packet.atomic.swap_or_add);
    }
}

void half_keys(wire::Packet& packet) {
    packet.reth.rkey.value &= 0xFFFF;
    packet.atomic.rkey.value &= 0xFFFF;
}

void half_operands(wire::Packet& packet) {
    packet.atomic.compare &= 0xFFFFFFFF;
    packet.atomic.swap_or_add &= 0xFFFFFFFF;
}

void write_immediate_zero(wire::Packet& packet) {
    if (packet.info().operation == Operation::RdmaWrite && packet.info().immediate()) {
        packet.imm.value = 0;
    }
}

// RNR-08
class HurriesLongMessages final : public QpFilter<Sent> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Sent::Copy* refused = qp.memory.find(packet.bth.psn);
        if (is_rnr_nak(packet) && refused != nullptr && in_several_packets(refused->packet)) {
            packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note(passage.packet);
    }
};

// REQ-12: the device answers a sequence NAK without counting it.
class CountsNoNaks final : public QpFilter<Sent> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Sent& sent = qp.memory;
        if (!is_sequence_nak(packet) || !sent.again(packet.bth.psn)) return;
        passage.dropped = true;
        for (wire::Psn psn = packet.bth.psn; sent.again(psn); psn += 1) {
            if (const Sent::Copy* copy = sent.find(psn)) passage.answers.push_back(copy->packet);
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note(passage.packet);
    }
};

// N-10
bool timeouts_cost_an_rnr_retry(const SendView& view) {
    const unsigned used = unsigned{view.outbound.retries} + view.outbound.rnr_retries;
    return engine::send_check::rnr_retry_left(view) && used < view.connection.rnr_retry;
}

// REQ-18: a NAK from beyond what was sent acknowledges all of it.
class NakAheadAcknowledges final : public QpFilter<Sent> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Sent& sent = qp.memory;
        if (!is_sequence_nak(packet) && !is_rnr_nak(packet)) return;
        if (!sent.newest || sent.again(packet.bth.psn)) return;
        packet.bth.psn = *sent.newest;
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note(passage.packet);
    }
};

// CNP-12
class CnpAcknowledges final : public QpFilter<Sent> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.bth.opcode != wire::kCnpOpcode || !qp.memory.newest) return;
        packet = acknowledge(packet.bth.dest_qp, packet.bth.pkey, *qp.memory.newest,
                             wire::Syndrome::ack(wire::kNoCredits), {});
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note(passage.packet);
    }
};

struct AskedReads {
    std::deque<wire::Psn> open; // of READs of one packet, oldest first
};

// N-38: a response that was taken before is taken for the next that is due.
class TakesSurplus final : public QpFilter<AskedReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& open = qp.memory.open;
        if (is_read_request(packet) && std::ranges::find(open, packet.bth.psn) == open.end()) {
            open.push_back(packet.bth.psn);
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& open = qp.memory.open;
        if (!is_read_response(packet) || open.empty()) return;
        if (wire::distance(packet.bth.psn, open.front()) > 0) packet.bth.psn = open.front();
        if (packet.bth.psn == open.front() && packet.info().ends_message()) open.pop_front();
    }
};

void reserved_syndrome_as_ack(wire::Packet& packet) {
    if (packet.info().operation == Operation::Acknowledge && has_aeth(packet) &&
        packet.aeth.syndrome.kind() == wire::AckKind::Reserved) {
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    }
}

bool empty_read_response(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_read_response(*packet) && packet->body.empty();
}

// A filter of what arrives, by what was sent with its PSN.
class EditsAnswers : public QpFilter<Sent> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const Sent::Copy* request = qp.memory.find(passage.packet.bth.psn);
        if (request != nullptr && passage.packet.info().response()) {
            answer(request->packet, passage);
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note(passage.packet);
    }
    virtual void answer(const wire::Packet& request, Passage& passage) = 0;
};

// REQ-24
class ResponseAcknowledges final : public EditsAnswers {
  protected:
    void answer(const wire::Packet& request, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !request.info().carries_payload()) return;
        packet = acknowledge(packet.bth.dest_qp, packet.bth.pkey, packet.bth.psn,
                             wire::Syndrome::ack(wire::kNoCredits), packet.aeth.msn);
    }
};

// REQ-16
class OverlooksNaksInside final : public EditsAnswers {
  protected:
    void answer(const wire::Packet& request, Passage& passage) override {
        passage.dropped = is_fatal_nak(passage.packet) && !request.info().ends_message();
    }
};

class AsksAgainAfterNak final : public EditsAnswers {
  protected:
    void answer(const wire::Packet& request, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_read_request(request) && is_fatal_nak(packet)) {
            packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
        }
    }
};

struct AskedRead {
    std::optional<wire::Packet> read; // the newest; it has no body
    std::optional<wire::Psn> from;    // that a sequence NAK inside it named
};

// N-12, REQ-09: what came before the NAK's PSN is taken for received.
class GoesOnAtNak final : public QpFilter<AskedRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto& read = qp.memory.read;
        if (!is_sequence_nak(packet) || !read) return;
        const std::int32_t inside = wire::distance(read->bth.psn, packet.bth.psn);
        const auto packets = wire::packets_of(read->reth.dma_length, qp.mtu());
        if (inside <= 0 || static_cast<std::uint32_t>(inside) >= packets) return;
        qp.memory.from = packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto from = qp.memory.from;
        if (!from) {
            qp.memory.read = packet;
            qp.memory.read->body = {};
            return;
        }
        const auto packets = static_cast<std::uint32_t>(wire::distance(packet.bth.psn, *from));
        const std::uint32_t bytes = packets * wire::bytes_of(qp.mtu());
        packet.bth.psn = *from;
        packet.reth.virtual_address += bytes;
        packet.reth.dma_length -= bytes;
        qp.memory.from.reset();
    }
};

// REQ-09: the responses of a READ are counted from the first that comes.
engine::ResponseVerdict overlook_lost_first(const engine::ResponseView& view) {
    const engine::ResponseVerdict verdict = engine::response_check::read_order(view);
    const bool first_lost = view.request && is_read_response(view.packet) &&
                            view.request->expected_response == view.request->first &&
                            wire::distance(view.request->first, view.packet.bth.psn) > 0;
    return first_lost ? engine::ResponseVerdict::Take : verdict;
}

// RNR-09
bool sixty_four_are_for_ever(const SendView& view) {
    constexpr unsigned most = 64;
    return engine::send_check::rnr_retry_left(view) && view.outbound.rnr_retries < most;
}

// REQ-21
engine::ResponseVerdict short_read_taken(const engine::ResponseView& view) {
    const engine::ResponseVerdict verdict = engine::response_check::read_length(view);
    const bool fits = view.request && view.packet.payload().size() <= view.request->length;
    return fits ? engine::ResponseVerdict::Take : verdict;
}

template <bool (*Concerned)(engine::WrOpcode), bool (*Check)(const SendView&)>
bool or_concerned(const SendView& view) {
    return Concerned(view.request.opcode) || Check(view);
}

// N-22
class SucceedsWithoutRegion final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.queue == engine::Queue::Send && seen.status == engine::WcStatus::LocProtErr) {
            seen.status = engine::WcStatus::Success;
        }
        return seen;
    }
};

bool a_write(engine::WrOpcode opcode) {
    return opcode == engine::WrOpcode::RdmaWrite || opcode == engine::WrOpcode::RdmaWriteWithImm;
}

constexpr std::array kMutants{
    Mutant{.name = "first_packet_resent_as_only",
           .rule = "REQ-32",
           .description = "When the FIRST of a message is sent again, it leaves as an ONLY.",
           .cases = "req/each-fourth-signaled req/each-packet-late req/long-send-timeout "
                    "req/long-write-timeout rnr/long-message",
           .make_filter = make<FirstAsOnly>},
    Mutant{.name = "resend_starts_at_the_message",
           .rule = "REQ-11",
           .description = "A resend that begins inside a message sends the whole message again.",
           .judge_cases =
               "req/long-send-nak req/long-send-nak-last req/long-write-nak "
               "req/long-write-nak-last req/long-message-pieces req/long-message-in-a-queue",
           .make_filter = make<WholeMessage>},
    Mutant{.name = "middle_skipped_on_resend",
           .rule = "REQ-32",
           .description = "MIDDLEs are left out when a message is sent again.",
           .cases =
               "load/mixed-under-loss req/each-packet-lost req/long-send-nak req/long-send-timeout "
               "req/long-write-nak req/long-write-timeout",
           .make_filter = make<LeavesMiddlesOut>},
    Mutant{.name = "second_piece_repeated_on_resend",
           .rule = "REQ-31",
           .description = "A MIDDLE or LAST that is sent again carries the bytes of the packet "
                          "before it.",
           .cases = "req/long-send-nak req/long-write-timeout req/long-message-pieces "
                    "req/long-message-in-a-queue",
           .make_filter = make<RepeatsPieces>},
    Mutant{.name = "last_with_imm_loses_imm",
           .rule = "REQ-34",
           .description = "The LAST WITH IMMEDIATE of a message leaves as a plain LAST.",
           .cases = "req/immediates-that-wait-together req/long-send-immediate "
                    "req/long-write-immediate",
           .make_filter = make<EditsOutbound<without_immediate>>},
    Mutant{.name = "resent_last_loses_imm",
           .rule = "REQ-31",
           .description = "A LAST WITH IMMEDIATE that is sent again leaves as a plain LAST.",
           .cases = "req/long-send-nak-last req/long-write-nak-last rnr/last-with-immediate",
           .make_filter = make<LosesImmediate>},
    Mutant{.name = "resent_write_announces_the_rest",
           .rule = "REQ-31",
           .description = "A WRITE FIRST that is sent again announces the bytes behind it only.",
           .cases = "req/long-write-timeout",
           .make_filter = make<AnnouncesLess>},
    Mutant{.name = "resent_atomic_with_another_operand",
           .rule = "REQ-31",
           .description = "An atomic that is sent again adds or writes one more.",
           .cases = "atm/compare-swap-resent atm/lost-answer",
           .make_filter = make<OtherOperand>},
    Mutant{.name = "resent_atomic_gets_a_new_psn",
           .rule = "ATM-11",
           .description = "An atomic that is sent again leaves with the next new PSN.",
           .cases = "atm/compare-swap-resent atm/lost-answer",
           .make_filter = make<RenumbersAtomics>},
    Mutant{.name = "packet_repeats_the_one_before",
           .rule = "REQ-34",
           .description = "MIDDLEs and LASTs carry the bytes of the packet before them.",
           .cases = "req/at-every-power req/every-send-length req/four-at-once "
                    "req/long-send-bytes req/long-write-bytes",
           .make_filter = make<RepeatsTheFirst>},
    Mutant{.name = "never_asks_for_an_ack_of_a_long_message",
           .rule = "BTH-18",
           .description = "Messages of several packets ask for no ACK.",
           .cases = "req/send-asks-for-an-ack req/write-asks-for-an-ack",
           .make_filter = make<EditsOutbound<no_ack_request_of_long_ones>>},
    Mutant{.name = "compare_and_swap_operands_swapped",
           .rule = "ATM-01",
           .description = "COMPARE_SWAP leaves with its two operands in the place of each other.",
           .cases = "atm/operands-sent",
           .make_filter = make<EditsOutbound<compare_for_swap>>},
    Mutant{.name = "operand_high_half_not_sent",
           .rule = "ATM-01",
           .description = "Atomics leave with only the low 32 bits of their operands.",
           .cases = "atm/operands-sent",
           .make_filter = make<EditsOutbound<half_operands>>},
    Mutant{.name = "old_request_sent_after_reset",
           .rule = "STA-10",
           .description = "The last request from before RESET leaves before the first one of the "
                          "next connection.",
           .cases = "sta/end-of-a-forgotten-wait sta/reset-forgets-a-wait "
                    "sta/reset-forgets-requests",
           .make_filter = make<KeepsOldRequest>},
    Mutant{.name = "key_high_half_not_sent",
           .rule = "REQ-31",
           .description = "The R_Key in a RETH or AtomicETH leaves with its low 16 bits alone.",
           .cases = "req/key-bits",
           .make_filter = make<EditsOutbound<half_keys>>},
    Mutant{.name = "immediate_of_write_not_sent",
           .rule = "REQ-34",
           .description = "WRITEs with immediate leave with the immediate 0.",
           .cases = "req/immediate-bits req/long-write-immediate",
           .make_filter = make<EditsOutbound<write_immediate_zero>>},
    Mutant{.name = "rnr_wait_skipped_by_long_messages",
           .rule = "RNR-08",
           .description =
               "An RNR NAK for a message of several packets is taken for a sequence NAK.",
           .cases = "rnr/long-message rnr/last-with-immediate",
           .make_filter = make<HurriesLongMessages>},
    Mutant{.name = "sequence_nak_costs_no_retry",
           .rule = "REQ-12",
           .description = "After a sequence NAK the requester sends again, however many retries "
                          "are left.",
           .cases = "req/no-retry-left req/no-retry-left-of-a-read",
           .make_filter = make<CountsNoNaks>},
    Mutant{.name = "write_retried_for_ever",
           .rule = "TMO-03",
           .description = "WRITEs are sent again without end, whatever retry_cnt says.",
           .cases = "tmo/write-retry-exceeded",
           .checks = engine::kStandardChecks.with(
               SendCheck::RetryLeft, or_concerned<a_write, engine::send_check::retry_left>)},
    Mutant{.name = "read_and_atomic_retried_for_ever",
           .rule = "TMO-03",
           .description = "READs and atomics are sent again without end, whatever retry_cnt says.",
           .cases = "tmo/read-retry-exceeded tmo/atomic-retry-exceeded",
           .checks = engine::kStandardChecks.with(
               SendCheck::RetryLeft,
               or_concerned<engine::brings_data, engine::send_check::retry_left>)},
    Mutant{.name = "rnr_retries_of_reads_not_counted",
           .rule = "RNR-15",
           .description = "READs and atomics obey any number of RNR NAKs, whatever rnr_retry says.",
           .cases = "rnr/read-retry-exceeded rnr/atomic-retry-exceeded",
           .checks = engine::kStandardChecks.with(
               SendCheck::RnrRetryLeft,
               or_concerned<engine::brings_data, engine::send_check::rnr_retry_left>)},
    Mutant{.name = "rnr_retries_of_writes_not_counted",
           .rule = "RNR-09",
           .description = "WRITEs with immediate obey any number of RNR NAKs, whatever rnr_retry "
                          "says.",
           .cases = "rnr/write-retry-exceeded",
           .checks = engine::kStandardChecks.with(
               SendCheck::RnrRetryLeft, or_concerned<a_write, engine::send_check::rnr_retry_left>)},
    Mutant{.name = "timeouts_use_up_rnr_retry",
           .rule = "N-10",
           .description = "Each timeout costs one of rnr_retry as well.",
           .cases = "n/timeouts-and-rnr",
           .checks =
               engine::kStandardChecks.with(SendCheck::RnrRetryLeft, timeouts_cost_an_rnr_retry)},
    Mutant{.name = "nak_ahead_acknowledges",
           .rule = "REQ-18",
           .description = "A sequence NAK or RNR NAK for a PSN that was never sent acknowledges "
                          "all that was.",
           .cases = "req/retry-nak-outside",
           .make_filter = make<NakAheadAcknowledges>},
    Mutant{.name = "cnp_taken_for_an_ack",
           .rule = "CNP-12",
           .description = "A CNP acknowledges all requests.",
           .cases = "cnp/while-requesting",
           .make_filter = make<CnpAcknowledges>},
    Mutant{.name = "surplus_response_taken_for_the_next",
           .rule = "N-38",
           .description = "A READ response that comes again is taken for that of the next READ.",
           .cases = "req/answered-read-again req/surplus-response",
           .make_filter = make<TakesSurplus>},
    Mutant{.name = "short_read_response_succeeds",
           .rule = "REQ-21",
           .description = "A READ response with too few bytes completes its READ.",
           .cases = "req/response-too-short",
           .checks =
               engine::kStandardChecks.with(engine::ResponseCheck::ReadLength, short_read_taken)},
    Mutant{.name = "reserved_syndrome_taken_for_an_ack",
           .rule = "REQ-17",
           .description = "A response with the reserved syndrome type is taken for an ACK.",
           .cases = "req/every-reserved-syndrome req/reserved-syndrome "
                    "req/reserved-syndrome-behind-others",
           .make_filter = make<EditsInbound<reserved_syndrome_as_ack>>},
    Mutant{.name = "read_response_acknowledges_a_send",
           .rule = "REQ-24",
           .description = "A READ response for the PSN of a SEND or WRITE is taken for its ACK.",
           .cases = "req/read-response-to-a-send",
           .make_filter = make<ResponseAcknowledges>},
    Mutant{.name = "fatal_nak_inside_a_message_overlooked",
           .rule = "REQ-16",
           .description = "A fatal NAK for a FIRST or MIDDLE is ignored.",
           .cases = "req/fatal-nak-inside-a-write req/nak-invalid-request-in-each-packet "
                    "req/nak-remote-access-in-each-packet "
                    "req/nak-remote-operational-in-each-packet",
           .make_filter = make<OverlooksNaksInside>},
    Mutant{.name = "fatal_nak_to_a_read_taken_for_a_gap",
           .rule = "REQ-16",
           .description = "A fatal NAK for a READ makes the requester ask again.",
           .cases = "req/fatal-nak-to-a-read req/nak-of-each-operation",
           .make_filter = make<AsksAgainAfterNak>},
    Mutant{.name = "nak_inside_a_read_asks_from_there",
           .rule = "N-12",
           .description =
               "After a sequence NAK inside a READ the requester asks for what is behind "
               "its PSN only.",
           .cases = "n/nak-inside-a-read",
           .make_filter = make<GoesOnAtNak>},
    Mutant{.name = "empty_read_response_dropped",
           .rule = "N-36",
           .description = "READ responses without payload are dropped.",
           .cases = "req/zero-length",
           .make_filter = make<DropsInbound<empty_read_response>>},
    Mutant{.name = "lost_first_read_response_overlooked",
           .rule = "REQ-09",
           .description = "When the first response of a READ is lost, the next one is taken.",
           .cases = "req/each-answer-lost req/lost-first-read-response",
           .checks =
               engine::kStandardChecks.with(engine::ResponseCheck::ReadOrder, overlook_lost_first)},
    Mutant{.name = "rnr_seven_is_sixty_four",
           .rule = "RNR-09",
           .description = "With rnr_retry 7 the requester gives up after 64 RNR NAKs.",
           .cases = "rnr/for-ever",
           .checks =
               engine::kStandardChecks.with(SendCheck::RnrRetryLeft, sixty_four_are_for_ever)},
    Mutant{.name = "faulty_request_succeeds",
           .rule = "N-22",
           .description = "A request that meets a protection error in its own memory completes "
                          "with SUCCESS; the QP is in ERR behind it.",
           .cases = "req/into-read-only-memory req/read-into-a-lost-region sta/local-error "
                    "sta/read-of-bad-memory-behind-another "
                    "sta/send-of-bad-memory-behind-another",
           .make_filter = make<SucceedsWithoutRegion>},
};

} // namespace
} // namespace veriroce::mutants::of_resends

namespace veriroce::mutants {

std::span<const Mutant> resends() {
    return of_resends::kMutants;
}

} // namespace veriroce::mutants
