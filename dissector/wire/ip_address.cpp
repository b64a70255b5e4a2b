#include "dissector/wire/ip_address_text.hpp"

#include <charconv>

namespace veriroce::wire {
namespace {

// A number of at least one and at most `max_digits` digits that fills `text` wholly.
std::optional<std::uint32_t> parse_number(std::string_view text, int base, std::size_t max_digits) {
    if (text.empty() || text.size() > max_digits) return std::nullopt;
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Cuts the part up to `separator`, or all of it, off the front of `text`.
std::string_view cut_front(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return part;
}

std::optional<std::uint32_t> parse_v4(std::string_view text) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        const bool last = i == 3;
        if (!last && text.find('.') == std::string_view::npos) return std::nullopt;
        const std::string_view part = last ? text : cut_front(text, '.');
        const auto byte = parse_number(part, 10, 3);
        if (!byte || *byte > 255 || (part.size() > 1 && part[0] == '0')) return std::nullopt;
        value = value << 8 | *byte;
    }
    return value;
}

struct Groups {
    std::array<std::uint16_t, 8> values{};
    std::size_t count = 0;

    bool add(std::uint32_t value) {
        if (count == values.size()) return false;
        values[count++] = static_cast<std::uint16_t>(value);
        return true;
    }
};

// "1:2:3", also empty; a dotted IPv4 address may be the last part where `v4_tail` is set.
std::optional<Groups> parse_groups(std::string_view text, bool v4_tail) {
    Groups groups;
    if (text.empty()) return groups;
    for (;;) {
        const bool last = text.find(':') == std::string_view::npos;
        const std::string_view part = cut_front(text, ':');
        if (last && v4_tail && part.find('.') != std::string_view::npos) {
            const auto v4 = parse_v4(part);
            if (!v4 || !groups.add(*v4 >> 16) || !groups.add(*v4 & 0xFFFF)) return std::nullopt;
            return groups;
        }
        const auto group = parse_number(part, 16, 4);
        if (!group || !groups.add(*group)) return std::nullopt;
        if (last) return groups;
    }
}

std::optional<IpAddress> parse_v6(std::string_view text) {
    const std::size_t gap = text.find("::");
    const bool whole = gap == std::string_view::npos;
    const auto front = parse_groups(text.substr(0, gap), whole);
    const auto back = parse_groups(whole ? std::string_view{} : text.substr(gap + 2), true);
    if (!front || !back) return std::nullopt;
    const std::size_t given = front->count + back->count;
    if (whole ? given != 8 : given > 7) return std::nullopt;
    IpAddress address;
    for (std::size_t i = 0; i < front->count; ++i)
        store_be<2>(address.bytes, 2 * i, front->values[i]);
    for (std::size_t i = 0; i < back->count; ++i)
        store_be<2>(address.bytes, 2 * (8 - back->count + i), back->values[i]);
    return address;
}

char* write_number(char* to, std::uint32_t value, int base) {
    constexpr std::size_t kMostDigits = 4;
    return std::to_chars(to, to + kMostDigits, value, base).ptr;
}

char* write_v4(char* to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (shift != 24) *to++ = '.';
        to = write_number(to, value >> shift & 0xFF, 10);
    }
    return to;
}

struct Run {
    std::size_t begin = 0;
    std::size_t length = 0;
};

// The first of the longest runs of zero groups, of two at least (RFC 5952).
Run longest_zero_run(const IpAddress& address) {
    Run best;
    Run here;
    for (std::size_t i = 0; i < 8; ++i) {
        if (load_u16(address.bytes, 2 * i) != 0) {
            here.length = 0;
            continue;
        }
        if (here.length == 0) here.begin = i;
        ++here.length;
        if (here.length > best.length && here.length >= 2) best = here;
    }
    return best;
}

char* write_v6(char* to, const IpAddress& address) {
    const Run zeros = longest_zero_run(address);
    bool apart = true; // from the group before
    for (std::size_t i = 0; i < 8; ++i) {
        if (zeros.length != 0 && i == zeros.begin) {
            *to++ = ':';
            *to++ = ':';
            apart = true;
            i += zeros.length - 1;
            continue;
        }
        if (!apart) *to++ = ':';
        apart = false;
        to = write_number(to, load_u16(address.bytes, 2 * i), 16);
    }
    return to;
}

} // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    if (text.find(':') != std::string_view::npos) return parse_v6(text);
    const auto v4 = parse_v4(text);
    if (!v4) return std::nullopt;
    return from_v4(*v4);
}

char* write_text(const IpAddress& address, char* to) {
    return address.v4() ? write_v4(to, address.low32()) : write_v6(to, address);
}

std::string IpAddress::text() const {
    std::array<char, kIpTextCharacters> text;
    return {text.data(), write_text(*this, text.data())};
}

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    MacAddress address;
    if (text.size() != 17) return std::nullopt;
    for (std::size_t i = 0; i < 6; ++i) {
        const auto byte = parse_number(text.substr(3 * i, 2), 16, 2);
        if (!byte || (i < 5 && text[3 * i + 2] != ':')) return std::nullopt;
        address.bytes[i] = static_cast<std::byte>(*byte);
    }
    return address;
}

std::string MacAddress::text() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        if (!text.empty()) text += ':';
        text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
        text += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
    }
    return text;
}

} // namespace veriroce::wire
