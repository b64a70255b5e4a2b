#include "transport/engine/path.hpp"

#include <algorithm>

namespace veriroce::engine {

namespace {

// ENC-02: one source port for a QP's life, spread over the upper quarter of the ports.
std::uint16_t source_port(SourcePort choice, const AddressVector& path, wire::Qpn own,
                          wire::Qpn peer) {
    if (path.source_port) return *path.source_port;
    constexpr std::uint32_t first = 0xC000;
    if (choice == SourcePort::QpnHash) {
        constexpr std::uint32_t golden_ratio = 0x9E3779B1;
        return static_cast<std::uint16_t>(first + (own.value * golden_ratio >> 18));
    }
    std::uint64_t label = path.flow_label;
    if (label == 0) {
        label = std::uint64_t{own.value} * peer.value;
        label ^= label >> 20;
        label ^= label >> 40;
    }
    label &= 0xFFFFF;
    return static_cast<std::uint16_t>(first | ((label ^ label >> 14) & 0x3FFF));
}

std::optional<wire::Duration> ack_interval(const Device& device, const Connection& connection) {
    constexpr int sixteenths = 16;
    const Behaviour& behaviour = device.config.behaviour;
    const bool never = connection.timeout == 0; // TMO-02
    const auto code = never ? 0 : std::max(connection.timeout, behaviour.timeout_floor);
    const auto nominal = wire::ack_timeout(static_cast<std::uint8_t>(code));
    if (!nominal) return std::nullopt;
    if (behaviour.fixed_timeout.count() > 0) return behaviour.fixed_timeout;
    return *nominal * behaviour.timeout_sixteenths / sixteenths;
}

} // namespace

wire::Envelope envelope_to(const Device& device, const Qp& qp, const AddressVector& path,
                           wire::Qpn peer) {
    constexpr std::uint8_t ect0 = 2; // CA17-5: a device that reacts to marks sets ECT
    const auto ecn = static_cast<std::uint8_t>(path.traffic_class & 3);
    return {.source = path.source,
            .destination = path.destination,
            .source_port =
                source_port(device.config.behaviour.source_port, path, qp.connection.qpn, peer),
            .destination_port = wire::kRocePort,
            .dscp = static_cast<std::uint8_t>(path.traffic_class >> 2), // ENC-12
            .ecn = qp.limiter && ecn == 0 ? ect0 : ecn,
            .hop_limit = path.hop_limit,
            .flow_label = path.flow_label,
            .vlan = path.vlan};
}

void settle_path(const Device& device, Qp& qp) {
    qp.envelope = envelope_to(device, qp, qp.connection.address, qp.connection.peer);
    qp.ack_interval = ack_interval(device, qp.connection);
}

} // namespace veriroce::engine
