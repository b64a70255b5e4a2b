#include "dissector/commands/dissect.hpp"

#include <map>

#include "dissector/capture/decoded_frames.hpp"
#include "dissector/commands/tshark_hints.hpp"
#include "dissector/dissect/dissect.hpp"

namespace veriroce::commands {
namespace {

using command_line::Command;

void add_input(Command& command, dissect::Options& options) {
    command.option("FILE", options.words,
                   "pcap or pcapng files, also compressed with gzip or zstd; - is standard input");
    command.option("-r", options.files,
                   "The same as FILE. A word behind it that names no file is a display filter",
                   {.value = "FILE"});
    command.option("-i", options.interface, "Capture live from an interface; press Ctrl-C to stop",
                   {.value = "IFACE"});
    command.option("-f", options.capture_filter,
                   "Only packets that match a capture filter (tcpdump's language)",
                   {.value = "BPF"});
    command.number("-s", options.snap_length, {0, 262'144},
                   "Snapshot length: capture, decode and write at most this much of a packet; 0 is "
                   "no limit",
                   {.value = "BYTES"});
    command.number("-B", options.buffer_mib, {1, 2047},
                   "Size of the kernel's buffer for live capture; the default is 16 MiB",
                   {.value = "MIB"});
    command.number("--roce-port", options.roce_ports, {1, 65'535},
                   "A UDP port that carries RoCEv2, in addition to 4791; repeat it",
                   {.value = "PORT"});
    command.option("--decode-as", options.decode_as,
                   "The protocol above the transport where the capture has no CM exchange: "
                   "qp=N:PROTOCOL (packets to this QP) or port=N:PROTOCOL (CM requests for this "
                   "port). PROTOCOL is nvme (for a QP also nvme_admin, nvme_io), iser, "
                   "smb_direct, rpcordma or none; repeat it",
                   {.value = "WHERE:PROTOCOL"});
    command.number("-c", options.max_packets, {}, "Stop after N packets");
    command.option("-a", options.autostop,
                   "Stop after duration:SECONDS, filesize:KB, packets:N or files:N; repeat it",
                   {.value = "LIMIT"});
    command.number("--threads", options.threads, {1, capture::kMostThreads}, capture::kThreadsText);
    command.flag("-D", options.list_interfaces, "List the interfaces, and nothing else");
}

Command::Reader format_reader(dissect::Format& format) {
    return [&format](const std::string& word) -> std::expected<void, std::string> {
        static const std::map<std::string_view, dissect::Format> kFormats{
            {"text", dissect::Format::Text}, {"fields", dissect::Format::Fields},
            {"json", dissect::Format::Json}, {"jsonl", dissect::Format::JsonLines},
            {"csv", dissect::Format::Csv},
        };
        if (const auto known = kFormats.find(word); known != kFormats.end()) {
            format = known->second;
            return {};
        }
        return std::unexpected(format_instead_of(word));
    };
}

Command::Reader style_reader(print::FieldStyle& style) {
    return [&style](const std::string& word) { return print::read_style(style, word); };
}

void add_output(Command& command, dissect::Options& options) {
    command.option("-T", format_reader(options.format),
                   "Output format; jsonl is one JSON object per line",
                   {.value = "text|fields|json|jsonl|csv"});
    command.option("-e", options.fields,
                   "A field for -T fields, json, jsonl or csv; repeat it. -G fields lists them",
                   {.value = "FIELD"});
    command.option("-E", style_reader(options.field_style),
                   "How -T fields prints: header=y, separator=C, aggregator=C, quote=d|s|n, "
                   "occurrence=f|l|a; repeat it",
                   {.value = "NAME=VALUE", .repeated = true});
    command.choice("-t", options.time_form,
                   {{"r", print::TimeForm::Relative},
                    {"a", print::TimeForm::Clock},
                    {"ad", print::TimeForm::Date},
                    {"u", print::TimeForm::Utc},
                    {"ud", print::TimeForm::UtcDate},
                    {"d", print::TimeForm::Delta},
                    {"dd", print::TimeForm::DeltaDisplayed},
                    {"e", print::TimeForm::Epoch}},
                   "The time in a line: relative, absolute, with date, the same in UTC, since the "
                   "packet before, since the one printed before, epoch");
    command.option("-Y", options.filter,
                   "Only packets that match a display filter (Wireshark's language)",
                   {.value = "EXPR"});
    command.option("-w", options.write,
                   "Write packets as pcapng, with findings as comments; - is standard output",
                   {.value = "FILE"});
    command.option(
        "-b", options.ring,
        "Begin the next file of -w after duration:SECONDS, filesize:KB or packets:N, and "
        "keep the last files:N; repeat it",
        {.value = "LIMIT"});
    command.flag("-P,--print", options.print_too, "Print packets even if -w writes them");
    command.option("-S", options.separator, "Print this line after each packet", {.value = "LINE"});
    command.option("-O", options.detailed,
                   "Print each packet as a tree that shows the fields of these protocols",
                   {.value = "PROTOCOLS", .comma_separated = true});
    command.option("-G", options.list, "List all fields or protocols as tshark does, nothing else",
                   {.value = "fields|protocols"});
    command.flag("-V", options.tree, "Print each packet as a tree of headers and fields");
    command.flag("-x", options.hex, "Print the bytes of each packet");
    command.flag("-l", options.line_buffered, "Write each packet as soon as it is printed");
    command.option("--follow", options.follow,
                   "Only one connection, as a ladder of arrows between its two ends: ADDRESS:QP, "
                   "0xQP, or its number (roce.flow.connection)",
                   {.value = "QP"});
    command.flag("--no-flow", options.no_flow,
                 "Do not follow connections: faster, without roce.flow fields and the notes in "
                 "lines ([Retransmission of 12])");
    command.flag("--stats", options.stats, "Print a summary instead of packets");
    command.flag("--check", options.check,
                 "Print only packets with errors or warnings; exit code 1 if there are any");
    command.flag("--verify-icrc", options.verify_icrc,
                 "Check every ICRC, even if the output does not show it");
    command.flag("-q,--quiet", options.quiet, "Omit the summary line of --check and -i");
}

} // namespace

void add_dissect(Command program) {
    auto command = program.add_command("dissect", "Decode captures, one line per packet");
    const auto options = std::make_shared<dissect::Options>();
    add_input(command, *options);
    add_output(command, *options);
    add_tshark_hints(command, *options);
    command.on_run([options] { return dissect::run(*options, stdout, stderr); });
}

} // namespace veriroce::commands
