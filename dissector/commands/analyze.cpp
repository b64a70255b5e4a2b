#include "dissector/commands/analyze.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dissector/analysis_page/html.hpp"
#include "dissector/analyze/divided_analyzer.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "dissector/capture/facts.hpp"
#include "dissector/capture/live.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/commands/analyze_output.hpp"
#include "dissector/commands/analyze_two_points.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

class Session {
  public:
    Session(const AnalyzeOptions& options, std::FILE* out, std::FILE* err)
        : options_(options), output_(options, out, err),
          kept_({.flow = {},
                 .messages = output_.wants_messages(),
                 .traces = options.html.empty() ? 0 : analysis_page::kGraphs}),
          analyzer_(kept_, 1, 1) {}

    int run() {
        const StopOnSignal stop; // from here on a signal leaves complete output behind
        if (!output_.begin()) return kExitUnable;
        if (options_.interface.empty()) {
            read_files();
        } else {
            read_live();
        }
        analyzer_.finish();
        const bool interrupted = options_.interface.empty() && StopOnSignal::requested();
        return output_.finish(
            analyze::report_of(analyzer_.conversations(), analyzer_.totals(), options_.thresholds),
            interrupted);
    }

  private:
    // Those that were written before the files were read again are not written again.
    std::span<const analyze::FinishedMessage> fresh_messages() {
        const auto messages = analyzer_.messages();
        const auto old = static_cast<std::size_t>(
            std::min<std::uint64_t>(messages.size(), written_ - std::min(written_, finished_)));
        finished_ += messages.size();
        written_ = std::max(written_, finished_);
        return messages.subspan(old);
    }

    // Which conversations get graphs is known only where one analyzer reads all.
    [[nodiscard]] std::size_t shares() const {
        if (kept_.traces > 0) return 1;
        return capture::DecodedFrames::shares(options_.files, options_.threads);
    }

    void read_files() {
        std::vector<const std::string*> names;
        for (const std::string& file : options_.files)
            names.push_back(&file);
        if (analyze_files(names, shares()) || StopOnSignal::requested()) return;
        finished_ = 0;
        analyze_files(names, 1);
    }

    // False if one analyzer must read all of them. Those that cannot be opened leave `names`.
    bool analyze_files(std::vector<const std::string*>& names, std::size_t shares) {
        std::vector<capture::Reader> readers;
        for (const std::string*& name : names) {
            auto reader = capture::Reader::open(*name, &StopOnSignal::flag());
            if (StopOnSignal::requested()) return true;
            if (reader) {
                readers.push_back(std::move(*reader));
            } else {
                output_.complain(capture::text_of(reader.error(), *name));
                name = nullptr;
            }
        }
        std::erase(names, nullptr);
        analyzer_ = analyze::DividedAnalyzer(kept_, shares,
                                             capture::DecodedFrames::places(options_.threads));
        capture::DecodedFrames frames(
            std::move(readers),
            {.decode = {.also_roce_ports = options_.roce_ports},
             .threads = options_.threads,
             .prepare = [&](std::size_t place, auto some) { analyzer_.prepare(place, some); },
             .shares = shares,
             .observe = [&](std::size_t share, std::size_t place,
                            auto some) { analyzer_.observe(share, place, some); }});
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            analyzer_.merge(frames.place());
            if (!analyzer_.exact()) return false;
            output_.write(fresh_messages());
            if (StopOnSignal::requested() || output_.broken()) frames.stop();
        }
        if (StopOnSignal::requested() || output_.broken()) return true;
        for (const auto& [file, error] : frames.errors())
            output_.complain(capture::text_of(error, *names[file]));
        return true;
    }

    void read_live() {
        auto live = capture::Live::open(
            {.interface = options_.interface, .filter = {}, .stop = &StopOnSignal::flag()});
        if (!live) return output_.complain(live.error());
        output_.note(
            fmt::format("Capturing on {}; press Ctrl-C for the report", options_.interface));
        capture::Record record;
        decode::Dissection dissection;
        std::uint64_t number = 0;
        for (;;) {
            const auto got = live->next(record);
            if (!got) return output_.complain(got.error());
            if (*got == capture::Live::Got::Stopped) break;
            if (*got != capture::Live::Got::Packet) continue;
            capture::tell(record, ++number, dissection.frame);
            decode::dissect_frame({.also_roce_ports = options_.roce_ports}, dissection);
            const std::span<const decode::Dissection> frames(&dissection, 1);
            analyzer_.prepare(0, frames);
            analyzer_.observe(0, 0, frames);
            analyzer_.merge(0);
            output_.write(fresh_messages());
        }
        const auto counts = live->counts();
        if (counts.dropped + counts.interface_dropped == 0) return;
        output_.note(fmt::format("{} packets dropped by the kernel, {} by the interface",
                                 counts.dropped, counts.interface_dropped));
    }

    const AnalyzeOptions& options_;
    AnalyzeOutput output_;
    analyze::Options kept_;
    analyze::DividedAnalyzer analyzer_;
    std::uint64_t finished_ = 0; // messages, since the files were begun
    std::uint64_t written_ = 0;  // messages
};

std::optional<double> leading_number(std::string_view word, std::string_view& rest) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
    rest = word.substr(static_cast<std::size_t>(end - word.data()));
    return value;
}

// "0.1%" or "0.001".
Command::Reader part_reader(double& part) {
    return [&part](const std::string& word) -> std::expected<void, std::string> {
        std::string_view unit;
        const auto value = leading_number(word, unit);
        const double divisor = unit == "%" ? 100 : 1;
        if (!value || (!unit.empty() && unit != "%") || *value / divisor > 1) {
            return std::unexpected("a share such as 0.1% or 0.001");
        }
        part = *value / divisor;
        return {};
    };
}

Command::Reader time_reader(std::optional<wire::Duration>& time) {
    return [&time](const std::string& word) -> std::expected<void, std::string> {
        std::string_view unit;
        const auto value = leading_number(word, unit);
        const double ns = unit == "ns"   ? 1
                          : unit == "us" ? 1e3
                          : unit == "ms" ? 1e6
                          : unit == "s"  ? 1e9
                                         : 0;
        constexpr double kMost = 1e15;
        if (!value || ns == 0 || *value * ns > kMost) {
            return std::unexpected("a time such as 500us, 10ms or 1s");
        }
        time = wire::Duration(static_cast<std::int64_t>(*value * ns));
        return {};
    };
}

std::string wrong_with_two_points(const AnalyzeOptions& options) {
    const auto piped = [](const std::vector<std::string>& files) {
        return std::ranges::find(files, "-") != files.end();
    };
    if (!options.interface.empty()) return "-i reads no files, and --second compares them";
    if (options.files.empty()) return "--second needs the FILEs of the first point, too";
    if (piped(options.files) || piped(options.second)) {
        return "--second reads the files twice; standard input can be read once";
    }
    const bool text = options.format == AnalyzeFormat::Text;
    if (!text && options.format != AnalyzeFormat::Json) {
        return "--second goes with --format text or json";
    }
    if (!options.sqlite.empty() || !options.html.empty() || options.text.details ||
        options.text.connection) {
        return "--sqlite, --html, -v and --connection are about one point; leave --second out";
    }
    return {};
}

std::string wrong_with(const AnalyzeOptions& options) {
    if (!options.second.empty()) return wrong_with_two_points(options);
    if (options.files.empty() && options.interface.empty()) {
        return "no capture file; give file names, - for standard input, or -i IFACE";
    }
    if (!options.files.empty() && !options.interface.empty()) {
        return "-i reads no files";
    }
    return wrong_with_report(options);
}

} // namespace

std::string wrong_with_report(const AnalyzeOptions& options) {
    const bool rows = options.rows != AnalyzeRows::Connections;
    const bool text = options.format == AnalyzeFormat::Text;
    if (rows && (text || options.format == AnalyzeFormat::Json)) {
        return "--rows goes with --format csv or jsonl";
    }
    if (options.rows == AnalyzeRows::Episodes && options.format == AnalyzeFormat::JsonLines) {
        return "--format jsonl has the episodes beside the connections; leave --rows out";
    }
    if (!text && (options.text.details || options.text.connection)) {
        return "-v and --connection go with --format text; the other formats have all details";
    }
    return {};
}

void add_report_options(Command command, AnalyzeOptions& options) {
    command.number("--roce-port", options.roce_ports, {1, 65'535},
                   "A UDP port that carries RoCEv2, in addition to 4791; repeat it",
                   {.value = "PORT"});
    command.choice("--format", options.format,
                   {{"text", AnalyzeFormat::Text},
                    {"json", AnalyzeFormat::Json},
                    {"jsonl", AnalyzeFormat::JsonLines},
                    {"csv", AnalyzeFormat::Csv}},
                   "Output format");
    command.choice("--rows", options.rows,
                   {{"connections", AnalyzeRows::Connections},
                    {"episodes", AnalyzeRows::Episodes},
                    {"messages", AnalyzeRows::Messages}},
                   "What --format csv or jsonl lists");
    command.option("--sqlite", options.sqlite,
                   "Write connections, messages and episodes to a new SQLite database as well",
                   {.value = "FILE"});
    command.number("--top", options.text.top, {1, 1'000'000},
                   "Connections in each list of the text; the default is 5", {.value = "N"});
    command.number("--connection", options.text.connection, {1, UINT64_MAX},
                   "Only the connection with this number, with details", {.value = "N"});
    command.flag("-v", options.text.details, "Details of each listed connection");
    command.option("--max-retransmissions", part_reader(options.thresholds.resent_part),
                   "Share of the request packets of one end that may be retransmissions; the "
                   "default is 0.1%",
                   {.value = "SHARE"});
    command.number("--max-timeouts", options.thresholds.timeouts, {},
                   "Timeouts that one end may have; the default is 0", {.value = "N"});
    command.number("--max-rnr-naks", options.thresholds.rnr_naks, {},
                   "RNR NAKs that one end may get; the default is 0", {.value = "N"});
    command.option("--max-latency", time_reader(options.thresholds.latency),
                   "Time that 99 % of the messages of one kind may take at most",
                   {.value = "TIME"});
    command.footer("Exit code 1 if a connection is not healthy: it died, or breaks a limit.");
}

void add_analyze(Command program) {
    auto command = program.add_command("analyze", "Report what happened on each connection");
    const auto options = std::make_shared<AnalyzeOptions>();
    command.option("FILE", options->files,
                   "pcap or pcapng files, read as one capture in the order of time; - is standard "
                   "input");
    command.option("--second", options->second,
                   "Captured at the same time at another point of the way: say what happened "
                   "between FILE and this one; repeat it for more files",
                   {.value = "FILE"});
    command.option("-i", options->interface, "Capture live; Ctrl-C ends it with the report",
                   {.value = "IFACE"});
    command.number("--threads", options->threads, {1, capture::kMostThreads},
                   capture::kThreadsText);
    command.option("--html", options->html, "Write a page with graphs over time as well",
                   {.value = "FILE"});
    add_report_options(command, *options);
    command.on_run([options] { return run_analyze(*options, stdout, stderr); });
}

int run_analyze(const AnalyzeOptions& options, std::FILE* out, std::FILE* err) {
    if (const std::string wrong = wrong_with(options); !wrong.empty()) {
        fmt::print(err, "veriroce: analyze: {}\n", wrong);
        return kExitUsage;
    }
    if (!options.second.empty()) return run_two_points(options, out, err);
    return Session(options, out, err).run();
}

} // namespace veriroce::commands
