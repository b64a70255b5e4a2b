// One packet for each kind of finding, and the finding it must have: no other.
#include <catch2/catch.hpp>

#include <fstream>
#include <set>

#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using wire::Field;

namespace {

struct Row {
    FindingKind kind;
    wire::PacketSpec spec;
    std::size_t offset; // from the BTH
};

wire::PacketSpec packet(std::uint8_t opcode, std::vector<wire::PacketSpec::Written> fields,
                        std::size_t payload_bytes = 0) {
    return {.opcode = opcode, .fields = std::move(fields), .payload = payload(payload_bytes)};
}

constexpr std::uint64_t operator""_n(unsigned long long value) {
    return value;
}

std::vector<Row> rows() {
    auto odd_pad = packet(0x04, {}, 5);
    odd_pad.pad_bytes = std::vector<std::byte>(3, std::byte{7});
    auto no_pad = packet(0x04, {{Field::Pad, 0_n}}, 5);
    no_pad.pad_bytes.emplace();
    auto bad_icrc = packet(0x04, {}, 4);
    bad_icrc.icrc = wire::IcrcKind::Bad;
    return {
        {FindingKind::HeaderVersion, packet(0x04, {{Field::TVer, 3_n}}, 4), 1},
        {FindingKind::ReservedOpcode, packet(0x1E, {}, 4), 0},
        {FindingKind::ReservedQp, packet(0x04, {{Field::DestQp, 1_n}}, 4), 5},
        {FindingKind::MulticastQp, packet(0x04, {{Field::DestQp, 0xFFFFFF_n}}, 4), 5},
        {FindingKind::PkeyZero, packet(0x04, {{Field::Pkey, 0x8000_n}}, 4), 2},
        {FindingKind::ReservedBits, packet(0x04, {{Field::Reserved6, 1_n}}, 4), 4},
        {FindingKind::ReservedBits, packet(0x04, {{Field::Reserved7, 1_n}}, 4), 8},
        {FindingKind::PadExceedsPayload, packet(0x04, {{Field::Pad, 2_n}}, 0), 1},
        {FindingKind::PadInsideMessage, packet(0x01, {}, 7), 1},
        {FindingKind::PadContent, odd_pad, 12 + 5},
        {FindingKind::LengthNotMultipleOf4, no_pad, 12},
        {FindingKind::UnexpectedPayload, packet(0x11, {}, 4), 16},
        {FindingKind::EmptyFirstOrMiddle, packet(0x01, {}, 0), 0},
        {FindingKind::EmptyLast, packet(0x02, {}, 0), 0},
        {FindingKind::DmaLength, packet(0x0C, {{Field::DmaLength, 0x80000001_n}}), 12 + 12},
        {FindingKind::AtomicAlignment, packet(0x14, {{Field::Va, 4_n}}), 12},
        {FindingKind::AtomicWriteShape, packet(0x1D, {{Field::Va, 8_n}}, 4), 12},
        {FindingKind::ReservedSyndrome, packet(0x11, {{Field::Syndrome, 0x45_n}}), 12},
        {FindingKind::ReservedSyndrome, packet(0x11, {{Field::Syndrome, 0x7F_n}}), 12},
        {FindingKind::CnpShape,
         packet(wire::kCnpOpcode, {{Field::Psn, 0_n}, {Field::Becn, 1_n}}, 16), 12},
        {FindingKind::MadLength, packet(0x64, {{Field::DestQp, 1_n}}, 4), 12 + 8},
        {FindingKind::BadIcrc, bad_icrc, 12 + 4},
    };
}

} // namespace

TEST_CASE("decode: each fault of a packet is found where it stands, and no other", "[decode]") {
    for (const Row& row : rows()) {
        INFO(finding_info(row.kind).text);
        const FrameBytes frame = made(row.spec);
        const Dissection d = taken_apart(frame);
        CHECK(kinds_of(d) == std::vector{row.kind});
        REQUIRE_FALSE(d.findings.empty());
        CHECK(d.findings.all()[0].offset == 14 + 20 + 8 + row.offset);
    }
}

TEST_CASE("decode: reserved bits of extended headers are found", "[decode][BTH-16]") {
    struct Header {
        std::uint8_t opcode;
        std::uint32_t at;    // after the BTH
        std::uint32_t bytes; // with reserved bits
    };
    constexpr std::uint32_t kBth = 14 + 20 + 8;
    // RDETH, the DETH after it, DETH, XRCETH; of FETH four bytes, of which six bits are in use.
    for (const auto& [opcode, at, bytes] :
         {Header{0x44, 0, 1}, Header{0x44, 8, 1}, Header{0x64, 4, 1}, Header{0xA4, 0, 1},
          Header{0x1C, 0, 4}}) {
        INFO(int{opcode});
        FrameBytes frame = made(packet(opcode, {}, opcode == 0x1C ? 0 : 4));
        CHECK(taken_apart(frame).findings.empty());
        frame[kBth + 12 + at] |= std::byte{0x80};
        const Dissection d = taken_apart(frame, 1, 0, {.verify_icrc = false});
        REQUIRE(kinds_of(d) == std::vector{FindingKind::ReservedBits});
        CHECK(d.findings.all()[0].offset == kBth + 12 + at);
        CHECK(d.findings.all()[0].length == bytes);
        CHECK(d.findings.all()[0].found == (bytes == 1 ? 0x80U : 0x2000000U));
    }
}

TEST_CASE("decode: outer faults of a RoCE packet are found", "[decode]") {
    auto ip = packet(0x04, {{Field::IpChecksum, 1_n}}, 4);
    CHECK(kinds_of(taken_apart(made(ip))) == std::vector{FindingKind::IpChecksum});
    auto left = packet(0x04, {{Field::IpChecksum, 0_n}}, 4);
    const Dissection d = taken_apart(made(left));
    CHECK(kinds_of(d) == std::vector{FindingKind::IpChecksumLeft});
    CHECK_FALSE(d.findings.any_fault()); // worth knowing, and normal where the sender recorded it
    CHECK(d.icrc.status == IcrcStatus::Good);
    auto udp = packet(0x04, {}, 4);
    udp.udp_checksum = wire::UdpChecksumKind::Bad;
    CHECK(kinds_of(taken_apart(made(udp))) == std::vector{FindingKind::UdpChecksum});
    for (const bool v6 : {false, true}) {
        udp.udp_checksum = wire::UdpChecksumKind::Good;
        CHECK(taken_apart(made(udp, v6), 1).findings.empty());
    }
}

TEST_CASE("decode: each wrong field of a CNP is named, with its bytes", "[decode]") {
    struct Fault {
        Field field;
        std::uint64_t value;
        CnpFault fault;
        std::uint32_t offset; // from the BTH
        std::uint32_t length;
        const char* sentence;
    };
    constexpr std::uint32_t kBth = 14 + 20 + 8;
    for (const auto& [field, value, fault, offset, length, sentence] :
         {Fault{Field::SolicitedEvent, 1, CnpFault::Solicited, 1, 1,
                "the solicited event bit of a CNP is set"},
          Fault{Field::MigReq, 1, CnpFault::MigReq, 1, 1, "the MigReq bit of a CNP is set"},
          Fault{Field::Pad, 1, CnpFault::Pad, 1, 1, "the pad count of a CNP is not 0"},
          Fault{Field::Fecn, 1, CnpFault::Fecn, 4, 1, "FECN of a CNP is set"},
          Fault{Field::Becn, 0, CnpFault::Becn, 4, 1, "BECN of a CNP is not set"},
          Fault{Field::AckReq, 1, CnpFault::AckRequest, 8, 1, "the AckReq bit of a CNP is set"},
          Fault{Field::Psn, 7, CnpFault::Psn, 9, 3, "the PSN of a CNP is not 0"}}) {
        INFO(sentence);
        wire::PacketSpec spec{.opcode = wire::kCnpOpcode,
                              .fields = {{Field::Psn, 0_n}, {Field::Becn, 1_n}},
                              .payload = std::vector<std::byte>(16)};
        std::erase_if(spec.fields, [&](const auto& written) { return written.field == field; });
        spec.fields.push_back({field, value});
        const FrameBytes frame = made(spec);
        const Dissection d = taken_apart(frame);
        REQUIRE(kinds_of(d) == std::vector{FindingKind::CnpShape});
        const Finding& found = d.findings.all()[0];
        CHECK(found.found == static_cast<std::uint32_t>(fault));
        CHECK(found.offset == kBth + offset);
        CHECK(found.length == length);
        CHECK(sentence_of(found) == sentence);
    }
    auto spec = packet(wire::kCnpOpcode, {{Field::Psn, 0_n}, {Field::Becn, 1_n}});
    spec.payload = std::vector<std::byte>(16);
    spec.payload->at(3) = spec.payload->at(9) = std::byte{1};
    const FrameBytes set = made(spec);
    const Dissection reserved = taken_apart(set);
    REQUIRE(kinds_of(reserved) == std::vector{FindingKind::CnpShape});
    CHECK(reserved.findings.all()[0].offset == kBth + 12 + 3);
    CHECK(reserved.findings.all()[0].length == 7);
    CHECK(sentence_of(reserved.findings.all()[0]) == "the reserved bytes of a CNP are not zero");
    spec.payload = std::vector<std::byte>(8);
    const FrameBytes few = made(spec);
    const Dissection length = taken_apart(few);
    REQUIRE(kinds_of(length) == std::vector{FindingKind::CnpShape});
    CHECK(length.findings.all()[0].offset == kBth + 12);
    CHECK(length.findings.all()[0].length == 8);
    CHECK(sentence_of(length.findings.all()[0]) == "a CNP does not have 16 bytes after its BTH");
}

TEST_CASE("decode: a packet that contradicts the frame's type is taken apart by its own version",
          "[decode]") {
    const auto version = [](FrameBytes frame, unsigned type, unsigned first) {
        wire::store_be<2>(frame, 12, type);
        wire::store_be<1>(frame, 14, first);
        return frame;
    };
    const FrameBytes v4 = made(packet(0x04, {}, 4));
    const FrameBytes v6 = made(packet(0x04, {}, 4), true);
    struct Odd {
        FrameBytes frame;
        std::uint32_t found;
        std::uint32_t expected;
        IcrcStatus icrc;
    };
    for (const auto& [frame, found, expected, icrc] :
         {Odd{version(v4, 0x86DD, 0x45), 4, 6, IcrcStatus::Good},
          Odd{version(v6, 0x0800, 0x60), 6, 4, IcrcStatus::Good},
          Odd{version(v6, 0x86DD, 0x50), 5, 6, IcrcStatus::Unchecked}}) {
        const Dissection d = taken_apart(frame);
        CHECK(d.protocol == Protocol::RoceV2);
        REQUIRE(kinds_of(d) == std::vector{FindingKind::IpVersion});
        const Finding& finding = d.findings.all()[0];
        CHECK(finding.offset == 14);
        CHECK(finding.length == 1);
        CHECK(finding.found == found);
        CHECK(finding.expected == expected);
        CHECK(d.icrc.status == icrc);
    }
    // After a header of neither version the sum is wrong as well.
    const FrameBytes neither = version(v4, 0x0800, 0x55);
    const Dissection d = taken_apart(neither);
    CHECK(kinds_of(d) == std::vector{FindingKind::IpVersion, FindingKind::IpChecksum});
    CHECK(d.icrc.reason == IcrcReason::IpVersion);
}

TEST_CASE("decode: a management datagram of another version is found", "[decode]") {
    auto frames = frames_of("rxe-rping-cm.pcap");
    FrameBytes frame = frames.at(0);
    frame.at(14 + 20 + 8 + 12 + 8) = std::byte{2};
    CHECK(kinds_of(taken_apart(frame, 1, 0, {.verify_icrc = false})) ==
          std::vector{FindingKind::MadVersion});
}

TEST_CASE("decode: captures of a sound device have no findings but their wrong ICRCs", "[decode]") {
    struct Expected {
        const char* capture;
        std::size_t bad;
    };
    for (const auto& [capture, bad] :
         {Expected{"rxe-lengths.pcap", 0}, Expected{"rxe-atomic.pcap", 0},
          Expected{"rxe-uc-pingpong.pcap", 0}, Expected{"rxe-vlan.pcap", 0},
          Expected{"rxe-rc-pingpong-linklocal.pcap", 0}, Expected{"rxe-ud-verbs.pcap", 0},
          Expected{"userspace-peer-rc.pcap", 1}}) {
        std::vector<FindingKind> found;
        for (const FrameBytes& frame : frames_of(capture)) {
            for (const FindingKind kind : kinds_of(taken_apart(frame))) {
                // A capture on the sending machine shows UDP checksums that its card fills in
                // later.
                if (finding_info(kind).severity != Severity::Note) found.push_back(kind);
            }
        }
        INFO(capture);
        CHECK(found == std::vector(bad, FindingKind::BadIcrc));
    }
}

TEST_CASE("decode: every finding cites a rule of the catalogue, above the transport a document",
          "[decode]") {
    std::ifstream file(std::string(VERIROCE_SOURCE_DIR) + "/conformance/rules/catalogue.tsv");
    std::set<std::string> rules;
    for (std::string line; std::getline(file, line);)
        rules.insert(line.substr(0, line.find('\t')));
    REQUIRE(rules.size() > 200);
    const std::set<std::string> documents{"NVMe-oF", "RFC 7145", "MS-SMBD", "RFC 8166"};
    for (std::size_t i = 0; i < kFindingKinds; ++i) {
        const FindingInfo& info = finding_info(static_cast<FindingKind>(i));
        INFO(info.text);
        const bool above = static_cast<FindingKind>(i) > FindingKind::BadIcrc;
        CHECK((above ? documents : rules).contains(std::string(info.rule)));
    }
}

TEST_CASE("decode: findings beyond the capacity are counted", "[decode]") {
    Findings findings;
    for (std::size_t i = 0; i < Findings::kCapacity + 3; ++i) {
        findings.add({.kind = FindingKind::UdpChecksum});
    }
    CHECK(findings.all().size() == Findings::kCapacity);
    CHECK(findings.dropped() == 3);
    CHECK(findings.any_fault());
}
