// `veriroce agent --check HOST:PORT`: makes every call of the contract's minimum, and of the groups
// that the agent reports, and prints whether the answers follow the contract. The check sends no
// RoCE packets.
//
// Source: conformance/agent/README.md.
#pragma once

#include <optional>
#include <string>

#include "conformance/agent/check_talk.hpp"
#include "conformance/agent/options.hpp"

namespace veriroce::agent {

// Runs all checks. The error is one sentence: nothing listens at the address. Failed checks go to
// the report.
std::expected<void, std::string> check_agent(const net::LineAddress& address,
                                             const std::optional<std::string>& token,
                                             CheckReport& report);

// Prints the report. kExitFound if a check failed, kExitUsage if --check is not an address,
// kExitUnable if there is no agent at the address.
int run_check(const Options& options);

} // namespace veriroce::agent
