#include "dissector/capture/merged_frames.hpp"

#include <algorithm>

#include "dissector/capture/facts.hpp"

namespace veriroce::capture {

MergedFrames::MergedFrames(std::vector<Reader> readers, std::size_t together,
                           const decode::Options& options)
    : frames_(together), options_(options) {
    for (Reader& reader : readers) {
        keeps_ = keeps_ && reader.keeps();
        inputs_.emplace_back(std::move(reader));
    }
}

void MergedFrames::advance(std::size_t index) {
    Input& input = inputs_[index];
    if (!input.taken || input.ended) return;
    input.taken = false;
    const auto more = input.reader.next(input.record);
    if (!more) errors_.emplace_back(index, more.error());
    input.ended = !more.value_or(false);
    if (!input.ended && input.record.time_ns) input.time_ns = *input.record.time_ns;
}

// The input whose frame comes next. False at the end of all. The others are only looked at when the
// current one has passed the earliest of them.
bool MergedFrames::choose() {
    if (inputs_.empty()) return false;
    if (begun_) {
        advance(current_);
        const Input& input = inputs_[current_];
        if (!input.ended && (!limit_ns_ || input.time_ns <= *limit_ns_)) return true;
    } else {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            advance(i);
        begun_ = true;
    }
    std::optional<std::size_t> first;
    limit_ns_.reset();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const Input& input = inputs_[i];
        if (input.ended) continue;
        if (!first || input.time_ns < inputs_[*first].time_ns) {
            if (first) limit_ns_ = inputs_[*first].time_ns;
            first = i;
        } else if (!limit_ns_ || input.time_ns < *limit_ns_) {
            limit_ns_ = input.time_ns;
        }
    }
    if (!first) return false;
    current_ = *first;
    return true;
}

std::span<const decode::Dissection> MergedFrames::next() {
    const std::size_t most = keeps_ ? frames_.size() : 1;
    std::size_t count = 0;
    for (; count < most && choose(); ++count) {
        Input& input = inputs_[current_];
        tell(input.record, ++number_, frames_[count].frame);
        decode::dissect_frame(options_, frames_[count]);
        input.taken = true;
    }
    return std::span(frames_).first(count);
}

} // namespace veriroce::capture
