#include "transport/fault/action.hpp"

#include <algorithm>

#include "dissector/wire/icrc.hpp"

namespace veriroce::fault {
namespace {

using wire::Layer;

constexpr std::size_t ipv4_checksum_at = 10; // bytes behind the header's first

std::size_t ip_at(const wire::LayerMap& layers) {
    return layers.at(layers.has(Layer::Ipv4) ? Layer::Ipv4 : Layer::Ipv6);
}

// The header ends where UDP begins, whatever a corrupted IHL says.
void repair_ipv4_checksum(Victim& victim) {
    if (!victim.layers.has(Layer::Ipv4)) return;
    const std::size_t at = victim.layers.at(Layer::Ipv4);
    const wire::MutableBytes header =
        wire::MutableBytes(victim.frame).subspan(at, victim.layers.at(Layer::Udp) - at);
    wire::store_be<2>(header, ipv4_checksum_at, wire::ipv4_checksum(header));
}

// A checksum of zero says that there is none; another one is made good, or IP's neighbour would
// drop what was meant for the transport.
void repair_udp_checksum(Victim& victim) {
    const wire::MutableBytes frame(victim.frame);
    const std::size_t at = victim.layers.at(Layer::Udp);
    if (wire::load_u16(frame, at + 6) == 0) return;
    const std::size_t end = victim.layers.at(Layer::Icrc) + wire::kIcrcBytes;
    const bool v4 = victim.layers.has(Layer::Ipv4);
    const wire::Bytes addresses = v4 ? frame.subspan(ip_at(victim.layers) + 12, 8)
                                     : frame.subspan(ip_at(victim.layers) + 8, 32);
    wire::store_be<2>(frame, at + 6, 0);
    // Pseudo-header: addresses, protocol, length (RFC 768, RFC 8200).
    auto sum = wire::checksum_add(addresses);
    sum += wire::kProtocolUdp + static_cast<std::uint32_t>(end - at);
    const std::uint16_t good =
        wire::checksum_fold(wire::checksum_add(frame.subspan(at, end - at), sum));
    wire::store_be<2>(frame, at + 6, good == 0 ? 0xFFFF : good);
}

struct Bits {
    std::size_t first = 0; // of the frame
    std::size_t count = 0;
};

std::optional<Bits> bits_of(const Victim& victim, const Corrupt& corrupt) {
    const std::size_t ip = ip_at(victim.layers) * 8;
    Bits bits;
    if (const auto* bit = std::get_if<CorruptBit>(&corrupt.where)) {
        bits = {ip + bit->bit, 1};
    } else if (const auto* byte = std::get_if<CorruptByte>(&corrupt.where)) {
        bits = {ip + byte->byte * 8, 8};
    } else {
        const auto where = wire::locate(victim.layers, std::get<CorruptField>(corrupt.where).field);
        if (!where) return std::nullopt;
        bits = {victim.layers.at(where->layer) * 8 + where->bit, where->bits};
    }
    if (bits.first + bits.count > victim.frame.size() * 8) return std::nullopt;
    return bits;
}

bool overlaps(const Bits& bits, std::size_t byte, std::size_t bytes) {
    return bits.first < (byte + bytes) * 8 && byte * 8 < bits.first + bits.count;
}

void seal(Victim& victim) {
    const wire::MutableBytes frame(victim.frame);
    const std::size_t begin = ip_at(victim.layers);
    const std::size_t end = victim.layers.at(Layer::Icrc);
    wire::store_icrc(frame.subspan(end, wire::kIcrcBytes),
                     wire::icrc(frame.subspan(begin, end - begin)));
}

} // namespace

bool change(Victim& victim, const Corrupt& corrupt) {
    const auto bits = bits_of(victim, corrupt);
    if (!bits) return false;
    for (std::size_t bit = bits->first; bit < bits->first + bits->count; ++bit)
        victim.frame[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    // A checksum that is itself the target stays wrong.
    const bool udp = overlaps(*bits, victim.layers.at(Layer::Udp) + 6, 2);
    const bool v4 = victim.layers.has(Layer::Ipv4);
    const bool ip = v4 && overlaps(*bits, ip_at(victim.layers) + ipv4_checksum_at, 2);
    if (!ip) repair_ipv4_checksum(victim);
    if (!udp) repair_udp_checksum(victim);
    return true;
}

bool change(Victim& victim, const Rewrite& rewrite) {
    for (const auto& [field, value] : rewrite.fields) {
        const auto* number = std::get_if<std::uint64_t>(&value);
        if (number == nullptr || !wire::locate(victim.layers, field)) return false;
    }
    const std::vector<std::byte> before = victim.frame;
    for (const auto& [field, value] : rewrite.fields) {
        std::uint64_t number = std::get<std::uint64_t>(value);
        if (field == wire::Field::Psn) {
            // Written as it is in scripts, from the first: the packet at hand says where that is.
            const auto now = wire::read_field(before, victim.layers, field).value_or(0);
            number = (now + number - static_cast<std::uint64_t>(victim.psn)) & wire::kMask24;
        }
        if (wire::write_field(victim.frame, victim.layers, field, number)) continue;
        victim.frame = before;
        return false;
    }
    const auto writes = [&](wire::Field field) {
        return std::ranges::any_of(rewrite.fields, [&](const auto& w) { return w.field == field; });
    };
    if (!writes(wire::Field::IpChecksum)) repair_ipv4_checksum(victim);
    if (!writes(wire::Field::Icrc)) seal(victim);
    if (!writes(wire::Field::UdpChecksum)) repair_udp_checksum(victim);
    return true;
}

bool change(Victim& victim, const Truncate& truncate) {
    const std::size_t bth = victim.layers.at(Layer::Bth);
    const std::size_t end = victim.layers.at(Layer::Icrc) + wire::kIcrcBytes;
    if (bth + truncate.bytes >= end) return false;
    victim.frame.resize(bth + truncate.bytes);
    const wire::MutableBytes frame(victim.frame);
    const std::size_t udp = victim.layers.at(Layer::Udp);
    const std::size_t ip = ip_at(victim.layers);
    const bool v4 = victim.layers.has(Layer::Ipv4);
    wire::store_be<2>(frame, udp + 4, frame.size() - udp);
    // IPv6 counts what is behind its header, IPv4 the header as well.
    wire::store_be<2>(frame, v4 ? ip + 2 : ip + 4,
                      frame.size() - ip - (v4 ? 0 : wire::Ipv6::kSize));
    // Where an ICRC would have to be now; repairs count to the frame's end.
    const std::size_t icrc = std::max(bth, frame.size() - std::min(frame.size(), wire::kIcrcBytes));
    if (icrc + wire::kIcrcBytes == frame.size()) {
        victim.layers.set(Layer::Icrc, icrc);
        repair_udp_checksum(victim);
    } else {
        wire::store_be<2>(frame, udp + 6, 0); // too short for any sum that a transport would see
    }
    repair_ipv4_checksum(victim);
    return true;
}

bool change(Victim& victim, const MarkCe&) {
    wire::write_field(victim.frame, victim.layers, wire::Field::IpEcn,
                      wire::kCongestionExperienced);
    repair_ipv4_checksum(victim); // the ICRC does not cover ECN (CRC-02, CRC-03)
    return true;
}

} // namespace veriroce::fault
