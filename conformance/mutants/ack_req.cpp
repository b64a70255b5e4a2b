// Defects in acknowledges, and in what a requester makes of them.
#include <deque>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants {

namespace {

using engine::ResponseVerdict;
using wire::Position;

void one_ahead(wire::Packet& packet) {
    if (is_ack(packet)) packet.bth.psn += 1;
}

// REQ-08: the READs that wait for their responses.
struct UnansweredRead {
    wire::Psn first;
    wire::Psn next; // response that is due
    std::uint32_t packets = 1;
    std::uint32_t length = 0;

    [[nodiscard]] wire::Psn last() const { return first + (std::int64_t{packets} - 1); }
};

struct UnansweredReads {
    static constexpr std::size_t kept = 16;
    static constexpr std::int32_t most_made_up = 64; // packets: a longer READ is left as it is
    std::deque<UnansweredRead> reads;
    std::optional<wire::Psn> newest; // that was sent or asked for
};

// The rest of the READ's responses, full of zeros, under the acknowledge's header.
void make_up(const UnansweredRead& read, const wire::Packet& ack, wire::Mtu mtu,
             std::vector<wire::Packet>& to) {
    static constexpr std::array<std::byte, 4096> zeros{};
    const std::uint32_t full = wire::bytes_of(mtu);
    for (wire::Psn psn = read.next;; psn += 1) {
        const auto index = static_cast<std::uint32_t>(wire::distance(read.first, psn));
        const bool ends = psn == read.last();
        const std::uint32_t bytes = ends ? read.length - index * full : full;
        wire::Packet packet = ack;
        packet.bth.opcode = wire::opcode_of(wire::Service::Rc, wire::Operation::RdmaReadResponse,
                                            wire::position_of(index == 0, ends))
                                .value_or(ack.bth.opcode);
        packet.headers = packet.info().headers;
        packet.bth.psn = psn;
        packet.bth.pad = wire::pad_of(bytes);
        packet.body = wire::Bytes(zeros).first(bytes + packet.bth.pad);
        to.push_back(packet);
        if (ends) return;
    }
}

class AckAnswersReads final : public QpFilter<UnansweredReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        UnansweredReads& memory = qp.memory;
        if (!packet.info().request()) return;
        UnansweredRead read{.first = packet.bth.psn, .next = packet.bth.psn};
        const bool is_new = !memory.newest || wire::distance(*memory.newest, read.first) > 0;
        if (!is_new) return; // sent again
        if (is_read_request(packet)) {
            read.length = packet.reth.dma_length;
            read.packets = wire::packets_of(read.length, qp.mtu());
            memory.reads.push_back(read);
            if (memory.reads.size() > UnansweredReads::kept) memory.reads.pop_front();
        }
        memory.newest = read.last();
    }

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& reads = qp.memory.reads;
        if (is_read_response(packet)) {
            for (UnansweredRead& read : reads) {
                if (read.next == packet.bth.psn) read.next += 1;
            }
            std::erase_if(reads, [](const UnansweredRead& read) {
                return wire::distance(read.last(), read.next) > 0;
            });
        }
        const wire::Psn psn = packet.bth.psn;
        // REQ-07: an acknowledge of what was never sent is nobody's.
        if (!is_ack(packet) || wire::distance(qp.memory.newest.value_or(psn - 1), psn) > 0) return;
        while (!reads.empty() && wire::distance(reads.front().last(), psn) > 0 &&
               wire::distance(reads.front().next, reads.front().last()) <
                   UnansweredReads::most_made_up) {
            make_up(reads.front(), packet, qp.mtu(), passage.before);
            reads.pop_front();
        }
    }
};

ResponseVerdict overlook_gap(const engine::ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::read_order(view);
    const bool ahead = view.request && is_read_response(view.packet) &&
                       wire::distance(view.request->expected_response, view.packet.bth.psn) > 0;
    return ahead ? ResponseVerdict::Take : verdict;
}

// REQ-11: the next copy of the packet that was asked for does not leave.
struct Refused {
    std::optional<wire::Psn> psn;
};

class ResendsFromTheNext final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_sequence_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || qp.memory.psn != packet.bth.psn) return;
        passage.dropped = true;
        qp.memory.psn.reset();
    }
};

bool seven_is_for_ever(const engine::SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    return view.connection.retry_count == for_ever || engine::send_check::retry_left(view);
}

constexpr std::array mutants{
    Mutant{.name = "ack_one_psn_ahead",
           .rule = "ACK-04",
           .passive = true,
           .description = "ACKs carry the PSN behind the one that they acknowledge, and so cover a "
                          "packet that has not arrived.",
           .make_filter = make<EditsOutbound<one_ahead>>},
    Mutant{.name = "ack_completes_an_unanswered_read",
           .rule = "REQ-08",
           .passive = true,
           .description = "An ACK behind a READ whose response was lost completes the READ with "
                          "zeros in its buffer; it is never asked for again.",
           .make_filter = make<AckAnswersReads>},
    Mutant{.name = "read_gap_overlooked",
           .rule = "REQ-09",
           .passive = true,
           .description = "With a READ response missing the requester never asks again, and "
                          "completes on LAST with a hole in the data.",
           .checks = engine::kStandardChecks.with(engine::ResponseCheck::ReadOrder, overlook_gap)},
    Mutant{.name = "nak_resends_from_the_next",
           .rule = "REQ-11",
           .passive = true,
           .description = "On a sequence NAK for n the requester resends from n+1; n itself is "
                          "resent by timeout only.",
           .make_filter = make<ResendsFromTheNext>},
    Mutant{.name = "retry_seven_is_for_ever",
           .rule = "REQ-13",
           .passive = false,
           .description = "With retry_cnt 7 the requester resends without end.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::RetryLeft, seven_is_for_ever)},
};

} // namespace

std::span<const Mutant> ack_req() {
    return mutants;
}

} // namespace veriroce::mutants
