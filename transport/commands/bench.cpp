#include "transport/commands/bench.hpp"

#include "transport/bench/bench.hpp"

namespace veriroce::commands {
namespace {

using command_line::Command;

void add_measuring(Command& command, bench::Options& options) {
    command.number("--runs", options.runs, {1, 1000}, "Paired runs of each figure",
                   {.value = "N", .shows_default = true});
    command.number("--megabytes", options.megabytes, {1, 1'000'000}, "Megabytes that a run moves",
                   {.value = "N", .shows_default = true});
}

} // namespace

void add_bench(Command program) {
    auto group = program.add_group(
        "bench", "Measure the speed of the engine and of the ICRC on this machine");
    const auto options = std::make_shared<bench::Options>();
    auto engine = group.add_command(
        "engine", "Two engines in one process: throughput, message rate, many QPs");
    add_measuring(engine, *options);
    engine.number("--qps", options->many_qps, {16, 1'000'000},
                  "QPs in the measurement with many QPs", {.value = "N", .shows_default = true});
    engine.on_run([options] { return bench::bench_engine(*options, stdout, stderr); });
    auto icrc = group.add_command("icrc", "ICRC compared with a bare CRC-32");
    add_measuring(icrc, *options);
    icrc.on_run([options] { return bench::bench_icrc(*options, stdout, stderr); });
}

} // namespace veriroce::commands
