// A run that was kept as results.json, read again for comparisons.
//
// Source: schema "veriroce/results/2" (reports/README.md).
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

struct SavedCase {
    std::string id; // of all rounds of --repeat together: "rsp/gap-nak[ip=4]"
    interpreter::Verdict verdict = interpreter::Verdict::Pass; // the gravest of them
    std::string summary;                                       // of that one
    std::vector<std::string> broken; // rules that a finding or a certain violation names, sorted
    std::map<std::string, std::vector<wire::Duration>> measures;
};

struct SavedRun {
    std::string name; // what the user calls it: the folder
    std::string dut;
    std::string link;
    std::string profile;
    std::string started;
    bool complete = true;
    testbed::DeviceFacts device;
    sheet::DataSheet sheet;
    std::vector<SavedCase> cases; // by id
};

// How bad a verdict is, from 0 for PASS. A run that was not judged is worse than one that passed
// and better than one that is wrong.
int gravity(interpreter::Verdict verdict);

SavedRun saved_run(std::string name, const plan::RunResults& results);

// As read_results() of saved_results.hpp.
std::expected<SavedRun, std::string> read_saved_run(std::string name, std::string_view json);

} // namespace veriroce::reports
