#include "conformance/commands/test_play.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "conformance/commands/test_device.hpp"
#include "conformance/commands/test_report.hpp"
#include "conformance/plan/shrink.hpp"
#include "conformance/sheet/measure.hpp"
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

constexpr std::chrono::seconds kRevivalPatience{60};
constexpr std::chrono::seconds kReturnPatience{30}; // for a device without --dut-reset
constexpr std::chrono::seconds kFirstLook{1};       // before it is reset

// A reset that did not help.
struct NoRevival {
    std::string why;        // a sentence for the report
    bool was_reset = false; // the command did its work, and the device stayed away
};

std::expected<void, NoRevival> revive(testbed::Testbed& bench, const std::string& command) {
    const int status = std::system(command.c_str()); // a shell's command is what the option is for
    if (status != 0) {
        return std::unexpected(
            NoRevival{.why = fmt::format("--dut-reset '{}' failed ({})", command,
                                         WIFEXITED(status) ? WEXITSTATUS(status) : status)});
    }
    const auto found = bench.find_again(kRevivalPatience);
    if (found) return {};
    return std::unexpected(
        NoRevival{.why = fmt::format("the device did not come back after --dut-reset '{}': {}",
                                     command, found.error()),
                  .was_reset = true});
}

// What became of a device that did not answer any more.
struct Recovery {
    bool back = false;
    std::string note;
    std::string death; // what the case that did it is blamed for; empty: it may be innocent
};

// The agent is gone for good. What that says depends on the device itself: one that still answers
// on the link may have lost only its agent; without a link we cannot tell.
Recovery without_agent(testbed::SignOfLife sign, const std::string& lost,
                       const std::string& killer) {
    switch (sign) {
    case testbed::SignOfLife::Unknown: return {};
    case testbed::SignOfLife::Answers:
        return {.back = false,
                .note = fmt::format("the agent is gone after {}, but the device still answers ARP "
                                    "or neighbour solicitations",
                                    killer),
                .death = {}};
    case testbed::SignOfLife::Silent:
        return {.back = false,
                .note = fmt::format("after {} neither the agent nor the device answers", killer),
                .death = fmt::format("{}; neither its agent nor the device answers any more, not "
                                     "even ARP or neighbour solicitations",
                                     lost)};
    }
    return {};
}

// No reset helped. A device that stays away after one died of the case. If the command itself
// failed, what is lost decides, as without one. Behind a link that is gone nobody can tell.
Recovery without_revival(testbed::Testbed& bench, const std::optional<std::string>& lost,
                         const std::string& killer, const NoRevival& reset) {
    Recovery recovery{.back = false, .note = reset.why, .death = {}};
    const testbed::SignOfLife sign = bench.sign_of_life();
    if (reset.was_reset && sign != testbed::SignOfLife::Unknown) {
        recovery.death =
            fmt::format("{}--dut-reset did not bring it back", lost ? *lost + "; " : "");
    } else if (lost) {
        recovery.death = without_agent(sign, *lost, killer).death;
    }
    return recovery;
}

// An agent that is there when it is looked for was slow, or only its connection broke: that says
// nothing about the device. A device that was gone and came back, or had to be reset, died.
Recovery recover(testbed::Testbed& bench, const std::string& killer, const std::string& reset,
                 Console& console) {
    const auto lost = bench.broken();
    if (lost) {
        console.say(fmt::format("note: {}, during {}; looking for it again\n", *lost, killer));
        const auto found = bench.find_again(reset.empty() ? kReturnPatience : kFirstLook);
        if (found == testbed::FoundAgain::AtOnce) {
            return {.back = true,
                    .note = fmt::format("{}, during {}; it answers again", *lost, killer),
                    .death = {}};
        }
        if (found) {
            return {.back = true,
                    .note = fmt::format("the device was gone after {}, and came back", killer),
                    .death = fmt::format("{}; the device was gone, and came back", *lost)};
        }
    }
    if (reset.empty())
        return lost ? without_agent(bench.sign_of_life(), *lost, killer) : Recovery{};
    // At once: it may take a minute, and have something to say.
    console.say(
        fmt::format("note: the device no longer answers after {}; running --dut-reset\n", killer));
    const auto back = revive(bench, reset);
    if (!back) return without_revival(bench, lost, killer, back.error());
    return {.back = true,
            .note = fmt::format("--dut-reset brought the device back after {}", killer),
            .death = fmt::format("{}--dut-reset had to bring it back", lost ? *lost + "; " : "")};
}

// A sentence about a run that the device, or the way to it, did not see the end of.
std::optional<std::string> lost_device(const testbed::Testbed& bench, const plan::PlanRun& run,
                                       std::size_t total, const TestOptions& options) {
    const auto broken = bench.broken();
    const std::size_t left = total - run.done();
    const bool ended = run.dead_since() && left > 0 && !run.upcoming();
    if (!broken && !ended) return std::nullopt;
    const std::string why =
        broken ? *broken + ", during" : "neither the device nor the way to it answers a SEND since";
    return fmt::format("{} {}; {} of {} runs were not played{}", why,
                       run.dead_since().value_or("the last case"), left, total,
                       options.dut_reset.empty()
                           ? "; with --dut-reset COMMAND, the run restarts the device and continues"
                           : "");
}

// results.json has them by now, and a run may have many thousand cases. report.html is written at
// the end and shows those that did not pass.
void forget_packets_of_passed(interpreter::CaseResult& result) {
    if (result.verdict != interpreter::Verdict::Pass) return;
    result.packets = {};
    result.host = {};
    for (interpreter::OtherPlay& play : result.other_plays)
        play.packets = {};
}

void show_progress(Console& console, const plan::PlanRun& run, const plan::RunResults& results,
                   std::size_t total) {
    const auto upcoming = run.upcoming();
    if (!upcoming || !console.wants_progress()) return;
    const std::size_t failed =
        results.count(interpreter::Verdict::Fail) + results.count(interpreter::Verdict::Xpass);
    console.show_progress(reports::console_progress(run.done(), total, failed, *upcoming));
}

// "--exclude bth left out 3 runs: bth/a, bth/b and 1 more"
std::string left_out_note(std::span<const std::string> ids, std::span<const std::string> globs) {
    constexpr std::size_t named = 20;
    const std::size_t more = ids.size() - std::min(ids.size(), named);
    return fmt::format("--exclude {} left out {} run{}: {}{}", fmt::join(globs, ", "), ids.size(),
                       ids.size() == 1 ? "" : "s", fmt::join(ids.first(ids.size() - more), ", "),
                       more == 0 ? "" : fmt::format(" and {} more", more));
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
                       .command = repeat_options(options),
                       .threads = threads_of(options)});
    if (profile) results.run.profile = fmt::format("{} ({})", profile->name, options.profile);
    results.run.notes.insert(results.run.notes.end(), run.notes().begin(), run.notes().end());
    if (!plan.left_out.empty())
        results.run.notes.push_back(left_out_note(plan.left_out, options.excluded));
    results.run.complete = false; // until the last run is played
    if (const auto begun = report.begin(results); !begun) return std::unexpected(begun.error());
    console.say(reports::console_head(results.run));
    const auto began = Clock::now();
    while (!command_line::StopOnSignal::requested()) {
        show_progress(console, run, results, plan.runs.size());
        auto result = run.next();
        if (!result) break;
        results.timing.cases.push_back({result->id, run.took()});
        const auto failed_fast = [&] {
            return options.fail_fast && result->verdict == interpreter::Verdict::Fail;
        };
        const bool lost = run.dead_since() && (bench.broken() || !options.dut_reset.empty());
        Recovery recovery;
        if (lost && !failed_fast()) {
            recovery = recover(bench, *run.dead_since(), options.dut_reset, console);
            const bool killer = *run.dead_since() == result->id;
            if (killer && !recovery.death.empty()) run.blame_for_death(*result, recovery.death);
        }
        const bool over = failed_fast() || (lost && !recovery.back);
        sheet::measure(results.sheet, *result);
        report.name_captures(*result);
        console.say(reports::console_case(*result, style));
        results.cases.push_back(std::move(*result));
        if (!recovery.note.empty()) {
            results.run.notes.push_back(recovery.note);
            console.say(fmt::format("note: {}\n", recovery.note));
        }
        report.add(results);
        forget_packets_of_passed(results.cases.back());
        if (over) break;
        if (recovery.back) run.revived();
    }
    for (const std::string& change : bench.changes()) {
        results.run.notes.push_back(change + " during the run");
        console.say(fmt::format("note: {} during the run\n", change));
    }
    if (const auto note = run.wire_note()) {
        results.run.notes.push_back(*note);
        console.say(fmt::format("note: {}\n", *note));
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
    console.say(reports::console_sheet(results.sheet));
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
        const auto small = plan::shrink(bench, of, *planned.run, environment, right->get());
        if (!small) continue;
        console.say(small->text);
        const interpreter::CaseResult& result = small->result;
        fmt::print(err, "veriroce: {}: {}: {}; shrunk in {} runs{}\n", planned.id(of),
                   name_of(result.verdict), result.reason(), small->plays,
                   small->minimal ? "" : ", not yet minimal");
        return command_line::StopOnSignal::requested() ? kExitInterrupted : kExitFound;
    }
    fmt::print(err, "veriroce: no selected run fails ({} runs)\n", plan.runs.size());
    return 0;
}

} // namespace veriroce::commands
