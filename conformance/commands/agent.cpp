#include "conformance/commands/agent.hpp"

#include "conformance/agent/engine_backend.hpp"
#include "conformance/agent/serve.hpp"

namespace veriroce::commands {

void add_agent(command_line::Command program) {
    agent::add_agent(
        program.add_command("agent", "Give a tester control of an RDMA device on this host"),
        agent::kAllBackends);
}

} // namespace veriroce::commands
