#include "tests/conformance/judge/tunnels.hpp"

#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/pieces.hpp"

namespace veriroce::judge::test {
namespace {

using corpus::bytes_of;
using corpus::operator+;
using Bytes = std::vector<std::byte>;

constexpr std::ptrdiff_t kEthernetBytes = 14;
constexpr std::uint8_t kGre = 47;

// Behind a VLAN tag, which does not go into a tunnel without an Ethernet header.
std::ptrdiff_t packet_at(const Bytes& frame) {
    const bool tagged = frame[12] == std::byte{0x81} && frame[13] == std::byte{0};
    return kEthernetBytes + (tagged ? 4 : 0);
}

Bytes packet_of(const Bytes& frame) {
    return {frame.begin() + packet_at(frame), frame.end()};
}

Bytes type_of(const Bytes& frame) {
    return {frame.begin() + packet_at(frame) - 2, frame.begin() + packet_at(frame)};
}

bool is_v6(const Bytes& frame) {
    return type_of(frame)[0] == std::byte{0x86};
}

Bytes ethernet(const Bytes& type, const Bytes& payload) {
    return Bytes(6, std::byte{6}) + Bytes(6, std::byte{8}) + type + payload;
}

Bytes ipv4(const OuterHeader& outer, std::uint8_t protocol, const Bytes& payload) {
    Bytes header(20);
    if (outer.options) header = header + bytes_of({1, 1, 1, 0});
    wire::store_be<1>(header, 0, 0x40 | header.size() / 4);
    wire::store_be<1>(header, 1, outer.ecn);
    wire::store_be<2>(header, 2, header.size() + payload.size());
    wire::store_be<2>(header, 4, outer.source_port);
    wire::store_be<2>(header, 6, outer.dont_fragment ? 0x4000 : 0);
    wire::store_be<1>(header, 8, outer.ttl);
    wire::store_be<1>(header, 9, protocol);
    wire::store_be<4>(header, 12, 0xC6336401); // RFC 5737
    wire::store_be<4>(header, 16, 0xC6336402);
    const std::uint16_t sum = wire::ipv4_checksum(header);
    wire::store_be<2>(header, 10, outer.bad_checksums ? sum ^ 0x0101U : sum);
    return ethernet(bytes_of({0x08, 0x00}), header + payload);
}

Bytes ip(const OuterHeader& outer, std::uint8_t protocol, const Bytes& payload) {
    if (!outer.v6) return ipv4(outer, protocol, payload);
    Bytes header(40);
    wire::store_be<1>(header, 0, 0x60);
    wire::store_be<1>(header, 1, std::uint64_t{outer.ecn} << 4);
    wire::store_be<2>(header, 4, payload.size());
    wire::store_be<1>(header, 6, protocol);
    wire::store_be<1>(header, 7, outer.ttl);
    wire::store_be<4>(header, 8, 0x20010DB8); // RFC 3849
    wire::store_be<4>(header, 24, 0x20010DB8);
    wire::store_be<1>(header, 39, 1);
    return ethernet(bytes_of({0x86, 0xDD}), header + payload);
}

Bytes udp(const OuterHeader& outer, std::uint16_t port, const Bytes& payload) {
    Bytes header(8);
    wire::store_be<2>(header, 0, outer.source_port);
    wire::store_be<2>(header, 2, port);
    wire::store_be<2>(header, 4, header.size() + payload.size());
    if (outer.bad_checksums) wire::store_be<2>(header, 6, 0x1234);
    return ip(outer, 17, header + payload);
}

Bytes gre(const OuterHeader& outer, const Bytes& header, const Bytes& payload) {
    return ip(outer, kGre, header + payload);
}

const Bytes kVni = bytes_of({0x08, 0, 0, 0, 0x12, 0x34, 0x56, 0});

} // namespace

const std::vector<Tunnel>& tunnels() {
    static const std::vector<Tunnel> all{
        {"vlan",
         [](const OuterHeader&, const Bytes& f) {
             return Bytes(f.begin(), f.begin() + 12) + bytes_of({0x81, 0, 0x60, 5}) +
                    Bytes(f.begin() + 12, f.end());
         }},
        {"mpls",
         [](const OuterHeader& o, const Bytes& f) {
             return ethernet(bytes_of({0x88, 0x47}),
                             bytes_of({0, 1, 0x20, o.ttl, 0, 2, 0x35, o.ttl}) + packet_of(f));
         }},
        {"vxlan", [](const OuterHeader& o, const Bytes& f) { return udp(o, 4789, kVni + f); }},
        {"vxlan, old port",
         [](const OuterHeader& o, const Bytes& f) { return udp(o, 8472, kVni + f); }},
        {"geneve",
         [](const OuterHeader& o, const Bytes& f) {
             return udp(o, 6081,
                        bytes_of({2, 0, 0x65, 0x58, 0x65, 0x43, 0x21, 0, 1, 2, 3, 1, 4, 5, 6, 7}) +
                            f);
         }},
        {"geneve ip",
         [](const OuterHeader& o, const Bytes& f) {
             return udp(o, 6081,
                        bytes_of({0, 0}) + type_of(f) + bytes_of({0, 0, 1, 0}) + packet_of(f));
         }},
        {"gre", [](const OuterHeader& o,
                   const Bytes& f) { return gre(o, bytes_of({0, 0}) + type_of(f), packet_of(f)); }},
        {"gre key",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0x20, 0}) + type_of(f) + bytes_of({1, 2, 3, 4}), packet_of(f));
         }},
        {"nvgre",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0x20, 0, 0x65, 0x58, 0, 0x11, 0x22, 0x33}), f);
         }},
        {"erspan 1", [](const OuterHeader& o,
                        const Bytes& f) { return gre(o, bytes_of({0, 0, 0x88, 0xBE}), f); }},
        {"erspan 2",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(
                 o, bytes_of({0x10, 0, 0x88, 0xBE, 0, 0, 0, 5, 0x10, 0x64, 0x20, 0x07, 0, 0, 0, 3}),
                 f);
         }},
        {"erspan 3",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0x10, 0,    0x22, 0xEB, 0, 0, 0, 6, 0x20, 0x65,
                                     0x40, 0x08, 1,    2,    3, 4, 0, 9, 0x80, 0x00}),
                        f);
         }},
        {"erspan 3 platform",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(
                 o, bytes_of({0x10, 0, 0x22, 0xEB, 0,    0, 0, 6, 0x20, 0x65, 0x40, 8,   1, 2, 3, 4,
                              0,    9, 0x80, 0x01, 0x0C, 0, 0, 0, 0xAA, 0xBB, 0xCC, 0xDD}),
                 f);
         }},
        {"ip in ip", [](const OuterHeader& o,
                        const Bytes& f) { return ip(o, is_v6(f) ? 41 : 4, packet_of(f)); }},
        {"vxlan gpe",
         [](const OuterHeader& o, const Bytes& f) {
             return udp(o, 4790, bytes_of({0x0C, 0, 0, 3, 0x12, 0x34, 0x56, 0}) + f);
         }},
        {"vxlan gpe ip",
         [](const OuterHeader& o, const Bytes& f) {
             const unsigned next = is_v6(f) ? 2 : 1;
             return udp(o, 4790, bytes_of({0x0C, 0, 0, next, 0x12, 0x34, 0x56, 0}) + packet_of(f));
         }},
        {"hsr in gre",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0, 0, 0x65, 0x58}),
                        Bytes(f.begin(), f.begin() + 12) + bytes_of({0x89, 0x2F, 0x10, 9, 0, 4}) +
                            Bytes(f.begin() + 12, f.end()));
         }},
        {"pppoe",
         [](const OuterHeader&, const Bytes& f) {
             const Bytes packet = bytes_of({0, is_v6(f) ? 0x57U : 0x21U}) + packet_of(f);
             Bytes session = bytes_of({0x11, 0, 0, 9, 0, 0});
             wire::store_be<2>(session, 4, packet.size());
             return ethernet(bytes_of({0x88, 0x64}), session + packet);
         }},
        {"nsh in vxlan gpe",
         [](const OuterHeader& o, const Bytes& f) {
             return udp(o, 4790,
                        bytes_of({0x0C, 0, 0, 4, 0, 0, 1, 0, 0x0F, 0xC2, 2, 3, 0, 0, 9, 255}) + f);
         }},
        {"gtp",
         [](const OuterHeader& o, const Bytes& f) {
             const Bytes packet = bytes_of({0, 9, 0, 0}) + packet_of(f);
             Bytes header = bytes_of({0x32, 255, 0, 0, 0, 0, 0, 5});
             wire::store_be<2>(header, 2, packet.size());
             return udp(o, 2152, header + packet);
         }},
        {"mpls over udp",
         [](const OuterHeader& o, const Bytes& f) {
             return udp(o, 6635, bytes_of({0, 1, 0x21, o.ttl}) + packet_of(f));
         }},
        {"vn-tag in erspan",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0, 0, 0x88, 0xBE}),
                        Bytes(f.begin(), f.begin() + 12) + bytes_of({0x89, 0x26, 0x80, 3, 0, 4}) +
                            Bytes(f.begin() + 12, f.end()));
         }},
        {"vxlan in gre",
         [](const OuterHeader& o, const Bytes& f) {
             return gre(o, bytes_of({0, 0, 0x65, 0x58}), udp(o, 4789, kVni + f));
         }},
    };
    return all;
}

std::vector<flow::test::Frame> wrapped(const std::vector<flow::test::Frame>& frames,
                                       const Tunnel& tunnel,
                                       const std::function<OuterHeader(std::size_t)>& outer) {
    std::vector<flow::test::Frame> all;
    for (std::size_t i = 0; i < frames.size(); ++i)
        all.push_back({tunnel.wrap(outer(i), frames[i].bytes), frames[i].time_ns});
    return all;
}

} // namespace veriroce::judge::test
