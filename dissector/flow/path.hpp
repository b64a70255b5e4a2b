// A path: the packets from one address to one QP at another address.
#pragma once

#include <array>
#include <cstring>

#include "dissector/flow/table.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::flow {

struct Path {
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint32_t qpn = 0; // at the destination

    friend bool operator==(const Path&, const Path&) = default;
    // For hash tables only: the value may differ between machines and must not influence output.
    // The address halves are multiplied independently, so that the multiplications overlap.
    [[nodiscard]] std::uint64_t hash() const {
        return mixed(hash_of(source) * 3 + hash_of(destination) + mixed(qpn));
    }

    static std::uint64_t hash_of(const wire::IpAddress& address) {
        std::array<std::uint64_t, 2> words{};
        std::memcpy(words.data(), address.bytes.data(), sizeof words);
        return (words[0] ^ 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U +
               words[1] * 0x94D049BB133111EBU;
    }
};

} // namespace veriroce::flow
