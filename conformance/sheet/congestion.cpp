#include "conformance/sheet/congestion.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dissector/wire/frame.hpp"

namespace veriroce::sheet {
namespace {

// Times as long between packets, on average, before a sender counts as slower.
constexpr double kSlower = 1.5;

// The CNPs of a run that marks packets of two connections.
struct Cnps {
    const Seen* first_marked = nullptr;
    const Seen* first = nullptr; // CNP, if it came after that
    std::size_t count = 0;
    std::set<std::uint32_t> marked;                          // QPs of the device
    std::map<std::uint32_t, std::vector<const Seen*>> by_qp; // CNPs by the QP that they name
};

Cnps cnps_in(const Packets& packets) {
    Cnps cnps;
    for (const Seen& one : packets) {
        if (one.asks(Side::Tester)) {
            if (cnps.first_marked == nullptr) cnps.first_marked = &one;
            cnps.marked.insert(one.packet.bth.dest_qp.value);
        }
        if (!one.dut() || one.operation() != Operation::Cnp) continue;
        if (cnps.count++ == 0 && cnps.first_marked != nullptr) cnps.first = &one;
        cnps.by_qp[one.packet.bth.dest_qp.value].push_back(&one);
    }
    return cnps;
}

void add_scope(DataSheet& sheet, const Cnps& cnps, std::string_view name, std::string_view title) {
    if (cnps.first_marked == nullptr) return;
    sheet.add({std::string(name), std::string(title),
               cnps.count == 0                          ? "cause no CNP"
               : cnps.by_qp.size() < cnps.marked.size() ? "cause CNPs for one of them"
                                                        : "cause CNPs for each of them",
               fmt::format("{} CNPs for {} connections", cnps.count, cnps.by_qp.size())});
}

// What a packet of the tester is, where it may draw a CNP; empty for any other.
std::string_view cause_of(const Seen& packet, std::int64_t newest) {
    const bool marked = packet.ecn == wire::kCongestionExperienced;
    if (packet.asks(Side::Tester) && packet.psn > newest + 1)
        return marked ? "a packet after a lost one" : "a loss by itself";
    if (!marked) return "";
    if (packet.operation() == Operation::Acknowledge) return "an ACK";
    if (packet.operation() == Operation::RdmaReadResponse) return "a READ response";
    if (packet.psn <= newest) return "a duplicate";
    return packet.operation() == Operation::RdmaReadRequest ? "a READ request" : "a WRITE";
}

} // namespace

void cnp(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    const Cnps cnps = cnps_in(packets);
    for (const auto& [qp, list] : cnps.by_qp) {
        for (std::size_t i = 1; i < list.size(); ++i) {
            sheet.add("cnp_interval", "From one CNP of a connection to the next", Unit::Nanoseconds,
                      "", between(*list[i - 1], *list[i]));
        }
    }
    if (cnps.first != nullptr) {
        sheet.add("cnp_latency", "First CNP after the first marked packet", Unit::Nanoseconds, "",
                  between(*cnps.first_marked, *cnps.first));
    }
    add_scope(sheet, cnps, "cnp_scope", "Congestion marks on two connections");
}

void cnp_addresses(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    add_scope(sheet, cnps_in(packets), "cnp_scope_addresses",
              "Congestion marks on connections to two addresses");
}

void cnp_causes(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    std::int64_t newest = -1; // PSN that the tester asked for
    std::string_view cause;
    std::vector<std::string_view> drew;
    std::vector<std::string_view> did_not;
    const auto settle = [&](std::vector<std::string_view>& list) {
        if (!cause.empty()) list.push_back(cause);
        cause = {};
    };
    for (const Seen& one : packets) {
        if (one.dut()) {
            if (one.operation() == Operation::Cnp) settle(drew);
            continue;
        }
        settle(did_not);
        cause = cause_of(one, newest);
        if (one.asks(Side::Tester) && one.psn == newest + 1) newest = one.psn;
    }
    settle(did_not);
    if (drew.empty() && did_not.empty()) return;
    sheet.add({"cnp_causes", "A CNP is drawn by",
               drew.empty() ? "nothing" : fmt::format("{}", fmt::join(drew, ", ")),
               did_not.empty() ? "" : fmt::format("not by {}", fmt::join(did_not, ", "))});
}

// How far apart the packets of a sender are before the first CNP and after it.
void cnp_reaction(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    const Seen* before = nullptr;
    std::size_t cnps = 0;
    std::array<std::vector<std::int64_t>, 2> gaps;
    for (const Seen& one : packets) {
        if (one.from == Side::Tester && one.operation() == Operation::Cnp) ++cnps;
        if (!one.asks(Side::Dut)) continue;
        // Between messages it may wait for its host.
        if (before != nullptr && !one.packet.info().starts_message())
            gaps[cnps == 0 ? 0 : 1].push_back(between(*before, one));
        before = &one;
    }
    if (cnps == 0 || gaps[0].empty() || gaps[1].empty()) return;
    constexpr std::array<std::string_view, 2> labels{"before CNPs", "after CNPs"};
    std::array<double, 2> means{};
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        for (const std::int64_t gap : gaps[i]) {
            sheet.add("cnp_spacing", "From one packet of a sender to the next", Unit::Nanoseconds,
                      labels[i], gap);
            means[i] += static_cast<double>(gap) / static_cast<double>(gaps[i].size());
        }
    }
    sheet.add({"cnp_reaction", "After CNPs a sender",
               means[1] > kSlower * means[0] ? "sends more slowly" : "sends as before",
               fmt::format("{} ns from packet to packet before, {} ns after {} CNPs, on average",
                           static_cast<std::int64_t>(means[0]), static_cast<std::int64_t>(means[1]),
                           cnps)});
}

} // namespace veriroce::sheet
