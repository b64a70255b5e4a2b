#include "dissector/dissect/dissect.hpp"

#include <fmt/format.h>

#include "dissector/command_line/exit_code.hpp"
#include "dissector/dissect/decode_as.hpp"
#include "dissector/dissect/session.hpp"

namespace veriroce::dissect {
namespace {

// An error in the options that select the input; empty if they are valid.
std::string input_error(const Options& options) {
    const bool live = !options.interface.empty();
    if (options.files.empty() && !live) {
        return "dissect: no capture file; give a file name, - for standard input, or -i INTERFACE";
    }
    if (live && !options.files.empty()) {
        return "dissect: -i and a file name exclude each other";
    }
    if ((options.snap_length || options.buffer_mib) && !live) {
        return "dissect: -s and -B need -i";
    }
    return {};
}

// An error in the options that select the output; empty if they are valid.
std::string output_error(const Options& options) {
    const bool table = options.format == Format::Fields || options.format == Format::Csv;
    const bool text = options.format == Format::Text;
    if (!options.write.empty() && (!text || options.tree || options.hex)) {
        return "dissect: -w writes packets instead of printing them; remove -T, -V and -x";
    }
    if (options.write == "-" && (options.stats || options.check)) {
        return "dissect: -w - uses standard output, where --stats and --check print";
    }
    if (options.format == Format::Fields && options.fields.empty()) {
        return "dissect: -T fields needs at least one -e FIELD";
    }
    if (!options.fields.empty() && !table && options.format != Format::Json) {
        return "dissect: -e FIELD needs -T fields, -T csv or -T json";
    }
    if ((options.tree || options.hex || options.stats) && !text) {
        return "dissect: -V, -x and --stats need -T text";
    }
    return {};
}

std::string text_of(const print::UnknownField& unknown) {
    std::string text = fmt::format("dissect: unknown field '{}'", unknown.name);
    if (!unknown.nearest.empty()) text += fmt::format("; did you mean '{}'?", unknown.nearest);
    return text;
}

// Validates all options before a packet is read; the error is a message.
std::expected<Compiled, std::string> compile(const Options& options) {
    std::string wrong = input_error(options);
    if (wrong.empty()) wrong = output_error(options);
    if (!wrong.empty()) return std::unexpected(std::move(wrong));
    auto columns = print::columns_of(options.fields);
    if (!columns) return std::unexpected(text_of(columns.error()));
    if (columns->empty() && options.format == Format::Json) *columns = print::all_columns();
    if (columns->empty() && options.format == Format::Csv) *columns = print::default_columns();
    auto filter = filter::Filter::compile(options.filter);
    if (!filter) {
        return std::unexpected("dissect: -Y: " + filter::text_of(filter.error(), options.filter));
    }
    auto decode_as_result = decode_as(options.decode_as);
    if (!decode_as_result)
        return std::unexpected("dissect: --decode-as: " + decode_as_result.error());
    Compiled compiled{.columns = std::move(*columns),
                      .filter = std::move(*filter),
                      .capture_filter = std::nullopt,
                      .decode_as = std::move(*decode_as_result)};
    if (options.capture_filter.empty()) return compiled;
    auto bpf = capture::Bpf::compile(options.capture_filter);
    if (!bpf) return std::unexpected("dissect: -f: " + bpf.error());
    compiled.capture_filter = std::move(*bpf);
    return compiled;
}

} // namespace

int run(const Options& options, std::FILE* out, std::FILE* err) {
    auto compiled = compile(options);
    if (!compiled) {
        say(err, compiled.error());
        return command_line::kExitUsage;
    }
    return Session(options, std::move(*compiled), out, err).run();
}

} // namespace veriroce::dissect
