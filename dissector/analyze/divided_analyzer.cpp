#include "dissector/analyze/divided_analyzer.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "dissector/analyze/set_ups.hpp"

namespace veriroce::analyze {

namespace {

// Gives conversations of several analyzers the ids and the order that one would.
std::vector<const Conversation*> in_order(std::vector<Conversation*> all) {
    std::ranges::sort(all, {}, &Conversation::named_by); // no packet names two, or begins two
    std::uint64_t id = 0;
    for (Conversation* const one : all) {
        if (one->named_by != 0) one->id = ++id;
    }
    std::ranges::sort(all, {}, &Conversation::made_by);
    for (Conversation* const one : all) {
        if (one->named_by == 0) one->id = ++id;
    }
    return {all.begin(), all.end()};
}

// One analyzer keeps the first.
void order_refusals(Totals& totals) {
    std::ranges::sort(totals.refusals, {}, &Refusal::reject_number);
    if (totals.refusals.size() > SetUps::kMostRefusals) {
        totals.refusals.resize(SetUps::kMostRefusals);
    }
}

} // namespace

DividedAnalyzer::DividedAnalyzer(const Options& options, std::size_t shares, std::size_t places)
    : options_(options), packets_(places), shares_(shares) {
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
    Observed& observed = shares_[share].by_place[place];
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
    observed.need = analyzer.need();
}

void DividedAnalyzer::merge(std::size_t place) {
    if (shares_.size() == 1) {
        std::swap(messages_, shares_.front().by_place[place].messages);
        return;
    }
    Need need;
    for (const Share& share : shares_)
        need.add(share.by_place[place].need);
    exact_ = exact_ && need.within(options_);
    give_ids(place);
    merge_messages(place);
}

// Conversations are numbered in the order in which packets name them, each one at most one.
void DividedAnalyzer::give_ids(std::size_t place) {
    std::vector<std::pair<std::uint64_t, Share*>> named;
    for (Share& share : shares_) {
        for (const std::uint64_t number : share.by_place[place].named)
            named.emplace_back(number, &share);
    }
    std::ranges::sort(named, {}, &std::pair<std::uint64_t, Share*>::first);
    for (const auto& [number, share] : named)
        share->ids.push_back(++last_id_);
}

void DividedAnalyzer::merge_messages(std::size_t place) {
    messages_.clear();
    if (!options_.messages) return;
    for (const Share& share : shares_) {
        for (FinishedMessage message : share.by_place[place].messages) {
            message.conversation = share.ids[message.conversation - 1];
            messages_.push_back(message);
        }
    }
    // Those that one packet completes are of one share, and keep their order.
    std::ranges::stable_sort(messages_, {},
                             [](const FinishedMessage& one) { return one.message.answer_number; });
}

void DividedAnalyzer::finish() {
    std::vector<Conversation*> all;
    for (Share& share : shares_) {
        share.analyzer.finish();
        totals_.add(share.analyzer.totals());
        const auto own = share.analyzer.conversations();
        all.insert(all.end(), own.begin(), own.end());
    }
    conversations_ = in_order(std::move(all));
    order_refusals(totals_);
}

} // namespace veriroce::analyze
