#include "transport/bench/bench.hpp"

#include <fmt/format.h>

#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::bench {

int ended(std::FILE* out, std::FILE* err) {
    if (std::fflush(out) != 0) return command_line::kExitUnable;
    if (!command_line::StopOnSignal::requested()) return command_line::kExitSuccess;
    fmt::print(err,
               "veriroce: bench: interrupted: the figures that are missing were not measured\n");
    return command_line::kExitInterrupted;
}

} // namespace veriroce::bench
