// The command `veriroce script import`: a connection of a capture as a script.
//
// Exit codes: 0 the script is written; 2 the options name what is not there, or nothing of the
// connection can be written as a script; 3 the capture cannot be read, or not to its end (what was
// read of it is written), or the script cannot be stored.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "conformance/script_import/script_import.hpp"

namespace veriroce::commands {

struct ImportOptions {
    std::string capture;
    std::uint64_t connection = 0; // counted from 1; 0 is the one with the most requests
    script_import::Part tester = script_import::Part::Requester;
    std::string asking; // address of the end that asks; else the one that moves more data
    std::optional<std::uint64_t> messages;
    std::string output; // a file; standard output if empty
};

// "requester", "responder"; nothing for another word.
std::optional<script_import::Part> part_by_name(std::string_view name);

int run_script_import(const ImportOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
