// The line of packets that no committed capture has.
#include <catch2/catch.hpp>

#include "dissector/decode/decoder.hpp"
#include "dissector/print/json.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/table.hpp"
#include "dissector/print/tree.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce;
using namespace veriroce::print;
using wire::Field;

namespace {

std::vector<std::byte> frame(const wire::PacketSpec& spec) {
    wire::Sender sender;
    sender.envelope.source = *wire::IpAddress::parse("10.0.0.1");
    sender.envelope.destination = *wire::IpAddress::parse("10.0.0.2");
    sender.ip_id = 1;
    sender.packet.bth.dest_qp = {0x11};
    sender.packet.bth.psn = wire::Psn(7);
    return wire::encode(spec, sender).value();
}

std::string line_of(wire::Bytes bytes, std::uint32_t original = 0, std::uint16_t link = 1) {
    decode::FrameFacts facts;
    facts.bytes = bytes;
    facts.original_length = original != 0 ? original : static_cast<std::uint32_t>(bytes.size());
    facts.link_code = link;
    facts.number = 1;
    decode::Dissection dissection;
    decode::dissect_frame(facts, {}, dissection);
    std::string out;
    append_line(out, dissection);
    return out;
}

// The text after protocol and length.
std::string info_of(const wire::PacketSpec& spec) {
    const auto bytes = frame(spec);
    const std::string line = line_of(bytes);
    const std::string before =
        "    1                10.0.0.1 → 10.0.0.2     RRoCE " + std::to_string(bytes.size()) + " ";
    REQUIRE(line.starts_with(before));
    return line.substr(before.size(), line.size() - before.size() - 1);
}

wire::PacketSpec packet(std::uint8_t opcode, std::vector<wire::PacketSpec::Written> fields = {},
                        std::size_t payload = 0) {
    return {
        .opcode = opcode, .fields = std::move(fields), .payload = std::vector<std::byte>(payload)};
}

constexpr std::uint64_t operator""_n(unsigned long long value) {
    return value;
}

} // namespace

TEST_CASE("line: opcodes that Wireshark 4.0 does not know", "[print]") {
    CHECK(info_of(packet(wire::kCnpOpcode, {{Field::Becn, 1_n}}, 16)) ==
          "CNP QP=0x000011 PSN=7 Len=16 BECN");
    CHECK(info_of(packet(0x1C, {{Field::Placement, 2_n}, {Field::Selectivity, 1_n}})) ==
          "RC Flush QP=0x000011 PSN=7 Selectivity=1 Placement=2 VA=0x0000000000000000 "
          "R_Key=0x00000000 DMALen=0");
    CHECK(info_of(packet(0x1D, {{Field::Va, 64_n}, {Field::DmaLength, 8_n}}, 8)) ==
          "RC Atomic Write QP=0x000011 PSN=7 VA=0x0000000000000040 R_Key=0x00000000 DMALen=8 "
          "Len=8");
    CHECK(info_of(packet(0x17, {{Field::Ikey, 0x1234_n}}, 4)) ==
          "RC Send Only Invalidate QP=0x000011 PSN=7 Invalidates=0x00001234 Len=4");
    CHECK(info_of(packet(0xA4, {}, 4)) == "XRC Send Only QP=0x000011 PSN=7 SRQ=0x000000 Len=4");
    CHECK(info_of(packet(0x1E, {}, 4)) == "Reserved Opcode 0x1e QP=0x000011 PSN=7 Len=4");
}

TEST_CASE("line: a management datagram is named by class, method and attribute", "[print]") {
    const auto mad = [](std::uint8_t management_class, std::uint8_t method,
                        std::uint16_t attribute) {
        std::vector<std::byte> datagram(256);
        datagram[0] = std::byte{1};
        datagram[1] = std::byte{management_class};
        datagram[3] = std::byte{method};
        wire::store_be<2>(datagram, 16, attribute);
        wire::PacketSpec spec = packet(0x64, {{Field::DestQp, 1_n}});
        spec.payload = std::move(datagram);
        return info_of(spec);
    };
    const std::string tid = " TID=0x0000000000000000";
    CHECK(mad(0x03, 0x12, 0x35) ==
          "MAD: SubnAdmGetTable(PathRecord) Class=0x03 Attribute=0x0035" + tid);
    CHECK(mad(0x04, 0x81, 0x12) ==
          "MAD: PerformanceGetResp(PortCounters) Class=0x04 Attribute=0x0012" + tid);
    CHECK(mad(0x0A, 0x01, 0xFF00) == "MAD: VendorGet() Class=0x0a Attribute=0xff00" + tid);
    CHECK(mad(0x32, 0x44, 0x01) == "MAD: Vendor Method=0x44 Class=0x32 Attribute=0x0001" + tid);
    CHECK(mad(0x21, 0x02, 0x01) ==
          "MAD: ApplicationSet(ClassPortInfo) Class=0x21 Attribute=0x0001" + tid);
    CHECK(mad(0x50, 0x01, 0x01) == "MAD: Reserved Get() Class=0x50 Attribute=0x0001" + tid);
}

TEST_CASE("line: the packet that IP over InfiniBand carries", "[print]") {
    const auto line = [](std::string_view type, std::string_view packet) {
        std::vector<std::byte> bytes = wire::frames::bytes_of(
            "0002 0001 0000 0002 6440ffff 00000123 00000020 00000b1b 00000405");
        for (const std::string_view more : {type, packet, std::string_view("00000000 abcd")}) {
            const auto part = wire::frames::bytes_of(more);
            bytes.insert(bytes.end(), part.begin(), part.end());
        }
        wire::store_be<2>(bytes, 4, bytes.size() / 4);
        const std::string text = line_of(bytes, 0, 247);
        return text.substr(text.find(" IPoIB"));
    };
    constexpr std::string_view kUdp = "4500 001c 0007 4000 4011 26c8 0a000001 0a000002 "
                                      "0457 0035 0008 0000";
    CHECK(line("08000000", kUdp).starts_with(" IPoIB 10.0.0.1 → 10.0.0.2 UDP 1111 → 53"));
    CHECK(line("08000000", "4500 001c 0007 2000 4001 46d8 0a000001 0a000002 0000000000000000")
              .starts_with(" IPoIB 10.0.0.1 → 10.0.0.2 fragment ICMP"));
    CHECK(line("86dd0000", "60000000 0000 59 40 fe800000000000000000000000000001 "
                           "fe800000000000000000000000000002")
              .starts_with(" IPoIB fe80::1 → fe80::2 protocol 89"));
    CHECK(line("08060000", "0020 0800 14040001 00000000").starts_with(" IPoIB ARP"));
}

TEST_CASE("line: what a segment of iWARP carries", "[print]") {
    const auto made = corpus::iwarp_corpus();
    const auto line = [&made](std::string_view name) {
        const auto frame = std::ranges::find(made.frames, name, &corpus::CorpusFrame::carrier);
        REQUIRE(frame != made.frames.end());
        const std::string text = line_of(frame->bytes);
        return text.substr(text.find("iWARP ") + 6);
    };
    CHECK(line("iwarp request") == "79 MPA Request Frame Markers=0 CRC=1\n");
    CHECK(line("iwarp reply without CRC") == "78 MPA Reply Frame Markers=0 CRC=0\n");
    CHECK(line("iwarp two PDUs").ends_with(" Write, Send\n"));
    CHECK(line("iwarp terminate about a tagged buffer")
              .ends_with(" Terminate Layer=1 Type=1 Code=0x01 (Tagged Buffer Error: Base or Bounds "
                         "Violation)\n"));
    CHECK(line("iwarp terminate of RDMAP")
              .ends_with(" Terminate Layer=0 Type=2 Code=0x05 (Remote Operation Error: Invalid "
                         "RDMAP Version)\n"));
    // The first of two PDUs, and as much of the second as a segment has.
    const auto two =
        std::ranges::find(made.frames, "iwarp two PDUs", &corpus::CorpusFrame::carrier);
    std::vector<std::byte> bytes = two->bytes;
    bytes.resize(bytes.size() - 8);
    wire::store_be<2>(bytes, 14 + 2, bytes.size() - 14);
    CHECK(line_of(bytes).ends_with(" Write, Send (continues in the next segment)\n"));
    CHECK(line_of(wire::Bytes(bytes).first(bytes.size() - 4),
                  static_cast<std::uint32_t>(bytes.size()))
              .ends_with(" Write, Send [cut]\n"));
}

TEST_CASE("line: every kind of acknowledge", "[print]") {
    const auto ack = [](std::uint64_t syndrome) {
        return info_of(packet(0x11, {{Field::Syndrome, syndrome}, {Field::Msn, 5_n}}));
    };
    const std::string start = "RC Acknowledge QP=0x000011 PSN=7 MSN=5";
    CHECK(ack(31) == start);
    CHECK(ack(5) == start + " Credits=6");
    CHECK(ack(0x20 | 14) == start + " RNR NAK 1.28 ms");
    CHECK(ack(0x20 | 25) == start + " RNR NAK 61.44 ms");
    CHECK(ack(0x20) == start + " RNR NAK 655.36 ms");
    CHECK(ack(0x60) == start + " NAK PSN Sequence Error");
    CHECK(ack(0x63) == start + " NAK Remote Operational Error");
    CHECK(ack(0x6F) == start + " NAK Reserved Code 15");
    CHECK(ack(0x45) == start + " Reserved Syndrome 0x45");
}

TEST_CASE("line: a cut frame says cut, a packet too short says malformed", "[print]") {
    const auto whole = frame(packet(0x0C));
    const auto size = static_cast<std::uint32_t>(whole.size());
    CHECK(line_of(wire::Bytes(whole).first(60), size) ==
          "    1                10.0.0.1 → 10.0.0.2     RRoCE 74 RC RDMA Read Request QP=0x000011 "
          "PSN=7 [cut]\n");
    auto spec = packet(0x0C);
    spec.damage.truncate = 20;
    const std::string line = line_of(frame(spec));
    CHECK(line.find("PSN=7 [malformed]") != std::string::npos);
    CHECK(line.find("[cut]") == std::string::npos);
}

TEST_CASE("line: an unsupported link type is named by its number", "[print]") {
    const std::vector<std::byte> bytes(40);
    CHECK(line_of(bytes, 0, 105) ==
          "    1                         →              ? 40 unsupported link type 105\n");
}

TEST_CASE("fields: every opcode can be printed in every format", "[print]") {
    const auto columns = all_columns();
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        const auto bytes = frame(packet(static_cast<std::uint8_t>(opcode), {}, 8));
        decode::FrameFacts facts;
        facts.bytes = bytes;
        facts.original_length = static_cast<std::uint32_t>(bytes.size());
        decode::Dissection d;
        decode::dissect_frame(facts, {}, d);
        CHECK(d.icrc.status == decode::IcrcStatus::Good);
        std::string tree;
        append_tree(tree, d);
        CHECK(tree.find("Opcode: " + std::to_string(opcode) + " (") != std::string::npos);
        std::string json;
        append_json_packet(json, d, columns, "", true);
        CHECK(json.find("\"infiniband.bth.opcode\":" + std::to_string(opcode) + ",") !=
              std::string::npos);
        std::string csv;
        append_csv(csv, d, columns);
        CHECK(std::ranges::count(csv, '\n') == 1);
    }
}
