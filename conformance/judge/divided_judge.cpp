#include "conformance/judge/divided_judge.hpp"

#include <algorithm>
#include <cassert>

#include "conformance/judge/violation_log.hpp"

namespace veriroce::judge {
namespace {

// What a share is told. It keeps more than one judge would: of what belongs to no connection, what
// is kept depends on all shares.
Assumptions assumptions_of(const Assumptions& all, std::size_t share, std::size_t shares) {
    Assumptions own = all;
    std::erase_if(own.connections, [&](const auto& ends) {
        return flow::share_of(ends[0].address, ends[1].address, shares) != share;
    });
    return own;
}

Limits limits_of_share(Limits limits) {
    limits.violations *= 2;
    return limits;
}

} // namespace

DividedJudge::DividedJudge(const Assumptions& assumptions, std::size_t shares, std::size_t places,
                           Limits limits)
    : limits_(limits), packets_(places) {
    assert(shares > 0 && shares <= flow::kMostShares);
    assert(shares == 1 ||
           (assumptions.memory_at_rest.empty() && assumptions.notification_points.empty()));
    for (std::size_t share = 0; share < shares; ++share) {
        if (shares == 1) {
            shares_.push_back({Judge(assumptions, limits), {}});
        } else {
            shares_.push_back(
                {Judge(assumptions_of(assumptions, share, shares), limits_of_share(limits)),
                 std::vector<flow::Need>(places)});
        }
    }
}

void DividedJudge::prepare(std::size_t place, std::span<const decode::Dissection> frames) {
    packets_[place].read(frames, shares_.size());
}

void DividedJudge::observe(std::size_t share, std::size_t place,
                           std::span<const decode::Dissection> frames) {
    Judge& judge = shares_[share].judge;
    if (shares_.size() == 1) return judge.observe(frames, packets_[place].packets());
    judge.observe(frames, packets_[place], share);
    shares_[share].needs[place] = judge.tracker().need();
}

void DividedJudge::merge(std::size_t place) {
    if (shares_.size() == 1) return;
    flow::Need need;
    for (const Share& share : shares_)
        need.add(share.needs[place]);
    exact_ = exact_ && need.within(limits_.flow);
}

void DividedJudge::finish() {
    LastTimes last;
    for (const Share& share : shares_) {
        const LastTimes& times = share.judge.last_times();
        if (times.packet && (!last.packet || times.number > last.number)) {
            last.packet = times.packet;
            last.number = times.number;
        }
        if (times.frame) last.frame = std::max(last.frame.value_or(*times.frame), *times.frame);
    }
    for (Share& share : shares_) {
        share.judge.finish(last);
        summary_.add(share.judge.summary());
    }
    collect_violations();
}

// In the order in which one judge would have found them, and as many of them as it would keep.
void DividedJudge::collect_violations() {
    if (shares_.size() == 1) {
        const auto all = shares_.front().judge.violations();
        violations_.assign(all.begin(), all.end());
        return;
    }
    struct Found {
        FoundAt at;
        std::size_t share = 0;
        const Violation* violation = nullptr;
    };
    std::vector<Found> found;
    for (std::size_t share = 0; share < shares_.size(); ++share) {
        const Judge& judge = shares_[share].judge;
        for (std::size_t i = 0; i < judge.violations().size(); ++i)
            found.push_back({judge.found_at()[i], share, &judge.violations()[i]});
    }
    std::ranges::stable_sort(found, {}, &Found::at);
    ViolationLog log(limits_);
    for (const Found& one : found) {
        Violation violation = *one.violation;
        // Shares count their connections by themselves.
        if (violation.connection != 0) {
            violation.connection = violation.connection * shares_.size() + one.share;
        }
        log.add(std::move(violation), one.at.number);
    }
    violations_.assign(log.violations().begin(), log.violations().end());
}

} // namespace veriroce::judge
