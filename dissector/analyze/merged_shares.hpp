// What several analyzers say that each saw a share of the packets, put together to what one
// Analyzer would say of all of them: threads of a process (divided_analyzer.hpp) and processes
// divide packets by their addresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissector/analyze/analyzer.hpp"

namespace veriroce::analyze {

// What a share observed in a batch.
struct Observed {
    std::vector<FinishedMessage> messages;
    std::vector<std::uint64_t> named;
};

// The messages of all shares, batch by batch, with the ids of their conversations.
class MergedMessages {
  public:
    explicit MergedMessages(std::size_t shares) : ids_(shares) {}

    // A batch as all shares observed it, one after the other: `of_share` gives it for 0 and up.
    template <typename OfShare>
    void add(const OfShare& of_share) {
        named_.clear();
        messages_.clear();
        for (std::size_t share = 0; share < ids_.size(); ++share) {
            for (const std::uint64_t number : of_share(share).named)
                named_.emplace_back(number, share);
        }
        give_ids();
        for (std::size_t share = 0; share < ids_.size(); ++share)
            take(of_share(share).messages, share);
        order();
    }
    // Of the last batch.
    [[nodiscard]] std::span<const FinishedMessage> messages() const { return messages_; }

  private:
    void give_ids();
    void take(std::span<const FinishedMessage> messages, std::size_t share);
    void order();

    std::vector<std::vector<std::uint64_t>> ids_; // by share, and by the share's own ids from 1
    std::uint64_t last_id_ = 0;
    std::vector<std::pair<std::uint64_t, std::size_t>> named_; // by which packet, in which share
    std::vector<FinishedMessage> messages_;
};

// Gives conversations of all shares the ids and the order that one analyzer would, and orders the
// refusals of all.
std::vector<const Conversation*> merged(std::vector<Conversation*> of_all, Totals& of_all_totals);

} // namespace veriroce::analyze
