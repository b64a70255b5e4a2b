// The library of plans (plans/): each with its page from the README, as they were when the program
// was built. The build writes plan_files() (cmake/embed.cmake).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::inject {

struct PlanFile {
    std::string_view path; // "lost-ack.faults", "README.md"
    std::string_view text;
};
std::span<const PlanFile> plan_files();

struct LibraryPlan {
    std::string_view name;    // "lost-ack"
    std::string_view text;    // of its file
    std::string_view summary; // its row of the README's table
    std::string_view page;    // its section of the README, without the heading
};

// Sorted by name.
std::vector<LibraryPlan> library_plans();
std::optional<LibraryPlan> library_plan(std::string_view name);

} // namespace veriroce::inject
