// Lawful oddities that were written from the rules alone, without a look at the cases, the model,
// or the other oddities: requesters, headers, the port and the host.

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/pacing.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::mutants::of_lawful_blind_requests {
namespace {

using namespace std::chrono_literals;

using wire::Operation;

bool carries_data(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Rc &&
           (packet.info().request() || is_read_response(packet));
}

// --- headers

// Whether a packet of a peer's QP is a resent one.
class Resends {
  public:
    bool note(const wire::Packet& packet) {
        auto& newest = packet.info().response() ? responses_ : requests_;
        return newest[packet.bth.dest_qp.value].note(packet.bth.psn);
    }

  private:
    std::map<std::uint32_t, NewestPsn> requests_;
    std::map<std::uint32_t, NewestPsn> responses_;
};

// CA17-5: ECT on data that is sent for the first time; none on ACKs, NAKs and what is resent.
class MarksFirstData final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::uint8_t ect0 = 2;
        if (const auto packet = wire::decode_packet(datagram.bytes)) {
            const bool data = carries_data(*packet);
            datagram.envelope.ecn = data && !resends_.note(*packet) ? ect0 : 0;
        }
        out.push_back(std::move(datagram));
    }

  private:
    Resends resends_;
};

// A flow label of 0 was asked for: the device chooses, and tries another path after a loss.
class RehashesFlows final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet) && datagram.envelope.flow_label == 0) {
            std::uint32_t& path = paths_[packet->bth.dest_qp.value];
            if (resends_.note(*packet)) ++path;
            constexpr std::uint64_t label = 0xFFFFF;
            datagram.envelope.flow_label = static_cast<std::uint32_t>(
                wire::splitmix64_mix(packet->bth.dest_qp.value + (path << 8U)) & label);
        }
        out.push_back(std::move(datagram));
    }

  private:
    Resends resends_;
    std::map<std::uint32_t, std::uint32_t> paths_; // by the peer's QP: times that it changed
};

// CA17-9, CA17-17: as Linux does it; ibv_query_qp tells.
class RouteSaysHopLimit final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.address) attributes.address->hop_limit = 61;
    }
};

// ATM-01: FETCH_ADD has no compare operand.
void fills_compare(wire::Packet& packet) {
    if (packet.info().operation == Operation::FetchAdd) {
        packet.atomic.compare = wire::splitmix64_mix(packet.bth.psn.value());
    }
}

// LEN-07, LEN-08: nobody looks at the key and the address of no bytes.
void names_nothing(wire::Packet& packet) {
    const auto operation = packet.info().operation;
    const bool named = operation == Operation::RdmaWrite || operation == Operation::RdmaReadRequest;
    if (!named || !packet.headers.has(wire::Header::Reth) || packet.reth.dma_length != 0) return;
    packet.reth.virtual_address = 0;
    packet.reth.rkey = {};
}

void asks_here_and_there(wire::Packet& packet) {
    const auto operation = packet.info().operation;
    const bool data = operation == Operation::Send || operation == Operation::RdmaWrite;
    if (!is_rc_request(packet) || !data) return;
    if ((wire::splitmix64_mix(packet.bth.psn.value()) & 1U) != 0) packet.bth.ack_request = true;
}

// --- the requester

// REQ-28: each request waits for the READs and atomics before it, as if it had a fence.
class FencesAll final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        request.flags.fence = true;
    }
};

// Holds packets of some kind back from when something arrives on.
template <bool (*Starts)(const wire::Packet&), bool (*Holds)(const wire::Packet&), int Microseconds>
class StopsAfter final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.dest_qp) peers_[report.qpn.value] = report.attributes.dest_qp->value;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && Starts(*packet)) {
            const auto peer = peers_.find(packet->bth.dest_qp.value);
            if (peer != peers_.end()) {
                free_[peer->second] = now + std::chrono::microseconds(Microseconds);
            }
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && Holds(*packet)) {
            const auto free = free_.find(packet->bth.dest_qp.value);
            if (free != free_.end() && free->second > now + datagram.delay) {
                datagram.delay = free->second - now;
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<std::uint32_t, std::uint32_t> peers_; // by our QP
    std::map<std::uint32_t, wire::Instant> free_;  // by the peer's QP
};

bool is_any_rc(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Rc;
}

// --- the host

// Interrupts are moderated: what the host sees comes late, now more and now less.
class Moderates final : public engine::SurfaceFilter {
  public:
    wire::Duration completion_delay() const override { return next(); }
    wire::Duration memory_delay() const override { return next(); }
    wire::Duration event_delay() const override { return next(); }

  private:
    wire::Duration next() const {
        constexpr std::array<wire::Duration, 6> delays{1ms, 7ms, 2ms, 20ms, 100us, 3ms};
        return delays[turn_++ % delays.size()];
    }
    mutable std::size_t turn_ = 0;
};

class VeryLateHost final : public engine::SurfaceFilter {
  public:
    wire::Duration completion_delay() const override { return 50ms; }
};

// EXT-05: over IPv4 the first 20 of the 40 bytes in front of a datagram are undefined.
class FillsHeadOfGrh final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.push_back(region);
    }
    void region_deregistered(engine::MrId mr) override {
        std::erase_if(regions_, [mr](const auto& region) { return region.mr == mr; });
    }
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (!request.sges.empty()) heads_[request.id] = request.sges.front();
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        v4_ = datagram.envelope.source.v4();
        in.push_back(std::move(datagram));
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.grh && v4_ && completion.status == engine::WcStatus::Success) {
            fill(completion.id);
        }
        return completion;
    }

  private:
    void fill(std::uint64_t id) {
        const auto head = heads_.find(id);
        if (head == heads_.end() || head->second.length < 20) return;
        for (const auto& region : regions_) {
            if (region.rkey.value != head->second.lkey.value) continue;
            std::ranges::fill(Regions::range(region, head->second.address, 20), std::byte{0xA7});
        }
    }
    std::vector<engine::RegisteredRegion> regions_;
    std::map<std::uint64_t, engine::Sge> heads_; // first SGE by receive
    bool v4_ = false;
};

constexpr std::array kOddities{
    Mutant{.name = "ect_in_new_data_alone",
           .rule = "CA17-5",
           .description = "Requests and READ responses leave with ECT(0) when they are sent first; "
                          "ACKs and what is resent do not.",
           .behaviour = {.congestion = {.reaction = {.enabled = true}}},
           .make_filter = make<MarksFirstData>},
    Mutant{.name = "flow_label_changes_at_a_resend",
           .rule = "ENC-02",
           .description = "The requester's flow label changes each time that it sends again.",
           .make_filter = make<RehashesFlows>},
    Mutant{.name = "hop_limit_of_the_route",
           .rule = "CA17-9",
           .description = "The hop limit is 61, whatever was asked for; ibv_query_qp says so.",
           .make_filter = make<RouteSaysHopLimit>},
    Mutant{.name = "fetch_add_with_compare_operand",
           .rule = "ATM-01",
           .description = "FETCH_ADD carries something in its unused compare operand.",
           .make_filter = make<EditsOutbound<fills_compare>>},
    Mutant{.name = "zero_length_names_nothing",
           .rule = "LEN-08",
           .description = "WRITEs and READs of no bytes carry address 0 and R_Key 0.",
           .make_filter = make<EditsOutbound<names_nothing>>},
    Mutant{.name = "ack_asked_here_and_there",
           .rule = "BTH-18",
           .description =
               "Half of the packets of SENDs and WRITEs carry AckReq, without a pattern.",
           .make_filter = make<EditsOutbound<asks_here_and_there>>},
    Mutant{.name = "requests_wait_for_reads",
           .rule = "REQ-28",
           .description = "Each request waits for the READs and atomics before it, fence or not.",
           .make_filter = make<FencesAll>},
    Mutant{.name = "rnr_wait_twelve_times",
           .rule = "RNR-08",
           .description = "The requester waits twelve times as long as an RNR NAK asks for.",
           .behaviour = {.rnr_wait_sixteenths = 192}},
    Mutant{.name = "cnp_stops_a_qp_for_a_ms",
           .rule = "CNP-09",
           .description = "After a CNP nothing of the QP leaves for 1 ms.",
           .behaviour = {.timeout_sixteenths = 40},
           .make_filter = make<StopsAfter<is_cnp, is_any_rc, 1000>>},
    Mutant{.name = "careful_after_each_loss",
           .rule = "REQ-11",
           .description = "After a loss the whole message or READ comes again, packet by packet, "
                          "and only when the timer of 3 T expires.",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .implied_nak = engine::ImpliedNak::OnTimeout,
                         .timeout_sixteenths = 48,
                         .after_rnr = engine::AfterRnr::OneMessage,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .timeout_restart = engine::TimeoutRestart::Message}},
    Mutant{.name = "host_told_unevenly",
           .rule = "TMO-07",
           .description = "Completions, data and events come 100 us to 20 ms late.",
           .make_filter = make<Moderates>},
    Mutant{.name = "completions_fifty_ms_late",
           .rule = "N-20",
           .description = "The host sees completions 50 ms late.",
           .make_filter = make<VeryLateHost>},
    Mutant{.name = "head_of_grh_undefined",
           .rule = "EXT-05",
           .description = "Over IPv4 the first 20 bytes in front of a datagram hold something.",
           .make_filter = make<FillsHeadOfGrh>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind_requests

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind_requests() {
    return of_lawful_blind_requests::kOddities;
}

} // namespace veriroce::mutants
