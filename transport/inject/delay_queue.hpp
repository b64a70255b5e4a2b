// Frames that leave later, by time; equal times leave in the order in which they came. Bounded in
// frames and bytes: push() says no when it is full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/fault/rule.hpp"

namespace veriroce::inject {

inline constexpr std::size_t kMaxDelayedFrames = 65'536;
inline constexpr std::size_t kMaxDelayedBytes = 256U << 20;

struct DelayedFrame {
    wire::Instant at;
    std::uint64_t number = 0;
    fault::End from = fault::End::A;
    std::vector<std::byte> bytes;
};

class DelayQueue {
  public:
    bool push(wire::Instant at, fault::End from, std::vector<std::byte> bytes) {
        if (heap_.size() == kMaxDelayedFrames || bytes_ + bytes.size() > kMaxDelayedBytes) {
            return false;
        }
        bytes_ += bytes.size();
        heap_.push_back({at, ++number_, from, std::move(bytes)});
        std::ranges::push_heap(heap_, later);
        return true;
    }
    [[nodiscard]] std::optional<wire::Instant> next() const {
        if (heap_.empty()) return std::nullopt;
        return heap_.front().at;
    }
    std::optional<DelayedFrame> pop(wire::Instant now) {
        if (heap_.empty() || heap_.front().at > now) return std::nullopt;
        std::ranges::pop_heap(heap_, later);
        DelayedFrame frame = std::move(heap_.back());
        heap_.pop_back();
        bytes_ -= frame.bytes.size();
        return frame;
    }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }

  private:
    static bool later(const DelayedFrame& one, const DelayedFrame& two) {
        return one.at != two.at ? one.at > two.at : one.number > two.number;
    }
    std::vector<DelayedFrame> heap_;
    std::size_t bytes_ = 0;
    std::uint64_t number_ = 0;
};

} // namespace veriroce::inject
