#include "dissector/dissect/dissect.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "dissector/capture/live.hpp"
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
        return "dissect: -i and a file name cannot be combined";
    }
    if ((options.buffer_mib || options.not_promiscuous) && !live) {
        return "dissect: -B and -p need -i";
    }
    return {};
}

// An error in the options that select the output; empty if they are valid.
std::string output_error(const Options& options) {
    const bool table = options.format == Format::Fields || options.format == Format::Csv;
    const bool text = options.format == Format::Text;
    const bool json = options.format == Format::Json || options.format == Format::JsonLines;
    const bool formatted = !text || options.tree || options.hex || !options.detailed.empty();
    if (!options.write.empty() && !options.print_too && formatted) {
        return "dissect: -w writes packets instead of printing them; remove -T, -V, -O and -x, or "
               "add -P to do both";
    }
    for (const std::string& file : options.files) {
        std::error_code absent; // then it is no file that could be overwritten
        if (std::filesystem::equivalent(file, options.write, absent))
            return fmt::format("dissect: -w: {} is read here; name another file", file);
    }
    if (options.write == "-" && (options.stats || options.check || options.print_too)) {
        return "dissect: -w - uses standard output, where --stats, --check and -P print";
    }
    if (!options.ring.empty() && (options.write.empty() || options.write == "-")) {
        return "dissect: -b needs -w FILE, whose name the files get";
    }
    if (options.format == Format::Fields && options.fields.empty()) {
        return "dissect: -T fields needs at least one -e FIELD";
    }
    if (!options.fields.empty() && !table && !json) {
        return "dissect: -e FIELD needs -T fields, -T csv, -T json or -T jsonl";
    }
    if ((options.tree || options.hex || options.stats || !options.detailed.empty()) && !text) {
        return "dissect: -V, -O, -x and --stats need -T text";
    }
    return {};
}

// As in tshark, what follows -r FILE and names no file is a display filter, and what follows -i a
// capture filter. Nothing else is guessed. The error is a message.
std::expected<Options, std::string> arranged(Options options) {
    const bool live = !options.interface.empty();
    const bool files_named = !options.files.empty();
    std::string expression;
    for (const std::string& word : options.words) {
        const bool file = word == "-" || ::access(word.c_str(), F_OK) == 0;
        if (expression.empty() && (file || (!live && !files_named))) {
            options.files.push_back(word);
            continue;
        }
        expression += (expression.empty() ? "" : " ") + word;
    }
    options.words.clear();
    if (options.snap_length == 0U) options.snap_length.reset();
    if (expression.empty()) return options;
    std::string& filter = live ? options.capture_filter : options.filter;
    if (!filter.empty()) {
        return std::unexpected(
            fmt::format("dissect: {} and a filter at the end ('{}') exclude each "
                        "other",
                        live ? "-f" : "-Y", expression));
    }
    filter = expression;
    return options;
}

std::expected<print::DetailedLayers, std::string> detailed_layers(const Options& options) {
    print::DetailedLayers layers;
    for (const std::string& word : options.detailed) {
        if (!print::add_layers(layers, word)) {
            return std::unexpected(fmt::format(
                "dissect: -O: unknown protocol '{}'; give names as in display filters", word));
        }
    }
    return options.detailed.empty() ? ~print::kNoLayers : layers;
}

std::expected<std::optional<FileLimits>, std::string>
limits_of(const char* option, const std::vector<std::string>& words) {
    if (words.empty()) return std::nullopt;
    auto limits = file_limits(words);
    if (!limits) return std::unexpected(fmt::format("dissect: {}: {}", option, limits.error()));
    return *limits;
}

// -D and -G: nothing is read.
int list(const Options& options, std::FILE* out, std::FILE* err) {
    std::string text;
    if (options.list_interfaces) {
        std::size_t number = 0;
        for (const std::string& name : capture::interfaces_here())
            text += fmt::format("{}. {}\n", ++number, name);
    } else if (options.list == "fields") {
        print::append_field_list(text);
    } else if (options.list == "protocols") {
        print::append_protocol_list(text);
    } else {
        say(err, fmt::format("dissect: -G: expected fields or protocols, got '{}'", options.list));
        return command_line::kExitUsage;
    }
    print::Output output(out);
    output.text() = std::move(text);
    output.flush();
    if (output.error() == 0 || output.error() == EPIPE) return command_line::kExitSuccess;
    say(err, fmt::format("writing failed: {}", std::strerror(output.error())));
    return command_line::kExitUnable;
}

std::string text_of(const print::UnknownField& unknown) {
    std::string text = fmt::format("dissect: unknown field '{}'", unknown.name);
    if (!unknown.nearest.empty()) text += fmt::format("; did you mean '{}'?", unknown.nearest);
    return text;
}

// An error if something asks for what --no-flow leaves out; empty otherwise.
std::string flow_error(const Options& options, const print::Columns& columns,
                       const filter::Filter& filter) {
    if (!options.no_flow) return {};
    if (!options.follow.empty()) return "dissect: --follow and --no-flow exclude each other";
    if (filter.needs_flow()) return "dissect: --no-flow leaves out the roce.flow fields of -Y";
    for (const print::Column& column : columns) {
        if (column.name().starts_with("roce.flow.")) {
            return fmt::format("dissect: --no-flow leaves out the field '{}' of -e", column.name());
        }
    }
    return {};
}

// Validates all options before a packet is read; the error is a message.
std::expected<Compiled, std::string> compile(const Options& options) {
    std::string wrong = input_error(options);
    if (wrong.empty()) wrong = output_error(options);
    if (!wrong.empty()) return std::unexpected(std::move(wrong));
    auto columns = print::columns_of(options.fields);
    if (!columns) return std::unexpected(text_of(columns.error()));
    auto filter = filter::Filter::compile(options.filter);
    if (!filter) {
        return std::unexpected("dissect: -Y: " + filter::text_of(filter.error(), options.filter));
    }
    wrong = flow_error(options, *columns, *filter);
    if (!wrong.empty()) return std::unexpected(std::move(wrong));
    const bool json = options.format == Format::Json || options.format == Format::JsonLines;
    if (columns->empty() && json) *columns = print::all_columns();
    if (columns->empty() && options.format == Format::Csv) *columns = print::default_columns();
    auto decode_as_result = decode_as(options.decode_as);
    if (!decode_as_result)
        return std::unexpected("dissect: --decode-as: " + decode_as_result.error());
    std::optional<Followed> followed;
    if (!options.follow.empty()) {
        auto named = Followed::parse(options.follow);
        if (!named) return std::unexpected("dissect: --follow: " + named.error());
        followed = std::move(*named);
    }
    auto detailed = detailed_layers(options);
    if (!detailed) return std::unexpected(detailed.error());
    auto autostop = limits_of("-a", options.autostop);
    if (!autostop) return std::unexpected(autostop.error());
    auto ring = limits_of("-b", options.ring);
    if (!ring) return std::unexpected(ring.error());
    Compiled compiled{.columns = std::move(*columns),
                      .filter = std::move(*filter),
                      .capture_filter = std::nullopt,
                      .decode_as = std::move(*decode_as_result),
                      .followed = std::move(followed),
                      .detailed = *detailed,
                      .autostop = *autostop,
                      .ring = *ring};
    if (options.capture_filter.empty()) return compiled;
    auto bpf = capture::Bpf::compile(options.capture_filter);
    if (!bpf) return std::unexpected("dissect: -f: " + bpf.error());
    compiled.capture_filter = std::move(*bpf);
    return compiled;
}

} // namespace

int run(const Options& options, std::FILE* out, std::FILE* err) {
    if (options.list_interfaces || !options.list.empty()) return list(options, out, err);
    const auto whole = arranged(options);
    auto compiled = whole ? compile(*whole) : std::unexpected(whole.error());
    if (!compiled) {
        say(err, compiled.error());
        return command_line::kExitUsage;
    }
    return Session(*whole, std::move(*compiled), out, err).run();
}

} // namespace veriroce::dissect
