#include "dissector/dissect/session.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dissector/capture/facts.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/print/hex_dump.hpp"
#include "dissector/print/json.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/tree.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::dissect {

void say(std::FILE* err, std::string_view message) {
    // A message may quote the name of a file: nothing in it steers the terminal.
    fmt::print(err, "veriroce: {}\n", wire::safe_text(message, true));
}

namespace {

// Of the terminal, or as the environment says.
std::size_t columns_of(std::FILE* out) {
    constexpr std::size_t kUsual = 100;
    constexpr std::size_t kMost = 1000;
    winsize size{};
    if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* const text = std::getenv("COLUMNS");
    if (text == nullptr) return kUsual;
    std::size_t columns = 0;
    const auto [stop, error] = std::from_chars(text, text + std::strlen(text), columns);
    return error == std::errc{} && *stop == 0 && columns > 0 ? std::min(columns, kMost) : kUsual;
}

// As many frames as stay in the nearest cache (32 KiB) with what decodes them.
constexpr std::size_t kTogether = 8;

} // namespace

Session::Session(const Options& options, Compiled compiled, std::FILE* out, std::FILE* err)
    : options_(options), compiled_(std::move(compiled)), out_(out), err_(err),
      to_terminal_(::isatty(::fileno(out)) == 1), at_once_(to_terminal_ || options.line_buffered),
      progress_(err, out), upper_(std::move(compiled_.decode_as)), time_(options.time_form),
      ladder_(columns_of(out)) {
    names_file_ = options.files.size() > 1 &&
                  std::ranges::find(options.fields, "roce.file") == options.fields.end();
    follows_ = needs_flow();
    decode_.verify_icrc = needs_icrc();
    tells_comments_ = needs_comments();
    decode_.also_roce_ports = options.roce_ports;
}

int Session::run() {
    const command_line::StopOnSignal stop; // from here on a signal leaves complete output behind
    if (!start_writing()) return command_line::kExitUnable;
    begin();
    if (!options_.interface.empty()) {
        read_live();
    } else {
        for (const std::string& file : options_.files) {
            if (!read_file(file)) break;
        }
    }
    progress_.clear();
    finish_writing();
    end();
    out_.flush();
    if (compiled_.filter.patterns_given_up() > 0) {
        report_error(
            fmt::format("dissect: -Y: a regular expression exceeded its limits {} times and was "
                        "treated as no match",
                        compiled_.filter.patterns_given_up()));
    }
    if (upper_.forgotten() > 0) {
        report_error(
            fmt::format("dissect: more than {} connection ends: {} were evicted, and their "
                        "upper-layer protocols were not decoded any more",
                        flow::UpperConnections::kMaxEnds, upper_.forgotten()));
    }
    if (out_.error() == EPIPE) return command_line::kExitSuccess;
    if (out_.error() != 0) {
        report_error(fmt::format("writing failed: {}", std::strerror(out_.error())));
        return command_line::kExitUnable; // the findings did not reach the user
    }
    return exit_code();
}

int Session::exit_code() {
    if (interrupted()) {
        warn(fmt::format("dissect: interrupted after {} packets", read_));
        return command_line::kExitInterrupted;
    }
    if (options_.check && packets_with_findings_ > 0) return command_line::kExitFound;
    return failed_ ? command_line::kExitUnable : command_line::kExitSuccess;
}

// A signal is how a live capture ends, but it cuts a file or a pipe short.
bool Session::interrupted() const {
    return options_.interface.empty() && command_line::StopOnSignal::requested();
}

// Verifying ICRCs costs about as much as everything else, so do it only if the output shows the
// result.
bool Session::needs_icrc() const {
    if (options_.verify_icrc || options_.check || options_.stats) return true;
    if (options_.format == Format::Text || compiled_.filter.needs_icrc()) return true;
    for (const print::Column& column : compiled_.columns) {
        if (column.needs_icrc()) return true;
    }
    return false;
}

// Following connections costs about as much as printing a line, so do it only if the output shows
// what it finds.
bool Session::needs_flow() const {
    if (options_.no_flow) return false;
    if (compiled_.filter.needs_flow() || compiled_.followed) return true;
    if (!prints_packets()) return false;
    return options_.format == Format::Text ||
           std::ranges::any_of(compiled_.columns, &print::Column::needs_flow);
}

// Reading comments costs a little for every packet of a pcapng file.
bool Session::needs_comments() const {
    constexpr std::string_view kField = "frame.comment";
    return options_.format == Format::Text || compiled_.filter.names(kField) ||
           std::ranges::find(compiled_.columns, kField, &print::Column::name) !=
               compiled_.columns.end();
}

bool Session::enough() const {
    if (options_.max_packets && read_ >= *options_.max_packets) return true;
    if (!compiled_.autostop) return false;
    const FileLimits& limits = *compiled_.autostop;
    if (limits.files && rewriter_ && rewriter_->files() > *limits.files) return true;
    return limits.reached(began_, rewriter_ ? rewriter_->bytes() : 0, read_);
}

bool Session::prints_packets() const {
    return !options_.stats && (options_.write.empty() || options_.check || options_.print_too);
}

void Session::begin() {
    if (!prints_packets()) return;
    if (options_.format == Format::Json) print::append_json_begin(out_.text());
    if (options_.format == Format::Fields) {
        print::append_fields_header(out_.text(), compiled_.columns, options_.field_style);
    }
    if (options_.format == Format::Csv) print::append_csv_header(out_.text(), compiled_.columns);
}

void Session::end() {
    if (options_.stats) return statistics_.append(out_.text());
    if (!prints_packets()) return;
    if (options_.format == Format::Json) print::append_json_end(out_.text());
    if (options_.check && options_.format == Format::Text && !options_.quiet) {
        fmt::format_to(std::back_inserter(out_.text()),
                       "{} frames, {} RoCE packets, {} with errors or warnings\n", packets_,
                       roce_packets_, packets_with_findings_);
        not_followed_.append(out_.text());
    }
}

bool Session::start_writing() {
    if (options_.write.empty()) return true;
    auto rewriter =
        Rewriter::create(options_.write, options_.snap_length.value_or(0), compiled_.ring);
    if (rewriter) {
        rewriter_.emplace(std::move(*rewriter));
        return true;
    }
    report_error(capture::text_of(rewriter.error().error, rewriter.error().file));
    return false;
}

void Session::finish_writing() {
    if (!rewriter_ || output_closed_) return;
    const auto done = rewriter_->finish();
    if (!done && done.error().error.system != EPIPE) {
        report_error(capture::text_of(done.error().error, done.error().file));
    }
}

// Standard input and interfaces cannot be read twice.
bool Session::find_followed(const std::string& file) {
    Followed& followed = *compiled_.followed;
    followed.begin_file();
    learns_ = file == "-" || !std::filesystem::is_regular_file(file);
    if (learns_) return true;
    auto reader = capture::Reader::open(file, &command_line::StopOnSignal::flag());
    if (!reader) return true; // reading it again says why
    begin_input(file);
    flow::Follower follower;
    capture::DecodedFrames frames = decoded(std::move(*reader));
    for (auto some = frames.next(); !some.empty() && !interrupted(); some = frames.next()) {
        for (std::size_t i = 0; i < some.size(); ++i) {
            if (!frames.selected(i)) continue;
            record_ = &frames.record(i);
            dissection_ = &some[i];
            fill_facts(frames.interfaces(i));
            follower.follow(some[i]);
            if (const flow::Connection* one = follower.connection()) followed.learn(*one);
        }
    }
    if (interrupted()) return false;
    const std::vector<std::string> ends = followed.candidates();
    if (!ends.empty()) {
        report_error(fmt::format("{}: --follow {}: expected one QP, got {}; write ADDRESS:QP", file,
                                 options_.follow, fmt::join(ends, ", ")));
        return false;
    }
    if (!followed.found()) {
        report_error(
            fmt::format("{}: --follow {}: no packet of such a connection", file, options_.follow));
    }
    return followed.found();
}

bool Session::read_file(const std::string& file) {
    if (compiled_.followed && !find_followed(file)) return !interrupted();
    auto reader = capture::Reader::open(file, &command_line::StopOnSignal::flag());
    if (interrupted()) return false;
    if (!reader) {
        report_error(capture::text_of(reader.error(), file));
        return true;
    }
    if (options_.files.size() > 1) name_file(file);
    capture::DecodedFrames frames = decoded(std::move(*reader));
    const bool more = read_frames(frames, file);
    report_unfiltered(file);
    report_unsupported(file);
    report_evicted(file);
    return more;
}

void Session::read_live() {
    learns_ = true;
    const capture::LiveOptions defaults;
    auto live =
        capture::Live::open({.interface = options_.interface,
                             .filter = options_.capture_filter,
                             .snap_length = options_.snap_length.value_or(defaults.snap_length),
                             .buffer_mib = options_.buffer_mib.value_or(defaults.buffer_mib),
                             .promiscuous = !options_.not_promiscuous,
                             .immediate = at_once_,
                             .stop = &command_line::StopOnSignal::flag()});
    if (!live) return report_error(live.error());
    if (!options_.quiet) {
        fmt::print(err_, "Capturing on {}; press Ctrl-C to stop\n", options_.interface);
        std::fflush(err_);
    }
    read_packets(*live);
    report_unsupported(options_.interface);
    report_evicted(options_.interface);
    out_.flush();
    const capture::Live::Counts counts = live->counts();
    if (options_.quiet && counts.dropped + counts.interface_dropped == 0) return;
    fmt::print(err_,
               "{} packets captured, {} dropped by the kernel (buffer full), {} dropped by the "
               "interface\n",
               counts.received, counts.dropped, counts.interface_dropped);
}

void Session::begin_input(const std::string& name) {
    input_name_ = name;
    number_ = 0;
    first_time_ns_.reset();
    last_time_ns_.reset();
    unsupported_.clear();
    if (compiled_.capture_filter) compiled_.capture_filter->begin_file();
    if (follows_) follower_ = std::make_unique<flow::Follower>();
    time_.begin_file();
    if (rewriter_) rewriter_->begin_file();
}

capture::DecodedFrames Session::decoded(capture::Reader reader) {
    std::function<bool(capture::Record&)> select;
    if (compiled_.capture_filter || options_.snap_length) {
        select = [this](capture::Record& record) {
            if (compiled_.capture_filter && !compiled_.capture_filter->matches(record)) {
                return false;
            }
            if (options_.snap_length) cut(record);
            return true;
        };
    }
    capture::DecodedFrames::Options options{.decode = decode_,
                                            .threads = options_.threads,
                                            .together = kTogether,
                                            .select = std::move(select)};
    if (counts_batches()) {
        counted_.resize(capture::DecodedFrames::places(options_.threads));
        options.prepare = [this](std::size_t place, std::span<const decode::Dissection> frames) {
            counted_[place].take(frames);
        };
    }
    return {std::move(reader), std::move(options)};
}

bool Session::counts_batches() const {
    const bool chooses = !options_.filter.empty() || compiled_.capture_filter ||
                         compiled_.followed || options_.snap_length;
    // A thread alone has no use for it: its packets are in its cache.
    return options_.stats && !options_.check && !chooses && !follows_ && !rewriter_ &&
           !compiled_.autostop && capture::DecodedFrames::places(options_.threads) > 1;
}

// False if the packets must be counted one by one.
bool Session::count_batch(const capture::DecodedFrames& frames, std::size_t size) {
    if (counted_.empty() || upper_.watching()) return false;
    const CountedBatch& batch = counted_[frames.place()];
    if (!batch.complete) return false;
    if (options_.max_packets && read_ + size > *options_.max_packets) return false;
    read_ += size;
    packets_ += size;
    number_ += size;
    statistics_.add(batch);
    progress_.step(read_, frames);
    return true;
}

bool Session::read_frames(capture::DecodedFrames& frames, const std::string& file) {
    begin_input(file);
    while (!enough() && !interrupted()) {
        // Output is complete before the program waits for the writer of a pipe.
        if (frames.may_wait() && !pass(true)) return false;
        const auto batch = frames.next();
        if (!batch.empty()) {
            if (!read_batch(batch, frames, file)) return false;
            continue;
        }
        if (interrupted()) return false;
        for (const auto& [index, error] : frames.errors())
            report_error(capture::text_of(error, file));
        return true;
    }
    return false;
}

bool Session::read_batch(std::span<decode::Dissection> batch, const capture::DecodedFrames& frames,
                         const std::string& file) {
    if (count_batch(frames, batch.size())) return true;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (i > 0 && (enough() || interrupted())) return false;
        progress_.step(read_, frames);
        const capture::Record& record = frames.record(i);
        if (compiled_.capture_filter) compiled_.capture_filter->note(record);
        if (!frames.selected(i)) continue;
        if (!take(record, batch[i], frames.interfaces(i), file)) return false;
    }
    return true;
}

void Session::read_packets(capture::Live& live) {
    begin_input(options_.interface);
    capture::Record record;
    decode::Dissection dissection;
    while (!enough() && !interrupted()) {
        const auto got = live.next(record);
        if (!got) return report_error(got.error());
        switch (*got) {
        case capture::Live::Got::Packet:
            if (options_.snap_length) cut(record);
            capture::tell(record, 0, dissection.frame); // fill_facts counts
            decode::dissect_frame(decode_, dissection);
            if (!take(record, dissection, live.interfaces(), options_.interface)) return;
            break;
        case capture::Live::Got::Soon: break;
        case capture::Live::Got::Idle:
            if (!pass(true)) return;
            break;
        case capture::Live::Got::Stopped: return;
        }
    }
}

// Reports the link types that the capture filter could not handle: an error if they are the whole
// file, otherwise a warning.
void Session::report_unfiltered(const std::string& file) {
    if (!compiled_.capture_filter) return;
    if (const auto why = compiled_.capture_filter->unusable()) {
        report_error(fmt::format("{}: -f: {}", file, *why));
        return;
    }
    while (const auto link = compiled_.capture_filter->next_unfiltered())
        warn(fmt::format("{}: -f: {}", file, *link));
}

// Frames that were not decoded must not look like frames without findings.
void Session::report_unsupported(const std::string& name) {
    for (const auto& [code, frames] : unsupported_) {
        const std::string message = fmt::format(
            "{}: link type {} is not supported: {} frames were not decoded", name, code, frames);
        if (options_.check) {
            report_error(message);
        } else {
            warn(message);
        }
    }
}

void Session::report_evicted(const std::string& name) {
    if (!follower_ || follower_->evicted() == 0) return;
    warn(fmt::format("{}: more than {} connections: {} of them were forgotten, and their later "
                     "packets are those of new ones",
                     name, flow::Limits{}.connections / 2, follower_->evicted()));
}

bool Session::take(const capture::Record& record, decode::Dissection& dissection,
                   std::span<const capture::Interface> interfaces, const std::string& name) {
    record_ = &record;
    dissection_ = &dissection;
    fill_facts(interfaces);
    if (dissection.not_followed.stop == decode::Stop::LinkType) {
        ++unsupported_[dissection.not_followed.code];
    }
    upper_.apply(dissection);
    if (follower_) follower_->follow(dissection);
    ++read_;
    if (learns_ && compiled_.followed && follower_->connection() != nullptr) {
        compiled_.followed->learn(*follower_->connection());
    }
    if (selected() && compiled_.filter.matches(dissection)) {
        if (rewriter_ && !write(interfaces)) return false;
        packet(name);
    }
    return pass(at_once_);
}

bool Session::selected() const {
    return !compiled_.followed || compiled_.followed->shows(*dissection_);
}

bool Session::write(std::span<const capture::Interface> interfaces) {
    const auto done = rewriter_->write(*record_, interfaces, *dissection_);
    if (done) return true;
    output_closed_ = true; // or the disk is full
    if (done.error().error.system != EPIPE) {
        report_error(capture::text_of(done.error().error, done.error().file));
    }
    return false;
}

// Writes buffered output if there is much of it or if `now` is set. False if output is no longer
// possible.
bool Session::pass(bool now) {
    if (now && rewriter_ && !rewriter_->flush()) return false;
    return now ? out_.flush() : out_.pass();
}

void Session::report_error(std::string_view message) {
    warn(message);
    failed_ = true;
}

void Session::warn(std::string_view message) {
    out_.flush(); // packets appear before the error message
    progress_.clear();
    say(err_, message);
}

void Session::name_file(const std::string& file) {
    if (options_.format == Format::Text && prints_packets()) {
        fmt::format_to(std::back_inserter(out_.text()), "==> {} <==\n", wire::safe_text(file));
    }
}

// As if it had been captured with this snap length. Live capture has done so.
void Session::cut(capture::Record& record) const {
    record.bytes =
        record.bytes.first(std::min<std::size_t>(record.bytes.size(), *options_.snap_length));
}

// What depends on the packets before it, or on the input.
void Session::fill_facts(std::span<const capture::Interface> interfaces) {
    decode::FrameFacts& frame = dissection_->frame;
    frame.number = ++number_;
    if (!first_time_ns_) first_time_ns_ = frame.time_ns;
    frame.first_time_ns = first_time_ns_;
    frame.last_time_ns = std::exchange(last_time_ns_, frame.time_ns);
    frame.file = input_name_;
    const capture::Interface& interface = interfaces[record_->interface];
    if (interface.section != 0) fill_interface(interface);
}

// Fields that only pcapng files have.
void Session::fill_interface(const capture::Interface& interface) {
    decode::FrameFacts& frame = dissection_->frame;
    frame.interface = interface.number;
    frame.section = interface.section;
    frame.interface_name = interface.name;
    if (!tells_comments_) return;
    comments_.clear();
    if (!record_->options.empty()) comments_ = capture::comments_of(*record_);
    frame.comments = comments_;
}

void Session::packet(const std::string& file) {
    ++packets_;
    if (dissection_->transport_packet()) ++roce_packets_;
    const bool fault = dissection_->findings.any_fault();
    if (fault) ++packets_with_findings_;
    if (options_.stats) return statistics_.add(*dissection_);
    not_followed_.add(*dissection_);
    if (!prints_packets() || (options_.check && !fault)) return;
    ++printed_;
    std::string& out = out_.text();
    switch (options_.format) {
    case Format::Text: text(); break;
    case Format::Fields:
        print::append_fields(out, *dissection_, compiled_.columns, options_.field_style);
        break;
    case Format::Csv: print::append_csv(out, *dissection_, compiled_.columns); break;
    case Format::Json:
        out += printed_ == 1 ? "\n" : ",\n";
        json(file);
        break;
    case Format::JsonLines:
        json(file);
        out += '\n';
        break;
    }
}

void Session::json(std::string_view file) {
    print::append_json_packet(out_.text(), *dissection_, compiled_.columns,
                              names_file_ ? file : std::string_view{}, options_.fields.empty());
}

void Session::ladder() {
    Followed& followed = *compiled_.followed;
    const bool first = followed.fresh();
    const bool to_right = followed.to_right(*dissection_);
    std::string& out = out_.text();
    if (first) ladder_.append_head(out, followed.left(), followed.right());
    ladder_.append(out, *dissection_, to_right, time_);
}

void Session::text() {
    std::string& out = out_.text();
    const bool tree = options_.tree || !options_.detailed.empty();
    if (compiled_.followed && !tree && !options_.hex && !options_.check) {
        ladder();
    } else if (tree) {
        print::append_tree(out, *dissection_, compiled_.detailed);
    } else {
        print::append_line(out, *dissection_, time_);
        for (const std::string_view comment : dissection_->frame.comments) {
            out += "      # ";
            out += wire::safe_text(comment);
            out += '\n';
        }
    }
    if (options_.check && !tree) {
        for (const decode::Finding& finding : dissection_->findings.all()) {
            out += "      ";
            print::append_finding(out, finding);
            out += '\n';
        }
    }
    if (options_.hex) print::append_hex_dump(out, *dissection_, to_terminal_);
    if (!options_.separator.empty()) {
        out += options_.separator;
        out += '\n';
    }
}

} // namespace veriroce::dissect
