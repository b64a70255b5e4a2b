#include "transport/commands/fuzz.hpp"

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "dissector/command_line/refusal.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/sim/shrink.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

struct Sum {
    std::uint64_t played = 0; // seeds
    sim::Tally tally;
    std::uint64_t failed = 0;
    std::optional<std::uint64_t> first_failed;
    sim::Outcome first_failure;

    void add(std::uint64_t seed, sim::Outcome outcome) {
        ++played;
        tally.frames += outcome.tally.frames;
        tally.works += outcome.tally.works;
        tally.completions += outcome.tally.completions;
        tally.time += outcome.tally.time;
        for (std::size_t i = 0; i < sim::kFaultKinds; ++i)
            tally.faults[i] += outcome.tally.faults[i];
        if (!outcome.failure) return;
        ++failed;
        if (first_failed) return;
        first_failed = seed;
        first_failure = std::move(outcome);
    }
};

std::string summary(const FuzzOptions& options, const Sum& sum, double wall_s) {
    const std::uint64_t first = options.first;
    const auto virtual_s = std::chrono::duration<double>(sum.tally.time).count();
    std::string text = fmt::format(
        "{} seeds from {}: {} packets, {} requests, {} completions; {:.1f} s of virtual time\n"
        "faults:",
        sum.played, first, sum.tally.frames, sum.tally.works, sum.tally.completions, virtual_s);
    for (std::size_t i = 0; i < sim::kFaultKinds; ++i) {
        text += fmt::format("{} {} {}", i == 0 ? "" : ",", name_of(static_cast<sim::FaultKind>(i)),
                            sum.tally.faults[i]);
    }
    return text + fmt::format("\ntime: {:.2f} s, {:.0f} packets/s\n", wall_s,
                              wall_s > 0 ? static_cast<double>(sum.tally.frames) / wall_s : 0);
}

std::string failure_text(const FuzzOptions& options, const Sum& sum, const sim::Defect& defect) {
    const std::uint64_t seed = *sum.first_failed;
    std::string text =
        fmt::format("{} of {} seeds failed\nseed {}: {}: {}\n", sum.failed, sum.played, seed,
                    name_of(sum.first_failure.failure->wrong), sum.first_failure.failure->text);
    for (const std::string& refusal : sum.first_failure.refusals)
        text += "  refused by " + refusal + "\n";
    if (options.shrink) {
        const sim::Shrunk small = sim::shrink(sim::scenario_of(seed), sum.first_failure, defect);
        text += fmt::format("after {} runs {} requests and {} faults are left: {}\n{}", small.runs,
                            small.scenario.works(), small.faults.size(), small.failure.text,
                            text_of(small));
    }
    return text + fmt::format("rerun: veriroce fuzz --seeds 1 --seed {} --shrink\n", seed);
}

} // namespace

void add_fuzz(Command program) {
    auto command = program.add_command(
        "fuzz",
        "Run random work between built-in engines, and compare the results with a reference model");
    const auto options = std::make_shared<FuzzOptions>();
    command.number("--seeds", options->seeds, {}, "How many seeds to play",
                   {.value = "N", .shows_default = true});
    command.number("--seed", options->first, {}, "The first seed",
                   {.value = "N", .shows_default = true});
    command.flag("--shrink", options->shrink, "Shrink the first failure and print it");
    command.on_run([options] { return run_fuzz(*options, stdout, stderr); });
}

int run_fuzz(const FuzzOptions& options, std::FILE* out, std::FILE* err,
             const sim::Defect& defect) {
    if (options.seeds == 0)
        return tell(err, {kExitUsage, "fuzz: --seeds: expected 1 or more, got 0"});
    const auto began = std::chrono::steady_clock::now();
    const StopOnSignal stop;
    Sum sum;
    for (std::uint64_t i = 0; i < options.seeds && !StopOnSignal::requested(); ++i) {
        const std::uint64_t seed = options.first + i;
        sum.add(seed, sim::run_swarm(seed, defect));
    }
    const bool interrupted = StopOnSignal::requested();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    std::string text = "engines: built-in, virtual time\n" + summary(options, sum, wall.count());
    text += sum.first_failed ? failure_text(options, sum, defect) : "no seed failed\n";
    const bool written = std::fputs(text.c_str(), out) >= 0 && std::fflush(out) == 0;
    if (interrupted) {
        fmt::print(err, "veriroce: fuzz: interrupted; {} of {} seeds were played\n", sum.played,
                   options.seeds);
        return kExitInterrupted;
    }
    if (sum.first_failed) return kExitFound;
    return written ? kExitSuccess : kExitUnable;
}

} // namespace veriroce::commands
