// What carries transport packets besides UDP on Ethernet: tunnels, records, InfiniBand itself; and
// what runs beside them: flow control of Ethernet, iWARP. That the fields are right is compared
// with tshark (tests/dissector/dissect/tshark_test.cpp, frames of corpora() and other_corpora());
// here are the layers, the ICRC, and the bounds.
#include <catch2/catch.hpp>

#include "dissector/decode/field.hpp"
#include "dissector/wire/crc32c.hpp"
#include "dissector/wire/icrc.hpp"
#include "tests/dissector/corpus/corpus.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using enum LayerKind;

namespace {

FrameBytes bytes_of(std::string_view hex) {
    FrameBytes bytes;
    unsigned value = 0;
    std::size_t digits = 0;
    for (const char c : hex) {
        if (c == ' ') continue;
        value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xFF));
    }
    return bytes;
}

FrameBytes operator+(FrameBytes first, const FrameBytes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

const corpus::CorpusFrame& corpus_frame(std::string_view corpus, std::string_view carrier,
                                        std::uint8_t opcode) {
    static const auto all = corpus::corpora();
    for (const auto& one : all) {
        if (one.name != corpus) continue;
        for (const auto& frame : one.frames) {
            if (frame.carrier == carrier && frame.opcode == opcode) return frame;
        }
    }
    throw std::runtime_error("no such frame in the corpus");
}

constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint16_t kErf = 197;
constexpr std::uint16_t kInfiniBand = 247;

void check_layers(const Dissection& d) {
    std::uint32_t at = 0;
    for (const LayerSpan& layer : d.layers) {
        REQUIRE(layer.offset + layer.length <= d.frame.bytes.size());
        if (layer.kind == Frame) continue;
        REQUIRE(layer.offset == at);
        at = layer.offset + layer.length;
    }
}

} // namespace

TEST_CASE("decode: every opcode is found in every tunnel, with a right ICRC", "[decode]") {
    std::size_t frames = 0;
    for (const auto& made : corpus::corpora()) {
        for (const auto& frame : made.frames) {
            INFO(made.name << ", " << frame.carrier << ", opcode " << int{frame.opcode});
            const Dissection d = taken_apart(frame.bytes, made.link_code);
            REQUIRE(d.transport_packet());
            CHECK(d.packet.bth.opcode == frame.opcode);
            CHECK(d.icrc.status == IcrcStatus::Good);
            CHECK(d.findings.empty());
            CHECK_FALSE(d.cut);
            CHECK_FALSE(d.malformed);
            check_layers(d);
            ++frames;
        }
    }
    CHECK(frames > 3000);
}

TEST_CASE("decode: the layers of tunnels", "[decode]") {
    const auto layers = [](std::string_view carrier) {
        return layers_of(taken_apart(corpus_frame("ethernet", carrier, kSendOnly).bytes));
    };
    const std::vector<LayerKind> packet{Ipv4, Udp, Bth, Payload, Pad, LayerKind::Icrc};
    const auto expected = [&packet](std::vector<LayerKind> outer) {
        outer.insert(outer.end(), packet.begin(), packet.end());
        return outer;
    };
    CHECK(layers("mpls") == expected({Frame, Ethernet, Mpls, Mpls}));
    CHECK(layers("gre key") == expected({Frame, Ethernet, Ipv4, Gre}));
    CHECK(layers("nvgre") == expected({Frame, Ethernet, Ipv4, Gre, Ethernet}));
    CHECK(layers("erspan 1") == expected({Frame, Ethernet, Ipv4, Gre, Ethernet}));
    CHECK(layers("erspan 2") == expected({Frame, Ethernet, Ipv4, Gre, Erspan2, Ethernet}));
    CHECK(layers("erspan 3 platform") ==
          expected({Frame, Ethernet, Ipv4, Gre, Erspan3, ErspanPlatform, Ethernet}));
    CHECK(layers("vxlan") == expected({Frame, Ethernet, Ipv4, Udp, Vxlan, Ethernet}));
    CHECK(layers("geneve") == expected({Frame, Ethernet, Ipv4, Udp, Geneve, Ethernet}));
    CHECK(layers("ip in ip") == expected({Frame, Ethernet, Ipv4}));
    const Dissection d = taken_apart(corpus_frame("ethernet", "vxlan", kSendOnly).bytes);
    CHECK(d.source() == wire::IpAddress::parse("192.0.2.1")); // the inner one
}

TEST_CASE("decode: a frame that was padded before it was wrapped has two trailers", "[decode]") {
    FrameBytes inner = made({.opcode = kSendOnly, .payload = {}});
    inner.resize(60, std::byte{0xEE});
    FrameBytes frame = corpus_frame("ethernet", "vxlan", 0x0C).bytes;
    frame.resize(14 + 20 + 8 + 8);
    frame = frame + inner;
    wire::store_be<2>(frame, 14 + 2, frame.size() - 14);
    const auto ip = wire::MutableBytes(frame).subspan(14, 20);
    wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
    wire::store_be<2>(frame, 14 + 20 + 4, frame.size() - 14 - 20);
    frame.resize(frame.size() + 4, std::byte{0xFC}); // a frame check sequence
    const Dissection d = taken_apart(frame);
    CHECK(d.icrc.status == IcrcStatus::Good);
    CHECK(d.findings.empty());
    const auto trailers = std::ranges::count(layers_of(d), Trailer);
    CHECK(trailers == 2);
    check_layers(d);
}

TEST_CASE("decode: tunnels and labels without end are not followed", "[decode]") {
    for (const std::size_t depth : {4U, 5U, 100U}) {
        FrameBytes packet = made({.opcode = kSendOnly, .payload = payload(4)});
        packet.erase(packet.begin(), packet.begin() + 14);
        for (std::size_t i = 0; i < depth; ++i) {
            FrameBytes header = bytes_of("4500 0000 0000 0000 4004 0000 c6336401 c6336402");
            wire::store_be<2>(header, 2, header.size() + packet.size());
            wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
            packet = header + packet;
        }
        CHECK(taken_apart(packet, 101).roce() == (depth <= 4));
    }
    for (const std::size_t labels : {8U, 9U, 300U}) {
        FrameBytes frame = bytes_of("020202020202 040404040404 8847");
        for (std::size_t i = 0; i + 1 < labels; ++i)
            frame = frame + bytes_of("00001040");
        FrameBytes packet = made({.opcode = kSendOnly, .payload = payload(4)});
        packet.erase(packet.begin(), packet.begin() + 14);
        CHECK(taken_apart(frame + bytes_of("00001140") + packet).roce() == (labels <= 8));
    }
}

// The packet of IBTA volume 1, 7.8.4 (sample packets): a local SEND ONLY with its ICRC.
TEST_CASE("decode: the standard's own sample packet has the ICRC that the standard says",
          "[decode]") {
    const FrameBytes frame =
        bytes_of("70 12 37 5c 00 0e 17 d2 0a 20 24 87 00 87 b1 b3 00 0d ec 2a 01 71 0a 1c 01 5d 40 "
                 "02 38 f2 7a 05 00 00 00 0e bb 88 4d 85 fd 5c fb a4 72 8b c0 69 0e d4 00 00 "
                 "96 25 b7 5a 00 00");
    const Dissection d = taken_apart(frame, kInfiniBand);
    CHECK(d.protocol == Protocol::InfiniBand);
    CHECK(layers_of(d) == std::vector{Frame, Lrh, Bth, Reth, Payload, Pad, LayerKind::Icrc, Vcrc});
    CHECK(d.icrc.status == IcrcStatus::Good);
    REQUIRE(d.complete());
    CHECK(d.packet.reth.dma_length == 14);
    CHECK(d.packet.payload().size() == 14);
    // The virtual lane may change on the way, the service level may not.
    FrameBytes other_lane = frame;
    other_lane[0] = std::byte{0x30};
    CHECK(taken_apart(other_lane, kInfiniBand).icrc.status == IcrcStatus::Good);
    FrameBytes other_level = frame;
    other_level[1] = std::byte{0x22};
    CHECK(taken_apart(other_level, kInfiniBand).icrc.status == IcrcStatus::Bad);
}

TEST_CASE("decode: InfiniBand and RoCE v1, and lengths that contradict the frame", "[decode]") {
    const Dissection v1 = taken_apart(corpus_frame("ethernet", "roce v1", kSendOnly).bytes);
    CHECK(v1.protocol == Protocol::RoceV1);
    CHECK_FALSE(v1.roce());
    CHECK(layers_of(v1) == std::vector{Frame, Ethernet, Grh, Bth, Payload, Pad, LayerKind::Icrc});
    CHECK(v1.source() == wire::IpAddress::parse("fe80::202:202:202:202"));
    FrameBytes frame = corpus_frame("erf", "infiniband global", kSendOnly).bytes;
    CHECK(layers_of(taken_apart(frame, kErf)) ==
          std::vector{Frame, Erf, Lrh, Grh, Bth, Payload, Pad, LayerKind::Icrc, Vcrc});
    wire::store_be<2>(frame, 16 + 4, 2000);
    const Dissection d = taken_apart(frame, kErf);
    REQUIRE_FALSE(d.findings.empty());
    CHECK(d.findings.all()[0].kind == FindingKind::IbLength);
    FrameBytes other = corpus_frame("ethernet", "roce v1", kSendOnly).bytes;
    other[14 + 6] = std::byte{58}; // next header: no transport packet
    CHECK(layers_of(taken_apart(other)) == std::vector{Frame, Ethernet, Grh, Data});
}

TEST_CASE("decode: IP over InfiniBand, where the packet proves itself", "[decode]") {
    // A local UD SEND ONLY: LRH, BTH, DETH, the type, and an IPv4 header with 8 bytes after it.
    const auto carried = [](std::string_view type, const FrameBytes& packet) {
        FrameBytes frame =
            bytes_of("0002 0001 0000 0004 6440ffff 00000123 00000020 00000b1b 00000405") +
            bytes_of(type) + packet + bytes_of("00000000");
        wire::store_be<2>(frame, 4, frame.size() / 4);
        return frame + bytes_of("abcd");
    };
    FrameBytes ip = bytes_of("4500 001c 0007 4000 4011 0000 0a000001 0a000002 1122334455667788");
    wire::store_be<2>(ip, 10, wire::ipv4_checksum(wire::Bytes(ip).first(20)));
    const std::vector<LayerKind> expected{Frame,           Lrh, Bth, Deth, Ipoib, Ipv4, Udp,
                                          LayerKind::Icrc, Vcrc};
    const Dissection d = taken_apart(carried("08000000", ip), kInfiniBand);
    CHECK(layers_of(d) == expected);
    CHECK(d.protocol == Protocol::InfiniBand);
    CHECK(d.network.length == 0); // addresses are those of the transport packet
    CHECK(d.body_bytes == 32);
    check_layers(d);
    const auto not_taken = [&](std::string_view type, const FrameBytes& packet) {
        return taken_apart(carried(type, packet), kInfiniBand).layers.has(Payload);
    };
    CHECK(not_taken("08000001", ip)); // reserved bits
    CHECK(not_taken("86dd0000", ip)); // another type
    FrameBytes other = ip;
    other[8] = std::byte{1}; // its checksum is wrong then
    CHECK(not_taken("08000000", other));
    FrameBytes longer = ip;
    longer[3] = std::byte{0x40};
    CHECK(not_taken("08000000", longer));
    // TCP with 4 bytes of options, or fewer than its header says: then no header is shown.
    const auto tcp = [&](unsigned words) {
        FrameBytes packet = bytes_of("4500 002c 0007 4000 4006 0000 0a000001 0a000002") +
                            bytes_of("04570050 0000004d 00000000 0002ffff 00000000 020405b4");
        packet[32] = static_cast<std::byte>(words << 4);
        wire::store_be<2>(packet, 10, wire::ipv4_checksum(wire::Bytes(packet).first(20)));
        return layers_of(taken_apart(carried("08000000", packet), kInfiniBand));
    };
    CHECK(tcp(6) == std::vector{Frame, Lrh, Bth, Deth, Ipoib, Ipv4, Tcp, LayerKind::Icrc, Vcrc});
    CHECK(tcp(5) ==
          std::vector{Frame, Lrh, Bth, Deth, Ipoib, Ipv4, Tcp, Data, LayerKind::Icrc, Vcrc});
    CHECK(tcp(7) == std::vector{Frame, Lrh, Bth, Deth, Ipoib, Ipv4, Data, LayerKind::Icrc, Vcrc});
    CHECK(tcp(4) == std::vector{Frame, Lrh, Bth, Deth, Ipoib, Ipv4, Data, LayerKind::Icrc, Vcrc});
    // A later fragment has no ports.
    FrameBytes later = ip;
    later[7] = std::byte{2};
    wire::store_be<2>(later, 10, 0);
    wire::store_be<2>(later, 10, wire::ipv4_checksum(wire::Bytes(later).first(20)));
    CHECK(layers_of(taken_apart(carried("08000000", later), kInfiniBand)) ==
          std::vector{Frame, Lrh, Bth, Deth, Ipoib, Ipv4, Data, LayerKind::Icrc, Vcrc});
    FrameBytes v6(40);
    v6[0] = std::byte{0x60};
    CHECK(taken_apart(carried("86dd0000", v6), kInfiniBand).layers.has(Ipv6));
    v6[5] = std::byte{9};
    CHECK(not_taken("86dd0000", v6));
    const FrameBytes arp = bytes_of("0020 0800 14040001") + FrameBytes(48);
    CHECK(layers_of(taken_apart(carried("08060000", arp), kInfiniBand)) ==
          std::vector{Frame, Lrh, Bth, Deth, Ipoib, Data, LayerKind::Icrc, Vcrc});
}

TEST_CASE("decode: a record of another type, and extension headers of records", "[decode]") {
    const FrameBytes frame = corpus_frame("erf", "erf ethernet", kSendOnly).bytes;
    FrameBytes extended(frame.begin(), frame.begin() + 16);
    extended[8] |= std::byte{0x80};
    extended = extended + bytes_of("8300000000000000 0400000000000000") +
               FrameBytes(frame.begin() + 16, frame.end());
    const Dissection d = taken_apart(extended, kErf);
    CHECK(d.roce());
    CHECK(d.layers.find(Erf)->length == 16 + 16 + 2);
    FrameBytes hdlc = frame;
    hdlc[8] = std::byte{1};
    CHECK(layers_of(taken_apart(hdlc, kErf)) == std::vector{Frame, Erf, Data, Trailer});
}

TEST_CASE("decode: PAUSE and PFC frames", "[decode]") {
    const FrameBytes head = bytes_of("0180c2000001 020202020202 8808");
    FrameBytes pfc = head + bytes_of("0101 0009 ffff 0000 0000 0010 0000 0000 0000 0000");
    pfc.resize(60);
    const Dissection d = taken_apart(pfc);
    CHECK(d.protocol == Protocol::MacControl);
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, MacControl, Pfc, Trailer});
    FrameBytes pause = head + bytes_of("0001 1234");
    pause.resize(60);
    CHECK(layers_of(taken_apart(pause)) ==
          std::vector{Frame, Ethernet, MacControl, Pause, Trailer});
}

TEST_CASE("decode: a PAUSE or PFC frame that the capture cut in its padding says cut", "[decode]") {
    for (const char* opcode : {"0001 0064", "0101 0018 0000 0000 0000 0005 0009 0000 0000 0000"}) {
        FrameBytes frame = bytes_of("0180c2000001 020202020202 8808") + bytes_of(opcode);
        frame.resize(60);
        CHECK_FALSE(taken_apart(frame).cut);
        for (std::size_t captured = 14; captured < frame.size(); ++captured) {
            INFO(captured);
            CHECK(taken_apart(wire::Bytes(frame).first(captured), 1, 60).cut);
        }
    }
}

TEST_CASE("decode: other ports carry RoCEv2 if told so", "[decode]") {
    const FrameBytes frame =
        made({.opcode = kSendOnly,
              .fields = {{wire::Field::UdpDestinationPort, std::uint64_t{14791}}},
              .payload = payload(4)});
    CHECK(taken_apart(frame).protocol == Protocol::Udp);
    const std::array<std::uint16_t, 2> ports{5000, 14791};
    Options options;
    options.also_roce_ports = ports;
    CHECK(taken_apart(frame, 1, 0, options).protocol == Protocol::RoceV2);
}

namespace {

FrameBytes tcp(const FrameBytes& content) {
    FrameBytes packet = bytes_of("4500 0000 0000 4000 4006 0000 c6336401 c6336402 "
                                 "9c40 0cbc 00000001 00000001 5018 0100 0000 0000") +
                        content;
    wire::store_be<2>(packet, 2, packet.size());
    const auto ip = wire::MutableBytes(packet).first(20);
    wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
    return packet;
}

// With MPA's length, pad and CRC around it.
FrameBytes framed(const FrameBytes& pdu) {
    FrameBytes frame(2);
    wire::store_be<2>(frame, 0, pdu.size());
    frame = frame + pdu;
    frame.resize((frame.size() + 3) / 4 * 4);
    const std::uint32_t crc = wire::crc32c(frame);
    frame.resize(frame.size() + 4);
    wire::store_icrc(wire::MutableBytes(frame).last(4), crc);
    return frame;
}

} // namespace

TEST_CASE("wire: the CRC-32C of nine digits", "[wire]") { // RFC 3720 B.4, and the usual check value
    CHECK(wire::crc32c(std::as_bytes(std::span("123456789", 9))) == 0xE3069283);
    CHECK(wire::crc32c(FrameBytes(32)) == 0x8A9136AA);
}

TEST_CASE("decode: iWARP is told by its CRC, and its headers are shown", "[decode]") {
    const FrameBytes write = framed(bytes_of("c140 11223344 0000000000001000 aabbccddee"));
    const FrameBytes read = framed(bytes_of("4141 00000000 00000001 00000001 00000000 "
                                            "01020304 0000000000002000 00000080 "
                                            "05060708 0000000000003000"));
    const Dissection d = taken_apart(tcp(write + read), 101);
    CHECK(d.protocol == Protocol::Iwarp);
    CHECK(layers_of(d) == std::vector{Frame, Ipv4, Tcp, Mpa, DdpTagged, Payload, Pad, MpaCrc, Mpa,
                                      DdpUntagged, RdmapRead, MpaCrc});
    FrameBytes damaged = write;
    damaged.back() ^= std::byte{1};
    CHECK(layers_of(taken_apart(tcp(damaged), 101)) == std::vector{Frame, Ipv4, Tcp, Data});
    const FrameBytes start =
        bytes_of("4d504120494420526571204672616d65 40 01 0004 01020304"); // "MPA ID Req Frame"
    CHECK(layers_of(taken_apart(tcp(start), 101)) ==
          std::vector{Frame, Ipv4, Tcp, MpaStart, MpaPrivate});
}

TEST_CASE("decode: behind a framed PDU that its CRC proves is another, whole or not", "[decode]") {
    const FrameBytes write = framed(bytes_of("c140 11223344 0000000000001000 aabbccddee"));
    const std::vector<LayerKind> first{Frame, Ipv4, Tcp, Mpa, DdpTagged, Payload, Pad, MpaCrc};
    const auto with = [&first](std::vector<LayerKind> more) {
        more.insert(more.begin(), first.begin(), first.end());
        return more;
    };
    // It continues in the next segment, so it is not cut. One that the capture cut short is.
    for (std::size_t kept = 4; kept < write.size(); ++kept) {
        const FrameBytes part(write.begin(), write.begin() + static_cast<std::ptrdiff_t>(kept));
        INFO(kept);
        const Dissection open = taken_apart(tcp(write + part), 101);
        CHECK(open.protocol == Protocol::Iwarp);
        CHECK_FALSE(open.cut);
        CHECK_FALSE(open.malformed);
        CHECK(std::ranges::count(layers_of(open), DdpTagged) == (kept > 2 ? 2 : 1));
        const FrameBytes whole = tcp(write + write);
        const wire::Bytes captured = wire::Bytes(whole).first(whole.size() - write.size() + kept);
        const Dissection cut = taken_apart(captured, 101, static_cast<std::uint32_t>(whole.size()));
        CHECK(cut.cut);
        CHECK_FALSE(cut.malformed);
        CHECK(layers_of(cut) == layers_of(open));
    }
    FrameBytes damaged = write;
    damaged[8] ^= std::byte{1};
    CHECK(layers_of(taken_apart(tcp(write + damaged), 101)) == with({MpaMore}));
    CHECK(layers_of(taken_apart(tcp(write + bytes_of("0013")), 101)) == with({Mpa}));
    CHECK(layers_of(taken_apart(tcp(write + bytes_of("0013c1")), 101)) == with({Mpa, MpaMore}));
    // More than are followed: that is said.
    FrameBytes many;
    for (int i = 0; i < 18; ++i)
        many = many + write;
    const auto layers = layers_of(taken_apart(tcp(many), 101));
    CHECK(std::ranges::count(layers, Mpa) == 16);
    CHECK(layers.back() == MpaMore);
}

TEST_CASE("decode: a Terminate message shows its reason and what it is about", "[decode]") {
    const auto terminate = [](const std::string& content) {
        return tcp(framed(bytes_of("4147 00000000 00000002 00000001 00000000" + content)));
    };
    const FrameBytes frame = terminate("1101 c000 0013 c140 11223344 0000000000001000");
    const Dissection d = taken_apart(frame, 101);
    CHECK(layers_of(d) == std::vector{Frame, Ipv4, Tcp, Mpa, DdpUntagged, RdmapTerminate, MpaCrc});
    CHECK(d.layers.find(RdmapTerminate)->length == 20);
    const auto value = [](std::string_view name, const Dissection& from) {
        std::optional<Value> found;
        Column::find(name).value().for_each(from,
                                            [&](const FieldRow&, const Value& v) { found = v; });
        return found;
    };
    CHECK(value("iwarp_rdma.term_layer", d)->number == 1);
    CHECK(value("iwarp_rdma.term_etype_ddp", d)->number == 1);
    CHECK(value("iwarp_rdma.term_errcode_ddp_tagged", d)->number == 1);
    CHECK_FALSE(value("iwarp_rdma.term_errcode_rdma", d));
    CHECK(value("iwarp_rdma.term_ddp_seg_len", d)->bytes.size() == 2);
    CHECK(value("iwarp_rdma.term_ddp_h", d)->bytes.size() == 14); // of a tagged message
    CHECK_FALSE(value("iwarp_rdma.term_rdma_h", d));
    const FrameBytes all = terminate("0102 e000 0020 4141 00000000 00000001 00000001 00000000 "
                                     "00000001 0000000000000002 00000040 00000003 "
                                     "0000000000000004");
    const Dissection read = taken_apart(all, 101);
    CHECK(value("iwarp_rdma.term_ddp_h", read)->bytes.size() == 18);
    CHECK(value("iwarp_rdma.term_rdma_h", read)->bytes.size() == 28);
    CHECK(value("iwarp_rdma.term_errcode_rdma", read)->number == 2);
}

TEST_CASE("decode: in iWARP a Steering Tag is invalidated by two messages alone", "[decode]") {
    for (unsigned operation = 3; operation < 7; ++operation) {
        FrameBytes pdu = bytes_of("4140 00000077 00000000 00000001 00000000 aabb");
        pdu[1] |= static_cast<std::byte>(operation);
        const FrameBytes frame = tcp(framed(pdu));
        const Dissection d = taken_apart(frame, 101);
        std::size_t tags = 0;
        Column::find("iwarp_rdma.inval_stag")
            .value()
            .for_each(d, [&](const FieldRow&, const Value&) { ++tags; });
        CHECK(tags == (operation == 4 || operation == 6 ? 1 : 0));
    }
}
