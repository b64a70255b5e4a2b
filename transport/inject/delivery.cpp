#include "transport/inject/delivery.hpp"

#include <algorithm>

namespace veriroce::inject {
namespace {

constexpr std::int64_t kWordBits = 64;

constexpr std::uint64_t bit_of(std::int64_t psn) {
    return std::uint64_t{1} << static_cast<unsigned>(psn % kWordBits);
}

} // namespace

void Delivery::sent(std::int64_t psn, std::size_t bytes, bool ends_message) {
    if (!open_.empty() && psn <= open_.back().psn) return; // again
    if (open_.size() == kMaxUnacknowledged) open_.pop_front();
    open_.push_back({psn, static_cast<std::uint32_t>(bytes), ends_message});
}

Delivered Delivery::acknowledged(std::int64_t through) {
    Delivered all;
    while (!open_.empty() && open_.front().psn <= through) {
        all.bytes += open_.front().bytes;
        all.messages += open_.front().ends_message ? 1U : 0U;
        open_.pop_front();
    }
    return all;
}

std::uint64_t& Delivery::word_of(std::int64_t psn) {
    return answers_[static_cast<std::size_t>(psn % kAnswers / kWordBits)];
}

Delivered Delivery::answered(std::int64_t psn, std::size_t bytes, bool ends_message) {
    if (psn < 0 || psn <= last_answer_ - kAnswers) return {};
    if (answers_.empty()) answers_.resize(kAnswers / kWordBits);
    if (psn > last_answer_) {
        for (std::int64_t i = std::max(last_answer_ + 1, psn - kAnswers + 1); i <= psn; ++i)
            word_of(i) &= ~bit_of(i);
        last_answer_ = psn;
    }
    if ((word_of(psn) & bit_of(psn)) != 0) return {};
    word_of(psn) |= bit_of(psn);
    return {.bytes = bytes, .messages = ends_message ? 1U : 0U};
}

} // namespace veriroce::inject
