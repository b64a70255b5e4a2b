// A filter expression as words. Internal to this room.
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
    Text,   // "..." or r"..."; `text` is what it stands for
    Letter, // 'x'; `text` is one byte
    Slice,  // [...] with its brackets
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
    Equal,       // of any value: ==
    NotEqual,    // of every value: !=
    AllEqual,    // ===
    AnyNotEqual, // !==
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::size_t at = 0; // where it stands in the expression
    std::size_t length = 0;
    std::string text;
};

// An expression longer than this is refused.
inline constexpr std::size_t kMaxExpressionBytes = 65'536;

// Ends with a token of kind End.
std::expected<std::vector<Token>, Error> tokens_of(std::string_view expression);

// Words that stand between two values, for "did you mean".
std::vector<std::string_view> operator_words();

} // namespace veriroce::filter
