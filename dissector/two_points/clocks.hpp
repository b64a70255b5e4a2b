// How the clock of a second capture point stands against that of the first, and which way packets
// take between the two: known from packets that both points saw.
//
//   Clocks clocks;
//   for (...) clocks.add(Point::First, packet);     // in any order
//   for (...) clocks.add(Point::Second, packet);
//   clocks.compare();
//   clocks.on_first(Point::Second, time)            // on the first point's clock
//
// A packet that passes the first point and then the second shows offset + delay, one on the way
// back offset - delay. The offset lies between the least of the former and the greatest of the
// latter; half of the distance between them is the uncertainty, since nothing tells the two delays
// of an idle network apart. Clocks drift: along a line, and beside it from span to span of 10 s or
// more.
//
// Memory: packets are sampled by their identity, so that both points sample the same ones; at most
// kMostSamples are kept. What occurs twice at a point is no sample. Errors: none.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dissector/flow/packet.hpp"

namespace veriroce::two_points {

enum class Point : std::uint8_t { First, Second };

// From one address to another.
struct Path {
    wire::IpAddress from;
    wire::IpAddress to;

    [[nodiscard]] Path back() const { return {.from = to, .to = from}; }
    friend bool operator==(const Path&, const Path&) = default;
};
struct PathHash {
    std::size_t operator()(const Path& path) const;
};

inline double ns(wire::Duration duration) {
    return static_cast<double>(duration.count());
}

class Clocks {
  public:
    static constexpr std::size_t kMostSamples = 1 << 18;

    void add(Point point, const flow::Packet& packet);
    // After all packets. False if no packet was seen at both points.
    bool compare();

    // A time of a point's clock on the first point's clock.
    [[nodiscard]] wire::Instant on_first(Point point, wire::Instant time) const;
    // Which point packets of this path pass first.
    [[nodiscard]] Point nearer(const Path& path) const;

    [[nodiscard]] std::size_t samples() const { return matched_; }
    // Whether packets of both ways were seen at both points. Without them the fastest packet counts
    // as one that took no time.
    [[nodiscard]] bool both_ways() const { return both_ways_; }
    // At the beginning of what both saw: the second clock less the first.
    [[nodiscard]] wire::Duration offset() const;
    // Nanoseconds that the second clock gains in a second.
    [[nodiscard]] double drift() const { return slope_ * 1e9; }
    // The greatest of all spans of time; 0 if packets of one way alone were seen.
    [[nodiscard]] wire::Duration uncertainty() const { return uncertainty_; }

  private:
    struct Sample {
        std::uint32_t path = 0;
        std::array<std::uint8_t, 2> seen{};
        std::array<wire::Instant, 2> times{};
    };
    struct Knot { // on the first clock; nanoseconds beside the line
        wire::Instant at;
        double offset = 0;
    };
    struct Difference;

    std::uint32_t number_of(const Path& path);
    void thin_out();
    [[nodiscard]] std::vector<Difference> differences() const;
    void find_ways(const std::vector<Difference>& all);
    void fit_line(const std::vector<Difference>& all);
    void set_knots(const std::vector<Difference>& all);
    [[nodiscard]] double offset_at(wire::Instant on_first) const; // nanoseconds

    std::unordered_map<std::uint64_t, Sample> samples_;
    std::uint64_t kept_below_ = UINT64_MAX; // identities, mixed
    std::unordered_map<Path, std::uint32_t, PathHash> path_numbers_;
    std::vector<Path> paths_;
    std::vector<Point> nearer_; // by the number of the path
    std::size_t matched_ = 0;
    bool both_ways_ = false;
    wire::Instant begin_{};
    wire::Duration offset_{0}; // whole nanoseconds, which doubles would not hold
    double slope_ = 0;
    std::vector<Knot> knots_;
    wire::Duration uncertainty_{0};
};

} // namespace veriroce::two_points
