#include "dissector/dissect/dissect.hpp"

#include <fmt/format.h>

#include "dissector/dissect/decode_as.hpp"
#include "dissector/dissect/session.hpp"

namespace veriroce::dissect {
namespace {

// What is wrong with where packets come from; empty if nothing is.
std::string input_complaint(const Options& options) {
    const bool live = !options.interface.empty();
    if (options.files.empty() && !live) {
        return "dissect: no capture file; name one, or - for standard input, or -i INTERFACE";
    }
    if (live && !options.files.empty()) {
        return "dissect: -i captures live and reads no file; leave one of them out";
    }
    if ((options.snap_length || options.buffer_mib) && !live) {
        return "dissect: -s and -B go with -i";
    }
    return {};
}

// What is wrong with where they go to.
std::string output_complaint(const Options& options) {
    const bool table = options.format == Format::Fields || options.format == Format::Csv;
    const bool text = options.format == Format::Text;
    if (!options.write.empty() && (!text || options.tree || options.hex)) {
        return "dissect: -w writes packets instead of printing them: -T, -V and -x do not go with "
               "it";
    }
    if (options.write == "-" && (options.stats || options.check)) {
        return "dissect: -w - takes standard output; --stats and --check print there";
    }
    if (options.format == Format::Fields && options.fields.empty()) {
        return "dissect: -T fields needs at least one -e FIELD";
    }
    if (!options.fields.empty() && !table && options.format != Format::Json) {
        return "dissect: -e FIELD goes with -T fields, -T csv or -T json";
    }
    if ((options.tree || options.hex || options.stats) && !text) {
        return "dissect: -V, -x and --stats go with -T text";
    }
    return {};
}

std::string text_of(const print::UnknownField& unknown) {
    std::string text = fmt::format("dissect: no field is called '{}'", unknown.name);
    if (!unknown.nearest.empty()) text += fmt::format("; did you mean '{}'?", unknown.nearest);
    return text;
}

// Everything that can be wrong before a packet is read; the error is a sentence.
std::expected<Compiled, std::string> compile(const Options& options) {
    std::string wrong = input_complaint(options);
    if (wrong.empty()) wrong = output_complaint(options);
    if (!wrong.empty()) return std::unexpected(std::move(wrong));
    auto columns = print::columns_of(options.fields);
    if (!columns) return std::unexpected(text_of(columns.error()));
    if (columns->empty() && options.format == Format::Json) *columns = print::all_columns();
    if (columns->empty() && options.format == Format::Csv) *columns = print::usual_columns();
    auto filter = filter::Filter::compile(options.filter);
    if (!filter) {
        return std::unexpected("dissect: -Y: " + filter::text_of(filter.error(), options.filter));
    }
    auto told = decode_as(options.decode_as);
    if (!told) return std::unexpected("dissect: --decode-as: " + told.error());
    Compiled compiled{.columns = std::move(*columns),
                      .filter = std::move(*filter),
                      .capture_filter = std::nullopt,
                      .decode_as = std::move(*told)};
    if (options.capture_filter.empty()) return compiled;
    auto bpf = capture::Bpf::compile(options.capture_filter);
    if (!bpf) return std::unexpected("dissect: -f: " + bpf.error());
    compiled.capture_filter = std::move(*bpf);
    return compiled;
}

} // namespace

std::optional<Format> format_by_name(const std::string& name) {
    if (name == "text") return Format::Text;
    if (name == "fields") return Format::Fields;
    if (name == "json") return Format::Json;
    if (name == "csv") return Format::Csv;
    return std::nullopt;
}

int run(const Options& options, std::FILE* out, std::FILE* err) {
    auto compiled = compile(options);
    if (!compiled) {
        say(err, compiled.error());
        return kUsage;
    }
    return Session(options, std::move(*compiled), out, err).run();
}

} // namespace veriroce::dissect
