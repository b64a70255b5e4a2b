// The command `veriroce inject`: a bump in the wire between two interfaces that plays a fault plan
// (transport/inject), or sweeps over loss. The plan is checked before anything is attached.
//
// Exit codes: kExitSuccess everything that the plan expects was met; kExitFound something was not;
// kExitUsage the plan or an option is wrong; kExitUnable no interface, no permission, an unreadable
// capture. A signal ends it in order, with the report, and is no failure.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"
#include "transport/inject/congestion.hpp"
#include "transport/inject/in_line.hpp"

namespace veriroce::commands {

struct InjectOptions {
    std::string a; // interfaces
    std::string b;
    std::string plan;
    std::uint64_t seed = 1;
    std::optional<double> seconds; // unset: until a signal
    std::string report;            // a folder
    bool lists_plans = false;
    std::string dry_run;     // a capture
    std::string sweep;       // "loss=0.01%..5%", instead of a plan
    std::uint32_t steps = 8; // of the sweep
    double step_seconds = 3;
    std::vector<inject::RedOptions> red;
    std::optional<inject::StormOptions> storm;
    bool in_kernel = false; // rules that the kernel can decide
    bool quiet = false;     // no table while it runs
    inject::LineOptions line;
};

void add_inject(command_line::Command program);

int run_inject(const InjectOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
