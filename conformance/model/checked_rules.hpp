// The rules of which the model can tell a deviation, in the order of the catalogue. A test compares
// them with the ids that its sources name.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::model {

std::span<const std::string_view> checked_rules();

} // namespace veriroce::model
