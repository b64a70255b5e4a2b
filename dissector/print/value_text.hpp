// A field's value as `tshark -T fields` prints it (Wireshark 4.0), and the functions that it is
// built from. All of them append to a string of the caller, so that a long run does not allocate.
#pragma once

#include <string>

#include "dissector/decode/field.hpp"
#include "dissector/print/append.hpp"
#include "dissector/wire/ip_address_text.hpp"

namespace veriroce::print {

void append_value(std::string& out, const decode::FieldRow& row, const decode::Value& value);

// "10.77.0.1" and "fd77::1"; "::ffff:10.0.0.1" for a mapped address in an IPv6 header.
void append_ipv4(std::string& out, wire::Bytes bytes);
void append_ipv6(std::string& out, wire::Bytes bytes);
void append_mac(std::string& out, wire::Bytes bytes);
// The lowest `digits` hex digits.
void append_hex_digits(std::string& out, std::uint64_t value, unsigned digits);
// Two hex digits per byte, no separator.
void append_hex_bytes(std::string& out, wire::Bytes bytes);
// Signed nanoseconds as seconds with this many decimals, truncated.
void append_seconds(std::string& out, std::int64_t nanoseconds, unsigned decimals);

// The same, but into a small buffer, for callers that combine several values.
template <std::size_t Room>
void put_ipv4(Scratch<Room>& text, wire::Bytes bytes) {
    for (std::size_t i = 0; i < 4; ++i) {
        if (i > 0) text.put('.');
        text.decimal(wire::load_u8(bytes, i));
    }
}

template <std::size_t Room>
void put_mac(Scratch<Room>& text, wire::Bytes bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i > 0) text.put(':');
        text.hex(wire::load_u8(bytes, i), 2);
    }
}

inline constexpr std::size_t kIpv6Characters = wire::kIpTextCharacters + 7;

template <std::size_t Room>
void put_ipv6(Scratch<Room>& text, wire::Bytes bytes) {
    const wire::IpAddress address = wire::IpAddress::from_v6(bytes);
    if (address.v4()) text.put("::ffff:"); // to_text of such an address would print the IPv4 form
    text.written(wire::kIpTextCharacters, [&](char* to) { return wire::write_text(address, to); });
}

inline constexpr std::int64_t kSecond = 1'000'000'000; // in nanoseconds
inline constexpr std::size_t kSecondsCharacters = 1 + 20 + 1 + 9;

template <std::size_t Room>
void put_seconds(Scratch<Room>& text, std::int64_t nanoseconds, unsigned decimals) {
    constexpr auto kUnit = static_cast<std::uint64_t>(kSecond);
    constexpr unsigned kMostDecimals = 9;
    if (nanoseconds < 0) text.put('-');
    const auto bits = static_cast<std::uint64_t>(nanoseconds);
    const std::uint64_t size = nanoseconds < 0 ? 0 - bits : bits;
    text.decimal(size / kUnit);
    text.put('.');
    std::uint64_t rest = size % kUnit;
    std::array<char, kMostDecimals> digits;
    for (unsigned i = kMostDecimals; i > 0; --i) {
        digits[i - 1] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    text.put(std::string_view(digits.data(), decimals));
}

} // namespace veriroce::print
