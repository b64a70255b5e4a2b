#include "dissector/print/value_text.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "dissector/wire/ip_address.hpp"

namespace veriroce::print {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_decimal(std::string& out, std::uint64_t value) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

void append_hex(std::string& out, std::uint64_t value, unsigned digits) {
    out += "0x";
    append_hex_digits(out, value, digits);
}

void append_byte(std::string& out, std::byte byte) {
    out += kHexDigits[std::to_integer<unsigned>(byte >> 4)];
    out += kHexDigits[std::to_integer<unsigned>(byte & std::byte{0xF})];
}

} // namespace

void append_hex_digits(std::string& out, std::uint64_t value, unsigned digits) {
    for (unsigned i = digits; i > 0; --i)
        out += kHexDigits[value >> (4 * (i - 1)) & 0xF];
}

void append_ipv4(std::string& out, wire::Bytes bytes) {
    for (std::size_t i = 0; i < 4; ++i) {
        if (i > 0) out += '.';
        append_decimal(out, wire::load_u8(bytes, i));
    }
}

void append_ipv6(std::string& out, wire::Bytes bytes) {
    const wire::IpAddress address = wire::IpAddress::from_v6(bytes);
    if (address.v4()) out += "::ffff:"; // its own text is that of the IPv4 address
    out += address.text();
}

void append_mac(std::string& out, wire::Bytes bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i > 0) out += ':';
        append_byte(out, bytes[i]);
    }
}

void append_hex_bytes(std::string& out, wire::Bytes bytes) {
    for (const std::byte byte : bytes)
        append_byte(out, byte);
}

void append_seconds(std::string& out, std::int64_t nanoseconds, unsigned decimals) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (nanoseconds < 0) out += '-';
    const auto bits = static_cast<std::uint64_t>(nanoseconds);
    const std::uint64_t size = nanoseconds < 0 ? 0 - bits : bits;
    append_decimal(out, size / kSecond);
    out += '.';
    std::array<char, 10> fraction;
    fmt::format_to(fraction.data(), "{:09}", size % kSecond);
    out.append(fraction.data(), decimals);
}

void append_value(std::string& out, const decode::FieldRow& row, const decode::Value& value) {
    switch (row.format) {
    case decode::Format::Decimal: append_decimal(out, value.number); break;
    case decode::Format::Hex: append_hex(out, value.number, row.digits); break;
    case decode::Format::Boolean: out += value.number != 0 ? '1' : '0'; break;
    case decode::Format::Mac: append_mac(out, value.bytes); break;
    case decode::Format::Ipv4: append_ipv4(out, value.bytes); break;
    case decode::Format::Ipv6: append_ipv6(out, value.bytes); break;
    case decode::Format::Bytes: append_hex_bytes(out, value.bytes); break;
    case decode::Format::Text: out += value.text; break;
    case decode::Format::Seconds:
        append_seconds(out, static_cast<std::int64_t>(value.number), 9);
        break;
    }
}

} // namespace veriroce::print
