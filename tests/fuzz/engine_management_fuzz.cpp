// Any bytes as a management datagram, to a host with a program that listens: an answer repeats what
// it must, and no two hosts answer each other for ever.
#include <array>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/management.hpp"
#include "tests/fuzz/input.hpp"
#include "transport/engine/connections.hpp"

using namespace veriroce;

namespace {

constexpr engine::ServiceId kService{0x0106'0001};

// Every message that leaves, taken by another host, whose answers come back.
void play(wire::Bytes datagram) {
    const engine::AddressVector way{.source = wire::IpAddress::from_v4(0x0A000001),
                                    .destination = wire::IpAddress::from_v4(0x0A000002)};
    const wire::Instant now{};
    engine::Connections host;
    engine::Connections other;
    fuzz::require(host.listen(kService));
    host.take(datagram, way, wire::kGsiQpn, now);
    while (const auto event = host.poll_event(kService)) {
        const bool first = event->type == wire::ConnectionEvent::ConnectRequest;
        fuzz::require(first && host.offer(event->connection) != nullptr);
        fuzz::require(host.accept(event->connection, {.qpn = {0x17}}, now));
        host.take(datagram, way, wire::kGsiQpn, now); // again
    }
    int messages = 0;
    while (const auto message = host.poll_message()) {
        fuzz::require(++messages <= 2);
        fuzz::require(wire::load_u64(message->datagram, 8) == wire::load_u64(datagram, 8));
        other.take(message->datagram, way, wire::kGsiQpn, now);
        fuzz::require(!other.poll_message());
    }
}

// What a peer says about a connection that is accepted: `messages` in order, each with the numbers
// of the connection and one of the attributes that are about one.
void talk(wire::Bytes request, wire::Bytes messages) {
    const engine::AddressVector way{.source = wire::IpAddress::from_v4(0x0A000001),
                                    .destination = wire::IpAddress::from_v4(0x0A000002)};
    wire::Instant now{};
    engine::Connections host;
    fuzz::require(host.listen(kService));
    host.take(request, way, wire::kGsiQpn, now);
    const auto asked = host.poll_event(kService);
    if (!asked || !host.accept(asked->connection, {.qpn = {0x17}}, now)) return;
    std::vector<std::byte> message(request.begin(), request.end());
    for (const std::byte choice : messages) {
        constexpr std::array<std::uint16_t, 6> attributes{0x10, 0x11, 0x12, 0x14, 0x15, 0x16};
        const auto number = std::to_integer<unsigned>(choice);
        const wire::MutableBytes bytes(message);
        wire::store_be<2>(bytes, 16, attributes[number % attributes.size()]);
        wire::store_be<4>(bytes, 28, asked->connection.value);
        wire::store_be<4>(bytes, 32, number >= 128 ? 0x1700U : 0x4000'0004U);
        if (number % 7 == 0) static_cast<void>(host.disconnect(asked->connection, now));
        if (number % 11 == 0) now = host.next_deadline().value_or(now);
        host.advance(now);
        host.take(message, way, wire::kGsiQpn, now);
        int sent = 0;
        while (host.poll_message())
            fuzz::require(++sent <= 4);
    }
    host.stop(kService);
    fuzz::require(!host.poll_message() && !host.poll_event(kService) && !host.next_deadline());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::Bytes datagram = std::as_bytes(std::span(data, size));
    play(datagram);
    if (size != wire::kMadBytes) return 0;
    // A REQ that is accepted, in most of its bytes as they are.
    std::vector<std::byte> request(datagram.begin(), datagram.end());
    const wire::MutableBytes bytes(request);
    wire::store_be<4>(bytes, 0, 0x01070203U);
    wire::store_be<2>(bytes, 16, 0x10U);
    wire::store_be<8>(bytes, 32, kService.value);
    bytes[74] = (bytes[74] & std::byte{0x0F}) | std::byte{0x30};
    std::ranges::copy(wire::IpAddress::from_v4(0x0A000002).bytes, bytes.begin() + 80);
    std::ranges::copy(wire::IpAddress::from_v4(0x0A000001).bytes, bytes.begin() + 96);
    play(request);
    talk(request, datagram.last(16));
    return 0;
}
