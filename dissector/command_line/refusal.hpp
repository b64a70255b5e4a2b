// Why a command ends early.
#pragma once

#include <cstdio>
#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dissector/command_line/exit_code.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::command_line {

struct Refusal {
    int exit_code = kExitUsage;
    std::string text; // one or more lines
};

template <typename T>
using Accepted = std::expected<T, Refusal>;

inline std::unexpected<Refusal> misused(std::string text) {
    return std::unexpected(Refusal{kExitUsage, std::move(text)});
}
inline std::unexpected<Refusal> unable(std::string text) {
    return std::unexpected(Refusal{kExitUnable, std::move(text)});
}

// Prints the refusal and returns its exit code. Its text may name what others chose, as a file's
// name: nothing in it steers the terminal.
inline int tell(std::FILE* err, const Refusal& refusal) {
    std::string_view text = refusal.text;
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    fmt::print(err, "veriroce: {}\n", wire::safe_text(text, true));
    return refusal.exit_code;
}

} // namespace veriroce::command_line
