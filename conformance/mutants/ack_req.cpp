// Defects in acknowledges, and in what a requester makes of them.
#include <chrono>
#include <deque>
#include <map>
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_ack_req {
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
        set_opcode(packet, wire::Operation::RdmaReadResponse, wire::position_of(index == 0, ends));
        packet.bth.psn = psn;
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
        packet.bth.pad = wire::pad_of(bytes);
        packet.body = wire::Bytes(zeros).first(bytes + packet.bth.pad);
        to.push_back(packet);
        if (ends) return;
    }
}

// `Answers`: which packets from behind a READ are taken for its end, too.
template <bool (*Answers)(const wire::Packet&)>
class AnswersReads final : public QpFilter<UnansweredReads> {
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
        if (!Answers(packet) || wire::distance(qp.memory.newest.value_or(psn - 1), psn) > 0) return;
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

bool response_with_data(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().response() &&
           packet->info().operation != wire::Operation::Acknowledge;
}

void nak_as_ack(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::Acknowledge) {
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    }
}

void one_psn_too_low(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::Acknowledge) packet.bth.psn += -1;
}

void immediate_plus_one(wire::Packet& packet) {
    packet.imm.value += 1;
}

void msn_plus_one(wire::Packet& packet) {
    packet.aeth.msn = {packet.aeth.msn.value + 1};
}

void msn_plus_two(wire::Packet& packet) {
    packet.aeth.msn = {packet.aeth.msn.value + 2};
}

// REQ-07
class AcknowledgesTheNewest final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && newest_ && packet->info().operation == wire::Operation::Acknowledge) {
            wire::Bth bth = packet->bth;
            bth.psn = *newest_;
            bth.encode(datagram.bytes);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = packet->bth.psn;
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<wire::Psn> newest_; // of the requests that were sent
};

// ACK-04: whatever PSN is expected. The request itself reaches the responder later.
class AcknowledgesOnArrival final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& qp) override {
        if (qp.attributes.dest_qp) peers_[qp.qpn] = *qp.attributes.dest_qp;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request() && packet->info().carries_payload() &&
            packet->bth.ack_request) {
            const auto ack =
                acknowledge(peers_[packet->bth.dest_qp], packet->bth.pkey, packet->bth.psn,
                            wire::Syndrome::ack(wire::kNoCredits), {});
            answers.push_back({.envelope = back(datagram.envelope), .bytes = bytes_of(ack)});
        }
        datagram.delay = std::chrono::microseconds(20);
        in.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Qpn> peers_; // by our QPN
};

// The last byte of every payload, on its way in or out.
template <bool In>
class ChangesLastByte final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (In) change(datagram);
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (!In) change(datagram);
        out.push_back(std::move(datagram));
    }

  private:
    static void change(engine::OwnedDatagram& datagram) {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || packet->body.size() <= packet->bth.pad) return;
        datagram.bytes.at(datagram.bytes.size() - packet->bth.pad - 1) ^= std::byte{0xFF};
    }
};

// REQ-31
class ChangesRetransmissions final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool request = packet && packet->info().request();
        if (request && !sent_.insert(packet->bth.psn.value()).second) {
            datagram.bytes.back() ^= std::byte{0xFF};
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint32_t> sent_; // PSNs
};

// REQ-35
class DropsOwnPsns final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool own =
            packet && packet->info().request() && sent_.contains(packet->bth.psn.value());
        if (!own) in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) sent_.insert(packet->bth.psn.value());
        out.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint32_t> sent_; // PSNs
};

bool every_request_needs_a_credit(const engine::SendView& view) {
    return view.outbound.credits.allows(view.ssn);
}

constexpr std::array kMutants{
    Mutant{.name = "ack_one_psn_ahead",
           .rule = "ACK-04",
           .passive = true,
           .description = "ACKs carry the PSN after the one that they acknowledge, and so cover a "
                          "packet that has not arrived.",
           .cases = "ack/each-kind",
           .make_filter = make<EditsOutbound<one_ahead>>},
    Mutant{.name = "ack_completes_an_unanswered_read",
           .rule = "REQ-08",
           .passive = true,
           .description = "An ACK behind a READ whose response was lost completes the READ with "
                          "zeros in its buffer; it is never asked for again.",
           .cases = "req/implied-nak req/read-overtaken req/reads-in-turn",
           .make_filter = make<AnswersReads<is_ack>>},
    Mutant{.name = "nak_completes_an_unanswered_read",
           .rule = "N-11",
           .description = "A sequence NAK behind a READ whose response was lost completes the READ "
                          "with zeros in its buffer.",
           .cases = "req/nak-behind-a-read",
           .make_filter = make<AnswersReads<is_sequence_nak>>},
    Mutant{.name = "rnr_nak_completes_an_unanswered_read",
           .rule = "RNR-12",
           .description = "An RNR NAK behind a READ whose response was lost completes the READ "
                          "with zeros in its buffer.",
           .cases = "rnr/behind-a-read",
           .make_filter = make<AnswersReads<is_rnr_nak>>},
    Mutant{.name = "later_response_completes_an_unanswered_read",
           .rule = "REQ-08",
           .description = "The response to a later READ completes an unanswered one with zeros in "
                          "its buffer.",
           .cases = "req/second-read-first",
           .make_filter = make<AnswersReads<is_read_response>>},
    Mutant{.name = "read_gap_overlooked",
           .rule = "REQ-09",
           .passive = true,
           .description = "With a READ response missing the requester never asks again, and "
                          "completes on LAST with a hole in the data.",
           .cases = "crc/noise req/each-read-response-late req/each-read-response-lost "
                    "req/lost-first-read-response req/lost-read-response "
                    "req/read-scattered",
           .checks = engine::kStandardChecks.with(engine::ResponseCheck::ReadOrder, overlook_gap)},
    Mutant{.name = "nak_resends_from_the_next",
           .rule = "REQ-11",
           .passive = true,
           .description = "On a sequence NAK for n the requester resends from n+1; n itself is "
                          "resent by timeout only.",
           .cases = "req/acknowledged-while-sent-again req/sequence-nak",
           .make_filter = make<ResendsFromTheNext>},
    Mutant{.name = "retry_seven_is_for_ever",
           .rule = "REQ-13",
           .passive = false,
           .description = "With retry_cnt 7 the requester resends without end.",
           .cases = "req/seven-is-seven",
           .checks = engine::kStandardChecks.with(engine::SendCheck::RetryLeft, seven_is_for_ever)},
    Mutant{.name = "responses_with_data_dropped",
           .rule = "REQ-26",
           .description = "READ responses and ATOMIC ACKNOWLEDGEs are dropped when they arrive.",
           .cases = "atm/lost-answer n/completion-order n/extra-responses n/nak-inside-a-read "
                    "req/ack-for-a-read req/atomic-acknowledges req/each-answer-again "
                    "req/each-answer-replayed req/each-read-response-again "
                    "req/lost-last-read-response req/psns-of-a-read req/read-acknowledges "
                    "rnr/read",
           .make_filter = make<DropsInbound<response_with_data>>},
    Mutant{.name = "nak_taken_for_an_ack",
           .rule = "REQ-16",
           .description = "NAKs and RNR NAKs are taken for ACKs of the same PSN.",
           .cases = "n/armed-for-a-failed-send req/nak-invalid-request req/nak-remote-access "
                    "req/nak-remote-operational req/reserved-nak rnr/timer-rests-in-the-wait",
           .make_filter = make<EditsInbound<nak_as_ack>>},
    Mutant{.name = "acknowledge_read_one_psn_too_low",
           .rule = "REQ-03",
           .description = "ACKs and NAKs are taken for those of the PSN before.",
           .cases = "req/ack-inside-a-message req/coalesced-ack req/unsignaled "
                    "rnr/acknowledges-earlier rnr/progress sta/drained tmo/oldest-first",
           .make_filter = make<EditsInbound<one_psn_too_low>>},
    Mutant{.name = "any_ack_acknowledges_the_newest",
           .rule = "REQ-07",
           .description = "Any ACK or NAK is taken for one of the request that was sent last.",
           .cases = "req/ack-of-each req/ack-outside-by-every-power req/future-ack req/nak-outside "
                    "req/old-ack",
           .make_filter = make<AcknowledgesTheNewest>},
    Mutant{.name = "immediate_changed",
           .rule = "REQ-34",
           .description = "Packets leave with immediate data that is one too high.",
           .cases = "req/same-bytes",
           .make_filter = make<EditsOutbound<immediate_plus_one>>},
    Mutant{.name = "msn_one_too_high",
           .rule = "ACK-08",
           .description = "Responses count one message more than were completed.",
           .cases = "ack/refused-not-counted load/many-connections load/one-word sta/reset-forgets",
           .make_filter = make<EditsOutbound<msn_plus_one>>},
    Mutant{.name = "received_last_byte_changed",
           .rule = "RSP-01",
           .description = "The last byte of every payload that comes in is inverted.",
           .cases = "ext/datagram-data key/scattered len/write-4096 req/read-scattered "
                    "req/repeated-answers",
           .make_filter = make<ChangesLastByte<true>>},
    Mutant{.name = "sent_last_byte_changed",
           .rule = "REQ-34",
           .description = "The last byte of every payload that leaves is inverted.",
           .cases = "ext/unreliable-sent len/gathered req/inline-lengths",
           .make_filter = make<ChangesLastByte<false>>},
    Mutant{.name = "retransmission_differs",
           .rule = "REQ-31",
           .description = "A request that is sent again ends in another byte, of its payload or of "
                          "its last header.",
           .cases = "req/inline req/invalidate-again",
           .make_filter = make<ChangesRetransmissions>},
    Mutant{.name = "request_in_own_psn_window_dropped",
           .rule = "REQ-35",
           .description =
               "A request whose PSN the device has used for a request of its own is dropped.",
           .cases = "req/both-ways",
           .make_filter = make<DropsOwnPsns>},
    Mutant{.name = "every_request_needs_a_credit",
           .rule = "REQ-29",
           .level = "SHOULD",
           .description =
               "WRITEs, READs and atomics wait for credits, and no message begins beyond "
               "them.",
           .cases = "req/no-credit-needed",
           .checks = engine::kStandardChecks.with(engine::SendCheck::Credits,
                                                  every_request_needs_a_credit)},
    Mutant{.name = "msn_two_too_high",
           .rule = "ACK-07",
           .description = "Responses count two messages more than were completed.",
           .cases = "ack/refused-not-counted rdr/msn sta/reset-forgets",
           .make_filter = make<EditsOutbound<msn_plus_two>>},
    Mutant{.name = "acknowledged_on_arrival",
           .rule = "ACK-04",
           .description =
               "SENDs and WRITEs are acknowledged when they arrive, whatever PSN is expected.",
           .cases = "load/many-qps rsp/lost-twice sta/init sta/reset",
           .make_filter = make<AcknowledgesOnArrival>},
};

} // namespace
} // namespace veriroce::mutants::of_ack_req

namespace veriroce::mutants {

std::span<const Mutant> ack_req() {
    return of_ack_req::kMutants;
}

} // namespace veriroce::mutants
