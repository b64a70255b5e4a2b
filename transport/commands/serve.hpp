// The command `veriroce serve`: our engine answers the round trips of peers (pingpong.hpp), of
// several at a time. A peer that connects and stays silent delays no other.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "transport/commands/pingpong.hpp"

namespace veriroce::commands {

struct ServeOptions : RoundTripOptions {
    std::vector<std::string> listen; // addresses for the exchange; every one of the host if empty
    std::vector<std::string> gids;   // of peers, which may differ from the exchange's address
    bool once = false;               // end after the first peer
};

void add_serve(command_line::Command program);

int run_serve(const ServeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
