// `veriroce test --matrix`: which case catches which planted defect, and by what: a line of the
// script, or a rule that the judge or the model checks in every run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/commands/test_options.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/plan/plan.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

struct CaughtBy {
    std::string case_id;
    std::string what; // "line 13", "ACK-07 by judge", "REQ-11 by model", "ACK-07 by judge or model"
};

// The selected runs against the built-in engine with this defect, in virtual time: the first run of
// each case that does not pass.
command_line::Accepted<std::vector<CaughtBy>>
catches(const plan::Plan& plan, const mutants::Mutant& defect, const TestOptions& options);

// Line by line to `out`: of all planted defects, or of `--mutant` alone.
command_line::Accepted<int> print_matrix(const plan::Plan& plan, const TestOptions& options,
                                         std::FILE* out);

} // namespace veriroce::commands
