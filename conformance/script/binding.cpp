#include "conformance/script/binding.hpp"

#include <algorithm>
#include <array>

namespace veriroce::script {
namespace {

// The token that {name} stands for in this run; Bad if the name does not stand for a word.
Token bound_word(const Line& line, std::size_t open, const Scope& scope) {
    Token word = line.tokens[open + 1];
    const Name* name = scope.find(word.text);
    word.blank_before = line.tokens[open].blank_before;
    word.span.column = line.tokens[open].span.column;
    word.span.length += 2;
    if (name != nullptr && name->kind == NameKind::Text) {
        word.text = name->text;
        return word;
    }
    word.kind = Token::Kind::Bad;
    if (name == nullptr) {
        word.text = "unknown name '" + word.text + "'" +
                    suggestion(word.text, scope.of_kind(NameKind::Text));
    } else {
        word.text = "'" + word.text + "' is " + std::string(text_of(name->kind)) +
                    "; only a word can stand in {braces}";
    }
    return word;
}

} // namespace

const std::vector<Token>& with_words(const Line& line, const Scope& scope,
                                     std::vector<Token>& replaced) {
    const auto opens = [](const Token& token) { return token.is("{"); };
    if (std::ranges::none_of(line.tokens, opens)) return line.tokens;
    std::vector<Token>& tokens = replaced;
    for (std::size_t i = 0; i < line.tokens.size(); ++i) {
        const bool braces = line.tokens[i].is("{") && i + 2 < line.tokens.size() &&
                            line.tokens[i + 1].kind == Token::Kind::Name &&
                            line.tokens[i + 2].is("}");
        if (braces) {
            tokens.push_back(bound_word(line, i, scope));
            i += 2;
        } else {
            tokens.push_back(line.tokens[i]);
        }
    }
    return tokens;
}

std::vector<Token> attribute_tokens(const BoundName& name) {
    Token value{.span = name.span};
    if (const auto* number = std::get_if<Constant>(&name.value)) {
        value.kind = Token::Kind::Number;
        value.text = text_of(*number);
        value.number = number->value;
        value.unit = number->unit;
    } else {
        value.kind = Token::Kind::Name;
        value.text = std::get<std::string>(name.value);
    }
    return {{.kind = Token::Kind::Name, .text = name.name, .span = name.span, .blank_before = true},
            {.kind = Token::Kind::Symbol, .text = "=", .span = name.span},
            std::move(value)};
}

std::string text_of(const Constant& constant) {
    struct Row {
        Unit unit;
        std::int64_t factor;
        std::string_view name;
    };
    static constexpr std::array rows{
        Row{Unit::Time, 1'000'000'000, "s"}, Row{Unit::Time, 1'000'000, "ms"},
        Row{Unit::Time, 1'000, "us"},        Row{Unit::Time, 1, "ns"},
        Row{Unit::Size, 1 << 20, "MiB"},     Row{Unit::Size, 1 << 10, "KiB"},
    };
    for (const Row& row : rows) {
        if (row.unit != constant.unit || constant.value == 0) continue;
        if (constant.value % row.factor == 0) {
            return std::to_string(constant.value / row.factor) + std::string(row.name);
        }
    }
    return std::to_string(constant.value);
}

} // namespace veriroce::script
