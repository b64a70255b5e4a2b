// What happened to packets between two capture points: which arrived, when, in which order, and
// which were lost, damaged, doubled or marked in between.
//
//   Passages passages(clocks);
//   for (...) passages.observe(point, packet);   // in the order of time on the first point's clock
//   passages.finish();
//   passages.flows(), passages.missing()
//
// A packet that one point alone saw was lost on the way, or the other capture lacks it. It is
// called
//   lost          if its sender sent it again, and of the packets that the far point lacks at least
//                 16 were sent again for each that was not, though RC would have to; among requests
//                 that get RNR NAKs, only what a sequence NAK or a READ names
//   damaged       if it came to the far point with a wrong ICRC
//   not captured  if its flow went on for 500 ms or 4096 packets and it was not sent again
//   undecided     otherwise: acknowledgements, datagrams and what had arrived before are not sent
//                 again
// so that a thinned capture is not taken for a bad network.
//
// Memory: at most kMostWaiting packets that may still come to the other point, kMostFlows flows,
// kMostMissing missing packets in the list (all are counted). Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dissector/analyze/histogram.hpp"
#include "dissector/flow/packet.hpp"
#include "dissector/two_points/clocks.hpp"

namespace veriroce::two_points {

enum class Fate : std::uint8_t { Lost, Damaged, NotCaptured, Undecided };
inline constexpr std::size_t kFates = 4;
std::string_view name_of(Fate fate);

// The packets from one address to one QP of another.
struct Flow {
    Path path;
    wire::Qpn to_qp;
    Point nearer = Point::First;      // the point that they pass first, the near point
    std::uint64_t packets = 0;        // at the near point, without damaged ones
    std::uint64_t arrived = 0;        // at the far point as well
    std::uint64_t doubled = 0;        // came to the far point more often than they were sent
    std::uint64_t overtaken = 0;      // came after packets that were sent after them
    std::uint64_t marked = 0;         // "congestion experienced" was set in between
    std::uint64_t only_far = 0;       // seen at the far point alone: not captured at the near one
    std::uint64_t damaged_before = 0; // came to the near point with a wrong ICRC
    std::uint64_t damaged_far = 0;    // came to the far point so, and no good packet is like them
    std::array<std::uint64_t, kFates> missing{};
    analyze::Histogram delay_ns;

    [[nodiscard]] std::uint64_t count(Fate fate) const {
        return missing[static_cast<std::size_t>(fate)];
    }
    // Of the packets whose fate is known.
    [[nodiscard]] double lost_part() const;
};

// Seen at the near point of its flow and not, or only damaged, at the far point.
struct Missing {
    std::uint32_t flow = 0; // index
    Fate fate = Fate::Undecided;
    std::uint8_t opcode = 0;
    wire::Psn psn;
    wire::Instant time;       // on the first point's clock
    std::uint64_t number = 0; // at the near point
    std::uint64_t other = 0;  // sent again: that one's number there; damaged: at the far point
};

class Passages {
  public:
    static constexpr std::size_t kMostWaiting = 1 << 21;
    static constexpr std::size_t kMostFlows = 262'144;
    static constexpr std::size_t kMostMissing = 100'000;
    // No packet is longer on its way, and none is sent again later.
    static constexpr wire::Duration kLongest = std::chrono::seconds(5);

    explicit Passages(const Clocks& clocks);

    void observe(Point point, const flow::Packet& packet);
    void finish();

    [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
    // In the order of time; the first kMostMissing.
    [[nodiscard]] const std::vector<Missing>& missing() const { return missing_; }
    [[nodiscard]] std::uint64_t other_packets() const { return other_packets_; } // of more flows
    [[nodiscard]] const std::array<std::uint64_t, 2>& seen() const { return seen_; } // by point

  private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    struct Key {
        Path path;
        wire::Qpn to_qp;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const;
    };
    // A packet that waits for its like at the other point. Chains lead to earlier positions.
    struct Waiting {
        std::uint64_t identity = 0;
        std::uint64_t place = 0; // path, PSN, request or response
        std::uint64_t before_with_identity = 0;
        std::uint64_t before_with_place = 0;
        wire::Instant time;
        std::uint64_t number = 0;
        std::uint64_t other = 0; // see Missing
        std::uint64_t order = 0; // among the packets of its flow at the near point, from 1
        std::uint32_t flow = 0;
        wire::Psn psn;
        std::uint8_t opcode = 0;
        std::uint8_t ecn = 0;
        Point point = Point::First;
        bool met = false;
        bool damaged = false;  // at the far point
        bool needless = false; // one like it had arrived
        bool named = false;    // by a sequence NAK, or by a READ that asks for it again
    };
    // What is needed of a flow while it runs.
    struct Course {
        std::uint64_t order = 0;         // of the newest packet at the near point
        std::uint64_t newest_passed = 0; // the greatest order that arrived
        wire::Instant last{};            // at the near point
    };

    std::uint32_t flow_of(const flow::Packet& packet);
    [[nodiscard]] Waiting& at(std::uint64_t position) {
        return waiting_[position & (waiting_.size() - 1)];
    }
    void append(const Waiting& one);
    void grow();
    void expire(wire::Instant now);
    void settle(const Waiting& one);
    Waiting* other_of(const Waiting& one, bool met);
    Waiting* sent_as(const Waiting& damaged);
    template <typename Visit>
    void visit_place(std::uint64_t place, Visit visit);
    template <typename Visit>
    void visit_like(const Waiting& one, Visit visit);
    void note_answer(const flow::Packet& packet);
    void note_sent_again(Waiting& one);
    void meet(Waiting& earlier, const Waiting& one);
    void take_damaged(Point point, const Waiting& one);
    [[nodiscard]] Waiting waiting_of(Point point, const flow::Packet& packet, std::uint32_t flow);

    const Clocks& clocks_;
    std::vector<Flow> flows_;
    std::vector<Course> courses_;
    std::unordered_map<Key, std::uint32_t, KeyHash> flow_numbers_;
    std::vector<Waiting> waiting_; // a ring; positions begin_ to end_, which are never 0
    std::uint64_t begin_ = 1;
    std::uint64_t end_ = 1;
    std::vector<std::uint64_t> by_identity_; // the latest position
    std::vector<std::uint64_t> by_place_;
    std::vector<Missing> missing_;
    std::unordered_set<Path, PathHash> rnr_on_; // requests of these paths got RNR NAKs
    std::array<std::uint64_t, 2> not_missed_{}; // of flows from each point: never sent again
    std::uint64_t other_packets_ = 0;
    std::array<std::uint64_t, 2> seen_{};
};

} // namespace veriroce::two_points
