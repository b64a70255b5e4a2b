#include "conformance/suite/suite.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <sys/utsname.h>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "conformance/mutants/mutants.hpp"
#include "conformance/runner/plan.hpp"
#include "conformance/runner/run.hpp"
#include "conformance/suite/bench_choice.hpp"
#include "conformance/suite/text_file.hpp"
#include "reports/console.hpp"
#include "reports/json.hpp"
#include "reports/pcapng.hpp"
#include "transport/net/stop_on_signal.hpp"

namespace veriroce::suite {
namespace {

constexpr int interrupted = 130;

Accepted<std::vector<int>> ip_versions(const std::vector<std::string>& over) {
    std::vector<int> versions;
    for (const std::string& axis : over) {
        if (!axis.starts_with("ip=")) {
            return std::unexpected(Refusal{
                usage_error, fmt::format("--over {}: the axes are ip=4, ip=6 and ip=4,6", axis)});
        }
        // The comma behind the last value makes an empty one an error like any other.
        std::istringstream values(axis.substr(3) + ",");
        for (std::string value; std::getline(values, value, ',');) {
            if (value != "4" && value != "6") {
                return std::unexpected(Refusal{
                    usage_error,
                    fmt::format("--over {}: '{}' is no IP version; it is 4 or 6", axis, value)});
            }
            const int version = value == "4" ? 4 : 6;
            if (std::ranges::find(versions, version) == versions.end()) versions.push_back(version);
        }
    }
    return versions;
}

Accepted<std::vector<runner::ScriptFile>> read_files(const std::vector<std::string>& names) {
    std::vector<runner::ScriptFile> files;
    for (const std::string& name : names) {
        if (!name.ends_with(".roce")) continue;
        auto text = read_text(name);
        if (!text) return std::unexpected(Refusal{tool_error, text.error()});
        files.push_back({name, std::move(*text)});
    }
    return files;
}

// The options that another run of one case needs.
std::string repeat_options(const Options& options) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format(" {} {}", name, value);
    };
    add("--dut", options.dut);
    add("--dut-token-file", options.token_file);
    add("-i", options.interface);
    add("--tester-address", options.tester_address);
    add("--dut-address", options.dut_address);
    add("--mutant", options.mutant);
    for (const std::string& axis : options.over)
        add("--over", axis);
    return text;
}

void list(const runner::Plan& plan, std::FILE* out) {
    for (const runner::PlannedRun& run : plan.runs) {
        const script::Case& of = plan.cases[run.case_index];
        std::vector<std::string> rules;
        for (const script::Word& rule : of.rules)
            rules.push_back(rule.text);
        fmt::print(out, "{:<44} {:<24} {}\n", run.id(of), fmt::join(rules, " "), run.run.title);
    }
}

// Each file of a report is written whole or not at all.
Accepted<std::monostate> write_report(const runner::RunResults& results, const Options& options) {
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
    if (const auto written = write_text(folder / "results.json", reports::results_json(results));
        !written) {
        return failed(written.error());
    }
    for (const runner::CaseResult& result : results.cases) {
        if (result.verdict == runner::Verdict::Pass || result.packets.empty()) continue;
        std::string name = result.id;
        for (char& c : name) {
            if (c == '/' || c == '[' || c == ']' || c == ',' || c == '=') c = '-';
        }
        const std::string path = folder / (name + ".pcapng");
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

void list_mutants(std::FILE* out) {
    const auto lines = [out](std::span<const mutants::Mutant> some) {
        for (const mutants::Mutant& one : some)
            fmt::print(out, "  {:<34} {:<8} {}\n", one.name, one.rule, one.description);
    };
    fmt::print(out, "Defects, with the rule that each breaks:\n");
    lines(mutants::all());
    fmt::print(out, "Lawful oddities, with the rule that allows each:\n");
    lines(mutants::lawful());
}

runner::RunResults play(runner::Bench& bench, const runner::Plan& plan,
                        const runner::Selection& selection, const Options& options,
                        std::FILE* out) {
    using Clock = std::chrono::steady_clock;
    const reports::ConsoleStyle style{.colour = options.colour, .quiet = options.quiet};
    runner::RunResults results;
    results.run = bench.info();
    results.run.host = host();
    results.timing.started = fmt::format(
        "{:%FT%TZ}",
        fmt::gmtime(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())));
    fmt::print(out, "{}", reports::console_head(results.run));
    std::fflush(out);

    runner::SuiteRun run(bench, plan, selection,
                         {.seed = options.seed,
                          .timeout_scale = options.timeout_scale,
                          .fail_fast = options.fail_fast,
                          .command = repeat_options(options)});
    const auto began = Clock::now();
    while (!net::StopOnSignal::requested()) {
        const auto case_began = Clock::now();
        auto result = run.next();
        if (!result) break;
        results.timing.cases.push_back({result->id, Clock::now() - case_began});
        fmt::print(out, "{}", reports::console_case(*result, style));
        std::fflush(out);
        results.cases.push_back(std::move(*result));
    }
    results.run.complete = !net::StopOnSignal::requested() && run.done() == plan.runs.size();
    results.timing.wall = Clock::now() - began;
    const runner::Setting setting = bench.setting(4);
    results.timing.settle = setting.settle;
    results.timing.round_trip_p99 = setting.round_trip_p99;
    fmt::print(out, "{}", reports::console_summary(results, style));
    return results;
}

Accepted<int> run_or_refuse(const Options& options, std::FILE* out) {
    if (options.list_mutants) {
        list_mutants(out);
        return 0;
    }
    const auto versions = ip_versions(options.over);
    if (!versions) return std::unexpected(versions.error());
    const auto files = read_files(options.cases);
    if (!files) return std::unexpected(files.error());
    const runner::Selection selection{.names = options.cases,
                                      .rules = options.rules,
                                      .tags = options.tags,
                                      .role = options.role,
                                      .ip_versions = *versions,
                                      .slow = options.slow};
    const auto plan = runner::make_plan(selection, *files);
    if (!plan) return std::unexpected(Refusal{usage_error, plan.error().text});
    if (options.list || options.dry_run) {
        list(*plan, out);
        return 0;
    }
    const net::StopOnSignal stop;
    auto bench = choose_bench(options);
    if (!bench) return std::unexpected(bench.error());
    const runner::RunResults results = play(**bench, *plan, selection, options, out);
    if (const auto written = write_report(results, options); !written) {
        return std::unexpected(written.error());
    }
    return net::StopOnSignal::requested() ? interrupted : results.exit_code(options.strict);
}

} // namespace

int run(const Options& options, std::FILE* out, std::FILE* err) {
    const auto code = run_or_refuse(options, out);
    if (code) return *code;
    std::string_view text = code.error().text;
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    fmt::print(err, "veriroce: {}\n", text);
    return code.error().code;
}

} // namespace veriroce::suite
