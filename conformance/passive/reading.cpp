#include "conformance/passive/reading.hpp"

#include <vector>

#include "dissector/capture/facts.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::passive {

std::optional<capture::ReadError> read_into(judge::Judge& judge, capture::Reader& reader) {
    std::vector<decode::Dissection> frames(judge::Judge::kTogether);
    std::uint64_t number = 0;
    for (;;) {
        const std::size_t most = reader.keeps() ? frames.size() : 1;
        std::size_t count = 0;
        std::expected<bool, capture::ReadError> more = true;
        for (capture::Record record; count < most; ++count) {
            more = reader.next(record);
            if (!more.value_or(false)) break;
            capture::tell(record, ++number, frames[count].frame);
            decode::dissect_frame({}, frames[count]);
        }
        judge.observe(std::span(frames).first(count));
        if (!more) return more.error();
        if (!*more) return std::nullopt;
    }
}

} // namespace veriroce::passive
