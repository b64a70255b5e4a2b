#include "transport/sim/bench.hpp"

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "transport/sim/shrink.hpp"

namespace veriroce::sim {

namespace {

struct Sum {
    Tally tally;
    std::uint64_t failed = 0;
    std::optional<std::uint64_t> first_failed;
    Outcome first_failure;

    void add(std::uint64_t seed, Outcome outcome) {
        tally.frames += outcome.tally.frames;
        tally.works += outcome.tally.works;
        tally.completions += outcome.tally.completions;
        tally.time += outcome.tally.time;
        for (std::size_t i = 0; i < kFaultKinds; ++i)
            tally.faults[i] += outcome.tally.faults[i];
        if (!outcome.failure) return;
        ++failed;
        if (first_failed) return;
        first_failed = seed;
        first_failure = std::move(outcome);
    }
};

std::string summary(const BenchOptions& options, const Sum& sum, double wall_s) {
    const std::uint64_t first = options.first.value_or(1);
    const auto virtual_s = std::chrono::duration<double>(sum.tally.time).count();
    std::string text = fmt::format(
        "{} seeds from {}: {} packets, {} requests, {} completions; {:.1f} s of virtual time\n"
        "faults:",
        options.seeds, first, sum.tally.frames, sum.tally.works, sum.tally.completions, virtual_s);
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
        text += fmt::format("{} {} {}", i == 0 ? "" : ",", name_of(static_cast<FaultKind>(i)),
                            sum.tally.faults[i]);
    }
    return text + fmt::format("\ntime: {:.2f} s, {:.0f} packets/s\n", wall_s,
                              wall_s > 0 ? static_cast<double>(sum.tally.frames) / wall_s : 0);
}

std::string failure_text(const BenchOptions& options, const Sum& sum, const Defect& defect) {
    const std::uint64_t seed = *sum.first_failed;
    std::string text =
        fmt::format("{} of {} seeds failed\nseed {}: {}: {}\n", sum.failed, options.seeds, seed,
                    name_of(sum.first_failure.failure->wrong), sum.first_failure.failure->text);
    if (options.shrink) {
        const Shrunk small = shrink(scenario_of(seed), sum.first_failure, defect);
        text += fmt::format("after {} runs {} requests and {} faults are left: {}\n{}", small.runs,
                            small.scenario.works(), small.faults.size(), small.failure.text,
                            text_of(small));
    }
    return text + fmt::format("again: veriroce bench sim --seeds 1 --seed {} --shrink\n", seed);
}

} // namespace

int bench(const BenchOptions& options, std::FILE* out, std::FILE* err, const Defect& defect) {
    constexpr int usage = 2;
    constexpr int cannot = 3;
    if (options.seeds == 0) {
        std::fputs("veriroce: bench sim: --seeds 0 would play nothing\n", err);
        return usage;
    }
    const auto began = std::chrono::steady_clock::now();
    Sum sum;
    for (std::uint64_t i = 0; i < options.seeds; ++i) {
        const std::uint64_t seed = options.first.value_or(1) + i;
        sum.add(seed, run_swarm(seed, defect));
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    std::string text = "engines: built-in, virtual time\n" + summary(options, sum, wall.count());
    text += sum.first_failed ? failure_text(options, sum, defect) : "no seed failed\n";
    const bool written = std::fputs(text.c_str(), out) >= 0 && std::fflush(out) == 0;
    if (sum.first_failed) return 1;
    return written ? 0 : cannot;
}

} // namespace veriroce::sim
