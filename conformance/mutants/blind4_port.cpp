// Written blind, fourth sample: what connections are set up with, BTH, ICRC, VLANs, CNPs and UC.
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind4_port {
namespace {

using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::QpState;
using engine::SurfaceFilter;
using wire::Operation;
using wire::Position;

// --- BTH and ICRC

bool requests_have_pkeys(const PacketView& view) {
    return view.info.response() || engine::packet_check::pkey(view);
}

std::optional<OwnedDatagram> admits_empty_packets(wire::Bytes frame) {
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed) return std::nullopt;
    const auto packet = wire::decode_packet(parsed->transport);
    if (!packet || !packet->body.empty()) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

struct Partition {
    std::optional<wire::Pkey> newest; // of a request
};

class AnswersEchoPkey final : public QpFilter<Partition> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().request()) qp.memory.newest = packet.bth.pkey;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().response() && qp.memory.newest) packet.bth.pkey = *qp.memory.newest;
    }
};

// --- VLANs and paths

bool is_urgent_priority_tag(const OwnedDatagram& datagram) {
    constexpr std::uint8_t ordinary = 3;
    const auto& vlan = datagram.envelope.vlan;
    return vlan && vlan->id == 0 && vlan->priority > ordinary;
}

void answer_untagged(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (packet.info().response()) datagram.envelope.vlan.reset();
}

// Responses go the way that the first packet to the peer went.
class AnswersOnFirstPath final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Rtr && attributes.dest_qp) {
            ways_.erase(*attributes.dest_qp);
        }
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Rc) {
            const auto way = ways_.try_emplace(packet->bth.dest_qp, datagram.envelope).first;
            if (packet->info().response()) datagram.envelope = way->second;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Envelope> ways_; // by the peer's QP
};

class FirstMtuStays final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.path_mtu) return;
        told_[qpn] = *attributes.path_mtu;
        attributes.path_mtu = first_.try_emplace(qpn, *attributes.path_mtu).first->second;
    }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.path_mtu = told->second;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        first_.erase(qpn);
        told_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, wire::Mtu> first_;
    std::map<wire::Qpn, wire::Mtu> told_;
};

// --- CNPs

class NoCnpBeforeRts final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const bool cnp = passage.packet.info().operation == Operation::Cnp;
        passage.dropped = cnp && qp.report.state == QpState::Rtr;
    }
};

struct Interrupted {
    Arrivals arrivals;
    bool forgotten = false; // the message that is open
};

class CnpEndsMessage final : public QpFilter<Interrupted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [arrivals, forgotten] = qp.memory;
        if (packet.info().operation == Operation::Cnp) forgotten = arrivals.open;
        if (!packet.info().request()) return;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        if (forgotten && !packet.info().starts_message()) { // 0x61, by OPC-05
            const bool send = packet.info().operation == Operation::Send;
            set_opcode(packet, send ? Operation::RdmaWrite : Operation::Send, Position::Middle);
        }
        forgotten = false;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool expects = is_rnr_nak(packet) || is_sequence_nak(packet);
        if (expects) qp.memory.arrivals.expect(packet.bth.psn);
    }
};

// What a CNP copies of the marked packet that came last.
class CnpCopies : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) final {
        const auto bth = wire::Bth::decode(datagram.bytes);
        if (bth && datagram.envelope.ecn == wire::kCongestionExperienced) {
            solicited_ = bth->solicited;
            port_ = datagram.envelope.source_port;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) final {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().operation == Operation::Cnp) {
            change(*packet, datagram.envelope);
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  protected:
    virtual void change(wire::Packet& cnp, wire::Envelope& envelope) = 0;
    [[nodiscard]] bool solicited() const { return solicited_; }
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    bool solicited_ = false;
    std::uint16_t port_ = wire::kRocePort;
};

class CnpCopiesSolicited final : public CnpCopies {
  protected:
    void change(wire::Packet& cnp, wire::Envelope& /*envelope*/) override {
        cnp.bth.solicited = solicited();
    }
};

class CnpToSendersPort final : public CnpCopies {
  protected:
    void change(wire::Packet& /*cnp*/, wire::Envelope& envelope) override {
        envelope.destination_port = port();
    }
};

// --- UC

struct Gap {
    std::optional<wire::Psn> next;
    bool waits = false; // for a FIRST
};

class OnlyLostAfterGap final : public QpFilter<Gap> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc || !packet.info().request()) return;
        auto& [next, waits] = qp.memory;
        if (packet.bth.psn != next.value_or(qp.first_request())) waits = true;
        next = packet.bth.psn + 1;
        if (packet.info().position == Position::First) waits = false;
        passage.dropped = waits;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "pkey_of_responses_not_checked",
           .rule = "BTH-07",
           .description = "The P_Key is compared in requests alone.",
           .cases = "bth/responses-of-another-partition bth/read-responses-of-another-partition",
           .checks = kStandardChecks.with(PacketCheck::Pkey, requests_have_pkeys)},
    Mutant{.name = "icrc_of_packets_without_payload_not_checked",
           .rule = "CRC-07",
           .description = "The ICRC of a packet without payload is not compared.",
           .make_filter = make<Admits<admits_empty_packets>>},
    Mutant{.name = "answers_echo_pkey",
           .rule = "BTH-08",
           .level = "SHOULD",
           .description = "A response has the P_Key of the request that came last.",
           .cases = "bth/partition-key-of-each-answer",
           .make_filter = make<AnswersEchoPkey>},
    Mutant{.name = "urgent_priority_tag_dropped",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Frames with VLAN 0 and a priority above 3 are dropped.",
           .make_filter = make<DropsInbound<is_urgent_priority_tag>>},
    Mutant{.name = "answers_without_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Responses of a QP with a VLAN have no tag.",
           .cases = "n/untagged-in-a-vlan n/vlan-of-each-answer",
           .make_filter = make<EditsSentDatagram<answer_untagged>>},
    Mutant{.name = "answers_on_first_path",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "After a migration responses still go the old way.",
           .make_filter = make<AnswersOnFirstPath>},
    Mutant{.name = "first_path_mtu_stays",
           .rule = "STA-10",
           .description = "The path MTU of a QP's first connection stays after RESET.",
           .make_filter = make<FirstMtuStays>},
    Mutant{.name = "no_cnp_before_rts",
           .rule = "CNP-01",
           .description = "A packet that is marked draws no CNP from a QP in RTR.",
           .cases = "cnp/before-rts",
           .make_filter = make<NoCnpBeforeRts>},
    Mutant{.name = "cnp_ends_open_message",
           .rule = "CNP-12",
           .description = "A CNP between the packets of a message makes the responder forget the "
                          "message.",
           .make_filter = make<CnpEndsMessage>},
    Mutant{.name = "cnp_copies_solicited",
           .rule = "CNP-02",
           .description = "A CNP has the SE bit of the marked packet.",
           .cases = "cnp/for-each-kind",
           .make_filter = make<CnpCopiesSolicited>},
    Mutant{.name = "cnp_to_senders_port",
           .rule = "ENC-01",
           .description = "A CNP goes to the UDP port from which the marked packet came.",
           .cases = "cnp/for-each-kind",
           .make_filter = make<CnpToSendersPort>},
    Mutant{.name = "uc_only_lost_after_gap",
           .rule = "EXT-06",
           .description = "After a gap a UC QP takes nothing before the next FIRST, not even an "
                          "ONLY.",
           .cases = "ext/unreliable-messages",
           .make_filter = make<OnlyLostAfterGap>},
};

} // namespace
} // namespace veriroce::mutants::of_blind4_port

namespace veriroce::mutants {

std::span<const Mutant> blind4_port() {
    return of_blind4_port::kMutants;
}

} // namespace veriroce::mutants
