// The agent's command line, and its token file.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conformance/dut/contract.hpp"

namespace veriroce::agent {

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
    bool help = false;
};

// The text of --help.
std::string_view usage();

// Takes `--name VALUE` and `--name=VALUE`. The error is one sentence that names the word.
std::expected<Options, std::string> parse_options(std::span<const std::string_view> words);

// The token: the first line of the file, without its end. A file that others can read is refused.
std::expected<std::string, std::string> read_token(const std::string& path);

} // namespace veriroce::agent
