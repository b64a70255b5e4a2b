#include "dissector/commands/tshark_hints.hpp"

#include <array>
#include <memory>
#include <utility>

namespace veriroce::commands {
namespace {

struct Hint {
    const char* name;
    const char* text;
};

constexpr std::array kHints{
    Hint{"-z", "there are no taps; --stats counts packets, opcodes, NAKs and QPs, --check prints "
               "what 'expert' does, --follow one connection"},
    Hint{"-d", "protocols above RoCEv2 are chosen with --decode-as, another UDP port with "
               "--roce-port"},
    Hint{"-o",
         "there are no preferences; --roce-port and --decode-as say what a port or QP carries"},
    Hint{"-2", "every file is read once; a filter goes after -Y"},
    Hint{"-R", "there is no read filter; a display filter goes after -Y"},
    Hint{"-j,-J", "choose fields of JSON with -e, protocols of the tree with -O"},
    Hint{"-N", "addresses are always printed as numbers; leave it out"},
    Hint{"-W,-H,-U,-K", "not supported; leave it out"},
    Hint{"-L,-y,-I", "the link type is the interface's own; -D lists the interfaces"},
    Hint{"-v,--version", "'veriroce --version' prints the version; -V prints packets as trees"},
    Hint{"-Q", "-q omits the summary line"},
    Hint{"-g", "files that -w creates get the permissions of the umask"},
    Hint{"-X,-C", "there are no plugins and no profiles; leave it out"},
    Hint{"-M", "every connection is followed through the whole input; leave it out"},
    Hint{"--color", "output has no colours; leave it out"},
    Hint{"--export-objects", "payloads are printed with -x, or as -e data.data"},
    Hint{"--enable-protocol,--disable-protocol,--only-protocols,--enable-heuristic,"
         "--disable-heuristic",
         "protocols above RoCEv2 are chosen with --decode-as"},
};

} // namespace

void add_tshark_hints(command_line::Command& command, dissect::Options& options) {
    // Names are never resolved.
    const auto nothing = std::make_shared<bool>();
    command.flag("-n", *nothing, "Print addresses as numbers, as it always does");
    command.option("-F",
                   [](const std::string& word) -> std::expected<void, std::string> {
                       if (word == "pcapng") return {};
                       return std::unexpected(
                           "pcapng, the one format of -w ('editcap -F' converts it)");
                   },
                   "The format of -w: pcapng", {.value = "pcapng"});
    command.option("-u",
                   [](const std::string& word) -> std::expected<void, std::string> {
                       if (word == "s") return {};
                       return std::unexpected("s: times are in seconds, -t chooses their form");
                   },
                   "The unit of times: s", {.value = "s"});
    command.flag("-p", options.not_promiscuous, "Do not put the interface into promiscuous mode");
    for (const Hint& hint : kHints)
        command.hint(hint.name, hint.text);
}

std::string format_instead_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kInstead{{
        {"ek", "jsonl, which is one JSON object per line"},
        {"jsonraw", "json; -x prints the bytes of each packet"},
        {"tabs", "fields, whose values are separated by tabs; -e _ws.col.Info is the line's last "
                 "column"},
        {"pdml", "json, or text with -V"},
        {"psml", "fields with -e _ws.col.Info, or text"},
        {"ps", "text"},
    }};
    for (const auto& [theirs, ours] : kInstead) {
        if (word == theirs) return std::string(ours);
    }
    return "text, fields, json, jsonl or csv";
}

} // namespace veriroce::commands
