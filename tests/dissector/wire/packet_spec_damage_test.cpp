#include <catch2/catch.hpp>

#include <algorithm>

#include "dissector/wire/icrc.hpp"
#include "tests/dissector/wire/spec_builders.hpp"

using namespace veriroce::wire;
using namespace veriroce::wire::frames;

TEST_CASE("spec: truncate repairs lengths and sums, not the ICRC", "[wire][BTH-20]") {
    for (const auto* original : {&frames::kWriteOnly, &frames::kSendOnlyV6}) {
        const auto sender = sender_of(*original);
        const auto frame = *decode_frame(*original);
        const std::size_t bth = frame.layers.at(Layer::Bth);
        for (std::size_t kept = 0; kept < original->size() - bth; ++kept) {
            INFO(kept);
            PacketSpec spec = spec_of(*original);
            spec.damage.truncate = kept;
            spec.udp_checksum = UdpChecksumKind::Good;
            const auto bytes = encoded(spec, sender);
            REQUIRE(bytes.size() == bth + kept);
            const Bytes transport = Bytes(bytes).subspan(bth);
            CHECK(std::ranges::equal(transport, Bytes(*original).subspan(bth, kept)));
            CHECK(refusal(bytes) == (kept < 16 ? FrameError::Truncated : FrameError::BadIcrc));
        }
        PacketSpec spec = spec_of(*original);
        spec.damage.truncate = original->size() - bth;
        CHECK(encoded(spec, sender) == *original);
        spec.damage.truncate = 100000;
        CHECK(encoded(spec, sender) == *original);
    }
    PacketSpec spec = spec_of(frames::kWriteOnly);
    spec.damage.truncate = 16;
    spec.fields = {{Field::UdpLength, std::uint64_t{40}}}; // a written length is not repaired
    CHECK(load_u16(encoded(spec, sender_of(frames::kWriteOnly)), 38) == 40);
}

TEST_CASE("spec: cut repairs nothing", "[wire]") {
    PacketSpec spec = spec_of(frames::kWriteOnly);
    for (std::size_t kept = 0; kept <= frames::kWriteOnly.size(); ++kept) {
        spec.damage.cut = kept;
        const auto bytes = encoded(spec, sender_of(frames::kWriteOnly));
        CHECK(std::ranges::equal(bytes, Bytes(frames::kWriteOnly).first(kept)));
    }
    spec.damage.cut = 5000;
    CHECK(encoded(spec, sender_of(frames::kWriteOnly)) == frames::kWriteOnly);
}

TEST_CASE("spec: a trailer lies outside the lengths", "[wire][ENC-07]") {
    PacketSpec spec = spec_of(frames::kAck);
    spec.damage.trailer = 40;
    const auto bytes = encoded(spec, sender_of(frames::kAck));
    REQUIRE(bytes.size() == frames::kAck.size() + 40);
    CHECK(std::ranges::equal(Bytes(bytes).first(frames::kAck.size()), frames::kAck));
    CHECK(refusal(bytes) == std::nullopt);
    spec.damage.cut = 20;
    CHECK(encoded(spec, sender_of(frames::kAck)).size() == 60);
}

TEST_CASE("spec: an untagged frame is the one of a sender without a VLAN", "[wire][N-05]") {
    for (const auto* original : {&frames::kWriteOnly, &frames::kSendOnlyV6}) {
        PacketSpec spec = spec_of(*original);
        auto sender = sender_of(*original);
        spec.damage.untagged = true;
        CHECK(encoded(spec, sender) == *original);
        sender.envelope.vlan = VlanId{.id = 77, .priority = 3};
        CHECK(encoded(spec, sender) == *original);
        spec.damage.cut = 15; // inside the tag
        CHECK(encoded(spec, sender).size() == 15);
    }
}

TEST_CASE("spec: flips are done after the sums", "[wire][CRC-06]") {
    const auto sender = sender_of(frames::kSendOnlyPadded);
    const auto flipped = [&](std::vector<Flip> flips) {
        PacketSpec spec = spec_of(frames::kSendOnlyPadded);
        spec.damage.flips = std::move(flips);
        return encoded(spec, sender);
    };
    CHECK(differences(flipped({{Field::Psn, 0}}), frames::kSendOnlyPadded) == Places{kBth + 11});
    CHECK(flipped({{Field::Psn, 23}})[kBth + 9] == std::byte{0x80});
    CHECK(refusal(flipped({{Field::Psn, 0}})) == FrameError::BadIcrc);
    // Of the IP header: its checksum is made good again.
    CHECK(differences(flipped({{Field::IpId, 0}}), frames::kSendOnlyPadded) == Places{19, 25});
    CHECK(refusal(flipped({{Field::IpId, 0}})) == FrameError::BadIcrc);
    CHECK(refusal(flipped({{Field::IpTtl, 0}})) == std::nullopt);
    CHECK(refusal(flipped({{std::size_t{8}, 0}})) == std::nullopt);
    CHECK(flipped({{std::size_t{8}, 3}}) == flipped({{Field::IpTtl, 3}}));
    CHECK(flipped({{std::size_t{28}, 7}}) == flipped({{Field::Opcode, 7}}));
    CHECK(flipped({{Field::Psn, 1}, {Field::Psn, 1}}) == frames::kSendOnlyPadded);
    // Of the checksum itself: it stays wrong.
    for (const Flip& flip :
         {Flip{Field::IpChecksum, 0}, Flip{std::size_t{11}, 0}, Flip{std::size_t{10}, 5}}) {
        CHECK(differences(flipped({flip}), frames::kSendOnlyPadded).size() == 1);
        CHECK(refusal(flipped({flip})) == FrameError::BadIpChecksum);
    }
    // Of the header length: a receiver sums up as many bytes as it says.
    const auto longer = flipped({{std::size_t{0}, 1}});
    CHECK(longer[14] == std::byte{0x47});
    CHECK(checksum_fold(checksum_add(Bytes(longer).subspan(14, 28))) == 0);
    CHECK(refusal(flipped({{std::size_t{0}, 0}})) == FrameError::LengthMismatch);
    // The last byte of all.
    CHECK(differences(flipped({{std::size_t{47}, 0}}), frames::kSendOnlyPadded) == Places{61});
    CHECK(differences(flipped({{Field::Icrc, 31}}), frames::kSendOnlyPadded) == Places{58});
}

TEST_CASE("spec: inverted bits come before the sums", "[wire][CRC-06]") {
    for (const auto* original : {&frames::kWriteOnly, &frames::kSendOnlyV6}) {
        const Frame whole = *decode_frame(*original);
        const std::size_t ip = Ethernet::kSize;
        for (const FieldInfo& info : field_table()) {
            const auto where = locate(whole.layers, info.field);
            const bool sum = info.field == Field::IpChecksum || info.field == Field::Icrc ||
                             info.field == Field::UdpChecksum;
            const bool covered = where && where->layer != Layer::Ethernet && !sum;
            if (!covered) continue;
            const auto last = static_cast<std::uint8_t>(where->bits - 1);
            for (const std::uint8_t bit : {std::uint8_t{0}, last}) {
                INFO(info.name << ", bit " << int{bit});
                PacketSpec spec = spec_of(*original);
                spec.inverted = {{info.field, bit}};
                const auto bytes = encoded(spec, sender_of(*original));
                REQUIRE(bytes.size() == original->size());
                // That bit differs, and otherwise nothing but the sums.
                std::vector<std::byte> expected(original->begin(), original->end());
                REQUIRE(flip_field(expected, whole.layers, info.field, bit));
                const std::size_t icrc_at = expected.size() - kIcrcBytes;
                if (whole.layers.has(Layer::Ipv4))
                    std::ranges::copy(Bytes(bytes).subspan(ip + 10, 2), expected.begin() + ip + 10);
                CHECK(std::ranges::equal(Bytes(bytes).first(icrc_at),
                                         Bytes(expected).first(icrc_at)));
                std::array<std::byte, kIcrcBytes> good{};
                store_icrc(good, icrc(Bytes(bytes).subspan(ip, icrc_at - ip)));
                CHECK(std::ranges::equal(Bytes(bytes).subspan(icrc_at), good));
            }
        }
    }
    PacketSpec spec = spec_of(frames::kWriteOnly);
    spec.inverted = {{Field::Qkey, 0}};
    CHECK(encode(spec, sender_of(frames::kWriteOnly)).error().error == SpecError::FieldNotInPacket);
}

TEST_CASE("spec: a checksum written stays as written under flips", "[wire]") {
    PacketSpec spec = spec_of(frames::kAck);
    spec.fields = {{Field::IpChecksum, std::uint64_t{0xBEEF}}};
    spec.damage.flips = {{Field::IpTtl, 0}};
    CHECK(load_u16(encoded(spec, sender_of(frames::kAck)), 24) == 0xBEEF);
}

TEST_CASE("spec: flips outside of the frame are refused", "[wire]") {
    const auto flip_error = [](Flip flip, std::optional<std::size_t> cut = std::nullopt) {
        PacketSpec spec = spec_of(frames::kAck);
        spec.damage.flips = {flip};
        spec.damage.cut = cut;
        return failure(spec, sender_of(frames::kAck)).error;
    };
    CHECK(flip_error({std::size_t{48}, 0}) == SpecError::FlipOutside);
    CHECK(flip_error({std::size_t{0}, 8}) == SpecError::FlipOutside);
    CHECK(flip_error({~std::size_t{0}, 0}) == SpecError::FlipOutside);
    CHECK(flip_error({Field::AckReq, 1}) == SpecError::FlipOutside);
    CHECK(flip_error({Field::Va, 0}) == SpecError::FieldNotInPacket);
    CHECK(flip_error({Field::Psn, 0}, 50) == SpecError::FlipOutside);
    CHECK(flip_error({std::size_t{0}, 0}, 10) == SpecError::FlipOutside);
    PacketSpec spec = spec_of(frames::kAck);
    spec.damage.cut = 20; // a flip in what is left of the IP header: no checksum to make good
    spec.damage.flips = {{std::size_t{1}, 0}};
    CHECK(differences(encoded(spec, sender_of(frames::kAck)),
                      {frames::kAck.begin(), frames::kAck.begin() + 20}) == Places{15});
}
