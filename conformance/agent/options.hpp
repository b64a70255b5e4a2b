// The agent's options, and its token file.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/dut/limited_device.hpp"
#include "dissector/command_line/command.hpp"
#include "transport/engine/behaviour.hpp"
#include "transport/engine/checks.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::agent {

// A planted defect or a lawful oddity of the engine backend (conformance/mutants).
struct Planted {
    engine::Checks checks = engine::kStandardChecks;
    engine::Behaviour behaviour{};
    std::unique_ptr<engine::SurfaceFilter> (*make_filter)() = nullptr;
    dut::Lacks lacks{};
    std::vector<std::string> traits{};
};

struct Options {
    std::string listen = "127.0.0.1:4790";
    std::string token_file; // empty: none
    std::string backend;    // empty: the first that this program has
    std::string device;     // empty: the only one
    // Of the engine backend: the local address whose UDP port 4791 it takes, or an interface for
    // raw frames and, if any, an address there that the kernel does not own.
    std::string address;
    std::string interface;
    std::string check; // the agent to ask instead of serving; empty: serve
    dut::AgentLimits limits;
    std::optional<Planted> planted;
};

// Also the last lines of --help.
void add_options(command_line::Command command, Options& options);

// The token: the first line of the file, without its end. A file that others can read is refused.
std::expected<std::string, std::string> read_token(const std::string& path);

} // namespace veriroce::agent
