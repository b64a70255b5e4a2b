// Figures of this machine, each beside a limit that is measured in the same run.
//
// The functions return an exit code: kExitUnable if the output cannot be written or memory is
// short, kExitInterrupted if a signal came: then the figures until then are complete.
#pragma once

#include <cstdint>
#include <cstdio>

namespace veriroce::bench {

struct Options {
    std::uint32_t runs = 5;        // paired runs per figure
    std::uint32_t megabytes = 256; // moved by each run
    std::uint32_t many_qps = 65'536;
};

int bench_engine(const Options& options, std::FILE* out, std::FILE* err);
int bench_icrc(const Options& options, std::FILE* out, std::FILE* err);

// Completes the output of either, and says on `err` if a signal ended it.
int ended(std::FILE* out, std::FILE* err);

} // namespace veriroce::bench
