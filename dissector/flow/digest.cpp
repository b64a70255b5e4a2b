#include "dissector/flow/digest.hpp"

#include <algorithm>
#include <cstring>

namespace veriroce::flow {
namespace {

std::uint64_t word_at(wire::Bytes bytes, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

} // namespace

// Eight independent lanes, so that the multiplications overlap. Each step is a bijection, so a
// single differing word always changes the result.
std::uint64_t digest_of_bytes(wire::Bytes bytes) {
    constexpr std::size_t kLanes = 8;
    std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4, 5, 6, 7, 8};
    std::size_t at = 0;
    for (; at + 8 * kLanes <= bytes.size(); at += 8 * kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] = (lanes[lane] ^ word_at(bytes, at + 8 * lane)) * kDigestFactor;
    }
    std::uint64_t state = bytes.size();
    for (; at + 8 <= bytes.size(); at += 8)
        mix_into(state, word_at(bytes, at));
    for (; at < bytes.size(); ++at)
        mix_into(state, std::to_integer<std::uint64_t>(bytes[at]) + 1);
    for (const std::uint64_t lane : lanes)
        mix_into(state, lane);
    return state;
}

std::uint64_t digest_of(const TransportHeaders& headers) {
    std::uint64_t state = headers.size;
    for (std::size_t at = 0; at < headers.size; at += sizeof state)
        mix_into(state, word_at(headers.bytes, at)); // zeros follow them
    return state;
}

TransportHeaders::TransportHeaders(const wire::Packet& packet)
    : size(wire::encode_headers(packet, bytes)) {}

std::uint64_t identity_of_headers(const Packet& packet) {
    TransportHeaders headers(packet.transport);
    headers.bytes[4] = std::byte{0}; // FECN, BECN, and the six reserved bits beside them
    std::uint64_t state = digest_of(headers);
    mix_into(state, packet.source_port | std::uint64_t{packet.identification} << 16 |
                        std::uint64_t{packet.body_bytes} << 32);
    mix_into(state, digest_of_bytes(packet.source.bytes));
    mix_into(state, digest_of_bytes(packet.destination.bytes));
    return state;
}

std::uint64_t digest_of(const Packet& packet) {
    if (!packet.whole()) return 0;
    TransportHeaders headers(packet.transport);
    // Of the BTH, only the opcode: the rest may differ, or is compared elsewhere.
    std::fill_n(headers.bytes.begin() + 1, wire::Bth::kSize - 1, std::byte{0});
    std::uint64_t state = digest_of(headers);
    mix_into(state, digest_of_bytes(packet.transport.payload()));
    return state == 0 ? 1 : state;
}

} // namespace veriroce::flow
