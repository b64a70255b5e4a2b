// Packets in script notation, and whether one is the other again.
#include "conformance/interpreter/notation.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace veriroce::interpreter::test {
namespace {

std::vector<std::byte> bytes_of(const wire::OpcodeInfo& info) {
    std::vector<std::byte> bytes(info.header_bytes + 4U, std::byte{0x5A});
    bytes[0] = std::byte{info.code};
    bytes[1] = std::byte{0};
    return bytes;
}

wire::Packet packet_of(wire::Bytes bytes) {
    const auto packet = wire::decode_packet(bytes);
    REQUIRE(packet);
    return *packet;
}

} // namespace

TEST_CASE("notation: the same packet differs in AckReq, MigReq, FECN and BECN at most, and a "
          "datagram in its PSN",
          "[interpreter][REQ-31]") {
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        if (info.reserved()) continue;
        const std::vector<std::byte> original = bytes_of(info);
        std::vector<std::byte> bytes = original;
        for (std::size_t at = 1; at < bytes.size(); ++at) { // another opcode is another packet
            for (unsigned bit = 0; bit < 8; ++bit) {
                const std::byte mask{static_cast<std::uint8_t>(1U << bit)};
                const bool mig_req = at == 1 && bit == 6;
                const bool congestion = at == 4 && bit >= 6;
                const bool ack_request = at == 8 && bit == 7;
                const bool sent_again = info.service == wire::Service::Ud && at >= 9 && at < 12;
                bytes[at] ^= mask;
                INFO(info.title << ", byte " << at << ", bit " << bit);
                CHECK(same_packet(packet_of(original), packet_of(bytes)) ==
                      (mig_req || congestion || ack_request || sent_again));
                bytes[at] ^= mask;
            }
        }
    }
}

TEST_CASE("notation: a packet shows the fields of each header that it has", "[interpreter]") {
    wire::Packet packet;
    packet.headers = wire::HeaderSet(
        wire::Header::Rdeth, wire::Header::Deth, wire::Header::Xrceth, wire::Header::Feth,
        wire::Header::Reth, wire::Header::AtomicEth, wire::Header::Aeth, wire::Header::AtomicAckEth,
        wire::Header::ImmDt, wire::Header::Ieth);
    packet.rdeth.ee_context = 1;
    packet.deth = {.qkey = {2}, .source_qp = {3}};
    packet.xrceth.srq = 4;
    packet.feth = {.selectivity = 1, .placement = 2};
    packet.reth = {.virtual_address = 5, .rkey = {6}, .dma_length = 7};
    packet.atomic = {.virtual_address = 8, .rkey = {9}};
    packet.aeth = {.syndrome = wire::Syndrome::ack(3), .msn = {10}};
    packet.atomic_ack.original = 11;
    packet.imm.value = 12;
    packet.ieth.rkey = {13};
    CHECK(packet_text(packet, -1) ==
          "SEND_FIRST psn=-1 eecontext=0x1 qkey=0x2 srcqp=0x3 srq=0x4 plt=2 sel=1 va=0x5 rkey=0x6 "
          "dmalen=7 va=0x8 rkey=0x9 msn=10 credits=3 original=0xB imm=0xC ikey=0xD len=0");
}

} // namespace veriroce::interpreter::test
