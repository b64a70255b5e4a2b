#include "transport/inject/plans.hpp"

#include <algorithm>

namespace veriroce::inject {
namespace {

constexpr std::string_view kEnding = ".faults";

// What stands between `before` and `after`; empty if it is not there.
std::string_view between(std::string_view text, const std::string& before, std::string_view after) {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + before.size());
    return text.substr(0, text.find(after));
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with('\n'))
        text.remove_prefix(1);
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    return text;
}

} // namespace

std::vector<LibraryPlan> library_plans() {
    const auto files = plan_files();
    const auto readme = std::ranges::find(files, "README.md", &PlanFile::path);
    const std::string_view pages = readme == files.end() ? std::string_view() : readme->text;
    std::vector<LibraryPlan> plans;
    for (const PlanFile& file : files) {
        if (!file.path.ends_with(kEnding)) continue;
        const auto name = file.path.substr(0, file.path.size() - kEnding.size());
        const std::string word(name);
        plans.push_back({.name = name,
                         .text = file.text,
                         .summary = between(pages, "| [`" + word + "`](#" + word + ") | ", " |\n"),
                         .page = trimmed(between(pages, "\n## " + word + "\n", "\n## "))});
    }
    return plans;
}

std::optional<LibraryPlan> library_plan(std::string_view name) {
    const auto plans = library_plans();
    const auto found = std::ranges::find(plans, name, &LibraryPlan::name);
    return found == plans.end() ? std::nullopt : std::optional(*found);
}

} // namespace veriroce::inject
