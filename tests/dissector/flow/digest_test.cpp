// Digests cover every byte of every header, whichever headers a packet has.
#include "dissector/flow/digest.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "dissector/flow/deliveries.hpp"

namespace veriroce::flow::test {
namespace {

constexpr std::size_t kBody = 8; // payload, and two bytes of pad

// A packet of this opcode, without a zero byte.
std::vector<std::byte> bytes_of(const wire::OpcodeInfo& info) {
    std::vector<std::byte> bytes(info.header_bytes + kBody, std::byte{0x5A});
    bytes[0] = std::byte{info.code};
    bytes[1] = std::byte{0x20}; // two bytes of pad
    return bytes;
}

Packet packet_in(wire::Bytes bytes) {
    wire::Envelope envelope;
    envelope.source = *wire::IpAddress::parse("192.0.2.1");
    envelope.destination = *wire::IpAddress::parse("192.0.2.2");
    const auto packet = flow::packet_of({.envelope = envelope, .bytes = bytes}, 1, wire::Instant{});
    REQUIRE(packet);
    return *packet;
}

template <typename Check>
void for_each_flipped_bit(const wire::OpcodeInfo& info, Check check) {
    std::vector<std::byte> bytes = bytes_of(info);
    for (std::size_t at = 1; at < bytes.size(); ++at) { // another opcode is another packet
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::byte mask{static_cast<std::uint8_t>(1U << bit)};
            const bool pad = at == 1 && (bit == 4 || bit == 5);
            if (pad) continue; // they move the end of the payload
            bytes[at] ^= mask;
            INFO(info.title << ", byte " << at << ", bit " << bit);
            check(packet_in(bytes), at);
            bytes[at] ^= mask;
        }
    }
}

} // namespace

TEST_CASE("flow: a retransmission with another bit in any extended header has another digest",
          "[flow][REQ-31]") {
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        if (info.reserved()) continue;
        const std::vector<std::byte> original = bytes_of(info);
        const std::uint64_t digest = digest_of(packet_in(original));
        for_each_flipped_bit(info, [&](const Packet& packet, std::size_t at) {
            const bool pad = at >= original.size() - 2;
            const bool repeated = at >= wire::Bth::kSize && !pad;
            CHECK((digest_of(packet) != digest) == repeated);
        });
    }
}

TEST_CASE("flow: a packet with another bit that the ICRC covers is not the packet that was sent",
          "[flow][CRC-05][CRC-06]") {
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        if (info.reserved()) continue;
        const std::vector<std::byte> original = bytes_of(info);
        Deliveries deliveries;
        deliveries.sent(packet_in(original));
        for_each_flipped_bit(info, [&](const Packet& packet, std::size_t at) {
            const bool masked = at == 4; // FECN, BECN and reserved bits
            CHECK(deliveries.arrived(packet).has_value() == masked);
        });
        CHECK(deliveries.arrived(packet_in(original)).has_value());
    }
}

} // namespace veriroce::flow::test
