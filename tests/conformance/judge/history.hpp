// Histories by hand, and what the judge says of them.
#pragma once

#include <algorithm>

#include "conformance/judge/judge.hpp"
#include "tests/dissector/flow/captured.hpp"

namespace veriroce::judge::test {

using flow::test::Wire;

inline constexpr std::uint8_t kSendFirst = 0x00;
inline constexpr std::uint8_t kSendMiddle = 0x01;
inline constexpr std::uint8_t kSendLast = 0x02;
inline constexpr std::uint8_t kSendOnly = 0x04;
inline constexpr std::uint8_t kWriteFirst = 0x06;
inline constexpr std::uint8_t kWriteLast = 0x08;
inline constexpr std::uint8_t kWriteOnly = 0x0A;
inline const wire::Syndrome kAck = wire::Syndrome::ack(31);
inline constexpr std::uint8_t kReadFirst = 0x0D;
inline constexpr std::uint8_t kReadMiddle = 0x0E;
inline constexpr std::uint8_t kReadLast = 0x0F;
inline constexpr std::uint8_t kReadOnly = 0x10;
inline constexpr std::uint8_t kAtomicAck = 0x12;
inline constexpr std::uint8_t kFetchAdd = 0x14;
inline constexpr std::uint8_t kCnp = 0x81;

inline const wire::IpAddress kA = wire::IpAddress::from_v4(0x0A4D0001);
inline const wire::IpAddress kB = wire::IpAddress::from_v4(0x0A4D0002);

// Nothing known; everything known of both ends but where the capture was; and the capture at both.
inline Assumptions nothing() {
    return {};
}
inline Assumptions connected(flow::Attributes a = {}, flow::Attributes b = {}) {
    Assumptions assumptions;
    assumptions.complete = assumptions.ordered = true;
    if (!a.first_psn) a.first_psn = wire::Psn(100);
    if (!b.first_psn) b.first_psn = wire::Psn(5000);
    if (!a.mtu) a.mtu = wire::Mtu::B1024;
    if (!b.mtu) b.mtu = wire::Mtu::B1024;
    assumptions.connections.push_back(
        {flow::Introduction{kA, {0x11}, a}, flow::Introduction{kB, {0x22}, b}});
    return assumptions;
}
inline Assumptions at_both(flow::Attributes a = {}, flow::Attributes b = {}) {
    Assumptions assumptions = connected(a, b);
    assumptions.recorded_at = {kA, kB};
    return assumptions;
}

struct Found {
    std::string rule;
    Certainty certainty;
    friend bool operator==(const Found&, const Found&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Found& found) {
    return out << found.rule << " " << name_of(found.certainty);
}

inline std::vector<Found> found_by(const Judge& judge) {
    std::vector<Found> found;
    for (const Violation& violation : judge.violations()) {
        INFO(violation.rule);
        CHECK_FALSE(violation.measured.empty());
        CHECK_FALSE(violation.allowed.empty());
        found.push_back({std::string(violation.rule), violation.certainty});
    }
    return found;
}

// The packets are numbered in their order: one that is listed twice was sent twice.
inline std::vector<Found> judged(const Assumptions& assumptions,
                                 std::vector<flow::Packet> packets) {
    Judge judge(assumptions);
    std::uint64_t number = 0;
    for (flow::Packet& packet : packets) {
        packet.number = ++number;
        judge.observe(packet);
    }
    judge.finish();
    return found_by(judge);
}

inline std::vector<Found> certain(std::string rule) {
    return {{std::move(rule), Certainty::Certain}};
}
inline std::vector<Found> possible(std::string rule) {
    return {{std::move(rule), Certainty::Possible}};
}
inline const std::vector<Found> kNothing;

inline Judge judge_of(const std::vector<flow::test::Frame>& frames, Assumptions assumptions = {}) {
    Judge judge(std::move(assumptions));
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const flow::test::Frame& frame : frames) {
        flow::test::dissect(frame, ++number, dissection);
        judge.observe(dissection);
    }
    judge.finish();
    return judge;
}

inline std::vector<std::filesystem::path> all_captures() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps")) {
        if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    return paths;
}

} // namespace veriroce::judge::test
