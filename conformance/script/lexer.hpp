// A script as lines of tokens. Blanks matter (an expression ends at one), so each token records
// whether a blank precedes it. Comments are kept for the formatter.
//
// Errors: a token of kind Bad contains its message, which the parser of the line reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

struct Token {
    enum class Kind : std::uint8_t {
        Name,   // also dotted: ip.ttl
        Number, // number and unit; `real` if it is not a whole number
        String, // content without quotes
        Hex,    // bytes of hex"…"
        Symbol, // > < = != <= >= == += + - * / ^ ( ) [ ] { } , : @ ..
        Bad,    // text is the message
        End,    // after the last token
    };
    Kind kind = Kind::End;
    std::string text; // as written; for String its content, for Bad the message
    SourceSpan span;
    bool blank_before = false;
    bool whole = true;
    Unit unit = Unit::None;
    std::size_t offset = 0; // bytes before it in the line, and its own bytes
    std::size_t size = 0;
    std::int64_t number = 0;
    double real = 0;
    std::vector<std::byte> bytes;

    [[nodiscard]] bool is(std::string_view symbol_or_name) const {
        return (kind == Kind::Symbol || kind == Kind::Name) && text == symbol_or_name;
    }
};

struct Line {
    std::uint32_t number = 0;
    std::string_view text; // without its end
    std::vector<Token> tokens;
    std::string_view comment; // from the # on

    [[nodiscard]] bool blank() const { return tokens.empty() && comment.empty(); }
    // All tokens, from the first to the last.
    [[nodiscard]] SourceSpan span() const;
};

inline constexpr std::uint32_t kMaxColumns = 100;

// Every line of the text; the views point into it. A line that is too long, or contains a tab or
// another control character, begins with a Bad token.
std::vector<Line> lex(std::string_view text);

// Characters, not bytes: continuation bytes of UTF-8 do not count.
std::uint32_t columns_of(std::string_view text);

} // namespace veriroce::script
