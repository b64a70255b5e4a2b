// Written blind, fifth sample: paths, BTH and ICRC, CNPs, UC and datagrams.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind5_port {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::QpState;
using engine::SurfaceFilter;
using wire::Operation;

// --- paths, BTH and ICRC

class ClassOfNewestQp final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        constexpr unsigned ecn_bits = 2;
        if (!attributes.address) return;
        dscp_ = static_cast<std::uint8_t>(attributes.address->traffic_class >> ecn_bits);
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool connected = packet && packet->info().service == wire::Service::Rc;
        if (connected && dscp_) datagram.envelope.dscp = *dscp_;
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<std::uint8_t> dscp_;
};

class IcrcOfTaggedWrong final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->vlan) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

bool read_responses_from_anywhere(const PacketView& view) {
    return view.info.operation == Operation::RdmaReadResponse ||
           engine::packet_check::source_address(view);
}

class QpnInSixteenBits final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override { qps_.insert(report.qpn); }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        constexpr std::uint32_t compared = 0xFFFF;
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && !qps_.contains(packet->bth.dest_qp)) {
            const auto alike = std::ranges::find_if(qps_, [&](wire::Qpn qpn) {
                return ((qpn.value ^ packet->bth.dest_qp.value) & compared) == 0;
            });
            if (alike != qps_.end()) {
                packet->bth.dest_qp = *alike;
                datagram.bytes = bytes_of(*packet);
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::set<wire::Qpn> qps_;
};

// --- CNPs

struct Marked {
    std::optional<wire::Psn> asks; // the marked request that came last, if it asks for an ACK
    bool answered = false;         // by a CNP
    bool response = false;         // what was marked last
};

class CnpInsteadOfAck final : public QpFilter<Marked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (passage.envelope.ecn != wire::kCongestionExperienced) return;
        qp.memory = {};
        if (packet.info().request() && packet.bth.ack_request) qp.memory.asks = packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Marked& memory = qp.memory;
        if (packet.info().operation == Operation::Cnp) memory.answered = memory.asks.has_value();
        if (!is_ack(packet) || !memory.answered || memory.asks != packet.bth.psn) return;
        passage.dropped = true;
        memory = {};
    }
};

class CnpForResponseNamesOwnQp final : public QpFilter<Marked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.envelope.ecn == wire::kCongestionExperienced) {
            qp.memory.response = passage.packet.info().response();
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool cnp = packet.info().operation == Operation::Cnp;
        if (cnp && qp.memory.response) packet.bth.dest_qp = qp.report.qpn;
    }
};

class CnpCarriesPayload final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && datagram.envelope.ecn == wire::kCongestionExperienced) {
            marked_.assign(packet->body.begin(), packet->body.end());
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        const bool cnp = packet && packet->info().operation == Operation::Cnp;
        if (cnp && marked_.size() >= packet->body.size()) {
            packet->body = wire::Bytes(marked_).first(packet->body.size());
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::vector<std::byte> marked_; // what the marked packet carried that came last
};

// --- UC

struct Gap {
    std::optional<wire::Psn> next;
};

class UcGapDrawsNak final : public QpFilter<Gap> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc || !packet.info().request()) return;
        const wire::Psn expected = qp.memory.next.value_or(qp.first_request());
        qp.memory.next = packet.bth.psn + 1;
        if (wire::distance(expected, packet.bth.psn) <= 0) return;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, expected,
                                              wire::Syndrome::nak(wire::NakCode::PsnSequence), {}));
    }
};

// --- datagrams

// Of a datagram that came over IPv4 the IP header belongs at the end of the 40 bytes of the GRH.
class Ipv4HeaderFirst final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (!request.sges.empty()) posted_[request.id] = request.sges.front();
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Receive || !completion.grh) return completion;
        const auto posted = posted_.find(completion.id);
        if (posted == posted_.end() || posted->second.length < grh_bytes) return completion;
        const auto grh = regions().anywhere(posted->second.address, grh_bytes);
        constexpr std::size_t half = grh_bytes / 2;
        if (!grh.empty() && grh[half] == ipv4_without_options) {
            std::ranges::copy(grh.last(half), grh.begin());
            std::ranges::fill(grh.last(half), std::byte{0});
        }
        return completion;
    }

  private:
    static constexpr std::size_t grh_bytes = 40;
    static constexpr std::byte ipv4_without_options{0x45};
    std::map<std::uint64_t, engine::Sge> posted_; // by id: the first piece
};

class TooLongDatagramEndsQp final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        std::uint64_t bytes = 0;
        for (const engine::Sge& sge : request.sges)
            bytes += sge.length;
        rooms_[qpn].push_back(bytes);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state != QpState::Reset) return;
        rooms_.erase(report.qpn);
        ended_.erase(report.qpn);
    }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        constexpr std::size_t grh = 40;
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Ud) {
            const wire::Qpn qpn = packet->bth.dest_qp;
            if (ended_.contains(qpn)) return;
            auto& rooms = rooms_[qpn];
            const bool too_long = !rooms.empty() && grh + packet->payload().size() > rooms.front();
            if (too_long) {
                ended_.insert(qpn);
            } else if (!rooms.empty()) {
                rooms.pop_front();
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, std::deque<std::uint64_t>> rooms_; // of the receives, the oldest first
    std::set<wire::Qpn> ended_;
};

class ClassOfFirstDestination final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (!request.ud) return;
        std::uint8_t& wanted = request.ud->path.traffic_class;
        wanted = classes_.try_emplace(qpn, wanted).first->second;
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) classes_.erase(report.qpn);
    }

  private:
    std::map<wire::Qpn, std::uint8_t> classes_;
};

constexpr std::array kMutants{
    Mutant{.name = "class_of_newest_qp_for_all",
           .rule = "ENC-12",
           .description = "All QPs send with the traffic class of the path that was set last.",
           .cases = "enc/traffic-classes-of-three-qps enc/answers-of-three-classes",
           .make_filter = make<ClassOfNewestQp>},
    Mutant{.name = "icrc_of_tagged_frames_wrong",
           .rule = "ENC-15",
           .description = "The ICRC of frames with a VLAN tag is wrong.",
           .make_filter = make<IcrcOfTaggedWrong>},
    Mutant{.name = "source_of_read_responses_not_checked",
           .rule = "ENC-14",
           .description = "READ responses are taken from any source address.",
           .cases = "enc/answers-from-elsewhere",
           .checks =
               kStandardChecks.with(PacketCheck::SourceAddress, read_responses_from_anywhere)},
    Mutant{.name = "qpn_compared_in_sixteen_bits",
           .rule = "BTH-02",
           .description = "The highest byte of the destination QP is not compared.",
           .make_filter = make<QpnInSixteenBits>},
    Mutant{.name = "cnp_takes_place_of_ack",
           .rule = "ACK-01",
           .description = "A marked request that draws a CNP is not acknowledged.",
           .make_filter = make<CnpInsteadOfAck>},
    Mutant{.name = "cnp_for_response_names_own_qp",
           .rule = "CNP-02",
           .description = "The CNP for a marked response names the QP that received it.",
           .cases = "cnp/for-each-answer",
           .make_filter = make<CnpForResponseNamesOwnQp>},
    Mutant{.name = "cnp_carries_marked_payload",
           .rule = "CNP-02",
           .description = "The 16 bytes of a CNP are those that the marked packet carried, if it "
                          "carried as many.",
           .make_filter = make<CnpCarriesPayload>},
    Mutant{.name = "uc_gap_draws_nak",
           .rule = "EXT-06",
           .description = "A gap on a UC QP draws a sequence NAK.",
           .make_filter = make<UcGapDrawsNak>},
    Mutant{.name = "ipv4_header_at_start_of_grh",
           .rule = "EXT-05",
           .description = "The IPv4 header of a datagram is placed in the first 20 bytes of its "
                          "receive, not in the second.",
           .cases = "ext/datagram-header-ipv4",
           .make_filter = make<Ipv4HeaderFirst>},
    Mutant{.name = "too_long_datagram_ends_qp",
           .rule = "EXT-05",
           .description = "After a datagram larger than its receive the QP takes none.",
           .cases = "ext/too-long-datagrams-in-a-row",
           .make_filter = make<TooLongDatagramEndsQp>},
    Mutant{.name = "datagrams_keep_class_of_first",
           .rule = "ENC-12",
           .description = "All datagrams of a QP have the traffic class of the first one.",
           .make_filter = make<ClassOfFirstDestination>},
};

} // namespace
} // namespace veriroce::mutants::of_blind5_port

namespace veriroce::mutants {

std::span<const Mutant> blind5_port() {
    return of_blind5_port::kMutants;
}

} // namespace veriroce::mutants
