// veriroce-agent: the agent alone, for hosts that have only libc and libibverbs. It has only the
// verbs backend; `veriroce agent` also has the engine backend, whose ICRC needs ISA-L.
#include <array>

#include "conformance/agent/serve.hpp"
#include "conformance/agent/verbs_backend.hpp"

int main(int argc, char* argv[]) {
    using namespace veriroce;
    static constexpr std::array backends{agent::kVerbsBackend};
    command_line::Program program(
        "veriroce-agent", "Give a tester control of an RDMA device on this host", VERIROCE_VERSION);
    agent::add_agent(program.command(), backends);
    return program.run(argc, argv);
}
