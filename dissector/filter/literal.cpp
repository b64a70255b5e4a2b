#include "dissector/filter/literal.hpp"

#include <algorithm>
#include <charconv>

#include "dissector/filter/names.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::filter {
namespace {

using Result = std::expected<Constant, std::string>;

std::unexpected<std::string> wrong(std::string message) {
    return std::unexpected(std::move(message));
}

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

const decode::FieldRow* row_of(const Operand& operand) {
    return operand.column ? operand.column->rows().front() : nullptr;
}

// Names for the values of a field, for example "RC Acknowledge" for an opcode.
std::vector<std::pair<std::string_view, std::uint64_t>> meanings_of(const Operand& operand) {
    std::vector<std::pair<std::string_view, std::uint64_t>> words;
    const decode::FieldRow* row = row_of(operand);
    if (row == nullptr || row->meaning == nullptr || operand.mask) return words;
    constexpr unsigned kWidest = 16; // no wider field has named values
    const unsigned bits = row->bits == 0 ? 8U : std::min<unsigned>(row->bits, kWidest);
    for (std::uint64_t number = 0; number < std::uint64_t{1} << bits; ++number) {
        const std::string_view word = row->meaning(number);
        if (!word.empty()) words.emplace_back(word, number);
    }
    return words;
}

// A number given by its name. Otherwise the error suggests the nearest name, if there is one.
Result named(const Token& token, const Operand& operand, Use use) {
    const auto words = meanings_of(operand);
    Constant constant;
    std::size_t found = 0;
    for (const auto& [word, number] : words) {
        if (lower(word) != lower(token.text)) continue;
        if (found++ == 0) constant.number = number;
        constant.also.push_back(number);
    }
    if (found > 1 && use == Use::Ordered) {
        return wrong(quoted(token.text) + " stands for several numbers, which have no order");
    }
    if (found > 0) return constant;
    if (words.empty()) return wrong(quoted(token.text) + " is not a number");
    std::vector<std::string_view> names;
    for (const auto& [word, number] : words)
        names.push_back(word);
    const std::string_view near = wire::nearest_word(token.text, names).value_or("");
    std::string message = quoted(token.text) + " is neither a number nor a name of a value of " +
                          std::string(operand.column->name());
    if (!near.empty()) message += "; did you mean " + quoted(near) + "?";
    return wrong(std::move(message));
}

bool looks_like_number(std::string_view text) {
    return !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '-');
}

Result number_constant(const Token& token, const Operand& operand, Use use) {
    if (token.kind == TokenKind::Letter) {
        return Constant{.number = static_cast<unsigned char>(token.text[0])};
    }
    if (token.kind == TokenKind::Text || !looks_like_number(token.text)) {
        return named(token, operand, use);
    }
    const auto number = number_of(token.text);
    if (!number) return wrong(number.error());
    const decode::FieldRow* row = row_of(operand);
    // Wireshark stores a field in whole bytes, so values up to those bytes are accepted.
    const unsigned bits = row == nullptr ? 0 : (row->bits + 7U) / 8U * 8U;
    if (bits > 0 && bits < 64 && *number >> bits != 0) {
        return wrong(quoted(token.text) + " is too large for " + std::string(row->name) +
                     ", which has " + std::to_string(row->bits) + " bits");
    }
    return Constant{.number = *number};
}

Result boolean_constant(const Token& token) {
    const std::string word = lower(token.text);
    if (word == "true") return Constant{.number = 1};
    if (word == "false") return Constant{.number = 0};
    const auto number = number_of(token.text);
    if (token.kind == TokenKind::Word && number) return Constant{.number = *number != 0 ? 1U : 0U};
    return wrong(quoted(token.text) + " is neither true nor false");
}

Result seconds_constant(const Token& token) {
    std::string_view text = token.text;
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    std::string fraction(point == std::string_view::npos ? "" : text.substr(point + 1));
    const auto digits = [](std::string_view part) {
        return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    };
    constexpr std::size_t kMostDigits = 9; // of a second: nanoseconds
    const bool right = token.kind == TokenKind::Word && whole.size() + fraction.size() > 0 &&
                       whole.size() <= kMostDigits + 1 && fraction.size() <= kMostDigits &&
                       digits(whole) && digits(fraction);
    if (!right) return wrong(quoted(token.text) + " is not a time in seconds, such as 0.001");
    fraction.resize(kMostDigits, '0');
    std::int64_t value = 0;
    const std::string all = std::string(whole) + fraction;
    const auto parsed = std::from_chars(all.data(), all.data() + all.size(), value);
    if (parsed.ec != std::errc{}) return wrong(quoted(token.text) + " is out of range");
    return Constant{.number = static_cast<std::uint64_t>(negative ? -value : value)};
}

Result address_constant(const Token& token, bool six, Use use) {
    const std::string_view text = token.text;
    const std::size_t slash = text.find('/');
    const auto address = wire::IpAddress::parse(text.substr(0, slash));
    const std::string_view kind = six ? "IPv6" : "IPv4";
    const bool looks_six = text.substr(0, slash).contains(':');
    if (token.kind != TokenKind::Word || !address || looks_six != six) {
        return wrong(quoted(text) + " is not an " + std::string(kind) + " address");
    }
    Constant constant;
    constant.bytes.assign(address->bytes.begin() + (six ? 0 : 12), address->bytes.end());
    if (slash == std::string_view::npos) return constant;
    const unsigned most = six ? 128 : 32;
    const auto bits = number_of(text.substr(slash + 1));
    if (!bits || *bits > most) {
        return wrong("the prefix of an " + std::string(kind) + " address has 0 to " +
                     std::to_string(most) + " bits");
    }
    if (use == Use::Part) return wrong("a prefix is not allowed here");
    constant.prefix_bits = static_cast<unsigned>(*bits);
    return constant;
}

constexpr std::string_view kSeparators = ":-.";

// "aa:bb", "a:b", "aa-bb", "aa.bb", "aabb", "aabb.ccdd", "0xaa"; empty for anything else.
std::optional<std::vector<std::byte>> hex_bytes(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    std::vector<std::byte> bytes;
    bool apart = true; // separated from the previous byte
    while (!text.empty()) {
        const bool single = text.size() == 1 || kSeparators.contains(text[1]);
        if (single && !apart) return std::nullopt;
        const std::string_view digits = text.substr(0, single ? 1 : 2);
        unsigned value = 0;
        const auto* const end = digits.data() + digits.size();
        const auto parsed = std::from_chars(digits.data(), end, value, 16);
        if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
        bytes.push_back(static_cast<std::byte>(value));
        text.remove_prefix(digits.size());
        apart = !text.empty() && kSeparators.contains(text[0]);
        if (apart) text.remove_prefix(1);
        if (apart && text.empty()) return std::nullopt;
    }
    if (bytes.empty()) return std::nullopt;
    return bytes;
}

Result bytes_constant(const Token& token, const Operand& operand, Use use) {
    Constant constant;
    if (token.kind != TokenKind::Word) {
        const auto text = std::as_bytes(std::span(token.text));
        constant.bytes.assign(text.begin(), text.end());
    } else {
        auto bytes = hex_bytes(token.text);
        if (!bytes) {
            return wrong(quoted(token.text) +
                         " is not a byte string; write aa:bb:cc, or \"text\" in quotation marks");
        }
        constant.bytes = std::move(*bytes);
    }
    const decode::FieldRow* row = row_of(operand);
    const bool mac = row != nullptr && row->format == decode::Format::Mac && operand.slice.empty();
    if (mac && use != Use::Part && constant.bytes.size() != 6) {
        return wrong(quoted(token.text) + " is not a MAC address, which has 6 bytes");
    }
    return constant;
}

} // namespace

std::expected<std::uint64_t, std::string> number_of(std::string_view text) {
    std::string_view digits = text;
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        digits.remove_prefix(2);
    } else if (text.starts_with("0b") || text.starts_with("0B")) {
        base = 2;
        digits.remove_prefix(2);
    } else if (text.starts_with('0') && text.size() > 1) {
        base = 8; // octal, as in Wireshark and C
    }
    std::uint64_t value = 0;
    const auto end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error == std::errc::result_out_of_range) {
        return std::unexpected(quoted(text) + " has more than 64 bits");
    }
    if (error != std::errc{} || stop != end) {
        return std::unexpected(quoted(text) + " is not an unsigned number");
    }
    return value;
}

std::expected<Constant, std::string> constant_of(const Token& token, const Operand& operand,
                                                 Use use) {
    switch (operand.type) {
    case Type::Number: return number_constant(token, operand, use);
    case Type::Boolean: return boolean_constant(token);
    case Type::Seconds: return seconds_constant(token);
    case Type::Ipv4: return address_constant(token, false, use);
    case Type::Ipv6: return address_constant(token, true, use);
    case Type::Bytes: return bytes_constant(token, operand, use);
    case Type::Text: {
        const auto text = std::as_bytes(std::span(token.text));
        return Constant{.bytes = {text.begin(), text.end()}};
    }
    }
    return wrong("not a value");
}

} // namespace veriroce::filter
