// The name of a run, as reports write it: GROUP/NAME[ip=6,n=4]. Selections and profiles use it with
// all its values or with some of them: GROUP/NAME[n=4] names every run with this value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::plan {

struct RunName {
    std::string_view of;                  // "bth/truncated", or a file's path
    std::vector<std::string_view> values; // "ip=6", "n=4"; of axes, and of the case's `for` lines
};

// The values of "ip=6,n=4".
std::vector<std::string_view> values_of(std::string_view list);
// Whether this is the value of --repeat ("round=2"), which a run that is played alone does not
// have.
bool is_round(std::string_view value);

// Of any text: one without brackets at its end has no values.
RunName parse_run_name(std::string_view text);

// Whether the run with this id has at least these values.
bool has_values(std::string_view id, std::span<const std::string_view> values);

// Whether a run with this id has this name: the same case, and at least these values.
bool names_run(std::string_view name, std::string_view id);

// The id without the value of --repeat.
std::string without_round(std::string_view id);

// `*` stands for any text, `?` for any character; everything else, brackets too, for itself.
bool glob_matches(std::string_view glob, std::string_view text);

} // namespace veriroce::plan
