#include "conformance/commands/test_options.hpp"

#include <fmt/format.h>

#include "conformance/plan/plan.hpp"
#include "conformance/plan/shell_word.hpp"
#include "dissector/capture/decoded_frames.hpp"

namespace veriroce::commands {
namespace {

using command_line::Command;

void add_selection(Command& command, TestOptions& options) {
    command.option(
        "CASE", options.cases,
        "Case ids (rsp/gap-nak), single runs ('bth/truncated[ip=6,n=4]'), groups (rsp) or "
        "script files (*.roce)");
    command.option(
        "--exclude", options.excluded,
        "Leave out runs, cases or groups whose id matches: bth/truncated, 'tmo*'; repeat "
        "it",
        {.value = "GLOB"});
    command.option("--rule", options.rules, "Only cases for these rules",
                   {.value = "RULE", .takes_several = true, .comma_separated = true});
    command.option("--tag", options.tags, "Only cases with these tags",
                   {.value = "TAG", .takes_several = true, .comma_separated = true});
    command.choice("--role", options.role,
                   {{"responder", rules::Role::Responder}, {"requester", rules::Role::Requester}},
                   "Only cases for this role of the device");
    command.option(
        "--over", options.over,
        "Run every case once per value: ip=4,6, psn=low,wrap (first PSNs), vlan=none,ID, "
        "migreq=0,1 or mtu=256,512,1024,2048,4096; repeat it",
        {.value = "AXIS"});
    command.option("-D", options.parameters,
                   "Set a 'let' or 'for' variable of the selected cases; repeat it",
                   {.value = "NAME=VALUE"});
    command.number("--repeat", options.repeat, {1, 1'000'000},
                   "Play every run N times, each time with the next seed");
    command.option("--shard", options.shard, "Run shard I of N", {.value = "I/N"});
    command.flag("--slow", options.slow,
                 "Also run slow cases (more than 5 s each against a real device)");
    command.flag(
        "--load", options.load,
        "Also run load cases: hundreds of QPs, thousands of messages; --tag load runs them "
        "alone");
    command.flag("--shared-fabric", options.shared_fabric,
                 "Skip runs that disturb other hosts of the network: PAUSE and broadcast frames");
}

void add_device(Command& command, TestOptions& options) {
    add_agent_options(command, options);
    command.option("--dut-other-address", options.dut_other,
                   "Addresses A[,B] of the device's host that are not GIDs; repeat it",
                   {.value = "ADDRESSES"});
    command.number(
        "--dscp", options.dscp, {0, 63},
        "DSCP of the device's packets, unless a case sets another; the default is 0, and "
        "26 in virtual time",
        {.value = "N"});
    command.option(
        "--profile", options.profile,
        "A profile (YAML): what is known about the device, such as its deviations; needs --dut",
        {.value = "FILE"});
    command.option("--dut-reset", options.dut_reset,
                   "A shell command that restarts a device that no longer answers",
                   {.value = "COMMAND"});
    command.option("--mutant", options.mutant, "Plant this defect in the built-in engine",
                   {.value = "NAME"});
    command.option("--dut-lacks", options.dut_lacks,
                   "Take these capabilities away from the built-in engine: uc,mw2,sge>=2,mtu>=2048",
                   {.value = "LIST"});
}

void add_playing(Command& command, TestOptions& options) {
    command.number("--seed", options.seed, {}, "The seed for PSNs and random faults",
                   {.value = "N", .shows_default = true});
    command.number("--threads", options.threads, {1, capture::kMostThreads},
                   "Play on N threads in virtual time; the default is one for each processor. The "
                   "results are the same",
                   {.value = "N"});
    command.number("--timeout-scale", options.timeout_scale, {0.1, 100'000},
                   "Multiply the tester's waiting times and settle time",
                   {.value = "FACTOR", .shows_default = true});
    command.option("--faults", options.faults,
                   "Play every case under this fault plan; --shrink then shrinks the plan",
                   {.value = "FILE"});
    command.option("--noise", options.noise,
                   "Make the virtual wire a bad one, in both directions: loss=0.2%, duplicate=1%, "
                   "reorder=1%, corrupt=1%: one or more of them",
                   {.value = "NOISE"});
    command.flag("--shrink", options.shrink,
                 "Shrink the first failing case, and print the smallest script that still fails");
    command.flag("--explore", options.explore,
                 "Play random dialogues instead of cases, and shrink each failure to a script that "
                 "fails by itself; 1000 dialogues unless --runs or --time says otherwise");
    command.flag("--thorough", options.thorough,
                 "Play slow cases too, each case over ip=4,6, psn=low,wrap and "
                 "mtu=256,1024,4096 as far as the device allows, and in a VLAN if it has one; "
                 "then, if no cases are selected, explore for a minute, or what --runs or --time "
                 "says");
    command.number("--runs", options.runs, {1, 1'000'000'000}, "Explore this many dialogues",
                   {.value = "N"});
    command.number("--time", options.seconds, {0.1, 1'000'000}, "Explore for this long",
                   {.value = "SECONDS"});
    command.flag("--data-sheet", options.data_sheet,
                 "Measure what the device is, without judging it: latencies, timers, retries, "
                 "recovery, goodput; alone, or beside the CASEs");
    command.flag("--fail-fast", options.fail_fast, "Stop at the first FAIL");
    command.flag("--list-mutants", options.list_mutants, "List the defects for --mutant");
    command.flag("--matrix", options.matrix,
                 "Play the selected cases against every planted defect, or that of --mutant, and "
                 "print which case catches it, by which line or rule");
    command.flag("--list", options.list, "List the selected runs without playing them");
    command.flag("--dry-run", options.dry_run, "Compile and plan without playing");
}

void add_reporting(Command& command, TestOptions& options) {
    command.option("--report", options.report,
                   "Write report.html, results.json, junit.xml and captures to this folder",
                   {.value = "FOLDER"});
    command.option("--capture", options.capture,
                   "Write the packets of the whole run to one pcapng file", {.value = "FILE"});
    command.option("--write-profile", options.write_profile,
                   "Write a draft of a profile with one entry for each deviation that was found",
                   {.value = "FILE"});
    command.option("--allow-errors", options.allow_errors,
                   "Exit code 0 although up to this share of the runs ended with ERROR: 2%",
                   {.value = "N%"});
    command.flag("--strict", options.strict, "Exit code 1 also for a WARN");
    command.flag("-q,--quiet", options.quiet, "Print only runs that did not PASS");
}

} // namespace

unsigned threads_of(const TestOptions& options) {
    return capture::DecodedFrames::threads(options.threads);
}

void add_agent_options(Command& command, TestOptions& options) {
    command.option("--dut", options.dut, "The device's agent: HOST:PORT or unix:PATH",
                   {.value = "AGENT"});
    command.option("--dut-token-file", options.token_file, "A file with the agent's token",
                   {.value = "FILE"});
    command.option("-i,--interface", options.interface, "The interface on the device's network",
                   {.value = "IFACE"});
    command.option("--tester-address", options.tester_address,
                   "Addresses A[/N][,B...] for which the tester answers itself; repeat it",
                   {.value = "ADDRESSES"});
    command.option("--dut-address", options.dut_address,
                   "Addresses A[,B] of the device to use; repeat it", {.value = "ADDRESSES"});
    command.number("--dut-port", options.dut_port, {1, 255},
                   "The port of the device to use; the default is its first one", {.value = "N"});
    command.option("--dut-gid", options.dut_gid,
                   "GIDs N[,N] of the device to use, by their index; repeat it",
                   {.value = "INDICES"});
}

void add_options(Command& command, TestOptions& options) {
    add_selection(command, options);
    add_device(command, options);
    add_playing(command, options);
    add_reporting(command, options);
}

std::string listed(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ","));
}

std::string repeat_options(const TestOptions& options) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format(" {} {}", name, value);
    };
    add("--dut", plan::shell_word(options.dut));
    add("--dut-token-file", plan::shell_word(options.token_file));
    add("-i", options.interface);
    add("--tester-address", listed(options.tester_address));
    add("--dut-address", listed(options.dut_address));
    if (options.dut_port != 0) add("--dut-port", fmt::to_string(options.dut_port));
    add("--dut-gid", listed(options.dut_gid));
    add("--dut-other-address", listed(options.dut_other));
    if (options.dscp) add("--dscp", fmt::to_string(*options.dscp));
    add("--profile", plan::shell_word(options.profile));
    add("--mutant", options.mutant);
    add("--dut-lacks", plan::shell_word(options.dut_lacks));
    add("--faults", plan::shell_word(options.faults));
    add("--noise", options.noise);
    add("--dut-reset", plan::shell_word(options.dut_reset));
    for (const std::string& parameter : options.parameters)
        add("-D", plan::shell_word(parameter));
    if (options.timeout_scale != 1.0) add("--timeout-scale", fmt::to_string(options.timeout_scale));
    if (options.slow || options.thorough) text += " --slow";
    if (options.load) text += " --load";
    if (options.shared_fabric) text += " --shared-fabric";
    return text;
}

} // namespace veriroce::commands
