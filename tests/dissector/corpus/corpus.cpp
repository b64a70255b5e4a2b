#include "tests/dissector/corpus/corpus.hpp"

#include <fstream>
#include <stdexcept>

#include "dissector/wire/icrc.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "tests/dissector/corpus/pieces.hpp"

namespace veriroce::corpus {
namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::uint32_t kPcapMagic = 0xA1B2C3D4;

wire::Sender sender(bool v6) {
    wire::Sender sender;
    sender.envelope.source = *wire::IpAddress::parse(v6 ? "2001:db8::1" : "192.0.2.1");
    sender.envelope.destination = *wire::IpAddress::parse(v6 ? "2001:db8::2" : "192.0.2.2");
    sender.envelope.source_port = 50'000;
    sender.link.source.bytes.fill(std::byte{2});
    sender.link.destination.bytes.fill(std::byte{4});
    sender.ip_id = 77;
    sender.packet.bth.dest_qp = {0x1234};
    sender.packet.bth.psn = wire::Psn(0xABCDEF);
    wire::Packet& packet = sender.packet;
    packet.rdeth.ee_context = 0x1A2B3C;
    packet.deth.qkey = {0x80010000};
    packet.deth.source_qp = {0x5678};
    packet.xrceth.srq = 0x4321;
    packet.reth = {0x1122334455667788, {0x99AABBCC}, 4096};
    packet.atomic = {0x1122334455667780, {0x99AABBCC}, 0x0102030405060708, 0x1112131415161718};
    packet.aeth.syndrome = wire::Syndrome::ack(7);
    packet.aeth.msn = {0x2468AC};
    packet.atomic_ack.original = 0xA1A2A3A4A5A6A7A8;
    packet.imm.value = 0xB1B2B3B4;
    packet.ieth.rkey = {0xC1C2C3C4};
    return sender;
}

// An Ethernet frame with a RoCEv2 packet of this opcode; extended headers hold numbers that differ.
Frame roce(std::uint8_t opcode, bool v6) {
    wire::PacketSpec spec{.opcode = opcode};
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    if (info.operation == wire::Operation::Cnp) {
        spec.fields = {{wire::Field::Becn, std::uint64_t{1}}, {wire::Field::Psn, std::uint64_t{0}}};
        spec.payload = Frame(16);
    } else if (info.carries_payload()) {
        const bool atomic = info.operation == wire::Operation::AtomicWrite;
        const std::size_t bytes = atomic ? 8 : info.ends_message() ? 21 : 24;
        spec.payload = Frame(bytes, std::byte{0x35});
    }
    auto frame = wire::encode(spec, sender(v6));
    if (!frame) throw std::runtime_error(std::string(text_of(frame.error().error)));
    return *frame;
}

Frame ethernet(unsigned type) {
    return Frame(6, std::byte{6}) + Frame(6, std::byte{8}) + bytes_of({type >> 8, type & 0xFF});
}

// An outer IPv4 header around `payload`.
Frame ipv4(std::uint8_t protocol, const Frame& payload) {
    Frame header(20);
    header[0] = std::byte{0x45};
    wire::store_be<2>(header, 2, header.size() + payload.size());
    header[8] = std::byte{64};
    wire::store_be<1>(header, 9, protocol);
    wire::store_be<4>(header, 12, 0xC6336401); // RFC 5737
    wire::store_be<4>(header, 16, 0xC6336402);
    wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
    return header + payload;
}

Frame udp(std::uint16_t port, const Frame& payload) {
    Frame header(8);
    wire::store_be<2>(header, 0, 40'000);
    wire::store_be<2>(header, 2, port);
    wire::store_be<2>(header, 4, header.size() + payload.size());
    return ethernet(0x0800) + ipv4(17, header + payload);
}

Frame gre(const Frame& header, const Frame& payload) {
    return ethernet(0x0800) + ipv4(47, header + payload);
}

struct Carrier {
    std::string name;
    Frame (*wrap)(const Frame& frame, bool v6);
};

unsigned type_byte(bool v6) {
    return v6 ? 0x86 : 0x08;
}
unsigned type_low(bool v6) {
    return v6 ? 0xDD : 0x00;
}

const std::vector<Carrier> kCarriers{
    {"plain", [](const Frame& f, bool) { return f; }},
    {"vlan",
     [](const Frame& f, bool) {
         return Frame(f.begin(), f.begin() + 12) + bytes_of({0x81, 0, 0x60, 5}) + from(f, 12);
     }},
    {"qinq",
     [](const Frame& f, bool) {
         return Frame(f.begin(), f.begin() + 12) + bytes_of({0x88, 0xA8, 0, 7, 0x81, 0, 0xB0, 5}) +
                from(f, 12);
     }},
    {"mpls",
     [](const Frame& f, bool) {
         return ethernet(0x8847) + bytes_of({0, 1, 0x20, 64, 0, 2, 0x35, 63}) +
                from(f, kEthernetBytes);
     }},
    {"gre",
     [](const Frame& f, bool v6) {
         return gre(bytes_of({0, 0, type_byte(v6), type_low(v6)}), from(f, kEthernetBytes));
     }},
    {"gre key",
     [](const Frame& f, bool v6) {
         return gre(bytes_of({0x30, 0, type_byte(v6), type_low(v6), 1, 2, 3, 4, 0, 0, 0, 9}),
                    from(f, kEthernetBytes));
     }},
    {"nvgre", [](const Frame& f,
                 bool) { return gre(bytes_of({0x20, 0, 0x65, 0x58, 0, 0x11, 0x22, 0x33}), f); }},
    {"erspan 1", [](const Frame& f, bool) { return gre(bytes_of({0, 0, 0x88, 0xBE}), f); }},
    {"erspan 2",
     [](const Frame& f, bool) {
         return gre(bytes_of({0x10, 0, 0x88, 0xBE, 0, 0, 0, 5, 0x10, 0x64, 0x20, 0x07, 0, 0, 0, 3}),
                    f);
     }},
    {"erspan 3",
     [](const Frame& f, bool) {
         return gre(bytes_of({0x10, 0,    0x22, 0xEB, 0, 0, 0, 6, 0x20, 0x65,
                              0x40, 0x08, 1,    2,    3, 4, 0, 9, 0x80, 0x00}),
                    f);
     }},
    {"erspan 3 platform",
     [](const Frame& f, bool) {
         return gre(bytes_of({0x10, 0, 0x22, 0xEB, 0,    0, 0, 6, 0x20, 0x65, 0x40, 8,   1, 2, 3, 4,
                              0,    9, 0x80, 0x01, 0x0C, 0, 0, 0, 0xAA, 0xBB, 0xCC, 0xDD}),
                    f);
     }},
    {"vxlan", [](const Frame& f,
                 bool) { return udp(4789, bytes_of({8, 0, 0, 0, 0x12, 0x34, 0x56, 0}) + f); }},
    {"geneve",
     [](const Frame& f, bool) {
         return udp(6081, bytes_of({0x02, 0, 0x65, 0x58, 0x65, 0x43, 0x21, 0, 1, 2, 3, 1, 0xDE,
                                    0xAD, 0xBE, 0xEF}) +
                              f);
     }},
    {"geneve ip",
     [](const Frame& f, bool v6) {
         return udp(6081, bytes_of({0, 0, type_byte(v6), type_low(v6), 0, 0, 1, 0}) +
                              from(f, kEthernetBytes));
     }},
    {"ip in ip",
     [](const Frame& f, bool v6) {
         return ethernet(0x0800) + ipv4(v6 ? 41 : 4, from(f, kEthernetBytes));
     }},
};

// From the BTH to the last pad byte.
Frame transport_of(const Frame& frame, bool v6) {
    const std::size_t start = kEthernetBytes + (v6 ? 40U : 20U) + 8;
    return {frame.begin() + static_cast<std::ptrdiff_t>(start), frame.end() - 4};
}

Frame grh(const Frame& transport) {
    Frame header(40);
    header[0] = std::byte{0x61};
    header[1] = std::byte{0x20};
    wire::store_be<2>(header, 4, transport.size() + 4);
    header[6] = std::byte{0x1B};
    header[7] = std::byte{0x3F};
    wire::store_be<8>(header, 8, 0xFE80000000000000);
    wire::store_be<8>(header, 16, 0x0202020202020202);
    wire::store_be<8>(header, 24, 0xFE80000000000000);
    wire::store_be<8>(header, 32, 0x0404040404040404);
    return header + transport;
}

Frame with_icrc(Frame covered, std::uint32_t icrc) {
    covered.resize(covered.size() + 4);
    wire::store_icrc(wire::MutableBytes(covered).last(4), icrc);
    return covered;
}

Frame roce_v1(const Frame& frame) {
    const Frame covered = grh(transport_of(frame, false));
    return ethernet(0x8915) + with_icrc(covered, wire::icrc_from_grh(covered));
}

Frame infiniband(const Frame& frame, bool global) {
    const Frame transport = transport_of(frame, false);
    const Frame rest = global ? grh(transport) : transport;
    Frame lrh = bytes_of({0x50, global ? 0x23U : 0x22U, 0, 9, 0, 0, 0, 4});
    wire::store_be<2>(lrh, 4, (8 + rest.size() + 4) / 4);
    const Frame covered = lrh + rest;
    return with_icrc(covered, wire::icrc_from_lrh(covered, global)) + bytes_of({0xAB, 0xCD});
}

// A record of an Endace card: 2 is Ethernet with two bytes in front, 21 InfiniBand.
Frame erf(std::uint8_t type, const Frame& packet) {
    Frame header(type == 2 ? 18 : 16);
    wire::store_be<1>(header, 8, type);
    wire::store_be<1>(header, 9, 0x04); // records of varying length
    wire::store_be<2>(header, 10, header.size() + packet.size());
    wire::store_be<2>(header, 14, packet.size());
    return header + packet;
}

void add(Corpus& corpus, std::uint8_t opcode, std::string carrier, Frame bytes) {
    corpus.frames.push_back({opcode, std::move(carrier), std::move(bytes)});
}

} // namespace

std::vector<Corpus> corpora() {
    Corpus on_ethernet{.name = "ethernet", .link_code = 1, .frames = {}};
    Corpus raw{.name = "raw", .link_code = 101, .frames = {}};
    Corpus cooked{.name = "cooked", .link_code = 113, .frames = {}};
    Corpus cooked2{.name = "cooked2", .link_code = 276, .frames = {}};
    Corpus records{.name = "erf", .link_code = 197, .frames = {}};
    for (unsigned code = 0; code < 256; ++code) {
        const auto opcode = static_cast<std::uint8_t>(code);
        if (wire::opcode_info(opcode).reserved()) continue;
        for (const bool v6 : {false, true}) {
            const Frame frame = roce(opcode, v6);
            for (const Carrier& carrier : kCarriers)
                add(on_ethernet, opcode, carrier.name, carrier.wrap(frame, v6));
            const Frame packet = from(frame, kEthernetBytes);
            add(raw, opcode, "raw", packet);
            const Frame type = bytes_of({type_byte(v6), type_low(v6)});
            add(cooked, opcode, "cooked",
                bytes_of({0, 4, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0}) + type + packet);
            add(cooked2, opcode, "cooked2",
                type + bytes_of({0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 2, 2, 2, 2, 2, 0, 0}) + packet);
        }
        const Frame frame = roce(opcode, false);
        add(on_ethernet, opcode, "roce v1", roce_v1(frame));
        add(records, opcode, "erf ethernet", erf(2, frame));
        add(records, opcode, "infiniband local", erf(21, infiniband(frame, false)));
        add(records, opcode, "infiniband global", erf(21, infiniband(frame, true)));
    }
    return {on_ethernet, raw, cooked, cooked2, records};
}

void write_pcap(const Corpus& corpus, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    const auto put = [&file](std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        wire::store_be<4>(bytes, 0, value);
        file.write(reinterpret_cast<const char*>(bytes.data()), 4);
    };
    for (const std::uint32_t word :
         {kPcapMagic, std::uint32_t{0x00020004}, std::uint32_t{0}, std::uint32_t{0},
          std::uint32_t{65'535}, std::uint32_t{corpus.link_code}}) {
        put(word);
    }
    std::uint32_t microsecond = 0;
    for (const CorpusFrame& frame : corpus.frames) {
        const auto size = static_cast<std::uint32_t>(frame.bytes.size());
        for (const std::uint32_t word : {1'700'000'000U, microsecond++, size, size})
            put(word);
        file.write(reinterpret_cast<const char*>(frame.bytes.data()),
                   static_cast<std::streamsize>(size));
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

} // namespace veriroce::corpus
