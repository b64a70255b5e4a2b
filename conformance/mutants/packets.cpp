#include "conformance/mutants/packets.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace veriroce::mutants {

std::vector<std::byte> bytes_of(const wire::Packet& packet) {
    std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
    const std::size_t size = wire::encode_headers(packet, headers);
    std::vector<std::byte> bytes(size + packet.body.size());
    std::ranges::copy(wire::Bytes(headers).first(size), bytes.begin());
    std::ranges::copy(packet.body, bytes.begin() + static_cast<std::ptrdiff_t>(size));
    return bytes;
}

wire::Envelope back(const wire::Envelope& envelope) {
    wire::Envelope answer = envelope;
    std::swap(answer.source, answer.destination);
    answer.ecn = 0;
    return answer;
}

wire::Packet acknowledge(wire::Qpn to, wire::Pkey pkey, wire::Psn psn, wire::Syndrome syndrome,
                         wire::Msn msn) {
    wire::Packet packet;
    packet.bth = {.opcode = wire::opcode_of(wire::Service::Rc, wire::Operation::Acknowledge,
                                            wire::Position::Only)
                                .value_or(0),
                  .mig_req = true,
                  .pkey = pkey,
                  .dest_qp = to,
                  .psn = psn};
    packet.headers = packet.info().headers;
    packet.aeth = {.syndrome = syndrome, .msn = msn};
    return packet;
}

wire::Packet notification(wire::Qpn to, wire::Pkey pkey) {
    static constexpr std::array<std::byte, 16> reserved{}; // CNP-02
    wire::Packet packet;
    packet.bth = {.opcode = wire::kCnpOpcode, .pkey = pkey, .becn = true, .dest_qp = to};
    packet.headers = packet.info().headers;
    packet.body = reserved;
    return packet;
}

void set_opcode(wire::Packet& packet, wire::Operation operation, wire::Position position,
                bool immediate) {
    const auto opcode = wire::opcode_of(wire::Service::Rc, operation, position, immediate);
    assert(opcode && "the table has no such opcode");
    packet.bth.opcode = *opcode;
    packet.headers = packet.info().headers;
}

void set_place(wire::Packet& packet, wire::Position position) {
    set_opcode(packet, packet.info().operation, position, packet.info().immediate());
}

namespace {

bool acknowledges_with(const wire::Packet& packet, wire::AckKind kind) {
    return packet.info().operation == wire::Operation::Acknowledge && has_aeth(packet) &&
           packet.aeth.syndrome.kind() == kind;
}

} // namespace

bool is_sequence_nak(const wire::Packet& packet) {
    return acknowledges_with(packet, wire::AckKind::Nak) &&
           packet.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
}

bool is_rnr_nak(const wire::Packet& packet) {
    return acknowledges_with(packet, wire::AckKind::RnrNak);
}

bool is_ack(const wire::Packet& packet) {
    return acknowledges_with(packet, wire::AckKind::Ack);
}

bool is_nak(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::Acknowledge && !is_ack(packet);
}

bool is_fatal_nak(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::Acknowledge && has_aeth(packet) &&
           packet.aeth.syndrome.kind() == wire::AckKind::Nak && !is_sequence_nak(packet);
}

} // namespace veriroce::mutants
