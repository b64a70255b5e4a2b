// The device that a command line names: the built-in engine in virtual time, or one on a wire.
//
// Errors: wrong options are found before anything is opened or sent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/commands/test_options.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/testbed/live_testbed.hpp"
#include "conformance/testbed/testbed.hpp"
#include "conformance/testbed/virtual_testbed.hpp"
#include "dissector/command_line/refusal.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::commands {

command_line::Accepted<std::unique_ptr<testbed::Testbed>>
choose_testbed(const TestOptions& options);

// Makes the built-in engine behave as the mutant does. It keeps the verbs that the mutant lacks.
void plant(const mutants::Mutant& mutant, testbed::VirtualTestbedOptions& device);

// The device behind an agent that the options name.
command_line::Accepted<testbed::LiveTestbedOptions> live_options(const TestOptions& options);

// The addresses in the values of a repeated option: "10.77.0.200/24,fd77::200". The prefix has no
// effect, because the device must be on the same layer 2 network.
command_line::Accepted<std::vector<wire::IpAddress>>
addresses_in(std::string_view option, const std::vector<std::string>& lists);

} // namespace veriroce::commands
