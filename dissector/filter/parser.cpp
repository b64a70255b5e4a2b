#include "dissector/filter/parser.hpp"

#include <algorithm>

#include "dissector/filter/literal.hpp"
#include "dissector/filter/names.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::filter {
namespace {

using enum TokenKind;

// A comparison operator, and whether all values must satisfy it.
struct Relation {
    Verb verb = Verb::Equal;
    bool all = false;
};

std::optional<Relation> relation_of(TokenKind kind) {
    switch (kind) {
    case Equal: return Relation{Verb::Equal, false};
    case AllEqual: return Relation{Verb::Equal, true};
    case NotEqual:
        return Relation{Verb::NotEqual, true}; // as in Wireshark 4: no value may be equal
    case AnyNotEqual: return Relation{Verb::NotEqual, false};
    case Less: return Relation{Verb::Less, false};
    case LessEqual: return Relation{Verb::LessEqual, false};
    case Greater: return Relation{Verb::Greater, false};
    case GreaterEqual: return Relation{Verb::GreaterEqual, false};
    case End:
    case Word:
    case Text:
    case Letter:
    case Slice:
    case OpenParenthesis:
    case CloseParenthesis:
    case OpenBrace:
    case CloseBrace:
    case Comma:
    case Range:
    case And:
    case Or:
    case Not:
    case In:
    case Any:
    case All:
    case BitAnd:
    case Contains:
    case Matches: return std::nullopt;
    }
    return std::nullopt;
}

bool is_value(TokenKind kind) {
    return kind == Word || kind == Text || kind == Letter;
}

bool comparable(Type a, Type b) {
    const auto plain = [](Type type) { return type == Type::Boolean ? Type::Number : type; };
    return plain(a) == plain(b);
}

// Stops at the first error: afterwards every function returns without effect.
class Parser {
  public:
    explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    std::expected<Program, Error> run() {
        if (now().kind != End) {
            program_.root = alternatives();
            if (!error_ && now().kind != End) unexpected();
        }
        if (error_) return std::unexpected(std::move(*error_));
        return std::move(program_);
    }

  private:
    [[nodiscard]] const Token& now() const { return tokens_[at_]; }
    [[nodiscard]] const Token& after(std::size_t count) const {
        return tokens_[std::min(at_ + count, tokens_.size() - 1)];
    }
    bool take(TokenKind kind) {
        if (error_ || now().kind != kind) return false;
        ++at_;
        return true;
    }

    void fail(const Token& token, std::string message) {
        if (error_) return;
        error_ = Error{.at = token.at, .length = token.length, .message = std::move(message)};
    }
    void unexpected() {
        if (now().kind == End) return fail(now(), "unexpected end of the expression");
        const bool between = at_ > 0 && is_value(now().kind) && is_value(tokens_[at_ - 1].kind);
        if (!between || now().kind != Word) return fail(now(), "unexpected " + spelled(now()));
        const std::string_view near =
            starts_with_letter(now())
                ? wire::nearest_word(now().text, operator_words()).value_or("")
                : std::string_view{};
        fail(now(), "unknown operator " + spelled(now()) +
                        (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
    static bool starts_with_letter(const Token& token) {
        const char c = token.text.empty() ? '0' : token.text[0];
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    static std::string spelled(const Token& token) { return "'" + token.text + "'"; }

    std::size_t add(Node node) {
        program_.nodes.push_back(std::move(node));
        return program_.nodes.size() - 1;
    }
    // A single part needs no node of its own.
    std::size_t joined(Node::Kind kind, std::vector<std::size_t> parts) {
        if (parts.size() == 1) return parts.front();
        return add({.kind = kind, .parts = std::move(parts)});
    }

    std::size_t alternatives() {
        std::vector<std::size_t> parts{conditions()};
        while (take(Or))
            parts.push_back(conditions());
        return joined(Node::Kind::Or, std::move(parts));
    }

    std::size_t conditions() {
        std::vector<std::size_t> parts{negation()};
        while (take(And))
            parts.push_back(negation());
        return joined(Node::Kind::And, std::move(parts));
    }

    std::size_t negation() {
        if (error_) return 0;
        if (depth_ == kMaxDepth) {
            fail(now(), "more than 100 nested parentheses and nots");
            return 0;
        }
        ++depth_;
        std::size_t result = 0;
        if (take(Not)) {
            result = add({.kind = Node::Kind::Not, .parts = {negation()}});
        } else if (now().kind == OpenParenthesis && !operand_in_parentheses()) {
            result = group();
        } else {
            result = relations();
        }
        --depth_;
        return result;
    }

    std::size_t group() {
        take(OpenParenthesis);
        const std::size_t inside = alternatives();
        if (!error_ && !take(CloseParenthesis)) {
            if (now().kind == End) {
                fail(now(), "missing )");
            } else {
                unexpected();
            }
        }
        return inside;
    }

    // "(name & 3) == 1": parentheses around an operand, not around a test.
    [[nodiscard]] bool operand_in_parentheses() const {
        std::size_t next = 2;
        if (after(1).kind != Word) return false;
        if (after(next).kind == Slice) ++next;
        if (after(next).kind == BitAnd) next += 2;
        return after(next).kind == CloseParenthesis &&
               (relation_of(after(next + 1).kind) || after(next + 1).kind == In);
    }

    std::size_t relations() {
        const Token& quantifier = now();
        const bool quantified = take(Any) || take(All);
        const Token& first = now();
        std::optional<Operand> left = operand();
        if (!left) return 0;
        if (relation_of(now().kind)) {
            return chain(std::move(*left), quantified ? &quantifier : nullptr);
        }
        Test test{.left = std::move(*left), .all = quantified && quantifier.kind == All};
        if (now().kind == Not && after(1).kind == In) {
            ++at_;
            return add({.kind = Node::Kind::Not, .parts = {set(std::move(test))}});
        }
        if (now().kind == In) return set(std::move(test));
        if (take(Contains)) return contains(std::move(test), first);
        if (take(Matches)) return matches(std::move(test), first);
        if (quantified) fail(quantifier, "any and all must be followed by a comparison");
        return finished(std::move(test));
    }

    std::size_t finished(Test test) {
        program_.tests.push_back(std::move(test));
        return add({.kind = Node::Kind::Test, .parts = {program_.tests.size() - 1}});
    }

    // a < b < c means a < b and b < c.
    std::size_t chain(Operand left, const Token* quantifier) {
        std::vector<std::size_t> parts;
        while (!error_) {
            const auto relation = relation_of(now().kind);
            if (!relation) break;
            ++at_;
            Test test{.left = left, .verb = relation->verb, .all = relation->all};
            if (quantifier != nullptr) test.all = quantifier->kind == All;
            const Token& value = now();
            compared(test);
            if (error_) break;
            const bool more = relation_of(now().kind).has_value();
            if (more && !test.right) {
                fail(value, "the left side of a comparison must be a field, not " + spelled(value));
            }
            if (more && test.right) left = *test.right;
            parts.push_back(finished(std::move(test)));
        }
        return error_ ? 0 : joined(Node::Kind::And, std::move(parts));
    }

    // The right side of a comparison: a field or a value.
    void compared(Test& test) {
        const Token& first = now();
        const bool word = first.kind == Word || first.kind == OpenParenthesis;
        // Byte strings and value names look like field names; an existing field wins.
        const bool field = first.kind == OpenParenthesis || (word && operand_of(first.text));
        if (!field) {
            const bool ordered = test.verb != Verb::Equal && test.verb != Verb::NotEqual;
            if (auto constant = value(test.left, ordered ? Use::Ordered : Use::Compared)) {
                test.values.push_back({.from = std::move(*constant), .to = {}});
            }
            return;
        }
        test.right = operand();
        if (error_ || comparable(test.left.type, test.right->type)) return;
        fail(first, spelled(first) + " is " + std::string(name_of(test.right->type)) +
                        ", and the left side is " + std::string(name_of(test.left.type)));
    }

    std::optional<Constant> value(const Operand& operand, Use use) {
        if (!is_value(now().kind)) {
            unexpected();
            return std::nullopt;
        }
        const Token& token = tokens_[at_++];
        auto constant = constant_of(token, operand, use);
        if (constant) return std::move(*constant);
        fail(token, std::move(constant.error()));
        return std::nullopt;
    }

    std::size_t set(Test test) {
        take(In);
        test.verb = Verb::In;
        if (!take(OpenBrace)) {
            fail(now(), "write a set in braces: {1, 2..5}");
            return 0;
        }
        do {
            auto from = value(test.left, Use::Compared);
            if (!from) return 0;
            ConstantRange range{.from = std::move(*from), .to = {}};
            if (take(Range)) {
                range.to = value(test.left, Use::Ordered);
                if (!range.to) return 0;
            }
            test.values.push_back(std::move(range));
        } while (take(Comma));
        if (!take(CloseBrace)) {
            if (is_value(now().kind)) {
                fail(now(), "expected a comma between the values of a set");
            } else {
                unexpected();
            }
            return 0;
        }
        return finished(std::move(test));
    }

    std::size_t contains(Test test, const Token& left) {
        test.verb = Verb::Contains;
        if (!searchable(test.left, left)) return 0;
        auto part = value(test.left, Use::Part);
        if (!part) return 0;
        test.values.push_back({.from = std::move(*part), .to = {}});
        return finished(std::move(test));
    }

    std::size_t matches(Test test, const Token& left) {
        test.verb = Verb::Matches;
        if (!searchable(test.left, left)) return 0;
        const Token& token = now();
        if (token.kind != Text) {
            fail(token, "write a regular expression in quotation marks, best as r\"...\"");
            return 0;
        }
        ++at_;
        auto pattern = Pattern::compile(token.text);
        if (!pattern) {
            fail(token, std::move(pattern.error()));
            return 0;
        }
        test.pattern = std::move(*pattern);
        return finished(std::move(test));
    }

    bool searchable(const Operand& operand, const Token& token) {
        if (operand.type == Type::Bytes || operand.type == Type::Text) return true;
        fail(token, spelled(token) + " is " + std::string(name_of(operand.type)) +
                        ": contains and matches need bytes or text");
        return false;
    }

    std::optional<Operand> operand() {
        const bool parenthesis = take(OpenParenthesis);
        auto inside = bare_operand();
        if (!error_ && parenthesis && !take(CloseParenthesis)) unexpected();
        return inside;
    }

    std::optional<Operand> bare_operand() {
        const Token& name = now();
        if (name.kind == Text || name.kind == Letter) {
            fail(name, "the left side of a comparison must be a field");
        }
        if (name.kind != Word) unexpected();
        if (error_) return std::nullopt;
        ++at_;
        auto found = operand_of(name.text);
        if (!found) {
            unknown(name);
            return std::nullopt;
        }
        if (now().kind == Slice) sliced(*found, name);
        if (take(BitAnd)) masked(*found, name);
        if (error_) return std::nullopt;
        return found;
    }

    void unknown(const Token& name) {
        if (now().kind == OpenParenthesis) return fail(name, "functions are not supported");
        const std::string near = starts_with_letter(name) ? nearest_operand(name.text) : "";
        fail(name, "unknown field or protocol " + spelled(name) +
                       (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }

    void sliced(Operand& operand, const Token& name) {
        const Token& token = tokens_[at_++];
        if (numeric(operand.type)) {
            return fail(name, spelled(name) + " is " + std::string(name_of(operand.type)) +
                                  " and cannot be sliced; use & to select bits");
        }
        auto parts = slice_of(token.text);
        if (!parts) return fail(token, std::move(parts.error()));
        operand.slice = std::move(*parts);
        if (operand.type != Type::Text) operand.type = Type::Bytes;
    }

    void masked(Operand& operand, const Token& name) {
        const Token& token = now();
        if (operand.type != Type::Number) {
            return fail(name, spelled(name) + " is " + std::string(name_of(operand.type)) +
                                  ", and & needs a number");
        }
        if (!is_value(token.kind)) return unexpected();
        ++at_;
        const auto mask = number_of(token.text);
        if (!mask) return fail(token, mask.error());
        operand.mask = *mask;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    Program program_;
    std::optional<Error> error_;
};

} // namespace

std::expected<Program, Error> parse(std::string_view expression) {
    auto tokens = tokens_of(expression);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    return Parser(std::move(*tokens)).run();
}

} // namespace veriroce::filter
