// Lawful oddities, second blind sample: requesters, headers, the port, the host, and devices that
// join many choices. Written from the rules alone, without a look at the cases, the model or the
// judge. Each row says which words of its rule leave the freedom.
#include <deque>

#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::mutants::of_lawful_blind2_requests {
namespace {

using namespace std::chrono_literals;

using engine::Completion;
using engine::WcStatus;
using wire::Operation;

// --- the requester

struct Sent {
    struct Message {
        wire::Psn last;
        std::uint32_t number = 0; // from 1 on
    };
    NewestPsn newest;
    std::uint32_t begun = 0; // messages
    std::deque<Message> messages;
};

// REQ-05: "PEN completes by MSN and discards MSN >= SSN"; LAST, ONLY and ATOMIC ACKNOWLEDGE "whose
// MSN is below the message" are discarded as well.
class DropsImpossibleMsns final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        Sent& sent = qp.memory;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        if (sent.newest.note(packet.bth.psn, packets)) return;
        if (packet.info().starts_message()) {
            ++sent.begun;
            sent.messages.push_back({.number = sent.begun});
        }
        if (sent.messages.empty()) return;
        sent.messages.back().last = *sent.newest.psn;
        constexpr std::size_t most = 1024;
        if (sent.messages.size() > most) sent.messages.pop_front();
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        const Sent& sent = qp.memory;
        const wire::Psn told(packet.aeth.msn.value);
        if (wire::distance(wire::Psn(sent.begun), told) > 0) passage.dropped = true;
        const bool answers_whole =
            packet.info().operation != Operation::Acknowledge && packet.info().ends_message();
        if (!answers_whole) return;
        const auto message = std::ranges::find_if(sent.messages, [&](const auto& one) {
            return wire::distance(packet.bth.psn, one.last) >= 0;
        });
        if (message == sent.messages.end()) return;
        if (wire::distance(wire::Psn(message->number), told) < 0) passage.dropped = true;
    }
};

// REQ-03: nothing says how soon an answer has its effect.
class HeedsAnswersLate final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().response()) datagram.delay += 20us;
        in.push_back(std::move(datagram));
    }
};

// REQ-11: go-back-N at the requester's own speed.
class ResendsSlowly {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool again = newest_[packet.bth.dest_qp].note(packet.bth.psn);
        constexpr wire::Duration pause = 30us;
        return {.at = earliest, .next = again ? earliest + pause : earliest};
    }

  private:
    std::map<wire::Qpn, NewestPsn> newest_;
};

void asks_at_each_sixteenth_psn(wire::Packet& packet) {
    const auto operation = packet.info().operation;
    const bool data = operation == Operation::Send || operation == Operation::RdmaWrite;
    constexpr std::uint32_t every = 16;
    if (is_rc_request(packet) && data && packet.bth.psn.value() % every == 0) {
        packet.bth.ack_request = true;
    }
}

// --- headers

// BTH-15: "INFO value"
void not_migrated_on_odd_qps(wire::Packet& packet) {
    const bool rc = packet.info().service == wire::Service::Rc;
    if (rc && packet.bth.dest_qp.value % 2 != 0) packet.bth.mig_req = false;
}

void as_ect_one(wire::Envelope& envelope) {
    envelope.ecn = 1;
}

void with_priority_five(wire::Envelope& envelope) {
    constexpr std::uint8_t some_priority = 5;
    if (envelope.vlan) envelope.vlan->priority = some_priority;
}

// ENC-02: "one value per QP (ordering), may be any"
void from_below_a_thousand(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::uint64_t ports = 1000;
    if (packet.info().service != wire::Service::Rc) return;
    datagram.envelope.source_port =
        static_cast<std::uint16_t>(1 + wire::splitmix64_mix(packet.bth.dest_qp.value) % ports);
}

struct Headers {
    bool v4 = true;
    std::size_t ip = 0;
    std::size_t udp = 0;
};

std::optional<Headers> headers_of(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded) return std::nullopt;
    constexpr std::size_t udp_bytes = 8;
    return Headers{.v4 = decoded->ipv4.has_value(),
                   .ip = static_cast<std::size_t>(decoded->covered().data() - frame.data()),
                   .udp = static_cast<std::size_t>(decoded->transport.data() - frame.data()) -
                          udp_bytes};
}

// CA17-7: a packet that is never cut into pieces needs no identification (RFC 6864).
class SendsIpIdZero final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto headers = headers_of(frame);
        if (!headers || !headers->v4) return;
        const auto ip = frame.subspan(headers->ip, headers->udp - headers->ip);
        wire::store_be<2>(ip, 4, 0);
        wire::store_be<2>(ip, 10, 0);
        wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
        wire::seal(frame);
    }
};

// ENC-05: over IPv6 "zero UDP checksum or valid one"
class SendsUdpChecksumOverIpv6 final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto headers = headers_of(frame);
        if (!headers || headers->v4) return;
        const wire::Bytes all = frame;
        wire::store_be<2>(
            frame, headers->udp + 6,
            wire::udp_checksum(all.subspan(headers->ip + 8, 32), all.subspan(headers->udp)));
    }
};

// --- the port

// Its line takes a time for each packet, of whatever QP.
class GigabitPort final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::size_t around = 14 + 40 + 8 + 4 + 4 + 20; // as far as IPv6 needs
        constexpr std::int64_t ns_per_byte = 8;
        const auto bytes = static_cast<std::int64_t>(datagram.bytes.size() + around);
        free_ =
            std::max(free_, now + datagram.delay) + std::chrono::nanoseconds(bytes * ns_per_byte);
        free_ = std::min(free_, now + kLongestQueue);
        datagram.delay = free_ - now;
        out.push_back(std::move(datagram));
    }

  private:
    wire::Instant free_{};
};

struct ManagementLate {
    static bool delays(const wire::Packet& packet) { return packet.bth.dest_qp == wire::kGsiQpn; }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 30ms, .next = earliest};
    }
};

// --- the host

// REQ-21: "LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR"
class OperationErrors final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion told = completion;
        const bool bad_answer =
            completion.status == WcStatus::BadRespErr || completion.status == WcStatus::LocLenErr;
        if (completion.queue == engine::Queue::Send && bad_answer) {
            told.status = WcStatus::LocQpOpErr;
        }
        return told;
    }
};

struct AnswersEightMsLate {
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 8ms, .next = earliest};
    }
};

constexpr std::array kOddities{
    // "a smaller limit is its own choice"
    Mutant{.name = "five_packets_outstanding",
           .rule = "REQ-02",
           .description = "At most five packets are outstanding; each third asks for an ACK.",
           .behaviour = {.ack_request_every = 3, .max_unacked_packets = 5}},
    Mutant{.name = "impossible_msns_dropped",
           .rule = "REQ-05",
           .description = "Answers whose MSN counts messages that were not sent, or not the one "
                          "that they answer, are dropped.",
           .make_filter = make<DropsImpossibleMsns>},
    Mutant{.name = "answers_heeded_late",
           .rule = "REQ-03",
           .description = "Answers wait 20 us before anything is done with them.",
           .behaviour = {.timeout_sixteenths = 40},
           .make_filter = make<HeedsAnswersLate>},
    // "First interval only ... Later intervals may grow"
    Mutant{.name = "timeout_of_two_and_a_half_t_grows",
           .rule = "TMO-01",
           .description = "The first timeout is 2.5 T, each further one twice as long.",
           .behaviour = {.timeout_sixteenths = 40, .timeout_grows = true}},
    Mutant{.name = "resends_thirty_us_apart",
           .rule = "REQ-11",
           .description = "What is sent again leaves at least 30 us apart.",
           .behaviour = {.timeout_sixteenths = 40},
           .make_filter = make<SendsLater<ResendsSlowly>>},
    // "Lower bound only"; "may first send only the NAKed message"
    Mutant{.name = "thrice_the_rnr_time_then_alone",
           .rule = "RNR-08",
           .description = "After three times the RNR time the refused message goes alone; credits "
                          "are obeyed.",
           .behaviour = {.obey_credits = true,
                         .after_rnr = engine::AfterRnr::OneMessage,
                         .rnr_wait_sixteenths = 48}},
    // "anything from the READ's first PSN to the first missing PSN"; "ignore, retry it"
    Mutant{.name = "reads_again_from_the_start",
           .rule = "REQ-09",
           .description = "Whatever is wrong with an answer to a READ, the whole READ is asked for "
                          "again.",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .bad_read_length = engine::BadReadLength::Dropped,
                         .acknowledged_read = engine::AcknowledgedRead::Retried}},
    Mutant{.name = "not_migrated_to_odd_qps",
           .rule = "BTH-15",
           .description = "Packets to peers of an odd QP number leave with MigReq 0.",
           .make_filter = make<EditsOutbound<not_migrated_on_odd_qps>>},
    Mutant{.name = "ip_id_zero",
           .rule = "CA17-7",
           .description = "The IPv4 identification is always 0.",
           .make_filter = make<SendsIpIdZero>},
    // "Without congestion management, ECN bits are 00"
    Mutant{.name = "ect_one_in_every_packet",
           .rule = "CA17-5",
           .description = "The device manages congestion, and each packet leaves as ECT(1).",
           .behaviour = {.congestion = {.reaction = {.enabled = true}}},
           .make_filter = make<EditsSentEnvelope<as_ect_one>>},
    Mutant{.name = "udp_checksum_over_version_six",
           .rule = "ENC-05",
           .description = "Over IPv6 packets leave with a right UDP checksum.",
           .make_filter = make<SendsUdpChecksumOverIpv6>},
    Mutant{.name = "source_port_below_a_thousand",
           .rule = "ENC-02",
           .description = "The UDP source port is 1 to 1000, another for each peer.",
           .make_filter = make<EditsSentDatagram<from_below_a_thousand>>},
    // "802.1Q, PCP does not enter ICRC": the priority is configuration
    Mutant{.name = "priority_five_in_vlans",
           .rule = "ENC-15",
           .description = "Frames in a VLAN leave with priority 5.",
           .make_filter = make<EditsSentEnvelope<with_priority_five>>},
    // "vendor configuration, not standard"; "ignored or accepted"
    Mutant{.name = "rare_cnps_and_odd_ones_ignored",
           .rule = "CNP-11",
           .description = "One CNP in 4 ms for each peer's address; odd CNPs are ignored.",
           .behaviour = {.congestion = {.notification = {.scope = engine::CnpScope::Destination,
                                                         .interval = 4ms,
                                                         .dscp = 0},
                                        .reaction = {.enabled = true,
                                                     .odd_cnp = engine::OddCnp::Ignore}}}},
    Mutant{.name = "gigabit_port",
           .rule = "ACK-12",
           .description = "All packets leave at 1 Gbit/s, whatever the QP.",
           .behaviour = {.timeout_sixteenths = 40},
           .make_filter = make<GigabitPort>},
    Mutant{.name = "management_thirty_ms_late",
           .rule = "CM-10",
           .description = "Messages of connection management leave 30 ms late.",
           .make_filter = make<SendsLater<ManagementLate>>},
    Mutant{.name = "bad_answers_are_operation_errors",
           .rule = "REQ-21",
           .description = "An answer of a wrong size or kind completes its request with a local "
                          "operation error.",
           .behaviour = {.unexpected_response = engine::UnexpectedResponse::BadResponse},
           .make_filter = make<OperationErrors>},
    // "SHOULD: compare with the device's own local_ca_ack_delay"
    Mutant{.name = "slow_in_everything",
           .rule = "TMO-07",
           .description = "Answers leave 8 ms late; the host sees completions after 8 ms, data "
                          "after 5 ms, events after 15 ms.",
           .make_filter = make_chain<SendsLater<AnswersEightMsLate>, HostLate<8000, 5000, 15000>>},
    // limits that a device tells, and refuses to exceed
    Mutant{.name = "windows_of_type_two_alone",
           .rule = "KEY-09",
           .description = "The device has memory windows of type 2, not of type 1.",
           .lacks = "mw1"},
    Mutant{.name = "windows_of_type_one_alone",
           .rule = "KEY-09",
           .description = "The device has memory windows of type 1, and no remote invalidation.",
           .lacks = "mw2,send_inv"},
    Mutant{.name = "small_limits",
           .rule = "REQ-27",
           .description = "At most three READs or atomics, two pieces of memory, 16 bytes inline, "
                          "path MTU 1024.",
           .lacks = "rd_atomic>=4,dest_rd_atomic>=4,sge>=3,inline>=17,mtu>=2048"},
    Mutant{.name = "no_reuse_and_no_events",
           .rule = "STA-10",
           .description = "A QP does not leave RESET again; the host gets no events and no "
                          "notifications.",
           .lacks = "reset_reuse,events,notify,uc"},
    // --- choices that are found together
    Mutant{.name = "choices_of_a_connectx",
           .rule = "TMO-08",
           .description = "Adaptive timers, what fits of refused data written, MSN of now, AckReq "
                          "at each sixteenth PSN, no SQD.",
           .traits = "adaptive_retransmission",
           .lacks = "sqd",
           .behaviour = {.timeout_sixteenths = 32,
                         .response_msn = engine::ResponseMsn::Current,
                         .write_range = engine::WriteRange::EachPacket,
                         .refused_data = engine::RefusedData::AsFits,
                         .adaptive_timeout = 4ms},
           .make_filter = make<EditsOutbound<asks_at_each_sixteenth_psn>>},
    Mutant{.name = "choices_of_an_ionic",
           .rule = "RDR-06",
           .description = "READ retries go on with MIDDLE or LAST, later responses are resent too, "
                          "bad sizes and MSNs dropped, excess READs refused for a while, excess "
                          "data told at the end.",
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .response_msn = engine::ResponseMsn::Current,
                         .duplicate_resends_later = true,
                         .excess_read = engine::ExcessRead::Rnr,
                         .write_excess = engine::WriteExcess::AtLast,
                         .bad_read_length = engine::BadReadLength::Dropped},
           .make_filter = make<DropsImpossibleMsns>},
    Mutant{.name = "choices_of_a_qib",
           .rule = "RSP-11",
           .description = "Duplicates are answered if they ask, by READ responses too, and open "
                          "the way for another NAK; other memory of a READ is served; each NAK "
                          "restarts; credits are told and obeyed.",
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .duplicate_without_ack_request_is_acked = false,
                         .credits = true,
                         .obey_credits = true,
                         .duplicate_rearms_nak = true,
                         .duplicate_read = engine::DuplicateRead::Revalidated,
                         .remembered_extra = 8,
                         .repeated_nak = engine::RepeatedNak::Restarts}},
    Mutant{.name = "choices_of_an_e_card",
           .rule = "REQ-11",
           .description = "The ACK timer is always 50 ms; after a loss one packet goes alone; the "
                          "source port is made of the QP numbers; no atomics, no UC, no reuse.",
           .traits = "ack_timer_ignored",
           .lacks = "uc,reset_reuse,atomics",
           .behaviour = {.after_loss = engine::AfterLoss::OnePacket,
                         .fixed_timeout = 50ms,
                         .source_port = engine::SourcePort::QpnHash}},
    Mutant{.name = "choices_of_a_thor",
           .rule = "CA17-5",
           .description = "Every packet leaves as ECT(1); one ACK for two packets or 50 us; the "
                          "host sees completions 2 ms late; no UC.",
           .lacks = "uc",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .ack_every = 2,
                         .ack_delay = 50us,
                         .congestion = {.reaction = {.enabled = true}}},
           .make_filter = make_chain<EditsSentEnvelope<as_ect_one>, HostLate<2000, 0, 0>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind2_requests

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind2_requests() {
    return of_lawful_blind2_requests::kOddities;
}

} // namespace veriroce::mutants
