#include "tests/dissector/corpus/outer_corpus.hpp"

#include <algorithm>
#include <stdexcept>

#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/pieces.hpp"

namespace veriroce::corpus {
namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpv4Bytes = wire::Ipv4::kSize;
constexpr std::size_t kIpv6Bytes = wire::Ipv6::kSize;
constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint8_t kWriteOnly = 0x0A;

// One of the frames of every opcode in every encapsulation, the second is the one over IPv6.
Frame usual(const Corpus& all, const std::string& carrier, bool v6, std::uint8_t opcode) {
    bool skip = v6;
    for (const CorpusFrame& frame : all.frames) {
        if (frame.carrier != carrier || frame.opcode != opcode) continue;
        if (!skip) return frame.bytes;
        skip = false;
    }
    throw std::runtime_error("no such frame in the corpus");
}

// `frame` with another IPv4 packet in it: header length, total length and sum are made right.
Frame with_ipv4(const Frame& frame, const Frame& options, unsigned fragment, const Frame& payload) {
    Frame header = part(frame, kEthernetBytes, kIpv4Bytes) + options;
    wire::store_be<1>(header, 0, 0x40 | header.size() / 4);
    wire::store_be<2>(header, 2, header.size() + payload.size());
    wire::store_be<2>(header, 6, fragment);
    wire::store_be<2>(header, 10, 0);
    wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
    return part(frame, 0, kEthernetBytes) + header + payload;
}

Frame with_ipv6(const Frame& frame, std::uint8_t next_header, const Frame& payload) {
    Frame header = part(frame, kEthernetBytes, kIpv6Bytes);
    wire::store_be<2>(header, 4, payload.size());
    wire::store_be<1>(header, 6, next_header);
    return part(frame, 0, kEthernetBytes) + header + payload;
}

Frame flow_control(const Frame& rest, std::size_t bytes) {
    Frame frame = bytes_of({1, 0x80, 0xC2, 0, 0, 1, 2, 2, 2, 2, 2, 2, 0x88, 0x08}) + rest;
    frame.resize(bytes);
    return frame;
}

// A SEND Only without payload: 58 bytes.
Frame empty_send(const Corpus& all) {
    const Frame frame = usual(all, "plain", false, kSendOnly);
    constexpr std::size_t kUdpBytes = 8;
    constexpr std::size_t kBthBytes = 12;
    Frame payload = part(frame, kEthernetBytes + kIpv4Bytes, kUdpBytes + kBthBytes) +
                    bytes_of({0xA1, 0xB2, 0xC3, 0xD4});
    wire::store_be<2>(payload, 4, payload.size());
    wire::store_be<1>(payload, kUdpBytes + 1, 0); // no pad
    return with_ipv4(frame, {}, 0x4000, payload);
}

Frame with_ipv4_of(std::uint8_t protocol, const Frame& frame, const Frame& payload) {
    Frame other = frame;
    wire::store_be<1>(other, kEthernetBytes + 9, protocol);
    return with_ipv4(other, {}, 0x4000, payload);
}

// `frame` with another UDP datagram in it.
Frame over_udp(const Frame& frame, std::uint16_t port, const Frame& payload) {
    Frame header = bytes_of({0xC0, 0, 0, 0, 0, 0, 0, 0});
    wire::store_be<2>(header, 2, port);
    wire::store_be<2>(header, 4, header.size() + payload.size());
    return with_ipv4(frame, {}, 0x4000, header + payload);
}

// User data behind the optional fields that the flags name.
Frame gtp(unsigned flags, const Frame& options, const Frame& packet) {
    Frame header = bytes_of({flags, 255, 0, 0, 0, 0, 0, 5});
    wire::store_be<2>(header, 2, options.size() + packet.size());
    return header + options + packet;
}

Frame tagged(const Frame& frame) {
    return part(frame, 0, 12) + bytes_of({0x81, 0, 0x60, 5}) + from(frame, 12);
}

} // namespace

Corpus outer_corpus() {
    const Corpus all = corpora().front();
    Corpus corpus{.name = "outer", .link_code = 1, .frames = {}};
    const auto add = [&corpus](const std::string& carrier, const Frame& frame,
                               std::uint8_t opcode = kSendOnly) {
        corpus.frames.push_back({opcode, carrier, frame});
    };
    const Frame v4 = usual(all, "plain", false, kSendOnly);
    const Frame v6 = usual(all, "plain", true, kSendOnly);
    const Frame udp4 = from(v4, kEthernetBytes + kIpv4Bytes);
    const Frame udp6 = from(v6, kEthernetBytes + kIpv6Bytes);

    constexpr unsigned kMore = 0x2000;
    for (const std::string carrier : {"plain", "gre", "vxlan", "ip in ip"}) {
        const Frame whole = usual(all, carrier, false, kWriteOnly);
        const Frame inside = from(whole, kEthernetBytes + kIpv4Bytes);
        const std::size_t first = inside.size() / 8 * 8 - 8;
        add("fragment first " + carrier, with_ipv4(whole, {}, kMore, part(inside, 0, first)),
            kWriteOnly);
        add("fragment last " + carrier,
            with_ipv4(whole, {}, static_cast<unsigned>(first / 8), from(inside, first)),
            kWriteOnly);
    }
    const Frame identity = bytes_of({0, 0, 0, 7});
    add("fragment first v6",
        with_ipv6(v6, 44, bytes_of({17, 0, 0, 1}) + identity + part(udp6, 0, 40)));
    add("fragment last v6",
        with_ipv6(v6, 44, bytes_of({17, 0, 0, 40}) + identity + from(udp6, 40)));
    add("fragment whole v6", with_ipv6(v6, 44, bytes_of({17, 0, 0, 0}) + identity + udp6));

    Frame segmented = v4; // as a network card that is still to cut it into packets leaves it
    wire::store_be<2>(segmented, kEthernetBytes + 2, 0);
    wire::store_be<2>(segmented, kEthernetBytes + 10, 0);
    const wire::Bytes header = wire::Bytes(segmented).subspan(kEthernetBytes, kIpv4Bytes);
    wire::store_be<2>(segmented, kEthernetBytes + 10, wire::ipv4_checksum(header));
    add("length 0", segmented);

    add("options none", with_ipv4(v4, bytes_of({1, 1, 1, 0}), 0x4000, udp4));
    add("options alert", with_ipv4(v4, bytes_of({0x94, 4, 0, 0}), 0x4000, udp4));
    const Frame padn = bytes_of({1, 4, 0, 0, 0, 0});
    add("extension hop by hop", with_ipv6(v6, 0, bytes_of({17, 0}) + padn + udp6));
    add("extension destination", with_ipv6(v6, 60, bytes_of({17, 0}) + padn + udp6));
    const Frame route = bytes_of({17, 2, 4, 0, 0, 0, 0, 0}) + Frame(16, std::byte{0x20});
    add("extension routing", with_ipv6(v6, 43, route + udp6));
    add("extension three",
        with_ipv6(v6, 0, bytes_of({60, 0}) + padn + bytes_of({43, 0}) + padn + route + udp6));
    add("extension authentication",
        with_ipv6(v6, 51, bytes_of({17, 4, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9}) + Frame(12) + udp6));

    add("authentication",
        with_ipv4_of(51, v4, bytes_of({17, 4, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9}) + Frame(12) + udp4));

    for (const bool six : {false, true}) {
        const Frame& frame = six ? v6 : v4;
        const std::string family = six ? " v6" : " v4";
        const Frame packet = from(frame, kEthernetBytes);
        const Frame addresses = part(frame, 0, 12);
        add("hsr" + family, addresses + bytes_of({0x89, 0x2F, 0x10, 0x40, 0, 7}) + from(frame, 12));
        Frame session = bytes_of({0x88, 0x64, 0x11, 0, 0x12, 0x34, 0, 0, 0, six ? 0x57U : 0x21U});
        wire::store_be<2>(session, 6, packet.size() + 2);
        add("pppoe" + family, addresses + session + packet);
        const Frame path = bytes_of({0, 0, 9, 255});
        add("nsh" + family,
            addresses + bytes_of({0x89, 0x4F, 0x0F, 0xC2, 2, six ? 2U : 1U}) + path + packet);
        add("nsh ethernet" + family, addresses + bytes_of({0x89, 0x4F, 0x0F, 0xC6, 1, 3}) + path +
                                         Frame(16, std::byte{7}) + frame);
        add("gtp" + family, over_udp(v4, 2152, gtp(0x30, {}, packet)));
        add("gtp sequence" + family, over_udp(v4, 2152, gtp(0x32, bytes_of({0, 5, 0, 0}), packet)));
        add("gtp extension" + family,
            over_udp(v4, 2152, gtp(0x34, bytes_of({0, 0, 0, 0x85, 1, 0x10, 9, 0}), packet)));
        add("mpls over udp" + family,
            over_udp(v4, 6635, bytes_of({0, 1, 0, 64, 0, 2, 1, 64}) + packet));
    }

    const Frame empty = empty_send(all);
    const Frame fcs = bytes_of({0xDE, 0xAD, 0xBE, 0xEF});
    add("padded", empty + Frame(2));
    add("padded other", empty + bytes_of({'a', 'b'}));
    add("padded fcs", empty + Frame(2) + fcs);
    add("padded other fcs", empty + bytes_of({'a', 'b'}) + fcs);
    add("padded short", empty + Frame(1));
    add("padded tag", tagged(empty) + Frame(2));
    add("fcs", v4 + fcs);
    add("fcs two", v4 + bytes_of({7, 7}));
    add("fcs trailer", v4 + bytes_of({7, 7}) + fcs);
    const Frame vxlan = usual(all, "vxlan", false, kSendOnly);
    add("fcs vxlan", vxlan + fcs);
    add("flow pause", flow_control(bytes_of({0, 1, 0x12, 0x34}), 60));
    add("flow pfc", flow_control(bytes_of({1, 1, 0, 0x09, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0x10}), 60));
    return corpus;
}

} // namespace veriroce::corpus
