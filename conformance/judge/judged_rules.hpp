// The rules of which the judge can tell a violation, in the order of the catalogue. A test compares
// them with the ids that its sources name.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::judge {

std::span<const std::string_view> judged_rules();

} // namespace veriroce::judge
