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

bool PacketCounts::add(const decode::Dissection& d, OpcodeCounts& opcodes) {
    ++frames;
    bytes += d.frame_length();
    if (d.frame.time_ns) {
        first_ns = std::min(first_ns.value_or(*d.frame.time_ns), *d.frame.time_ns);
        last_ns = std::max(last_ns.value_or(*d.frame.time_ns), *d.frame.time_ns);
    }
    if (d.cut) ++cut;
    if (d.fragment) ++fragments;
    if (!d.transport_packet()) {
        if (d.layers.has(decode::LayerKind::Pause)) ++pauses;
        if (d.layers.has(decode::LayerKind::Pfc)) ++priority_pauses;
        return false;
    }
    ++(d.roce() ? roce : other);
    ++icrc[static_cast<std::size_t>(d.icrc.status)];
    if (d.malformed) ++malformed;
    if (d.findings.any_fault()) ++with_findings;
    for (const decode::Finding& finding : d.findings.all())
        ++findings[static_cast<std::size_t>(finding.kind)];
    if (!d.has_bth) return false;
    ++opcodes[d.packet.bth.opcode];
    if (d.layers.has(decode::LayerKind::Aeth)) add_answer(d);
    payload += d.payload_bytes();
    return d.network.length > 0;
}

// A READ response also has an AETH, but it is not counted as an acknowledgement here.
void PacketCounts::add_answer(const decode::Dissection& d) {
    // The capture may have cut it behind the syndrome.
    const wire::Bytes aeth = d.bytes_of(*d.layers.find(decode::LayerKind::Aeth));
    if (d.info().operation == wire::Operation::RdmaReadResponse || aeth.empty()) return;
    const wire::Syndrome syndrome{wire::load_u8(aeth, 0)};
    ++answers[static_cast<std::size_t>(syndrome.kind())];
}

void PacketCounts::add(const PacketCounts& from) {
    const auto add_each = [](auto& to, const auto& counts) {
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] += counts[i];
    };
    frames += from.frames;
    bytes += from.bytes;
    roce += from.roce;
    other += from.other;
    payload += from.payload;
    cut += from.cut;
    malformed += from.malformed;
    with_findings += from.with_findings;
    add_each(icrc, from.icrc);
    add_each(answers, from.answers);
    add_each(findings, from.findings);
    fragments += from.fragments;
    pauses += from.pauses;
    priority_pauses += from.priority_pauses;
    if (!from.first_ns) return;
    first_ns = std::min(first_ns.value_or(*from.first_ns), *from.first_ns);
    last_ns = std::max(last_ns.value_or(*from.last_ns), *from.last_ns);
}

// Of a batch, most packets belong to few flows.
void CountedBatch::add_flow(const decode::Dissection& frame, RecentFlows& recent_flows) {
    Recent& recent = recent_flows[frame.packet.bth.dest_qp.value % recent_flows.size()];
    if (recent.packet != nullptr && same_flow(*recent.packet, frame)) {
        ++flows[recent.flow].packets;
        flows[recent.flow].bytes += frame.body_bytes;
        return;
    }
    recent = {flows.size(), &frame};
    flows.emplace_back(frame);
}

void CountedBatch::take(std::span<const decode::Dissection> frames) {
    PacketCounts of_packets;
    OpcodeCounts of_opcodes{};
    RecentFlows recent_flows;
    complete = true;
    flows.clear();
    opcodes.clear();
    for (const decode::Dissection& frame : frames) {
        using enum decode::LayerKind;
        const bool stopped = frame.not_followed.stop != decode::Stop::None;
        if (stopped || frame.layers.has_any<Mad, Tcp>()) complete = false;
        if (of_packets.add(frame, of_opcodes)) add_flow(frame, recent_flows);
    }
    counts = of_packets;
    for (std::size_t code = 0; code < of_opcodes.size(); ++code) {
        if (of_opcodes[code] == 0) continue;
        opcodes.emplace_back(static_cast<std::uint8_t>(code), of_opcodes[code]);
    }
}

void Statistics::add(const decode::Dissection& dissection) {
    not_followed_.add(dissection);
    if (counts_.add(dissection, opcodes_)) flows_.add(FlowPacket(dissection));
}

void Statistics::add(const CountedBatch& batch) {
    counts_.add(batch.counts);
    for (const auto& [code, packets] : batch.opcodes)
        opcodes_[code] += packets;
    for (const FlowPacket& packet : batch.flows)
        flows_.add(packet);
}

void Statistics::append(std::string& out) {
    append_to(out, "frames      {} ({} bytes on the wire)\n", counts_.frames, counts_.bytes);
    if (counts_.first_ns) {
        const auto since = static_cast<std::uint64_t>(*counts_.last_ns) -
                           static_cast<std::uint64_t>(*counts_.first_ns);
        append_to(out, "duration    {:.6f} s\n",
                  static_cast<double>(since) / kNanosecondsPerSecond);
    }
    append_to(out, "RoCEv2      {} packets, {} payload bytes\n", counts_.roce, counts_.payload);
    if (counts_.other > 0)
        append_to(out, "other       {} packets of RoCE v1 and InfiniBand\n", counts_.other);
    append_to(out, "ICRC        {} good, {} bad, {} unchecked\n", counts_.icrc[0], counts_.icrc[1],
              counts_.icrc[2]);
    append_answers(out);
    append_to(out, "findings    in {} packets; {} malformed, {} frames cut by the capture\n",
              counts_.with_findings, counts_.malformed, counts_.cut);
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
    const auto of = [this](wire::AckKind kind) {
        return counts_.answers[static_cast<std::size_t>(kind)];
    };
    append_to(out, "answers     {} ACK, {} RNR NAK, {} NAK; {} CNP\n", of(wire::AckKind::Ack),
              of(wire::AckKind::RnrNak), of(wire::AckKind::Nak), opcodes_[wire::kCnpOpcode]);
}

// Warnings and errors by rule, most frequent first, on one line; no line if there are none.
void Statistics::append_findings(std::string& out) const {
    std::map<std::string_view, std::uint64_t> by_rule;
    for (std::size_t kind = 0; kind < counts_.findings.size(); ++kind) {
        const auto& info = finding_info(static_cast<decode::FindingKind>(kind));
        const bool fault = info.severity != decode::Severity::Note;
        if (fault && counts_.findings[kind] > 0) by_rule[info.rule] += counts_.findings[kind];
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
    if (counts_.fragments + counts_.pauses + counts_.priority_pauses == 0) return;
    append_to(out, "network     {} IP fragments; {} PAUSE frames, {} of a priority (PFC)\n",
              counts_.fragments, counts_.pauses + counts_.priority_pauses, counts_.priority_pauses);
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
        append_to(out, "              and {} more; veriroce analyze shows each\n",
                  flows_.size() - largest.size());
    }
    if (flows_.beyond() > 0) {
        append_to(out, "              and {} packets of flows beyond the limit\n", flows_.beyond());
    }
}

} // namespace veriroce::dissect
