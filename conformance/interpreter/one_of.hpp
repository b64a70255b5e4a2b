// A visitor of a variant names the alternatives that it treats alike, so that an alternative
// without an overload does not compile.
#pragma once

#include <concepts>

namespace veriroce::interpreter {

template <typename T, typename... Named>
concept OneOf = (std::same_as<T, Named> || ...);

} // namespace veriroce::interpreter
