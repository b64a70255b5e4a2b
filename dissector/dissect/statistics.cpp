#include "dissector/dissect/statistics.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace veriroce::dissect {
namespace {

template <typename... Args>
void append_to(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// The summary fits on 24 lines, so it lists only the largest entries, and opcodes in two columns.
constexpr std::size_t kOpcodeLines = 5;
constexpr std::size_t kListedOpcodes = 2 * kOpcodeLines;
constexpr std::size_t kListedFlows = 4;
constexpr std::size_t kListedRules = 6;
constexpr double kNanosecondsPerSecond = 1e9;

} // namespace

void Statistics::add(const decode::Dissection& d) {
    ++frames_;
    bytes_ += d.frame_length();
    if (d.frame.time_ns) {
        first_ns_ = std::min(first_ns_.value_or(*d.frame.time_ns), *d.frame.time_ns);
        last_ns_ = std::max(last_ns_.value_or(*d.frame.time_ns), *d.frame.time_ns);
    }
    not_followed_.add(d);
    if (d.cut) ++cut_;
    if (d.fragment) ++fragments_;
    if (!d.transport_packet()) {
        if (d.layers.has(decode::LayerKind::Pause)) ++pauses_;
        if (d.layers.has(decode::LayerKind::Pfc)) ++priority_pauses_;
        return;
    }
    ++(d.roce() ? roce_ : other_);
    ++icrc_[static_cast<std::size_t>(d.icrc.status)];
    if (d.malformed) ++malformed_;
    if (d.findings.any_fault()) ++with_findings_;
    for (const decode::Finding& finding : d.findings.all())
        ++findings_[static_cast<std::size_t>(finding.kind)];
    if (!d.has_bth) return;
    ++opcodes_[d.packet.bth.opcode];
    if (d.layers.has(decode::LayerKind::Aeth)) add_answer(d);
    payload_ += d.payload_bytes();
    if (d.network.length > 0) flows_.add(d);
}

// A READ response also has an AETH, but it is not counted as an acknowledgement here.
void Statistics::add_answer(const decode::Dissection& d) {
    // The capture may have cut it behind the syndrome.
    const wire::Bytes aeth = d.bytes_of(*d.layers.find(decode::LayerKind::Aeth));
    if (d.info().operation == wire::Operation::RdmaReadResponse || aeth.empty()) return;
    const wire::Syndrome syndrome{wire::load_u8(aeth, 0)};
    ++answers_[static_cast<std::size_t>(syndrome.kind())];
}

void Statistics::append(std::string& out) {
    append_to(out, "frames      {} ({} bytes on the wire)\n", frames_, bytes_);
    if (first_ns_) {
        const auto since =
            static_cast<std::uint64_t>(*last_ns_) - static_cast<std::uint64_t>(*first_ns_);
        append_to(out, "duration    {:.6f} s\n",
                  static_cast<double>(since) / kNanosecondsPerSecond);
    }
    append_to(out, "RoCEv2      {} packets, {} payload bytes\n", roce_, payload_);
    if (other_ > 0) append_to(out, "other       {} packets of RoCE v1 and InfiniBand\n", other_);
    append_to(out, "ICRC        {} good, {} bad, {} unchecked\n", icrc_[0], icrc_[1], icrc_[2]);
    append_answers(out);
    append_to(out, "findings    in {} packets; {} malformed, {} frames cut by the capture\n",
              with_findings_, malformed_, cut_);
    append_findings(out);
    if (not_followed_.total() > 0) {
        out += "            ";
        not_followed_.append(out);
    }
    append_carriers(out);
    append_opcodes(out);
    append_flows(out);
}

void Statistics::append_answers(std::string& out) const {
    const auto of = [this](wire::AckKind kind) { return answers_[static_cast<std::size_t>(kind)]; };
    append_to(out, "answers     {} ACK, {} RNR NAK, {} NAK; {} CNP\n", of(wire::AckKind::Ack),
              of(wire::AckKind::RnrNak), of(wire::AckKind::Nak), opcodes_[wire::kCnpOpcode]);
}

// Warnings and errors by rule, most frequent first, on one line; no line if there are none.
void Statistics::append_findings(std::string& out) const {
    std::map<std::string_view, std::uint64_t> by_rule;
    for (std::size_t kind = 0; kind < findings_.size(); ++kind) {
        const auto& info = finding_info(static_cast<decode::FindingKind>(kind));
        const bool fault = info.severity != decode::Severity::Note;
        if (fault && findings_[kind] > 0) by_rule[info.rule] += findings_[kind];
    }
    if (by_rule.empty()) return;
    std::vector<std::pair<std::uint64_t, std::string_view>> rules;
    for (const auto& [rule, count] : by_rule)
        rules.emplace_back(count, rule);
    std::ranges::sort(rules, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::string_view before = "            ";
    for (std::size_t i = 0; i < std::min(rules.size(), kListedRules); ++i) {
        append_to(out, "{}{} {}", before, rules[i].second, rules[i].first);
        before = ", ";
    }
    if (rules.size() > kListedRules) append_to(out, ", and {} more", rules.size() - kListedRules);
    out += '\n';
}

void Statistics::append_carriers(std::string& out) const {
    if (fragments_ + pauses_ + priority_pauses_ == 0) return;
    append_to(out, "network     {} IP fragments; {} PAUSE frames, {} of a priority (PFC)\n",
              fragments_, pauses_ + priority_pauses_, priority_pauses_);
}

void Statistics::append_opcodes(std::string& out) const {
    std::vector<std::size_t> used;
    for (std::size_t code = 0; code < opcodes_.size(); ++code) {
        if (opcodes_[code] > 0) used.push_back(code);
    }
    if (used.empty()) return;
    // Most packets first; ties are ordered by code.
    std::ranges::sort(used, [&](std::size_t a, std::size_t b) {
        return opcodes_[a] != opcodes_[b] ? opcodes_[a] > opcodes_[b] : a < b;
    });
    out += "\n     packets  opcode\n";
    const std::size_t listed = std::min(used.size(), kListedOpcodes);
    const std::size_t lines = std::min(listed, kOpcodeLines);
    const auto text = [this](std::size_t code) {
        const auto opcode = static_cast<std::uint8_t>(code);
        return fmt::format("{:>12}  {} (0x{:02x})", opcodes_[code], wire::opcode_info(opcode).title,
                           opcode);
    };
    for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t beside = line + lines;
        if (beside < listed) {
            append_to(out, "{:<52}{}\n", text(used[line]), text(used[beside]));
        } else {
            append_to(out, "{}\n", text(used[line]));
        }
    }
    if (used.size() > kListedOpcodes) {
        append_to(out, "              and {} more opcodes\n", used.size() - kListedOpcodes);
    }
}

void Statistics::append_flows(std::string& out) {
    const std::vector<FlowCounts::Flow> largest = flows_.largest(kListedFlows);
    if (largest.empty()) return;
    append_to(out, "\n     packets         bytes  to QP of address (from), {} in all\n",
              flows_.size());
    for (const auto& [path, packets, bytes] : largest) {
        append_to(out, "{:>12}  {:>12}  0x{:06x} of {} (from {})\n", packets, bytes, path.qpn,
                  path.destination.text(), path.source.text());
    }
    if (flows_.size() > largest.size()) {
        append_to(out, "              and {} more\n", flows_.size() - largest.size());
    }
    if (flows_.beyond() > 0) {
        append_to(out, "              and {} packets of flows beyond the limit\n", flows_.beyond());
    }
}

} // namespace veriroce::dissect
