// Integers of a capture file in the byte order that the file declares.
#pragma once

#include <bit>
#include <cassert>
#include <cstring>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

struct ByteOrder {
    bool swapped = false; // relative to this machine

    [[nodiscard]] std::uint16_t u16(wire::Bytes bytes, std::size_t at) const {
        return load<std::uint16_t>(bytes, at);
    }
    [[nodiscard]] std::uint32_t u32(wire::Bytes bytes, std::size_t at) const {
        return load<std::uint32_t>(bytes, at);
    }
    [[nodiscard]] std::uint64_t u64(wire::Bytes bytes, std::size_t at) const {
        return load<std::uint64_t>(bytes, at);
    }

  private:
    template <typename T>
    [[nodiscard]] T load(wire::Bytes bytes, std::size_t at) const {
        assert(at + sizeof(T) <= bytes.size());
        T value{};
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return swapped ? std::byteswap(value) : value;
    }
};

} // namespace veriroce::capture
