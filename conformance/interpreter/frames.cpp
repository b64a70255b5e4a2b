#include "conformance/interpreter/frames.hpp"

#include <algorithm>
#include <array>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint8_t kIpv6FragmentHeader = 44;
constexpr std::uint8_t kGrhNextHeader = 0x1B; // InfiniBand transport
constexpr std::size_t kFragmentUnit = 8;      // fragment offsets count units of 8 bytes
constexpr std::size_t kShortestFrame = 60;    // Ethernet's minimum without the checksum
const wire::MacAddress kPauseAddress = *wire::MacAddress::parse("01:80:c2:00:00:01");

std::vector<std::byte> start(wire::MacAddress to, wire::MacAddress from, std::uint16_t type) {
    std::vector<std::byte> frame(wire::Ethernet::kSize);
    std::ranges::copy(to.bytes, frame.begin());
    std::ranges::copy(from.bytes, frame.begin() + 6);
    wire::store_be<2>(wire::MutableBytes(frame), 12, type);
    return frame;
}

void append(std::vector<std::byte>& frame, wire::Bytes bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
}

// A frame with this one's addresses and VLAN.
std::vector<std::byte> start_as(const wire::Frame& other, std::uint16_t type) {
    const wire::Ethernet& link = other.ethernet;
    if (!other.vlan) return start(link.destination, link.source, type);
    auto frame = start(link.destination, link.source, link.ether_type);
    wire::VlanTag tag = *other.vlan;
    tag.ether_type = type;
    std::array<std::byte, wire::VlanTag::kSize> bytes{};
    tag.encode(bytes);
    append(frame, bytes);
    return frame;
}

std::vector<std::byte> ipv4_fragment(const wire::Frame& whole, wire::Bytes payload, std::size_t at,
                                     std::size_t length) {
    wire::Ipv4 header = *whole.ipv4;
    header.header_length = 5; // options stay with the first packet
    header.total_length = static_cast<std::uint16_t>(wire::Ipv4::kSize + length);
    header.dont_fragment = false;
    header.more_fragments = at + length < payload.size();
    header.fragment_offset = static_cast<std::uint16_t>(at / kFragmentUnit);
    header.checksum = 0;
    std::array<std::byte, wire::Ipv4::kSize> bytes{};
    header.encode(bytes);
    wire::store_be<2>(wire::MutableBytes(bytes), 10, wire::ipv4_checksum(bytes));
    auto frame = start_as(whole, 0x0800);
    append(frame, bytes);
    append(frame, payload.subspan(at, length));
    return frame;
}

std::vector<std::byte> ipv6_fragment(const wire::Frame& whole, wire::Bytes payload, std::size_t at,
                                     std::size_t length, std::uint32_t id) {
    std::array<std::byte, 8> extension{};
    const unsigned more = at + length < payload.size() ? 1 : 0;
    extension[0] = std::byte{whole.ipv6->next_header};
    wire::store_be<2>(wire::MutableBytes(extension), 2, static_cast<unsigned>(at) | more);
    wire::store_be<4>(wire::MutableBytes(extension), 4, id);
    wire::Ipv6 header = *whole.ipv6;
    header.next_header = kIpv6FragmentHeader;
    header.payload_length = static_cast<std::uint16_t>(extension.size() + length);
    std::array<std::byte, wire::Ipv6::kSize> bytes{};
    header.encode(bytes);
    auto frame = start_as(whole, 0x86DD);
    append(frame, bytes);
    append(frame, extension);
    append(frame, payload.subspan(at, length));
    return frame;
}

} // namespace

std::optional<std::vector<std::byte>> fragment_of(wire::Bytes packet, std::size_t at,
                                                  std::size_t length, std::uint32_t id) {
    const auto whole = wire::decode_frame(packet);
    if (!whole) return std::nullopt;
    // The fragmented bytes: from the UDP header to the ICRC.
    const std::size_t first = whole->layers.at(wire::Layer::Udp);
    const std::size_t end = whole->layers.at(wire::Layer::Icrc) + wire::kIcrcBytes;
    const wire::Bytes payload = packet.subspan(first, end - first);
    if (at % kFragmentUnit != 0 || at >= payload.size() || length > payload.size() - at) {
        return std::nullopt;
    }
    if (whole->ipv4) return ipv4_fragment(*whole, payload, at, length);
    return ipv6_fragment(*whole, payload, at, length, id);
}

std::vector<std::byte> pfc_frame(wire::MacAddress from, unsigned priority, std::uint16_t quanta) {
    auto frame = start(kPauseAddress, from, 0x8808);
    frame.resize(kShortestFrame);
    const wire::MutableBytes bytes(frame);
    wire::store_be<2>(bytes, 14, 0x0101); // priority-based flow control
    wire::store_be<2>(bytes, 16, 1U << priority);
    wire::store_be<2>(bytes, 18 + std::size_t{2} * priority, quanta);
    return frame;
}

std::optional<std::vector<std::byte>> rocev1_frame(wire::Bytes packet) {
    const auto whole = wire::decode_frame(packet);
    if (!whole || whole->transport.size() < wire::Bth::kSize) return std::nullopt;
    const wire::Envelope envelope = whole->envelope();
    const wire::Ipv6 grh{.dscp = envelope.dscp,
                         .ecn = envelope.ecn,
                         .flow_label = envelope.flow_label,
                         .payload_length =
                             static_cast<std::uint16_t>(whole->transport.size() + wire::kIcrcBytes),
                         .next_header = kGrhNextHeader,
                         .hop_limit = envelope.hop_limit,
                         .source = envelope.source,
                         .destination = envelope.destination};
    auto frame = start_as(*whole, 0x8915);
    const std::size_t covered = frame.size();
    frame.resize(covered + wire::Ipv6::kSize);
    grh.encode(wire::MutableBytes(frame).subspan(covered));
    append(frame, whole->transport);

    std::array<std::byte, wire::kIcrcBytes> icrc{};
    wire::store_icrc(icrc, wire::icrc_from_grh(wire::Bytes(frame).subspan(covered)));
    append(frame, icrc);
    return frame;
}

} // namespace veriroce::interpreter
