// NAME=VALUE… at the end of a line: each at most once, in any order. An unknown name is an error
// with a suggestion.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "conformance/script/cursor.hpp"

namespace veriroce::script {

struct Option {
    enum class Form : std::uint8_t { Equals, Flag, Clause }; // name=…, name, name …
    std::string_view name;
    Form form = Form::Equals;
    bool required = false;
    std::function<void()> parse; // takes the value, or sets the flag
};

// Reads options up to the end of the line. `what` names the line's subject in messages: "dut mr".
void parse_options(Cursor& cursor, std::string_view what, const std::vector<Option>& options);

// Takes `=` without blanks around it, after a name that was just read.
bool take_equals(Cursor& cursor, const Word& name);

} // namespace veriroce::script
