// Which bench a command line asks for: the built-in engine in virtual time, or a device on a wire.
//
// What the options say wrong is told before anything is opened or sent.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "conformance/commands/test_options.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::commands {

// Why a command ends: its exit code, and one or more lines for stderr.
struct Refusal {
    int code = 2;
    std::string text;
};
template <typename T>
using Accepted = std::expected<T, Refusal>;

inline constexpr int usage_error = 2;
inline constexpr int tool_error = 3;

Accepted<std::unique_ptr<testbed::Testbed>> choose_bench(const TestOptions& options);

} // namespace veriroce::commands
