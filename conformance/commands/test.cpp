#include "conformance/commands/test.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "conformance/commands/test_console.hpp"
#include "conformance/commands/test_device.hpp"
#include "conformance/commands/test_explore.hpp"
#include "conformance/commands/test_matrix.hpp"
#include "conformance/commands/test_play.hpp"
#include "conformance/commands/test_report.hpp"
#include "conformance/commands/test_selection.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/dut/capabilities.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/plan/profile_draft.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

std::string list_of_mutants() {
    std::size_t width = 0;
    for (const auto& some : mutants::every_list()) {
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
    text += "Written blind: defects by which the suite is measured, and what each breaks:\n";
    for (const auto& sample : mutants::blind_samples()) {
        for (const mutants::Mutant& one : sample)
            text += fmt::format("  {:<{}} {:<8} {:<6} {}\n", one.name, width, one.rule, one.level,
                                one.description);
    }
    text += "Unusual but correct behaviour, and the rule that allows it; no case fails on it:\n";
    for (const mutants::Mutant& one : mutants::lawful())
        text += fmt::format("  {:<{}} {:<8} {}\n", one.name, width, one.rule, one.description);
    return text;
}

std::string list_of(const plan::Plan& plan) {
    std::string text;
    for (const plan::PlannedRun& run : plan.runs) {
        const script::Case& of = plan.cases[run.case_index];
        std::vector<std::string> rules;
        for (const script::Word& rule : of.rules)
            rules.push_back(rule.text);
        text += fmt::format("{:<44} {:<24} {}\n", run.id(of),
                            fmt::format("{}", fmt::join(rules, " ")), run.run->title);
    }
    return text;
}

// All that is wrong with the options, the files that they name and the selection, before anything
// is sent.
Accepted<int> dry_run(const plan::Plan& plan, const TestOptions& options, Console& console) {
    if (const auto profile = read_profile(options.profile); !profile) {
        return std::unexpected(profile.error());
    }
    if (const auto faults = read_fault_plan(options.faults); !faults) {
        return std::unexpected(faults.error());
    }
    if (options.dut.empty()) {
        if (const auto bench = choose_testbed(options); !bench)
            return std::unexpected(bench.error());
    }
    console.say(list_of(plan));
    console.say(fmt::format("{} run{} of {} case{}, not played\n", plan.runs.size(),
                            plan.runs.size() == 1 ? "" : "s", plan.cases.size(),
                            plan.cases.size() == 1 ? "" : "s"));
    return 0;
}

// The profile that a new device needs, or how to get it.
Accepted<void> draft_profile(const testbed::Testbed& bench, const plan::RunResults& results,
                             const TestOptions& options, Console& console) {
    const std::size_t found = plan::unexplained(results.cases);
    if (!options.write_profile.empty()) {
        const std::string draft = plan::profile_draft(bench.environment({}).dut, results.cases);
        if (const auto written = write_text(options.write_profile, draft); !written) {
            return unable(written.error());
        }
        console.say(fmt::format("note: {} describes {} runs; add the reasons\n",
                                options.write_profile, found));
    } else if (found > 0 && !options.dut.empty() && options.profile.empty()) {
        console.say("note: if the device is known to behave so, --write-profile FILE drafts a "
                    "profile that says it\n");
    }
    return {};
}

// `mtu` is a number in a plan: one for another path MTU than the testbed's is made again. So is a
// thorough one, without the path MTUs that the device or the link does not allow, and in a VLAN.
Accepted<plan::Plan> plan_for(const testbed::Testbed& bench, plan::Plan plan,
                              plan::Selection& selection, std::span<const plan::ScriptFile> files,
                              bool thorough) {
    const interpreter::Environment environment = bench.environment({});
    const auto too_large = [&](wire::Mtu mtu) { return mtu > environment.largest_mtu; };
    const auto dropped = thorough ? std::erase_if(selection.mtus, too_large) : 0;
    if (thorough && selection.vlans.empty())
        selection.also_in_vlan = dut::vlan_with_both(environment.dut);
    if (environment.path_mtu == selection.usual_mtu && dropped == 0 && !selection.also_in_vlan)
        return plan;
    selection.usual_mtu = environment.path_mtu;
    auto again = plan::make_plan(selection, files);
    if (!again) return misused(again.error().text);
    return std::move(*again);
}

// Whoever selects cases of a thorough run wants no dialogues about everything else.
bool explores_after(const TestOptions& options) {
    return options.thorough && options.cases.empty() && options.rules.empty() &&
           options.tags.empty() && !options.role;
}

Accepted<int> play_or_refuse(plan::Plan first_plan, plan::Selection selection,
                             std::span<const plan::ScriptFile> files, const TestOptions& options,
                             Console& console, std::FILE* err) {
    const auto profile = read_profile(options.dut.empty() ? std::string() : options.profile);
    if (!profile) return std::unexpected(profile.error());
    const auto allowed_errors = share_in("--allow-errors", options.allow_errors);
    if (!allowed_errors) return std::unexpected(allowed_errors.error());
    if (!options.write_profile.empty()) {
        const auto able = try_to_write(options.write_profile);
        if (!able) return unable(able.error());
    }
    const auto faults = read_fault_plan(options.faults);
    if (!faults) return std::unexpected(faults.error());
    auto bench = choose_testbed(options);
    if (!bench) return std::unexpected(bench.error());
    const auto planned =
        plan_for(**bench, std::move(first_plan), selection, files, options.thorough);
    if (!planned) return std::unexpected(planned.error());
    const plan::Plan& plan = *planned;
    if (options.shrink) {
        return shrink_first(**bench, plan, selection, *faults, options, console, err);
    }
    Report report(options);
    auto played = play(**bench, plan, selection, *profile, *faults, options, console, report);
    if (!played) return std::unexpected(played.error());
    plan::RunResults& results = *played;
    Accepted<std::monostate> explored;
    if (explores_after(options) && results.run.complete) {
        explored = explore_on(**bench, *profile, options, console, report, results);
        results.run.complete = !command_line::StopOnSignal::requested();
    }
    if (const auto written = report.finish(results); !written) {
        return std::unexpected(written.error());
    }
    if (!explored) return std::unexpected(explored.error());
    if (const auto drafted = draft_profile(**bench, results, options, console); !drafted) {
        return std::unexpected(drafted.error());
    }
    if (command_line::StopOnSignal::requested()) return kExitInterrupted;
    const std::size_t skipped = results.count(interpreter::Verdict::Skip);
    if (skipped == results.cases.size()) {
        return unable(fmt::format("nothing was tested: {} (the reasons are printed above)",
                                  skipped == 1 ? "the only run was skipped"
                                               : fmt::format("all {} runs were skipped", skipped)));
    }
    const int code = results.exit_code(options.strict, *allowed_errors);
    const std::size_t errors = results.count(interpreter::Verdict::Error);
    if (code == kExitSuccess && errors > 0) {
        console.say(fmt::format("note: --allow-errors {}: {} of {} runs ended with ERROR\n",
                                options.allow_errors, errors, results.judged() + errors));
    }
    return code;
}

Accepted<int> run_or_refuse(const TestOptions& options, Console& console, std::FILE* out,
                            std::FILE* err) {
    if (options.list_mutants) {
        console.say(list_of_mutants());
        return 0;
    }
    if (options.explore) return explore(options, console);
    if (!options.thorough && (options.runs != 0 || options.seconds != 0)) {
        return misused("--runs and --time limit --explore and --thorough");
    }
    const command_line::StopOnSignal stop; // from here on a signal leaves a report behind
    if (options.shrink && !options.dut.empty()) {
        return misused("--shrink plays in virtual time: leave out --dut");
    }
    if (options.shrink && !options.noise.empty()) {
        return misused("--shrink needs a wire that loses nothing: leave out --noise");
    }
    auto selection = selection_of(options);
    if (!selection) return std::unexpected(selection.error());
    auto files = read_files(options.cases);
    if (!files) return std::unexpected(files.error());
    if (options.data_sheet) add_data_sheet(*selection, *files);
    auto plan = plan::make_plan(*selection, *files);
    if (!plan) return misused(plan.error().text);
    if (options.dry_run) return dry_run(*plan, options, console);
    if (options.list) {
        console.say(list_of(*plan));
        return 0;
    }
    if (options.matrix) return print_matrix(*plan, options, out);
    return play_or_refuse(std::move(*plan), *selection, *files, options, console, err);
}

} // namespace

void add_test(Command program) {
    auto command = program.add_command(
        "test", "Run the conformance suite against a device, by default the built-in engine");
    const auto options = std::make_shared<TestOptions>();
    add_options(command, *options);
    command.on_run([options] {
        options->colour = isatty(STDOUT_FILENO) == 1;
        options->progress = isatty(STDERR_FILENO) == 1 && !options->quiet;
        return run_test(*options, stdout, stderr);
    });
}

int run_test(const TestOptions& options, std::FILE* out, std::FILE* err) {
    Console console(out, err, options.progress);
    auto code = run_or_refuse(options, console, out, err);
    if (code && console.error() != 0) {
        code = unable(fmt::format("standard output: {}", std::strerror(console.error())));
    }
    return code ? *code : tell(err, code.error());
}

} // namespace veriroce::commands
