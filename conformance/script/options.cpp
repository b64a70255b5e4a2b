#include "conformance/script/options.hpp"

#include <algorithm>
#include <bitset>
#include <cassert>
#include <string>
#include <vector>

namespace veriroce::script {
namespace {

constexpr std::size_t kMostOptions = 64; // of a line

void fail_unknown(Cursor& cursor, std::string_view what, const Word& name,
                  std::span<const Option> options) {
    std::vector<std::string_view> names;
    for (const Option& option : options)
        names.push_back(option.name);
    cursor.fail(name.span, "'" + std::string(what) + "' has no option '" + name.text + "'" +
                               suggestion(name.text, names));
}

} // namespace

bool take_equals(Cursor& cursor, const Word& name) {
    if (cursor.failed()) return false;
    const bool value = cursor.peek().is("=") && cursor.peek(1).kind != Token::Kind::End;
    if (!value) {
        cursor.fail(name.span, "'" + name.text + "' needs a value: " + name.text + "=...");
        return false;
    }
    const Token& equals = cursor.next();
    if (equals.blank_before || cursor.peek().blank_before) {
        cursor.fail(equals.span, "no spaces are allowed around '='");
        return false;
    }
    return true;
}

void parse_option_list(Cursor& cursor, std::string_view what, std::span<const Option> options) {
    std::bitset<kMostOptions> seen;
    assert(options.size() <= kMostOptions);
    while (!cursor.at_end()) {
        if (cursor.peek().kind != Token::Kind::Name)
            return cursor.fail_here("expected an option of '" + std::string(what) + "'");
        const Word name = cursor.word("an option");
        const auto found = std::ranges::find(options, name.text, &Option::name);
        if (found == options.end()) return fail_unknown(cursor, what, name, options);
        const auto index = static_cast<std::size_t>(found - options.begin());
        if (seen[index]) return cursor.fail(name.span, "'" + name.text + "' is written twice");
        seen[index] = true;
        if (found->form == Option::Form::Equals && !take_equals(cursor, name)) return;
        found->parse();
    }
    if (cursor.failed()) return;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (options[i].required && !seen[i]) {
            return cursor.fail_here("'" + std::string(what) + "' needs " +
                                    std::string(options[i].name) +
                                    (options[i].form == Option::Form::Equals ? "=..." : ""));
        }
    }
}

} // namespace veriroce::script
