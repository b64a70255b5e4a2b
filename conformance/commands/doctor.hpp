// The command `veriroce doctor`: everything that must be right before `veriroce test --dut`, and
// how to mend what is not.
#pragma once

#include <cstdio>

#include "conformance/commands/test_options.hpp"
#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

struct DoctorOptions {
    TestOptions test; // how to reach the device; without `dut`, only the tester is looked at
    bool json = false;
};

void add_doctor(command_line::Command program);

// Returns the exit code: kExitFound if something must be mended.
int run_doctor(const DoctorOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
