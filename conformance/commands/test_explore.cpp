#include "conformance/commands/test_explore.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "conformance/commands/test_device.hpp"
#include "conformance/commands/test_selection.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/explorer/exploration.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/shell_word.hpp"
#include "conformance/testbed/virtual_testbed.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "reports/console.hpp"

namespace veriroce::commands {

using namespace command_line;

namespace {

constexpr std::uint64_t kUsualRuns = 1'000;
constexpr std::size_t kTroublesTold = 5;
constexpr double kLoss = 0.01; // of the wire on which a finding must not show

// The right device first, then each lawful oddity; each in an exact lab and in a slow one. The
// right device is also there on a wire with losses. An oddity that is right only with a trait says
// nothing of a device without it: one that accepts gaps would refute every finding after a gap.
std::vector<explorer::RightDevice> right_devices(const TestOptions& options,
                                                 const interpreter::Environment& under_test) {
    std::vector<explorer::RightDevice> devices;
    const auto add = [&](std::string name, testbed::VirtualTestbedOptions device) {
        device.seed = options.seed;
        testbed::VirtualTestbedOptions slow = device;
        slow.lab = testbed::kRealLab;
        devices.push_back({name, std::make_unique<testbed::VirtualTestbed>(std::move(device))});
        devices.push_back(
            {name + " in a slow lab", std::make_unique<testbed::VirtualTestbed>(std::move(slow))});
    };
    add("the right device", {});
    testbed::VirtualTestbedOptions noisy;
    noisy.seed = options.seed;
    noisy.noise.loss = kLoss;
    devices.push_back({"the right device on a wire with losses",
                       std::make_unique<testbed::VirtualTestbed>(std::move(noisy))});
    for (const mutants::Mutant& oddity : mutants::lawful()) {
        // Where it is under test, it shows what it does.
        if (oddity.name == options.mutant) continue;
        const auto has = [&](const std::string& trait) { return under_test.trait(trait); };
        if (!std::ranges::all_of(mutants::traits_of(oddity), has)) continue;
        // Mostly a dialogue may use what it lacks. But a device without atomics refuses their
        // packets, and one without settings for CNPs sends them as it likes.
        testbed::VirtualTestbedOptions device;
        plant(oddity, device);
        if (oddity.lacks.contains("atomics") || oddity.lacks.contains("congestion"))
            device.lacks = *dut::Lacks::parse(oddity.lacks);
        add(fmt::format("the lawful oddity {}", oddity.name), std::move(device));
    }
    return devices;
}

std::string today() {
    return fmt::format("{:%F}", fmt::gmtime(std::chrono::floor<std::chrono::seconds>(
                                    std::chrono::system_clock::now())));
}

explorer::Options explorer_options(const TestOptions& options, std::optional<plan::Profile> profile,
                                   std::string today) {
    explorer::Options explore{.seed = options.seed,
                              .timeout_scale = options.timeout_scale,
                              .threads = threads_of(options),
                              .profile = std::move(profile),
                              .today = std::move(today)};
    if (explore.profile) explore.timeout_scale *= explore.profile->time_scale;
    const bool limited = options.runs != 0 || options.seconds != 0;
    const double seconds = limited || !options.thorough ? options.seconds : kThoroughSeconds;
    if (options.runs != 0) explore.runs = options.runs;
    if (seconds != 0) {
        explore.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(seconds));
    }
    if (!explore.runs && !explore.time) explore.runs = kUsualRuns;
    return explore;
}

// Writes the script into the report's folder, or shows it; and says how to play it again.
Accepted<std::monostate> keep(explorer::Found& found, const TestOptions& options,
                              Console& console) {
    std::string name = fmt::format("explored-{}.roce", found.seed);
    if (!options.report.empty()) name = std::filesystem::path(options.report) / name;
    found.result.file = name;
    found.result.command = fmt::format(
        "veriroce test {}{}{} --seed {}", plan::shell_word(name), repeat_options(options),
        explorer::ip_version_of(found.seed) == 6 ? " --over ip=6" : "", found.seed);
    if (options.report.empty()) {
        console.say(found.text);
        return {};
    }
    if (const auto written = write_text(name, found.text); !written) return unable(written.error());
    return {};
}

// The scripts of dialogues that were not confirmed, for those who mend the tester.
Accepted<std::monostate> keep_unconfirmed(const explorer::Exploration& exploration,
                                          const std::string& folder) {
    for (const explorer::Unconfirmed& one : exploration.unconfirmed()) {
        const auto path =
            std::filesystem::path(folder) / fmt::format("unconfirmed-{}.roce", one.seed);
        if (const auto written = write_text(path.string(), one.text); !written)
            return unable(written.error());
    }
    return {};
}

std::string summary_of(const explorer::Exploration& exploration, std::size_t findings,
                       double seconds) {
    const explorer::Counts& counts = exploration.counts();
    std::string text = fmt::format(
        "\n{} dialogues, {} packets, {} states of the model (found by {} dialogues), in {:.1f} s\n"
        "{} passed, {} failed, {} skipped, {} errors; {} findings, {} not confirmed\n",
        counts.dialogues, counts.packets, exploration.corpus().states(),
        exploration.corpus().size(), seconds, counts.passed, counts.failed, counts.skipped,
        counts.errors, findings, exploration.unconfirmed().size());
    if (counts.excused > 0)
        text += fmt::format("{} failed in what the profile knows alone\n", counts.excused);
    for (const explorer::Unconfirmed& one : exploration.unconfirmed())
        text += fmt::format("not confirmed: dialogue of seed {}: {}: {}\n", one.seed, one.signature,
                            one.why);
    std::size_t told = 0;
    for (const auto& [what, seed] : exploration.troubles()) {
        if (++told > kTroublesTold) break;
        text += fmt::format("note: dialogue of seed {}: {}\n", seed, what);
    }
    return text;
}

// The dialogues, without playing them.
int list(const interpreter::Environment& under_test, const TestOptions& options, Console& console) {
    const explorer::Reach reach = explorer::reach_of(under_test);
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(options.runs, 1); ++i)
        console.say(explorer::dialogue_of(options.seed + i, reach).text);
    return kExitSuccess;
}

} // namespace

Accepted<std::monostate> explore_on(testbed::Testbed& bench, std::optional<plan::Profile> profile,
                                    const TestOptions& options, Console& console, Report& report,
                                    plan::RunResults& results) {
    interpreter::Environment under_test = bench.environment({});
    if (profile) under_test = profile->applied(std::move(under_test));
    explorer::Exploration exploration(bench, right_devices(options, under_test),
                                      explorer_options(options, std::move(profile), today()));
    const std::size_t before = results.cases.size();
    const reports::ConsoleStyle style{.colour = options.colour, .quiet = options.quiet};
    const auto began = std::chrono::steady_clock::now();
    while (auto found = exploration.next()) {
        if (const auto kept = keep(*found, options, console); !kept)
            return std::unexpected(kept.error());
        report.name_captures(found->result);
        console.say(reports::console_case(found->result, style));
        results.cases.push_back(std::move(found->result));
        report.add(results);
        if (options.fail_fast) break;
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    results.timing.wall += std::chrono::duration_cast<wire::Duration>(wall);
    console.say(summary_of(exploration, results.cases.size() - before, wall.count()));
    if (!options.report.empty()) {
        if (const auto kept = keep_unconfirmed(exploration, options.report); !kept)
            return std::unexpected(kept.error());
    }
    const explorer::Counts& counts = exploration.counts();
    if (counts.passed + counts.failed == 0 && !StopOnSignal::requested())
        return unable("no dialogue reached a verdict");
    return {};
}

Accepted<int> explore(const TestOptions& options, Console& console) {
    const StopOnSignal stop;
    auto profile = read_profile(options.dut.empty() ? std::string() : options.profile);
    if (!profile) return std::unexpected(profile.error());
    auto bench = choose_testbed(options);
    if (!bench) return std::unexpected(bench.error());
    if (options.list) {
        interpreter::Environment under_test = (*bench)->environment({});
        if (*profile) under_test = (*profile)->applied(std::move(under_test));
        return list(under_test, options, console);
    }
    plan::RunResults results;
    results.run = (*bench)->info();
    Report report(options);
    if (const auto begun = report.begin(results); !begun) return std::unexpected(begun.error());
    console.say(reports::console_head(results.run));
    const auto explored =
        explore_on(**bench, *std::move(profile), options, console, report, results);
    results.run.complete = !StopOnSignal::requested();
    if (const auto written = report.finish(results); !written)
        return std::unexpected(written.error());
    if (StopOnSignal::requested()) return kExitInterrupted;
    if (!explored) return std::unexpected(explored.error());
    return results.cases.empty() ? kExitSuccess : results.exit_code(options.strict, 0);
}

} // namespace veriroce::commands
