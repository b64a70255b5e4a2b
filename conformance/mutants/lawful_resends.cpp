// Lawful oddities in how a requester sends, and sends again.
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_resends {
namespace {

using namespace std::chrono_literals;

struct RequestsLate {
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 300us, .next = earliest};
    }
};

// A requester that is given a rate.
struct RequestsPaced {
    static constexpr bool kQueues = true;
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest, .next = earliest + 10us};
    }
};

// BTH-18: as devices do that count PSNs instead of packets.
void asking_at_each_fourth_psn(wire::Packet& packet) {
    if (is_rc_request(packet) && packet.bth.psn.value() % 4 == 0) packet.bth.ack_request = true;
}

void asking_at_the_first_packet(wire::Packet& packet) {
    if (is_rc_request(packet) && packet.info().starts_message()) packet.bth.ack_request = true;
}

struct OpenRead {
    wire::Psn first;
    wire::Psn last;
};

// N-11: the NAK counts for nothing until what came before it is answered.
class LeavesFatalNaks final : public QpFilter<std::vector<OpenRead>> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool atomic = is_atomic_request(packet);
        if (!atomic && !is_read_request(packet)) return;
        const std::uint32_t packets =
            atomic ? 1 : wire::packets_of(packet.reth.dma_length, qp.mtu());
        const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
        std::erase_if(qp.memory, [&](const OpenRead& one) { return one.last == last; });
        qp.memory.push_back({.first = packet.bth.psn, .last = last});
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        const wire::Psn psn = packet.bth.psn;
        const bool data = packet.info().operation != wire::Operation::Acknowledge;
        if (data) std::erase_if(qp.memory, [&](const OpenRead& one) { return one.last == psn; });
        const bool fatal = !data && packet.aeth.syndrome.nak_code() && !is_sequence_nak(packet);
        passage.dropped = fatal && std::ranges::any_of(qp.memory, [&](const OpenRead& one) {
                              return wire::distance(one.last, psn) > 0;
                          });
    }
};

struct Pieces {
    std::map<std::uint32_t, std::uint32_t> seen;  // READs that were partly answered: by last PSN
    std::optional<engine::OwnedDatagram> request; // the READ that is asked for again
    wire::Psn first;
    wire::Psn last;
    wire::Psn next;                             // whose response is awaited
    std::vector<engine::OwnedDatagram> waiting; // requests that come after it
};

// REQ-09, REQ-10, REQ-32: a READ of which some responses came is asked for again packet by packet.
// Only what the responder knows is asked for in pieces, so that each is a duplicate to it.
class AsksForReadsInPieces final : public QpFilter<Pieces> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Pieces& pieces = qp.memory;
        if (!is_rc_request(packet)) return;
        if (is_read_request(packet)) {
            const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
            const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
            const auto known = pieces.seen.find(last.value());
            const bool again = known != pieces.seen.end();
            const bool answered = again && known->second > 0;
            if (!again) pieces.seen.emplace(last.value(), 0);
            if (answered && packets > 1 && !pieces.request) {
                pieces.request = {.envelope = passage.envelope, .bytes = bytes_of(packet)};
                pieces.first = pieces.next = packet.bth.psn;
                pieces.last = last;
                packet.reth.dma_length = wire::bytes_of(qp.mtu());
                return;
            }
            if (pieces.request && last == pieces.last) { // another loss: once more from there
                pieces.waiting.clear();
                pieces.request = {.envelope = passage.envelope, .bytes = bytes_of(packet)};
                pieces.first = pieces.next = packet.bth.psn;
                if (packets > 1) packet.reth.dma_length = wire::bytes_of(qp.mtu());
                return;
            }
        }
        const bool before = wire::distance(packet.bth.psn, pieces.first) > 0;
        if (!pieces.request || before) return;
        pieces.waiting.push_back({.envelope = passage.envelope, .bytes = bytes_of(packet)});
        passage.dropped = true;
    }

    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Pieces& pieces = qp.memory;
        if (!is_read_response(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        for (auto& [last, responses] : pieces.seen) {
            const std::int32_t to_last = wire::distance(psn, wire::Psn(last));
            if (to_last >= 0 && to_last < (1 << 12)) {
                ++responses;
                break;
            }
        }
        if (!pieces.request || psn != pieces.next) return;
        if (pieces.first != pieces.last) {
            set_place(packet, psn == pieces.first  ? wire::Position::First
                              : psn == pieces.last ? wire::Position::Last
                                                   : wire::Position::Middle);
        }
        if (psn == pieces.last) {
            pieces.request.reset();
            passage.sent = std::exchange(pieces.waiting, {});
            return;
        }
        pieces.next = psn + 1;
        const auto whole = wire::decode_packet(pieces.request->bytes);
        if (!whole) return;
        wire::Packet piece = *whole;
        const std::uint32_t mtu = wire::bytes_of(qp.mtu());
        const auto done =
            static_cast<std::uint32_t>(wire::distance(pieces.first, pieces.next)) * mtu;
        piece.bth.psn = pieces.next;
        piece.reth.virtual_address += done;
        piece.reth.dma_length = std::min(mtu, piece.reth.dma_length - done);
        passage.sent.push_back({.envelope = pieces.request->envelope, .bytes = bytes_of(piece)});
    }
};

constexpr std::array kOddities{
    Mutant{.name = "one_packet_after_a_loss",
           .rule = "REQ-11",
           .description = "After a loss, packets are sent again one by one: the next after an ACK.",
           .behaviour = {.after_loss = engine::AfterLoss::OnePacket}},
    Mutant{.name = "whole_message_after_a_timeout",
           .rule = "TMO-06",
           .description = "After a timeout the oldest message is sent again from its first packet.",
           .behaviour = {.timeout_restart = engine::TimeoutRestart::Message}},
    Mutant{.name = "reads_retried_in_pieces",
           .rule = "REQ-10",
           .description = "A READ that was partly answered is asked for again packet by packet.",
           .make_filter = make<AsksForReadsInPieces>},
    Mutant{.name = "requests_leave_late",
           .rule = "REQ-01",
           .description = "Requests leave 300 us later than they could.",
           .traits = "adaptive_retransmission", // the ACK timer starts before they leave
           .make_filter = make<SendsLater<RequestsLate>>},
    Mutant{.name = "requests_ten_us_apart",
           .rule = "REQ-02",
           .description = "Requests leave at least 10 us apart.",
           .make_filter = make<SendsLater<RequestsPaced>>},
    Mutant{.name = "ack_asked_at_each_fourth_psn",
           .rule = "BTH-18",
           .description = "Packets whose PSN is a multiple of 4 ask for an ACK as well.",
           .make_filter = make<EditsOutbound<asking_at_each_fourth_psn>>},
    Mutant{.name = "ack_asked_at_the_first_packet",
           .rule = "BTH-18",
           .description = "The first packet of each message asks for an ACK as well.",
           .make_filter = make<EditsOutbound<asking_at_the_first_packet>>},
    Mutant{.name = "fatal_nak_waits_for_reads",
           .rule = "N-11",
           .description = "A fatal NAK behind an unanswered READ or atomic is ignored.",
           .make_filter = make<LeavesFatalNaks>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_resends

namespace veriroce::mutants {

std::span<const Mutant> lawful_resends() {
    return of_lawful_resends::kOddities;
}

} // namespace veriroce::mutants
