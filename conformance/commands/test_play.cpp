#include "conformance/commands/test_play.hpp"

#include <chrono>
#include <cstdlib>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "conformance/commands/test_device.hpp"
#include "conformance/plan/shrink.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "reports/console.hpp"

namespace veriroce::commands {

using namespace command_line;

namespace {

// The machine that the tester ran on: figures of time mean little without it.
std::string host() {
    utsname system{};
    if (uname(&system) != 0) return {};
    return fmt::format("{}, {} {} {}, {} CPUs", system.nodename, system.sysname, system.release,
                       system.machine, std::thread::hardware_concurrency());
}

// The error is a sentence for the report.
std::expected<void, std::string> revive(testbed::Testbed& bench, const std::string& command) {
    const int status = std::system(command.c_str()); // a shell's command is what the option is for
    if (status != 0) {
        return std::unexpected(fmt::format("--dut-reset '{}' failed ({})", command,
                                           WIFEXITED(status) ? WEXITSTATUS(status) : status));
    }
    const auto found = bench.find_again();
    if (found) return {};
    return std::unexpected(fmt::format("the device did not come back after --dut-reset '{}': {}",
                                       command, found.error()));
}

// A sentence about a run that the device, or the way to it, did not see the end of.
std::optional<std::string> lost_device(const testbed::Testbed& bench, const plan::PlanRun& run,
                                       std::size_t total, const TestOptions& options) {
    const auto why = bench.broken();
    if (!why) return std::nullopt;
    const std::size_t left = total - run.done();
    return fmt::format(
        "{}, during {}; {} of {} runs were not played{}", *why,
        run.dead_since().value_or("the last case"), left, total,
        options.dut_reset.empty() ? "; --dut-reset COMMAND can bring a device back and go on" : "");
}

void show_progress(Console& console, const plan::PlanRun& run, const plan::RunResults& results,
                   std::size_t total) {
    const auto upcoming = run.upcoming();
    if (!upcoming || !console.wants_progress()) return;
    const std::size_t failed =
        results.count(interpreter::Verdict::Fail) + results.count(interpreter::Verdict::Xpass);
    console.show_progress(reports::console_progress(run.done(), total, failed, *upcoming));
}

} // namespace

Accepted<plan::RunResults> play(testbed::Testbed& bench, const plan::Plan& plan,
                                const plan::Selection& selection,
                                const std::optional<plan::Profile>& profile,
                                const interpreter::FaultPlan& faults, const TestOptions& options,
                                Console& console, Report& report) {
    using Clock = std::chrono::steady_clock;
    const reports::ConsoleStyle style{.colour = options.colour, .quiet = options.quiet};
    plan::RunResults results;
    results.run = bench.info();
    results.run.host = host();
    const std::string now = fmt::format(
        "{:%FT%TZ}",
        fmt::gmtime(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())));
    results.timing.started = now;

    plan::PlanRun run(bench, plan, selection,
                      {.seed = options.seed,
                       .timeout_scale = options.timeout_scale,
                       .fail_fast = options.fail_fast,
                       .profile = profile,
                       .plan = faults,
                       .today = now.substr(0, now.find('T')),
                       .command = repeat_options(options)});
    if (profile) results.run.profile = fmt::format("{} ({})", profile->name, options.profile);
    results.run.notes.insert(results.run.notes.end(), run.notes().begin(), run.notes().end());
    results.run.complete = false; // until the last run is played
    if (const auto begun = report.begin(results); !begun) return std::unexpected(begun.error());
    console.say(reports::console_head(results.run));
    const auto began = Clock::now();
    while (!command_line::StopOnSignal::requested()) {
        const auto case_began = Clock::now();
        show_progress(console, run, results, plan.runs.size());
        auto result = run.next();
        if (!result) break;
        results.timing.cases.push_back({result->id, Clock::now() - case_began});
        console.say(reports::console_case(*result, style));
        const bool last = options.fail_fast && result->verdict == interpreter::Verdict::Fail;
        results.cases.push_back(std::move(*result));
        report.add(results);
        if (last || !run.dead_since() || options.dut_reset.empty()) continue;
        // At once: it may take a minute, and have something to say.
        console.say("note: the device no longer answers; running --dut-reset\n");
        const auto back = revive(bench, options.dut_reset);
        const std::string note =
            back ? fmt::format("--dut-reset brought the device back after {}", *run.dead_since())
                 : back.error();
        results.run.notes.push_back(note);
        console.say(fmt::format("note: {}\n", note));
        if (!back) break;
        run.revived();
    }
    results.run.complete =
        !command_line::StopOnSignal::requested() && run.done() == plan.runs.size();
    const auto lost = lost_device(bench, run, plan.runs.size(), options);
    if (lost) results.run.notes.push_back(*lost);
    results.timing.wall = Clock::now() - began;
    const interpreter::Environment environment = bench.environment({});
    results.timing.settle = environment.settle;
    results.timing.round_trip_p99 = environment.round_trip_p99;
    results.timing.sleep_p99 = environment.sleep_p99;
    console.say(reports::console_summary(results, style));
    if (lost) console.complain(*lost);
    return results;
}

Accepted<int> shrink_first(testbed::Testbed& bench, const plan::Plan& plan,
                           const plan::Selection& selection, const interpreter::FaultPlan& faults,
                           const TestOptions& options, Console& console, std::FILE* err) {
    const plan::RunOptions run_options{.seed = options.seed,
                                       .timeout_scale = options.timeout_scale,
                                       .plan = faults,
                                       .today = {},
                                       .command = {}};
    TestOptions without_defect = options;
    without_defect.mutant.clear();
    auto right = choose_testbed(without_defect);
    if (!right) return std::unexpected(right.error());
    for (const plan::PlannedRun& planned : plan.runs) {
        if (command_line::StopOnSignal::requested()) return kExitInterrupted;
        const script::Case& of = plan.cases[planned.case_index];
        const interpreter::Environment environment =
            plan::environment_alone(bench, planned, run_options);
        if (plan::reason_to_skip(of, planned, bench, environment, selection)) continue;
        const auto small = plan::shrink(bench, of, planned.run, environment, right->get());
        if (!small) continue;
        console.say(small->text);
        const interpreter::CaseResult& result = small->result;
        fmt::print(err, "veriroce: {}: {}: {}; played {} times{}\n", planned.id(of),
                   name_of(result.verdict), result.reason(), small->plays,
                   small->minimal ? "" : ", not yet minimal");
        return command_line::StopOnSignal::requested() ? kExitInterrupted : kExitFound;
    }
    fmt::print(err, "veriroce: none of {} selected runs fails by itself\n", plan.runs.size());
    return 0;
}

} // namespace veriroce::commands
