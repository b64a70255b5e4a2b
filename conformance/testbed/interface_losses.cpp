#include "conformance/testbed/interface_losses.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <ifaddrs.h>
#include <linux/if_link.h>
#include <sys/socket.h>

#include <fmt/format.h>

namespace veriroce::testbed {
namespace {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using rules::FindingClass;

struct Counter {
    std::string_view name;
    std::uint64_t InterfaceLosses::* value;
};
constexpr std::array kCounters{Counter{"rx_missed_errors", &InterfaceLosses::rx_missed_errors},
                               Counter{"rx_dropped", &InterfaceLosses::rx_dropped},
                               Counter{"rx_over_errors", &InterfaceLosses::rx_over_errors},
                               Counter{"rx_fifo_errors", &InterfaceLosses::rx_fifo_errors},
                               Counter{"rx_crc_errors", &InterfaceLosses::rx_crc_errors}};

// The kernel's figures here have 32 bits.
std::uint64_t growth(std::uint64_t before, std::uint64_t after) {
    return (after - before) & 0xFFFF'FFFF;
}

} // namespace

std::optional<InterfaceLosses> losses_of(const std::string& interface) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return std::nullopt;
    std::optional<InterfaceLosses> found;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        const bool link = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_PACKET;
        if (!link || one->ifa_data == nullptr || interface != one->ifa_name) continue;
        const auto& counted = *static_cast<const rtnl_link_stats*>(one->ifa_data);
        found = InterfaceLosses{.rx_dropped = counted.rx_dropped,
                                .rx_missed_errors = counted.rx_missed_errors,
                                .rx_over_errors = counted.rx_over_errors,
                                .rx_fifo_errors = counted.rx_fifo_errors,
                                .rx_crc_errors = counted.rx_crc_errors};
    }
    freeifaddrs(all);
    return found;
}

std::string growth_text(const InterfaceLosses& before, const InterfaceLosses& after) {
    std::string text;
    for (const Counter& counter : kCounters) {
        const std::uint64_t grown = growth(before.*counter.value, after.*counter.value);
        if (grown == 0) continue;
        text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", counter.name, grown);
    }
    return text;
}

void hold_to_losses(CaseResult& result, const InterfaceLosses& before,
                    const InterfaceLosses& after) {
    const std::string grown = growth_text(before, after);
    const bool blames = result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
    if (grown.empty() || !(blames || result.verdict == Verdict::Error)) return;
    for (const Counter& counter : kCounters)
        result.lost_packets += growth(before.*counter.value, after.*counter.value);
    const bool proven = std::ranges::any_of(result.findings, [](const Finding& one) {
        return class_of(one) == FindingClass::Contradiction;
    });
    const bool violated = std::ranges::any_of(result.violations, [](const auto& one) {
        return one.certain && one.level == rules::Level::Must &&
               one.of_class == FindingClass::Contradiction;
    });
    if (blames && (proven || violated)) return;
    result.verdict = Verdict::Error;
    result.findings.insert(
        result.findings.begin(),
        Finding{.kind = FindingKind::Environment,
                .detail = fmt::format("the tester's interface lost packets ({})", grown)});
}

} // namespace veriroce::testbed
