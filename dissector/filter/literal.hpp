// Converts literals of an expression to the type that they are compared with. Internal to this
// room.
#pragma once

#include <expected>
#include <string>

#include "dissector/filter/program.hpp"
#include "dissector/filter/token.hpp"

namespace veriroce::filter {

// How a value is used: part of a byte string may have any length, and an ordering needs a single
// number.
enum class Use : std::uint8_t { Compared, Ordered, Part };

// The token is a Word, Text or Letter. The error is a message about it.
std::expected<Constant, std::string> constant_of(const Token& token, const Operand& operand,
                                                 Use use);

// An unsigned number: decimal, 0x, 0b, or octal with a leading 0. The error is a message.
std::expected<std::uint64_t, std::string> number_of(std::string_view text);

} // namespace veriroce::filter
