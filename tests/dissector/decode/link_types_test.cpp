// Link types, tags and framings besides plain Ethernet: the packet in them is found, its ICRC is
// right, and what is not followed is named.
#include <catch2/catch.hpp>

#include "tests/dissector/corpus/pieces.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using enum LayerKind;
using corpus::bytes_of;
using corpus::operator+;

namespace {

constexpr std::size_t kEthernetBytes = 14;

FrameBytes frame_of(bool v6) {
    return made({.opcode = 0x04, .payload = payload(24)}, v6);
}

FrameBytes packet_of(bool v6) {
    const FrameBytes frame = frame_of(v6);
    return {frame.begin() + kEthernetBytes, frame.end()};
}

FrameBytes tagged(const FrameBytes& tag, const FrameBytes& frame) {
    return FrameBytes(frame.begin(), frame.begin() + 12) + tag +
           FrameBytes(frame.begin() + 12, frame.end());
}

void check_found(const FrameBytes& frame, std::uint16_t link, std::vector<LayerKind> outer,
                 bool v6) {
    const Dissection d = taken_apart(frame, link);
    CHECK(d.roce());
    CHECK(d.icrc.status == IcrcStatus::Good);
    CHECK(d.findings.empty());
    CHECK(d.not_followed == NotFollowed{});
    outer.insert(outer.begin(), Frame);
    for (const LayerKind kind : {v6 ? Ipv6 : Ipv4, Udp, Bth, Payload, LayerKind::Icrc})
        outer.push_back(kind);
    CHECK(layers_of(d) == outer);
    // Cut anywhere, nothing is read beyond the end, and it says so.
    for (std::size_t size = 0; size < frame.size(); ++size) {
        const auto original = static_cast<std::uint32_t>(frame.size());
        const Dissection cut = taken_apart(wire::Bytes(frame).first(size), link, original);
        CHECK(cut.cut);
        CHECK_FALSE(cut.malformed);
    }
}

// A frame with a UDP datagram over IPv6.
FrameBytes datagram(std::uint16_t port, const FrameBytes& data) {
    FrameBytes udp = bytes_of({0xC0, 0, 0, 0, 0, 0, 0, 0});
    wire::store_be<2>(udp, 2, port);
    wire::store_be<2>(udp, 4, udp.size() + data.size());
    FrameBytes ip = bytes_of({0x60, 0, 0, 0, 0, 0, 17, 64}) + FrameBytes(32);
    wire::store_be<2>(ip, 4, udp.size() + data.size());
    return FrameBytes(12, std::byte{2}) + bytes_of({0x86, 0xDD}) + ip + udp + data;
}

constexpr std::uint16_t kNull = 0;
constexpr std::uint16_t kPpp = 9;
constexpr std::uint16_t kPppHdlc = 50;
constexpr std::uint16_t kChdlc = 104;
constexpr std::uint16_t kLoop = 108;

} // namespace

TEST_CASE("decode: loopback of BSD and macOS, in either byte order", "[decode]") {
    for (const auto& family : {bytes_of({2, 0, 0, 0}), bytes_of({0, 0, 0, 2})})
        check_found(family + packet_of(false), kNull, {Null}, false);
    for (const unsigned family : {10U, 24U, 28U, 30U}) {
        check_found(bytes_of({family, 0, 0, 0}) + packet_of(true), kNull, {Null}, true);
        check_found(bytes_of({0, 0, 0, family}) + packet_of(true), kNull, {Null}, true);
        check_found(bytes_of({0, 0, 0, family}) + packet_of(true), kLoop, {Null}, true);
    }
    check_found(bytes_of({0, 0, 0, 2}) + packet_of(false), kLoop, {Null}, false);
    CHECK(taken_apart(bytes_of({7, 0, 0, 0}) + packet_of(false), kNull).not_followed ==
          NotFollowed{Stop::AddressFamily, 7});
}

TEST_CASE("decode: PPP with and without framing, and Cisco HDLC", "[decode]") {
    for (const std::uint16_t link : {kPpp, kPppHdlc}) {
        check_found(bytes_of({0xFF, 3, 0, 0x21}) + packet_of(false), link, {Ppp}, false);
        check_found(bytes_of({0, 0x21}) + packet_of(false), link, {Ppp}, false);
        check_found(bytes_of({0x21}) + packet_of(false), link, {Ppp}, false);
        check_found(bytes_of({0xFF, 3, 0x57}) + packet_of(true), link, {Ppp}, true);
    }
    check_found(bytes_of({0x0F, 0, 8, 0}) + packet_of(false), kChdlc, {Chdlc}, false);
    check_found(bytes_of({0x0F, 0, 0x86, 0xDD}) + packet_of(true), kChdlc, {Chdlc}, true);
    CHECK(taken_apart(bytes_of({0xFF, 3, 0xC0, 0x21, 1, 2, 3}), kPpp).not_followed ==
          NotFollowed{Stop::PppProtocol, 0xC021});
}

TEST_CASE("decode: tags of fabrics", "[decode]") {
    for (const bool v6 : {false, true}) {
        const FrameBytes frame = frame_of(v6);
        check_found(tagged(bytes_of({0x89, 0x26, 0x80, 0x03, 0, 0x04}), frame), 1,
                    {Ethernet, VnTag}, v6);
        check_found(tagged(bytes_of({0x89, 0x3F, 0xE0, 1, 0, 2, 0, 0}), frame), 1, {Ethernet, ETag},
                    v6);
        check_found(tagged(bytes_of({0x89, 0x09, 1, 1, 0, 1, 0, 9}), frame), 1, {Ethernet, CmdTag},
                    v6);
        check_found(tagged(bytes_of({0x89, 0x2F, 0x10, 0x40, 0, 7}), frame), 1, {Ethernet, HsrTag},
                    v6);
        check_found(tagged(bytes_of({0x89, 0x26, 0x80, 3, 0, 4, 0x81, 0, 0, 5}), frame), 1,
                    {Ethernet, VnTag, LayerKind::Vlan}, v6);
    }
}

TEST_CASE("decode: LLC with SNAP, whose length ends the packet", "[decode]") {
    const auto framed = [](unsigned organisation, const FrameBytes& packet) {
        const auto length = static_cast<unsigned>(packet.size() + 8);
        return FrameBytes(12, std::byte{2}) +
               bytes_of({length >> 8, length & 0xFF, 0xAA, 0xAA, 3, 0, 0, organisation, 8, 0}) +
               packet;
    };
    check_found(framed(0, packet_of(false)), 1, {Ethernet, Llc}, false);
    check_found(framed(0xF8, packet_of(false)), 1, {Ethernet, Llc}, false);
    const Dissection padded = taken_apart(framed(0, packet_of(false)) + FrameBytes(4));
    CHECK(padded.roce());
    CHECK(padded.findings.empty());
    CHECK(layers_of(padded).back() == Trailer);
    CHECK(taken_apart(framed(0x0C, packet_of(false))).not_followed ==
          NotFollowed{Stop::LlcSap, 0xAA});
    const FrameBytes bridge = FrameBytes(12, std::byte{2}) + bytes_of({0, 38, 0x42, 0x42, 3}) +
                              FrameBytes(43); // a spanning tree
    CHECK(taken_apart(bridge).not_followed == NotFollowed{Stop::LlcSap, 0x42});
}

TEST_CASE("decode: VXLAN-GPE says what it carries", "[decode]") {
    const auto tunnel = [](unsigned flags, unsigned next, const FrameBytes& inside) {
        return datagram(4790, bytes_of({flags, 0, 0, next, 0, 0, 1, 0}) + inside);
    };
    check_found(tunnel(0x0C, 3, frame_of(false)), 1, {Ethernet, Ipv6, Udp, VxlanGpe, Ethernet},
                false);
    check_found(tunnel(0x08, 0, frame_of(true)), 1, {Ethernet, Ipv6, Udp, VxlanGpe, Ethernet},
                true);
    check_found(tunnel(0x0C, 1, packet_of(false)), 1, {Ethernet, Ipv6, Udp, VxlanGpe}, false);
    check_found(tunnel(0x0C, 2, packet_of(true)), 1, {Ethernet, Ipv6, Udp, VxlanGpe}, true);
    const FrameBytes nsh = bytes_of({0x0F, 0xC2, 1, 2, 0, 0, 9, 255});
    check_found(tunnel(0x0C, 4, nsh + packet_of(true)), 1, {Ethernet, Ipv6, Udp, VxlanGpe, Nsh},
                true);
    CHECK(taken_apart(tunnel(0x0C, 7, packet_of(false))).not_followed ==
          NotFollowed{Stop::GpeProtocol, 7});
}

TEST_CASE("decode: PPPoE sessions, whose length ends the packet", "[decode]") {
    const auto framed = [](unsigned protocol, const FrameBytes& packet) {
        FrameBytes session = bytes_of({0x88, 0x64, 0x11, 0, 0x12, 0x34, 0, 0, 0, protocol});
        wire::store_be<2>(session, 6, packet.size() + 2);
        return FrameBytes(12, std::byte{2}) + session + packet;
    };
    check_found(framed(0x21, packet_of(false)), 1, {Ethernet, Pppoe, Ppp}, false);
    check_found(framed(0x57, packet_of(true)), 1, {Ethernet, Pppoe, Ppp}, true);
    const Dissection padded = taken_apart(framed(0x21, packet_of(false)) + FrameBytes(4));
    CHECK(padded.roce());
    CHECK(padded.findings.empty());
    CHECK(layers_of(padded).back() == Trailer);
    CHECK(taken_apart(framed(0x53, packet_of(false))).not_followed ==
          NotFollowed{Stop::PppProtocol, 0x0053});
}

TEST_CASE("decode: NSH says what it carries", "[decode]") {
    const auto framed = [](unsigned words, unsigned next, const FrameBytes& inside) {
        return FrameBytes(12, std::byte{2}) +
               bytes_of({0x89, 0x4F, 0x0F, 0xC0 | words, 1, next, 0, 0, 9, 255}) +
               FrameBytes((words - 2) * std::size_t{4}, std::byte{7}) + inside;
    };
    check_found(framed(6, 1, packet_of(false)), 1, {Ethernet, Nsh}, false);
    check_found(framed(2, 2, packet_of(true)), 1, {Ethernet, Nsh}, true);
    check_found(framed(6, 3, frame_of(true)), 1, {Ethernet, Nsh, Ethernet}, true);
    CHECK(taken_apart(framed(2, 6, packet_of(false))).not_followed ==
          NotFollowed{Stop::NshProtocol, 6});
    FrameBytes many = frame_of(false);
    for (int i = 0; i < 6; ++i)
        many = framed(2, 3, many);
    CHECK(taken_apart(many).not_followed.stop == Stop::Tunnels);
}

TEST_CASE("decode: GTP-U with and without extension headers", "[decode]") {
    const auto tunnel = [](unsigned flags, const FrameBytes& options, const FrameBytes& packet,
                           unsigned message = 255) {
        FrameBytes header = bytes_of({flags, message, 0, 0, 0, 0, 0, 5});
        wire::store_be<2>(header, 2, options.size() + packet.size());
        return datagram(2152, header + options + packet);
    };
    const std::vector<LayerKind> plain{Ethernet, Ipv6, Udp, Gtp};
    check_found(tunnel(0x30, {}, packet_of(false)), 1, plain, false);
    check_found(tunnel(0x32, bytes_of({0, 9, 0, 0}), packet_of(true)), 1, plain, true);
    std::vector<LayerKind> extended = plain;
    extended.insert(extended.end(), {GtpExtension, GtpExtension});
    check_found(tunnel(0x34, bytes_of({0, 0, 0, 0x85, 1, 0x10, 9, 0x40, 2, 0, 0, 0, 0, 0, 0, 0}),
                       packet_of(false)),
                1, extended, false);
    CHECK(taken_apart(tunnel(0x32, bytes_of({0, 9, 0, 0}), {}, 1)).not_followed ==
          NotFollowed{Stop::GtpMessage, 1});
    CHECK(taken_apart(tunnel(0x30, {}, frame_of(false))).not_followed ==
          NotFollowed{Stop::GtpPayload});
    // A length of its own that contradicts that of UDP does not move what is there.
    FrameBytes longer = tunnel(0x30, {}, packet_of(false));
    longer[kEthernetBytes + 40 + 8 + 2] = std::byte{0x10};
    CHECK(taken_apart(longer).roce());
}

TEST_CASE("decode: MPLS over UDP", "[decode]") {
    check_found(datagram(6635, bytes_of({0, 1, 0, 64, 0, 2, 1, 64}) + packet_of(false)), 1,
                {Ethernet, Ipv6, Udp, Mpls, Mpls}, false);
}

TEST_CASE("decode: an authentication header behind an IPv4 one", "[decode]") {
    FrameBytes frame = frame_of(false);
    const FrameBytes header = bytes_of({17, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}) + FrameBytes(12);
    frame.insert(frame.begin() + kEthernetBytes + 20, header.begin(), header.end());
    wire::store_be<2>(frame, kEthernetBytes + 2, frame.size() - kEthernetBytes);
    frame[kEthernetBytes + 9] = std::byte{51};
    const Dissection d = taken_apart(frame);
    CHECK(d.roce());
    CHECK(layers_of(d) ==
          std::vector{Frame, Ethernet, Ipv4, Authentication, Udp, Bth, Payload, LayerKind::Icrc});
    // What the ICRC covers of it is not laid down.
    CHECK(d.icrc.reason == IcrcReason::IpExtensions);
}

TEST_CASE("decode: what is not followed is named", "[decode]") {
    const FrameBytes addresses(12, std::byte{2});
    const auto stop = [](const FrameBytes& frame, std::uint16_t link = 1) {
        return taken_apart(frame, link).not_followed.text();
    };
    CHECK(stop(addresses + bytes_of({0x88, 0xE5}) + packet_of(false)) == "EtherType 0x88e5");
    CHECK(stop(packet_of(false), 147) == "link type 147");
    FrameBytes esp = frame_of(false);
    esp[kEthernetBytes + 9] = std::byte{50};
    CHECK(stop(esp) == "IP protocol 50");
    FrameBytes dns = frame_of(false);
    wire::store_be<2>(dns, kEthernetBytes + 20 + 2, 53);
    CHECK(stop(dns) == "UDP port 53");
    FrameBytes labels = addresses + bytes_of({0x88, 0x47});
    for (int i = 0; i < 9; ++i)
        labels = labels + bytes_of({0, 0, 0x10, 0x40});
    CHECK(stop(labels + packet_of(false)) == "too many MPLS labels");
    CHECK(stop(frame_of(false)).empty());
    CHECK(
        stop(addresses + bytes_of({8, 6}) + FrameBytes(46)).empty()); // ARP is known not to be ours
}

TEST_CASE("decode: ARP ends before the padding of its frame", "[decode]") {
    const FrameBytes arp = FrameBytes(12, std::byte{2}) + bytes_of({8, 6, 0, 1, 8, 0, 6, 4, 0, 1}) +
                           FrameBytes(20) + FrameBytes(18);
    const Dissection d = taken_apart(arp);
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Data, Trailer});
    CHECK(d.layers.find(Data)->length == 28);
    // Lengths that reach beyond the frame: all of it is data.
    FrameBytes odd = arp;
    odd[kEthernetBytes + 4] = std::byte{200};
    CHECK(layers_of(taken_apart(odd)) == std::vector{Frame, Ethernet, Data});
}
