// A path: the packets that one address sends to one QP of another.
#pragma once

#include <array>
#include <cstring>

#include "dissector/flow/table.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::flow {

struct Path {
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint32_t qpn = 0; // the destination's

    friend bool operator==(const Path&, const Path&) = default;
    // Only for tables: it may differ from machine to machine, and nothing that is reported follows
    // it. The addresses are multiplied side by side, so that none waits for the other.
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
