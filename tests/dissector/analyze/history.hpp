// Histories by hand for the analysis: two ends, `a` with QP 0x11 and `b` with QP 0x22.
#pragma once

#include <catch2/catch.hpp>

#include "dissector/analyze/analyzer.hpp"
#include "dissector/analyze/health.hpp"
#include "dissector/analyze/report.hpp"
#include "tests/dissector/flow/captured.hpp"

namespace veriroce::analyze::test {

using flow::test::Frame;
using flow::test::Wire;
using namespace std::chrono_literals;

inline constexpr std::uint8_t kWriteFirst = 0x06;
inline constexpr std::uint8_t kWriteMiddle = 0x07;
inline constexpr std::uint8_t kWriteLast = 0x08;
inline constexpr std::uint8_t kSendOnly = 0x04;
inline constexpr std::uint8_t kReadFirst = 0x0D;
inline constexpr std::uint8_t kReadMiddle = 0x0E;
inline constexpr std::uint8_t kReadLast = 0x0F;

// The packets are numbered in their order.
inline Analyzer analysed(std::vector<flow::Packet> packets, Options options = {}) {
    Analyzer analyzer(options);
    std::uint64_t number = 0;
    for (flow::Packet& packet : packets) {
        packet.number = ++number;
        analyzer.observe(packet);
    }
    analyzer.finish();
    return analyzer;
}

inline Analyzer analysed(const std::vector<Frame>& frames) {
    Analyzer analyzer;
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Frame& frame : frames) {
        flow::test::dissect(frame, ++number, dissection);
        analyzer.observe({&dissection, 1});
    }
    analyzer.finish();
    return analyzer;
}

inline const Conversation& only(const Analyzer& analyzer) {
    const auto all = analyzer.conversations();
    REQUIRE(all.size() == 1);
    return *all.front();
}

// The requests of the end with this address.
inline const Direction& requests_of(const Conversation& conversation, const char* address) {
    const bool first = conversation.ends[0].address == wire::IpAddress::parse(address).value();
    return conversation.directions[first ? 0 : 1];
}
inline const Direction& from_a(const Conversation& conversation) {
    return requests_of(conversation, "10.77.0.1");
}

inline flow::Packet at(flow::Packet packet, std::int64_t us, std::uint16_t identification = 0) {
    packet.time = wire::Instant(wire::Duration(us * 1000));
    packet.identification = identification;
    return packet;
}

inline std::array<std::uint64_t, kVerdicts> verdicts(Verdict verdict, std::uint64_t count) {
    std::array<std::uint64_t, kVerdicts> counts{};
    counts[static_cast<std::size_t>(verdict)] = count;
    return counts;
}

inline std::uint64_t resent(const Direction& facts, flow::Cause cause) {
    return facts.resent[static_cast<std::size_t>(cause)];
}
inline wire::Duration spent(const Direction& facts, Doing doing) {
    return facts.spent[static_cast<std::size_t>(doing)].sum;
}

} // namespace veriroce::analyze::test
