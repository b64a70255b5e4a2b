// The general walk: goes through any frame from its first byte to its last and notes the layers.
// The frames that most captures are full of take the fast path instead (fast_path.hpp). Internal to
// this room.
#pragma once

#include <algorithm>

#include "dissector/decode/decoder.hpp"
#include "dissector/decode/iwarp.hpp"
#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::decode {

// If a frame has more of these than this, the walk stops and the rest is Data. No
// network needs as many, and frames made of nothing else exist.
inline constexpr std::size_t kMaxVlanTags = 8;
inline constexpr std::size_t kMaxMplsLabels = 8;
inline constexpr std::size_t kMaxIpExtensions = 8;
inline constexpr std::size_t kMaxTunnels = 4;
inline constexpr std::size_t kMaxFramedPdus = 16; // of iWARP in one TCP segment

// A tunnel's own layers: IP, UDP or GRE, its header and two of ERSPAN, Ethernet, a trailer. The
// extension headers of GTP count as those of IP.
inline constexpr std::size_t kLayersOfTunnel = 7;
// Behind all tunnels: BTH, its headers, four of a management datagram (or three of IP over
// InfiniBand), pad, ICRC, VCRC; or iWARP.
inline constexpr std::size_t kLayersOfTransport = 1 + wire::kHeaderKinds + 4 + 4;
inline constexpr std::size_t kLayersOfIwarp = 2 + 6 * kMaxFramedPdus + 1;
// Frame, ERF, link, LLC, IP, UDP or GRH, trailer, and one to spare. Tags of fabrics count as VLAN
// tags.
static_assert(8 + kMaxVlanTags + kMaxMplsLabels + kMaxIpExtensions + kLayersOfTunnel * kMaxTunnels +
                  std::max(kLayersOfTransport, kLayersOfIwarp) <=
              Layers::kCapacity);

class Walker {
  public:
    Walker(Dissection& out, const Options& options)
        : out_(out), options_(options),
          captured_(static_cast<std::uint32_t>(out.frame.bytes.size())),
          end_(std::max(captured_, out.frame.original_length)) {}

    void frame();
    // Only a TCP segment of iWARP, from `at` to `end` (iwarp.cpp).
    void mpa(const MpaFraming& framing, std::uint32_t at, std::uint32_t end);

    // The first byte that the ICRC covers: of the IP header, the GRH or the LRH.
    [[nodiscard]] std::uint32_t covered_from() const { return covered_from_; }
    [[nodiscard]] bool ip_extensions() const { return ip_extensions_; }
    // Whether the version in an IP header is neither 4 nor 6.
    [[nodiscard]] bool unknown_ip_version() const { return unknown_ip_version_; }
    // Whether the capture holds less of an IP fragment than there was on the wire.
    [[nodiscard]] bool fragment_cut() const { return fragment_cut_; }

  private:
    // Link and network layers (network_layers.cpp).
    void ethernet();
    void cooked(LayerKind kind, std::size_t bytes, std::size_t type_offset);
    void raw_ip();
    void loopback(bool network_order);
    void ppp();
    void cisco_hdlc();
    void pppoe();
    void llc(std::uint16_t length);
    bool fabric_tags(std::uint16_t& type);
    void by_ether_type(std::uint16_t type);
    void arp();
    void mac_control();
    void ipv4();
    void ipv6();
    bool version_is(std::uint8_t expected, std::uint8_t other);
    void ipv4_packet();
    void ipv6_packet();
    bool ipv6_extensions(std::uint8_t& next_header);
    void fragment(std::uint32_t field_offset, bool first);
    void by_ip_protocol(std::uint8_t protocol, Protocol otherwise);
    void authentication(Protocol otherwise);
    void udp();
    void by_udp_port(std::uint16_t port);
    void check_udp_checksum(std::uint32_t offset);

    // Packets inside packets (tunnels.cpp).
    void mpls();
    void gre();
    void erspan3();
    void vxlan();
    void vxlan_gpe();
    void geneve();
    void nsh();
    void gtp();
    bool gtp_extensions();
    void ip_in_ip(wire::EtherType type);
    void inner_ethernet();
    bool enter_tunnel();

    // Endace records, native InfiniBand and RoCE v1 (infiniband.cpp).
    void erf();
    void infiniband();
    void roce_v1();
    bool grh();

    // The transport packet (transport.cpp), management datagrams (management.cpp).
    void transport(Protocol protocol);
    void extended_headers();
    void body();
    bool ip_over_infiniband(std::uint32_t bytes);
    void mad();
    void cm(std::uint16_t attribute);
    void sa(std::uint16_t attribute);

    // iWARP (iwarp.cpp).
    void tcp();
    bool mpa_start();
    void framed_pdus(bool known, bool crc);
    bool framed_pdu(bool known, bool crc);
    void rdmap_headers(std::uint8_t operation, std::uint32_t& payload);
    // The next `bytes` bytes, of which the packet may end before the last.
    void part(LayerKind kind, std::uint32_t bytes) { pass(kind, std::min(bytes, end_ - at_)); }

    // The next `bytes` bytes, at least one, are a header of this kind. Empty if they are not all
    // there: then the dissection is marked cut or malformed.
    wire::Bytes take(LayerKind kind, std::size_t bytes) {
        if (bytes > std::min(captured_, end_) - at_) return missing(kind, bytes);
        const auto length = static_cast<std::uint32_t>(bytes);
        out_.layers.push(kind, at_, length);
        at_ += length;
        return out_.frame.bytes.subspan(at_ - length, length);
    }
    wire::Bytes missing(LayerKind kind, std::size_t bytes);
    // The same if the bytes are not read: whether they are there.
    bool step(LayerKind kind, std::size_t bytes) { return !take(kind, bytes).empty(); }
    // The next `bytes` bytes, of which there may be less in the capture, are data of this kind.
    void pass(LayerKind kind, std::uint32_t bytes);
    // All that is left of the packet.
    void rest(LayerKind kind) { pass(kind, end_ - at_); }
    // The rest is data, because this is not followed.
    void leave(Stop stop, std::uint32_t code = 0) {
        out_.not_followed = {stop, code};
        rest(LayerKind::Data);
    }
    // The packet ends at `end` by a length field; a contradiction is a finding.
    void narrow(std::uint32_t end, FindingKind contradiction, std::uint32_t field_offset,
                std::uint32_t field_value, std::uint32_t available);
    // A finding about a field of the header that begins at `header_at`.
    void add_finding(FindingKind kind, std::uint32_t header_at, const wire::Location& field,
                     std::uint32_t found, std::uint32_t expected) {
        out_.findings.add({kind, header_at + field.first_byte(), field.bytes(), found, expected});
    }
    // After the packet, its carrier goes on until `end`; `captured` bytes of it were captured.
    void trailer(std::uint32_t end, std::uint32_t captured);
    // What is ahead, if that much was captured; else 0.
    [[nodiscard]] std::uint8_t peek_u8(std::uint32_t ahead = 0) const;
    [[nodiscard]] std::uint16_t peek_u16(std::uint32_t ahead = 0) const;

    Dissection& out_;
    const Options& options_;
    std::uint32_t captured_; // bytes that the capture has
    std::uint32_t end_;      // where the packet ends, by the lengths read so far
    std::uint32_t at_ = 0;   // first byte not yet taken
    std::uint32_t covered_from_ = 0;
    bool ip_extensions_ = false;
    bool unknown_ip_version_ = false;
    bool open_end_ = false; // the packet goes on in other frames: `end_` is beyond all lengths
    bool fragment_cut_ = false;
    std::uint8_t vlan_tags_ = 0;
    std::uint8_t mpls_labels_ = 0;
    std::uint8_t ip_extension_headers_ = 0;
    std::uint8_t tunnels_ = 0;
};

} // namespace veriroce::decode
