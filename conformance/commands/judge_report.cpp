#include "conformance/commands/judge_report.hpp"

#include <fmt/format.h>

#include "dissector/print/json.hpp"

namespace veriroce::commands {
namespace {

std::string numbers_of(const judge::Evidence& packets) {
    std::string text;
    for (std::size_t i = 0; i < packets.size; ++i)
        text += (i > 0 ? "," : "") + std::to_string(packets.numbers[i]);
    return text;
}

std::string excuses_of(judge::Excuses excuses) {
    std::string text;
    for (std::size_t i = 0; i < judge::kExcuses; ++i) {
        const auto excuse = static_cast<judge::Excuse>(i);
        if (!excuses.has(excuse)) continue;
        text += text.empty() ? "unless " : ", or ";
        text += text_of(excuse);
    }
    return text;
}

void append_counted(std::string& out, std::uint64_t count, std::string_view what) {
    if (count > 0) fmt::format_to(std::back_inserter(out), "; {}: {}", what, count);
}

// RoCEv2 packets that are not there as a whole.
void append_incomplete(std::string& out, const judge::Summary& summary) {
    append_counted(out, summary.incomplete, "RoCEv2 packets cut inside their headers, not judged");
    append_counted(out, summary.fragmented, "RoCEv2 packets in IP fragments, not judged");
    append_counted(out, summary.later_fragments, "IP fragments without headers, not judged");
}

} // namespace

void append_text(std::string& out, const judge::Violation& violation, const PacketLines& lines) {
    fmt::format_to(std::back_inserter(out), "{:<8} {:<6} {:<11} packet {}: {}\n", violation.rule,
                   rules::word(violation.level), name_of(violation.certainty),
                   numbers_of(violation.packets), text_of(violation));
    for (std::size_t i = 0; i < violation.packets.size; ++i) {
        const auto line = lines.find(violation.packets.numbers[i]);
        if (line != lines.end()) out += "    " + line->second + "\n";
    }
    if (!violation.ends.empty()) out += "         " + violation.ends + "\n";
    const std::string excuses = excuses_of(violation.excuses);
    if (!excuses.empty()) out += "         " + excuses + "\n";
}

void append_summary(std::string& out, const judge::Summary& summary) {
    fmt::format_to(std::back_inserter(out),
                   "RoCEv2 packets: {}, connections: {}; violations: {} certain, {} possible",
                   summary.packets, summary.connections, summary.certain, summary.possible);
    append_counted(out, summary.undecidable, "undecidable");
    append_counted(out, summary.damaged, "packets with a wrong ICRC");
    append_counted(out, summary.contradictory, "packets with contradictory lengths or IP version");
    append_counted(out, summary.checksum_left, "packets with the IP checksum left to the NIC");
    append_counted(out, summary.lost_by_capture, "PSNs lost by the capture");
    append_counted(out, summary.unpaired, "responses of unknown connections");
    append_counted(out, summary.beyond_history, "packets older than the history");
    append_counted(out, summary.evicted, "connections evicted");
    append_incomplete(out, summary);
    if (summary.connections == 0 && summary.judged() > 0) {
        out += "; only rules of single packets were judged";
    }
    out += '\n';
}

std::string why_nothing(const judge::Summary& summary) {
    std::string text = fmt::format("nothing was judged: {} frames", summary.frames);
    append_counted(text, summary.damaged, "RoCEv2 packets with a wrong ICRC");
    append_counted(text, summary.contradictory, "RoCEv2 packets with contradictory lengths");
    append_incomplete(text, summary);
    append_counted(text, summary.other_transport, "packets of RoCE v1 or InfiniBand, not judged");
    if (summary.unsupported > 0) {
        fmt::format_to(std::back_inserter(text), "; {} frames of unsupported link type {}",
                       summary.unsupported, summary.unsupported_link);
    }
    const bool none = summary.packets + summary.incomplete + summary.fragmented +
                          summary.later_fragments + summary.other_transport ==
                      0;
    if (none) text += "; no RoCEv2 packets";
    return text;
}

void append_json_begin(std::string& out) {
    out += "{\"schema\":\"veriroce/violations/1\",\"violations\":[";
}

void append_json(std::string& out, const judge::Violation& violation, const PacketLines& lines,
                 std::string_view file, bool first) {
    out += first ? "\n{" : ",\n{";
    if (!file.empty()) {
        out += "\"file\":";
        print::append_json_string(out, file);
        out += ',';
    }
    fmt::format_to(std::back_inserter(out),
                   R"("rule":"{}","level":"{}","certainty":"{}","connection":)", violation.rule,
                   rules::word(violation.level), name_of(violation.certainty));
    print::append_json_string(out, violation.ends);
    out += ",\"packets\":[" + numbers_of(violation.packets) + "],\"measured\":";
    print::append_json_string(out, violation.measured);
    out += ",\"allowed\":";
    print::append_json_string(out, violation.allowed);
    out += ",\"text\":";
    print::append_json_string(out, text_of(violation));
    out += ",\"lines\":[";
    bool more = false;
    for (std::size_t i = 0; i < violation.packets.size; ++i) {
        const auto line = lines.find(violation.packets.numbers[i]);
        if (line == lines.end()) continue;
        if (more) out += ',';
        more = true;
        print::append_json_string(out, line->second);
    }
    out += "],\"unless\":[";
    more = false;
    for (std::size_t i = 0; i < judge::kExcuses; ++i) {
        const auto excuse = static_cast<judge::Excuse>(i);
        if (!violation.excuses.has(excuse)) continue;
        if (more) out += ',';
        more = true;
        print::append_json_string(out, text_of(excuse));
    }
    out += "]}";
}

void append_json_end(std::string& out) {
    out += "\n]}\n";
}

} // namespace veriroce::commands
