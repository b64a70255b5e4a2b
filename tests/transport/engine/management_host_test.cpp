// QP 1 of a host: datagrams in and out of the engine. connections_test.cpp has the answers.
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

TEST_CASE("management: a QP 1 that is in ERR keeps its host from nothing", "[engine][N-30]") {
    const wire::Instant now{};
    Engine engine(Config{});
    ManagementHost host(engine, now);
    bool failed = false;
    for (std::uint32_t i = 0; i < 4 && !failed; ++i) {
        const auto report = engine.query_qp(QpId{i});
        failed = report && report->qpn == wire::kGsiQpn &&
                 engine.modify_qp(QpId{i}, {.state = QpState::Err}, now).has_value();
    }
    REQUIRE(failed);
    CHECK_FALSE(host.serve(now)); // it posts no receive again, which would be flushed at once
    CHECK_FALSE(host.serve(now));
}
