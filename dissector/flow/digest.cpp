#include "dissector/flow/digest.hpp"

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

std::uint64_t digest_of(const Packet& packet) {
    if (!packet.whole()) return 0;
    const wire::Packet& transport = packet.transport;
    std::uint64_t state = transport.bth.opcode;
    mix_into(state, transport.reth.virtual_address);
    mix_into(state, transport.reth.rkey.value);
    mix_into(state, transport.reth.dma_length);
    mix_into(state, transport.atomic.virtual_address);
    mix_into(state, transport.atomic.rkey.value);
    mix_into(state, transport.atomic.swap_or_add);
    mix_into(state, transport.atomic.compare);
    mix_into(state, transport.imm.value);
    mix_into(state, transport.ieth.rkey.value);
    mix_into(state, digest_of_bytes(transport.payload()));
    return state == 0 ? 1 : state;
}

} // namespace veriroce::flow
