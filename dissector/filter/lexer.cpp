#include <algorithm>
#include <array>
#include <optional>

#include "dissector/filter/token.hpp"

namespace veriroce::filter {
namespace {

struct Spelling {
    std::string_view text;
    TokenKind kind;
};

using enum TokenKind;

// Longer operators come first, because the first match wins.
constexpr std::array kSigns{
    Spelling{"===", AllEqual},
    Spelling{"!==", AnyNotEqual},
    Spelling{"==", Equal},
    Spelling{"!=", NotEqual},
    Spelling{"~=", AnyNotEqual},
    Spelling{"<=", LessEqual},
    Spelling{">=", GreaterEqual},
    Spelling{"&&", And},
    Spelling{"||", Or},
    Spelling{"..", Range},
    Spelling{"<", Less},
    Spelling{">", Greater},
    Spelling{"!", Not},
    Spelling{"&", BitAnd},
    Spelling{"~", Matches},
    Spelling{"(", OpenParenthesis},
    Spelling{")", CloseParenthesis},
    Spelling{"{", OpenBrace},
    Spelling{"}", CloseBrace},
    Spelling{",", Comma},
};

constexpr std::array kWords{
    Spelling{"and", And},
    Spelling{"or", Or},
    Spelling{"not", Not},
    Spelling{"in", In},
    Spelling{"any", Any},
    Spelling{"all", All},
    Spelling{"eq", Equal},
    Spelling{"any_eq", Equal},
    Spelling{"ne", NotEqual},
    Spelling{"all_ne", NotEqual},
    Spelling{"all_eq", AllEqual},
    Spelling{"any_ne", AnyNotEqual},
    Spelling{"lt", Less},
    Spelling{"le", LessEqual},
    Spelling{"gt", Greater},
    Spelling{"ge", GreaterEqual},
    Spelling{"contains", Contains},
    Spelling{"matches", Matches},
    Spelling{"bitwise_and", BitAnd},
};

bool in_word(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || std::string_view("_.:-/").contains(c);
}

bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return std::nullopt;
}

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::expected<std::vector<Token>, Error> run() {
        if (text_.size() > kMaxExpressionBytes) {
            return std::unexpected(Error{.at = kMaxExpressionBytes,
                                         .length = 0,
                                         .message = "an expression can have at most 65536 bytes"});
        }
        while (!error_) {
            while (at_ < text_.size() && blank(text_[at_]))
                ++at_;
            if (at_ == text_.size()) break;
            one();
        }
        if (error_) return std::unexpected(*error_);
        tokens_.push_back({.kind = End, .at = text_.size(), .length = 0, .text = {}});
        return std::move(tokens_);
    }

  private:
    void one() {
        const char c = text_[at_];
        if (c == '"') return quoted(at_, false);
        if (text_.substr(at_).starts_with("r\"")) return quoted(at_ + 1, true);
        if (c == '\'') return letter();
        if (c == '[') return slice();
        const bool range = text_.substr(at_).starts_with("..");
        if (in_word(c) && !range) return word();
        for (const Spelling& sign : kSigns) {
            if (text_.substr(at_).starts_with(sign.text)) return push(sign.kind, sign.text.size());
        }
        fail(at_, 1, unknown_sign(c));
    }

    static std::string unknown_sign(char c) {
        if (c == '=') return "to compare, write ==";
        if (c == '|') return "for \"or\", write ||";
        if (c == '#') return "layers by number (#) are not supported";
        return "this character has no meaning in a filter";
    }

    void word() {
        std::size_t end = at_;
        while (end < text_.size() && in_word(text_[end]) && !text_.substr(end).starts_with(".."))
            ++end;
        const std::string_view word = text_.substr(at_, end - at_);
        for (const Spelling& one : kWords) {
            if (one.text == word) return push(one.kind, word.size());
        }
        push(Word, word.size());
    }

    void slice() {
        const std::size_t end = text_.find(']', at_);
        if (end == std::string_view::npos) return fail(at_, 1, "missing ]");
        push(Slice, end + 1 - at_);
    }

    // `from` is the opening quotation mark.
    void quoted(std::size_t from, bool raw) {
        std::string value;
        std::size_t at = from + 1;
        for (; at < text_.size() && text_[at] != '"'; ++at) {
            if (text_[at] == '\\' && at + 1 < text_.size()) {
                if (raw) {
                    value += text_[at++];
                    value += text_[at];
                } else if (!escape(at, value)) {
                    return;
                }
            } else {
                value += text_[at];
            }
        }
        if (at == text_.size()) return fail(at_, 1, "missing closing quotation mark");
        push(Text, at + 1 - at_, std::move(value));
    }

    // Reads the escape sequence at `at`, which has at least one more character; leaves `at` on its
    // last character.
    bool escape(std::size_t& at, std::string& value) {
        constexpr std::string_view kLetters = "nrtabfv0\\\"'";
        constexpr std::string_view kMeanings("\n\r\t\a\b\f\v\0\\\"'", 11);
        const std::size_t from = at++;
        if (text_[at] == 'x' && at + 2 < text_.size()) {
            const auto high = hex_digit(text_[at + 1]);
            const auto low = hex_digit(text_[at + 2]);
            if (high && low) {
                value += static_cast<char>(*high << 4 | *low);
                at += 2;
                return true;
            }
        }
        const std::size_t known = kLetters.find(text_[at]);
        if (known == std::string_view::npos) {
            fail(from, 2, "unknown escape sequence; write a regular expression as r\"...\"");
            return false;
        }
        value += kMeanings[known];
        return true;
    }

    void letter() {
        std::string value;
        std::size_t at = at_ + 1;
        if (at < text_.size() && text_[at] == '\\' && at + 1 < text_.size()) {
            if (!escape(at, value)) return;
        } else if (at < text_.size()) {
            value += text_[at];
        }
        if (at + 1 >= text_.size() || text_[at + 1] != '\'') {
            return fail(at_, 1, "single quotation marks must enclose exactly one character");
        }
        push(Letter, at + 2 - at_, std::move(value));
    }

    void push(TokenKind kind, std::size_t length) {
        push(kind, length, std::string(text_.substr(at_, length)));
    }
    void push(TokenKind kind, std::size_t length, std::string text) {
        tokens_.push_back({.kind = kind, .at = at_, .length = length, .text = std::move(text)});
        at_ += length;
    }

    void fail(std::size_t at, std::size_t length, std::string message) {
        error_.emplace(at, length, std::move(message));
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<Token> tokens_;
    std::optional<Error> error_;
};

} // namespace

std::expected<std::vector<Token>, Error> tokens_of(std::string_view expression) {
    return Lexer(expression).run();
}

std::vector<std::string_view> operator_words() {
    std::vector<std::string_view> words;
    for (const Spelling& one : kWords) {
        if (one.kind != Any && one.kind != All) words.push_back(one.text);
    }
    return words;
}

} // namespace veriroce::filter
