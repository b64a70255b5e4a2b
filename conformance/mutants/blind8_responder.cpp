// Written blind, eighth sample: responders with duplicates, RNR NAKs, gaps, MSNs, READs, atomics,
// FLUSH, ATOMIC WRITE, keys and states.
#include <cstring>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind8_responder {
namespace {

using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

// --- checks

RequestVerdict duplicates_need_receives(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool finds_none = view.info.consumes_receive() && view.info.position == Position::Only &&
                            view.inbound.open == engine::OpenMessage::None && !view.receive_ready;
    return verdict == RequestVerdict::Duplicate && finds_none ? RequestVerdict::Rnr : verdict;
}

RequestVerdict foreign_windows_stay(const RequestView& view) {
    const auto verdict = engine::request_check::invalidate_key(view);
    if (!view.info.invalidates()) return verdict;
    const wire::Rkey key = view.packet.ieth.rkey;
    const engine::Region& slot = view.memory.slot(key.value);
    const bool foreign = slot.live && slot.key == key.value &&
                         slot.kind == engine::KeyKind::WindowType2 &&
                         slot.owner != view.connection.qpn;
    return foreign ? RequestVerdict::Accept : verdict;
}

// --- packets

void empty_write_asks_for_nothing(wire::Packet& packet) {
    const bool write =
        packet.info().operation == Operation::RdmaWrite && packet.info().position == Position::Only;
    if (write && packet.reth.dma_length == 0) packet.bth.ack_request = false;
}

void local_fault_is_invalid_request(wire::Packet& packet) {
    if (!is_nak(packet)) return;
    if (packet.aeth.syndrome.nak_code() != wire::NakCode::RemoteOperational) return;
    packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::InvalidRequest);
}

void more_credits_than_receives(wire::Packet& packet) {
    const wire::Syndrome syndrome = packet.aeth.syndrome;
    if (!is_ack(packet) || syndrome.code() + 1U >= wire::kNoCredits) return;
    packet.aeth.syndrome = wire::Syndrome::ack(static_cast<std::uint8_t>(syndrome.code() + 1U));
}

class AtomicWriteReversed final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().operation == Operation::AtomicWrite) {
            std::ranges::reverse(wire::MutableBytes(datagram.bytes).last(packet->body.size()));
        }
        in.push_back(std::move(datagram));
    }
};

// A packet that no responder accepts inside a message.
void make_illegal(wire::Packet& packet) {
    set_opcode(packet, Operation::Send, Position::Only);
}

// --- RNR NAKs

struct RnrNaked : Arrivals {
    std::optional<wire::Psn> naked; // the request that was RNR NAKed, until it comes again
    std::int32_t counted_again = 0;
};

// A filter that knows which request was RNR NAKed.
class KnowsRnrNaked : public PlacesRequests<RnrNaked> {
  protected:
    // `again`: this request was RNR NAKed.
    virtual void knowing(Qp& qp, Passage& passage, Place place, bool again) = 0;
    virtual void response_leaves(Qp& /*qp*/, wire::Packet& /*packet*/) {}

    void requested(Qp& qp, Passage& passage, Place place) final {
        const bool expected = place == Place::Expected;
        auto& naked = qp.memory.naked;
        knowing(qp, passage, place, expected && naked == passage.packet.bth.psn);
        if (expected) naked.reset();
    }
    void answered(Qp& qp, Passage& passage) final {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        if (is_rnr_nak(packet)) qp.memory.naked = packet.bth.psn;
        response_leaves(qp, packet);
    }
};

class DuplicateReadDroppedInRnrWait final : public KnowsRnrNaked {
  protected:
    void knowing(Qp& qp, Passage& passage, Place place, bool /*again*/) override {
        if (place != Place::Behind || !qp.memory.naked) return;
        passage.dropped = is_read_request(passage.packet);
    }
};

class RnrNakedNotAcked final : public KnowsRnrNaked {
  protected:
    void knowing(Qp& /*qp*/, Passage& passage, Place /*place*/, bool again) override {
        if (again) passage.packet.bth.ack_request = false;
    }
};

class RnrNakedCountedTwice final : public KnowsRnrNaked {
  protected:
    void knowing(Qp& qp, Passage& /*passage*/, Place /*place*/, bool again) override {
        if (again) ++qp.memory.counted_again;
    }
    void response_leaves(Qp& qp, wire::Packet& packet) override {
        if (has_aeth(packet)) packet.aeth.msn = packet.aeth.msn + qp.memory.counted_again;
    }
};

struct RefusedWrite {
    OpenWrite write;
    std::optional<wire::Psn> naked;
    std::vector<std::byte> body; // of the packet that passes
};

// The address has advanced when the packet comes that was RNR NAKed.
class RnrNakedWriteMovesOn final : public DmaFilter<RefusedWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [write, naked, body] = qp.memory;
        const bool writes = write.note(packet, qp.first_request(), qp.mtu());
        if (!writes || naked != packet.bth.psn || !packet.info().immediate()) return;
        naked.reset();
        const auto payload = packet.payload();
        const auto here = regions().at(write.reth.rkey, write.begin, payload.size());
        const auto behind =
            regions().at(write.reth.rkey, write.begin + payload.size(), payload.size());
        if (here.empty() || behind.empty()) return;
        std::ranges::copy(payload, behind.begin());
        body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(here, body.begin());
        packet.body = body;
    }
    void leaves(Qp& qp, Passage& passage) override {
        heed_nak(qp.memory.write.arrivals, passage.packet);
        if (is_rnr_nak(passage.packet)) qp.memory.naked = passage.packet.bth.psn;
    }
};

class NoRnrNakInSqd final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        passage.dropped = is_rnr_nak(passage.packet) && qp.report.state == QpState::Sqd;
    }
};

// --- gaps

struct AheadInWrite : Arrivals {
    bool ahead = false; // a packet of the open WRITE came ahead of a lost one
};

class BytesAheadOfGapCounted final : public PlacesRequests<AheadInWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        AheadInWrite& memory = qp.memory;
        const bool inside = info.service == wire::Service::Rc &&
                            info.operation == Operation::RdmaWrite && !info.starts_message();
        if (place == Place::Ahead) {
            memory.ahead |= memory.open && inside;
        } else if (place == Place::Expected && (info.starts_message() || info.ends_message())) {
            if (memory.ahead && inside) make_illegal(passage.packet);
            memory.ahead = false;
        }
    }
};

struct NakedGap : Arrivals {
    bool naked = false;     // the QP waits for what it NAKed
    std::uint64_t then = 0; // how many requests all QPs had taken
    wire::Msn msn;          // told last
};

class OtherQpRearmsNak final : public PlacesRequests<NakedGap> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        NakedGap& memory = qp.memory;
        if (place == Place::Expected) {
            ++taken_;
            memory.naked = false;
        } else if (place == Place::Ahead && memory.naked && memory.then != taken_) {
            memory.then = taken_;
            passage.answers.push_back(acknowledge(
                qp.peer(), passage.packet.bth.pkey, memory.next.value_or(qp.first_request()),
                wire::Syndrome::nak(wire::NakCode::PsnSequence), memory.msn));
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        if (has_aeth(packet)) qp.memory.msn = packet.aeth.msn;
        if (!is_sequence_nak(packet)) return;
        qp.memory.naked = true;
        qp.memory.then = taken_;
    }

  private:
    std::uint64_t taken_ = 0; // requests, by all QPs
};

class NoSequenceNakBeforeRts final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        passage.dropped = is_sequence_nak(passage.packet) && qp.report.state == QpState::Rtr;
    }
};

struct Naks {
    std::uint32_t count = 0;
};

class FourSequenceNaks final : public QpFilter<Naks> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t most = 4;
        if (is_sequence_nak(passage.packet)) passage.dropped = ++qp.memory.count > most;
    }
};

// --- opcode sequence

struct BegunWrite : Arrivals {
    bool write = false; // what began last
};

class SendLastEndsWrite final : public PlacesRequests<BegunWrite> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (place != Place::Expected || info.service != wire::Service::Rc) return;
        if (info.starts_message()) {
            qp.memory.write = info.operation == Operation::RdmaWrite && !info.ends_message();
        } else if (info.ends_message()) {
            const bool ends = qp.memory.write && !info.invalidates();
            if (ends) set_opcode(packet, Operation::RdmaWrite, Position::Last, info.immediate());
            qp.memory.write = false;
        }
    }
};

// --- MSNs and PSNs

struct MsnBase {
    std::optional<std::uint32_t> before; // what the connection before ended with
};

class MsnSurvivesReset final : public QpFilter<MsnBase> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        wire::Msn& told = told_[qp.report.qpn];
        auto& before = qp.memory.before;
        if (!before) before = told.value;
        packet.aeth.msn = packet.aeth.msn + *before;
        told = packet.aeth.msn;
    }

  private:
    std::map<wire::Qpn, wire::Msn> told_; // last
};

// From a PSN on, the engine is ahead of the device that is played.
struct PsnsLost {
    Arrivals arrivals; // as the engine counts
    std::int32_t lost = 0;
    wire::Psn from; // as the engine counts
};

class ReadPsnsInAByte final : public QpFilter<PsnsLost> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [arrivals, lost, from] = qp.memory;
        if (!packet.info().request()) return;
        if (lost != 0 && wire::distance(from - lost, packet.bth.psn) >= 0) packet.bth.psn += lost;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Place::Expected || !is_read_request(packet)) return;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        if (packets <= kCounted) return;
        lost += static_cast<std::int32_t>(packets & ~kCounted);
        from = packet.bth.psn + packets;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [arrivals, lost, from] = qp.memory;
        if (!packet.info().response()) return;
        heed_nak(arrivals, packet);
        if (lost != 0 && wire::distance(from, packet.bth.psn) >= 0) packet.bth.psn += -lost;
    }

  private:
    static constexpr std::uint32_t kCounted = 0xFF;
};

// --- QPs that are gone

class DestroyedQpAcks final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto peer = packet ? gone_.find(packet->bth.dest_qp) : gone_.end();
        if (peer != gone_.end() && packet->info().request() && packet->bth.ack_request) {
            const auto ack = acknowledge(peer->second, packet->bth.pkey, packet->bth.psn,
                                         wire::Syndrome::ack(wire::kNoCredits), {});
            answers.push_back(datagram_of(ack, back(datagram.envelope)));
        }
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.dest_qp) peers_[report.qpn] = *report.attributes.dest_qp;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        const auto peer = peers_.find(qpn);
        if (peer != peers_.end()) gone_.insert(*peer);
    }

  private:
    std::map<wire::Qpn, wire::Qpn> peers_;
    std::map<wire::Qpn, wire::Qpn> gone_; // destroyed QPs and their peers
};

// --- atomics, FLUSH

struct Marked : Arrivals {
    std::set<std::uint32_t> psns;
};

class FailedSwapForgotten final : public PlacesRequests<Marked> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::AtomicEth& asked = passage.packet.atomic;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        if (passage.packet.info().operation != Operation::CompareSwap) return;
        if (place == Place::Behind) {
            passage.dropped = qp.memory.psns.contains(psn);
        } else if (place == Place::Expected) {
            qp.memory.psns.erase(psn);
            if (!equal(asked)) qp.memory.psns.insert(psn);
        }
    }

  private:
    [[nodiscard]] bool equal(const wire::AtomicEth& asked) const {
        std::uint64_t value = 0;
        const auto word = regions().at(asked.rkey, asked.virtual_address, sizeof(value));
        if (word.empty()) return true;
        std::memcpy(&value, word.data(), sizeof(value));
        return value == asked.compare;
    }
};

class UnaskedAtomicNotAnswered final : public PlacesRequests<Marked> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place == Place::Ahead || !is_atomic_request(packet)) return;
        if (packet.bth.ack_request) {
            qp.memory.psns.erase(packet.bth.psn.value());
        } else {
            qp.memory.psns.insert(packet.bth.psn.value());
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        passage.dropped = packet.info().operation == Operation::AtomicAcknowledge &&
                          qp.memory.psns.contains(packet.bth.psn.value());
    }
};

class FlushAnsweredByAck final : public PlacesRequests<Marked> {
  protected:
    void requested(Qp& qp, Passage& passage, Place /*place*/) override {
        const std::uint32_t psn = passage.packet.bth.psn.value();
        qp.memory.psns.erase(psn);
        if (passage.packet.info().operation == Operation::Flush) qp.memory.psns.insert(psn);
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !qp.memory.psns.contains(packet.bth.psn.value())) return;
        set_opcode(packet, Operation::Acknowledge, Position::Only);
    }
};

constexpr std::array kMutants{
    Mutant{.name = "duplicate_read_in_rnr_wait_dropped",
           .rule = "RDR-04",
           .description = "A READ that comes again while the QP waits for the request that it RNR "
                          "NAKed gets no answer.",
           .cases = "rnr/duplicate-while-waiting",
           .make_filter = make<DuplicateReadDroppedInRnrWait>},
    Mutant{.name = "duplicate_send_without_receive_rnr_naked",
           .rule = "RSP-12",
           .description = "A SEND that comes again while no receive is posted draws an RNR NAK.",
           .cases = "rsp/at-psn rsp/duplicates-from-before-the-wrap",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, duplicates_need_receives)},
    Mutant{.name = "rnr_naked_request_not_acked",
           .rule = "ACK-01",
           .description = "A request that was RNR NAKed is executed when it comes again, and not "
                          "acknowledged.",
           .cases = "rnr/then-a-gap rdr/duplicate-everywhere",
           .make_filter = make<RnrNakedNotAcked>},
    Mutant{.name = "rnr_naked_message_counted_twice",
           .rule = "RNR-06",
           .description = "A message that was RNR NAKed raises the MSN by two when it comes again.",
           .cases = "rnr/then-a-gap rdr/duplicate-everywhere",
           .make_filter = make<RnrNakedCountedTwice>},
    Mutant{.name = "rnr_naked_write_moves_on",
           .rule = "RNR-06",
           .description = "The last packet of a WRITE with immediate data that was RNR NAKed is "
                          "written behind its place when it comes again.",
           .cases = "rnr/kth-without-receive rnr/only-with-immediate",
           .make_filter = make<RnrNakedWriteMovesOn>},
    Mutant{.name = "no_rnr_nak_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "In SQD a SEND that finds no receive is dropped in silence.",
           .cases = "sta/responds-while-draining",
           .make_filter = make<NoRnrNakInSqd>},
    Mutant{.name = "bytes_ahead_of_gap_counted",
           .rule = "LEN-04",
           .description = "The bytes of a WRITE's packets that came ahead of a lost one are "
                          "counted: once all have come again, its LAST is refused.",
           .cases = "rsp/each-request-late ext/flush-behind-a-gap",
           .make_filter = make<BytesAheadOfGapCounted>},
    Mutant{.name = "progress_of_other_qp_rearms_nak",
           .rule = "RSP-03",
           .description = "A gap that was NAKed is NAKed again once another QP took a request.",
           .cases = "rsp/fault-beside-recovering-qps rsp/gaps-on-three-qps",
           .make_filter = make<OtherQpRearmsNak>},
    Mutant{.name = "no_sequence_nak_before_rts",
           .rule = "RSP-02",
           .description = "A QP in RTR sends no sequence NAK.",
           .cases = "sta/refusals-before-rts",
           .make_filter = make<NoSequenceNakBeforeRts>},
    Mutant{.name = "four_sequence_naks_per_connection",
           .rule = "RSP-02",
           .description = "A connection sends four sequence NAKs; further gaps draw none.",
           .cases = "rsp/gap-after-each-recovery rsp/gap-of-every-power",
           .make_filter = make<FourSequenceNaks>},
    Mutant{.name = "send_last_ends_write",
           .rule = "OPC-05",
           .description = "A SEND LAST inside a WRITE is taken for the WRITE's LAST.",
           .cases = "opc/last-that-would-fit",
           .make_filter = make<SendLastEndsWrite>},
    Mutant{.name = "msn_survives_reset",
           .rule = "STA-10",
           .description = "After RESET the MSN goes on from that of the connection before.",
           .cases = "sta/again-and-again sta/ended-while-it-answers sta/established-again",
           .make_filter = make<MsnSurvivesReset>},
    Mutant{.name = "read_psns_counted_in_a_byte",
           .rule = "RSP-01",
           .description = "A READ of more than 255 packets moves the expected PSN by the lower "
                          "eight bits of their number.",
           .cases = "rsp/duplicates-of-each-distance",
           .make_filter = make<ReadPsnsInAByte>},
    Mutant{.name = "empty_write_not_acked",
           .rule = "ACK-01",
           .description = "A WRITE of no bytes is not acknowledged.",
           .cases = "len/write-immediate-lengths len/zero-length-write",
           .make_filter = make<EditsInbound<empty_write_asks_for_nothing>>},
    Mutant{.name = "more_credits_than_receives",
           .rule = "ACK-10",
           .level = "SHOULD",
           .description = "ACKs tell the next higher code of credits than there are receives.",
           .behaviour = {.credits = true},
           .make_filter = make<EditsOutbound<more_credits_than_receives>>},
    Mutant{.name = "destroyed_qp_acks",
           .rule = "BTH-02",
           .description = "Requests to a QP that was destroyed are acknowledged.",
           .cases = "bth/unknown-qp",
           .make_filter = make<DestroyedQpAcks>},
    Mutant{.name = "failed_swap_forgotten",
           .rule = "ATM-04",
           .description = "The duplicate of a CMP_SWAP that did not swap gets no answer.",
           .cases = "atm/operands",
           .make_filter = make<FailedSwapForgotten>},
    Mutant{.name = "unasked_atomic_not_answered",
           .rule = "N-17",
           .description = "An atomic whose AckReq is 0 is carried out and not answered.",
           .cases = "rsp/duplicates-of-each-distance atm/forgotten",
           .make_filter = make<UnaskedAtomicNotAnswered>},
    Mutant{.name = "flush_answered_by_ack",
           .rule = "EXT-02",
           .description = "A FLUSH is answered by an ACK, not by a READ response.",
           .cases = "ext/flush-again-without-its-key ext/flush-behind-a-gap ext/flush-region",
           .make_filter = make<FlushAnsweredByAck>},
    Mutant{.name = "atomic_write_in_other_byte_order",
           .rule = "RSP-01",
           .description = "An ATOMIC WRITE stores its eight bytes in the reverse order.",
           .cases = "ext/atomic-write-keys ext/atomic-write",
           .make_filter = make<AtomicWriteReversed>},
    Mutant{.name = "invalidate_of_foreign_window_overlooked",
           .rule = "KEY-11",
           .description = "A SEND that is to revoke a window which another QP has bound is taken "
                          "for one that revokes nothing.",
           .cases = "key/invalidate-of-another-qps-window",
           .checks = kStandardChecks.with(RequestCheck::InvalidateKey, foreign_windows_stay)},
    Mutant{.name = "local_fault_told_as_invalid_request",
           .rule = "KEY-12",
           .description = "A fault in a receive's own memory draws NAK Invalid Request.",
           .cases = "key/receive-lkey",
           .make_filter = make<EditsOutbound<local_fault_is_invalid_request>>},
};

} // namespace
} // namespace veriroce::mutants::of_blind8_responder

namespace veriroce::mutants {

std::span<const Mutant> blind8_responder() {
    return of_blind8_responder::kMutants;
}

} // namespace veriroce::mutants
