#include "conformance/judge/arrivals.hpp"

#include <algorithm>

namespace veriroce::judge {
namespace {

bool behind(wire::Psn psn, wire::Psn other) {
    return wire::distance(psn, other) > 0;
}

} // namespace

void Arrivals::begin_at(wire::Psn psn) {
    *this = Arrivals();
    known_ = true;
    sure_ = most_ = psn;
}

Arrivals::Effect Arrivals::request(wire::Psn psn, std::uint32_t span, bool sure) {
    Effect effect;
    if (!known_) return effect;
    const wire::Psn end = psn + span;
    effect.ahead = sure && behind(most_, psn);
    if (behind(psn, sure_)) {
        if (!again_) again_ = Range{.low = psn, .high = psn};
        if (behind(psn, again_->low)) again_->low = psn;
        if (behind(again_->high, psn)) again_->high = psn;
    }
    if (behind(sure_, psn)) {
        remember({.low = sure_, .high = behind(most_, psn) ? most_ : psn + -1});
    }
    if (!behind(most_, psn) && behind(most_, end)) most_ = end;
    if (sure && !waits_ && psn == sure_) {
        effect.taken = true;
        sure_ = end;
    }
    return effect;
}

void Arrivals::acknowledged(wire::Psn before, wire::Psn sent) {
    if (!known_) {
        const bool unplaced = unplaced_;
        begin_at(before);
        most_ = behind(before, sent) ? sent : before;
        if (unplaced) remember({.low = sure_, .high = most_});
        return;
    }
    if (again_ && behind(again_->low, before)) again_->low = before;
    if (again_ && behind(again_->high, before)) again_.reset();
    if (waits_ ? !behind(before, sure_) && before != sure_ : behind(sure_, before)) {
        sure_ = before;
        waits_ = false;
    }
    if (behind(most_, sure_)) most_ = sure_;
}

void Arrivals::not_ready(wire::Psn psn) {
    const bool retried = again_ && !behind(psn, again_->low);
    sure_ = psn;
    waits_ = true;
    if (behind(most_, sure_)) most_ = sure_;
    // What came behind the retry met one that had dropped the packets between (RNR-04).
    if (retried && behind(psn + 1, most_)) remember({.low = psn + 1, .high = most_ + -1});
    again_.reset();
}

std::optional<wire::Psn> Arrivals::expected() const {
    if (!known_ || waits_ || sure_ != most_) return std::nullopt;
    return sure_;
}

bool Arrivals::may_have_missed(wire::Psn psn) const {
    return std::any_of(missed_.begin(), missed_.begin() + missed_count_, [psn](Range range) {
        return !behind(psn, range.low) && !behind(range.high, psn);
    });
}

// Where there is no room the oldest two become one, with all that lies between them.
void Arrivals::remember(Range range) {
    if (missed_count_ > 0) {
        const Range& last = missed_[missed_count_ - 1];
        if (last.low == range.low && last.high == range.high) return;
    }
    if (missed_count_ == missed_.size()) {
        if (behind(missed_[0].low, missed_[1].low)) missed_[1].low = missed_[0].low;
        if (behind(missed_[1].high, missed_[0].high)) missed_[1].high = missed_[0].high;
        std::ranges::copy(missed_.begin() + 1, missed_.end(), missed_.begin());
        --missed_count_;
    }
    missed_[missed_count_++] = range;
}

} // namespace veriroce::judge
