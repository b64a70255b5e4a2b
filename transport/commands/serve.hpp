// The command `veriroce serve`: our engine answers the round trips of a peer (pingpong.hpp).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "transport/commands/pingpong.hpp"

namespace veriroce::commands {

struct ServeOptions : RoundTripOptions {
    std::vector<std::string> listen; // addresses for the exchange; every one of the host if empty
    bool once = false;               // end after the first peer
};

void add_serve(command_line::Command program);

int run_serve(const ServeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
