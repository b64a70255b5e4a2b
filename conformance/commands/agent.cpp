#include "conformance/commands/agent.hpp"

#include "conformance/agent/engine_backend.hpp"
#include "conformance/agent/serve.hpp"
#include "conformance/mutants/mutants.hpp"

namespace veriroce::commands {

void add_agent(command_line::Command program) {
    auto command =
        program.add_command("agent", "Give a tester control of an RDMA device on this host");
    const auto options = agent::add_agent(command, agent::kAllBackends);
    const auto plant = [options](const std::string& name) -> std::expected<void, std::string> {
        const auto found = mutants::find(name);
        if (!found) return std::unexpected("a name that 'veriroce test --list-mutants' lists");
        const mutants::Mutant& mutant = *found;
        auto lacks = dut::Lacks::parse(mutant.lacks);
        if (!lacks) return std::unexpected(lacks.error());
        options->planted = {.checks = mutant.checks,
                            .behaviour = mutant.behaviour,
                            .make_filter = mutant.make_filter,
                            .lacks = std::move(*lacks),
                            .traits = mutants::traits_of(mutant)};
        return {};
    };
    command.option("--mutant", plant,
                   "engine with --interface: plant this defect, to test the tester on a real link",
                   {.value = "NAME"});
}

} // namespace veriroce::commands
