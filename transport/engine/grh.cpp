#include "transport/engine/grh.hpp"

namespace veriroce::engine {

namespace {

constexpr std::size_t kUdpBytes = 8;

} // namespace

std::array<std::byte, kGrhBytes> grh_of(const wire::Envelope& envelope,
                                        std::size_t transport_bytes) {
    std::array<std::byte, kGrhBytes> grh{};
    const std::size_t inside = kUdpBytes + transport_bytes + wire::kIcrcBytes;
    if (!envelope.destination.v4()) {
        const wire::Ipv6 header{.dscp = envelope.dscp,
                                .ecn = envelope.ecn,
                                .flow_label = envelope.flow_label,
                                .payload_length = static_cast<std::uint16_t>(inside),
                                .next_header = wire::kProtocolUdp,
                                .hop_limit = envelope.hop_limit,
                                .source = envelope.source,
                                .destination = envelope.destination};
        header.encode(grh);
        return grh;
    }
    wire::Ipv4 header{.dscp = envelope.dscp,
                      .ecn = envelope.ecn,
                      .total_length = static_cast<std::uint16_t>(wire::Ipv4::kSize + inside),
                      .dont_fragment = true,
                      .ttl = envelope.hop_limit,
                      .protocol = wire::kProtocolUdp,
                      .source = envelope.source.low32(),
                      .destination = envelope.destination.low32()};
    const wire::MutableBytes place = wire::MutableBytes(grh).last(wire::Ipv4::kSize);
    header.encode(place);
    header.checksum = wire::ipv4_checksum(place);
    header.encode(place);
    return grh;
}

} // namespace veriroce::engine
