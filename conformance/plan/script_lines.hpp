// The lines of a script, for those who take some of them away.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::plan {

using Lines = std::vector<std::string>;

inline Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

inline std::string joined(const Lines& lines) {
    return fmt::format("{}\n", fmt::join(lines, "\n"));
}

} // namespace veriroce::plan
