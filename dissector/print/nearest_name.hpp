// Suggests an existing name for a misspelled one.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::print {

// Empty if no name is close: more than a third of its letters would have to change.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names);

} // namespace veriroce::print
