// The command `veriroce ping`: our engine makes round trips with a peer (pingpong.hpp).
#pragma once

#include <cstdio>
#include <string>

#include "transport/commands/pingpong.hpp"

namespace veriroce::commands {

struct PingOptions : RoundTripOptions {
    std::string peer; // HOST or HOST:PORT
};

void add_ping(command_line::Command program);

int run_ping(const PingOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
