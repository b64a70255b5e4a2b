// Lawful oddities in when and how often a responder answers, and in what it lacks at times.
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_answers {
namespace {

using namespace std::chrono_literals;
using engine::NakState;
using engine::RequestVerdict;
using engine::RequestView;

// --- a responder that lacks a resource at times (RNR-03): it refuses once, and takes the retry

// UC and UD have no RNR NAK.
bool is_reliable(const RequestView& view) {
    return view.info.service == wire::Service::Rc;
}

bool waits_for_retry(const RequestView& view) {
    return view.inbound.nak == NakState::Rnr;
}

bool begins_plain(const RequestView& view) {
    return is_reliable(view) && view.info.position == wire::Position::Only && !view.takes_receive();
}

RequestVerdict every_plain_refused(const RequestView& view) {
    if (begins_plain(view) && !waits_for_retry(view)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

RequestVerdict every_second_plain_refused(const RequestView& view) {
    const bool odd = view.packet.bth.psn.value() % 2 != 0;
    if (odd && begins_plain(view) && !waits_for_retry(view)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

RequestVerdict every_long_write_refused(const RequestView& view) {
    const bool begins = is_reliable(view) && view.info.operation == wire::Operation::RdmaWrite &&
                        view.info.position == wire::Position::First;
    if (begins && !waits_for_retry(view)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

// RNR-02: the receive is looked for at the message's end, and was not fetched.
RequestVerdict immediates_refused(const RequestView& view) {
    const bool writes = view.info.immediate() && view.info.operation == wire::Operation::RdmaWrite;
    if (is_reliable(view) && writes && !waits_for_retry(view)) return RequestVerdict::Rnr;
    return engine::request_check::receive_ready(view);
}

// --- when answers leave

struct NaksLate {
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool late = is_sequence_nak(packet) || is_rnr_nak(packet);
        const wire::Instant at = earliest + (late ? wire::Duration(400us) : wire::Duration(0));
        return {.at = at, .next = at};
    }
};

// Interrupts, or a scheduler that looks at each QP now and then.
struct InBatches {
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        constexpr wire::Duration tick = 100us;
        const wire::Duration since_tick = earliest.time_since_epoch() % tick;
        const wire::Instant at = since_tick.count() == 0 ? earliest : earliest - since_tick + tick;
        return {.at = at, .next = at};
    }
};

class WithJitter {
  public:
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        const wire::Instant at = earliest + std::chrono::microseconds(state_ >> 56U); // 0 to 255
        return {.at = at, .next = at};
    }

  private:
    std::uint64_t state_ = 1;
};

// RDR-11: what comes after them waits.
struct ReadsLate {
    static bool delays(const wire::Packet& packet) { return packet.info().response(); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const bool late = packet.info().operation != wire::Operation::Acknowledge &&
                          packet.info().starts_message();
        const wire::Instant at = earliest + (late ? wire::Duration(300us) : wire::Duration(0));
        return {.at = at, .next = at};
    }
};

// ACK-04: the newest ACK is told again after a while; what comes behind it waits for that.
class RepeatsAcksLater final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !packet->info().response()) {
            out.push_back(std::move(datagram));
            return;
        }
        wire::Instant& free = free_[packet->bth.dest_qp];
        const bool idle = free <= now;
        const wire::Instant leaves = std::max(free, now + datagram.delay);
        datagram.delay = leaves - now;
        free = leaves;
        out.push_back(datagram);
        if (!idle || !is_ack(*packet)) return;
        free += 200us;
        datagram.delay = free - now;
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Instant> free_; // by the peer's QP
};

// One unit of the device serves the QPs of odd number, and has more to do.
struct OddQpsLate {
    static bool delays(const wire::Packet& packet) { return packet.bth.dest_qp.value % 2 != 0; }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest + 150us, .next = earliest};
    }
};

// --- which answers leave

struct Asked {
    std::optional<wire::Psn> newest; // the PSN that asked for an ACK last
    unsigned left_out = 0;
};

// ACK-02: made of one that acknowledges each packet.
class AcknowledgesEachFourth final : public QpFilter<Asked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Bth& bth = passage.packet.bth;
        if (passage.packet.info().request() && bth.ack_request) qp.memory.newest = bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_ack(packet)) return;
        constexpr unsigned every = 4;
        const bool asked =
            qp.memory.newest && wire::distance(packet.bth.psn, *qp.memory.newest) <= 0;
        passage.dropped = !asked && ++qp.memory.left_out % every != 0;
    }
};

// ACK-10: fewer credits than there are receives.
void with_half_the_credits(wire::Packet& packet) {
    if (!is_ack(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code == wire::kNoCredits) return;
    packet.aeth.syndrome = wire::Syndrome::ack(code / 2);
}

// RDR-04: a device that keeps its responses. Those of a duplicate are the old ones.
using Kept = std::map<std::uint32_t, std::vector<std::byte>>; // by PSN

class KeepsReadResponses final : public QpFilter<Kept> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto known =
            qp.memory.try_emplace(packet.bth.psn.value(), packet.body.begin(), packet.body.end());
        if (known.first->second.size() == packet.body.size()) packet.body = known.first->second;
    }
};

// STA-02: requests that come before RTR are kept for a while.
class KeepsEarlyRequests final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? states_.find(packet->bth.dest_qp) : states_.end();
        const bool early = qp != states_.end() && (qp->second == engine::QpState::Reset ||
                                                   qp->second == engine::QpState::Init);
        if (early) datagram.delay += 3ms;
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override { states_[report.qpn] = report.state; }
    void qp_destroyed(wire::Qpn qpn) override { states_.erase(qpn); }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
};

// G4: packets ahead are kept until the gap is closed, and no gap is NAKed.
class KeepsPacketsAhead final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto found =
            packet && packet->info().request() ? qps_.find(packet->bth.dest_qp) : qps_.end();
        if (found == qps_.end() || packet->info().service != wire::Service::Rc) {
            in.push_back(std::move(datagram));
            return;
        }
        Qp& qp = found->second;
        const std::int32_t ahead = wire::distance(qp.expected, packet->bth.psn);
        if (ahead > 0 && receives(qp.state)) {
            constexpr std::int32_t most_ahead = 256;
            if (ahead <= most_ahead) qp.kept[packet->bth.psn.value()] = std::move(datagram);
            return;
        }
        if (ahead == 0) qp.expected = behind(qp, *packet);
        in.push_back(std::move(datagram));
        release(qp, in);
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        // What was refused, the requester sends again.
        if (packet && is_nak(*packet)) {
            for (auto& [qpn, qp] : qps_) {
                if (qp.peer == packet->bth.dest_qp) {
                    qp.expected = packet->bth.psn;
                    qp.kept.clear();
                }
            }
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        Qp& qp = qps_[report.qpn];
        const bool begins = report.state == engine::QpState::Rtr && qp.state != report.state;
        if (begins) qp = {.expected = report.attributes.rq_psn.value_or(wire::Psn{})};
        qp.state = report.state;
        qp.peer = report.attributes.dest_qp.value_or(wire::Qpn{});
        qp.mtu = report.attributes.path_mtu.value_or(wire::Mtu::B1024);
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }

  private:
    struct Qp {
        wire::Psn expected;
        engine::QpState state = engine::QpState::Reset;
        wire::Qpn peer;
        wire::Mtu mtu = wire::Mtu::B1024;
        std::map<std::uint32_t, engine::OwnedDatagram> kept{}; // by PSN
    };

    static bool receives(engine::QpState state) {
        return state == engine::QpState::Rtr || state == engine::QpState::Rts ||
               state == engine::QpState::Sqd;
    }
    static wire::Psn behind(const Qp& qp, const wire::Packet& packet) {
        const bool read = is_read_request(packet);
        return packet.bth.psn + (read ? wire::packets_of(packet.reth.dma_length, qp.mtu) : 1);
    }
    static void release(Qp& qp, std::vector<engine::OwnedDatagram>& in) {
        for (auto next = qp.kept.find(qp.expected.value()); next != qp.kept.end();
             next = qp.kept.find(qp.expected.value())) {
            const auto packet = wire::decode_packet(next->second.bytes);
            qp.expected = packet ? behind(qp, *packet) : qp.expected + 1;
            in.push_back(std::move(next->second));
            qp.kept.erase(next);
        }
    }

    std::map<wire::Qpn, Qp> qps_;
};

constexpr std::array kOddities{
    Mutant{.name = "every_rnr_for_write",
           .rule = "RNR-03",
           .description = "Each plain WRITE of one packet, READ and atomic draws an RNR NAK, once.",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady,
                                                  every_plain_refused)},
    Mutant{.name = "every_second_rnr_for_write",
           .rule = "RNR-03",
           .description =
               "Plain WRITEs of one packet, READs and atomics with an odd PSN draw an RNR "
               "NAK, once.",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady,
                                                  every_second_plain_refused)},
    Mutant{.name = "every_rnr_for_long_write",
           .rule = "RNR-03",
           .description = "The first packet of each longer WRITE draws an RNR NAK, once.",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady,
                                                  every_long_write_refused)},
    Mutant{.name = "receives_of_immediates_fetched_late",
           .rule = "RNR-02",
           .description = "The end of a WRITE with immediate data draws an RNR NAK, although there "
                          "is a receive, and succeeds on retry.",
           .traits = "odp",
           .checks = engine::kStandardChecks.with(engine::RequestCheck::ReceiveReady,
                                                  immediates_refused)},
    Mutant{.name = "naks_leave_late",
           .rule = "RSP-16",
           .description = "Sequence NAKs and RNR NAKs leave 400 us later, and what follows waits.",
           .make_filter = make<SendsLater<NaksLate>>},
    Mutant{.name = "answers_in_batches",
           .rule = "ACK-12",
           .description = "Answers leave every 100 us, all at once.",
           .make_filter = make<SendsLater<InBatches>>},
    Mutant{.name = "answers_with_jitter",
           .rule = "ACK-12",
           .description = "Answers take up to 255 us longer, each another time.",
           .make_filter = make<SendsLater<WithJitter>>},
    Mutant{.name = "read_responses_late",
           .rule = "RDR-11",
           .description =
               "READ responses and atomic acknowledges leave 300 us later; later ACKs wait.",
           .make_filter = make<SendsLater<ReadsLate>>},
    Mutant{.name = "acks_repeated_later",
           .rule = "ACK-04",
           .description = "An ACK is sent again 200 us later; later answers wait for that.",
           .make_filter = make<RepeatsAcksLater>},
    Mutant{.name = "odd_qps_served_later",
           .rule = "ACK-12",
           .description = "All packets to QPs with an odd number leave 150 us later.",
           .make_filter = make<SendsLater<OddQpsLate>>},
    Mutant{.name = "each_fourth_packet_acknowledged",
           .rule = "ACK-02",
           .description = "Besides what asks for it, each fourth packet is acknowledged.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket},
           .make_filter = make<AcknowledgesEachFourth>},
    Mutant{.name = "half_the_credits",
           .rule = "ACK-10",
           .description = "ACKs carry fewer credits than there are receives.",
           .behaviour = {.credits = true},
           .make_filter = make<EditsOutbound<with_half_the_credits>>},
    Mutant{.name = "duplicate_reads_out_of_a_cache",
           .rule = "RDR-04",
           .description = "A duplicate READ draws the bytes of the first answer, whatever memory "
                          "holds now.",
           .make_filter = make<KeepsReadResponses>},
    Mutant{.name = "newest_shared_receive_first",
           .rule = "RNR-14",
           .description = "Messages take the newest receive of a shared queue.",
           .behaviour = {.shared_receive = engine::SharedReceive::Newest}},
    Mutant{.name = "refused_data_written_as_it_fits",
           .rule = "KEY-14",
           .description = "Of a SEND or WRITE that is refused as too long, what fits is written.",
           .behaviour = {.refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "early_requests_kept",
           .rule = "STA-02",
           .description = "Requests that come before RTR are kept, and answered 3 ms later.",
           .traits = "buffers_before_rtr",
           .make_filter = make<KeepsEarlyRequests>},
    Mutant{.name = "packets_ahead_kept",
           .rule = "RSP-02",
           .description = "Packets ahead of a gap are kept until it is closed; there is no NAK.",
           .traits = "out_of_order",
           .make_filter = make<KeepsPacketsAhead>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_answers

namespace veriroce::mutants {

std::span<const Mutant> lawful_answers() {
    return of_lawful_answers::kOddities;
}

} // namespace veriroce::mutants
