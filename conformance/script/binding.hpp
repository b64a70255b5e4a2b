// The values of `let` and `for` names in one run, and a line with its {name}s replaced.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "conformance/script/names.hpp"

namespace veriroce::script {

// A `let` or `for` name in one run.
struct BoundName {
    std::string name;
    std::variant<Constant, std::string> value;
    bool is_for = false;
    bool attribute = false; // for qp.NAME
    SourceSpan span;
};

// "256", "1ms", "64KiB": a value as run ids show it.
std::string text_of(const Constant& constant);

// FIELD=VALUE of a `for qp.FIELD` line in this run, as a `qp` line would write it.
std::vector<Token> attribute_tokens(const BoundName& name);

// The line's tokens, with each {name} replaced by the word that it stands for in this run. A name
// that does not stand for a word becomes a Bad token. A line without braces is its own; `replaced`
// keeps the others.
const std::vector<Token>& with_words(const Line& line, const Scope& scope,
                                     std::vector<Token>& replaced);

} // namespace veriroce::script
