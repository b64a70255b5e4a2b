// Lawful devices, written without a look at the suite: real ones' ways to pace, batch, coalesce,
// retry, run short of something and report late, mostly several in one device.
#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_lawful_blind11_mixed {
namespace {

using namespace std::chrono_literals;
using engine::Completion;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SendView;

// --- when answers leave

// `Lateness` says how much later an answer leaves, by itself; none overtakes another of its QP. The
// latenesses do not add up, so that none is above the largest.
template <typename Lateness>
class NoneOvertakes {
  public:
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        wire::Instant& last = last_[packet.bth.dest_qp];
        last = std::max(last, earliest + lateness_.of(packet, earliest));
        return {.at = last, .next = earliest};
    }

  private:
    Lateness lateness_;
    std::map<wire::Qpn, wire::Instant> last_; // by the peer's QP
};

template <typename Lateness>
using AnswersLate = SendsLater<NoneOvertakes<Lateness>>;

// The unit that answers looks at a quarter of the QPs at a time.
struct ByQpSlot {
    static wire::Duration of(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration slot = 60us;
        constexpr std::int64_t slots = 4;
        const wire::Duration begin = slot * (packet.bth.dest_qp.value % slots);
        const wire::Duration since = earliest.time_since_epoch() % (slots * slot);
        if (since >= begin && since < begin + slot) return {};
        return since < begin ? begin - since : begin - since + slots * slot;
    }
};

// The first answer after a pause leaves at once, what comes within the time after it at its end.
class Moderated {
  public:
    wire::Duration of(const wire::Packet& packet, wire::Instant earliest) {
        constexpr wire::Duration time = 150us;
        wire::Instant& end = ends_[packet.bth.dest_qp];
        if (earliest < end) return end - earliest;
        end = earliest + time;
        return {};
    }

  private:
    std::map<wire::Qpn, wire::Instant> ends_;
};

// One engine reads memory for all QPs, and takes its time for each packet.
class OneReadEngine {
  public:
    wire::Duration of(const wire::Packet& packet, wire::Instant earliest) {
        if (!is_read_response(packet)) return {};
        constexpr wire::Duration each = 15us;
        constexpr wire::Duration longest = 300us;
        const wire::Instant at = std::clamp(free_, earliest, earliest + longest);
        free_ = at + each;
        return at - earliest;
    }

  private:
    wire::Instant free_;
};

// The contexts of two QPs fit into the device; any other one is fetched from the host first.
class TwoContexts {
  public:
    wire::Duration of(const wire::Packet& packet, wire::Instant /*earliest*/) {
        const wire::Qpn qp = packet.bth.dest_qp;
        const bool there = std::ranges::find(cached_, qp) != cached_.end();
        std::erase(cached_, qp);
        cached_.push_front(qp);
        constexpr std::size_t room = 2;
        if (cached_.size() > room) cached_.pop_back();
        return there ? wire::Duration(0) : wire::Duration(90us);
    }

  private:
    std::deque<wire::Qpn> cached_; // the one used last first
};

// Units of their own, that are not equally fast.
struct ByKind {
    static wire::Duration of(const wire::Packet& packet, wire::Instant /*earliest*/) {
        if (is_nak(packet)) return 300us;
        if (is_ack(packet)) return 20us;
        return is_read_response(packet) ? 130us : 220us;
    }
};

// The bus has no time now and then.
class Hiccups {
  public:
    wire::Duration of(const wire::Packet& /*packet*/, wire::Instant /*earliest*/) {
        constexpr unsigned every = 16;
        return ++answers_ % every == 0 ? wire::Duration(320us) : wire::Duration(0);
    }

  private:
    unsigned answers_ = 0;
};

// Software writes the NAK that ends a QP.
struct FatalNaksLate {
    static wire::Duration of(const wire::Packet& packet, wire::Instant /*earliest*/) {
        return is_fatal_nak(packet) ? wire::Duration(450us) : wire::Duration(0);
    }
};

// Software answers what was answered before.
class RepeatedPsnsLate {
  public:
    wire::Duration of(const wire::Packet& packet, wire::Instant /*earliest*/) {
        const bool old = newest_[packet.bth.dest_qp].note(packet.bth.psn);
        return old ? wire::Duration(350us) : wire::Duration(0);
    }

  private:
    std::map<wire::Qpn, NewestPsn> newest_; // by the peer's QP
};

// --- when other packets leave

// Each QP's packets, requests too, go through its own queue, always equally long.
struct EachQpItsOwnQueue {
    static bool delays(const wire::Packet& /*packet*/) { return true; }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr std::uint32_t lengths = 4;
        const wire::Duration way = 10us * (1 + packet.bth.dest_qp.value % lengths);
        return {.at = earliest + way, .next = earliest};
    }
};

// Software sends CNPs and what answers messages of connection management.
struct SoftwareLate {
    static bool delays(const wire::Packet& packet) {
        const bool management =
            packet.info().service == wire::Service::Ud && packet.deth.source_qp == wire::kGsiQpn;
        return management || is_cnp(packet);
    }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 350us, .next = earliest};
    }
};

// --- which answers leave, and what they say

// ACK-04: each third ACK leaves twice, at once.
class RepeatsThirdAck final : public QpFilter<unsigned> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr unsigned every = 3;
        if (is_ack(passage.packet) && ++qp.memory % every == 0) {
            passage.after.push_back(passage.packet);
        }
    }
};

// ACK-04: "a READ PSN may appear in it once its responses were sent". Not behind a duplicate's.
class AcknowledgesReads final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response() || qp.memory.note(packet.bth.psn)) return;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        wire::Packet ack = packet;
        set_opcode(ack, wire::Operation::Acknowledge, wire::Position::Only);
        ack.bth.pad = 0;
        ack.body = {};
        passage.after.push_back(ack);
    }
};

// ACK-10: of the receives, the device has fetched four at most.
void with_four_credits(wire::Packet& packet) {
    if (!has_aeth(packet) || packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    constexpr std::uint8_t most = 4; // which is the code of four
    if (code != wire::kNoCredits) packet.aeth.syndrome = wire::Syndrome::ack(std::min(code, most));
}

// --- what a responder lacks at times; it refuses once, and takes the retry

bool refuses(const RequestView& view, std::uint32_t every) {
    return view.info.service == wire::Service::Rc && view.inbound.nak != engine::NakState::Rnr &&
           view.packet.bth.psn.value() % every == every - 1;
}

// G4: a page of a region or of a receive is not there, wherever in its message the packet is.
RequestVerdict page_missing(const RequestView& view) {
    const bool touches_memory = view.info.operation == wire::Operation::Send ||
                                view.info.operation == wire::Operation::RdmaWrite ||
                                view.info.operation == wire::Operation::RdmaReadRequest;
    constexpr std::uint32_t every = 8;
    if (touches_memory && refuses(view, every)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

// RNR-03: out of what atomics need.
RequestVerdict atomic_unit_busy(const RequestView& view) {
    constexpr std::uint32_t every = 4;
    if (is_atomic_request(view.packet) && refuses(view, every)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

// RNR-03: no buffer for the responses of a READ that takes more than one.
RequestVerdict long_read_refused(const RequestView& view) {
    const bool read_of_several =
        is_read_request(view.packet) &&
        wire::packets_of(view.packet.reth.dma_length, view.connection.mtu) > 1;
    constexpr std::uint32_t every = 1;
    if (read_of_several && refuses(view, every)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

// --- the requester

// REQ-27, REQ-02: a READ or atomic begins when nothing is on its way ...
bool nothing_before(const SendView& view) {
    return engine::send_check::rd_atomic(view) &&
           (!engine::wants_response(view.request.opcode) ||
            view.outbound.unacked_psn == view.outbound.next_psn);
}

// ... and all else waits for its answer, as if it had a fence.
bool always_fenced(const SendView& view) {
    return view.outbound.outstanding_rd_atomic == 0;
}

// --- free header fields

// IPv6 alone: a QP whose address vector names no flow label has one of its own.
class OwnFlowLabels final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.address) label(qpn, *attributes.address);
        if (attributes.alternate) label(qpn, attributes.alternate->address);
    }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.ud) label(qpn, request.ud->path);
    }
    void queried(engine::QpReport& report) override {
        engine::QpAttributes& attributes = report.attributes;
        if (attributes.address) unlabel(report.qpn, *attributes.address);
        if (attributes.alternate) unlabel(report.qpn, attributes.alternate->address);
    }

  private:
    static std::uint32_t label_of(wire::Qpn qpn) {
        constexpr std::uint32_t golden_ratio = 0x9E3779B1;
        return qpn.value * golden_ratio >> 12U | 1U; // 20 bits, never 0
    }
    static void label(wire::Qpn qpn, engine::AddressVector& path) {
        if (!path.source.v4() && path.flow_label == 0) path.flow_label = label_of(qpn);
    }
    static void unlabel(wire::Qpn qpn, engine::AddressVector& path) {
        if (!path.source.v4() && path.flow_label == label_of(qpn)) path.flow_label = 0;
    }
};

// Every datagram has its UDP checksum, and over IPv4 the identification of one that is never cut
// into pieces: 0. The ICRC covers that, and counts the UDP checksum as ones.
class ChecksumsRight final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        if (!outer.v6) lose_identification(frame, outer);
        const std::size_t addresses_at = outer.ip_at + (outer.v6 ? 8U : 12U);
        const wire::Bytes addresses = frame.subspan(addresses_at, outer.v6 ? 32U : 8U);
        const wire::Bytes datagram = frame.subspan(outer.udp_at, outer.ip_end - outer.udp_at);
        constexpr std::size_t checksum_at = 6;
        wire::store_be<2>(frame, outer.udp_at + checksum_at,
                          wire::udp_checksum(addresses, datagram));
    }

  private:
    static void lose_identification(wire::MutableBytes frame, const wire::Outer& outer) {
        constexpr std::size_t identification_at = 4;
        constexpr std::size_t checksum_at = 10;
        wire::store_be<2>(frame, outer.ip_at + identification_at, 0U);
        const wire::Bytes header = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
        wire::store_be<2>(frame, outer.ip_at + checksum_at, wire::ipv4_checksum(header));
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(outer.covered()));
    }
};

// --- what the host sees

// The verbs define no length of a SEND or WRITE that is done, and next to nothing of what failed.
class LeavesOldBytes final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool success = seen.status == engine::WcStatus::Success;
        const bool says_length =
            seen.queue == engine::Queue::Receive ||
            (seen.opcode != engine::WcOpcode::Send && seen.opcode != engine::WcOpcode::RdmaWrite);
        if (!success || !says_length) seen.byte_len = 0x5A5A5A5A;
        if (!success) seen.opcode = engine::WcOpcode::BindMw;
        return seen;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "lb11m_core_packet_by_packet",
           .rule = "REQ-02",
           .description = "A small core has one packet on its way, asks again for whole READs, "
                          "drops responses of the wrong length and acknowledges each packet.",
           .lacks = "uc,ud,srq,mw,mw1,mw2,send_inv,flush,atomic_write,inline>=1,sge>=2,"
                    "rd_atomic>=2,dest_rd_atomic>=2",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket,
                         .read_restart = engine::ReadRestart::WholeRead,
                         .ack_request_every = 1,
                         .max_unacked_packets = 1,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .bad_read_length = engine::BadReadLength::Dropped}},
    Mutant{.name = "lb11m_acks_far_apart",
           .rule = "ACK-03",
           .description = "One ACK for 32 packets that ask, or after 400 us; duplicates that do "
                          "not ask draw none; MSNs are those of the moment.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .duplicate_without_ack_request_is_acked = false,
                         .ack_every = 32,
                         .ack_delay = 400us,
                         .response_msn = engine::ResponseMsn::Current}},
    Mutant{.name = "lb11m_four_receives_prefetched",
           .rule = "ACK-10",
           .description = "ACKs come 250 us late and tell of four credits at most, again when "
                          "there are receives; the first of several READ responses has the old "
                          "MSN.",
           .behaviour = {.ack_policy = engine::AckPolicy::Delayed,
                         .credits = true,
                         .ack_delay = 250us,
                         .first_msn = engine::FirstMsn::Old,
                         .unsolicited_credits = true},
           .make_filter = make<EditsOutbound<with_four_credits>>},
    Mutant{.name = "lb11m_paravirtual_function",
           .rule = "ACK-05",
           .description = "The host sees completions, memory and events up to 900 us late; ACKs "
                          "merge, a shared queue gives its newest receive, CNPs are paced at the "
                          "port.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced,
                         .shared_receive = engine::SharedReceive::Newest,
                         .source_port = engine::SourcePort::QpnHash,
                         .congestion = {.notification = {.scope = engine::CnpScope::Port}}},
           .make_filter = make<HostLate<700, 700, 900>>},
    Mutant{.name = "lb11m_slow_timers",
           .rule = "TMO-01",
           .description = "Resends come after 3.5 T; RNR waits last 2.5 times as long, and one "
                          "message goes after them; each 16th packet asks for an ACK.",
           .behaviour = {.ack_request_every = 16,
                         .timeout_sixteenths = 56,
                         .after_rnr = engine::AfterRnr::OneMessage,
                         .rnr_wait_sixteenths = 40}},
    Mutant{.name = "lb11m_strict_requester",
           .rule = "REQ-24",
           .description = "16 packets are outstanding at most; a response out of place ends the "
                          "QP, an ACK for a READ makes it ask again, as each sequence NAK does.",
           .behaviour = {.unexpected_response = engine::UnexpectedResponse::BadResponse,
                         .max_unacked_packets = 16,
                         .repeated_nak = engine::RepeatedNak::Restarts,
                         .acknowledged_read = engine::AcknowledgedRead::Retried}},
    Mutant{.name = "lb11m_faults_told_by_software",
           .rule = "KEY-06",
           .description = "WRITEs are checked packet by packet and their excess at the end, keys "
                          "before receives; what fits is written; fatal NAKs leave 450 us late, "
                          "events come 900 us late.",
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError,
                         .fault_order = engine::FaultOrder::KeysFirst,
                         .write_range = engine::WriteRange::EachPacket,
                         .write_excess = engine::WriteExcess::AtLast,
                         .oversize_nak = engine::OversizeNak::RemoteAccess,
                         .refused_data = engine::RefusedData::AsFits},
           .make_filter = make_chain<HostLate<0, 0, 900>, AnswersLate<FatalNaksLate>>},
    Mutant{.name = "lb11m_deep_replay_memory",
           .rule = "ATM-06",
           .description = "Eight more READs and atomics are remembered; a duplicate draws what "
                          "follows it too, a duplicate atomic with other operands the saved "
                          "answer, and the next gap another NAK.",
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .duplicate_rearms_nak = true,
                         .other_atomic = engine::OtherAtomic::SavedAnswer,
                         .duplicate_resends_later = true,
                         .remembered_extra = 8}},
    Mutant{.name = "lb11m_lenient_with_hiccups",
           .rule = "BTH-12",
           .description = "Too much pad and early resends meet silence, payload of READs and "
                          "atomics is ignored; each 16th answer leaves 320 us late, and later "
                          "ones wait.",
           .behaviour = {.lost_key = engine::LostKey::NakRemoteOperational,
                         .excess_pad = engine::ExcessPad::Silent,
                         .stray_payload = engine::StrayPayload::Ignored,
                         .early_resend = engine::EarlyResend::Silent},
           .make_filter = make<AnswersLate<Hiccups>>},
    Mutant{.name = "lb11m_answers_in_time_slots",
           .rule = "ACK-12",
           .description = "Answers leave in the slots of 60 us of their QP, one in four; each "
                          "message's end is acknowledged.",
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage},
           .make_filter = make<AnswersLate<ByQpSlot>>},
    Mutant{.name = "lb11m_interrupts_moderated",
           .rule = "ACK-12",
           .description = "An answer after a pause leaves at once, those of the next 150 us at "
                          "their end; completions and events come 400 us late.",
           .make_filter = make_chain<HostLate<400, 0, 400>, AnswersLate<Moderated>>},
    Mutant{.name = "lb11m_one_read_engine",
           .rule = "RDR-11",
           .description = "READ responses of all QPs leave 15 us apart, up to 300 us late; later "
                          "answers of the QP wait. Their MSNs count what came meanwhile.",
           .behaviour = {.response_msn = engine::ResponseMsn::Current},
           .make_filter = make<AnswersLate<OneReadEngine>>},
    Mutant{.name = "lb11m_room_for_two_contexts",
           .rule = "ACK-12",
           .description = "Answers of other QPs than the two that were served last leave 90 us "
                          "late; completions come 200 us late.",
           .make_filter = make_chain<HostLate<200, 0, 0>, AnswersLate<TwoContexts>>},
    Mutant{.name = "lb11m_units_by_kind_of_answer",
           .rule = "RSP-16",
           .description = "ACKs, READ responses, atomic acknowledges and NAKs take 20 to 300 us, "
                          "in their order; each packet is acknowledged.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket},
           .make_filter = make<AnswersLate<ByKind>>},
    Mutant{.name = "lb11m_third_ack_twice",
           .rule = "ACK-04",
           .description = "Each third ACK leaves twice; answers come in bundles of 150 us.",
           .make_filter = make_chain<AnswersLate<Moderated>, RepeatsThirdAck>},
    Mutant{.name = "lb11m_reads_acknowledged_too",
           .rule = "ACK-04",
           .description = "Behind the last response of a READ comes an ACK with the same PSN.",
           .make_filter = make<AcknowledgesReads>},
    Mutant{.name = "lb11m_pages_fetched",
           .rule = "RNR-03",
           .description = "SENDs, WRITEs and READs with one PSN in eight draw an RNR NAK once, "
                          "inside messages too; completions come 300 us late.",
           .traits = "odp",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady, page_missing),
           .make_filter = make<HostLate<300, 300, 0>>},
    Mutant{.name = "lb11m_atomic_unit_busy",
           .rule = "RNR-03",
           .description = "Atomics with one PSN in four draw an RNR NAK once, and so does a READ "
                          "or atomic too many; atomic acknowledges take 220 us.",
           .checks =
               engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady, atomic_unit_busy),
           .behaviour = {.remembered_extra = 4, .excess_read = engine::ExcessRead::Rnr},
           .make_filter = make<AnswersLate<ByKind>>},
    Mutant{.name = "lb11m_long_reads_wait_for_buffers",
           .rule = "RNR-03",
           .description = "Each READ of several packets draws an RNR NAK once; READ responses of "
                          "all QPs leave 15 us apart. As a requester the device asks for whole "
                          "READs again.",
           .checks =
               engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady, long_read_refused),
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead},
           .make_filter = make<AnswersLate<OneReadEngine>>},
    Mutant{.name = "lb11m_reads_go_alone",
           .rule = "REQ-27",
           .description = "A READ or atomic goes when nothing else is on its way, and all else "
                          "waits for its answer; each eighth packet asks for an ACK.",
           .checks = engine::kStandardChecks.with(engine::SendCheck::RdAtomic, nothing_before)
                         .with(engine::SendCheck::Fence, always_fenced),
           .behaviour = {.ack_request_every = 8}},
    Mutant{.name = "lb11m_queue_of_each_qp",
           .rule = "ACK-12",
           .description = "All packets leave 10 to 40 us late, by the peer's QP; timeout codes "
                          "below 12 act as 12; in SQD all that was posted is sent.",
           .ack_timer_floor = 12,
           .behaviour = {.drain = engine::Drain::Posted, .timeout_floor = 12},
           .make_filter = make<SendsLater<EachQpItsOwnQueue>>},
    Mutant{.name = "lb11m_flow_label_of_each_qp",
           .rule = "ENC-02",
           .description = "Over IPv6 a QP without a flow label has one of its own, and a source "
                          "port that follows from it.",
           .make_filter = make<OwnFlowLabels>},
    Mutant{.name = "lb11m_udp_checksums_and_no_ids",
           .rule = "ENC-05",
           .description = "Each packet has its UDP checksum, and the identification 0 over IPv4; "
                          "ACKs merge.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced},
           .make_filter = make<ChecksumsRight>},
    Mutant{.name = "lb11m_adaptive_one_by_one",
           .rule = "TMO-08",
           .description = "The first resends come after 6 ms, 12 ms and so on; one packet goes "
                          "until it is acknowledged; each second packet asks for an ACK.",
           .traits = "adaptive_retransmission",
           .behaviour = {.ack_request_every = 2,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .adaptive_timeout = 6ms}},
    Mutant{.name = "lb11m_old_bytes_in_completions",
           .rule = "STA-07",
           .description = "Completions of SENDs and WRITEs have any length, failed ones any "
                          "opcode; they come 600 us late, and a QP in ERR takes no posts.",
           .make_filter = make_chain<HostLate<600, 0, 800, true>, LeavesOldBytes>},
    Mutant{.name = "lb11m_software_sends_cnps",
           .rule = "CNP-04",
           .description = "CNPs, paced by address and for requests alone, and messages of "
                          "connection management leave 350 us late.",
           .behaviour = {.congestion = {.notification = {.scope = engine::CnpScope::Destination,
                                                         .interval = 30us,
                                                         .for_responses = false}}},
           .make_filter = make<SendsLater<SoftwareLate>>},
    Mutant{.name = "lb11m_congestion_managed",
           .rule = "CNP-09",
           .description = "All packets of QPs are ECT(0); a CNP lowers a QP's rate to 10 Gbit/s "
                          "at least, an odd one has no effect; marks draw CNPs 20 us apart.",
           .behaviour = {.ack_request_every = 32,
                         .congestion = {.notification = {.interval = 20us},
                                        .reaction = {.enabled = true,
                                                     .odd_cnp = engine::OddCnp::Ignore,
                                                     .dcqcn = {.line_rate = 25'000'000'000,
                                                               .min_rate = 10'000'000'000,
                                                               .cut_interval = 100us}}}}},
    Mutant{.name = "lb11m_duplicates_on_the_slow_path",
           .rule = "RSP-10",
           .description = "Answers with a PSN that was answered before leave 350 us late, and "
                          "later ones wait; a duplicate SEND or WRITE before a READ draws the "
                          "READ's responses.",
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .remembered_extra = 2},
           .make_filter = make<AnswersLate<RepeatedPsnsLate>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind11_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind11_mixed() {
    return of_lawful_blind11_mixed::kMutants;
}

} // namespace veriroce::mutants
