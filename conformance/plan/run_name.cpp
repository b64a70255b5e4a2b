#include "conformance/plan/run_name.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::plan {

RunName parse_run_name(std::string_view text) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos || !text.ends_with(']')) return {.of = text, .values = {}};
    RunName name{.of = text.substr(0, open), .values = {}};
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        name.values.push_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return name;
}

bool has_values(std::string_view id, std::span<const std::string_view> values) {
    const RunName run = parse_run_name(id);
    return std::ranges::all_of(values, [&](std::string_view value) {
        return std::ranges::find(run.values, value) != run.values.end();
    });
}

bool names_run(std::string_view name, std::string_view id) {
    const RunName wanted = parse_run_name(name);
    return wanted.of == parse_run_name(id).of && has_values(id, wanted.values);
}

std::string without_round(std::string_view id) {
    RunName run = parse_run_name(id);
    std::erase_if(run.values, [](std::string_view value) { return value.starts_with("round="); });
    if (run.values.empty()) return std::string(run.of);
    return fmt::format("{}[{}]", run.of, fmt::join(run.values, ","));
}

bool glob_matches(std::string_view glob, std::string_view text) {
    std::size_t star = std::string_view::npos; // the last one, and where its text ends
    std::size_t resume = 0;
    std::size_t g = 0;
    std::size_t t = 0;
    while (t < text.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            resume = t;
        } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
            ++g;
            ++t;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == std::string_view::npos;
}

} // namespace veriroce::plan
