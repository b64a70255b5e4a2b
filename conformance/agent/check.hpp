// `veriroce agent --check HOST:PORT`: asks somebody's agent every call of the contract's minimum,
// and of the groups that it says it has, and prints what is right and what is wrong. No packet is
// sent but what the agent's device sends by itself.
//
// Source: conformance/agent/README.md.
#pragma once

#include <optional>
#include <string>

#include "conformance/agent/check_talk.hpp"
#include "conformance/agent/options.hpp"

namespace veriroce::agent {

// Asks all. The error is one sentence: nobody listens there. What is wrong with the agent is in the
// report.
std::expected<void, std::string> check_agent(const net::LineAddress& address,
                                             const std::optional<std::string>& token,
                                             CheckReport& report);

// The program: prints the report. 0 all is right, 1 something is wrong, 2 a wrong command line, 3
// there is no agent to ask.
int run_check(const Options& options);

} // namespace veriroce::agent
