// The commands `veriroce bench engine` and `veriroce bench icrc`: speed on this machine, next to a
// limit measured in the same run.
//
// Exit code 0; 3 if output cannot be written or memory is short.
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

} // namespace veriroce::bench
