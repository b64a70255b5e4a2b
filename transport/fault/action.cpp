#include "transport/fault/action.hpp"

#include <algorithm>

#include "dissector/wire/icrc.hpp"

namespace veriroce::fault {
namespace {

using wire::Layer;

constexpr std::size_t kIpv4ChecksumAt = 10; // within the header

std::size_t ip_at(const wire::LayerMap& layers) {
    return layers.at(layers.has(Layer::Ipv4) ? Layer::Ipv4 : Layer::Ipv6);
}

// Uses the position of the UDP header, not the IHL, which may be corrupted.
void repair_ipv4_checksum(TargetFrame& target) {
    if (!target.layers.has(Layer::Ipv4)) return;
    const std::size_t at = target.layers.at(Layer::Ipv4);
    const wire::MutableBytes header =
        wire::MutableBytes(target.frame).subspan(at, target.layers.at(Layer::Udp) - at);
    wire::store_be<2>(header, kIpv4ChecksumAt, wire::ipv4_checksum(header));
}

// A checksum of zero means "not used". Any other checksum is corrected, because otherwise IP or UDP
// would drop the packet before the transport sees it.
void repair_udp_checksum(TargetFrame& target) {
    const wire::MutableBytes frame(target.frame);
    const std::size_t at = target.layers.at(Layer::Udp);
    if (wire::load_u16(frame, at + 6) == 0) return;
    const std::size_t end = target.layers.at(Layer::Icrc) + wire::kIcrcBytes;
    const bool v4 = target.layers.has(Layer::Ipv4);
    const wire::Bytes addresses = v4 ? frame.subspan(ip_at(target.layers) + 12, 8)
                                     : frame.subspan(ip_at(target.layers) + 8, 32);
    wire::store_be<2>(frame, at + 6, 0);
    // Pseudo-header: addresses, protocol, length (RFC 768, RFC 8200).
    auto sum = wire::checksum_add(addresses);
    sum += wire::kProtocolUdp + static_cast<std::uint32_t>(end - at);
    const std::uint16_t good =
        wire::checksum_fold(wire::checksum_add(frame.subspan(at, end - at), sum));
    wire::store_be<2>(frame, at + 6, good == 0 ? 0xFFFF : good);
}

struct Bits {
    std::size_t first = 0; // offset in the frame
    std::size_t count = 0;
};

std::optional<Bits> bits_of(const TargetFrame& target, const Corrupt& corrupt) {
    const std::size_t ip = ip_at(target.layers) * 8;
    Bits bits;
    if (const auto* bit = std::get_if<CorruptBit>(&corrupt.where)) {
        bits = {ip + bit->bit, 1};
    } else if (const auto* byte = std::get_if<CorruptByte>(&corrupt.where)) {
        bits = {ip + byte->byte * 8, 8};
    } else {
        const auto where = wire::locate(target.layers, std::get<CorruptField>(corrupt.where).field);
        if (!where) return std::nullopt;
        bits = {target.layers.at(where->layer) * 8 + where->bit, where->bits};
    }
    if (bits.first + bits.count > target.frame.size() * 8) return std::nullopt;
    return bits;
}

bool overlaps(const Bits& bits, std::size_t byte, std::size_t bytes) {
    return bits.first < (byte + bytes) * 8 && byte * 8 < bits.first + bits.count;
}

void seal(TargetFrame& target) {
    const wire::MutableBytes frame(target.frame);
    const std::size_t begin = ip_at(target.layers);
    const std::size_t end = target.layers.at(Layer::Icrc);
    wire::store_icrc(frame.subspan(end, wire::kIcrcBytes),
                     wire::icrc(frame.subspan(begin, end - begin)));
}

} // namespace

bool change(TargetFrame& target, const Corrupt& corrupt) {
    const auto bits = bits_of(target, corrupt);
    if (!bits) return false;
    for (std::size_t bit = bits->first; bit < bits->first + bits->count; ++bit)
        target.frame[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    // Unless the checksum itself is the target of the corruption.
    const bool udp = overlaps(*bits, target.layers.at(Layer::Udp) + 6, 2);
    const bool v4 = target.layers.has(Layer::Ipv4);
    const bool ip = v4 && overlaps(*bits, ip_at(target.layers) + kIpv4ChecksumAt, 2);
    if (!ip) repair_ipv4_checksum(target);
    if (!udp) repair_udp_checksum(target);
    return true;
}

bool change(TargetFrame& target, const Rewrite& rewrite) {
    for (const auto& [field, value] : rewrite.fields) {
        const auto* number = std::get_if<std::uint64_t>(&value);
        if (number == nullptr || !wire::locate(target.layers, field)) return false;
    }
    const std::vector<std::byte> before = target.frame;
    for (const auto& [field, value] : rewrite.fields) {
        std::uint64_t number = std::get<std::uint64_t>(value);
        if (field == wire::Field::Psn) {
            // Scripts count PSNs from the first one; this adds the difference, taken from the
            // current packet.
            const auto now = wire::read_field(before, target.layers, field).value_or(0);
            number = (now + number - static_cast<std::uint64_t>(target.psn)) & wire::kMask24;
        }
        if (wire::write_field(target.frame, target.layers, field, number)) continue;
        target.frame = before;
        return false;
    }
    const auto writes = [&](wire::Field field) {
        return std::ranges::any_of(rewrite.fields, [&](const auto& w) { return w.field == field; });
    };
    if (!writes(wire::Field::IpChecksum)) repair_ipv4_checksum(target);
    if (!writes(wire::Field::Icrc)) seal(target);
    if (!writes(wire::Field::UdpChecksum)) repair_udp_checksum(target);
    return true;
}

bool change(TargetFrame& target, const Truncate& truncate) {
    const std::size_t bth = target.layers.at(Layer::Bth);
    const std::size_t end = target.layers.at(Layer::Icrc) + wire::kIcrcBytes;
    if (bth + truncate.bytes >= end) return false;
    target.frame.resize(bth + truncate.bytes);
    const wire::MutableBytes frame(target.frame);
    const std::size_t udp = target.layers.at(Layer::Udp);
    const std::size_t ip = ip_at(target.layers);
    const bool v4 = target.layers.has(Layer::Ipv4);
    wire::store_be<2>(frame, udp + 4, frame.size() - udp);
    // IPv6's length excludes the header, IPv4's includes it.
    wire::store_be<2>(frame, v4 ? ip + 2 : ip + 4,
                      frame.size() - ip - (v4 ? 0 : wire::Ipv6::kSize));
    // The position of the ICRC after truncation; repairs extend to the end of the frame.
    const std::size_t icrc = std::max(bth, frame.size() - std::min(frame.size(), wire::kIcrcBytes));
    if (icrc + wire::kIcrcBytes == frame.size()) {
        target.layers.set(Layer::Icrc, icrc);
        repair_udp_checksum(target);
    } else {
        wire::store_be<2>(frame, udp + 6,
                          0); // too short for a checksum that the transport would check
    }
    repair_ipv4_checksum(target);
    return true;
}

bool change(TargetFrame& target, const MarkCe&) {
    wire::write_field(target.frame, target.layers, wire::Field::IpEcn,
                      wire::kCongestionExperienced);
    repair_ipv4_checksum(target); // the ICRC does not cover ECN (CRC-02, CRC-03)
    return true;
}

} // namespace veriroce::fault
