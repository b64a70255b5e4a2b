// Defects in how frames are taken apart.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/kept_class.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants::of_enc {
namespace {

// ENC-07. What stands behind the right ICRC is zeros or rubbish, which is never the packet's ICRC.
class IcrcAtTheEnd final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wire::decode_frame(bytes);
        padded_ = frame && frame->layers.at(wire::Layer::Icrc) + wire::kIcrcBytes < bytes.size();
        return std::nullopt;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (!padded_) in.push_back(std::move(datagram));
    }

  private:
    bool padded_ = false; // the frame that was looked at last
};

bool from_low_port(const engine::OwnedDatagram& datagram) {
    constexpr std::uint16_t upper_quarter = 0xC000;
    return datagram.envelope.source_port < upper_quarter;
}

bool at_last_hop(const engine::OwnedDatagram& datagram) {
    return datagram.envelope.hop_limit <= 1;
}

void dscp_lost(wire::Envelope& envelope) {
    envelope.dscp = 0;
}

void to_another_port(wire::Envelope& envelope) {
    envelope.destination_port = wire::kRocePort - 1;
}

void from_another_address(wire::Envelope& envelope) {
    envelope.source.bytes.back() ^= std::byte{1};
}

// --- frames, as a careless parser reads them

constexpr std::size_t kEtherTypeAt = 12;
constexpr std::size_t kIpAt = 14;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeRocev1 = 0x8915;

engine::OwnedDatagram accepted(const wire::IpAddress& from, const wire::IpAddress& to,
                               wire::Bytes bytes) {
    return {.envelope = {.source = from, .destination = to}, .bytes = {bytes.begin(), bytes.end()}};
}

engine::OwnedDatagram dropped() {
    return {};
}

std::optional<engine::OwnedDatagram> by_frame_length(wire::Bytes frame) {
    constexpr std::size_t least = 16; // a BTH and an ICRC
    const bool v4 = wire::load_u16(frame, kEtherTypeAt) == kEtherTypeIpv4;
    const std::size_t transport = kIpAt + (v4 ? wire::Ipv4::kSize : wire::Ipv6::kSize) + 8;
    if (frame.size() < transport + least) return std::nullopt;
    const wire::Bytes bytes = frame.subspan(transport, frame.size() - transport - wire::kIcrcBytes);
    if (v4) {
        const auto ip = wire::Ipv4::read(frame.subspan(kIpAt));
        return accepted(wire::IpAddress::from_v4(ip.source),
                        wire::IpAddress::from_v4(ip.destination), bytes);
    }
    const auto ip = wire::Ipv6::read(frame.subspan(kIpAt));
    return accepted(ip.source, ip.destination, bytes);
}

std::optional<engine::OwnedDatagram> of_rocev1(wire::Bytes frame) {
    constexpr std::size_t least = 70;
    constexpr std::size_t transport = kIpAt + wire::Ipv6::kSize; // the GRH looks like IPv6
    if (wire::load_u16(frame, kEtherTypeAt) != kEtherTypeRocev1 || frame.size() < least) {
        return std::nullopt;
    }
    const auto grh = wire::Ipv6::read(frame.subspan(kIpAt));
    return accepted(grh.source, grh.destination,
                    frame.subspan(transport, frame.size() - transport - wire::kIcrcBytes));
}

std::optional<engine::OwnedDatagram> any_ip_checksum(wire::Bytes frame) {
    constexpr std::size_t checksum_at = 10;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || !decoded->ipv4) return std::nullopt;
    std::vector<std::byte> mended(frame.begin(), frame.end());
    const wire::MutableBytes header = wire::MutableBytes(mended).subspan(kIpAt, wire::Ipv4::kSize);
    wire::store_be<2>(header, checksum_at, 0);
    wire::store_be<2>(header, checksum_at, wire::checksum_fold(wire::checksum_add(header)));
    if (!wire::unseal(wire::Bytes(mended))) return std::nullopt;
    return accepted(decoded->envelope().source, decoded->envelope().destination,
                    decoded->transport);
}

std::optional<engine::OwnedDatagram> nothing_with_a_checksum(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || decoded->udp.checksum == 0) return std::nullopt;
    return dropped();
}

std::optional<engine::OwnedDatagram> nothing_tagged(wire::Bytes frame) {
    const bool tagged =
        wire::load_u16(frame, kEtherTypeAt) == static_cast<std::uint16_t>(wire::EtherType::Vlan);
    return tagged ? std::optional(dropped()) : std::nullopt;
}

std::optional<engine::OwnedDatagram> any_ether_type(wire::Bytes frame) {
    const bool v4 = frame.size() > kIpAt && std::to_integer<unsigned>(frame[kIpAt]) >> 4U == 4;
    const bool tagged =
        wire::load_u16(frame, kEtherTypeAt) == static_cast<std::uint16_t>(wire::EtherType::Vlan);
    if (!v4 || tagged) return std::nullopt;
    std::vector<std::byte> mended(frame.begin(), frame.end());
    wire::store_be<2>(wire::MutableBytes(mended), kEtherTypeAt, kEtherTypeIpv4);
    const auto datagram = wire::unseal(wire::Bytes(mended));
    if (!datagram) return std::nullopt;
    return engine::OwnedDatagram{.envelope = datagram->envelope,
                                 .bytes = {datagram->bytes.begin(), datagram->bytes.end()}};
}

std::optional<engine::OwnedDatagram> hundred_ahead(wire::Bytes frame) {
    constexpr unsigned ahead = 100;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || (!decoded->ipv4 && !decoded->ipv6)) return std::nullopt;
    wire::Envelope envelope = decoded->envelope();
    std::byte& last = envelope.destination.bytes.back();
    if (last < std::byte{ahead} || !wire::unseal(frame)) return std::nullopt;
    last = static_cast<std::byte>(std::to_integer<unsigned>(last) - ahead);
    const wire::Bytes bytes =
        decoded->transport.first(decoded->transport.size() - wire::kIcrcBytes);
    return engine::OwnedDatagram{.envelope = envelope, .bytes = {bytes.begin(), bytes.end()}};
}

// --- what a receive path does not survive

// Takes nothing in any more after the first frame like this.
template <bool (*Kills)(wire::Bytes)>
class DiesOf final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        dead_ = dead_ || Kills(frame);
        return dead_ ? std::optional(dropped()) : std::nullopt;
    }

  private:
    bool dead_ = false;
};

// The device's host has one address whose last byte is 128 above that of a GID.
bool to_the_host_alone(wire::Bytes frame) {
    constexpr std::byte ahead{128};
    const auto decoded = wire::decode_frame(frame);
    return decoded && (decoded->ipv4 || decoded->ipv6) &&
           decoded->envelope().destination_port == wire::kRocePort &&
           decoded->envelope().destination.bytes.back() >= ahead;
}

bool options_and_no_bth(wire::Bytes frame) {
    constexpr std::size_t udp_bytes = 8;
    if (wire::load_u16(frame, kEtherTypeAt) != kEtherTypeIpv4) return false;
    if (frame.size() < kIpAt + wire::Ipv4::kSize) return false;
    const std::size_t header = 4 * (std::to_integer<std::size_t>(frame[kIpAt]) & 0xFU);
    const std::size_t whole = wire::load_u16(frame, kIpAt + 2);
    return header > wire::Ipv4::kSize && whole < header + udp_bytes + wire::Bth::kSize;
}

void hop_limit_1(wire::Envelope& envelope) {
    envelope.hop_limit = 1;
}

void marked_v4(wire::Envelope& envelope) {
    if (envelope.source.v4()) envelope.ecn = wire::kCongestionExperienced;
}

void marked_v6(wire::Envelope& envelope) {
    if (!envelope.source.v4()) envelope.ecn = wire::kCongestionExperienced;
}

void answers_without_dscp(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (packet.info().response()) datagram.envelope.dscp = 0;
}

bool is_rc_request(const wire::OpcodeInfo& info) {
    return info.request() && info.service == wire::Service::Rc;
}

constexpr std::array kMutants{
    Mutant{.name = "icrc_at_the_end_of_the_frame",
           .rule = "ENC-07",
           .passive = false,
           .description = "The last four bytes of the frame are taken for the ICRC: a short packet "
                          "that Ethernet padded is dropped.",
           .cases = "enc/short-frame-padding enc/trailer",
           .make_filter = make<IcrcAtTheEnd>},
    Mutant{.name = "low_source_port_dropped",
           .rule = "ENC-03",
           .description = "Packets whose UDP source port is below 0xC000 are dropped.",
           .cases = "enc/source-port",
           .make_filter = make<DropsInbound<from_low_port>>},
    Mutant{.name = "last_hop_dropped",
           .rule = "ENC-11",
           .description = "Packets that arrive with hop limit 1 are dropped.",
           .cases = "enc/every-hop-limit enc/hop-limit enc/not-copied",
           .make_filter = make<DropsInbound<at_last_hop>>},
    Mutant{.name = "contradicting_lengths_accepted",
           .rule = "ENC-08",
           .description = "The packet ends where the frame ends: a contradicting UDP or IP length "
                          "is accepted, and so is any ICRC.",
           .cases = "bth/cut-on-the-way enc/ip-length",
           .make_filter = make<Admits<by_frame_length>>},
    Mutant{.name = "older_encapsulation_accepted",
           .rule = "ENC-16",
           .description = "RoCEv1 frames are executed like RoCEv2 packets.",
           .cases = "enc/older-encapsulation",
           .make_filter = make<Admits<of_rocev1>>},
    Mutant{.name = "any_ip_checksum_accepted",
           .rule = "N-03",
           .description = "The IPv4 header checksum is not compared.",
           .cases = "enc/ip-checksum",
           .make_filter = make<Admits<any_ip_checksum>>},
    Mutant{.name = "udp_checksum_dropped",
           .rule = "ENC-04",
           .description = "Packets with a UDP checksum other than zero are dropped.",
           .cases = "enc/udp-checksum enc/udp-checksum-lengths",
           .make_filter = make<Admits<nothing_with_a_checksum>>},
    Mutant{.name = "dscp_not_sent",
           .rule = "ENC-12",
           .description = "Packets leave with DSCP 0, whatever the address vector says.",
           .cases = "enc/traffic-class",
           .make_filter = make<EditsSentEnvelope<dscp_lost>>},
    Mutant{.name = "sent_to_another_port",
           .rule = "ENC-01",
           .description = "Packets go to UDP port 4790.",
           .cases = "enc/source-port",
           .make_filter = make<EditsSentEnvelope<to_another_port>>},
    Mutant{.name = "tagged_frames_dropped",
           .rule = "ENC-15",
           .description = "Frames with a VLAN tag are dropped, VLAN 0 included.",
           .cases = "enc/priority-tag n/vlan-both-ways",
           .make_filter = make<Admits<nothing_tagged>>},
    Mutant{
        .name = "ether_type_ignored",
        .rule = "CA17-27",
        .description =
            "A frame whose first payload nibble is 4 is taken for IPv4, whatever its EtherType is.",
        .cases = "enc/ip-version",
        .make_filter = make<Admits<any_ether_type>>},
    Mutant{
        .name = "foreign_destination_accepted",
        .rule = "ENC-13",
        .description =
            "A packet to the address 100 above one of the device's own is accepted as one to this.",
        .cases = "enc/other-destination",
        .make_filter = make<Admits<hundred_ahead>>},
    Mutant{.name = "dead_after_a_packet_to_its_host",
           .rule = "ENC-13",
           .description = "After a packet to an address of its host that is not a GID the device "
                          "takes nothing in any more.",
           .cases = "enc/destination-bits enc/host-address",
           .make_filter = make<DiesOf<to_the_host_alone>>},
    Mutant{.name = "dead_after_options_without_bth",
           .rule = "BTH-20",
           .description = "After a packet with IPv4 options that ends inside its BTH the device "
                          "takes nothing in any more.",
           .cases = "bth/truncated-options",
           .make_filter = make<DiesOf<options_and_no_bth>>},
    Mutant{.name = "sent_from_another_address",
           .rule = "CA17-11",
           .description = "Packets leave with a source address whose lowest bit is inverted.",
           .cases = "enc/answer-addresses",
           .make_filter = make<EditsSentEnvelope<from_another_address>>},
    Mutant{.name = "sent_with_lowest_hop_limit",
           .rule = "ENC-11",
           .description = "Packets leave with hop limit 1, whatever the address vector says.",
           .cases = "enc/sent-fields",
           .make_filter = make<EditsSentEnvelope<hop_limit_1>>},
    Mutant{.name = "sent_as_congested",
           .rule = "CA17-5",
           .description = "IPv4 packets leave marked \"congestion experienced\".",
           .cases = "enc/sent-fields",
           .make_filter = make<EditsSentEnvelope<marked_v4>>},
    Mutant{.name = "sent_as_congested_over_version_six",
           .rule = "CA17-14",
           .description = "IPv6 packets leave marked \"congestion experienced\".",
           .cases = "enc/sent-fields",
           .make_filter = make<EditsSentEnvelope<marked_v6>>},
    Mutant{.name = "dscp_not_sent_in_answers",
           .rule = "ENC-12",
           .description = "ACKs and READ responses leave with DSCP 0.",
           .cases = "enc/answer-traffic-class",
           .make_filter = make<EditsSentDatagram<answers_without_dscp>>},
    Mutant{.name = "class_change_in_sqd_not_in_requests",
           .rule = "ENC-12",
           .description = "After a change of the traffic class in SQD requests keep the old one.",
           .cases = "enc/class-of-requests-changed-in-sqd",
           .make_filter = make<KeepsClass<is_rc_request>>},
};

} // namespace
} // namespace veriroce::mutants::of_enc

namespace veriroce::mutants {

std::span<const Mutant> enc() {
    return of_enc::kMutants;
}

} // namespace veriroce::mutants
