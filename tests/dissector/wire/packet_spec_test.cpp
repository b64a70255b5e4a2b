#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "dissector/wire/icrc.hpp"
#include "tests/dissector/wire/spec_builders.hpp"

using namespace veriroce::wire;
using namespace veriroce::wire::frames;

TEST_CASE("spec: an honest packet is the captured one byte for byte", "[wire]") {
    for (const auto* bytes : frames::kSealed) {
        CHECK(encoded(spec_of(*bytes), sender_of(*bytes)) == *bytes);
    }
}

TEST_CASE("spec: a payload belongs only to opcodes that carry one", "[wire]") {
    auto sender = sender_of(frames::kSendOnlyPadded);
    sender.payload.assign(10, std::byte{7});
    CHECK(encoded({.opcode = 0x11}, sender).size() == kBth + 12 + 4 + 4);
    CHECK(encoded({.opcode = 0x04}, sender).size() == kBth + 12 + 12 + 4);
    CHECK(encoded({.opcode = 0x1D}, sender).size() == kBth + 12 + 16 + 12 + 4);
    CHECK(encoded({.opcode = 0x15}, sender).size() == kBth + 12 + 12 + 4);
    const auto written = encoded({.opcode = 0x11, .payload = bytes_of("01 02 03")}, sender);
    CHECK(written.size() == kBth + 12 + 4 + 4 + 4);
    CHECK(mapped(written).transport.size() == 20);
    // CNP-02: 16 zero bytes, whatever the sender's payload.
    const auto cnp = encoded({.opcode = 0x81}, sender);
    CHECK(std::ranges::equal(mapped(cnp).transport.subspan(12), std::vector<std::byte>(16)));
    CHECK(encoded({.opcode = 0x81, .payload = std::vector<std::byte>{}}, sender).size() ==
          kBth + 12 + 4);
}

TEST_CASE("spec: each number is written as it stands, and the sums made good", "[wire]") {
    for (const auto* original : {&frames::kSendOnlyPadded, &frames::kCompareSwap,
                                 &frames::kReadRequestVlan, &frames::kUdSendOnlyImm,
                                 &frames::kAtomicAck, &frames::kSendOnlyV6, &frames::kWriteOnly}) {
        const auto frame = mapped(*original);
        for (const FieldInfo& info : field_table()) {
            const auto where = locate(frame.layers, info.field);
            if (info.kind != FieldKind::Number || !where) continue;
            INFO(info.name);
            const std::uint64_t wrong = *read_field(frame.bytes, frame.layers, info.field) ^ 1;
            PacketSpec spec = spec_of(*original);
            spec.fields = {{info.field, wrong}};
            const auto bytes = encoded(spec, sender_of(*original));
            // A written pad count adds no bytes: the layers after the payload move.
            if (info.field == Field::Pad) continue;
            CHECK(read_field(bytes, frame.layers, info.field) == wrong);
            const auto ip = frame.layers.at(frame.ipv4 ? Layer::Ipv4 : Layer::Ipv6);
            const auto end = frame.layers.at(Layer::Icrc);
            const Bytes covered = Bytes(bytes).subspan(ip, end - ip);
            const auto stored = load_icrc(Bytes(bytes).subspan(end));
            CHECK((stored == icrc(covered)) == (info.field != Field::Icrc));
            if (frame.ipv4) {
                const auto sum = checksum_fold(checksum_add(covered.first(20)));
                CHECK((sum == 0) == (info.field != Field::IpChecksum));
            }
        }
    }
}

TEST_CASE("spec: nothing else than the field and the sums changes", "[wire]") {
    const auto sender = sender_of(frames::kSendOnlyPadded);
    PacketSpec spec = spec_of(frames::kSendOnlyPadded);
    spec.fields = {{Field::Psn, std::uint64_t{0x001101}}};
    CHECK(differences(encoded(spec, sender), frames::kSendOnlyPadded) ==
          Places{kBth + 10, 58, 59, 60, 61});
    spec.fields = {{Field::IpTtl, std::uint64_t{63}}}; // masked: the ICRC stays
    CHECK(differences(encoded(spec, sender), frames::kSendOnlyPadded) == Places{22, 24});
}

TEST_CASE("spec: the last value written counts, and the opcode may lie", "[wire]") {
    const auto sender = sender_of(frames::kSendOnlyPadded);
    PacketSpec spec{.opcode = 0x04};
    spec.fields = {{Field::Psn, std::uint64_t{1}},
                   {Field::Opcode, std::uint64_t{0x1F}},
                   {Field::Psn, std::uint64_t{2}}};
    CHECK(std::get<std::uint64_t>(*spec.written(Field::Psn)) == 2);
    CHECK(spec.written(Field::Pad) == nullptr);
    const Built built(spec, sender);
    CHECK(built.read(Field::Psn) == 2U);
    CHECK(built.read(Field::Opcode) == 0x1FU);
    CHECK(built.frame.transport.size() == 16); // laid out as the SEND that the spec is
}

TEST_CASE("spec: addresses are written, and the sums made good", "[wire]") {
    const auto mac = *MacAddress::parse("02:11:22:33:44:55");
    PacketSpec spec = spec_of(frames::kAck);
    spec.fields = {{Field::IpSource, *IpAddress::parse("10.77.0.99")}, {Field::EthSource, mac}};
    const Built built(spec, sender_of(frames::kAck));
    CHECK(built.frame.envelope().source.text() == "10.77.0.99");
    CHECK(built.frame.ethernet.source == mac);
    CHECK(refusal(built.bytes) == std::nullopt);

    PacketSpec six = spec_of(frames::kAckV6);
    six.fields = {{Field::IpDestination, *IpAddress::parse("fd77::99")}};
    const auto bytes = encoded(six, sender_of(frames::kAckV6));
    CHECK(unseal(bytes)->envelope.destination.text() == "fd77::99");
}

TEST_CASE("spec: a VLAN field adds a tag", "[wire]") {
    PacketSpec spec = spec_of(frames::kAck);
    spec.fields = {{Field::VlanPriority, std::uint64_t{5}}};
    auto bytes = encoded(spec, sender_of(frames::kAck));
    CHECK(bytes.size() == frames::kAck.size() + 4);
    CHECK(unseal(bytes)->envelope.vlan == VlanId{.id = 0, .priority = 5});
    CHECK(decode_frame(bytes)->icrc == decode_frame(frames::kAck)->icrc); // ENC-15
    spec.fields.push_back({Field::VlanId, std::uint64_t{77}});
    CHECK(unseal(encoded(spec, sender_of(frames::kAck)))->envelope.vlan == VlanId{77, 5});
    spec = spec_of(frames::kAckVlan);
    spec.fields = {{Field::VlanId, std::uint64_t{78}}};
    bytes = encoded(spec, sender_of(frames::kAckVlan));
    CHECK(differences(bytes, frames::kAckVlan) == Places{15});
    spec.fields = {{Field::VlanPriority, std::uint64_t{5}}}; // the tag that is there keeps its id
    CHECK(differences(encoded(spec, sender_of(frames::kAckVlan)), frames::kAckVlan) == Places{14});
    spec.fields = {{Field::EthType, std::uint64_t{0x8915}}};
    bytes = encoded(spec, sender_of(frames::kAckVlan));
    CHECK(differences(bytes, frames::kAckVlan) == Places{16, 17});
}

TEST_CASE("spec: any UDP port may be written", "[wire][ENC-01]") {
    PacketSpec spec = spec_of(frames::kAck);
    spec.fields = {{Field::UdpDestinationPort, std::uint64_t{4790}}};
    const auto bytes = encoded(spec, sender_of(frames::kAck));
    CHECK(refusal(bytes) == FrameError::NotRoce);
    auto sender = sender_of(frames::kAck);
    sender.envelope.destination_port = 4790;
    CHECK(encoded(spec_of(frames::kAck), sender) == bytes);
    spec.fields = {{Field::UdpDestinationPort, std::uint64_t{4791}}};
    CHECK(encoded(spec, sender) == frames::kAck);
}

TEST_CASE("spec: the pad count follows the payload", "[wire][BTH-09]") {
    PacketSpec spec{.opcode = 0x04};
    for (std::size_t length = 0; length <= 5; ++length) {
        spec.payload = std::vector<std::byte>(length, std::byte{0x11});
        const Built built(spec, sender_of(frames::kSendOnlyPadded));
        CHECK(built.packet.bth.pad == (4 - length % 4) % 4);
        CHECK(built.packet.body.size() == (length + 3) / 4 * 4);
        CHECK(built.packet.payload().size() == length);
        CHECK(std::ranges::all_of(built.packet.body.subspan(length),
                                  [](std::byte byte) { return byte == std::byte{0}; }));
    }
}

TEST_CASE("spec: pad bytes may be any and any number, and the count may lie", "[wire][BTH-12]") {
    const auto check = [](std::string_view payload, std::optional<std::string_view> pad_bytes,
                          std::optional<std::uint64_t> pad, std::string_view body, unsigned count) {
        INFO(payload << " | " << body);
        PacketSpec spec{.opcode = 0x04, .payload = bytes_of(payload)};
        if (pad_bytes) spec.pad_bytes = bytes_of(*pad_bytes);
        if (pad) spec.fields = {{Field::Pad, *pad}};
        const Built built(spec, sender_of(frames::kSendOnlyPadded));
        CHECK(std::ranges::equal(built.packet.body, bytes_of(body)));
        CHECK(built.packet.bth.pad == count);
        CHECK(refusal(built.bytes) == std::nullopt);
    };
    check("11", "aa bb cc", {}, "11 aa bb cc", 3);
    check("11", "aa bb cc dd ee", {}, "11 aa bb cc dd ee", 3);
    check("11", "", {}, "11", 3);
    check("", {}, 2, "", 2);
    check("01 02 03 04 05", {}, 2, "01 02 03 04 05", 2);
    check("01 02 03 04 05", "00 00 00", 2, "01 02 03 04 05 00 00 00", 2);
    check("01 02 03 04", {}, 0, "01 02 03 04", 0);
}

TEST_CASE("spec: every kind of wrong ICRC", "[wire][CRC-07]") {
    const auto icrc_text = [](const std::variant<IcrcKind, std::uint32_t>& kind,
                              const std::vector<std::byte>& original) {
        PacketSpec spec = spec_of(original);
        spec.icrc = kind;
        const auto bytes = encoded(spec, sender_of(original));
        REQUIRE(bytes.size() == original.size());
        CHECK(std::ranges::equal(Bytes(bytes).first(bytes.size() - 4),
                                 Bytes(original).first(bytes.size() - 4)));
        return std::vector<std::byte>(bytes.end() - 4, bytes.end());
    };
    // The captured acknowledge ends in af 33 3e 7a.
    CHECK(icrc_text(IcrcKind::Good, frames::kAck) == bytes_of("af 33 3e 7a"));
    CHECK(icrc_text(IcrcKind::Bad, frames::kAck) == bytes_of("50 cc c1 85"));
    CHECK(icrc_text(IcrcKind::Swapped, frames::kAck) == bytes_of("7a 3e 33 af"));
    CHECK(icrc_text(IcrcKind::Zero, frames::kAck) == bytes_of("00 00 00 00"));
    CHECK(icrc_text(0xAF333E7AU, frames::kAck) == bytes_of("af 33 3e 7a"));
    CHECK(icrc_text(0x01020304U, frames::kAckV6) == bytes_of("01 02 03 04"));
    for (const auto* original : {&frames::kAck, &frames::kAckV6, &frames::kAckVlan}) {
        std::vector<std::byte> unmasked(4);
        store_icrc(unmasked, icrc_unmasked(decode_frame(*original)->covered()));
        CHECK(icrc_text(IcrcKind::Unmasked, *original) == unmasked);
    }
    PacketSpec spec = spec_of(frames::kAck);
    spec.fields = {{Field::Icrc, std::uint64_t{0x0A0B0C0D}}};
    const auto bytes = encoded(spec, sender_of(frames::kAck));
    CHECK(std::vector<std::byte>(bytes.end() - 4, bytes.end()) == bytes_of("0a 0b 0c 0d"));
}

TEST_CASE("spec: names of ICRC kinds", "[wire]") {
    for (const std::string_view name : {"good", "bad", "swapped", "zero", "unmasked"}) {
        REQUIRE(icrc_kind_by_name(name));
        CHECK(name_of(*icrc_kind_by_name(name)) == name);
    }
    CHECK(icrc_kind_by_name("unmasked") == IcrcKind::Unmasked);
    CHECK(!icrc_kind_by_name("ugly"));
}

TEST_CASE("spec: every kind of UDP checksum", "[wire][ENC-04][ENC-06]") {
    for (const auto* original : {&frames::kAck, &frames::kAckV6, &frames::kSendOnlyPadded}) {
        PacketSpec spec = spec_of(*original);
        spec.udp_checksum = UdpChecksumKind::Good;
        auto bytes = encoded(spec, sender_of(*original));
        CHECK(decode_frame(bytes)->udp.checksum != 0);
        CHECK(refusal(bytes) == std::nullopt);
        CHECK(decode_frame(bytes)->icrc == decode_frame(*original)->icrc); // CRC-04
        spec.icrc = IcrcKind::Bad; // the checksum covers the ICRC, whatever it is
        CHECK(refusal(encoded(spec, sender_of(*original))) == FrameError::BadIcrc);
        spec.udp_checksum = UdpChecksumKind::Bad;
        spec.icrc = IcrcKind::Good;
        bytes = encoded(spec, sender_of(*original));
        CHECK(decode_frame(bytes)->udp.checksum != 0);
        CHECK(refusal(bytes) == FrameError::BadUdpChecksum);
        spec.udp_checksum = std::uint16_t{0x1234};
        CHECK(decode_frame(encoded(spec, sender_of(*original)))->udp.checksum == 0x1234);
        spec.fields = {{Field::UdpChecksum, std::uint64_t{0x4321}}};
        CHECK(decode_frame(encoded(spec, sender_of(*original)))->udp.checksum == 0x4321);
    }
}

TEST_CASE("spec: a bad UDP checksum is never the good one and never zero", "[wire][ENC-06]") {
    // With the ICRC held fast, the source port goes through every value that the sum can have.
    const auto sender = sender_of(frames::kSendOnlyEmpty);
    PacketSpec spec = spec_of(frames::kSendOnlyEmpty);
    spec.icrc = std::uint32_t{0};
    std::set<int> seen;
    bool always = true;
    for (std::uint64_t port = 0; port < 0x10000; ++port) {
        spec.fields = {{Field::UdpSourcePort, port}};
        spec.udp_checksum = UdpChecksumKind::Good;
        const auto good = load_u16(encoded(spec, sender), 40);
        spec.udp_checksum = UdpChecksumKind::Bad;
        const auto bad = load_u16(encoded(spec, sender), 40);
        always = always && good != 0 && bad != good && bad != 0;
        seen.insert(good);
    }
    CHECK(always);
    CHECK(seen.size() == 0xFFFF);
}

TEST_CASE("spec: lengths and checksums stay as written", "[wire][ENC-08]") {
    const auto sender = sender_of(frames::kSendOnlyPadded);
    PacketSpec spec = spec_of(frames::kSendOnlyPadded);
    spec.fields = {{Field::UdpLength, std::uint64_t{24}}};
    auto bytes = encoded(spec, sender);
    CHECK(load_u16(bytes, 38) == 24);
    CHECK(refusal(bytes) == FrameError::LengthMismatch);
    // Only the length is wrong: the ICRC is right where it really stands, over what is really
    // there.
    CHECK(icrc(Bytes(bytes).subspan(14, 44)) == load_icrc(Bytes(bytes).subspan(58)));
    spec.fields = {{Field::IpLength, std::uint64_t{47}}};
    bytes = encoded(spec, sender);
    CHECK(load_u16(bytes, 16) == 47);
    CHECK(refusal(bytes) == FrameError::LengthMismatch);
    spec.fields = {{Field::IpChecksum, std::uint64_t{0xDEAD}}};
    bytes = encoded(spec, sender);
    CHECK(differences(bytes, frames::kSendOnlyPadded) == Places{24, 25});
    CHECK(refusal(bytes) == FrameError::BadIpChecksum);
}

TEST_CASE("spec: IPv4 options", "[wire][ENC-10]") {
    PacketSpec spec = spec_of(frames::kSendOnlyPadded);
    spec.ip_options = bytes_of("01 01 01 00");
    auto bytes = encoded(spec, sender_of(frames::kSendOnlyPadded));
    CHECK(bytes.size() == frames::kSendOnlyPadded.size() + 4);
    CHECK(refusal(bytes) == std::nullopt);
    CHECK(decode_frame(bytes)->ipv4->header_length == 6);
    CHECK(std::ranges::equal(Bytes(bytes).subspan(34, 4), spec.ip_options));
    spec.ip_options.resize(40);
    CHECK(refusal(encoded(spec, sender_of(frames::kSendOnlyPadded))) == std::nullopt);
    spec.ip_options.resize(44);
    CHECK(failure(spec, sender_of(frames::kSendOnlyPadded)).error == SpecError::ValueTooLarge);
    spec.ip_options.resize(3);
    CHECK(failure(spec, sender_of(frames::kSendOnlyPadded)).error == SpecError::ValueTooLarge);
    spec.ip_options.resize(4);
    CHECK(failure(spec, sender_of(frames::kAckV6)).error == SpecError::FieldNotInPacket);
}

TEST_CASE("spec: what cannot be written is refused with the field", "[wire]") {
    const auto check = [](Field field, FieldValue value, const std::vector<std::byte>& original,
                          SpecError error) {
        INFO(field_info(field).name);
        PacketSpec spec = spec_of(original);
        spec.fields = {{field, value}};
        const SpecFailure found = failure(spec, sender_of(original));
        CHECK(found.error == error);
        CHECK(found.field == field);
    };
    const std::uint64_t one = 1;
    check(Field::Msn, one, frames::kWriteOnly, SpecError::FieldNotInPacket);
    check(Field::Va, one, frames::kAck, SpecError::FieldNotInPacket);
    check(Field::IpFlow, one, frames::kAck, SpecError::FieldNotInPacket);
    check(Field::IpId, one, frames::kAckV6, SpecError::FieldNotInPacket);
    check(Field::IpSource, *IpAddress::parse("::1"), frames::kAck, SpecError::FieldNotInPacket);
    check(Field::IpSource, *IpAddress::parse("1.1.1.1"), frames::kAckV6,
          SpecError::FieldNotInPacket);
    check(Field::Psn, std::uint64_t{0x1000000}, frames::kAck, SpecError::ValueTooLarge);
    check(Field::Pad, std::uint64_t{4}, frames::kAck, SpecError::ValueTooLarge);
    check(Field::Psn, MacAddress{}, frames::kAck, SpecError::WrongKind);
    check(Field::Psn, IpAddress{}, frames::kAck, SpecError::WrongKind);
    check(Field::IpSource, one, frames::kAck, SpecError::WrongKind);
    check(Field::IpSource, MacAddress{}, frames::kAck, SpecError::WrongKind);
    check(Field::EthSource, one, frames::kAck, SpecError::WrongKind);
    check(Field::EthSource, IpAddress{}, frames::kAck, SpecError::WrongKind);
}

TEST_CASE("spec: packets are as long as IP allows, and no longer", "[wire]") {
    for (const auto* original : {&frames::kSendOnlyEmpty, &frames::kSendOnlyV6}) {
        const auto sender = sender_of(*original);
        const std::size_t overhead = (decode_frame(*original)->ipv4 ? 20U : 0U) + 8 + 12 + 4;
        PacketSpec spec{.opcode = 0x04, .pad_bytes = std::vector<std::byte>{}};
        spec.payload = std::vector<std::byte>(65535 - overhead);
        CHECK(refusal(encoded(spec, sender)) == std::nullopt);
        spec.payload->push_back(std::byte{0});
        CHECK(failure(spec, sender).error == SpecError::FrameTooLong);
    }
}

TEST_CASE("spec: each error has a sentence of its own", "[wire]") {
    std::set<std::string_view> texts;
    for (int i = 0; i <= static_cast<int>(SpecError::FlipOutside); ++i)
        texts.insert(text_of(static_cast<SpecError>(i)));
    CHECK(texts.size() == 5);
    CHECK(texts.count("") == 0);
}
