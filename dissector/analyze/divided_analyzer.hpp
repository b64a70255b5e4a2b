// Several analyzers that divide the packets of a capture by addresses, so that threads can work at
// the same time. They say what one Analyzer would say of all packets, as long as exact() is true.
//
//   DividedAnalyzer analyzer(options, shares, places);
//   analyzer.prepare(place, frames);          // batches in any order, on any thread
//   analyzer.observe(share, place, frames);   // of one share in order, never two at a time
//   analyzer.merge(place);                    // in order, after all shares observed the batch
//   analyzer.finish();
//
// A place is where a batch is kept from prepare() to merge(); no two batches have the same at a
// time. Memory: each share has its own, together at most what Options says for one and what the
// batches under way add. Deterministic. Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissector/analyze/analyzer.hpp"
#include "dissector/analyze/merged_shares.hpp"

namespace veriroce::analyze {

class DividedAnalyzer {
  public:
    // With more than one share, Options::traces must be 0: which conversations are the first ones
    // is known at the end.
    DividedAnalyzer(const Options& options, std::size_t shares, std::size_t places);

    void prepare(std::size_t place, std::span<const decode::Dissection> frames);
    void observe(std::size_t share, std::size_t place, std::span<const decode::Dissection> frames);
    void merge(std::size_t place);
    // The shares together may have needed more than Options allows: then an analyzer of one share
    // must read the capture again from its beginning. What merge() gave before is right.
    [[nodiscard]] bool exact() const { return exact_; }
    // After the last merge().
    void finish();

    // As Analyzer has them; the messages are those of the last merge().
    [[nodiscard]] std::span<const FinishedMessage> messages() const {
        return shares_.size() == 1 ? messages_ : merged_.messages();
    }
    [[nodiscard]] const Totals& totals() const { return totals_; }
    [[nodiscard]] std::span<const Conversation* const> conversations() const {
        return conversations_;
    }

  private:
    struct ByPlace {
        Observed observed;
        Need need;
    };
    struct alignas(64) Share {
        Analyzer analyzer;
        std::vector<ByPlace> by_place;
    };

    Options options_;
    std::vector<flow::DividedPackets> packets_; // by place
    std::vector<Share> shares_;
    bool exact_ = true;
    MergedMessages merged_;
    std::vector<FinishedMessage> messages_; // of the only share
    Totals totals_;
    std::vector<const Conversation*> conversations_;
};

} // namespace veriroce::analyze
