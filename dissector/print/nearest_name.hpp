// The name that was perhaps meant by one that does not exist.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::print {

// Empty if none is near: more than a third of the letters would have to change.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names);

} // namespace veriroce::print
