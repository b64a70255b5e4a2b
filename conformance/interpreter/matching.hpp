// What the files that match packets against `<` lines share.
#pragma once

#include <vector>

#include "conformance/script/ast.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::interpreter {

wire::Operation operation_of(script::Message message);

// The match of this field; null if the line does not name it.
const script::FieldMatch* match_of(const std::vector<script::FieldMatch>& matches,
                                   script::FieldName field);

} // namespace veriroce::interpreter
