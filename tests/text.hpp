// Text and files for the house's own tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::house {

// Lines without their ends; a last line without an end counts.
inline std::vector<std::string_view> lines(std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
        const auto end = text.find('\n');
        found.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return found;
}

inline std::vector<std::string> words(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> found;
    for (std::string word; stream >> word;)
        found.push_back(word);
    return found;
}

// Throws std::runtime_error if the file cannot be read: a test must not pass on nothing.
inline std::string read_text(const std::filesystem::path& path) {
    const std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Regular files under a folder, at any depth, sorted; none if there is no such folder.
inline std::vector<std::filesystem::path> files_under(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::is_directory(folder)) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
}

} // namespace veriroce::house
