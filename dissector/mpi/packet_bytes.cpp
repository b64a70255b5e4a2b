#include "dissector/mpi/packet_bytes.hpp"

#include <array>
#include <cstddef>

#include "dissector/wire/management.hpp"

namespace veriroce::mpi {
namespace {

struct Fixed {
    std::uint64_t number;
    std::uint64_t digest;
    flow::Moment time;
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint32_t body_bytes;
    std::uint16_t headers_kept; // bytes that follow, and of the body
    std::uint16_t body_kept;
    std::uint16_t source_port;
    std::uint16_t identification;
    std::uint8_t ecn;
    flow::Integrity integrity;
};
static_assert(std::is_trivially_copyable_v<Fixed>);

bool body_counts(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn &&
           packet.body.size() <= UINT16_MAX;
}

} // namespace

void put_packet(Letter& letter, const flow::Packet& packet) {
    std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
    const std::size_t header_bytes = wire::encode_headers(packet.transport, headers);
    const wire::Bytes body = body_counts(packet.transport) ? packet.transport.body : wire::Bytes{};
    letter.put(Fixed{.number = packet.number,
                     .digest = packet.digest,
                     .time = packet.time,
                     .source = packet.source,
                     .destination = packet.destination,
                     .body_bytes = packet.body_bytes,
                     .headers_kept = static_cast<std::uint16_t>(header_bytes),
                     .body_kept = static_cast<std::uint16_t>(body.size()),
                     .source_port = packet.source_port,
                     .identification = packet.identification,
                     .ecn = packet.ecn,
                     .integrity = packet.integrity});
    letter.put(wire::Bytes(headers).first(header_bytes));
    letter.put(body);
}

void take_packet(Opened& letter, flow::Packet& fresh) {
    const auto fixed = letter.take<Fixed>();
    fresh.number = fixed.number;
    fresh.digest = fixed.digest;
    fresh.time = fixed.time;
    fresh.source = fixed.source;
    fresh.destination = fixed.destination;
    fresh.body_bytes = fixed.body_bytes;
    fresh.source_port = fixed.source_port;
    fresh.identification = fixed.identification;
    fresh.ecn = fixed.ecn;
    fresh.integrity = fixed.integrity;
    wire::decode_packet(letter.take(std::size_t{fixed.headers_kept} + fixed.body_kept),
                        fresh.transport);
}

void set_number(wire::MutableBytes packet, std::uint64_t number) {
    static_assert(offsetof(Fixed, number) == 0);
    std::memcpy(packet.data(), &number, sizeof number);
}

NumberedBytes take_bytes(Opened& letter) {
    const auto fixed = letter.peek<Fixed>();
    return {.number = fixed.number,
            .bytes = letter.take(sizeof fixed + fixed.headers_kept + fixed.body_kept)};
}

} // namespace veriroce::mpi
