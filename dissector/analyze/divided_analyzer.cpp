#include "dissector/analyze/divided_analyzer.hpp"

#include <cassert>
#include <utility>

namespace veriroce::analyze {

DividedAnalyzer::DividedAnalyzer(const Options& options, std::size_t shares, std::size_t places)
    : options_(options), packets_(places), shares_(shares), merged_(shares) {
    assert(shares > 0 && shares <= flow::kMostShares);
    assert(shares == 1 || options.traces == 0);
    for (Share& share : shares_) {
        share.analyzer = Analyzer(options);
        share.by_place.resize(places);
    }
}

void DividedAnalyzer::prepare(std::size_t place, std::span<const decode::Dissection> frames) {
    packets_[place].read(frames, shares_.size());
}

void DividedAnalyzer::observe(std::size_t share, std::size_t place,
                              std::span<const decode::Dissection> frames) {
    Analyzer& analyzer = shares_[share].analyzer;
    auto& [observed, need] = shares_[share].by_place[place];
    const flow::DividedPackets& packets = packets_[place];
    if (shares_.size() == 1) {
        analyzer.observe(frames, packets.packets());
        if (options_.messages)
            observed.messages.assign(analyzer.messages().begin(), analyzer.messages().end());
        return;
    }
    analyzer.observe(frames, packets, share);
    observed.messages.assign(analyzer.messages().begin(), analyzer.messages().end());
    observed.named.assign(analyzer.named().begin(), analyzer.named().end());
    need = analyzer.need();
}

void DividedAnalyzer::merge(std::size_t place) {
    if (shares_.size() == 1) {
        std::swap(messages_, shares_.front().by_place[place].observed.messages);
        return;
    }
    Need need;
    for (const Share& share : shares_)
        need.add(share.by_place[place].need);
    exact_ = exact_ && need.within(options_);
    merged_.add([&](std::size_t share) -> const Observed& {
        return shares_[share].by_place[place].observed;
    });
}

void DividedAnalyzer::finish() {
    std::vector<Conversation*> all;
    for (Share& share : shares_) {
        share.analyzer.finish();
        totals_.add(share.analyzer.totals());
        const auto own = share.analyzer.conversations();
        all.insert(all.end(), own.begin(), own.end());
    }
    conversations_ = merged(std::move(all), totals_);
}

} // namespace veriroce::analyze
