#include "conformance/plan/run_name.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::plan {

std::vector<std::string_view> values_of(std::string_view list) {
    std::vector<std::string_view> values;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        values.push_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return values;
}

bool is_round(std::string_view value) {
    return value.starts_with("round=");
}

RunName parse_run_name(std::string_view text) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos || !text.ends_with(']')) return {.of = text, .values = {}};
    return {.of = text.substr(0, open),
            .values = values_of(text.substr(open + 1, text.size() - open - 2))};
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
    std::erase_if(run.values, is_round);
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
