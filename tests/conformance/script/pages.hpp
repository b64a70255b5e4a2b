// Examples of the language in the project's pages: fenced blocks, and indented scripts.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/text.hpp"

namespace veriroce::script::tests {

// The texts of the fenced blocks of a language in a Markdown page.
inline std::vector<std::string> blocks(std::string_view page, std::string_view language) {
    std::vector<std::string> found;
    bool inside = false;
    bool wanted = false;
    for (const auto line : house::lines(page)) {
        if (line.starts_with("```")) {
            inside = !inside;
            wanted = inside && line.substr(3) == language;
            if (wanted) found.emplace_back();
        } else if (wanted) {
            found.back() += std::string(line) + "\n";
        }
    }
    return found;
}

// Scripts that stand indented, as a command wrote them: from a `rule` line (or the comments above
// it) to the end of the indented block, or to `...` where the rest is left out.
inline std::vector<std::string> indented_scripts(std::string_view page) {
    constexpr std::string_view indent = "    ";
    std::vector<std::string> found;
    bool fenced = false;
    bool inside = false;
    for (const auto line : house::lines(page)) {
        if (line.starts_with("```")) fenced = !fenced;
        const bool blank = line.empty();
        if (fenced || (!blank && !line.starts_with(indent)) || line.starts_with("    ...")) {
            inside = false;
            continue;
        }
        const std::string_view text = blank ? line : line.substr(indent.size());
        if (!inside && text.starts_with("rule ")) {
            inside = true;
            found.emplace_back();
        }
        if (inside) found.back() += std::string(text) + "\n";
    }
    for (std::string& script : found) {
        while (script.ends_with("\n\n"))
            script.pop_back();
    }
    return found;
}

// Every page of the project, but for what is built and what others wrote.
inline std::vector<std::filesystem::path> pages() {
    std::vector<std::filesystem::path> found;
    const std::filesystem::path root(VERIROCE_SOURCE_DIR);
    auto entries = std::filesystem::recursive_directory_iterator(root);
    for (auto entry = begin(entries); entry != end(entries); ++entry) {
        const std::string name = entry->path().filename().string();
        const bool skipped = name == "build" || name.starts_with(".");
        if (entry->is_directory() && skipped) entry.disable_recursion_pending();
        if (entry->is_regular_file() && name.ends_with(".md")) found.push_back(entry->path());
    }
    std::ranges::sort(found);
    return found;
}

inline std::string reference() {
    return house::read_text(std::filesystem::path(VERIROCE_SOURCE_DIR) /
                            "conformance/script/README.md");
}

} // namespace veriroce::script::tests
