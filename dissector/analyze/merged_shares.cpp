#include "dissector/analyze/merged_shares.hpp"

#include <algorithm>

#include "dissector/analyze/set_ups.hpp"

namespace veriroce::analyze {

// Conversations are numbered in the order in which packets name them, each one at most one.
void MergedMessages::give_ids() {
    std::ranges::sort(named_, {}, &std::pair<std::uint64_t, std::size_t>::first);
    for (const auto& [number, share] : named_)
        ids_[share].push_back(++last_id_);
}

void MergedMessages::take(std::span<const FinishedMessage> messages, std::size_t share) {
    for (FinishedMessage message : messages) {
        message.conversation = ids_[share][message.conversation - 1];
        messages_.push_back(message);
    }
}

// Those that one packet completes are of one share, and keep their order.
void MergedMessages::order() {
    std::ranges::stable_sort(messages_, {},
                             [](const FinishedMessage& one) { return one.message.answer_number; });
}

std::vector<const Conversation*> merged(std::vector<Conversation*> all, Totals& totals) {
    std::ranges::sort(all, {}, &Conversation::named_by); // no packet names two, or begins two
    std::uint64_t id = 0;
    for (Conversation* const one : all) {
        if (one->named_by != 0) one->id = ++id;
    }
    std::ranges::sort(all, {}, &Conversation::made_by);
    for (Conversation* const one : all) {
        if (one->named_by == 0) one->id = ++id;
    }
    // One analyzer keeps the first.
    std::ranges::sort(totals.refusals, {}, &Refusal::reject_number);
    if (totals.refusals.size() > SetUps::kMostRefusals) {
        totals.refusals.resize(SetUps::kMostRefusals);
    }
    return {all.begin(), all.end()};
}

} // namespace veriroce::analyze
