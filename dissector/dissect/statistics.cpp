#include "dissector/dissect/statistics.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace veriroce::dissect {
namespace {

template <typename... Args>
void append_to(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// The summary fits a screen: only the largest are listed.
constexpr std::size_t kListedOpcodes = 16;
constexpr std::size_t kListedFlows = 12;
constexpr double kNanosecondsPerSecond = 1e9;

} // namespace

void Statistics::add(const decode::Dissection& d) {
    ++frames_;
    bytes_ += d.frame.original_length;
    if (d.frame.time_ns) {
        first_ns_ = std::min(first_ns_.value_or(*d.frame.time_ns), *d.frame.time_ns);
        last_ns_ = std::max(last_ns_.value_or(*d.frame.time_ns), *d.frame.time_ns);
    }
    if (d.cut) ++cut_;
    if (!d.transport_packet()) return;
    ++(d.roce() ? roce_ : other_);
    ++icrc_[static_cast<std::size_t>(d.icrc.status)];
    if (d.malformed) ++malformed_;
    if (d.findings.any_fault()) ++with_findings_;
    if (!d.has_bth) return;
    ++opcodes_[d.bth.opcode];
    payload_ += d.bth.pad <= d.body_bytes ? d.body_bytes - d.bth.pad : 0;
    if (d.network.length > 0) flows_.add(d);
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
    append_to(out, "findings    in {} packets; {} malformed, {} frames cut by the capture\n",
              with_findings_, malformed_, cut_);
    append_opcodes(out);
    append_flows(out);
}

void Statistics::append_opcodes(std::string& out) const {
    std::vector<std::size_t> used;
    for (std::size_t code = 0; code < opcodes_.size(); ++code) {
        if (opcodes_[code] > 0) used.push_back(code);
    }
    if (used.empty()) return;
    // The most packets first; among equals the lower code.
    std::ranges::sort(used, [&](std::size_t a, std::size_t b) {
        return opcodes_[a] != opcodes_[b] ? opcodes_[a] > opcodes_[b] : a < b;
    });
    out += "\n     packets  opcode\n";
    for (std::size_t i = 0; i < std::min(used.size(), kListedOpcodes); ++i) {
        const auto code = static_cast<std::uint8_t>(used[i]);
        append_to(out, "{:>12}  {} (0x{:02x})\n", opcodes_[code], wire::opcode_info(code).title,
                  code);
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
        append_to(out, "              and {} packets of flows that found no room\n",
                  flows_.beyond());
    }
}

} // namespace veriroce::dissect
