// Appends formatted text to a string.
#pragma once

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace veriroce::analyze {

template <typename... Args>
void put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

} // namespace veriroce::analyze
