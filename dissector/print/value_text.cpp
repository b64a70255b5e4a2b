#include "dissector/print/value_text.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

#include "dissector/print/append.hpp"

namespace veriroce::print {
namespace {

void append_decimal(std::string& out, std::uint64_t value) {
    Scratch<20> text;
    text.decimal(value);
    out += text.text();
}

void append_hex(std::string& out, std::uint64_t value, unsigned digits) {
    Scratch<2 + 16> text;
    text.put("0x");
    text.hex(value, digits);
    out += text.text();
}

constexpr bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// Text from files and packets may contain control characters, which would break the line: print \n,
// \t, \x01.
void append_text(std::string& out, std::string_view text) {
    if (std::ranges::none_of(text, is_control)) {
        out += text;
        return;
    }
    for (const char c : text) {
        if (!is_control(c)) {
            out += c;
        } else if (c == '\n' || c == '\t' || c == '\r') {
            out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
        } else {
            out += "\\x";
            append_hex_digits(out, static_cast<unsigned char>(c), 2);
        }
    }
}

// "Nov 14, 2023 22:13:20.000000123 UTC", in the time zone of the environment.
void append_date(std::string& out, std::int64_t nanoseconds) {
    std::int64_t rest = nanoseconds % kSecond;
    if (rest < 0) rest += kSecond;
    const std::time_t seconds = (nanoseconds - rest) / kSecond;
    std::tm parts{};
    if (::localtime_r(&seconds, &parts) == nullptr) return;
    constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    fmt::format_to(std::back_inserter(out), "{} {:2}, {} {:02}:{:02}:{:02}.{:09} {}",
                   kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_mday,
                   1900 + parts.tm_year, parts.tm_hour, parts.tm_min, parts.tm_sec, rest,
                   parts.tm_zone);
}

// Long values are appended in pieces of this size.
constexpr std::size_t kBytesAtOnce = 64;

} // namespace

void append_hex_digits(std::string& out, std::uint64_t value, unsigned digits) {
    Scratch<16> text;
    text.hex(value, digits);
    out += text.text();
}

void append_ipv4(std::string& out, wire::Bytes bytes) {
    Scratch<15> text;
    put_ipv4(text, bytes);
    out += text.text();
}

void append_ipv6(std::string& out, wire::Bytes bytes) {
    Scratch<kIpv6Characters> text;
    put_ipv6(text, bytes);
    out += text.text();
}

void append_mac(std::string& out, wire::Bytes bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        Scratch<3> text;
        if (i > 0) text.put(':');
        text.hex(std::to_integer<unsigned>(bytes[i]), 2);
        out += text.text();
    }
}

void append_hex_bytes(std::string& out, wire::Bytes bytes) {
    while (!bytes.empty()) {
        Scratch<2 * kBytesAtOnce> text;
        const std::size_t count = std::min(bytes.size(), kBytesAtOnce);
        for (const std::byte byte : bytes.first(count))
            text.hex(std::to_integer<unsigned>(byte), 2);
        out += text.text();
        bytes = bytes.subspan(count);
    }
}

void append_seconds(std::string& out, std::int64_t nanoseconds, unsigned decimals) {
    Scratch<kSecondsCharacters> text;
    put_seconds(text, nanoseconds, decimals);
    out += text.text();
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
    case decode::Format::Text: append_text(out, value.text); break;
    case decode::Format::Seconds:
        append_seconds(out, static_cast<std::int64_t>(value.number), 9);
        break;
    case decode::Format::Date: append_date(out, static_cast<std::int64_t>(value.number)); break;
    }
}

} // namespace veriroce::print
