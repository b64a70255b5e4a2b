// Internal: small files of /proc and /sys.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace veriroce::net {

// The first line of a file; empty if it cannot be read.
inline std::optional<std::string> first_line(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return line;
}

// The sorted paths in a folder; none if it does not exist.
inline std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

} // namespace veriroce::net
