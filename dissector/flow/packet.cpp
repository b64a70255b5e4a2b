#include "dissector/flow/packet.hpp"

#include "dissector/wire/field_places.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::flow {
namespace {

// CA17-24: a receiver drops packets with a wrong length or IP version even if the ICRC is right. A
// wrong IPv4 checksum is another matter: where the sender's host recorded the packet, the NIC still
// had to fill it in. ENC-06 leaves open what a receiver does with a wrong UDP checksum.
Integrity integrity_of(const decode::Dissection& dissection) {
    using enum decode::FindingKind;
    if (dissection.icrc.status == decode::IcrcStatus::Bad) return Integrity::Bad;
    const bool good = dissection.icrc.status == decode::IcrcStatus::Good;
    Integrity integrity = good ? Integrity::Good : Integrity::Unchecked;
    for (const decode::Finding& finding : dissection.findings.all()) {
        if (!dissection.is_own(finding)) continue;
        const bool dropped = finding.kind == IpVersion || finding.kind == IpHeaderLength ||
                             finding.kind == IpLength || finding.kind == UdpLength;
        if (dropped) return Integrity::Bad;
        const bool checksum = finding.kind == UdpChecksum || finding.kind == IpChecksum ||
                              finding.kind == IpChecksumLeft;
        if (checksum && good) integrity = Integrity::Intact;
    }
    return integrity;
}

// To its place, which holds zeros: an address that is put together and then copied is stored in
// small pieces and read in a large one, for which a processor waits.
bool read_address(wire::Bytes bytes, wire::IpAddress& zeros) {
    constexpr std::size_t kIpv4Bytes = 4;
    if (bytes.empty()) return false;
    if (bytes.size() == kIpv4Bytes) {
        wire::store_be<8>(zeros.bytes, 8, std::uint64_t{0xFFFF} << 32 | wire::load_u32(bytes, 0));
    } else {
        wire::copy<16>(bytes, zeros.bytes);
    }
    return true;
}

} // namespace

bool read_packet(const decode::Dissection& dissection, Packet& packet) {
    if (!dissection.roce() || dissection.malformed || dissection.fragment) return false;
    if (!dissection.has_whole_headers()) return false;
    if (!read_address(dissection.source_bytes(), packet.source)) return false;
    if (!read_address(dissection.destination_bytes(), packet.destination)) return false;
    wire::copy_headers(dissection.packet, packet.transport);
    packet.number = dissection.frame.number;
    if (dissection.frame.time_ns) {
        packet.time = wire::Instant(wire::Duration(*dissection.frame.time_ns));
    }
    // Of what tunnels wrap around the packet nothing is its sender's.
    packet.source_port =
        static_cast<std::uint16_t>(wire::load<wire::where("udp.srcport")>(dissection.udp_bytes()));
    const wire::Bytes ip = dissection.bytes_of(dissection.network);
    if (dissection.network.kind == decode::LayerKind::Ipv4) {
        const wire::Ipv4 header = wire::Ipv4::read(ip);
        packet.ecn = header.ecn;
        packet.identification = header.id;
    } else {
        packet.ecn = wire::Ipv6::read(ip).ecn;
    }
    packet.body_bytes = dissection.body_bytes;
    packet.integrity = integrity_of(dissection);
    return true;
}

std::optional<Packet> packet_of(const decode::Dissection& dissection) {
    std::optional<Packet> result(std::in_place); // constructed in the caller's storage
    if (!read_packet(dissection, *result)) result.reset();
    return result;
}

std::optional<Packet> packet_of(const wire::Datagram& datagram, std::uint64_t number,
                                wire::Instant time) {
    const auto headers = wire::decode_packet(datagram.bytes);
    if (!headers) return std::nullopt;
    Packet packet;
    packet.number = number;
    packet.time = time;
    packet.source = datagram.envelope.source;
    packet.destination = datagram.envelope.destination;
    packet.source_port = datagram.envelope.source_port;
    packet.ecn = datagram.envelope.ecn;
    packet.transport = *headers;
    packet.body_bytes = static_cast<std::uint32_t>(headers->body.size());
    packet.integrity = Integrity::Good;
    return packet;
}

} // namespace veriroce::flow
