#include "conformance/commands/judge.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "conformance/commands/judge_connections.hpp"
#include "conformance/commands/judge_lines.hpp"
#include "conformance/commands/judge_report.hpp"
#include "conformance/commands/text_file.hpp"
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

using PacketsByPlace =
    std::vector<std::array<flow::FramePacket, capture::DecodedFrames::kMostTogether>>;

class Session {
  public:
    Session(const JudgeOptions& options, judge::Assumptions assumptions, std::FILE* out,
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
        judge::Judge judge(assumptions_);
        const bool to_its_end = read(file, judge);
        judge.finish();
        const judge::Summary summary = judge.summary();
        report(file, judge, summary);
        // What was not looked at must not pass for clean.
        if (to_its_end && summary.judged() == 0) complain(file + ": " + why_nothing(summary));
    }

    void report(const std::string& file, const judge::Judge& judge, const judge::Summary& summary) {
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

    // False if the file could not be read to its end.
    bool read(const std::string& file, judge::Judge& judge) {
        auto reader = capture::Reader::open(file, &StopOnSignal::flag());
        if (StopOnSignal::requested()) return false;
        if (!reader) {
            complain(capture::text_of(reader.error(), file));
            return false;
        }
        PacketsByPlace packets(capture::DecodedFrames::places(options_.threads));
        const auto prepare = [&](std::size_t place, std::span<const decode::Dissection> some) {
            flow::read_packets(some, packets[place]);
        };
        capture::DecodedFrames frames(
            std::move(*reader), {.decode = {}, .threads = options_.threads, .prepare = prepare});
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            judge.observe(some, packets[frames.place()]);
            if (StopOnSignal::requested()) return false;
        }
        if (frames.errors().empty()) return true;
        if (!StopOnSignal::requested()) {
            complain(capture::text_of(frames.errors().front().second, file));
        }
        return false;
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
                   "Milliseconds within which a device must answer: certain only where its own "
                   "port was recorded. Without it, 1000 for what is never answered",
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
    return Session(options, std::move(assumptions), out, err).run();
}

} // namespace veriroce::commands
