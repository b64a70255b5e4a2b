// Goes through a frame from its first byte to its last and notes the layers. Internal to this room.
#pragma once

#include "dissector/decode/decoder.hpp"
#include "dissector/wire/ethernet.hpp"

namespace veriroce::decode {

// Tags and IPv6 extension headers beyond these are not followed: what is behind them is Data. No
// network needs as many, and frames made of nothing else exist.
inline constexpr std::size_t kMaxVlanTags = 8;
inline constexpr std::size_t kMaxIpExtensions = 8;

// Frame, link, IP, UDP, BTH, payload, pad, ICRC and trailer stand in a frame once.
static_assert(9 + kMaxVlanTags + kMaxIpExtensions + wire::kHeaderKinds <= Layers::kCapacity);

class Walker {
  public:
    Walker(Dissection& out)
        : out_(out), captured_(static_cast<std::uint32_t>(out.frame.bytes.size())),
          end_(std::max(captured_, out.frame.original_length)) {}

    void frame();

    // The first byte that the ICRC covers: of the IP header in front of the transport packet.
    [[nodiscard]] std::uint32_t ip_offset() const { return ip_offset_; }
    [[nodiscard]] bool ip_extensions() const { return ip_extensions_; }

  private:
    // Link and network layers (outer.cpp).
    void ethernet();
    void cooked(LayerKind kind, std::size_t bytes, std::size_t type_offset);
    void raw_ip();
    void by_ether_type(std::uint16_t type);
    void ipv4();
    void ipv6();
    bool ipv6_extensions(std::uint8_t& next_header);
    void by_ip_protocol(std::uint8_t protocol, Protocol otherwise);
    void udp();
    void narrow(std::uint32_t end, FindingKind contradiction, std::uint32_t field_offset,
                std::uint32_t field_value, std::uint32_t available);
    void check_udp_checksum(std::uint32_t offset);
    void trailer();

    // The transport packet (transport.cpp).
    void roce();
    void extended_headers();
    void body();
    void mad();

    // The next `bytes` bytes are a header of this kind. Nothing if they are not all there: then the
    // dissection is marked cut or malformed.
    std::optional<wire::Bytes> take(LayerKind kind, std::size_t bytes);
    // The next `bytes` bytes, of which there may be less in the capture, are data of this kind.
    void pass(LayerKind kind, std::uint32_t bytes);
    // All that is left of the packet.
    void rest(LayerKind kind) { pass(kind, end_ - at_); }

    Dissection& out_;
    std::uint32_t captured_; // bytes at hand
    std::uint32_t end_;      // where the packet ends, by the lengths read so far
    std::uint32_t at_ = 0;   // first byte not yet taken
    std::uint32_t ip_offset_ = 0;
    std::optional<std::uint32_t> trailer_; // where the outermost IP packet ended
    bool ip_extensions_ = false;
};

} // namespace veriroce::decode
