// Defects in answers and CNPs.
#include <algorithm>
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_answers {
namespace {

class RepeatsFatalNaks final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        if (is_fatal_nak(passage.packet)) passage.after.push_back(passage.packet);
    }
};

void rnr_counted(wire::Packet& packet) {
    if (is_rnr_nak(packet)) packet.aeth.msn = packet.aeth.msn + 1;
}

void atomic_not_counted(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::AtomicAcknowledge) {
        packet.aeth.msn = packet.aeth.msn + -1;
    }
}

struct Body {
    std::vector<std::byte> bytes; // of the packet that is changed, or of the last one
};

class ShiftsMiddles final : public QpFilter<Body> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || packet.info().position != wire::Position::Middle) return;
        auto& bytes = qp.memory.bytes;
        bytes.assign(packet.body.begin(), packet.body.end());
        std::ranges::rotate(bytes, bytes.end() - 1);
        packet.body = bytes;
    }
};

class LastRepeats final : public QpFilter<Body> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        auto& bytes = qp.memory.bytes;
        if (packet.info().position == wire::Position::Last && bytes.size() >= packet.body.size()) {
            packet.body = wire::Bytes(bytes).first(packet.body.size());
        } else {
            bytes.assign(packet.body.begin(), packet.body.end());
        }
    }
};

struct Answered {
    std::optional<wire::Psn> newest;
    wire::Msn msn;

    [[nodiscard]] bool before(wire::Psn psn) const {
        return newest && wire::distance(psn, *newest) >= 0;
    }
    void note(const wire::Packet& packet) {
        if (!packet.info().response() || is_rnr_nak(packet) || is_sequence_nak(packet)) return;
        if (!before(packet.bth.psn)) newest = packet.bth.psn;
        if (has_aeth(packet)) msn = packet.aeth.msn;
    }
};

class NaksDuplicateReads final : public QpFilter<Answered> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Answered& answered = qp.memory;
        if (!is_read_request(packet) || !answered.before(packet.bth.psn)) return;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, *answered.newest + 1,
                                              wire::Syndrome::nak(wire::NakCode::PsnSequence),
                                              answered.msn));
    }
    void leaves(Qp& qp, Passage& passage) override { qp.memory.note(passage.packet); }
};

class ForgetsOriginals final : public QpFilter<Answered> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation == wire::Operation::AtomicAcknowledge &&
            qp.memory.before(packet.bth.psn)) {
            ++packet.atomic_ack.original;
        }
        qp.memory.note(packet);
    }
};

// ATM-09: the device remembers the value for all QPs.
class ReturnsTwice final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().operation == wire::Operation::AtomicAcknowledge) {
            if (last_ && last_->first != packet->bth.dest_qp) {
                packet->atomic_ack.original = last_->second;
            }
            last_ = {packet->bth.dest_qp, packet->atomic_ack.original};
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<std::pair<wire::Qpn, std::uint64_t>> last_; // to whom, and what
};

// ATM-09: two that are carried out at once find the same value; the sum is right.
class ReturnsOneValue final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr wire::Duration at_once = std::chrono::microseconds(300);
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().operation == wire::Operation::AtomicAcknowledge) {
            const bool other = last_ && last_->peer != packet->bth.dest_qp;
            if (other && now - last_->at < at_once) {
                packet->atomic_ack.original = last_->original;
                datagram.bytes = bytes_of(*packet);
            }
            last_ = {packet->bth.dest_qp, packet->atomic_ack.original, now};
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Last {
        wire::Qpn peer;
        std::uint64_t original = 0;
        wire::Instant at;
    };
    std::optional<Last> last_;
};

engine::RequestVerdict accepted(const engine::RequestView& /*view*/) {
    return engine::RequestVerdict::Accept;
}

// N-29: a sequence NAK does not keep it from telling that the data is in place.
class FlushesBehindGaps final : public QpFilter<std::optional<wire::Psn>> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().operation != wire::Operation::Flush) return;
        qp.memory = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& nak = passage.packet;
        if (!is_sequence_nak(nak) || !qp.memory || distance(nak.bth.psn, *qp.memory) <= 0) return;
        wire::Packet answer = nak;
        set_opcode(answer, wire::Operation::RdmaReadResponse, wire::Position::Only);
        answer.bth.psn = *qp.memory;
        answer.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
        passage.after.push_back(answer);
    }
};

struct OpenReads {
    std::uint32_t count = 0;
    std::optional<wire::Psn> extra; // the first beyond the agreed number
    std::vector<std::byte> zeros;
};

// RDR-09: what it has no room to remember it answers with nothing in particular.
class ForgetsExtraReads final : public QpFilter<OpenReads> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!is_read_request(passage.packet)) return;
        const auto most = qp.report.attributes.max_dest_rd_atomic.value_or(1);
        if (++qp.memory.count > most) qp.memory.extra = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        OpenReads& open = qp.memory;
        if (!is_read_response(packet)) return;
        if (open.extra && distance(*open.extra, packet.bth.psn) >= 0) {
            open.zeros.resize(packet.body.size());
            packet.body = open.zeros;
        }
        const auto place = packet.info().position;
        if (place == wire::Position::Last || place == wire::Position::Only) --open.count;
    }
};

void asks_for_an_ack(wire::Packet& packet) {
    if (is_ack(packet)) packet.bth.ack_request = true;
}

void solicited(wire::Packet& packet) {
    if (is_ack(packet)) packet.bth.solicited = true;
}

void rnr_code_31(wire::Packet& packet) {
    constexpr std::uint8_t half_a_second = 31;
    if (is_rnr_nak(packet)) packet.aeth.syndrome = wire::Syndrome::rnr(half_a_second);
}

void cnp_psn(wire::Packet& packet) {
    if (packet.bth.opcode == wire::kCnpOpcode) packet.bth.psn += 1;
}

constexpr std::array kMutants{
    Mutant{.name = "fatal_nak_sent_twice",
           .rule = "N-07",
           .description = "NAKs that end the QP are sent twice.",
           .cases = "ext/flush-refused key/unknown-rkey key/window-outside sta/fatal-nak",
           .make_filter = make<RepeatsFatalNaks>},
    Mutant{.name = "rnr_nak_counts_its_message",
           .rule = "ACK-08",
           .description = "RNR NAKs carry the MSN with the message that they refuse.",
           .cases = "rnr/no-receive rnr/shared-queue",
           .make_filter = make<EditsOutbound<rnr_counted>>},
    Mutant{.name = "atomic_not_in_its_msn",
           .rule = "ATM-10",
           .description = "ATOMIC ACKNOWLEDGEs carry the MSN from before the atomic.",
           .cases = "atm/compare-swap atm/fetch-add",
           .make_filter = make<EditsOutbound<atomic_not_counted>>},
    Mutant{.name = "read_data_shifted_in_middle_packets",
           .rule = "RDR-01",
           .description = "READ RESPONSE MIDDLEs carry their payload one byte too late.",
           .cases = "rdr/response-opcodes rdr/duplicate",
           .make_filter = make<ShiftsMiddles>},
    Mutant{.name = "second_half_of_a_read_repeats_the_first",
           .rule = "RDR-01",
           .description = "The LAST of a READ response carries the bytes of the packet before it.",
           .cases = "rdr/response-opcodes rdr/tail",
           .make_filter = make<LastRepeats>},
    Mutant{.name = "flush_answered_behind_a_gap",
           .rule = "N-29",
           .description = "A FLUSH is answered although a packet in front of it is lost.",
           .cases = "ext/flush-behind-a-gap",
           .make_filter = make<FlushesBehindGaps>},
    Mutant{.name = "extra_reads_bring_zeros",
           .rule = "RDR-09",
           .description = "READs beyond max_dest_rd_atomic are answered with zeros.",
           .cases = "rdr/more-than-agreed",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReplyResources, accepted),
           .make_filter = make<ForgetsExtraReads>},
    Mutant{.name = "duplicate_read_gets_a_nak",
           .rule = "RDR-04",
           .description = "A duplicate READ draws a sequence NAK and no data.",
           .cases = "rdr/as-many-as-agreed rdr/duplicate rdr/tail "
                    "rnr/duplicate-while-waiting rsp/each-answer-lost",
           .make_filter = make<NaksDuplicateReads>},
    Mutant{.name = "duplicate_atomic_returns_present_value",
           .rule = "ATM-04",
           .description =
               "The answer to a duplicate atomic carries another value than the first answer.",
           .cases = "atm/duplicate atm/replay-cache n/one-pool",
           .make_filter = make<ForgetsOriginals>},
    Mutant{
        .name = "atomic_value_returned_twice",
        .rule = "ATM-09",
        .description =
            "After an atomic of another QP the next one returns the value that the other returned.",
        .cases = "atm/two-qps",
        .make_filter = make<ReturnsTwice>},
    Mutant{.name = "atomics_at_once_return_one_value",
           .rule = "ATM-09",
           .description = "Atomics of two QPs that are answered at the same time return the same "
                          "value; no addition is lost.",
           .cases = "atm/two-qps",
           .make_filter = make<ReturnsOneValue>},
    Mutant{.name = "ack_asks_for_an_ack",
           .rule = "BTH-19",
           .description = "ACKs leave with AckReq set.",
           .cases = "bth/answer-flags",
           .make_filter = make<EditsOutbound<asks_for_an_ack>>},
    Mutant{.name = "ack_sent_solicited",
           .rule = "BTH-19",
           .description = "ACKs leave with SE set.",
           .cases = "bth/answer-flags",
           .make_filter = make<EditsOutbound<solicited>>},
    Mutant{.name = "rnr_code_always_half_a_second",
           .rule = "RNR-07",
           .description =
               "RNR NAKs carry timer code 31 (491.52 ms), whatever the QP was set up with.",
           .cases = "rnr/timer-code",
           .make_filter = make<EditsOutbound<rnr_code_31>>},
    Mutant{.name = "cnp_with_a_psn",
           .rule = "CNP-02",
           .description = "CNPs leave with PSN 1.",
           .cases = "crc/congestion-mark",
           .make_filter = make<EditsOutbound<cnp_psn>>},
};

} // namespace
} // namespace veriroce::mutants::of_answers

namespace veriroce::mutants {

std::span<const Mutant> answers() {
    return of_answers::kMutants;
}

} // namespace veriroce::mutants
