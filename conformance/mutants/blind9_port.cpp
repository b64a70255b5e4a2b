// Written blind, ninth sample: IP and UDP headers, ICRC, keys, VLANs, CNPs, UC, datagrams and QP 1.
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind9_port {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::SurfaceFilter;
using wire::Operation;

// --- checks

bool key_zero_opens_all(const PacketView& view) {
    constexpr std::uint16_t key_bits = 0x7FFF;
    return (view.packet.bth.pkey.value & key_bits) == 0 || engine::packet_check::pkey(view);
}

bool source_network_is_enough(const PacketView& view) {
    constexpr unsigned host_bits = 8;
    const wire::IpAddress& source = view.envelope.source;
    const wire::IpAddress& peer = view.path().destination;
    const bool near =
        source.v4() && peer.v4() && source.low32() >> host_bits == peer.low32() >> host_bits;
    return near || engine::packet_check::source_address(view);
}

// --- IP and UDP headers

// ACKs go back to the UDP port of the newest request, as answers of other protocols do.
class AcksToSendersPort final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) port_ = datagram.envelope.source_port;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (port_ && packet && is_ack(*packet)) datagram.envelope.destination_port = *port_;
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<std::uint16_t> port_;
};

class UdpLengthWithoutPad final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t length_at = 4;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed) return;
        const auto packet = wire::decode_packet(parsed->transport);
        if (!packet || packet->bth.pad == 0) return;
        const auto udp = frame.subspan(parsed->outer.udp_at);
        const std::uint16_t length = wire::load_u16(udp, length_at);
        wire::store_be<2>(udp, length_at, length - std::uint32_t{packet->bth.pad});
    }
};

// The checksum is computed before the class is filled in.
class IpChecksumBeforeClass final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t checksum_at = 10;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv4 || parsed->ipv4->dscp == 0) return;
        wire::Ipv4 header = *parsed->ipv4;
        header.dscp = 0;
        header.checksum = 0;
        std::array<std::byte, wire::Ipv4::kSize> plain{};
        header.encode(plain);
        wire::store_be<2>(frame.subspan(parsed->outer.ip_at), checksum_at,
                          wire::ipv4_checksum(plain));
    }
};

class ResentWithHopLimit64 final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::uint8_t common = 64;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool connected = packet && packet->info().service == wire::Service::Rc;
        if (connected && packet->info().request() &&
            sent_[packet->bth.dest_qp].note(packet->bth.psn)) {
            datagram.envelope.hop_limit = common;
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        const bool sends = report.state == engine::QpState::Rts;
        if (!sends && report.attributes.dest_qp) sent_.erase(*report.attributes.dest_qp);
    }

  private:
    std::map<wire::Qpn, NewestPsn> sent_; // by peer
};

bool is_urgent_in_vlan(const OwnedDatagram& datagram) {
    constexpr std::uint8_t most = 3;
    const auto& vlan = datagram.envelope.vlan;
    return vlan && vlan->id != 0 && vlan->priority > most;
}

// --- ICRC

class ClassSpoilsIcrcOverV6 final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv6 || parsed->ipv6->dscp == 0) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

std::optional<OwnedDatagram> trusts_tagged(wire::Bytes frame) {
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || !parsed->vlan) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

// --- CNPs

void cnp_asks_for_ack(wire::Packet& packet) {
    if (is_cnp(packet)) packet.bth.ack_request = true;
}

void cnp_with_default_pkey(wire::Packet& packet) {
    if (is_cnp(packet)) packet.bth.pkey = wire::kDefaultPkey;
}

// --- UC

struct Messages {
    std::uint32_t count = 0;
};

class UcMessagesAcked final : public QpFilter<Messages> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool hears = engine::receives(qp.report.state);
        if (!hears || info.service != wire::Service::Uc || !info.ends_message()) return;
        ++qp.memory.count;
        if (!packet.bth.ack_request) return;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, packet.bth.psn,
                                              wire::Syndrome::ack(wire::kNoCredits),
                                              {qp.memory.count}));
    }
};

// --- datagrams

class ImmediateOfDatagramNotTold final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.source_qp) seen.imm.reset();
        return seen;
    }
};

class GrhAddressesExchanged final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (request.sges.empty()) return;
        receives_.insert_or_assign(request.id, request.sges.front());
    }
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::size_t grh_bytes = 40;
        constexpr std::size_t addresses_at = 8;
        constexpr std::size_t address_bytes = 16;
        constexpr unsigned version_six = 6;
        const auto receive = completion.grh ? receives_.find(completion.id) : receives_.end();
        if (receive == receives_.end() || receive->second.length < grh_bytes) return completion;
        const auto grh = regions().anywhere(receive->second.address, grh_bytes);
        if (!grh.empty() && std::to_integer<unsigned>(grh.front()) >> 4U == version_six) {
            std::ranges::swap_ranges(grh.subspan(addresses_at, address_bytes),
                                     grh.subspan(addresses_at + address_bytes));
        }
        return completion;
    }

  private:
    std::map<std::uint64_t, engine::Sge> receives_; // the first piece of each, by wr_id
};

struct Missed {
    bool one = false; // a datagram found no receive, and none came since
};

class DatagramBehindMissedLost final : public QpFilter<Missed> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& /*request*/) override {
        ++receives_[qpn];
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) receives_.erase(qpn);
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto receives = receives_.find(qp.report.qpn);
        const bool datagram = packet.info().service == wire::Service::Ud &&
                              qp.report.attributes.qkey == packet.deth.qkey;
        if (!datagram || receives == receives_.end()) return; // or a shared queue has them
        passage.dropped = std::exchange(qp.memory.one, false);
        if (passage.dropped) return;
        if (receives->second > 0) {
            --receives->second;
        } else {
            qp.memory.one = true;
        }
    }

  private:
    std::map<wire::Qpn, std::uint32_t> receives_; // that are posted
};

// --- QP 1

class RejReasonSwapped final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::size_t headers = wire::Bth::kSize + wire::Deth::kSize;
        constexpr std::size_t attribute_at = headers + wire::cm::kAttributeAt;
        constexpr std::size_t reason_at = headers + wire::cm::kRejReasonAt;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool management = packet && packet->info().service == wire::Service::Ud &&
                                packet->bth.dest_qp == wire::kGsiQpn &&
                                datagram.bytes.size() >= headers + wire::kMadBytes;
        if (management && wire::load_u16(datagram.bytes, attribute_at) == wire::cm::kRej) {
            std::swap(datagram.bytes[reason_at], datagram.bytes[reason_at + 1]);
        }
        out.push_back(std::move(datagram));
    }
};

constexpr std::array kMutants{
    Mutant{.name = "acks_to_senders_port",
           .rule = "ENC-01",
           .description = "ACKs go to the UDP port from which the newest request came.",
           .make_filter = make<AcksToSendersPort>},
    Mutant{.name = "udp_length_without_pad",
           .rule = "CA17-21",
           .description = "The UDP length of packets with pad bytes does not count these.",
           .make_filter = make<UdpLengthWithoutPad>},
    Mutant{.name = "ip_checksum_before_class",
           .rule = "CA17-2",
           .description = "The IPv4 header checksum of packets with a traffic class is that of "
                          "packets without.",
           .make_filter = make<IpChecksumBeforeClass>},
    Mutant{.name = "resent_with_hop_limit_64",
           .rule = "CA17-9",
           .description =
               "What is sent again leaves with hop limit 64, whatever the address vector "
               "says.",
           .cases = "enc/hop-limit-of-resends",
           .make_filter = make<ResentWithHopLimit64>},
    Mutant{.name = "urgent_frames_of_vlan_dropped",
           .rule = "ENC-15",
           .description = "Frames of a VLAN with a priority above 3 are dropped.",
           .cases = "n/vlan-priorities",
           .make_filter = make<DropsInbound<is_urgent_in_vlan>>},
    Mutant{.name = "v4_source_compared_by_network",
           .rule = "ENC-14",
           .description = "Of an IPv4 source address the last byte is not compared.",
           .cases = "enc/source-address-unreliable enc/strangers-before-rts",
           .checks = kStandardChecks.with(PacketCheck::SourceAddress, source_network_is_enough)},
    Mutant{.name = "key_zero_opens_all",
           .rule = "BTH-07",
           .description = "A packet with P_Key 0 or 0x8000 is taken, whatever the QP's P_Key is.",
           .checks = kStandardChecks.with(PacketCheck::Pkey, key_zero_opens_all)},
    Mutant{.name = "v6_class_spoils_icrc",
           .rule = "CRC-03",
           .description = "The ICRC of IPv6 packets with a traffic class is wrong.",
           .make_filter = make<ClassSpoilsIcrcOverV6>},
    Mutant{.name = "icrc_of_tagged_not_checked",
           .rule = "CRC-07",
           .description = "The ICRC of frames with a VLAN tag is not compared.",
           .cases = "n/vlan-priorities",
           .make_filter = make<Admits<trusts_tagged>>},
    Mutant{.name = "cnp_asks_for_ack",
           .rule = "CNP-02",
           .level = "SHOULD",
           .description = "CNPs leave with AckReq.",
           .make_filter = make<EditsOutbound<cnp_asks_for_ack>>},
    Mutant{.name = "cnp_has_default_pkey",
           .rule = "CA17-44",
           .description = "CNPs have P_Key 0xFFFF, not that of the marked packet.",
           .make_filter = make<EditsOutbound<cnp_with_default_pkey>>},
    Mutant{.name = "uc_messages_acked",
           .rule = "EXT-06",
           .description = "The end of a UC message that has AckReq draws an ACK.",
           .make_filter = make<UcMessagesAcked>},
    Mutant{.name = "immediate_of_datagram_not_told",
           .rule = "EXT-05",
           .description = "The receive of a datagram with immediate data completes without them.",
           .make_filter = make<ImmediateOfDatagramNotTold>},
    Mutant{.name = "grh_addresses_exchanged",
           .rule = "EXT-05",
           .description = "Over IPv6 the two addresses in the GRH of a datagram change places.",
           .make_filter = make<GrhAddressesExchanged>},
    Mutant{.name = "datagram_behind_missed_lost",
           .rule = "EXT-05",
           .description = "The datagram behind one that found no receive is dropped as well.",
           .make_filter = make<DatagramBehindMissedLost>},
    Mutant{.name = "rej_reason_swapped",
           .rule = "CM-06",
           .description = "The reason of a REJ leaves least significant byte first.",
           .make_filter = make<RejReasonSwapped>},
};

} // namespace
} // namespace veriroce::mutants::of_blind9_port

namespace veriroce::mutants {

std::span<const Mutant> blind9_port() {
    return of_blind9_port::kMutants;
}

} // namespace veriroce::mutants
