#include "conformance/commands/judge.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "conformance/commands/judge_connections.hpp"
#include "conformance/commands/judge_lines.hpp"
#include "conformance/commands/judge_report.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/judge/divided_judge.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/print/output.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

void say(std::FILE* err, std::string_view message) {
    fmt::print(err, "veriroce: {}\n", wire::safe_text(message, true));
}

// A silent device is worth a word after this time, if the user does not say how long it may take.
constexpr wire::Duration kLongestSilence = std::chrono::seconds(1);

class JudgeSession {
  public:
    JudgeSession(const JudgeOptions& options, judge::Assumptions assumptions, std::FILE* out,
                 std::FILE* err)
        : options_(options), assumptions_(std::move(assumptions)), out_(out), err_(err) {}

    int run() {
        const StopOnSignal stop; // from here on a signal leaves complete output behind
        if (options_.format == JudgeFormat::Json) append_json_begin(out_.text());
        for (const std::string& file : options_.files) {
            judge_file(file);
            if (!out_.flush() || StopOnSignal::requested()) break;
        }
        if (options_.format == JudgeFormat::Json) append_json_end(out_.text());
        out_.flush();
        if (out_.error() == EPIPE) return kExitSuccess;
        if (out_.error() != 0) {
            say(err_, fmt::format("writing failed: {}", std::strerror(out_.error())));
            return kExitUnable; // the violations did not reach the user
        }
        if (StopOnSignal::requested()) {
            say(err_, "judge: interrupted: only the packets until then were judged");
            return kExitInterrupted;
        }
        if (violated_) return kExitFound;
        return failed_ ? kExitUnable : kExitSuccess;
    }

  private:
    void judge_file(const std::string& file) {
        std::size_t shares = capture::DecodedFrames::shares({&file, 1}, options_.threads);
        judge::DividedJudge judge = new_judge(shares);
        Ended ended = read(file, judge, shares);
        if (ended == Ended::Again) {
            shares = 1;
            judge = new_judge(shares);
            ended = read(file, judge, shares);
        }
        judge.finish();
        const judge::Summary& summary = judge.summary();
        report(file, judge, summary);
        // What was not looked at must not pass for clean.
        if (ended == Ended::Whole && summary.judged() == 0) {
            complain(file + ": " + why_nothing(summary));
        }
    }

    [[nodiscard]] judge::DividedJudge new_judge(std::size_t shares) const {
        return {assumptions_, shares, capture::DecodedFrames::places(options_.threads)};
    }

    void report(const std::string& file, const judge::DividedJudge& judge,
                const judge::Summary& summary) {
        const PacketLines lines = packet_lines(file, judge.violations());
        violated_ = violated_ || summary.certain > 0 || (options_.strict && summary.possible > 0);
        const bool several = options_.files.size() > 1;
        if (options_.format == JudgeFormat::Json) {
            for (const judge::Violation& violation : judge.violations()) {
                append_json(out_.text(), violation, lines, several ? file : std::string_view{},
                            first_);
                first_ = false;
            }
            return;
        }
        if (several) out_.text() += "==> " + wire::safe_text(file) + " <==\n";
        for (const judge::Violation& violation : judge.violations())
            append_text(out_.text(), violation, lines);
        if (options_.quiet) return;
        const std::uint64_t found = summary.certain + summary.possible + summary.undecidable;
        if (found > judge.violations().size()) {
            out_.text() +=
                fmt::format("and {} more of the same kinds\n", found - judge.violations().size());
        }
        append_summary(out_.text(), summary);
    }

    enum class Ended : std::uint8_t {
        Whole,
        Early, // the file could not be read to its end
        Again, // it must be read by one judge
    };
    Ended read(const std::string& file, judge::DividedJudge& judge, std::size_t shares) {
        auto reader = capture::Reader::open(file, &StopOnSignal::flag());
        if (StopOnSignal::requested()) return Ended::Early;
        if (!reader) {
            complain(capture::text_of(reader.error(), file));
            return Ended::Early;
        }
        capture::DecodedFrames frames(
            std::move(*reader),
            {.decode = {},
             .threads = options_.threads,
             .prepare = [&](std::size_t place, auto some) { judge.prepare(place, some); },
             .shares = shares,
             .observe = [&](std::size_t share, std::size_t place,
                            auto some) { judge.observe(share, place, some); }});
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            judge.merge(frames.place());
            if (StopOnSignal::requested()) frames.stop();
            if (!judge.exact()) return Ended::Again;
        }
        if (StopOnSignal::requested()) return Ended::Early;
        if (frames.errors().empty()) return Ended::Whole;
        complain(capture::text_of(frames.errors().front().second, file));
        return Ended::Early;
    }

    void complain(const std::string& message) {
        out_.flush(); // violations found so far come before the complaint
        say(err_, message);
        failed_ = true;
    }

    const JudgeOptions& options_;
    judge::Assumptions assumptions_;
    print::Output out_;
    std::FILE* err_;
    bool first_ = true;
    bool violated_ = false;
    bool failed_ = false;
};

// What is wrong with the options; empty if nothing is.
std::string fill_assumptions(const JudgeOptions& options, judge::Assumptions& assumptions) {
    if (options.files.empty()) return "no capture file; give a file name, or - for standard input";
    assumptions.complete = options.complete;
    assumptions.ordered = options.ordered;
    for (const std::string& text : options.recorded_at) {
        const auto address = wire::IpAddress::parse(text);
        if (!address) {
            return fmt::format("--recorded-at: expected an IP address, got '{}'", text);
        }
        assumptions.recorded_at.push_back(*address);
    }
    assumptions.longest_silence = kLongestSilence;
    if (options.patience_ms) {
        const std::chrono::duration<double, std::milli> patience(*options.patience_ms);
        assumptions.patience = std::chrono::duration_cast<wire::Duration>(patience);
    }
    if (options.connections.empty()) return {};
    const auto text = read_text(options.connections);
    if (!text) return text.error();
    auto connections = parse_connections(*text);
    if (!connections) {
        return fmt::format("{}:{}: {}", options.connections, connections.error().line,
                           connections.error().message);
    }
    assumptions.connections = std::move(*connections);
    return {};
}

} // namespace

void add_judge(Command program) {
    auto command = program.add_command("judge", "Report the rules that devices in captures break");
    const auto options = std::make_shared<JudgeOptions>();
    command.option("FILE", options->files, "pcap or pcapng files; - is standard input",
                   {.required = true});
    command.choice("--format", options->format,
                   {{"text", JudgeFormat::Text}, {"json", JudgeFormat::Json}}, "Output format");
    command.flag("--complete", options->complete,
                 "The capture lost no packets: a packet that is missing was not sent");
    command.flag("--ordered", options->ordered,
                 "No packet was reordered or duplicated on its way to the capture");
    command.option("--recorded-at", options->recorded_at,
                   "Address of a device at whose own port the capture was taken; repeat it",
                   {.value = "ADDRESS"});
    command.number("--patience", options->patience_ms, {0.001, 1e6},
                   "Milliseconds within which a device must answer; certain only at a "
                   "--recorded-at address. Default: 1000 for missing answers, none for late ones",
                   {.value = "MS"});
    command.option("--connections", options->connections,
                   "A file of known connections: ADDRESS QP ADDRESS QP [mtu=N] [psn=N,N] [open]...",
                   {.value = "FILE"});
    command.number("--threads", options->threads, {1, capture::kMostThreads},
                   capture::kThreadsText);
    command.flag("--strict", options->strict, "Exit code 1 also for a possible violation");
    command.flag("-q,--quiet", options->quiet, "Omit the summary line");
    command.on_run([options] { return run_judge(*options, stdout, stderr); });
}

int run_judge(const JudgeOptions& options, std::FILE* out, std::FILE* err) {
    judge::Assumptions assumptions;
    if (const std::string wrong = fill_assumptions(options, assumptions); !wrong.empty()) {
        say(err, "judge: " + wrong);
        return kExitUsage;
    }
    return JudgeSession(options, std::move(assumptions), out, err).run();
}

} // namespace veriroce::commands
