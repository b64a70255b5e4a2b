// The plan of a run: which cases, over which axes, in which order. Nothing is sent before the whole
// plan stands: a script that does not compile, or a name that selects nothing, ends the run before
// it begins.
//
// Errors: PlanError is one or more lines for stderr; the program then exits with 2.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/runner/bench.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::runner {

struct Selection {
    // A file (*.roce), a case's id ("rsp/gap-nak"), a group ("rsp"); all if empty.
    std::vector<std::string> names;
    std::vector<std::string> rules;
    std::vector<std::string> tags;
    std::optional<rules::Role> role;
    std::vector<int> ip_versions; // --over ip=4,6; the default is IPv4 alone
    bool slow = false;
};

struct PlanError {
    std::string text;
};

// One run of a case: the script, the values of its `for` names, and its axes.
struct PlannedRun {
    std::size_t case_index = 0; // into Plan::cases
    script::Run run;
    int ip_version = 4;
    std::string axes; // "ip=6"; empty where no axis was asked for

    // group/name[ip=6,mtu=256]
    [[nodiscard]] std::string id(const script::Case& of) const;
};

struct Plan {
    std::vector<script::Case> cases;
    std::vector<PlannedRun> runs;
};

// A script as it was found: path and text.
struct ScriptFile {
    std::string path;
    std::string text;
};

// Compiles and expands what the selection selects of the program's own cases and of the files that
// it names. `files` are those that the caller has read for names ending in ".roce".
std::expected<Plan, PlanError> make_plan(const Selection& selection,
                                         std::span<const ScriptFile> files);

// Whether this run can be played here, or why not: a capability, a trait, a tag.
std::optional<std::string> reason_to_skip(const script::Case& script, const Bench& bench,
                                          const Setting& setting, const Selection& selection);

} // namespace veriroce::runner
