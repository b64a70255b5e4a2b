#include "dissector/commands/dissect.hpp"

#include "dissector/dissect/dissect.hpp"

namespace veriroce::commands {
namespace {

using command_line::Command;

void add_input(Command& command, dissect::Options& options) {
    command.option("FILE", options.files,
                   "pcap or pcapng files, also compressed with gzip or zstd; - is standard input");
    command.option("-r", options.files, "The same as FILE, for users of tshark", {.value = "FILE"});
    command.option("-i", options.interface, "Capture live from an interface; press Ctrl-C to stop",
                   {.value = "IFACE"});
    command.option("-f", options.capture_filter,
                   "Only packets that match a capture filter (tcpdump's language)",
                   {.value = "BPF"});
    command.number("-s", options.snap_length, {1, 262'144}, "Snapshot length for live capture",
                   {.value = "BYTES"});
    command.number("-B", options.buffer_mib, {1, 2047},
                   "Size of the kernel's buffer for live capture; the default is 16 MiB",
                   {.value = "MIB"});
    command.number("--roce-port", options.roce_ports, {},
                   "A UDP port that carries RoCEv2, in addition to 4791; repeat it",
                   {.value = "PORT"});
    command.option("--decode-as", options.decode_as,
                   "The protocol above the transport where the capture has no CM exchange: "
                   "qp=N:PROTOCOL (packets to this QP) or port=N:PROTOCOL (CM requests for this "
                   "port). PROTOCOL is nvme (for a QP also nvme_admin, nvme_io), iser, "
                   "smb_direct, rpcordma or none; repeat it",
                   {.value = "WHERE:PROTOCOL"});
    command.number("-c", options.max_packets, {}, "Stop after N packets");
}

void add_output(Command& command, dissect::Options& options) {
    command.choice("-T", options.format,
                   {{"text", dissect::Format::Text},
                    {"fields", dissect::Format::Fields},
                    {"json", dissect::Format::Json},
                    {"csv", dissect::Format::Csv}},
                   "Output format");
    command.option("-e", options.fields, "A field for -T fields, json or csv; repeat it",
                   {.value = "FIELD"});
    command.option("-Y", options.filter,
                   "Only packets that match a display filter (Wireshark's language)",
                   {.value = "EXPR"});
    command.option("-w", options.write,
                   "Write packets as pcapng, with findings as comments; - is standard output",
                   {.value = "FILE"});
    command.flag("-V", options.tree, "Print each packet as a tree of headers and fields");
    command.flag("-x", options.hex, "Print the bytes of each packet");
    command.flag("-l", options.line_buffered, "Write each packet as soon as it is printed");
    command.flag("--stats", options.stats, "Print a summary instead of packets");
    command.flag("--check", options.check,
                 "Print only packets with findings; exit code 1 if there are any");
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
    command.on_run([options] { return dissect::run(*options, stdout, stderr); });
}

} // namespace veriroce::commands
