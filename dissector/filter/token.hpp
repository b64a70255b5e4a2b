// Splits a filter expression into tokens. Internal to this room.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/filter/filter.hpp"

namespace veriroce::filter {

enum class TokenKind : std::uint8_t {
    End,
    Word,   // a name, a number, an address, bytes
    Text,   // "..." or r"..."; `text` is the unescaped content
    Letter, // 'x'; `text` is one byte
    Slice,  // [...] including the brackets
    OpenParenthesis,
    CloseParenthesis,
    OpenBrace,
    CloseBrace,
    Comma,
    Range, // ..
    And,
    Or,
    Not,
    In,
    Any,
    All,
    BitAnd,
    Contains,
    Matches,
    Equal,       // any value: ==
    NotEqual,    // every value: !=
    AllEqual,    // ===
    AnyNotEqual, // !==
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::size_t at = 0; // position in the expression
    std::size_t length = 0;
    std::string text;
};

// Longer expressions are rejected.
inline constexpr std::size_t kMaxExpressionBytes = 65'536;

// The last token has kind End.
std::expected<std::vector<Token>, Error> tokens_of(std::string_view expression);

// Operators that are words, for "did you mean".
std::vector<std::string_view> operator_words();

} // namespace veriroce::filter
