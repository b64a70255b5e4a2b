// What happened in one run of a case, as plain values in order of time: the packets of both sides
// and the calls of the DUT contract. The model reads it and says where the device deviates; who
// wrote the script, and what its lines want, it does not know.
//
// A packet of the device is here as it left the device, before the case's fault rules act on it. A
// packet of the tester is here only if it was on the wire, as it was there. QPs, regions and work
// requests are what the calls made.
//
// Units: instants of the tester's clock. Source: shapes of the DUT contract
// (conformance/dut/contract.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::model {

inline constexpr std::uint64_t kAtomicBytes = 8; // what an atomic reads and writes

using rules::Side;

struct Packet {
    Side from = Side::Tester;
    std::size_t number = 0;             // its place in CaseResult::packets
    wire::Bytes bytes;                  // the frame; lives as long as the record of the case
    wire::Frame frame;                  // views of `bytes`; empty for a frame that is not RoCEv2
    std::optional<wire::Packet> packet; // nothing if the bytes are too few for its headers
    std::optional<wire::FrameError> refusal; // why every receiver drops it
    wire::Interval at;                       // at the tester's port

    // Whether a receiver looks at it at all.
    [[nodiscard]] bool sound() const { return packet.has_value() && !refusal.has_value(); }
};

struct Call {
    dut::Request request;
    std::optional<dut::Answer> answer; // nothing: the case ended before
    wire::Instant asked;
    wire::Instant answered;
};

struct Step {
    enum class Kind : std::uint8_t { Packet, Asked, Answered };
    Kind kind = Kind::Packet;
    std::size_t index = 0; // in `packets` or `calls`
};

// COMPARE_SWAP or FETCH_ADD.
constexpr bool is_atomic(wire::Operation operation) {
    return operation == wire::Operation::CompareSwap || operation == wire::Operation::FetchAdd;
}

// Who the two ends are, and what is between them.
struct Setting {
    dut::Welcome dut;
    std::uint32_t gid_index = 0;
    wire::IpAddress dut_address;
    wire::MacAddress dut_mac; // or of the next hop
    wire::MacAddress tester_mac;
    std::optional<wire::VlanId> vlan; // of the network that the case is played in
    // No packet is lost, overtaken or changed between the ports, and it is known what passed the
    // device's port in which order: the steps are in the order of the device. Else they are in that
    // of the tester: the device may have got a packet later than its step, or never, and sent one
    // earlier.
    bool exact = false;
    std::uint64_t line_rate = 0; // of the device's port, bits/s; known where `exact`
    // How long the device may take for an answer or for a packet that nothing holds back.
    wire::Duration answer_time = std::chrono::milliseconds(10);
    // TMO-05: the device's ACK timer takes smaller codes for this one.
    std::uint8_t ack_timer_floor = 0;

    // The tester's QPNs: those of earlier cases are at least the lowest and below the first.
    wire::Qpn lowest_qpn;
    wire::Qpn first_qpn;

    [[nodiscard]] bool trait(std::string_view word) const;
    // Whether the ACK timer of the device keeps the time that it was given.
    [[nodiscard]] bool timed() const;
    // The shortest time after which its timer may expire; nothing: it never does.
    [[nodiscard]] std::optional<wire::Duration> ack_timeout(std::optional<std::uint8_t> code) const;
};

struct Story {
    Setting setting;
    std::vector<Packet> packets;
    std::vector<Call> calls;
    // In order of time: each packet once, each call when asked and when answered.
    std::vector<Step> steps;
    wire::Instant end; // until when the tester listened
};

} // namespace veriroce::model
