// The judge: holds a stream of packets against the rules of the catalogue. It is an independent
// reading of the standard: predicates over what was seen, which allow every behaviour that the
// standard leaves open. It knows no engine, file or clock.
//
//   Judge judge(assumptions);
//   for (...) judge.observe(dissection);        // frames of a capture
//   for (...) judge.observe(packet);            // or packets in memory (flow::packet_of)
//   judge.finish();
//   for (const Violation& violation : judge.violations()) ...
//
// Packets come in the order in which they were recorded. Memory is bounded: the tracker's Limits,
// and Limits here. Deterministic: the same packets and assumptions give the same violations.
// Source: conformance/rules/catalogue.tsv; README.md lists the rules that are judged.
#pragma once

#include <memory>
#include <span>

#include "conformance/judge/assumptions.hpp"
#include "conformance/judge/violation.hpp"
#include "dissector/flow/divided_packets.hpp"
#include "dissector/flow/frame_packet.hpp"

namespace veriroce::judge {

struct Limits {
    flow::Limits flow;
    std::size_t violations = 10'000;            // kept; more are counted
    std::size_t of_one_rule_per_connection = 8; // likewise
};

struct Summary {
    std::uint64_t packets = 0; // RoCEv2 packets that were judged
    std::uint64_t connections = 0;
    std::uint64_t evicted = 0;         // connections that were forgotten to make room
    std::uint64_t damaged = 0;         // packets with a wrong ICRC: judged by nothing but CRC-01
    std::uint64_t contradictory = 0;   // packets whose lengths or IP version no receiver takes
    std::uint64_t checksum_left = 0;   // packets whose IPv4 checksum is 0: left to the NIC
    std::uint64_t unpaired = 0;        // responses whose connection was not known: not judged
    std::uint64_t beyond_history = 0;  // packets older than what was kept: not judged
    std::uint64_t lost_by_capture = 0; // PSNs that were acknowledged and never seen
    std::uint64_t certain = 0;         // violations, those not kept included
    std::uint64_t possible = 0;
    std::uint64_t undecidable = 0;

    // Of frames of a capture: how many there were, and those that were not judged.
    std::uint64_t frames = 0;
    std::uint64_t incomplete = 0;      // RoCEv2 packets without all headers
    std::uint64_t fragmented = 0;      // RoCEv2 packets of which this is the first IP fragment
    std::uint64_t later_fragments = 0; // IP fragments without headers: of them, or of others
    std::uint64_t other_transport = 0; // RoCE v1 and InfiniBand
    std::uint64_t unsupported = 0;     // of a link type that is not supported
    std::uint16_t unsupported_link = 0;

    [[nodiscard]] std::uint64_t judged() const { return packets - damaged - contradictory; }
    // Of other connections.
    void add(const Summary& other);
};

// What the end of a recording is judged by.
struct LastTimes {
    std::optional<wire::Instant> packet; // of the last packet that has a time
    std::uint64_t number = 0;            // of that packet
    std::optional<wire::Instant> frame;  // the latest of all frames, whatever they carry
};

// When a violation was found: by packets in the order of their numbers; at the end in rounds over
// all connections, in the order of their last packets.
struct FoundAt {
    std::uint8_t round = 0; // 0: before the end
    std::uint64_t number = 0;
    friend auto operator<=>(const FoundAt&, const FoundAt&) = default;
};

class Judge {
  public:
    explicit Judge(Assumptions assumptions = {}, Limits limits = {});
    ~Judge();
    Judge(Judge&&) noexcept;
    Judge& operator=(Judge&&) noexcept;

    // A frame as a capture holds it; also what stands before the transport headers is judged.
    // Frames without a RoCEv2 packet are passed over.
    void observe(const decode::Dissection& frame) { observe(std::span(&frame, 1)); }
    // Several, one after the other; with many connections less time is spent waiting for memory.
    void observe(std::span<const decode::Dissection> frames);
    static constexpr std::size_t kTogether = 16; // so many are taken at a time
    // The same, with what flow::read_packets() gave for them.
    void observe(std::span<const decode::Dissection> frames,
                 std::span<const flow::FramePacket> packets);
    // Of a batch that several judges divide, the share of this one.
    void observe(std::span<const decode::Dissection> frames, const flow::DividedPackets& packets,
                 std::size_t share);
    void observe(const flow::Packet& packet);
    // After the last packet: what only the end can show, such as answers that never came. `end` is
    // until when was recorded, if that was longer than the last packet. Observing afterwards is an
    // error.
    void finish(std::optional<wire::Instant> end = std::nullopt);
    // The same of one judge of several, with the times of all.
    void finish(const LastTimes& times);
    [[nodiscard]] const LastTimes& last_times() const;

    // In the order in which they were found.
    [[nodiscard]] std::span<const Violation> violations() const;
    [[nodiscard]] std::span<const FoundAt> found_at() const; // each of these
    [[nodiscard]] Summary summary() const;
    [[nodiscard]] const flow::Tracker& tracker() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace veriroce::judge
