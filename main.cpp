// The front door: one program. It parses the command line and calls the room that owns the command.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "conformance/agent/engine_backend.hpp"
#include "conformance/agent/serve.hpp"
#include "conformance/commands/judge.hpp"
#include "conformance/commands/script.hpp"
#include "conformance/commands/script_import.hpp"
#include "conformance/commands/test.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/dissect/dissect.hpp"
#include "dissector/wire/nearest_word.hpp"
#include "transport/bench/commands.hpp"
#include "transport/pingpong/commands.hpp"
#include "transport/sim/bench.hpp"

namespace {

using namespace veriroce;

constexpr int usage_error = 2;
constexpr int tool_error = 3;

void add_dissect(CLI::App& app, dissect::Options& options, int& code) {
    CLI::App* command = app.add_subcommand("dissect", "Decode captures: a line for each packet");
    const auto read = [&options](const std::vector<std::string>& files) {
        options.files.insert(options.files.end(), files.begin(), files.end());
    };
    command->add_option_function<std::vector<std::string>>(
        "FILE", read, "pcap or pcapng files, also packed by gzip or zstd; - is standard input");
    command
        ->add_option_function<std::vector<std::string>>("-r", read,
                                                        "The same as FILE, for tshark's users")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("-i", options.interface, "Capture live from an interface; Ctrl-C ends it")
        ->type_name("IFACE");
    command
        ->add_option("-f", options.capture_filter,
                     "Only packets that fulfil a capture filter, as tcpdump writes it")
        ->type_name("BPF");
    command->add_option("-s", options.snap_length, "Live: at most so many bytes of a packet")
        ->type_name("BYTES")
        ->check(CLI::Range(1U, 262'144U));
    command->add_option("-B", options.buffer_mib, "Live: the kernel's ring, 16 MiB if not named")
        ->type_name("MIB")
        ->check(CLI::Range(1U, 2047U));
    command
        ->add_option_function<std::string>(
            "-T",
            [&options](const std::string& name) {
                const auto format = dissect::format_by_name(name);
                if (!format) {
                    throw CLI::ValidationError("-T",
                                               "'" + name + "' is none of text, fields, json, csv");
                }
                options.format = *format;
            },
            "Output: text, fields, json or csv")
        ->type_name("FORMAT");
    command->add_option("-e", options.fields, "A field of -T fields, json or csv; repeat it")
        ->type_name("FIELD")
        ->allow_extra_args(false);
    command
        ->add_option("-Y", options.filter,
                     "Only packets that fulfil a display filter, as Wireshark writes it")
        ->type_name("EXPR");
    command
        ->add_option("-w", options.write,
                     "Write packets as pcapng, findings as comments; - is standard output")
        ->type_name("FILE");
    command->add_flag("-V", options.tree, "The tree of headers and fields of each packet");
    command->add_flag("-x", options.hex, "The bytes of each packet");
    command->add_flag("--stats", options.stats, "A summary instead of packets");
    command->add_flag("--check", options.check, "Only packets with findings; exit code 1 if any");
    command->add_flag("--verify-icrc", options.verify_icrc,
                      "Check every ICRC, also where the output does not need it");
    command
        ->add_option("--roce-port", options.roce_ports,
                     "A UDP port that carries RoCEv2 as 4791 does; repeat it")
        ->type_name("PORT")
        ->allow_extra_args(false);
    command
        ->add_option(
            "--decode-as", options.decode_as,
            "What is above the transport where no CM exchange tells: qp=N:PROTOCOL (packets "
            "to this QP) or port=N:PROTOCOL (of a CM request); nvme (of a QP also nvme_admin, "
            "nvme_io), iser, smb_direct, rpcordma or none; repeat it")
        ->type_name("WHERE:PROTOCOL")
        ->allow_extra_args(false);
    command->add_option("-c", options.max_packets, "Stop after so many packets")->type_name("N");
    command->add_flag("-q,--quiet", options.quiet, "No summary line of --check or -i");
    command->callback([&] { code = dissect::run(options, stdout, stderr); });
}

void add_judge(CLI::App& app, commands::JudgeOptions& options, int& code) {
    CLI::App* command =
        app.add_subcommand("judge", "Which rules the devices in captures break, packet by packet");
    command->add_option("FILE", options.files, "pcap or pcapng files; - is standard input")
        ->required();
    command
        ->add_option_function<std::string>(
            "--format",
            [&options](const std::string& name) {
                const auto format = commands::judge_format_by_name(name);
                if (!format) {
                    throw CLI::ValidationError("--format",
                                               "'" + name + "' is neither text nor json");
                }
                options.format = *format;
            },
            "Output: text or json")
        ->type_name("FORMAT");
    command->add_flag("--complete", options.complete,
                      "The capture lost nothing: what it lacks was not sent");
    command->add_flag("--ordered", options.ordered,
                      "On the way to the capture nothing is overtaken or copied");
    command
        ->add_option("--recorded-at", options.recorded_at,
                     "Address of a device at whose own port the capture was taken; repeat it")
        ->type_name("ADDRESS")
        ->allow_extra_args(false);
    command
        ->add_option("--patience", options.patience_ms,
                     "Milliseconds in which a device recorded at its own port must have answered")
        ->type_name("MS")
        ->check(CLI::Range(0.001, 1e6));
    command
        ->add_option("--connections", options.labels,
                     "A file of known connections: ADDRESS QP ADDRESS QP [mtu=N] [psn=N,N]...")
        ->type_name("FILE");
    command->add_flag("--strict", options.strict, "A possible violation counts as well");
    command->add_flag("-q,--quiet", options.quiet, "No summary line");
    command->callback([&] { code = commands::run_judge(options, stdout, stderr); });
}

void add_test(CLI::App& app, commands::TestOptions& options, int& code) {
    CLI::App* command = app.add_subcommand(
        "test", "The conformance suite against a device; without --dut the built-in engine");
    command->add_option("CASE", options.cases,
                        "Case ids (rsp/gap-nak), groups (rsp) or script files (*.roce)");
    command->add_option("--dut", options.dut, "The device's agent: HOST:PORT or unix:PATH");
    command->add_option("--dut-token-file", options.token_file, "The agent's token");
    command->add_option("-i,--interface", options.interface, "The wire to the device");
    command->add_option("--tester-address", options.tester_address,
                        "Addresses A[/N][,B…] that the tester answers for itself");
    command->add_option("--dut-address", options.dut_address,
                        "Which addresses A[,B] of the device to talk to");
    command
        ->add_option("--profile", options.profile,
                     "What is known of the device: capabilities, counters, deviations (YAML)")
        ->type_name("FILE");
    command->add_option("--rule", options.rules, "Only cases of these rules")->delimiter(',');
    command->add_option("--tag", options.tags, "Only cases with these tags")->delimiter(',');
    command
        ->add_option_function<std::string>(
            "--role",
            [&options](const std::string& name) {
                options.role = rules::role_named(name);
                if (!options.role) {
                    throw CLI::ValidationError("--role",
                                               "'" + name + "' is neither responder nor requester");
                }
            },
            "Only cases of this role of the device")
        ->type_name("ROLE");
    command
        ->add_option("--over", options.over,
                     "Axes of the run: ip=4,6, psn=low,wrap (first PSNs), migreq=0,1; repeat it")
        ->type_name("AXIS")
        ->allow_extra_args(false);
    command
        ->add_option("-D", options.parameters,
                     "The value of a 'let' or 'for' line of the selected cases; repeat it")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    command->add_option("--repeat", options.repeat, "Every run N times, each with the next seed")
        ->type_name("N")
        ->check(CLI::Range(1U, 1'000'000U));
    command->add_option("--shard", options.shard, "Every N-th run, from the I-th on: parts for CI")
        ->type_name("I/N");
    command
        ->add_option("--dut-reset", options.dut_reset,
                     "A shell command that revives a device that no longer answers")
        ->type_name("COMMAND");
    command->add_option("--seed", options.seed, "PSNs and random faults follow from it")
        ->capture_default_str();
    command->add_option("--timeout-scale", options.timeout_scale, "Stretches all patience")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 100'000.0));
    command->add_option("--report", options.report,
                        "Folder for results.json, junit.xml and captures");
    command->add_option("--capture", options.capture, "One pcapng of the whole run");
    command->add_option("--mutant", options.mutant, "Plant this defect in the built-in engine");
    command
        ->add_option("--faults", options.faults,
                     "Play every case under this fault plan; with --shrink the plan is made small")
        ->type_name("FILE");
    command->add_flag("--shrink", options.shrink,
                      "Make the first case that fails small, and show the script");
    command->add_flag("--list-mutants", options.list_mutants, "Show the defects for --mutant");
    command->add_flag("--list", options.list, "Show the runs that are selected, and play none");
    command->add_flag("--dry-run", options.dry_run, "Compile and plan, and play none");
    command->add_flag("--strict", options.strict, "A WARN counts as well");
    command->add_flag("--fail-fast", options.fail_fast, "End at the first FAIL");
    command->add_flag("--slow", options.slow, "Also cases of more than 5 s");
    command->add_flag("-q,--quiet", options.quiet, "Only what is not PASS");
    command->callback([&] {
        options.colour = isatty(STDOUT_FILENO) == 1;
        options.progress = isatty(STDERR_FILENO) == 1 && !options.quiet;
        code = commands::run_test(options, stdout, stderr);
    });
}

void add_import(CLI::App& script, commands::ImportOptions& options, int& code) {
    CLI::App* command =
        script.add_subcommand("import", "A connection of a capture as a script that can be played");
    command->add_option("CAPTURE", options.capture, "A pcap or pcapng file, also packed")
        ->required();
    command
        ->add_option("--connection", options.connection,
                     "Which one, counted from 1; the one with the most requests if not named")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
    command
        ->add_option_function<std::string>(
            "--as",
            [&options](const std::string& name) {
                const auto part = commands::part_by_name(name);
                if (!part) {
                    throw CLI::ValidationError("--as",
                                               "'" + name + "' is neither requester nor responder");
                }
                options.tester = *part;
            },
            "Which side the tester takes: requester (the device answers) or responder")
        ->type_name("SIDE");
    command
        ->add_option("--from", options.asking,
                     "The end whose requests are written; the one that moves more if not named")
        ->type_name("ADDRESS");
    command->add_option("--messages", options.messages, "No more than the first N messages")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
    command->add_option("-o", options.output, "The script's file; standard output if not named")
        ->type_name("FILE");
    command->callback([&] { code = commands::run_script_import(options, stdout, stderr); });
}

void add_script(CLI::App& app, commands::FormatOptions& options,
                commands::ImportOptions& import_options, int& code) {
    CLI::App* command = app.add_subcommand("script", "Check and lay out scripts, and make them");
    command->require_subcommand(1);
    CLI::App* check = command->add_subcommand("check", "Compile scripts, and run none");
    check->add_option("FILE", options.files)->required();
    check->callback([&] { code = commands::script_check(options.files, stdout, stderr); });
    CLI::App* format = command->add_subcommand("format", "Lay scripts out, in place");
    format->add_option("FILE", options.files)->required();
    format->add_flag("--check", options.check_only, "Only say which files would change");
    format->callback([&] { code = commands::script_format(options, stdout, stderr); });
    add_import(*command, import_options, code);
}

// What both ends of a ping-pong take.
void add_pingpong_options(CLI::App& command, pingpong::Options& options) {
    command.add_option("-i,--interface", options.interface,
                       "Raw frames on this interface; otherwise a UDP socket");
    command.add_option("--address", options.address,
                       "Our address; otherwise that of the exchange's connection");
    command.add_option("-s,--size", options.size, "Bytes of a message")
        ->capture_default_str()
        ->check(CLI::Range(1U, 1U << 30U));
    command.add_option("-n,--rounds", options.rounds, "Round trips")
        ->capture_default_str()
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
    command.add_option("-m,--mtu", options.mtu, "Path MTU; at most 1024 if not given");
    command.add_option("--psn", options.psn, "Our first PSN; random if not given")
        ->check(CLI::Range(0U, 0xFFFFFFU));
}

void add_serve(CLI::App& app, pingpong::Options& options, int& code) {
    CLI::App* command = app.add_subcommand(
        "serve", "Wait for ibv_rc_pingpong or 'veriroce ping', and send back what comes");
    add_pingpong_options(*command, options);
    command->add_option("--listen", options.listen,
                        "Where to wait, ADDRESS:PORT; everywhere on 18515 if not given");
    command->add_flag("--once", options.once, "End after the first peer");
    command->callback([&] { code = pingpong::serve(options, stdout, stderr); });
}

void add_ping(CLI::App& app, pingpong::Options& options, int& code) {
    CLI::App* command = app.add_subcommand(
        "ping", "RC round trips with ibv_rc_pingpong or 'veriroce serve', data compared");
    command->add_option("HOST", options.peer, "HOST or HOST:PORT (18515)")->required();
    add_pingpong_options(*command, options);
    command->callback([&] { code = pingpong::ping(options, stdout, stderr); });
}

void add_rules(CLI::App& app, std::vector<std::string>& ids, int& code) {
    CLI::App* command = app.add_subcommand("rules", "The rule catalogue");
    command->add_option("ID", ids, "Rules (RSP-02) or groups (RSP); all if none is named");
    command->callback([&] {
        for (const std::string& id : ids) {
            bool known = false;
            for (const rules::Rule& rule : rules::catalogue().rules()) {
                known = known || rule.id == id || rule.group() == id;
            }
            if (known) continue;
            const auto near = rules::catalogue().nearest(id);
            fmt::print(stderr, "veriroce: no rule is called '{}'{}\n", id,
                       near ? fmt::format("; did you mean {}?", *near) : "");
            code = usage_error;
            return;
        }
        for (const rules::Rule& rule : rules::catalogue().rules()) {
            const bool wanted = ids.empty() || std::ranges::find(ids, rule.id) != ids.end() ||
                                std::ranges::find(ids, rule.group()) != ids.end();
            if (!wanted) continue;
            fmt::print("{:<8} {:<6} {:<10} {}\n", rule.id, rules::word(rule.level),
                       rules::word(rule.role), rule.title);
            if (!ids.empty()) fmt::print("         {}\n", rule.text);
        }
    });
}

void add_bench(CLI::App& app, sim::BenchOptions& options, bench::Options& figures, int& code) {
    CLI::App* command = app.add_subcommand("bench", "Figures of this machine");
    command->require_subcommand(1);
    CLI::App* engine = command->add_subcommand(
        "engine", "Two engines in one process: throughput, messages, many QPs");
    CLI::App* icrc = command->add_subcommand("icrc", "ICRC against a bare CRC-32");
    for (CLI::App* one : {engine, icrc}) {
        one->add_option("--runs", figures.runs, "Paired runs of each figure")
            ->capture_default_str()
            ->check(CLI::Range(1U, 1000U));
        one->add_option("--megabytes", figures.megabytes, "How much each run moves")
            ->capture_default_str()
            ->check(CLI::Range(1U, 1'000'000U));
    }
    engine->add_option("--qps", figures.many_qps, "How many QPs are many")
        ->capture_default_str()
        ->check(CLI::Range(16U, 1'000'000U));
    engine->callback([&] { code = bench::bench_engine(figures, stdout, stderr); });
    icrc->callback([&] { code = bench::bench_icrc(figures, stdout, stderr); });
    CLI::App* random = command->add_subcommand(
        "sim", "Random work of engines in virtual time, held against a reference model");
    random->add_option("--seeds", options.seeds, "How many seeds to play")->capture_default_str();
    random->add_option("--seed", options.first, "The first of them; 1 if it is not named");
    random->add_flag("--shrink", options.shrink, "Make the first failure small and show it");
    random->callback([&] { code = sim::bench(options, stdout, stderr); });
}

// CLI11 names no nearest word. Empty: the words begin with commands that there are.
std::string misnamed(const CLI::App& app, std::span<const char* const> words) {
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return {};
    std::vector<std::string> names;
    for (const CLI::App* command : commands)
        names.push_back(command->get_name());
    if (words.empty()) {
        return fmt::format("a command is missing: {}; --help says what each does",
                           fmt::join(names, ", "));
    }
    const std::string_view word = words.front();
    if (word.starts_with('-')) return {};
    if (const auto named = std::ranges::find(names, word); named != names.end()) {
        return misnamed(*commands[static_cast<std::size_t>(named - names.begin())],
                        words.subspan(1));
    }
    const auto near = wire::nearest_word(word, names);
    return fmt::format("no command is called '{}'; {}", word,
                       near ? fmt::format("did you mean '{}'?", *near)
                            : fmt::format("the commands are {}", fmt::join(names, ", ")));
}

// Nobody may be reading any more: then there is nothing to say.
int output_failed(int error) {
    if (error == EPIPE) return 0;
    fmt::print(stderr, "veriroce: standard output: {}\n", std::strerror(error));
    return tool_error;
}

int run_agent(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 2, argv + argc);
    return agent::run_command_line(words, agent::all_backends);
}

} // namespace

int main(int argc, char** argv) {
    // A reader that goes away ends a write with EPIPE, not the program with a signal.
    std::signal(SIGPIPE, SIG_IGN);
    if (argc >= 2 && std::string_view(argv[1]) == "agent") return run_agent(argc, argv);

    CLI::App app("veriroce decodes RoCEv2, speaks it, and tests whether a device keeps its rules");
    app.set_version_flag("--version", "veriroce " VERIROCE_VERSION);
    app.require_subcommand(1);
    int code = 0;
    dissect::Options dissect_options;
    commands::JudgeOptions judge_options;
    commands::TestOptions test_options;
    commands::FormatOptions script_options;
    commands::ImportOptions import_options;
    pingpong::Options pingpong_options;
    std::vector<std::string> rule_ids;
    sim::BenchOptions bench_options;
    bench::Options figures;
    add_dissect(app, dissect_options, code);
    add_judge(app, judge_options, code);
    add_test(app, test_options, code);
    add_script(app, script_options, import_options, code);
    add_serve(app, pingpong_options, code);
    add_ping(app, pingpong_options, code);
    add_rules(app, rule_ids, code);
    add_bench(app, bench_options, figures, code);
    app.add_subcommand("agent", "Serve this host's device to a tester ('veriroce agent --help')");
    const std::string wrong =
        misnamed(app, std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
    if (!wrong.empty()) {
        fmt::print(stderr, "veriroce: {}\n", wrong);
        return usage_error;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        // CLI11's own codes would collide with ours.
        fmt::print(stderr, "veriroce: {}\n", error.what());
        return usage_error;
    } catch (const std::system_error& error) { // of fmt, when output finds no room
        return output_failed(error.code().value());
    }
    if (std::fflush(stdout) != 0) return output_failed(errno);
    return code;
}
