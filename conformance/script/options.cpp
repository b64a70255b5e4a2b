#include "conformance/script/options.hpp"

#include <algorithm>

namespace veriroce::script {

bool take_equals(Cursor& cursor, const Word& name) {
    if (cursor.failed()) return false;
    const bool value = cursor.peek().is("=") && cursor.peek(1).kind != Token::Kind::End;
    if (!value) {
        cursor.fail(name.span, "'" + name.text + "' needs a value: " + name.text + "=...");
        return false;
    }
    const Token equals = cursor.next();
    if (equals.blank_before || cursor.peek().blank_before) {
        cursor.fail(equals.span, "no spaces are allowed around '='");
        return false;
    }
    return true;
}

void parse_options(Cursor& cursor, std::string_view what, const std::vector<Option>& options) {
    std::vector<bool> seen(options.size(), false);
    std::vector<std::string_view> names;
    for (const Option& option : options)
        names.push_back(option.name);
    while (!cursor.at_end()) {
        const Word name = cursor.word("an option of '" + std::string(what) + "'");
        if (cursor.failed()) return;
        const auto found = std::ranges::find(options, name.text, &Option::name);
        if (found == options.end()) {
            return cursor.fail(name.span, "'" + std::string(what) + "' has no option '" +
                                              name.text + "'" + suggestion(name.text, names));
        }
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
