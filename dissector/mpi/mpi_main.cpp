// The program veriroce-mpi: `veriroce analyze` by all processes that mpirun starts. A program of
// its own, so that the plain one neither links MPI nor waits for it.
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "dissector/command_line/command.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/large_pages.hpp"
#include "dissector/commands/analyze.hpp"
#include "dissector/commands/analyze_output.hpp"
#include "dissector/mpi/analysis.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::commands;

struct Options {
    AnalyzeOptions analyze;
    std::uint64_t piece_bytes = mpi::Analysis::Options{}.piece_bytes;
};

std::string wrong_with(const AnalyzeOptions& options) {
    if (options.files.empty()) return "no capture file; give names that every process can open";
    if (std::ranges::find(options.files, "-") != options.files.end()) {
        return "standard input cannot be divided among processes; give file names";
    }
    return wrong_with_report(options);
}

// On the first process the exit code; the others only help.
int analyze_together(mpi::World& world, const Options& options) {
    AnalyzeOutput output(options.analyze, stdout, stderr);
    const bool begun = !world.first() || output.begin();
    if (world.of_first(begun ? 1 : 0) == 0) return command_line::kExitUnable;
    mpi::Analysis analysis(world, options.analyze.files,
                           {.analyze = {.flow = {}, .messages = output.wants_messages()},
                            .roce_ports = options.analyze.roce_ports,
                            .piece_bytes = options.piece_bytes});
    while (analysis.round())
        output.write(analysis.messages());
    analysis.finish();
    if (!world.first()) return command_line::kExitSuccess;
    for (const mpi::FileError& error : analysis.errors())
        output.complain(error.text);
    return output.finish(
        analyze::report_of(analysis.conversations(), analysis.totals(), options.analyze.thresholds),
        false);
}

void add_analyze_together(command_line::Command program, mpi::World& world) {
    auto command = program.add_command("analyze", "Report what happened on each connection");
    const auto options = std::make_shared<Options>();
    command.option("FILE", options->analyze.files,
                   "pcap or pcapng files that every process can open, read as one capture in the "
                   "order of time");
    command.number("--piece", options->piece_bytes, {1, std::uint64_t{1} << 32},
                   "Bytes of a file that a process reads at a time; the default is 8388608",
                   {.value = "BYTES"});
    add_report_options(command, options->analyze);
    command.on_run([options, &world] {
        if (const std::string wrong = wrong_with(options->analyze); !wrong.empty()) {
            fmt::print(stderr, "veriroce-mpi: analyze: {}\n", wrong);
            return command_line::kExitUsage;
        }
        return analyze_together(world, *options);
    });
}

} // namespace

int main(int argc, char** argv) {
    command_line::use_large_pages();
    mpi::World world(argc, argv);
    // All read the same command line; the first one speaks for all.
    if (!world.first() && (std::freopen("/dev/null", "w", stdout) == nullptr ||
                           std::freopen("/dev/null", "w", stderr) == nullptr)) {
        return command_line::kExitUnable;
    }
    command_line::Program program(
        "veriroce-mpi", "Analyse RoCEv2 captures on many processors: mpirun -n N veriroce-mpi ...",
        VERIROCE_VERSION);
    add_analyze_together(program.command(), world);
    return world.of_first(program.run(argc, argv));
}
