#include "conformance/commands/script_import.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

using script_import::Found;

// Gives every frame of the file to `take`. Error: the file cannot be opened. Value: why it ended
// early, if it did.
template <typename Take>
Accepted<std::optional<std::string>> each_frame(const std::string& path, Take take) {
    auto reader = capture::Reader::open(path);
    if (!reader) {
        return unable(capture::text_of(reader.error(), path));
    }
    capture::DecodedFrames frames(std::move(*reader), {});
    for (auto some = frames.next(); !some.empty(); some = frames.next()) {
        for (const decode::Dissection& frame : some)
            take(frame);
    }
    if (frames.errors().empty()) return std::nullopt;
    return capture::text_of(frames.errors().front().second, path);
}

std::string_view name_of(wire::Service service) {
    switch (service) {
    case wire::Service::Rc: return "RC";
    case wire::Service::Uc: return "UC";
    case wire::Service::Rd: return "RD";
    case wire::Service::Ud: return "UD";
    case wire::Service::Xrc: return "XRC";
    case wire::Service::Cnp:
    case wire::Service::Reserved: break;
    }
    return "another service";
}

std::string list_of(const std::vector<Found>& connections) {
    std::string text;
    for (std::size_t i = 0; i < connections.size(); ++i) {
        const Found& one = connections[i];
        text +=
            fmt::format("\n{:>5}  {} {}, {} and {} request packets", i + 1, name_of(one.service),
                        one.text(), one.ends[0].requests, one.ends[1].requests);
    }
    return text;
}

std::uint64_t requests_of(const Found& one) {
    return one.service == wire::Service::Rc ? one.ends[0].requests + one.ends[1].requests : 0;
}

// Which of them is meant, counted from 0.
Accepted<std::size_t> choose(const std::vector<Found>& connections, const ImportOptions& options) {
    const std::string where = options.capture + ": ";
    if (connections.empty()) return misused(where + "the capture has no RC connection");
    if (options.connection > connections.size()) {
        return misused(where + fmt::format("no connection {}; the connections are{}",
                                           options.connection, list_of(connections)));
    }
    const auto most = std::ranges::max_element(connections, {}, requests_of);
    const std::size_t chosen = options.connection == 0
                                   ? static_cast<std::size_t>(most - connections.begin())
                                   : options.connection - 1;
    const Found& one = connections[chosen];
    if (one.service != wire::Service::Rc) {
        return misused(where + fmt::format("connection {} is {}; only RC can be imported",
                                           chosen + 1, name_of(one.service)));
    }
    if (requests_of(one) == 0) {
        return misused(where + fmt::format("connection {}, {}, has no requests, only answers",
                                           chosen + 1, one.text()));
    }
    return chosen;
}

Accepted<int> import_or_refuse(const ImportOptions& options, std::FILE* out, std::FILE* err) {
    if (options.capture == "-") {
        return misused("script import reads its capture twice: name a file, not standard input");
    }
    std::optional<wire::IpAddress> asking;
    if (!options.from.empty()) {
        asking = wire::IpAddress::parse(options.from);
        if (!asking) {
            return misused(fmt::format("--from: expected an IP address, got '{}'", options.from));
        }
    }
    script_import::Survey survey;
    const auto first =
        each_frame(options.capture, [&](const decode::Dissection& frame) { survey.feed(frame); });
    if (!first) return std::unexpected(first.error());
    if (*first) fmt::print(err, "veriroce: {}\n", **first);
    const std::vector<Found> connections = survey.connections();
    const auto chosen = choose(connections, options);
    if (!chosen) return std::unexpected(chosen.error());

    script_import::Recorder recorder(connections[*chosen]);
    const auto second =
        each_frame(options.capture, [&](const decode::Dissection& frame) { recorder.feed(frame); });
    if (!second) return std::unexpected(second.error());
    const std::string name = std::filesystem::path(options.capture).filename();
    script_import::Choice choice{.tester = options.tester, .asking = asking, .source = name};
    if (options.messages) choice.messages = *options.messages;
    choice.remark = fmt::format("veriroce script import {}, connection {} of {}", name, *chosen + 1,
                                connections.size());
    const auto script = script_import::script_of(recorder.take(), choice);
    if (!script) return misused(options.capture + ": " + script.error());
    const int code = *first ? kExitUnable : kExitSuccess;
    if (options.output.empty()) {
        fmt::print(out, "{}", *script);
        return code;
    }
    if (const auto written = write_text(options.output, *script); !written) {
        return unable(written.error());
    }
    return code;
}

} // namespace

void add_script_import(Command script) {
    auto command = script.add_command("import", "Turn a connection of a capture into a script");
    const auto options = std::make_shared<ImportOptions>();
    command.option("CAPTURE", options->capture,
                   "A pcap or pcapng file, also compressed with gzip or zstd", {.required = true});
    command.number("--connection", options->connection, {1, 1'000'000'000},
                   "Which connection, counted from 1; the default is the one with most requests");
    command.choice("--as", options->tester,
                   {{"requester", script_import::Part::Requester},
                    {"responder", script_import::Part::Responder}},
                   "The tester's role; the device takes the other");
    command.option("--from", options->from,
                   "The end whose requests to write; the default is the one that moves more data",
                   {.value = "ADDRESS"});
    command.number("--messages", options->messages, {1, 1'000'000'000},
                   "Write only the first N messages");
    command.option("-o", options->output, "Write the script here, not to standard output",
                   {.value = "FILE"});
    command.on_run([options] { return run_script_import(*options, stdout, stderr); });
}

int run_script_import(const ImportOptions& options, std::FILE* out, std::FILE* err) {
    const auto code = import_or_refuse(options, out, err);
    return code ? *code : tell(err, code.error());
}

} // namespace veriroce::commands
