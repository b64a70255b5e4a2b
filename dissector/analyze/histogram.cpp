#include "dissector/analyze/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace veriroce::analyze {

// Grows by whole doublings, at either end.
void Histogram::make_room(std::size_t step) {
    const std::size_t wanted = step - step % kSteps;
    if (steps_.empty()) {
        first_ = wanted;
        steps_.resize(kSteps);
    } else if (wanted < first_) {
        steps_.insert(steps_.begin(), first_ - wanted, 0);
        first_ = wanted;
    } else {
        steps_.resize(wanted + kSteps - first_);
    }
}

void Histogram::add(const Histogram& other) {
    if (other.count_ == 0) return;
    if (other.first_ - first_ >= steps_.size()) make_room(other.first_);
    const std::size_t last = other.first_ + other.steps_.size() - 1;
    if (last - first_ >= steps_.size()) make_room(last);
    for (std::size_t i = 0; i < other.steps_.size(); ++i)
        steps_[other.first_ + i - first_] += other.steps_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
}

std::uint64_t Histogram::quantile(double part, Within within) const {
    if (count_ == 0) return 0;
    const double wanted = std::ceil(part * static_cast<double>(count_));
    const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
    if (rank == count_) return most_;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        before += steps_[i];
        if (before < rank) continue;
        const std::size_t step = first_ + i;
        const std::uint64_t inside = within == Within::Middle ? width_of(step) / 2 : 0;
        return std::clamp(begin_of(step) + inside, least_, most_);
    }
    return most_;
}

} // namespace veriroce::analyze
