// The PSNs of one direction over time, for a graph: a thinned line of what was sent for the first
// time, one of what was acknowledged, and marks where something happened.
//
// PSNs are counted from the first one and do not wrap. Memory is bounded: a line of kMostPoints
// drops every second point when it is full; a kind of mark likewise, by kMostMarks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::analyze {

enum class MarkKind : std::uint8_t { Again, Late, SequenceNak, RnrNak, FatalNak, Timeout, Cnp };
inline constexpr std::size_t kMarkKinds = 7;

struct TracePoint {
    wire::Instant time;
    std::int64_t position = 0; // PSNs after the first one
    std::uint64_t number = 0;  // of the packet
};

// Every n-th point, n a power of two that grows with their number; and the last.
class ThinnedPoints {
  public:
    explicit ThinnedPoints(std::size_t most) : most_(most) {}

    void add(const TracePoint& point) {
        last_ = point;
        if (seen_++ % stride_ != 0) return;
        if (points_.size() == most_) halve();
        if ((seen_ - 1) % stride_ == 0) points_.push_back(point);
    }
    [[nodiscard]] const std::vector<TracePoint>& points() const { return points_; }
    [[nodiscard]] std::uint64_t seen() const { return seen_; }
    [[nodiscard]] const TracePoint& last() const { return last_; } // if any was seen

  private:
    void halve() {
        for (std::size_t i = 0; 2 * i < points_.size(); ++i)
            points_[i] = points_[2 * i];
        points_.resize((points_.size() + 1) / 2);
        stride_ *= 2;
    }

    std::size_t most_;
    std::uint64_t seen_ = 0;
    std::uint64_t stride_ = 1;
    std::vector<TracePoint> points_;
    TracePoint last_;
};

class Trace {
  public:
    static constexpr std::size_t kMostPoints = 2048;
    static constexpr std::size_t kMostMarks = 512;

    void sent(wire::Instant time, wire::Psn psn, std::uint64_t number) {
        sent_.add({time, position_of(psn), number});
    }
    void acknowledged(wire::Instant time, wire::Psn next, std::uint64_t number) {
        acknowledged_.add({time, position_of(next), number});
    }
    void mark(MarkKind kind, wire::Instant time, wire::Psn psn, std::uint64_t number) {
        marks_[static_cast<std::size_t>(kind)].add({time, position_of(psn), number});
    }
    // Of something that has no PSN: it is marked at the latest one.
    void mark(MarkKind kind, wire::Instant time, std::uint64_t number) {
        marks_[static_cast<std::size_t>(kind)].add({time, position_, number});
    }

    [[nodiscard]] wire::Psn first() const { return first_; }
    [[nodiscard]] const ThinnedPoints& sent() const { return sent_; }
    [[nodiscard]] const ThinnedPoints& acknowledged() const { return acknowledged_; }
    [[nodiscard]] const ThinnedPoints& marks(MarkKind kind) const {
        return marks_[static_cast<std::size_t>(kind)];
    }

  private:
    std::int64_t position_of(wire::Psn psn) {
        if (!begun_) first_ = latest_ = psn;
        begun_ = true;
        position_ += wire::distance(latest_, psn);
        latest_ = psn;
        return position_;
    }

    bool begun_ = false;
    wire::Psn first_;
    wire::Psn latest_;
    std::int64_t position_ = 0; // of the latest one
    ThinnedPoints sent_{kMostPoints};
    ThinnedPoints acknowledged_{kMostPoints};
    std::array<ThinnedPoints, kMarkKinds> marks_{
        ThinnedPoints(kMostMarks), ThinnedPoints(kMostMarks), ThinnedPoints(kMostMarks),
        ThinnedPoints(kMostMarks), ThinnedPoints(kMostMarks), ThinnedPoints(kMostMarks),
        ThinnedPoints(kMostMarks)};
};

} // namespace veriroce::analyze
