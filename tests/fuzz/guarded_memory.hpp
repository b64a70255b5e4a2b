// The memory of an engine that is fuzzed: a region that the peer may use, one that it must never
// see, and guards around both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "dissector/wire/bytes.hpp"

namespace veriroce::fuzz {

inline constexpr std::size_t open_bytes = 8192;

class GuardedMemory {
  public:
    GuardedMemory() : bytes_(all_bytes, std::byte{0xA5}) {
        std::ranges::fill(std::span(bytes_).subspan(secret_at), secret_byte);
        before_ = bytes_;
    }

    static constexpr std::byte secret_byte{0xEE};
    [[nodiscard]] std::span<std::byte> open() {
        return std::span(bytes_).subspan(guard, open_bytes);
    }
    [[nodiscard]] std::span<std::byte> secret() {
        return std::span(bytes_).subspan(secret_at, secret_bytes);
    }

    // Whether all but the open region is as it was.
    [[nodiscard]] bool unharmed() const {
        const auto same = [this](std::size_t at, std::size_t count) {
            return std::ranges::equal(std::span(bytes_).subspan(at, count),
                                      std::span(before_).subspan(at, count));
        };
        constexpr std::size_t behind = guard + open_bytes;
        return same(0, guard) && same(behind, all_bytes - behind);
    }
    [[nodiscard]] bool inside_open(wire::Bytes piece) const {
        const std::byte* const begin = bytes_.data() + guard;
        return piece.data() >= begin && piece.data() + piece.size() <= begin + open_bytes;
    }
    [[nodiscard]] bool touches_secret(wire::Bytes piece) const {
        const std::byte* const begin = bytes_.data() + secret_at;
        return !piece.empty() && piece.data() < begin + secret_bytes &&
               piece.data() + piece.size() > begin;
    }

  private:
    static constexpr std::size_t guard = 256;
    static constexpr std::size_t secret_bytes = 1024;
    static constexpr std::size_t secret_at = guard + open_bytes + guard;
    static constexpr std::size_t all_bytes = secret_at + secret_bytes + guard;

    std::vector<std::byte> bytes_;
    std::vector<std::byte> before_;
};

} // namespace veriroce::fuzz
