// A frame taken apart: layers, findings, ICRC. One object is used for packet after packet; nothing
// in it is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dissector/decode/finding.hpp"
#include "dissector/decode/layer.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/packet.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::decode {

// What is known of a frame before it is taken apart.
struct FrameFacts {
    wire::Bytes bytes;                 // as captured
    std::uint32_t original_length = 0; // on the wire; more than was captured if the capture cut it
    std::uint16_t link_code = 1;       // LINKTYPE_ value
    std::uint64_t number = 0;          // counted from 1
    std::optional<std::int64_t> time_ns;       // since 1970
    std::optional<std::int64_t> first_time_ns; // of the first frame of the capture
    std::optional<std::int64_t> last_time_ns;  // of the frame before
    // Of a file that tells interfaces apart: its number within the section, counted from 0, the
    // section's, counted from 1, and a name, which may be empty.
    std::optional<std::uint32_t> interface;
    std::uint32_t section = 0;
    std::string_view interface_name;
    std::string_view file;                      // its name, for roce.file
    std::span<const std::string_view> comments; // that the file has beside the frame
};

enum class IcrcStatus : std::uint8_t { Good, Bad, Unchecked };
std::string_view name_of(IcrcStatus status); // "good", "bad", "unchecked"

enum class IcrcReason : std::uint8_t {
    None,         // it was checked
    NotAsked,     // by Options
    Cut,          // the capture does not hold the whole packet
    Malformed,    // the packet is too short to have one
    Fragment,     // the rest of the packet is in other frames
    IpExtensions, // what the ICRC covers of them, and of AH, is not laid down
    IpVersion,    // neither 4 nor 6: nor is what it covers of such a header
    Lengths,      // they contradict each other, and where they put it there is no right one
};
std::string_view text_of(IcrcReason reason);

struct Icrc {
    IcrcStatus status = IcrcStatus::Unchecked;
    IcrcReason reason = IcrcReason::NotAsked;
    // As the four bytes on the wire read, most significant first (as Wireshark shows them).
    std::uint32_t found = 0;
    std::uint32_t expected = 0;
};

// The innermost protocol that was recognised.
enum class Protocol : std::uint8_t {
    Unknown,
    Ethernet,
    Arp,
    MacControl,
    Mpls,
    Ipv4,
    Ipv6,
    Gre,
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
    Iwarp,
    InfiniBand,
    RoceV1,
    RoceV2,
};
std::string_view name_of(Protocol protocol); // as Wireshark's column has it: "RRoCE", "TCP"

// Why the walk left the rest of a frame as data. Of a frame that it took apart to its end, and of
// protocols that end here because nothing of ours is above them (ARP, ICMP, TCP): None.
enum class Stop : std::uint8_t {
    None,
    // With a code:
    LinkType,
    ErfType,
    EtherType,
    LlcSap,
    PppProtocol,
    AddressFamily,
    IpProtocol,
    UdpPort,
    GpeProtocol,
    NshProtocol,
    GtpMessage, // of the tunnel itself, not of user data
    GreFlags,   // routing, or another version
    ErspanFrame,
    NoInfiniBand, // behind a GRH
    // Without:
    MplsPayload, // neither IPv4 nor IPv6, as the next
    GtpPayload,
    MplsLabels, // more than are followed, as the next three
    Tags,
    Tunnels,
    IpExtensions,
    LaterFragment, // of an IP packet, whose headers are in another frame
};
std::string_view text_of(Stop stop); // "EtherType", "UDP port"

struct NotFollowed {
    Stop stop = Stop::None;
    std::uint32_t code = 0; // the EtherType, port ...; 0 where there is none

    friend bool operator==(const NotFollowed&, const NotFollowed&) = default;
    [[nodiscard]] std::string text() const; // "EtherType 0x88e5", "UDP port 53"
};

struct FlowFacts; // flow_facts.hpp

struct Dissection {
    FrameFacts frame;
    Layers layers;
    Findings findings;
    LayerSpan network; // the innermost IP header or GRH that is whole; else no bytes of a Frame
    Protocol protocol = Protocol::Unknown;
    NotFollowed not_followed;
    bool cut = false;       // the capture ends inside what was taken apart last
    bool malformed = false; // the packet itself ends inside a header
    bool fragment = false;  // an IP fragment
    bool upper = false;     // the layers above the transport were decoded (upper.hpp)
    Icrc icrc;
    // From the BTH to the last pad byte, as far as it was captured. Empty unless
    // transport_packet().
    wire::Bytes transport;
    // Its headers, read once: the BTH, which is all zeros unless `has_bth`, and those extended ones
    // that `packet.headers` names, which are there whole. The others hold nothing of this packet.
    wire::Packet packet;
    bool has_bth = false;         // all 12 bytes of it were there
    std::uint32_t body_bytes = 0; // payload and pad as the packet's lengths say, also when cut
    // Of the layer Flow, which only somebody who follows connections adds; without it, anything.
    const FlowFacts* flow = nullptr;

    [[nodiscard]] bool roce() const { return protocol == Protocol::RoceV2; }
    // A packet of the InfiniBand transport, whatever carries it.
    [[nodiscard]] bool transport_packet() const {
        return protocol == Protocol::RoceV2 || protocol == Protocol::RoceV1 ||
               protocol == Protocol::InfiniBand;
    }
    // The bytes of a layer, as far as they were captured.
    [[nodiscard]] wire::Bytes bytes_of(const LayerSpan& layer) const {
        return frame.bytes.subspan(layer.offset, layer.length);
    }
    // What the opcode means.
    [[nodiscard]] const wire::OpcodeInfo& info() const { return packet.info(); }
    // Whether the BTH and all extended headers that its opcode names are there.
    [[nodiscard]] bool has_whole_headers() const {
        return has_bth && packet.headers == info().headers;
    }
    // Whether every byte of the transport packet is there.
    [[nodiscard]] bool complete() const { return has_bth && !cut && !malformed && !fragment; }
    // BTH-12: a pad count above the body leaves no payload.
    [[nodiscard]] std::uint32_t payload_bytes() const {
        return packet.bth.pad <= body_bytes ? body_bytes - packet.bth.pad : 0;
    }
    // Bytes of the frame on the wire, and those of them that the capture holds: without the header
    // of an Endace record, which says the first by itself.
    [[nodiscard]] std::uint32_t frame_length() const {
        return layers.has(LayerKind::Erf) ? erf_frame_length() : frame.original_length;
    }
    [[nodiscard]] std::uint32_t captured_length() const;
    // The UDP header before the BTH: of a RoCEv2 packet, behind all tunnels.
    [[nodiscard]] wire::Bytes udp_bytes() const {
        const auto bth_at = static_cast<std::size_t>(transport.data() - frame.bytes.data());
        return frame.bytes.subspan(bth_at - wire::Udp::kSize, wire::Udp::kSize);
    }
    // Whether a finding is about the packet itself, from its IP header on: not about a tunnel that
    // carries it.
    [[nodiscard]] bool is_own(const Finding& finding) const {
        return finding.offset >= network.offset;
    }
    // Addresses of the innermost IP header or GRH (`network`): 4 or 16 bytes, none without one.
    [[nodiscard]] wire::Bytes source_bytes() const;
    [[nodiscard]] wire::Bytes destination_bytes() const;
    [[nodiscard]] std::optional<wire::IpAddress> source() const;
    [[nodiscard]] std::optional<wire::IpAddress> destination() const;

  private:
    [[nodiscard]] std::uint32_t erf_frame_length() const;
};

} // namespace veriroce::decode
