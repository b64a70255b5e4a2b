// The command `veriroce script import`: a connection of a capture as a script.
//
// Exit codes: kExitSuccess the script is written; kExitUsage the options name what is not there, or
// nothing of the connection can be written as a script; kExitUnable the capture cannot be read to
// its end (the command writes a script of what it can read), or the script cannot be stored.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "conformance/script_import/script_import.hpp"
#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

struct ImportOptions {
    std::string capture;
    std::uint64_t connection = 0; // counted from 1; 0 is the one with the most requests
    script_import::Part tester = script_import::Part::Requester;
    std::string from; // address of the end whose requests are written; else the one that moves more
    std::optional<std::uint64_t> messages;
    std::string output; // a file; standard output if empty
};

// Adds it to the command `script`.
void add_script_import(command_line::Command script);

int run_script_import(const ImportOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
