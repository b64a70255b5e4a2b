// Written blind, third sample: what a requester sends, sends again, and makes of answers.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind3_requester {
namespace {

using engine::kStandardChecks;
using engine::SendCheck;
using engine::SendView;
using wire::Operation;
using wire::Position;

// --- checks

bool six_is_for_ever(const SendView& view) {
    constexpr std::uint8_t most = 5;
    return view.connection.rnr_retry > most || engine::send_check::rnr_retry_left(view);
}

bool one_retry_at_least(const SendView& view) {
    const bool first = view.connection.retry_count == 0 && view.outbound.retries == 0;
    return first || engine::send_check::retry_left(view);
}

bool one_more_after_retry(const SendView& view) {
    const bool retried = view.outbound.retries > 0;
    return engine::send_check::rd_atomic(view) ||
           (retried && view.outbound.outstanding_rd_atomic == view.connection.max_rd_atomic);
}

// --- what was sent

// The newest PSN that a QP's requests have taken.
struct Taken {
    std::optional<wire::Psn> newest;

    // Whether the request leaves for the first time.
    bool fresh(const wire::Packet& request, wire::Mtu mtu) {
        if (newest && wire::distance(*newest, request.bth.psn) <= 0) return false;
        newest = request.bth.psn;
        if (is_read_request(request)) {
            *newest += std::int64_t{wire::packets_of(request.reth.dma_length, mtu)} - 1;
        }
        return true;
    }
};

// --- requests

class WholeLengthAgain final : public QpFilter<ReadLog> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        if (const auto known = qp.memory.holding(packet.bth.psn)) {
            packet.reth.dma_length = known->request.reth.dma_length;
        } else {
            qp.memory.note(packet, qp.mtu());
        }
    }
};

class AddressCarryLost final : public QpFilter<ReadLog> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        if (const auto known = qp.memory.holding(packet.bth.psn)) {
            auto& address = packet.reth.virtual_address;
            address = (known->request.reth.virtual_address & ~low) | (address & low);
        } else {
            qp.memory.note(packet, qp.mtu());
        }
    }
};

class FullLastAsksNothing final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool last = packet.info().request() && packet.info().position == Position::Last;
        if (last && packet.body.size() == wire::bytes_of(qp.mtu())) packet.bth.ack_request = false;
    }
};

struct Empties {
    Taken taken;                // as the engine counts
    std::deque<wire::Psn> sent; // the empty SENDs', as the engine counts

    // How many PSNs fewer the device has taken before this one.
    [[nodiscard]] std::int32_t shift(wire::Psn psn) const {
        return static_cast<std::int32_t>(std::ranges::count_if(
            sent, [psn](wire::Psn empty) { return wire::distance(empty, psn) > 0; }));
    }
    // The newest PSN of the engine's that left as this one.
    [[nodiscard]] wire::Psn of_engine(wire::Psn psn) const {
        for (auto by = static_cast<std::int32_t>(sent.size()); by > 0; --by) {
            const wire::Psn own = psn + by;
            if (shift(own) == by && wire::distance(own, *taken.newest) >= 0) return own;
        }
        return psn;
    }
};

class EmptySendTakesNoPsn final : public QpFilter<Empties> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const wire::Psn psn = packet.bth.psn;
        const bool fresh = qp.memory.taken.fresh(packet, qp.mtu());
        packet.bth.psn = psn - qp.memory.shift(psn);
        const bool empty = packet.info().operation == Operation::Send && packet.body.empty();
        if (fresh && empty) qp.memory.sent.push_back(psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !qp.memory.taken.newest) return;
        packet.bth.psn = qp.memory.of_engine(packet.bth.psn);
    }
};

struct Immediate {
    Taken taken;
    std::uint32_t newest = 0;
};

class ResentImmediateIsNewest final : public QpFilter<Immediate> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [taken, newest] = qp.memory;
        const bool fresh = taken.fresh(packet, qp.mtu());
        if (!packet.info().immediate()) return;
        if (fresh) {
            newest = packet.imm.value;
        } else {
            packet.imm.value = newest;
        }
    }
};

struct Transmission {
    wire::Psn psn;
    std::uint32_t times = 1;
};

struct Unacked {
    std::deque<Transmission> packets; // the oldest first
};

class SecondResendSkipsOldest final : public QpFilter<Unacked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t skipped = 3;
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& packets = qp.memory.packets;
        const auto known = std::ranges::find(packets, packet.bth.psn, &Transmission::psn);
        if (known == packets.end()) {
            packets.push_back({.psn = packet.bth.psn});
            return;
        }
        ++known->times;
        passage.dropped = known == packets.begin() && known->times == skipped && packets.size() > 1;
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        const bool refused = has_aeth(packet) && packet.aeth.syndrome.kind() != wire::AckKind::Ack;
        const wire::Psn through = packet.bth.psn - (refused ? 1 : 0);
        std::erase_if(qp.memory.packets, [through](const Transmission& one) {
            return wire::distance(one.psn, through) >= 0;
        });
    }
};

class ThirdPieceRepeatsSecond final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        const bool sends = !engine::brings_data(request.opcode);
        if (!sends || request.sges.size() < 3) return;
        if (request.sges[2].length > request.sges[1].length) return;
        auto& list = lists_.emplace_back(request.sges.begin(), request.sges.end());
        list[2].address = list[1].address;
        list[2].lkey = list[1].lkey;
        request.sges = list;
    }

  private:
    std::deque<std::vector<engine::Sge>> lists_; // the engine copies one when its chain is posted
};

// --- answers

bool ack_of_last_psn(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_ack(*packet) && packet->bth.psn.value() == wire::kMask24;
}

struct Messages {
    Taken taken;
    std::deque<wire::Psn> ends; // of those that are not acknowledged
};

class SixteenAtOnce final : public QpFilter<Messages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !qp.memory.taken.fresh(packet, qp.mtu())) return;
        if (packet.info().ends_message()) qp.memory.ends.push_back(*qp.memory.taken.newest);
    }
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t most = 16;
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        auto& ends = qp.memory.ends;
        const bool nak = has_aeth(packet) && packet.aeth.syndrome.kind() != wire::AckKind::Ack;
        const wire::Psn through = packet.bth.psn - (nak ? 1 : 0);
        const auto covered = static_cast<std::size_t>(std::ranges::count_if(
            ends, [through](wire::Psn end) { return wire::distance(end, through) >= 0; }));
        const bool too_many = is_ack(packet) && covered > most;
        if (too_many) packet.bth.psn = ends[most - 1];
        ends.erase(ends.begin(),
                   ends.begin() + static_cast<std::ptrdiff_t>(too_many ? most : covered));
    }
};

struct Atomics {
    Taken taken;
    std::deque<wire::Psn> open; // not answered, the oldest first
};

class MatchesAtomicsByOrder final : public QpFilter<Atomics> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !qp.memory.taken.fresh(packet, qp.mtu())) return;
        if (packet.headers.has(wire::Header::AtomicEth)) qp.memory.open.push_back(packet.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        auto& open = qp.memory.open;
        if (std::ranges::find(open, packet.bth.psn) == open.end()) return;
        packet.bth.psn = open.front();
        open.pop_front();
    }
};

struct SentRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    std::uint32_t arrived = 0; // of its response, in order
    engine::Sge piece;
};

struct Reads {
    Taken taken;
    std::deque<SentRead> sent;
};

class LateResponseWritten final : public DmaFilter<Reads> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode != engine::WrOpcode::RdmaRead) return;
        posted_[qpn].push_back(request.sges.size() == 1 ? request.sges.front() : engine::Sge{});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 16;
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !qp.memory.taken.fresh(packet, qp.mtu())) return;
        auto& posted = posted_[qp.report.qpn];
        if (!is_read_request(packet) || posted.empty()) return;
        auto& sent = qp.memory.sent;
        sent.push_back({.first = packet.bth.psn,
                        .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                        .piece = posted.front()});
        posted.pop_front();
        if (sent.size() > kept) sent.pop_front();
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        for (SentRead& read : qp.memory.sent) {
            const std::int32_t at = wire::distance(read.first, packet.bth.psn);
            if (at < 0 || static_cast<std::uint32_t>(at) >= read.packets) continue;
            if (read.arrived == read.packets) {
                write(read, static_cast<std::uint32_t>(at) * wire::bytes_of(qp.mtu()), packet);
            } else if (static_cast<std::uint32_t>(at) == read.arrived) {
                ++read.arrived;
            }
        }
    }

  private:
    void write(const SentRead& read, std::uint32_t offset, const wire::Packet& packet) {
        const wire::Bytes data = packet.payload();
        if (offset + data.size() > read.piece.length) return;
        const auto memory = regions().at(wire::Rkey{read.piece.lkey.value},
                                         read.piece.address + offset, data.size());
        std::ranges::copy(data.first(memory.size()), memory.begin());
    }

    std::map<wire::Qpn, std::deque<engine::Sge>> posted_; // where READs that have not left read to
};

constexpr std::array kMutants{
    Mutant{.name = "rnr_retry_six_is_for_ever",
           .rule = "RNR-09",
           .description = "rnr_retry 6 means for ever as well.",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, six_is_for_ever)},
    Mutant{.name = "one_retry_with_retry_cnt_zero",
           .rule = "TMO-03",
           .description = "With retry_cnt 0 a request is sent again once.",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, one_retry_at_least)},
    Mutant{.name = "one_read_more_after_retry",
           .rule = "REQ-27",
           .description = "After a retry, one READ or atomic more than max_rd_atomic goes out.",
           .cases = "req/outstanding-after-a-timeout",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, one_more_after_retry)},
    Mutant{.name = "read_retry_asks_for_whole_length",
           .rule = "REQ-10",
           .description = "A READ that is asked for from its middle asks for its whole length.",
           .make_filter = make<WholeLengthAgain>},
    Mutant{.name = "read_retry_loses_address_carry",
           .rule = "REQ-10",
           .description = "A READ that is asked for from its middle has the upper half of its "
                          "first address.",
           .cases = "req/read-again-across-4gib",
           .make_filter = make<AddressCarryLost>},
    Mutant{.name = "full_last_asks_for_no_ack",
           .rule = "BTH-18",
           .description = "A LAST of a whole PMTU has no AckReq.",
           .make_filter = make<FullLastAsksNothing>},
    Mutant{.name = "empty_send_takes_no_psn",
           .rule = "REQ-01",
           .description = "The request behind a SEND of no bytes has the same PSN.",
           .make_filter = make<EmptySendTakesNoPsn>},
    Mutant{.name = "resent_immediate_is_newest",
           .rule = "REQ-31",
           .description = "Immediate data that is sent again is that of the newest request.",
           .cases = "req/immediates-after-a-nak req/immediates-after-a-rnr-nak",
           .make_filter = make<ResentImmediateIsNewest>},
    Mutant{.name = "second_resend_skips_oldest",
           .rule = "TMO-06",
           .description = "With several packets outstanding, the second resend leaves out the "
                          "oldest.",
           .make_filter = make<SecondResendSkipsOldest>},
    Mutant{.name = "third_piece_repeats_second",
           .rule = "LEN-10",
           .description = "The third piece of what is sent comes from the second one's address.",
           .make_filter = make<ThirdPieceRepeatsSecond>},
    Mutant{.name = "ack_of_last_psn_ignored",
           .rule = "REQ-03",
           .description = "An ACK of PSN 0xFFFFFF is ignored.",
           .cases = "req/at-psn",
           .make_filter = make<DropsInbound<ack_of_last_psn>>},
    Mutant{.name = "one_ack_completes_sixteen",
           .rule = "REQ-03",
           .description = "An ACK of more than 16 requests completes the first 16.",
           .cases = "req/one-ack-for-many",
           .make_filter = make<SixteenAtOnce>},
    Mutant{.name = "atomic_answers_matched_by_order",
           .rule = "REQ-08",
           .description = "The answer to an atomic is taken for that of the oldest one.",
           .cases = "req/atomic-answer-lost",
           .make_filter = make<MatchesAtomicsByOrder>},
    Mutant{.name = "late_read_response_written",
           .rule = "N-38",
           .description = "A READ response that comes once more after the READ is complete is "
                          "written to its buffer again.",
           .make_filter = make<LateResponseWritten>},
};

} // namespace
} // namespace veriroce::mutants::of_blind3_requester

namespace veriroce::mutants {

std::span<const Mutant> blind3_requester() {
    return of_blind3_requester::kMutants;
}

} // namespace veriroce::mutants
