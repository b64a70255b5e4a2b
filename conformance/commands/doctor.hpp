// The command `veriroce doctor`: everything that must be right before `veriroce test --dut`, and
// how to mend what is not.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

struct DoctorOptions {
    std::string interface;
    std::string dut; // HOST:PORT or unix:PATH; only the tester is looked at if empty
    std::string token_file;
    std::vector<std::string> tester_address;
    std::vector<std::string> dut_address;
    bool json = false;
};

void add_doctor(command_line::Command program);

// Returns the exit code: kExitFound if something must be mended.
int run_doctor(const DoctorOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
