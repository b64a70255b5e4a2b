#include "dissector/flow/digest.hpp"

#include <cstring>

namespace veriroce::flow {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;

std::uint64_t word_at(wire::Bytes bytes, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

void stir(std::uint64_t& state, std::uint64_t word) {
    state = (state ^ word) * kFactor;
    state ^= state >> 32;
}

} // namespace

// Eight lanes, so that one multiplication does not wait for the other. Each step is one-to-one, so
// that a single difference never vanishes.
std::uint64_t digest_of_bytes(wire::Bytes bytes) {
    constexpr std::size_t kLanes = 8;
    std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4, 5, 6, 7, 8};
    std::size_t at = 0;
    for (; at + 8 * kLanes <= bytes.size(); at += 8 * kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] = (lanes[lane] ^ word_at(bytes, at + 8 * lane)) * kFactor;
    }
    std::uint64_t state = bytes.size();
    for (; at + 8 <= bytes.size(); at += 8)
        stir(state, word_at(bytes, at));
    for (; at < bytes.size(); ++at)
        stir(state, std::to_integer<std::uint64_t>(bytes[at]) + 1);
    for (const std::uint64_t lane : lanes)
        stir(state, lane);
    return state;
}

std::uint64_t digest_of(const Packet& packet) {
    if (!packet.whole()) return 0;
    const wire::Packet& transport = packet.transport;
    std::uint64_t state = transport.bth.opcode;
    stir(state, transport.reth.virtual_address);
    stir(state, transport.reth.rkey.value);
    stir(state, transport.reth.dma_length);
    stir(state, transport.atomic.virtual_address);
    stir(state, transport.atomic.rkey.value);
    stir(state, transport.atomic.swap_or_add);
    stir(state, transport.atomic.compare);
    stir(state, transport.imm.value);
    stir(state, transport.ieth.rkey.value);
    stir(state, digest_of_bytes(transport.payload()));
    return state == 0 ? 1 : state;
}

} // namespace veriroce::flow
