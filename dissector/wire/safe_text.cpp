#include "dissector/wire/safe_text.hpp"

#include <algorithm>
#include <cstdint>

namespace veriroce::wire {
namespace {

bool may_be_shown(std::uint32_t value) {
    if (value < 0x20 || (value >= 0x7F && value <= 0x9F)) return false; // C0, DEL, C1
    if (value == 0x061C || value == 0x200E || value == 0x200F) return false;
    if (value >= 0x2028 && value <= 0x202E) return false; // separators, embeddings, overrides
    if (value >= 0x2066 && value <= 0x2069) return false; // isolates
    if (value >= 0xD800 && value <= 0xDFFF) return false;
    return value <= 0x10FFFF && (value & 0xFFFE) != 0xFFFE;
}

} // namespace

std::size_t shown_character(std::string_view text) {
    if (text.empty()) return 0;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return may_be_shown(lead) ? 1 : 0;
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
    std::uint32_t value = lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
        value = value << 6 | (byte(i) & 0x3FU);
    }
    const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
    return !overlong && may_be_shown(value) ? size : 0;
}

std::string safe_text(std::string_view text, bool keep_lines) {
    std::string out;
    while (!text.empty()) {
        const std::size_t size = shown_character(text);
        const char first = text.front();
        const bool line = first == '\n' || first == '\t';
        if (size > 0 || (line && keep_lines)) {
            out += text.substr(0, std::max<std::size_t>(size, 1));
        } else if (line) {
            out += first == '\n' ? "\\n" : "\\t";
        } else {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(first);
            out += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

std::string safe_excerpt(std::string_view text, std::size_t most_bytes) {
    std::string out = safe_text(text.substr(0, most_bytes));
    if (text.size() <= most_bytes && out.size() <= most_bytes) return out;
    const auto continues = [&](std::size_t i) {
        return (static_cast<unsigned char>(out[i]) & 0xC0U) == 0x80U;
    };
    std::size_t end = most_bytes - 3;
    while (end > 0 && continues(end))
        --end; // not in the middle of a character
    out.resize(end);
    return out + "...";
}

} // namespace veriroce::wire
