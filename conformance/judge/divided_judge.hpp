// Several judges that divide the packets of a capture by addresses, so that threads can work at the
// same time. They find what one Judge would find in all packets, as long as exact() is true.
//
//   DividedJudge judge(assumptions, shares, places);
//   judge.prepare(place, frames);          // batches in any order, on any thread
//   judge.observe(share, place, frames);   // of one share in order, never two at a time
//   judge.merge(place);                    // in order, after all shares observed the batch
//   judge.finish();
//
// A place is where a batch is kept from prepare() to merge(); no two batches have the same at a
// time. Memory: each share has its own, together at most what Limits says for one and what the
// batches under way add. Deterministic. Errors: none.
#pragma once

#include <vector>

#include "conformance/judge/judge.hpp"

namespace veriroce::judge {

class DividedJudge {
  public:
    // With more than one share, nothing may be assumed that compares packets between different
    // addresses: Assumptions::memory_at_rest and notification_points.
    DividedJudge(const Assumptions& assumptions, std::size_t shares, std::size_t places,
                 Limits limits = {});

    void prepare(std::size_t place, std::span<const decode::Dissection> frames);
    void observe(std::size_t share, std::size_t place, std::span<const decode::Dissection> frames);
    void merge(std::size_t place);
    // The shares together may have needed more than Limits allows: then a judge of one share must
    // read the capture again from its beginning.
    [[nodiscard]] bool exact() const { return exact_; }
    // After the last merge().
    void finish();

    // As Judge has them.
    [[nodiscard]] std::span<const Violation> violations() const { return violations_; }
    [[nodiscard]] const Summary& summary() const { return summary_; }

  private:
    struct alignas(64) Share {
        Judge judge;
        std::vector<flow::Need> needs; // by place
    };

    void collect_violations();

    Limits limits_;
    std::vector<flow::DividedPackets> packets_; // by place
    std::vector<Share> shares_;
    bool exact_ = true;
    std::vector<Violation> violations_;
    Summary summary_;
};

} // namespace veriroce::judge
