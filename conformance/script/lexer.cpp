#include "conformance/script/lexer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace veriroce::script {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::optional<std::uint8_t> hex_digit(char c) {
    if (is_digit(c)) return static_cast<std::uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
    return std::nullopt;
}

struct UnitRow {
    std::string_view name;
    Unit unit;
    std::int64_t factor;
};
constexpr std::array kUnits{
    UnitRow{"ns", Unit::Time, 1},         UnitRow{"us", Unit::Time, 1'000},
    UnitRow{"ms", Unit::Time, 1'000'000}, UnitRow{"s", Unit::Time, 1'000'000'000},
    UnitRow{"KiB", Unit::Size, 1 << 10},  UnitRow{"MiB", Unit::Size, 1 << 20},
};

constexpr std::string_view kSymbols = "><=+-*/^()[]{},:@";
constexpr std::string_view kBeforeEquals = "!<>=+"; // symbols of two characters, and `..`

// Bytes of the symbol at the front; 0 if there is none.
std::size_t symbol_size(std::string_view text) {
    const char first = text.front();
    const char second = text.size() > 1 ? text[1] : ' ';
    if (second == '=' && kBeforeEquals.find(first) != std::string_view::npos) return 2;
    if (first == '.' && second == '.') return 2;
    return kSymbols.find(first) != std::string_view::npos ? 1 : 0;
}

constexpr std::size_t kUsualTokens = 16; // of a line

// Bytes that continue a character of UTF-8 do not.
constexpr bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

class LineLexer {
  public:
    LineLexer(std::string_view text, std::uint32_t number) : text_(text) { line_.number = number; }

    Line run() {
        line_.text = text_;
        const std::optional<Token> wrong = wrong_as_a_whole();
        line_.tokens.reserve(kUsualTokens);
        lex_tokens();
        if (wrong) {
            // Keep the tokens before it, so that an `end` still ends its block.
            std::erase_if(line_.tokens, [](const Token& t) { return t.kind == Token::Kind::Bad; });
            line_.tokens.push_back(*wrong);
        }
        return std::move(line_);
    }

  private:
    void lex_tokens() {
        at_ = 0;
        while (true) {
            const std::size_t before = at_;
            while (at_ < text_.size() && text_[at_] == ' ')
                ++at_;
            if (at_ == text_.size()) return;
            if (text_[at_] == '#') {
                line_.comment = text_.substr(at_);
                return;
            }
            Token token = take();
            token.blank_before = token.offset > before || before == 0;
            const bool bad = token.kind == Token::Kind::Bad;
            line_.tokens.push_back(std::move(token));
            if (bad) return;
        }
    }

    // A tab, another control character, too many columns; `text_` is then the text before it.
    std::optional<Token> wrong_as_a_whole() {
        std::uint32_t columns = 0;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            const auto c = static_cast<unsigned char>(text_[i]);
            columns += begins_character(text_[i]) ? 1 : 0;
            one_byte_each_ = one_byte_each_ && c < 0x80;
            if (c >= 0x20 && c != 0x7F && columns <= kMaxColumns) continue;
            at_begin_ = i;
            at_ = columns > kMaxColumns ? text_.size() : i + 1;
            std::string message = c == '\t' ? "tabs are not allowed; use spaces"
                                            : "control characters are not allowed";
            if (columns > kMaxColumns) message = "the line is longer than 100 columns";
            const Token wrong = bad(std::move(message));
            text_ = text_.substr(0, i);
            return wrong;
        }
        return std::nullopt;
    }

    Token take() {
        at_begin_ = at_;
        const char c = text_[at_];
        if (c == 'h' && text_.substr(at_).starts_with("hex\"")) return take_hex();
        if (is_letter(c)) return take_name();
        if (is_digit(c)) return take_number();
        if (c == '"') return take_string();
        if (const std::size_t size = symbol_size(text_.substr(at_)); size > 0) {
            at_ += size;
            return token(Token::Kind::Symbol);
        }
        do {
            ++at_; // skip all bytes of one character
        } while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0U) == 0x80U);
        return bad("unexpected character");
    }

    Token take_name() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            const bool inner_dot = c == '.' && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]);
            if (!is_letter(c) && !is_digit(c) && !inner_dot) break;
            ++at_;
        }
        return token(Token::Kind::Name);
    }

    Token take_number() {
        const bool hex = text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
        return hex ? take_hex_number() : take_decimal();
    }

    Token take_hex_number() {
        at_ += 2;
        std::uint64_t value = 0;
        std::size_t digits = 0;
        for (; at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])); ++at_) {
            const auto digit = hex_digit(text_[at_]);
            if (!digit) {
                take_name();
                return bad("invalid hexadecimal number");
            }
            if (digits > 0 || *digit != 0) ++digits;
            value = value << 4 | *digit;
        }
        if (at_ - at_begin_ == 2) return bad("expected hexadecimal digits after 0x");
        if (digits > 16) return bad("the number does not fit in 64 bits");
        Token result = token(Token::Kind::Number);
        result.number = static_cast<std::int64_t>(value); // the same bits
        result.real = static_cast<double>(value);
        return result;
    }

    Token take_decimal() {
        std::uint64_t value = 0;
        bool overflow = false;
        for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
            const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
            overflow = overflow || value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10;
            value = value * 10 + digit;
        }
        std::uint64_t fraction = 0;
        std::uint64_t scale = 1;
        if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
            for (++at_; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
                if (scale >= 1'000'000'000) continue; // smaller than a nanosecond
                fraction = fraction * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
                scale *= 10;
            }
        }
        const std::size_t suffix = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])))
            ++at_;
        return with_unit(value, fraction, scale, text_.substr(suffix, at_ - suffix), overflow);
    }

    Token with_unit(std::uint64_t value, std::uint64_t fraction, std::uint64_t scale,
                    std::string_view suffix, bool overflow) {
        UnitRow unit{"", Unit::None, 1};
        if (!suffix.empty()) {
            const auto* found = std::ranges::find(kUnits, suffix, &UnitRow::name);
            if (found == kUnits.end()) {
                at_begin_ = at_ - suffix.size();
                return bad("unknown unit '" + std::string(suffix) +
                           "'; expected ns, us, ms, s, KiB or MiB");
            }
            unit = *found;
        }
        const auto factor = static_cast<std::uint64_t>(unit.factor);
        const bool has_unit = unit.unit != Unit::None;
        const std::uint64_t limit =
            has_unit
                ? static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / factor - 1
                : std::numeric_limits<std::uint64_t>::max();
        if (overflow || value > limit) return bad("the number does not fit in 64 bits");
        Token result = token(Token::Kind::Number);
        result.unit = unit.unit;
        result.whole = fraction * factor % scale == 0;
        result.number = static_cast<std::int64_t>(value * factor + fraction * factor / scale);
        result.real =
            static_cast<double>(value) + static_cast<double>(fraction) / static_cast<double>(scale);
        if (has_unit && !result.whole)
            return bad("the value is not a whole number of nanoseconds or bytes");
        return result;
    }

    Token take_string() {
        const std::size_t end = text_.find('"', at_ + 1);
        if (end == std::string_view::npos) {
            at_ = text_.size();
            return bad("the text has no closing quote");
        }
        at_ = end + 1;
        Token result = token(Token::Kind::String);
        result.text = std::string(text_.substr(at_begin_ + 1, end - at_begin_ - 1));
        return result;
    }

    Token take_hex() {
        at_ += 4;
        std::vector<std::byte> bytes;
        std::size_t digits = 0;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == ' ') continue; // blanks separate groups of digits
            const auto digit = hex_digit(text_[at_]);
            if (!digit) {
                at_begin_ = at_++;
                return bad("invalid hexadecimal digit");
            }
            const auto low = static_cast<std::byte>(*digit);
            if (digits++ % 2 == 0) {
                bytes.push_back(low << 4);
            } else {
                bytes.back() |= low;
            }
        }
        if (at_ == text_.size()) return bad("the bytes have no closing quote");
        ++at_;
        if (digits % 2 != 0) return bad("an odd number of hexadecimal digits");
        Token result = token(Token::Kind::Hex);
        result.bytes = std::move(bytes);
        return result;
    }

    Token token(Token::Kind kind) const {
        Token result;
        result.kind = kind;
        result.offset = at_begin_;
        result.size = at_ - at_begin_;
        result.text = std::string(text_.substr(at_begin_, at_ - at_begin_));
        result.span = {line_.number, column_of(at_begin_),
                       std::max(1U, columns(text_.substr(at_begin_, at_ - at_begin_)))};
        return result;
    }
    // From the token before, which begins to the left of it.
    [[nodiscard]] std::uint32_t column_of(std::size_t at) const {
        if (line_.tokens.empty()) return columns(text_.substr(0, at)) + 1;
        const Token& before = line_.tokens.back();
        return before.span.column + columns(text_.substr(before.offset, at - before.offset));
    }
    [[nodiscard]] std::uint32_t columns(std::string_view part) const {
        return one_byte_each_ ? static_cast<std::uint32_t>(part.size()) : columns_of(part);
    }
    Token bad(std::string message) const {
        Token result = token(Token::Kind::Bad);
        result.text = std::move(message);
        return result;
    }

    std::string_view text_;
    Line line_;
    std::size_t at_ = 0;
    std::size_t at_begin_ = 0;
    bool one_byte_each_ = true; // as far as the line was read
};

} // namespace

std::uint32_t columns_of(std::string_view text) {
    return static_cast<std::uint32_t>(std::ranges::count_if(text, begins_character));
}

SourceSpan Line::span() const {
    if (tokens.empty()) return {number, 1, 1};
    const SourceSpan& first = tokens.front().span;
    const SourceSpan& last = tokens.back().span;
    return {number, first.column, last.column + last.length - first.column};
}

std::vector<Line> lex(std::string_view text) {
    std::vector<Line> lines;
    lines.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
    std::uint32_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back(LineLexer(line, ++number).run());
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

} // namespace veriroce::script
