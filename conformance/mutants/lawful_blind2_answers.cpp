// Lawful oddities, second blind sample: responders. Written from the rules alone, without a look at
// the cases, the model or the judge. Each row says which words of its rule leave the freedom.
#include <deque>

#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/pacing.hpp"

namespace veriroce::mutants::of_lawful_blind2_answers {
namespace {

using namespace std::chrono_literals;

using engine::DuplicateCheck;
using engine::NakState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;

namespace request_check = engine::request_check;

// --- which ACKs leave, and when

// ACK-12: "ACK latency": no rule bounds it.
struct EvenPsnsLater {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool late = is_ack(packet) && packet.bth.psn.value() % 2 == 0;
        const wire::Instant at = earliest + (late ? wire::Duration(300us) : wire::Duration(0));
        return {.at = at, .next = at};
    }
};

struct Wanted {
    std::deque<wire::Psn> psns; // that are to be acknowledged
};

// ACK-02: "AckReq=0: no obligation; ACK allowed". Made of one that acknowledges each packet.
class AcknowledgesFirstPackets final : public QpFilter<Wanted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        if (!packet.bth.ack_request && !packet.info().starts_message()) return;
        constexpr std::size_t most = 64;
        auto& psns = qp.memory.psns;
        psns.push_back(packet.bth.psn);
        if (psns.size() > most) psns.pop_front();
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        // A NAK acknowledges what is before its PSN; that may have come again already.
        const wire::Psn last = is_nak(packet) ? packet.bth.psn - 1 : packet.bth.psn;
        const auto covered = std::erase_if(
            qp.memory.psns, [last](wire::Psn psn) { return wire::distance(psn, last) >= 0; });
        if (is_ack(packet)) passage.dropped = covered == 0;
    }
};

struct LastAck {
    std::optional<wire::Packet> ack;
};

// ACK-04: an unsolicited ACK "repeats a PSN".
class RepeatsLastAck final : public QpFilter<LastAck> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        auto& last = qp.memory.ack;
        if (last) passage.before.push_back(*last);
        last.reset();
        if (is_ack(packet)) last = packet;
    }
};

// RSP-16: "NAK latency, NAK batching: measure".
struct NaksEightMsLate {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const wire::Instant at =
            earliest + (is_sequence_nak(packet) ? wire::Duration(8ms) : wire::Duration(0));
        return {.at = at, .next = at};
    }
};

// RDR-04, RSP-10: a duplicate is answered; no rule says how soon.
class DuplicatesLate {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool old = !is_nak(packet) && newest_[packet.bth.dest_qp].note(packet.bth.psn);
        const wire::Instant at = earliest + (old ? wire::Duration(3ms) : wire::Duration(0));
        return {.at = at, .next = at};
    }

  private:
    std::map<wire::Qpn, NewestPsn> newest_;
};

// ACK-04: never "backwards except dup answer"; the same PSN again is not backwards.
class AcknowledgesDuplicatesTwice final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        if (qp.memory.note(packet.bth.psn) && is_ack(packet)) passage.after.push_back(packet);
    }
};

// --- credits

void at_most_three_credits(wire::Packet& packet) {
    if (!has_aeth(packet) || is_nak(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    constexpr std::uint8_t most = 3;
    if (code != wire::kNoCredits && code > most) packet.aeth.syndrome = wire::Syndrome::ack(most);
}

// ACK-10: "value otherwise INFO".
class CreditsNowAndThen final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_ack(*packet) && turn_++ % 2 == 0) {
            packet->aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    unsigned turn_ = 0;
};

// --- resources that are not ready (RNR-03: "a WQE or other resource")

bool refused_before(const RequestView& view) {
    return view.inbound.nak == NakState::Rnr;
}

// Memory that comes page by page.
RequestVerdict some_inner_packets_refused(const RequestView& view) {
    const bool inner = view.info.service == wire::Service::Rc && !view.info.starts_message();
    constexpr std::uint32_t every = 5;
    const bool unlucky = view.packet.bth.psn.value() % every == 3;
    if (inner && unlucky && !refused_before(view)) return RequestVerdict::Rnr;
    return request_check::receive_ready(view);
}

RequestVerdict refused_at_times(const RequestView& view) {
    const bool begins = view.info.service == wire::Service::Rc && view.info.starts_message();
    if (begins && view.now.time_since_epoch() % wire::Duration(7ms) < wire::Duration(1ms)) {
        return RequestVerdict::Rnr;
    }
    return request_check::receive_ready(view);
}

bool is_atomic(const wire::OpcodeInfo& info) {
    return info.operation == Operation::CompareSwap || info.operation == Operation::FetchAdd;
}
bool begins_long_send(const wire::OpcodeInfo& info) {
    return info.operation == Operation::Send && info.position == wire::Position::First;
}

// --- which of two faults is told (KEY-10: "all either way")

RequestVerdict accept(const RequestView& /*view*/) {
    return RequestVerdict::Accept;
}

RequestVerdict rights_last(const RequestView& view) {
    const RequestVerdict key = request_check::invalidate_key(view);
    return key == RequestVerdict::Accept ? request_check::rights(view) : key;
}

RequestVerdict receive_before_order(const RequestView& view) {
    const bool sends = view.info.operation == Operation::Send && view.info.starts_message();
    if (sends && view.takes_receive() && !view.receive_ready) {
        return request_check::receive_ready(view);
    }
    return request_check::opcode_sequence(view);
}

RequestVerdict invalidate_before_lengths(const RequestView& view) {
    const RequestVerdict key = request_check::invalidate_key(view);
    return key == RequestVerdict::Accept ? request_check::pad_count(view) : key;
}

// --- duplicates

// RDR-05: "Send only the tail ... Middle subsets INFO"
bool within_read_to_its_end(const RequestView& view) {
    if (!engine::duplicate_check::within_read(view)) return false;
    if (view.info.operation != Operation::RdmaReadRequest) return true;
    const engine::SavedRequest& saved = *view.saved;
    const std::uint64_t offset = std::uint64_t{engine::forward(saved.psn, view.packet.bth.psn)} *
                                 wire::bytes_of(view.connection.mtu);
    return offset + view.packet.reth.dma_length == saved.length;
}

// --- what comes in

bool receives(engine::QpState state) {
    return state == engine::QpState::Rtr || state == engine::QpState::Rts ||
           state == engine::QpState::Sqd;
}

// RSP-16, ACK-12: a pipeline in which requests wait. What comes before RTR does not.
class HeedsRequestsLate final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        // Reserved opcodes, too: nothing overtakes anything.
        constexpr unsigned opcodes_of_a_service = 32;
        const bool rc =
            packet && packet->bth.opcode < opcodes_of_a_service && !packet->info().response();
        const auto qp = rc ? states_.find(packet->bth.dest_qp) : states_.end();
        if (qp != states_.end() && receives(qp->second)) datagram.delay += 700us;
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override { states_[report.qpn] = report.state; }
    void qp_destroyed(wire::Qpn qpn) override { states_.erase(qpn); }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
};

// ENC-10: IPv4 options: "drop or accept"
std::optional<engine::OwnedDatagram> drop_options(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || !decoded->ipv4) return std::nullopt;
    constexpr std::size_t plain = 20;
    const auto ip = static_cast<std::size_t>(decoded->covered().data() - frame.data());
    const std::size_t header_bytes = (wire::load_u8(frame, ip) & 0xFU) * std::size_t{4};
    if (header_bytes == plain) return std::nullopt;
    return engine::OwnedDatagram{};
}

// ENC-06: a wrong UDP checksum: "drop or accept"
std::optional<engine::OwnedDatagram> ignore_udp_checksum(wire::Bytes frame) {
    constexpr unsigned group_bit = 1;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || (wire::load_u8(frame, 0) & group_bit) != 0) return std::nullopt;
    if (wire::unseal(*decoded)) return std::nullopt;
    std::vector<std::byte> copy(frame.begin(), frame.end());
    // The checksum is the last member of the UDP header, which ends where the BTH begins.
    const auto transport = static_cast<std::size_t>(decoded->transport.data() - frame.data());
    wire::store_be<2>(copy, transport - 2, std::uint16_t{0});
    const auto datagram = wire::unseal(wire::Bytes(copy));
    if (!datagram) return std::nullopt;
    return engine::OwnedDatagram{.envelope = datagram->envelope,
                                 .bytes = {datagram->bytes.begin(), datagram->bytes.end()}};
}

constexpr std::array kOddities{
    // "coalescing: one ACK for many"
    Mutant{
        .name = "one_ack_for_three_packets",
        .rule = "ACK-03",
        .description = "One ACK answers three packets that ask, or what came within 1 ms.",
        .behaviour = {.ack_policy = engine::AckPolicy::EveryNth, .ack_every = 3, .ack_delay = 1ms}},
    Mutant{.name = "even_psns_acknowledged_later",
           .rule = "ACK-12",
           .description = "ACKs of even PSNs leave 300 us later, and what follows waits.",
           .make_filter = make<SendsLater<EvenPsnsLater>>},
    Mutant{.name = "first_packets_acknowledged",
           .rule = "ACK-02",
           .description = "Besides what asks for it, the first packet of each message is "
                          "acknowledged.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket},
           .make_filter = make<AcknowledgesFirstPackets>},
    Mutant{.name = "last_ack_before_each_answer",
           .rule = "ACK-04",
           .description = "In front of each answer the ACK that left just before is repeated.",
           .make_filter = make<RepeatsLastAck>},
    Mutant{.name = "sequence_naks_eight_ms_late",
           .rule = "RSP-16",
           .description = "Sequence NAKs leave 8 ms late, and what follows waits.",
           .make_filter = make<SendsLater<NaksEightMsLate>>},
    Mutant{.name = "duplicates_answered_three_ms_late",
           .rule = "RDR-04",
           .description = "Answers to duplicates leave 3 ms late, and what follows waits.",
           .make_filter = make<SendsLater<DuplicatesLate>>},
    Mutant{.name = "duplicates_acknowledged_twice",
           .rule = "ACK-04",
           .description = "The ACK of a duplicate leaves twice.",
           .make_filter = make<AcknowledgesDuplicatesTwice>},
    // "never more credits than posted WQEs"; fewer is the device's choice
    Mutant{.name = "at_most_three_credits",
           .rule = "ACK-10",
           .description = "Answers carry three credits at most, whatever is posted.",
           .behaviour = {.credits = true},
           .make_filter = make<EditsOutbound<at_most_three_credits>>},
    Mutant{.name = "credits_in_every_second_ack",
           .rule = "ACK-10",
           .description = "Every second ACK carries credits, the others code 31.",
           .behaviour = {.credits = true},
           .make_filter = make<CreditsNowAndThen>},
    // "in FIRST it may or may not be incremented. MSN may also be higher"
    Mutant{.name = "first_response_one_behind_now",
           .rule = "RDR-03",
           .description = "READ responses carry the MSN of the time when they leave, FIRST one "
                          "less.",
           .behaviour = {.first_msn = engine::FirstMsn::Old,
                         .response_msn = engine::ResponseMsn::Current}},
    Mutant{.name = "rnr_inside_long_messages",
           .rule = "RNR-03",
           .description = "Each fifth PSN, if it is inside a message, draws an RNR NAK once.",
           .traits = "odp", // "ODP MRs (RNR NAK from any op)"
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady,
                                                  some_inner_packets_refused)},
    Mutant{.name = "busy_one_ms_in_seven",
           .rule = "RNR-03",
           .description = "In the first of each seven milliseconds all requests draw RNR NAKs, of "
                          "1 ms or more.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady, refused_at_times),
           .behaviour = {.shortest_rnr_wait = 1ms}},
    Mutant{.name = "three_rnrs_for_an_atomic",
           .rule = "RNR-03",
           .description = "Each atomic draws three RNR NAKs in a row, and is then executed.",
           .make_filter = make<LacksResources<is_atomic, 1, 3>>},
    Mutant{.name = "two_rnrs_for_a_long_send",
           .rule = "RNR-03",
           .description = "Each second SEND of several packets draws two RNR NAKs in a row.",
           .make_filter = make<LacksResources<begins_long_send, 2, 2>>},
    Mutant{.name = "rights_looked_at_after_keys",
           .rule = "KEY-10",
           .description = "A missing right of the QP is told after all faults of the request.",
           .checks = engine::kStandardChecks.with(RequestCheck::Rights, accept)
                         .with(RequestCheck::InvalidateKey, rights_last)},
    Mutant{.name = "receives_looked_at_before_order",
           .rule = "KEY-10",
           .description = "A SEND that begins inside a message draws an RNR NAK if there is no "
                          "receive.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::OpcodeSequence, receive_before_order)},
    Mutant{.name = "bad_invalidate_before_lengths",
           .rule = "KEY-11",
           .description = "A SEND of a wrong length that invalidates a bad key ends the QP in "
                          "silence.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::PadCount, invalidate_before_lengths)},
    Mutant{.name = "only_tails_of_reads_repeated",
           .rule = "RDR-05",
           .description = "A duplicate READ that ends before the original did gets no answer.",
           .checks =
               engine::kStandardChecks.with(DuplicateCheck::WithinRead, within_read_to_its_end)},
    // "may remember more than max_dest_rd_atomic"; "a deeper cache is legal"
    Mutant{.name = "one_more_remembered",
           .rule = "RDR-08",
           .description = "One READ or atomic more than negotiated is remembered.",
           .behaviour = {.remembered_extra = 1}},
    Mutant{.name = "requests_heeded_late",
           .rule = "RSP-16",
           .description = "Requests wait 700 us before anything is done with them.",
           .make_filter = make<HeedsRequestsLate>},
    // "writes in-range packets first"; "contents of the target buffer ... are undefined"
    Mutant{.name = "in_range_part_always_written",
           .rule = "KEY-06",
           .description = "Of refused SENDs and WRITEs all that fits is written; faults are found "
                          "as late as possible.",
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError,
                         .write_range = engine::WriteRange::EachPacket,
                         .write_excess = engine::WriteExcess::AtLast,
                         .refused_data = engine::RefusedData::AsFits}},
    // "silent drop legal", "silent also", "silent, NAK 0x61 or ignored", "may be ignored"
    Mutant{.name = "silent_wherever_it_may",
           .rule = "BTH-06",
           .description = "Whatever may be dropped in silence is.",
           .behaviour = {.reserved_opcode = engine::ReservedOpcode::Silent,
                         .duplicate_without_ack_request_is_acked = false,
                         .excess_read = engine::ExcessRead::Silent,
                         .lost_key = engine::LostKey::Silent,
                         .excess_pad = engine::ExcessPad::Silent,
                         .stray_payload = engine::StrayPayload::Silent,
                         .early_resend = engine::EarlyResend::Silent}},
    // "both legal unless the R_Key really covers"; "code INFO"; "0x62 or 0x63 at next PSN"
    Mutant{.name = "unusual_codes",
           .rule = "LEN-05",
           .description = "Of several codes that are allowed a fault gets the less usual one.",
           .behaviour = {.excess_read = engine::ExcessRead::Rnr,
                         .lost_key = engine::LostKey::NakRemoteOperational,
                         .fault_order = engine::FaultOrder::KeysFirst,
                         .oversize_nak = engine::OversizeNak::RemoteAccess}},
    Mutant{.name = "ip_options_dropped",
           .rule = "ENC-10",
           .description = "IPv4 packets with options are dropped.",
           .make_filter = make<Admits<drop_options>>},
    Mutant{.name = "wrong_udp_checksum_accepted",
           .rule = "ENC-06",
           .description = "The UDP checksum is not looked at.",
           .make_filter = make<Admits<ignore_udp_checksum>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind2_answers

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind2_answers() {
    return of_lawful_blind2_answers::kOddities;
}

} // namespace veriroce::mutants
