#include "conformance/commands/inject.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "conformance/script/script.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/command_line/refusal.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/wire/duration_text.hpp"
#include "reports/injection_html.hpp"
#include "transport/inject/excerpts.hpp"
#include "transport/inject/plans.hpp"
#include "transport/inject/recorder.hpp"
#include "transport/inject/report.hpp"
#include "transport/inject/sweep.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;
using fault::End;

constexpr std::uint16_t kEthernet = 1;                           // LINKTYPE_ETHERNET
constexpr wire::Duration kTurn = std::chrono::milliseconds(200); // a signal is heard so soon
constexpr wire::Duration kRedraw = std::chrono::seconds(1);
constexpr std::size_t kTableLines = 12;

Accepted<script::InjectionPlan> read_plan(const std::string& path) {
    const auto library = inject::library_plan(path);
    const bool file = std::filesystem::exists(path);
    if (!file && !library) {
        return unable(fmt::format("there is no file and no plan {}; 'veriroce inject "
                                  "--list-plans' shows the plans",
                                  wire::safe_text(path)));
    }
    const auto text = file ? read_text(path) : std::string(library->text);
    if (!text) return unable(text.error());
    auto plan = script::load_injection(path, *text);
    if (!plan) return misused(plan.error().front().text(path));
    if (plan->rules.empty()) return misused(path + ": the fault plan has no rules");
    if (const auto checked = fault::check(plan->rules); !checked) {
        return misused(path + ": " + checked.error());
    }
    return std::move(*plan);
}

// The library: all plans, or one with its page.
int list_plans(const std::string& name, std::FILE* out, std::FILE* err) {
    if (name.empty()) {
        for (const inject::LibraryPlan& plan : inject::library_plans())
            fmt::print(out, "{:<22}{}\n", plan.name, plan.summary);
        return kExitSuccess;
    }
    const auto plan = inject::library_plan(name);
    if (!plan) {
        return tell(err, {kExitUsage, fmt::format("there is no plan {}; 'veriroce inject "
                                                  "--list-plans' shows all",
                                                  wire::safe_text(name))});
    }
    fmt::print(out, "{}\n\n{}\n\n{}", plan->name, plan->page, plan->text);
    return kExitSuccess;
}

// From which port a captured frame would have come. A capture of `inject` itself says it. In others
// the first sender is behind A, and its peers are behind B.
class Sides {
  public:
    std::optional<End> of(const capture::Record& record) {
        const capture::Direction direction = capture::direction_of(record);
        if (record.interface > 0) several_ = true;
        if (several_ && direction == capture::Direction::Outbound) return std::nullopt;
        if (several_) return record.interface == 0 ? End::A : End::B;
        const auto frame = wire::decode_frame(record.bytes);
        if (!frame) return End::A;
        const wire::Envelope envelope = frame->envelope();
        if (const auto* known = find(envelope.source)) return known->end;
        const auto* peer = find(envelope.destination);
        const End end = peer == nullptr || peer->end == End::B ? End::A : End::B;
        hosts_.push_back({envelope.source, end});
        if (peer == nullptr) hosts_.push_back({envelope.destination, inject::other(end)});
        return end;
    }
    // Whether the file names two interfaces, so that it knows the ports itself.
    void tell_interfaces(std::size_t count) { several_ = several_ || count > 1; }

  private:
    struct Host {
        wire::IpAddress address;
        End end = End::A;
    };
    [[nodiscard]] const Host* find(const wire::IpAddress& address) const {
        const auto host = std::ranges::find(hosts_, address, &Host::address);
        return host == hosts_.end() ? nullptr : &*host;
    }
    std::vector<Host> hosts_;
    bool several_ = false;
};

void print_match(const inject::Handled& handled, std::span<const fault::Rule> rules,
                 std::uint64_t number, End from, wire::Duration at, std::FILE* out) {
    for (const std::size_t rule : handled.rules) {
        if (handled.pfc) {
            fmt::print(out, "{:>6}  {:>12}  {}  PFC: line {}: {}\n", number, wire::short_time(at),
                       from == End::A ? "A" : "B", rules[rule].line,
                       wire::safe_text(rules[rule].text));
            continue;
        }
        fmt::print(
            out, "{:>6}  {:>12}  {}  connection {} {} PSN {}, transmission {}: line {}: {}\n",
            number, wire::short_time(at), from == End::A ? "A" : "B", handled.place.connection,
            wire::opcode_info(handled.place.opcode).name, handled.place.psn, handled.pass,
            rules[rule].line, wire::safe_text(rules[rule].text));
    }
}

// What the plan would do to the frames of a capture. The devices' reactions are those of the
// capture, so that only what each rule matches means something.
int dry_run(const InjectOptions& options, const script::InjectionPlan& plan, std::FILE* out,
            std::FILE* err) {
    auto reader = capture::Reader::open(options.dry_run);
    if (!reader) return tell(err, {kExitUnable, text_of(reader.error(), options.dry_run)});
    inject::Bump bump(options.seed, plan.rules);
    Sides sides;
    std::vector<inject::Leaving> leaving;
    std::optional<std::int64_t> began;
    capture::Record record;
    for (std::uint64_t number = 1;; ++number) {
        const auto more = reader->next(record);
        if (!more) return tell(err, {kExitUnable, text_of(more.error(), options.dry_run)});
        if (!*more) break;
        sides.tell_interfaces(reader->interfaces().size());
        if (record.link_code != kEthernet) {
            return tell(err, {kExitUnable, fmt::format("{}: packet {} is not an Ethernet frame",
                                                       options.dry_run, number)});
        }
        const auto from = sides.of(record);
        if (!from) continue;
        if (!began) began = record.time_ns.value_or(0);
        const wire::Duration at(record.time_ns.value_or(*began) - *began);
        bump.advance(wire::Instant(at), leaving);
        const auto handled = bump.handle(*from, record.bytes, wire::Instant(at), leaving);
        print_match(handled, bump.injector().rules(), number, *from, at, out);
        leaving.clear();
        bump.sent();
    }
    std::uint64_t fired = 0;
    for (std::size_t i = 0; i < plan.rules.size(); ++i) {
        const fault::Fired& one = bump.injector().fired(i);
        fired += one.fired;
        fmt::print(out, "line {}: {}: would fire {} times, selected {}\n", plan.rules[i].line,
                   wire::safe_text(plan.rules[i].text), one.fired, one.selected);
    }
    return fired > 0 ? kExitSuccess : kExitFound;
}

// The files of --report, as they grow.
struct Reporting : inject::Observer {
    Reporting(inject::Recorder made, const inject::Bump& bump)
        : recorder(std::move(made)), excerpts(bump) {}
    void came(End port, wire::Bytes frame, const inject::Handled& handled,
              wire::Instant at) override {
        recorder.came(port, frame, handled, at);
        excerpts.came(port, frame, handled, at);
    }
    void went(End port, wire::Bytes frame, bool changed, wire::Instant at) override {
        recorder.went(port, frame, changed, at);
        excerpts.went(port, frame, changed, at);
    }
    inject::Recorder recorder;
    inject::Excerpts excerpts;
};

class Session {
  public:
    Session(const InjectOptions& options, const script::InjectionPlan& plan,
            std::optional<inject::Sweep> sweep, std::FILE* out)
        : options_(options), plan_(plan), sweep_(std::move(sweep)), out_(out),
          bump_(options.seed, sweep_ ? sweep_->rules() : plan.rules),
          shows_(!options.quiet && ::isatty(::fileno(out)) == 1) {
        for (const inject::RedOptions& one : options.red)
            bump_.add_red(one);
        if (options.storm) bump_.set_storm(*options.storm);
    }

    Accepted<int> play() {
        if (auto ready = prepare_report(); !ready) return std::unexpected(ready.error());
        inject::LineOptions with = options_.line;
        if (options_.in_kernel) {
            with.in_kernel = inject::kernel_rules(bump_.injector().rules(), options_.seed);
        }
        with.takes_pfc = bump_.follows_pfc();
        auto line = inject::InLine::open(options_.a, options_.b, with);
        if (!line) return unable(line.error().text);
        path_ = line->path();
        bump_.set_link_speed(line->bits_per_second());
        fmt::print(out_, "{} (A) and {} (B): {}\n", options_.a, options_.b, path_);
        if (sweep_) {
            fmt::print(out_, "sweep {}: {} steps of {} s from the first packet on, seed {}\n",
                       options_.sweep, sweep_->steps().size(), options_.step_seconds,
                       options_.seed);
        } else if (options_.plan.empty()) {
            fmt::print(out_, "no plan, seed {}\n", options_.seed);
        } else {
            fmt::print(out_, "plan {}: {} rule{}, seed {}\n", wire::safe_text(options_.plan),
                       plan_.rules.size(), plan_.rules.size() == 1 ? "" : "s", options_.seed);
        }
        tell_kernel_rules(with.in_kernel);
        for (const std::string& note : line->notes())
            fmt::print(out_, "{}\n", note);
        std::fflush(out_);
        const auto ran = loop(*line);
        const auto closed = line->close();
        const auto finished = finish(*line);
        if (!ran) return std::unexpected(ran.error());
        if (!closed) return unable(closed.error().text);
        return finished;
    }

  private:
    Accepted<void> prepare_report() {
        if (options_.report.empty()) return {};
        std::error_code code;
        std::filesystem::create_directories(options_.report, code);
        if (code) return unable(options_.report + ": " + code.message());
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        auto recorder = inject::Recorder::create(options_.report + "/inject.pcapng", options_.a,
                                                 options_.b, bump_.injector().rules(),
                                                 now - net::monotonic_now().time_since_epoch());
        if (!recorder) return unable(recorder.error());
        reporting_.emplace(std::move(*recorder), bump_);
        return {};
    }

    void tell_kernel_rules(const inject::KernelRules& kernel) {
        if (!options_.in_kernel) return;
        std::string lines;
        for (const std::size_t place : kernel.places)
            lines += fmt::format(" {}", bump_.injector().rules()[place].line);
        fmt::print(out_, "{}\n",
                   lines.empty() ? "the kernel can decide no rule of this plan"
                                 : fmt::format("the kernel decides the rules of the lines{}; "
                                               "packets of theirs are neither measured nor "
                                               "recorded",
                                               lines));
    }

    Accepted<void> loop(inject::InLine& line) {
        began_ = net::monotonic_now();
        const wire::Instant end =
            options_.seconds ? began_ + std::chrono::duration_cast<wire::Duration>(
                                            std::chrono::duration<double>(*options_.seconds))
                             : net::kNever;
        wire::Instant redraw = began_ + kRedraw;
        while (!StopOnSignal::requested()) {
            const wire::Instant now = net::monotonic_now();
            if (sweep_) sweep_->observe(bump_, now);
            if (now >= end || (sweep_ && sweep_->ended())) break;
            if (shows_ && now >= redraw) {
                draw(now);
                redraw = now + kRedraw;
            }
            wire::Instant until = std::min(end, now + kTurn);
            if (const auto slot = sweep_ ? sweep_->next() : std::nullopt) {
                until = std::min(until, *slot);
            }
            const auto moved = line.step(bump_, until, reporting_ ? &*reporting_ : nullptr);
            if (!moved) return unable(moved.error().text);
        }
        elapsed_ = net::monotonic_now() - began_;
        return {};
    }

    // Over the table that was drawn before.
    void draw(wire::Instant now) {
        const std::string table = inject::connection_table(bump_, now - began_, kTableLines);
        if (drawn_lines_ > 0) fmt::print(out_, "\x1b[{}A\x1b[J", drawn_lines_);
        fmt::print(out_, "{}", table);
        std::fflush(out_);
        drawn_lines_ = std::ranges::count(table, '\n');
    }

    Accepted<int> finish(inject::InLine& line) {
        if (drawn_lines_ > 0) fmt::print(out_, "\x1b[{}A\x1b[J", drawn_lines_);
        line.collect(bump_);
        auto verdicts = inject::judge(bump_, plan_.expectations);
        if (sweep_) verdicts.push_back(swept());
        if (reporting_) reporting_->excerpts.finish();
        const inject::Result result{.bump = bump_,
                                    .verdicts = verdicts,
                                    .path = path_,
                                    .plan = options_.plan,
                                    .seed = options_.seed,
                                    .began = began_,
                                    .elapsed = elapsed_,
                                    .a = line.counts(End::A),
                                    .b = line.counts(End::B),
                                    .sweep = measured(),
                                    .excerpts = excerpts(),
                                    .a_name = options_.a,
                                    .b_name = options_.b};
        fmt::print(out_, "{}", inject::text_of(result));
        if (auto written = write_report(result); !written) return std::unexpected(written.error());
        return std::ranges::all_of(verdicts, &inject::Verdict::met) ? kExitSuccess : kExitFound;
    }

    Accepted<void> write_report(const inject::Result& result) {
        if (!reporting_) return {};
        inject::Recorder& recorder = reporting_->recorder;
        if (recorder.full()) {
            fmt::print(out_, "inject.pcapng is as large as allowed and ends early\n");
        }
        if (const auto done = recorder.finish(); !done) return unable(done.error());
        const auto json = write_text(options_.report + "/inject.json", inject::json_of(result));
        if (!json) return unable(json.error());
        const auto page =
            write_text(options_.report + "/inject.html", reports::injection_html(result));
        if (!page) return unable(page.error());
        return {};
    }

    // The steps that have begun.
    [[nodiscard]] std::span<const inject::SweepStep> measured() const {
        if (!sweep_) return {};
        return std::span(sweep_->steps()).first(sweep_->begun());
    }
    [[nodiscard]] std::span<const inject::Excerpt> excerpts() const {
        if (!reporting_) return {};
        return reporting_->excerpts.all();
    }
    // A sweep says something only if there was traffic without loss, and all of its steps were
    // played.
    [[nodiscard]] inject::Verdict swept() const {
        inject::Verdict verdict{.text = "the sweep is whole, and has traffic without loss"};
        const inject::SweepStep& first = sweep_->steps().front();
        verdict.met = sweep_->ended() && first.bytes > 0;
        verdict.why = fmt::format("{} of {} steps, {} bytes delivered without loss",
                                  sweep_->ended() ? sweep_->steps().size()
                                                  : std::max<std::size_t>(sweep_->begun(), 1) - 1,
                                  sweep_->steps().size(), first.bytes);
        return verdict;
    }

    const InjectOptions& options_;
    const script::InjectionPlan& plan_;
    std::optional<inject::Sweep> sweep_;
    std::FILE* out_;
    inject::Bump bump_;
    std::optional<Reporting> reporting_;
    std::string path_;
    wire::Instant began_;
    wire::Duration elapsed_{0};
    bool shows_ = false;
    std::ptrdiff_t drawn_lines_ = 0;
};

} // namespace

void add_inject(Command program) {
    auto command = program.add_command(
        "inject", "Join two interfaces as a bump in the wire that injects faults into RoCEv2");
    const auto options = std::make_shared<InjectOptions>();
    command.option("IF_A", options->a, "The interface towards side A of the plan");
    command.option("IF_B", options->b, "The interface towards side B");
    command.option("--plan", options->plan,
                   "The fault plan: a file (*.faults), or the name of one of the library",
                   {.value = "FILE"});
    command.flag("--list-plans", options->lists_plans,
                 "List the plans of the library, or show the one that is named, with its page");
    command.option("--sweep", options->sweep,
                   "Instead of a plan: measure goodput without loss and at rates of loss",
                   {.value = "loss=LOW%..HIGH%"});
    command.number("--steps", options->steps, {.least = 1, .most = 50},
                   "Loss rates of the sweep, spaced by a constant factor",
                   {.value = "N", .shows_default = true});
    command.number("--step-time", options->step_seconds, {.least = 0.1, .most = 3600},
                   "How long each step of the sweep lasts",
                   {.value = "SECONDS", .shows_default = true});
    command.number("--seed", options->seed, {}, "The seed of the plan's random choices",
                   {.value = "N", .shows_default = true});
    command.number("--duration", options->seconds, {.least = 0.001, .most = 1e6},
                   "End after this many seconds; without it, only a signal ends the run",
                   {.value = "SECONDS"});
    command.option("--report", options->report,
                   "Write inject.html, inject.json and inject.pcapng into this folder",
                   {.value = "DIR"});
    command.option("--dry-run", options->dry_run,
                   "Only show which packets of a capture the plan would change",
                   {.value = "CAPTURE"});
    command.choice("--path", options->line.path,
                   {{"auto", inject::DataPath::Automatic},
                    {"native", inject::DataPath::Native},
                    {"generic", inject::DataPath::Generic},
                    {"packet", inject::DataPath::Packet}},
                   "How frames move: XDP in native or generic mode, or AF_PACKET");
    command.choice("--if-killed", options->line.forward_when_killed,
                   {{"block", false}, {"forward", true}},
                   "What happens to traffic if this process is killed or hangs");
    command.option("--red",
                   [options](const std::string& word) -> std::expected<void, std::string> {
                       const auto red = inject::parse_red(word);
                       if (!red) return std::unexpected(red.error());
                       options->red.push_back(*red);
                       return {};
                   },
                   "Mark packets CE as a congested switch does, by the length of a virtual queue",
                   {.value = "from=a,rate=10Gbit,min=32KiB,max=256KiB,p=0.2", .repeated = true});
    command.option("--storm",
                   [options](const std::string& word) -> std::expected<void, std::string> {
                       const auto storm = inject::parse_storm(word);
                       if (!storm) return std::unexpected(storm.error());
                       options->storm = *storm;
                       return {};
                   },
                   "Send PFC frames to a side, for a time that ends by itself",
                   {.value = "to=a,class=3,quanta=65535,every=1ms,after=1s,for=5s"});
    command.flag("--in-kernel", options->in_kernel,
                 "Decide rules in the kernel where it can: faster, but without measuring");
    command.flag("-q,--quiet", options->quiet, "No table while it runs");
    command.on_run([options] { return run_inject(*options, stdout, stderr); });
}

int run_inject(const InjectOptions& options, std::FILE* out, std::FILE* err) {
    if (options.lists_plans) return list_plans(options.a, out, err); // the word after it
    const bool congests = !options.red.empty() || options.storm.has_value();
    const bool both = !options.plan.empty() && !options.sweep.empty();
    if (both || (options.plan.empty() && options.sweep.empty() && !congests)) {
        return tell(err, {kExitUsage, "inject needs one of --plan FILE and --sweep "
                                      "loss=LOW%..HIGH%, or --red or --storm"});
    }
    script::InjectionPlan plan;
    std::optional<inject::Sweep> sweep;
    if (!options.plan.empty()) {
        auto read = read_plan(options.plan);
        if (!read) return tell(err, read.error());
        plan = std::move(*read);
    } else if (!options.sweep.empty()) {
        const auto range = inject::parse_sweep(options.sweep);
        if (!range) {
            return tell(err,
                        {kExitUsage, fmt::format("--sweep {}: {}", wire::safe_text(options.sweep),
                                                 range.error())});
        }
        sweep.emplace(
            inject::SweepOptions{.range = *range,
                                 .steps = options.steps,
                                 .step_time = std::chrono::duration_cast<wire::Duration>(
                                     std::chrono::duration<double>(options.step_seconds))});
    }
    if (options.in_kernel && (congests || options.plan.empty())) {
        return tell(err, {kExitUsage, "--in-kernel needs a plan, and no --red, --storm or --sweep: "
                                      "the process must see their packets"});
    }
    if (options.in_kernel && !plan.expectations.empty()) {
        return tell(err, {kExitUsage, "--in-kernel measures nothing, and the plan has expect "
                                      "lines"});
    }
    if (!options.dry_run.empty() && options.plan.empty()) {
        return tell(err, {kExitUsage, "--dry-run shows a plan; a sweep needs two interfaces"});
    }
    if (!options.dry_run.empty()) return dry_run(options, plan, out, err);
    if (options.a.empty() || options.b.empty()) {
        return tell(err, {kExitUsage, "inject needs two interfaces, or --dry-run CAPTURE"});
    }
    const StopOnSignal stop;
    const auto played = Session(options, plan, std::move(sweep), out).play();
    return played ? *played : tell(err, played.error());
}

} // namespace veriroce::commands
