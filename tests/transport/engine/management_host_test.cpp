// QP 1 as a host without listeners serves it.
#include <catch2/catch.hpp>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/engine.hpp"
#include "transport/engine/management_host.hpp"

using namespace veriroce;
using namespace veriroce::engine;

namespace {

constexpr std::uint16_t kReq = 0x10;

std::vector<std::byte> message(std::uint16_t attribute) {
    std::vector<std::byte> bytes(wire::kMadBytes);
    const wire::MutableBytes out(bytes);
    wire::store_be<4>(out, 0, 0x01070203U); // versions, class, method Send
    wire::store_be<8>(out, 8, std::uint64_t{0x1122334455667788});
    wire::store_be<2>(out, 16, attribute);
    wire::store_be<4>(out, 24, 0xA1A2A3A4U);
    wire::store_be<4>(out, 28, 0xB1B2B3B4U);
    wire::store_be<8>(out, 32, std::uint64_t{0x5E5E});
    return bytes;
}

std::uint32_t word(const ManagementDatagram& answer, std::size_t at) {
    return wire::load_u32(wire::Bytes(answer), at);
}

std::vector<std::byte> packet_with(wire::Bytes datagram, std::uint32_t qkey) {
    wire::Packet packet;
    packet.bth = {.opcode = *wire::opcode_by_name("SEND_ONLY", wire::Service::Ud),
                  .pkey = wire::kDefaultPkey,
                  .dest_qp = {1}};
    packet.headers = packet.info().headers;
    packet.deth = {.qkey = {qkey}, .source_qp = {1}};
    packet.body = datagram;
    std::vector<std::byte> bytes(packet.header_bytes() + datagram.size());
    wire::encode_headers(packet, bytes);
    std::ranges::copy(datagram, bytes.begin() + static_cast<std::ptrdiff_t>(packet.header_bytes()));
    return bytes;
}

} // namespace

TEST_CASE("management: REQ, DREQ and SIDR_REQ get their answers with the ids exchanged",
          "[engine][CM-06][CM-09]") {
    const auto reject = answer_to(message(kReq));
    REQUIRE(reject);
    CHECK(word(*reject, 0) == 0x01070203);
    CHECK(word(*reject, 8) == 0x11223344);
    CHECK(word(*reject, 12) == 0x55667788);
    CHECK(word(*reject, 16) == 0x0012'0000);
    CHECK(word(*reject, 24) == 0);
    CHECK(word(*reject, 28) == 0xA1A2A3A4);
    CHECK(word(*reject, 32) == 8); // of a REQ, reason 8

    const auto disconnected = answer_to(message(0x15));
    REQUIRE(disconnected);
    CHECK(word(*disconnected, 16) == 0x0016'0000);
    CHECK(word(*disconnected, 24) == 0xB1B2B3B4);
    CHECK(word(*disconnected, 28) == 0xA1A2A3A4);

    const auto refused = answer_to(message(0x17));
    REQUIRE(refused);
    CHECK(word(*refused, 16) == 0x0018'0000);
    CHECK(word(*refused, 24) == 0xA1A2A3A4);
    CHECK(word(*refused, 28) == 0x0100'0000); // service not supported
    CHECK(word(*refused, 40) == 0x5E5E);
}

TEST_CASE("management: malformed and stray messages get no answer", "[engine][N-31][CM-11]") {
    for (const int attribute :
         {0x00, 0x0F, 0x11, 0x12, 0x13, 0x14, 0x16, 0x18, 0x19, 0x1A, 0x1B, 0xFFFF}) {
        INFO(attribute);
        CHECK_FALSE(answer_to(message(static_cast<std::uint16_t>(attribute))));
    }
    for (const std::size_t at : {0U, 1U, 2U, 3U}) {
        std::vector<std::byte> wrong = message(kReq);
        wrong[at] ^= std::byte{0x80};
        CHECK_FALSE(answer_to(wrong));
    }
    for (const std::size_t size : {0U, 23U, 255U, 257U}) {
        std::vector<std::byte> wrong = message(kReq);
        wrong.resize(size);
        CHECK_FALSE(answer_to(wrong));
    }
}

TEST_CASE("management: QP 1 answers to where a datagram came from, more often than it has buffers",
          "[engine][N-30]") {
    const wire::Instant now{};
    Engine engine(Config{});
    ManagementHost host(engine, now);
    for (const std::string_view from : {"192.0.2.7", "2001:db8::7"}) {
        const bool v4 = from.front() == '1';
        const wire::Envelope envelope{.source = *wire::IpAddress::parse(from),
                                      .destination =
                                          *wire::IpAddress::parse(v4 ? "192.0.2.1" : "2001:db8::1"),
                                      .source_port = 0xC000};
        const auto whole = packet_with(message(kReq), 0x80010000);
        const auto of_another_key = packet_with(message(kReq), 0x80010001);
        for (int i = 0; i < 40; ++i) {
            engine.handle({.envelope = envelope, .bytes = of_another_key}, now);
            CHECK_FALSE(host.serve(now));
            engine.handle({.envelope = envelope, .bytes = whole}, now);
            CHECK(host.serve(now));
            CHECK_FALSE(host.serve(now)); // nothing new
            const Transmit* answer = engine.poll_transmit(now);
            REQUIRE(answer != nullptr);
            CHECK(answer->envelope.destination == envelope.source);
            CHECK(answer->envelope.source == envelope.destination);
            const auto packet = wire::decode_packet(answer->headers);
            REQUIRE(packet);
            CHECK(packet->bth.dest_qp == wire::Qpn{1});
            CHECK(packet->deth == wire::Deth{.qkey = {0x80010000}, .source_qp = {1}});
            CHECK(answer->payload.size() == wire::kMadBytes);
            CHECK(engine.poll_transmit(now) == nullptr);
        }
    }
}
