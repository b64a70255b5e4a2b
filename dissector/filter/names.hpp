// Names of fields and protocols, and slices of their values. Internal to this room.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "dissector/filter/program.hpp"

namespace veriroce::filter {

// Empty if no field or protocol has this name.
std::optional<Operand> operand_of(std::string_view name);
// The existing name closest to this one; may be empty.
std::string nearest_operand(std::string_view name);

// "an unsigned number", for messages.
std::string_view name_of(Type type);

// "[0:3]", "[2-4]", "[5]", "[:2]", "[-2:]", "[0,3]"; the error is a message.
std::expected<std::vector<SlicePart>, std::string> slice_of(std::string_view text);

} // namespace veriroce::filter
