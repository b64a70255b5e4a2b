#include "transport/fault/action.hpp"

#include <algorithm>

#include "dissector/wire/icrc.hpp"

namespace veriroce::fault {
namespace {

using wire::Layer;

constexpr wire::Location kIpv4Checksum = wire::where("ip.checksum");
constexpr wire::Location kUdpChecksum = wire::where("udp.checksum");

std::size_t ip_at(const wire::LayerMap& layers) {
    return layers.at(layers.has(Layer::Ipv4) ? Layer::Ipv4 : Layer::Ipv6);
}

// Uses the position of the UDP header, not the IHL, which may be corrupted.
void repair_ipv4_checksum(TargetFrame& target) {
    if (!target.layers.has(Layer::Ipv4)) return;
    const std::size_t at = target.layers.at(Layer::Ipv4);
    const wire::MutableBytes header =
        wire::MutableBytes(target.frame).subspan(at, target.layers.at(Layer::Udp) - at);
    wire::store_be<2>(header, kIpv4Checksum.first_byte(), wire::ipv4_checksum(header));
}

// A checksum of zero means "not used". Any other checksum is corrected, because otherwise IP or UDP
// would drop the packet before the transport sees it.
void repair_udp_checksum(TargetFrame& target) {
    const wire::MutableBytes frame(target.frame);
    const std::size_t at = target.layers.at(Layer::Udp);
    if (wire::load<kUdpChecksum>(frame, at) == 0) return;
    const std::size_t end = target.layers.at(Layer::Icrc) + wire::kIcrcBytes;
    const wire::Bytes addresses =
        wire::ip_addresses(frame.subspan(ip_at(target.layers)), !target.layers.has(Layer::Ipv4));
    wire::store_be<2>(frame, at + kUdpChecksum.first_byte(),
                      wire::udp_checksum_of(addresses, frame.subspan(at, end - at)));
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

// Whether they are bits of this field in a header that begins at `header_at`.
bool overlaps(const Bits& bits, std::size_t header_at, const wire::Location& field) {
    const std::size_t first = header_at * 8 + field.bit;
    return bits.first < first + field.bits && first < bits.first + bits.count;
}

void seal(TargetFrame& target) {
    const wire::MutableBytes frame(target.frame);
    const std::size_t begin = ip_at(target.layers);
    const std::size_t end = target.layers.at(Layer::Icrc);
    wire::store_icrc(frame.subspan(end, wire::kIcrcBytes),
                     wire::icrc(frame.subspan(begin, end - begin)));
}

bool invert(TargetFrame& target, const wire::Flip& flip) {
    if (const auto* field = std::get_if<wire::Field>(&flip.where)) {
        return wire::flip_field(target.frame, target.layers, *field, flip.bit);
    }
    const std::size_t at = ip_at(target.layers) + std::get<std::size_t>(flip.where);
    if (at >= target.layers.at(Layer::Icrc)) return false;
    target.frame[at] ^= std::byte{1} << flip.bit;
    return true;
}

} // namespace

bool change(TargetFrame& target, const Corrupt& corrupt) {
    const auto bits = bits_of(target, corrupt);
    if (!bits) return false;
    for (std::size_t bit = bits->first; bit < bits->first + bits->count; ++bit)
        target.frame[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    // Unless the checksum itself is the target of the corruption.
    const bool udp = overlaps(*bits, target.layers.at(Layer::Udp), kUdpChecksum);
    const bool v4 = target.layers.has(Layer::Ipv4);
    const bool ip = v4 && overlaps(*bits, ip_at(target.layers), kIpv4Checksum);
    if (!ip) repair_ipv4_checksum(target);
    if (corrupt.good_icrc) seal(target);
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
        if (field == wire::Field::Psn && !rewrite.absolute_psn) {
            // Scripts count PSNs from the first one; this adds the difference, taken from the
            // current packet.
            const auto now = wire::read_field(before, target.layers, field).value_or(0);
            number = (now + number - static_cast<std::uint64_t>(target.psn)) & wire::kMask24;
        }
        if (wire::write_field(target.frame, target.layers, field, number)) continue;
        target.frame = before;
        return false;
    }
    for (const wire::Flip& each : rewrite.inverted) {
        if (invert(target, each)) continue;
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
    wire::write_field(frame, target.layers, wire::Field::UdpLength, frame.size() - udp);
    // IPv6's length excludes the header, IPv4's includes it.
    wire::write_field(frame, target.layers, wire::Field::IpLength,
                      frame.size() - ip - (v4 ? 0 : wire::Ipv6::kSize));
    // The position of the ICRC after truncation; repairs extend to the end of the frame.
    const std::size_t icrc = std::max(bth, frame.size() - std::min(frame.size(), wire::kIcrcBytes));
    if (icrc + wire::kIcrcBytes == frame.size()) {
        target.layers.set(Layer::Icrc, icrc);
        repair_udp_checksum(target);
    } else {
        wire::write_field(frame, target.layers, wire::Field::UdpChecksum,
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
