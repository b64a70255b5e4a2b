// The counters of `--stats` and their summary on one screen. Internal to this room.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dissector/decode/dissection.hpp"
#include "dissector/dissect/flow_counts.hpp"
#include "dissector/dissect/not_followed.hpp"

namespace veriroce::dissect {

using OpcodeCounts = std::array<std::uint64_t, 256>;

// Counts that do not depend on the order of packets.
struct PacketCounts {
    // False if the packet belongs to no flow.
    bool add(const decode::Dissection& dissection, OpcodeCounts& opcodes);
    void add(const PacketCounts& other);

    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t roce = 0;  // RoCEv2
    std::uint64_t other = 0; // RoCE v1 and InfiniBand
    std::uint64_t payload = 0;
    std::uint64_t cut = 0;
    std::uint64_t malformed = 0;
    std::uint64_t with_findings = 0;
    std::array<std::uint64_t, 3> icrc{};    // by IcrcStatus
    std::array<std::uint64_t, 4> answers{}; // acknowledgements without data, by AckKind
    std::array<std::uint64_t, decode::kFindingKinds> findings{};
    std::uint64_t fragments = 0; // IP fragments
    std::uint64_t pauses = 0;    // PAUSE frames
    std::uint64_t priority_pauses = 0;
    std::optional<std::int64_t> first_ns;
    std::optional<std::int64_t> last_ns;

  private:
    void add_answer(const decode::Dissection& dissection);
};

// The counts of a few frames, taken on any thread: of few bytes, because they go to another one.
struct CountedBatch {
    // False if what is counted of a frame depends on frames before: connection management and TCP,
    // and frames that were not taken apart, of which only so many types are listed.
    bool complete = true;
    PacketCounts counts;
    std::vector<std::pair<std::uint8_t, std::uint64_t>> opcodes; // those that there were
    std::vector<FlowPacket> flows; // in the order of their first packets

    void take(std::span<const decode::Dissection> frames);

  private:
    // By some bits of the QP: a flow, and one of its packets.
    struct Recent {
        std::size_t flow = 0;
        const decode::Dissection* packet = nullptr;
    };
    using RecentFlows = std::array<Recent, 64>;

    void add_flow(const decode::Dissection& frame, RecentFlows& recent_flows);
};

class Statistics {
  public:
    void add(const decode::Dissection& dissection);
    // A complete one: the same as each of its frames.
    void add(const CountedBatch& batch);
    void append(std::string& out);

  private:
    void append_answers(std::string& out) const;
    void append_findings(std::string& out) const;
    void append_carriers(std::string& out) const;
    void append_opcodes(std::string& out) const;
    void append_flows(std::string& out);

    PacketCounts counts_;
    OpcodeCounts opcodes_{};
    FlowCounts flows_;
    NotFollowedCounts not_followed_;
};

} // namespace veriroce::dissect
