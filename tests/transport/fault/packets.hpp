// Frames to inject faults into, written whole by wire::write_frame.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "dissector/wire/opcode.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::fault::tests {

using Frame = std::vector<std::byte>;

inline constexpr std::uint32_t first_psn = 0xFFFFFE; // so that PSNs wrap in the tests
inline constexpr std::uint32_t qpn = 0x11;

// Offsets into them, the BTH over IPv4.
inline constexpr std::size_t ip = 14;
inline constexpr std::size_t bth4 = 42;

// A packet with this opcode, PSN from the first, and a payload of offsets.
inline Frame packet(std::string_view opcode, std::int64_t psn, bool v6 = false,
                    std::size_t payload_bytes = 64) {
    const auto code = wire::opcode_by_name(opcode);
    REQUIRE(code);
    wire::Packet packet;
    packet.bth.opcode = *code;
    packet.bth.dest_qp = wire::Qpn{qpn};
    packet.bth.psn = wire::Psn(first_psn) + psn;
    packet.headers = wire::opcode_info(*code).headers;
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    std::vector<std::byte> payload(wire::opcode_info(*code).carries_payload() ? payload_bytes : 0);
    for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<std::byte>(i);
    const wire::Envelope envelope{.source = *wire::IpAddress::parse(v6 ? "fd00::1" : "10.0.0.1"),
                                  .destination =
                                      *wire::IpAddress::parse(v6 ? "fd00::2" : "10.0.0.2"),
                                  .ecn = 2};
    Frame frame(wire::kMaxFrameOverhead + headers.size() + payload.size());
    frame.resize(wire::write_frame({}, envelope, 7, headers, payload, frame));
    return frame;
}

// Hands packets to an injector, a microsecond apart.
class Wire {
  public:
    explicit Wire(std::vector<Rule> rules, std::uint64_t seed = 1) : injector(seed) {
        std::uint32_t line = 0;
        for (Rule& rule : rules) {
            if (rule.line == 0) rule.line = ++line;
            injector.add(std::move(rule));
        }
    }

    Decision pass(const Frame& frame, std::int64_t psn, End from = End::B,
                  std::string_view qp = "") {
        now += std::chrono::microseconds(1);
        return injector.handle(
            {.from = from, .qp = qp, .qpn = qpn, .psn = psn, .now = now, .frame = frame});
    }
    // Whether a SEND_ONLY with this PSN is dropped.
    bool dropped(std::int64_t psn, End from = End::B, std::string_view qp = "") {
        const Decision decision = pass(packet("SEND_ONLY", psn), psn, from, qp);
        return !decision.untouched && decision.emissions.empty();
    }

    Injector injector;
    wire::Instant now;
};

constexpr Selector only(std::int64_t psn) {
    return {.psn = Range{psn, psn}};
}

inline Rule drop_when(Selector selector) {
    return {.action = Drop{}, .selector = std::move(selector)};
}

} // namespace veriroce::fault::tests
