#include "conformance/commands/test.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "conformance/commands/test_console.hpp"
#include "conformance/commands/test_device.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/run.hpp"
#include "conformance/plan/shrink.hpp"
#include "reports/console.hpp"
#include "reports/json.hpp"
#include "reports/junit.hpp"
#include "reports/pcapng.hpp"
#include "transport/net/stop_on_signal.hpp"

namespace veriroce::commands {
namespace {

constexpr int interrupted = 130;

Accepted<std::optional<plan::Profile>> read_profile(const std::string& path) {
    if (path.empty()) return std::nullopt;
    const auto text = read_text(path);
    if (!text) return std::unexpected(Refusal{tool_error, text.error()});
    auto profile = plan::parse_profile(path, *text);
    if (!profile) return std::unexpected(Refusal{usage_error, profile.error()});
    return std::move(*profile);
}

Accepted<interpreter::FaultPlan> read_plan(const std::string& path) {
    interpreter::FaultPlan plan{.path = path, .text = {}, .rules = {}};
    if (path.empty()) return plan;
    auto text = read_text(path);
    if (!text) return std::unexpected(Refusal{tool_error, text.error()});
    plan.text = std::move(*text);
    auto rules = script::load_plan(path, plan.text);
    if (!rules) return std::unexpected(Refusal{usage_error, rules.error().front().text(path)});
    plan.rules = std::move(*rules);
    if (plan.rules.empty()) {
        return std::unexpected(Refusal{usage_error, path + ": the plan has no rule"});
    }
    return plan;
}

// What the options select; the names of cases are looked up when the plan is made.
Accepted<plan::Selection> selection_of(const TestOptions& options) {
    plan::Selection selection{.names = options.cases,
                              .rules = options.rules,
                              .tags = options.tags,
                              .role = options.role,
                              .repeat = options.repeat,
                              .slow = options.slow};
    const auto misused = [](std::string_view option, std::string_view given, std::string_view why) {
        return std::unexpected(Refusal{
            usage_error, fmt::format("{}{}{}: {}", option, given.empty() ? "" : " ", given, why)});
    };
    for (const std::string& axis : options.over) {
        if (const auto added = plan::add_axis(selection, axis); !added) {
            return misused("--over", axis, added.error());
        }
    }
    for (const std::string& text : options.parameters) {
        auto parameter = script::parse_parameter(text);
        if (!parameter) return misused("-D", "", parameter.error());
        selection.parameters.push_back(std::move(*parameter));
    }
    if (!options.shard.empty()) {
        const auto shard = plan::parse_shard(options.shard);
        if (!shard) return misused("--shard", "", shard.error());
        selection.shard = *shard;
    }
    return selection;
}

Accepted<std::vector<plan::ScriptFile>> read_files(const std::vector<std::string>& names) {
    std::vector<plan::ScriptFile> files;
    for (const std::string& name : names) {
        if (name.ends_with(".faults")) {
            return std::unexpected(Refusal{
                usage_error, name + " is a plan and no case: veriroce test CASE --faults " + name});
        }
        if (!name.ends_with(".roce")) continue;
        auto text = read_text(name);
        if (!text) return std::unexpected(Refusal{tool_error, text.error()});
        files.push_back({name, std::move(*text)});
    }
    return files;
}

// The options that another run of one case needs; `SuiteRun` adds its axes and its seed.
std::string repeat_options(const TestOptions& options) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format(" {} {}", name, value);
    };
    add("--dut", plan::shell_word(options.dut));
    add("--dut-token-file", plan::shell_word(options.token_file));
    add("-i", options.interface);
    add("--tester-address", options.tester_address);
    add("--dut-address", options.dut_address);
    add("--profile", plan::shell_word(options.profile));
    add("--mutant", options.mutant);
    add("--faults", plan::shell_word(options.faults));
    add("--dut-reset", plan::shell_word(options.dut_reset));
    for (const std::string& parameter : options.parameters)
        add("-D", plan::shell_word(parameter));
    if (options.timeout_scale != 1.0) add("--timeout-scale", fmt::to_string(options.timeout_scale));
    if (options.slow) text += " --slow";
    return text;
}

std::string list_of(const plan::Plan& plan) {
    std::string text;
    for (const plan::PlannedRun& run : plan.runs) {
        const script::Case& of = plan.cases[run.case_index];
        std::vector<std::string> rules;
        for (const script::Word& rule : of.rules)
            rules.push_back(rule.text);
        text += fmt::format("{:<44} {:<24} {}\n", run.id(of), fmt::join(rules, " "), run.run.title);
    }
    return text;
}

// Each file of a report is written whole or not at all.
Accepted<std::monostate> write_report(const plan::RunResults& results, const TestOptions& options) {
    const auto failed = [](std::string text) {
        return std::unexpected(Refusal{tool_error, std::move(text)});
    };
    if (!options.capture.empty()) {
        if (const auto written = reports::write_pcapng(results, options.capture); !written) {
            return failed(written.error());
        }
    }
    if (options.report.empty()) return {};
    std::error_code code;
    const std::filesystem::path folder = options.report;
    std::filesystem::create_directories(folder, code);
    if (code) return failed(fmt::format("{}: {}", options.report, code.message()));
    for (const auto& [name, text] : {std::pair{"results.json", reports::results_json(results)},
                                     std::pair{"junit.xml", reports::junit_xml(results)}}) {
        if (const auto written = write_text(folder / name, text); !written) {
            return failed(written.error());
        }
    }
    for (const interpreter::CaseResult& result : results.cases) {
        std::string name = result.id;
        for (char& c : name) {
            if (c == '/' || c == '[' || c == ']' || c == ',' || c == '=') c = '-';
        }
        const std::string path = folder / (name + ".pcapng");
        if (result.verdict == interpreter::Verdict::Pass || result.packets.empty()) {
            std::filesystem::remove(path, code); // of an earlier run, in which it failed
            continue;
        }
        if (const auto written = reports::write_pcapng(result, path); !written) {
            return failed(written.error());
        }
    }
    return {};
}

// The machine that the tester ran on: figures of time mean little without it.
std::string host() {
    utsname system{};
    if (uname(&system) != 0) return {};
    return fmt::format("{}, {} {} {}, {} CPUs", system.nodename, system.sysname, system.release,
                       system.machine, std::thread::hardware_concurrency());
}

std::string list_of_mutants() {
    std::size_t width = 0;
    for (const auto& some : {mutants::all(), mutants::lawful()}) {
        for (const mutants::Mutant& one : some)
            width = std::max(width, one.name.size());
    }
    std::string text = "Defects, the rule that each breaks, and the cases that catch it "
                       "(*: the judge alone sees it):\n";
    for (const mutants::Mutant& one : mutants::all()) {
        std::string cases;
        for (const mutants::Caught& pair : mutants::caught_by_cases(one))
            cases += fmt::format(" {}{}", pair.case_id, pair.judge_alone ? "*" : "");
        text += fmt::format("  {:<{}} {:<8}{}\n", one.name, width, one.rule,
                            cases.empty() ? " -" : cases);
    }
    text += "Lawful oddities, and the rule that allows each; no case fails on them:\n";
    for (const mutants::Mutant& one : mutants::lawful())
        text += fmt::format("  {:<{}} {:<8} {}\n", one.name, width, one.rule, one.description);
    return text;
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
    return std::unexpected(
        fmt::format("after --dut-reset '{}' the device is not back: {}", command, found.error()));
}

// A sentence about a run that the device, or the way to it, did not see the end of.
std::optional<std::string> lost_device(const testbed::Testbed& bench, const plan::SuiteRun& run,
                                       std::size_t total, const TestOptions& options) {
    const auto why = bench.broken();
    if (!why) return std::nullopt;
    const std::size_t left = total - run.done();
    return fmt::format(
        "{}, during {}; {} of {} runs were not played{}", *why,
        run.dead_since().value_or("the last case"), left, total,
        options.dut_reset.empty() ? "; --dut-reset COMMAND can bring a device back and go on" : "");
}

void show_progress(Console& console, const plan::SuiteRun& run, const plan::RunResults& results,
                   std::size_t total) {
    const auto upcoming = run.upcoming();
    if (!upcoming || !console.wants_progress()) return;
    const std::size_t failed =
        results.count(interpreter::Verdict::Fail) + results.count(interpreter::Verdict::Xpass);
    console.show_progress(reports::console_progress(run.done(), total, failed, *upcoming));
}

plan::RunResults play(testbed::Testbed& bench, const plan::Plan& plan,
                      const plan::Selection& selection, const std::optional<plan::Profile>& profile,
                      const interpreter::FaultPlan& faults, const TestOptions& options,
                      Console& console, std::FILE* err) {
    using Clock = std::chrono::steady_clock;
    const reports::ConsoleStyle style{.colour = options.colour, .quiet = options.quiet};
    plan::RunResults results;
    results.run = bench.info();
    results.run.host = host();
    const std::string now = fmt::format(
        "{:%FT%TZ}",
        fmt::gmtime(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())));
    results.timing.started = now;

    plan::SuiteRun run(bench, plan, selection,
                       {.seed = options.seed,
                        .timeout_scale = options.timeout_scale,
                        .fail_fast = options.fail_fast,
                        .profile = profile,
                        .plan = faults,
                        .today = now.substr(0, now.find('T')),
                        .command = repeat_options(options)});
    if (profile) results.run.profile = fmt::format("{} ({})", profile->name, options.profile);
    results.run.notes.insert(results.run.notes.end(), run.notes().begin(), run.notes().end());
    console.say(reports::console_head(results.run));
    const auto began = Clock::now();
    while (!net::StopOnSignal::requested()) {
        const auto case_began = Clock::now();
        show_progress(console, run, results, plan.runs.size());
        auto result = run.next();
        if (!result) break;
        results.timing.cases.push_back({result->id, Clock::now() - case_began});
        console.say(reports::console_case(*result, style));
        const bool last = options.fail_fast && result->verdict == interpreter::Verdict::Fail;
        results.cases.push_back(std::move(*result));
        if (last || !run.dead_since() || options.dut_reset.empty()) continue;
        // At once: it may take a minute, and have something to say.
        console.say("note: the device no longer answers: --dut-reset is run\n");
        const auto back = revive(bench, options.dut_reset);
        const std::string note =
            back ? fmt::format("--dut-reset brought the device back after {}", *run.dead_since())
                 : back.error();
        results.run.notes.push_back(note);
        console.say(fmt::format("note: {}\n", note));
        if (!back) break;
        run.revived();
    }
    results.run.complete = !net::StopOnSignal::requested() && run.done() == plan.runs.size();
    const auto lost = lost_device(bench, run, plan.runs.size(), options);
    if (lost) results.run.notes.push_back(*lost);
    results.timing.wall = Clock::now() - began;
    const interpreter::Environment environment = bench.environment({});
    results.timing.settle = environment.settle;
    results.timing.round_trip_p99 = environment.round_trip_p99;
    results.timing.sleep_p99 = environment.sleep_p99;
    console.say(reports::console_summary(results, style));
    if (lost) fmt::print(err, "veriroce: {}\n", *lost);
    return results;
}

// The first run that fails, made small: its script, or the plan under which it fails, on `out`,
// what was done on `err`.
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
    auto right = choose_bench(without_defect);
    if (!right) return std::unexpected(right.error());
    for (const plan::PlannedRun& planned : plan.runs) {
        if (net::StopOnSignal::requested()) return interrupted;
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
        return net::StopOnSignal::requested() ? interrupted : 1;
    }
    fmt::print(err, "veriroce: none of {} selected runs fails by itself\n", plan.runs.size());
    return 0;
}

// All that is wrong with the options, the files that they name and the selection, before anything
// is sent.
Accepted<int> dry_run(const plan::Plan& plan, const TestOptions& options, Console& console) {
    if (const auto profile = read_profile(options.profile); !profile) {
        return std::unexpected(profile.error());
    }
    if (const auto faults = read_plan(options.faults); !faults) {
        return std::unexpected(faults.error());
    }
    if (options.dut.empty()) {
        if (const auto bench = choose_bench(options); !bench) return std::unexpected(bench.error());
    }
    console.say(list_of(plan));
    console.say(
        fmt::format("{} runs of {} cases, none played\n", plan.runs.size(), plan.cases.size()));
    return 0;
}

Accepted<int> play_or_refuse(const plan::Plan& plan, const plan::Selection& selection,
                             const TestOptions& options, Console& console, std::FILE* err) {
    const auto profile = read_profile(options.dut.empty() ? std::string() : options.profile);
    if (!profile) return std::unexpected(profile.error());
    const auto faults = read_plan(options.faults);
    if (!faults) return std::unexpected(faults.error());
    auto bench = choose_bench(options);
    if (!bench) return std::unexpected(bench.error());
    if (options.shrink) {
        return shrink_first(**bench, plan, selection, *faults, options, console, err);
    }
    const plan::RunResults results =
        play(**bench, plan, selection, *profile, *faults, options, console, err);
    if (const auto written = write_report(results, options); !written) {
        return std::unexpected(written.error());
    }
    if (net::StopOnSignal::requested()) return interrupted;
    const std::size_t skipped = results.count(interpreter::Verdict::Skip);
    if (skipped == results.cases.size()) {
        return std::unexpected(
            Refusal{tool_error, fmt::format("nothing was tested: all {} runs were skipped, for the "
                                            "reasons that stand beside them",
                                            skipped)});
    }
    return results.exit_code(options.strict);
}

Accepted<int> run_or_refuse(const TestOptions& options, Console& console, std::FILE* err) {
    if (options.list_mutants) {
        console.say(list_of_mutants());
        return 0;
    }
    const net::StopOnSignal stop; // from here on a signal leaves a report behind
    if (options.shrink && !options.dut.empty()) {
        return std::unexpected(
            Refusal{usage_error, "--shrink plays in virtual time: leave out --dut"});
    }
    const auto selection = selection_of(options);
    if (!selection) return std::unexpected(selection.error());
    const auto files = read_files(options.cases);
    if (!files) return std::unexpected(files.error());
    const auto plan = plan::make_plan(*selection, *files);
    if (!plan) return std::unexpected(Refusal{usage_error, plan.error().text});
    if (options.dry_run) return dry_run(*plan, options, console);
    if (options.list) {
        console.say(list_of(*plan));
        return 0;
    }
    return play_or_refuse(*plan, *selection, options, console, err);
}

} // namespace

int run_test(const TestOptions& options, std::FILE* out, std::FILE* err) {
    Console console(out, err, options.progress);
    auto code = run_or_refuse(options, console, err);
    if (code && console.error() != 0) {
        code = std::unexpected(Refusal{
            tool_error, fmt::format("standard output: {}", std::strerror(console.error()))});
    }
    if (code) return *code;
    std::string_view text = code.error().text;
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    fmt::print(err, "veriroce: {}\n", text);
    return code.error().code;
}

} // namespace veriroce::commands
