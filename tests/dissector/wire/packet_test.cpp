#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using frames::bytes_of;

namespace {

std::vector<std::byte> encoded(const Packet& packet) {
    std::vector<std::byte> bytes(kMaxTransportHeaderBytes);
    bytes.resize(encode_headers(packet, bytes));
    REQUIRE(bytes.size() == packet.header_bytes());
    bytes.insert(bytes.end(), packet.body.begin(), packet.body.end());
    return bytes;
}

Packet packet_of(const std::vector<std::byte>& frame) {
    const auto packet = decode_packet(decode_frame(frame)->transport);
    REQUIRE(packet);
    return *packet;
}

} // namespace

TEST_CASE("packet: captured packets decode to what tshark shows", "[wire]") {
    const Packet write = packet_of(frames::kWriteOnly);
    CHECK(write.info().name == "RDMA_WRITE_ONLY");
    CHECK(write.bth.psn == Psn(4124));
    CHECK(write.bth.dest_qp == Qpn{0x39});
    CHECK(write.bth.ack_request);
    CHECK(write.reth == Reth{0x7F1B45CB8000, {0x2E52}, 1});
    CHECK(write.body.size() == 4);
    CHECK(write.payload().size() == 1);

    const Packet swap = packet_of(frames::kCompareSwap);
    CHECK(swap.info().operation == Operation::CompareSwap);
    CHECK(swap.bth.psn == Psn(2852790));
    CHECK(swap.atomic == AtomicEth{0x5595DC8EB000, {0x10D6}, 0, 0});

    const Packet add = packet_of(frames::kFetchAdd);
    CHECK(add.atomic == AtomicEth{0x5625D0ECA000, {0x110D}, 1, 0});

    const Packet atomic_ack = packet_of(frames::kAtomicAck);
    CHECK(atomic_ack.aeth == Aeth{Syndrome::ack(31), {10}});
    CHECK(atomic_ack.atomic_ack.original == 7547778984241313777U);

    const Packet datagram = packet_of(frames::kUdSendOnlyImm);
    CHECK(datagram.deth == Deth{.qkey = {0x11111111}, .source_qp = {0x45}});
    CHECK(datagram.imm.value == 0);
    CHECK(datagram.payload().size() == 1);

    CHECK(packet_of(frames::kRnrNak).aeth.syndrome == Syndrome::rnr(20));
    CHECK(packet_of(frames::kNakAccess).aeth.syndrome == Syndrome::nak(NakCode::RemoteAccess));
    CHECK(packet_of(frames::kSendOnlyImm).imm.value == 0xA0000000);
}

TEST_CASE("packet: captured packets encode to the same bytes", "[wire]") {
    for (const auto* frame : frames::kSealed) {
        const Bytes transport = decode_frame(*frame)->transport;
        CHECK(std::ranges::equal(encoded(*decode_packet(transport)), transport));
    }
}

TEST_CASE("packet: the headers of every opcode stand in the order of the table", "[wire]") {
    for (const OpcodeInfo& info : opcode_table()) {
        INFO(info.title);
        std::vector<std::byte> bytes(kMaxTransportHeaderBytes);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i);
        bytes[0] = static_cast<std::byte>(info.code);
        const auto packet = decode_packet(bytes);
        REQUIRE(packet);
        CHECK(packet->headers == info.headers);
        std::size_t at = Bth::kSize;
        const auto check = [&]<typename H>(Header kind, const H& header) {
            CHECK(H::kSize == size_of(kind));
            CHECK(header == (info.headers.has(kind) ? *H::decode(Bytes(bytes).subspan(at)) : H{}));
            if (info.headers.has(kind)) at += H::kSize;
        };
        check(Header::Rdeth, packet->rdeth);
        check(Header::Deth, packet->deth);
        check(Header::Xrceth, packet->xrceth);
        check(Header::Feth, packet->feth);
        check(Header::Reth, packet->reth);
        check(Header::AtomicEth, packet->atomic);
        check(Header::Aeth, packet->aeth);
        check(Header::AtomicAckEth, packet->atomic_ack);
        check(Header::ImmDt, packet->imm);
        check(Header::Ieth, packet->ieth);
        CHECK(packet->header_bytes() == at);
        CHECK(packet->body.data() == bytes.data() + at);
        CHECK(packet->body.size() == bytes.size() - at);
    }
}

TEST_CASE("packet: decode then encode is the identity on any bytes that decode", "[wire]") {
    constexpr unsigned kSeed = 8191;
    INFO("seed " << kSeed);
    std::mt19937 random(kSeed);
    int decoded = 0;
    for (int round = 0; round < 5000; ++round) {
        std::vector<std::byte> bytes(random() % 96);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random());
        const auto packet = decode_packet(bytes);
        if (!packet) continue;
        ++decoded;
        REQUIRE(encoded(*packet) == bytes);
    }
    CHECK(decoded > 3000);
}

TEST_CASE("packet: too short is an error, of every length and opcode", "[wire]") {
    for (const OpcodeInfo& info : opcode_table()) {
        INFO(info.title);
        std::vector<std::byte> bytes(kMaxTransportHeaderBytes);
        bytes[0] = static_cast<std::byte>(info.code);
        const std::size_t headers = decode_packet(bytes)->header_bytes();
        for (std::size_t length = 0; length < headers; ++length) {
            const auto packet = decode_packet(Bytes(bytes).first(length));
            REQUIRE(!packet);
            CHECK(packet.error() == (length < Bth::kSize ? PacketError::TooShortForBth
                                                         : PacketError::TooShortForHeaders));
        }
        const auto exact = decode_packet(Bytes(bytes).first(headers));
        REQUIRE(exact);
        CHECK(exact->body.empty());
    }
    CHECK(text_of(PacketError::TooShortForBth) != text_of(PacketError::TooShortForHeaders));
}

TEST_CASE("packet: a pad count larger than the body leaves no payload", "[wire][BTH-12]") {
    auto bytes = bytes_of("04 30 ff ff 00 00 00 39 80 00 10 01 aa bb");
    CHECK(decode_packet(bytes)->pad_exceeds_body());
    CHECK(decode_packet(bytes)->payload().empty());
    CHECK(decode_packet(bytes)->body.size() == 2);
    bytes.push_back(std::byte{0xCC});
    CHECK(!decode_packet(bytes)->pad_exceeds_body());
    CHECK(decode_packet(bytes)->payload().empty());
    bytes.push_back(std::byte{0xDD});
    CHECK(std::ranges::equal(decode_packet(bytes)->payload(), bytes_of("aa")));
}
