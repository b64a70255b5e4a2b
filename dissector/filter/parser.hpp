// Parses an expression into a program. Internal to this room.
//
//   or      and { ("or" | "||") and }
//   and     not { ("and" | "&&") not }
//   not     ("not" | "!") not | "(" or ")" | test
//   test    ["any" | "all"] operand [ relation value { relation value } | ["not"] "in" set
//                                     | "contains" value | "matches" text ]
//   operand name [slice] ["&" number] | "(" operand ")"
//   set     "{" value [".." value] { "," ... } "}"
#pragma once

#include <expected>
#include <string_view>

#include "dissector/filter/filter.hpp"
#include "dissector/filter/program.hpp"

namespace veriroce::filter {

std::expected<Program, Error> parse(std::string_view expression);

} // namespace veriroce::filter
