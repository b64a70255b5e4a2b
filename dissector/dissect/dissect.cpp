#include "dissector/dissect/dissect.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/dissect/statistics.hpp"
#include "dissector/filter/filter.hpp"
#include "dissector/print/json.hpp"
#include "dissector/print/output.hpp"
#include "dissector/print/table.hpp"
#include "dissector/print/text.hpp"

namespace veriroce::dissect {
namespace {

constexpr int kDone = 0;
constexpr int kFinding = 1;
constexpr int kUsage = 2;
constexpr int kFailed = 3;

void say(std::FILE* err, std::string_view message) {
    fmt::print(err, "veriroce: {}\n", message);
}

// What is wrong with the options before anything is read; empty if nothing is.
std::string complaint(const Options& options) {
    if (options.files.empty()) return "dissect: no capture file; name one, or - for standard input";
    const bool table = options.format == Format::Fields || options.format == Format::Csv;
    if (options.format == Format::Fields && options.fields.empty()) {
        return "dissect: -T fields needs at least one -e FIELD";
    }
    if (!options.fields.empty() && !table && options.format != Format::Json) {
        return "dissect: -e FIELD goes with -T fields, -T csv or -T json";
    }
    if ((options.tree || options.hex || options.stats) && options.format != Format::Text) {
        return "dissect: -V, -x and --stats go with -T text";
    }
    return {};
}

std::string text_of(const print::UnknownField& unknown) {
    std::string text = fmt::format("dissect: no field is called '{}'", unknown.name);
    if (!unknown.nearest.empty()) text += fmt::format("; did you mean '{}'?", unknown.nearest);
    return text;
}

class Session {
  public:
    Session(const Options& options, print::Columns columns, filter::Filter filter, std::FILE* out,
            std::FILE* err)
        : options_(options), columns_(std::move(columns)), filter_(std::move(filter)), out_(out),
          err_(err) {
        decode_.verify_icrc = needs_icrc();
        decode_.also_roce_ports = options.roce_ports;
    }

    int run() {
        begin();
        for (const std::string& file : options_.files) {
            if (!read_file(file)) break;
        }
        end();
        out_.flush();
        if (filter_.patterns_given_up() > 0) {
            say(err_, fmt::format("dissect: -Y: a regular expression took too long {} times and "
                                  "was held not to match",
                                  filter_.patterns_given_up()));
        }
        if (out_.error() != 0 && out_.error() != EPIPE) {
            say(err_, fmt::format("writing failed: {}", std::strerror(out_.error())));
            failed_ = true;
        }
        if (options_.check && packets_with_findings_ > 0) return kFinding;
        return failed_ ? kFailed : kDone;
    }

  private:
    // The ICRC costs about as much as everything else: it is checked where it can be seen.
    [[nodiscard]] bool needs_icrc() const {
        if (options_.verify_icrc || options_.check || options_.stats) return true;
        if (options_.format == Format::Text || filter_.needs_icrc()) return true;
        for (const decode::Column& column : columns_) {
            if (column.needs_icrc()) return true;
        }
        return false;
    }

    void begin() {
        if (options_.stats) return;
        if (options_.format == Format::Json) print::append_json_begin(out_.text());
        if (options_.format == Format::Csv) print::append_csv_header(out_.text(), columns_);
    }

    void end() {
        if (options_.stats) return statistics_.append(out_.text());
        if (options_.format == Format::Json) print::append_json_end(out_.text());
        if (options_.check && options_.format == Format::Text && !options_.quiet) {
            fmt::format_to(std::back_inserter(out_.text()),
                           "{} frames, {} RoCE packets, {} of them with findings\n", packets_,
                           roce_packets_, packets_with_findings_);
        }
    }

    // False if there is nothing more to do: enough packets, or nobody reads.
    bool read_file(const std::string& file) {
        auto reader = capture::Reader::open(file);
        if (!reader) {
            complain(reader.error(), file);
            return true;
        }
        if (options_.files.size() > 1) name_file(file);
        frame_ = {};
        capture::Record record;
        while (!enough()) {
            const auto more = reader->next(record);
            if (!more) complain(more.error(), file);
            if (!more || !*more) return true;
            fill_facts(record, *reader);
            decode::dissect_frame(frame_, decode_, dissection_);
            frame_.last_time_ns = frame_.time_ns;
            ++read_;
            if (filter_.matches(dissection_)) packet(file);
            if (!out_.pass()) return false;
        }
        return false;
    }

    [[nodiscard]] bool enough() const {
        return options_.max_packets && read_ >= *options_.max_packets;
    }

    void complain(const capture::ReadError& error, const std::string& file) {
        out_.flush(); // what was read stands before the complaint
        say(err_, capture::text_of(error, file));
        failed_ = true;
    }

    void name_file(const std::string& file) {
        if (options_.format == Format::Text && !options_.stats) {
            fmt::format_to(std::back_inserter(out_.text()), "==> {} <==\n", file);
        }
    }

    void fill_facts(const capture::Record& record, const capture::Reader& reader) {
        frame_.bytes = record.bytes;
        frame_.original_length = record.original_length;
        frame_.link_code = record.link_code;
        ++frame_.number;
        frame_.time_ns = record.time_ns;
        if (!frame_.first_time_ns) frame_.first_time_ns = record.time_ns;
        const bool tells_apart = reader.interfaces()[record.interface].section != 0;
        frame_.interface = tells_apart ? std::optional(record.interface) : std::nullopt;
    }

    void packet(const std::string& file) {
        ++packets_;
        if (dissection_.transport_packet()) ++roce_packets_;
        const bool fault = dissection_.findings.any_fault();
        if (fault) ++packets_with_findings_;
        if (options_.stats) return statistics_.add(dissection_);
        switch (options_.format) {
        case Format::Text:
            if (!options_.check || fault) text();
            break;
        case Format::Fields: print::append_fields(out_.text(), dissection_, columns_); break;
        case Format::Csv: print::append_csv(out_.text(), dissection_, columns_); break;
        case Format::Json:
            print::append_json_packet(out_.text(), dissection_, columns_,
                                      options_.files.size() > 1 ? file : std::string_view{},
                                      options_.fields.empty(), packets_ == 1);
            break;
        }
    }

    void text() {
        std::string& out = out_.text();
        if (options_.tree) {
            print::append_tree(out, dissection_);
        } else {
            print::append_line(out, dissection_);
        }
        if (options_.check && !options_.tree) {
            for (const decode::Finding& finding : dissection_.findings.all()) {
                out += "      ";
                print::append_finding(out, finding);
                out += '\n';
            }
        }
        if (options_.hex) print::append_hex_dump(out, dissection_.frame.bytes);
    }

    const Options& options_;
    print::Columns columns_;
    filter::Filter filter_;
    print::Output out_;
    std::FILE* err_;
    decode::Options decode_;
    decode::FrameFacts frame_; // number and times count within a file
    decode::Dissection dissection_;
    Statistics statistics_;
    std::uint64_t read_ = 0;
    std::uint64_t packets_ = 0; // of those the filter took
    std::uint64_t roce_packets_ = 0;
    std::uint64_t packets_with_findings_ = 0;
    bool failed_ = false;
};

} // namespace

std::optional<Format> format_by_name(const std::string& name) {
    if (name == "text") return Format::Text;
    if (name == "fields") return Format::Fields;
    if (name == "json") return Format::Json;
    if (name == "csv") return Format::Csv;
    return std::nullopt;
}

int run(const Options& options, std::FILE* out, std::FILE* err) {
    if (const std::string wrong = complaint(options); !wrong.empty()) {
        say(err, wrong);
        return kUsage;
    }
    auto columns = print::columns_of(options.fields);
    if (!columns) {
        say(err, text_of(columns.error()));
        return kUsage;
    }
    auto filter = filter::Filter::compile(options.filter);
    if (!filter) {
        say(err, "dissect: -Y: " + filter::text_of(filter.error(), options.filter));
        return kUsage;
    }
    if (columns->empty() && options.format == Format::Json) *columns = print::all_columns();
    if (columns->empty() && options.format == Format::Csv) *columns = print::usual_columns();
    return Session(options, std::move(*columns), std::move(*filter), out, err).run();
}

} // namespace veriroce::dissect
