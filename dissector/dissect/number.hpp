// Numbers in options: decimal, or hex behind 0x.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace veriroce::dissect {

// Nothing if the text is no number, or the number is above `largest`.
inline std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t largest) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    if (error != std::errc{} || stop != end || value > largest) return std::nullopt;
    return value;
}

} // namespace veriroce::dissect
