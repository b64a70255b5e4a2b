// A run that was kept as results.json, read again for comparisons.
//
// Source: schema "veriroce/results/2" (reports/README.md).
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/case_result.hpp"

namespace veriroce::reports {

struct SavedCase {
    std::string id; // of all rounds of --repeat together: "rsp/gap-nak[ip=4]"
    interpreter::Verdict verdict = interpreter::Verdict::Pass; // the gravest of them
    std::string summary;                                       // of that one
    std::map<std::string, std::vector<wire::Duration>> measures;
};

struct SavedRun {
    std::string name; // what the user calls it: the folder
    std::string dut;
    std::string profile;
    bool complete = true;
    std::vector<SavedCase> cases; // by id
};

// How bad a verdict is, from 0 for PASS. A run that was not judged is worse than one that passed
// and better than one that is wrong.
int gravity(interpreter::Verdict verdict);

// The error is a phrase: "cases[3].verdict: expected a verdict, got \"GOOD\"". All text of the run
// is safe to print.
std::expected<SavedRun, std::string> read_saved_run(std::string name, std::string_view json);

} // namespace veriroce::reports
