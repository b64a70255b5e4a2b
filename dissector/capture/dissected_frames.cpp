#include "dissector/capture/dissected_frames.hpp"

#include "dissector/capture/facts.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::capture {

DissectedFrames::DissectedFrames(Reader& reader, std::size_t together)
    : reader_(reader), frames_(together) {}

std::span<const decode::Dissection> DissectedFrames::next() {
    const std::size_t most = reader_.keeps() ? frames_.size() : 1;
    std::size_t count = 0;
    for (Record record; count < most && !ended_; ++count) {
        const auto more = reader_.next(record);
        if (!more) error_ = more.error();
        ended_ = !more.value_or(false);
        if (ended_) break;
        tell(record, ++number_, frames_[count].frame);
        decode::dissect_frame({}, frames_[count]);
    }
    return std::span(frames_).first(count);
}

} // namespace veriroce::capture
