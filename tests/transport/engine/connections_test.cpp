// Connection management of a host, message by message. The bytes are InfiniBand volume 1's, written
// here by their places.
#include <catch2/catch.hpp>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/connections.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::ConnectionEvent;

namespace {

constexpr ServiceId kService{0x0000'0000'0106'1234};
constexpr wire::Qpn kOwnQpn{0x17};
constexpr std::uint16_t kReq = 0x10;

const AddressVector kWay{.source = wire::IpAddress::from_v4(0x0A4D0001),
                         .destination = wire::IpAddress::from_v4(0x0A4D0002)};

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

// To the service: QPN 0x222, PSN 0x333333, path MTU 2048, code 18 of a timeout (1.07 s), two
// repeats, 4 READs of ours and 5 of the peer.
std::vector<std::byte> request() {
    std::vector<std::byte> bytes = message(kReq);
    const wire::MutableBytes out(bytes);
    wire::store_be<4>(out, 28, 0U);
    wire::store_be<8>(out, 32, kService.value);
    wire::store_be<8>(out, 40, std::uint64_t{0x9999}); // the peer's GUID
    wire::store_be<4>(out, 56, 0x00022204U);
    wire::store_be<4>(out, 60, 0x00000005U);
    wire::store_be<4>(out, 68, 0x33333300U | 18U << 3 | 6U);
    wire::store_be<2>(out, 72, 0xFFFFU);
    out[74] = std::byte{0x43};
    out[75] = std::byte{0x20};
    std::ranges::copy(kWay.destination.bytes, out.begin() + 80);
    std::ranges::copy(kWay.source.bytes, out.begin() + 96);
    out[117] = std::byte{64};
    out[119] = std::byte{14U << 3};
    return bytes;
}

struct Host {
    Host() { REQUIRE(connections.listen(kService)); }

    void take(wire::Bytes bytes) { connections.take(bytes, kWay, wire::kGsiQpn, now); }
    std::optional<ManagementDatagram> answer() {
        auto one = connections.poll_message();
        if (!one) return std::nullopt;
        CHECK(one->to == wire::kGsiQpn);
        CHECK(one->path.destination == kWay.destination);
        return one->datagram;
    }
    std::uint16_t attribute() {
        const auto one = answer();
        return one ? wire::load_u16(*one, 16) : 0;
    }
    std::optional<ConnectionEvent> event() {
        const auto one = connections.poll_event(kService);
        if (!one) return std::nullopt;
        connection = one->connection;
        return one->type;
    }
    // REQ and REP.
    void accept() {
        take(request());
        REQUIRE(event() == ConnectionEvent::ConnectRequest);
        REQUIRE(connections.accept(
            connection, {.qpn = kOwnQpn, .responder_resources = 5, .initiator_depth = 4}, now));
        reply = *answer();
    }
    // A message of the peer about the connection.
    std::vector<std::byte> of_connection(std::uint16_t attribute) const {
        std::vector<std::byte> bytes = message(attribute);
        wire::store_be<4>(wire::MutableBytes(bytes), 28, connection.value);
        wire::store_be<4>(wire::MutableBytes(bytes), 32, kOwnQpn.value << 8);
        return bytes;
    }

    Connections connections;
    wire::Instant now{};
    ConnectionId connection;
    ManagementDatagram reply{};
};

std::uint32_t word(const ManagementDatagram& answer, std::size_t at) {
    return wire::load_u32(wire::Bytes(answer), at);
}

} // namespace

TEST_CASE("connections: without a listener REQ, DREQ and SIDR_REQ get their answers",
          "[engine][CM-06][CM-09]") {
    Host host;
    host.take(message(kReq));
    const auto reject = host.answer();
    REQUIRE(reject);
    CHECK(word(*reject, 0) == 0x01070203);
    CHECK(word(*reject, 8) == 0x11223344);
    CHECK(word(*reject, 12) == 0x55667788);
    CHECK(word(*reject, 16) == 0x0012'0000);
    CHECK(word(*reject, 24) == 0);
    CHECK(word(*reject, 28) == 0xA1A2A3A4);
    CHECK(word(*reject, 32) == 8); // of a REQ, reason 8

    host.take(message(0x15));
    const auto disconnected = host.answer();
    REQUIRE(disconnected);
    CHECK(word(*disconnected, 16) == 0x0016'0000);
    CHECK(word(*disconnected, 24) == 0xB1B2B3B4);
    CHECK(word(*disconnected, 28) == 0xA1A2A3A4);

    host.take(message(0x17));
    const auto refused = host.answer();
    REQUIRE(refused);
    CHECK(word(*refused, 16) == 0x0018'0000);
    CHECK(word(*refused, 24) == 0xA1A2A3A4);
    CHECK(word(*refused, 28) == 0x0100'0000); // service not supported
    CHECK(word(*refused, 40) == 0x5E5E);
}

TEST_CASE("connections: malformed and stray messages get no answer", "[engine][N-31][CM-11]") {
    Host host;
    for (const int attribute :
         {0x00, 0x0F, 0x11, 0x12, 0x13, 0x14, 0x16, 0x18, 0x19, 0x1A, 0x1B, 0xFFFF}) {
        INFO(attribute);
        host.take(message(static_cast<std::uint16_t>(attribute)));
        CHECK_FALSE(host.answer());
    }
    for (const std::size_t at : {0U, 1U, 2U, 3U}) {
        std::vector<std::byte> wrong = message(kReq);
        wrong[at] ^= std::byte{0x80};
        host.take(wrong);
        CHECK_FALSE(host.answer());
    }
    for (const std::size_t size : {0U, 23U, 255U, 257U}) {
        std::vector<std::byte> wrong = message(kReq);
        wrong.resize(size);
        host.take(wrong);
        CHECK_FALSE(host.answer());
    }
}

TEST_CASE("connections: an accepted REQ gets a REP, and an RTU ends the wait",
          "[engine][CM-01][CM-02][CM-03]") {
    Host host;
    host.accept();
    const ConnectionOffer& offer = *host.connections.offer(host.connection);
    CHECK(offer.peer == wire::Qpn{0x222});
    CHECK(offer.sq_psn == wire::Psn(0x333333));
    CHECK(offer.mtu == wire::Mtu::B2048);
    CHECK(offer.pkey == wire::kDefaultPkey);
    CHECK(offer.timeout == 14);
    CHECK(offer.retry_count == 6);
    CHECK(offer.rnr_retry == 3);
    CHECK(offer.responder_resources == 5);
    CHECK(offer.initiator_depth == 4);
    CHECK(offer.path.destination == kWay.destination);
    CHECK(offer.path.hop_limit == 64);

    CHECK(word(host.reply, 16) == 0x0013'0000);
    CHECK(word(host.reply, 8) == 0x11223344);
    CHECK(word(host.reply, 24) == host.connection.value);
    CHECK(word(host.reply, 28) == 0xA1A2A3A4);
    CHECK(word(host.reply, 36) == kOwnQpn.value << 8);
    CHECK(word(host.reply, 44) == offer.rq_psn.value() << 8);
    CHECK(wire::load_u16(host.reply, 48) == 0x0504);
    CHECK(wire::load_u8(host.reply, 51) == 3U << 5);
    CHECK_FALSE(host.event());
    host.take(host.of_connection(0x14));
    CHECK(host.event() == ConnectionEvent::Established);
    CHECK_FALSE(host.connections.next_deadline());
}

TEST_CASE("connections: a REP without an RTU comes again, then a REJ and no more",
          "[engine][CM-01][N-34]") {
    Host host;
    host.accept();
    for (int repeat = 0; repeat < 2; ++repeat) {
        host.now = host.connections.next_deadline().value();
        host.connections.advance(host.now - milliseconds(1));
        CHECK_FALSE(host.answer());
        host.connections.advance(host.now);
        CHECK(host.answer() == host.reply);
    }
    host.now = host.connections.next_deadline().value();
    CHECK(host.now > wire::Instant{} + seconds(3));
    host.connections.advance(host.now);
    const auto last = host.answer();
    REQUIRE(last);
    CHECK(word(*last, 16) == 0x0012'0000);
    CHECK(word(*last, 32) == 0x4000'0004); // of the REP, a timeout
    CHECK(host.event() == ConnectionEvent::Unreachable);
    CHECK_FALSE(host.connections.next_deadline());
}

TEST_CASE("connections: an MRA makes the REP wait", "[engine][CM-10]") {
    Host host;
    host.accept();
    const wire::Instant before = host.connections.next_deadline().value();
    auto later = host.of_connection(0x11);
    later[33] = std::byte{20U << 3}; // 4.3 s
    later[32] = std::byte{0};        // of the REQ
    host.take(later);
    CHECK(host.connections.next_deadline().value() == before);
    later[32] = std::byte{0x40};
    host.take(later);
    CHECK(host.connections.next_deadline().value() == before + wire::Duration(4096LL << 20));
}

TEST_CASE("connections: the same REQ again draws the same REP and no second request",
          "[engine][CM-05]") {
    Host host;
    host.take(request());
    REQUIRE(host.event() == ConnectionEvent::ConnectRequest);
    host.take(request());
    CHECK_FALSE(host.answer());
    CHECK_FALSE(host.event());
    REQUIRE(host.connections.accept(host.connection, {.qpn = kOwnQpn}, host.now));
    CHECK_FALSE(host.connections.accept(host.connection, {.qpn = kOwnQpn}, host.now));
    const auto reply = host.answer();
    host.take(request());
    CHECK(host.answer() == reply);
    CHECK_FALSE(host.event());
}

TEST_CASE("connections: what no QP could use is refused with its reason", "[engine][CM-07]") {
    struct Row {
        std::size_t at;
        std::uint8_t value;
        std::uint32_t reason;
    };
    for (const Row& row : {Row{67, 0x02, 9}, Row{74, 0x03, 26}, Row{74, 0x63, 26}, Row{95, 9, 12},
                           Row{111, 9, 12}}) {
        INFO(row.at);
        Host host;
        std::vector<std::byte> wrong = request();
        wrong[row.at] = std::byte{row.value};
        host.take(wrong);
        const auto refusal = host.answer();
        REQUIRE(refusal);
        CHECK(word(*refusal, 16) == 0x0012'0000);
        CHECK(word(*refusal, 32) == row.reason);
        CHECK_FALSE(host.event());
    }
    Host host;
    host.take(request());
    REQUIRE(host.event() == ConnectionEvent::ConnectRequest);
    CHECK(host.connections.reject(host.connection));
    const auto refusal = host.answer();
    REQUIRE(refusal);
    CHECK(word(*refusal, 32) == 28); // by the program
    CHECK_FALSE(host.connections.reject(host.connection));
    host.take(request());
    CHECK(host.answer() == refusal);
}

TEST_CASE("connections: a peer that gives up on its REQ is not answered any more",
          "[engine][N-34]") {
    Host host;
    host.take(request());
    REQUIRE(host.event() == ConnectionEvent::ConnectRequest);
    auto end = message(0x12);
    wire::store_be<4>(wire::MutableBytes(end), 28, 0U);
    wire::store_be<4>(wire::MutableBytes(end), 32, 4U);
    host.take(end);
    CHECK(host.event() == ConnectionEvent::Rejected);
    CHECK_FALSE(host.connections.accept(host.connection, {.qpn = kOwnQpn}, host.now));
}

TEST_CASE("connections: many strangers do not keep others out", "[engine]") {
    Host host;
    host.accept();
    const ConnectionId first = host.connection;
    auto another = request();
    for (std::uint32_t i = 0; i < 3000; ++i) {
        wire::store_be<4>(wire::MutableBytes(another), 24, i);
        wire::store_be<4>(wire::MutableBytes(another), 56, (0x1000 + i) << 8);
        host.take(another);
        CHECK(host.event() == ConnectionEvent::ConnectRequest);
        CHECK_FALSE(host.answer());
    }
    CHECK(host.connections.offer(first) != nullptr);
    CHECK(host.connections.offer(host.connection) != nullptr);
    CHECK(host.connections.offer({first.value + 1}) == nullptr);
}

TEST_CASE("connections: a peer that forgot its connection is told so", "[engine][CM-08]") {
    Host host;
    host.accept();
    host.take(host.of_connection(0x14));
    REQUIRE(host.event() == ConnectionEvent::Established);
    std::vector<std::byte> again = request();
    again[27] = std::byte{0x77}; // another number for the same QP
    host.take(again);
    const auto refusal = host.answer();
    REQUIRE(refusal);
    CHECK(word(*refusal, 32) == 10);
    CHECK(host.attribute() == 0x15);
    CHECK_FALSE(host.event());
    host.take(host.of_connection(0x16));
    CHECK(host.event() == ConnectionEvent::Disconnected);
}

TEST_CASE("connections: a packet says as much as an RTU", "[engine][CM-04]") {
    Host host;
    host.accept();
    host.connections.data_came({0x18});
    CHECK_FALSE(host.event());
    host.connections.data_came(kOwnQpn);
    CHECK(host.event() == ConnectionEvent::Established);
    host.take(host.of_connection(0x14)); // late
    CHECK_FALSE(host.event());
}

TEST_CASE("connections: a DREQ is confirmed by the program, and again when it comes again",
          "[engine][CM-09]") {
    Host host;
    host.accept();
    auto of_another_qp = host.of_connection(0x15);
    of_another_qp[34] = std::byte{0x99};
    host.take(of_another_qp);
    CHECK_FALSE(host.answer());
    CHECK_FALSE(host.event());
    const auto end = host.of_connection(0x15);
    host.take(end);
    CHECK_FALSE(host.answer());
    CHECK(host.event() == ConnectionEvent::Disconnected);
    CHECK(host.connections.disconnect(host.connection, host.now));
    CHECK(host.attribute() == 0x16);
    CHECK_FALSE(host.connections.disconnect(host.connection, host.now));
    host.take(end);
    CHECK(host.attribute() == 0x16);
    CHECK_FALSE(host.event());
}

TEST_CASE("connections: our DREQ comes again until its DREP, or is given up", "[engine][CM-09]") {
    Host host;
    host.accept();
    host.take(host.of_connection(0x14));
    REQUIRE(host.event() == ConnectionEvent::Established);
    REQUIRE(host.connections.disconnect(host.connection, host.now));
    const auto request = host.answer();
    REQUIRE(request);
    CHECK(word(*request, 16) == 0x0015'0000);
    CHECK(word(*request, 24) == host.connection.value);
    CHECK(word(*request, 28) == 0xA1A2A3A4);
    CHECK(word(*request, 32) == 0x0002'2200);
    host.connections.advance(host.connections.next_deadline().value());
    CHECK(host.answer() == request);
    SECTION("a DREP") {
        host.take(host.of_connection(0x16));
        CHECK_FALSE(host.answer());
    }
    SECTION("the peer's own DREQ") {
        host.take(host.of_connection(0x15));
        CHECK(host.attribute() == 0x16);
    }
    SECTION("nothing") {
        host.connections.advance(host.connections.next_deadline().value());
        CHECK(host.answer() == request);
        host.connections.advance(host.connections.next_deadline().value());
        CHECK_FALSE(host.answer());
    }
    CHECK(host.event() == ConnectionEvent::Disconnected);
    CHECK_FALSE(host.connections.next_deadline());
}

TEST_CASE("connections: a program that stops leaves nothing behind", "[engine]") {
    Host host;
    CHECK_FALSE(host.connections.listen(kService));
    host.accept();
    host.connections.stop(kService);
    CHECK(host.connections.offer(host.connection) == nullptr);
    CHECK_FALSE(host.connections.next_deadline());
    host.take(request());
    const auto refusal = host.answer();
    REQUIRE(refusal);
    CHECK(word(*refusal, 32) == 8);
}
