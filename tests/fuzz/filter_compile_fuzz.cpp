// Any text is an expression: compiled and asked about some frame, or refused with a place inside
// it. The frame is the input after the first zero byte.
#include <cstdlib>

#include "dissector/decode/decoder.hpp"
#include "dissector/filter/filter.hpp"

using namespace veriroce;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::string_view expression = input.substr(0, input.find('\0'));
    const auto filter = filter::Filter::compile(expression);
    if (!filter) {
        require(filter.error().at <= expression.size());
        require(filter.error().at + filter.error().length <= expression.size());
        require(!filter.error().message.empty());
        require(!text_of(filter.error(), expression).empty());
        return 0;
    }
    static decode::Dissection dissection;
    decode::FrameFacts frame;
    if (expression.size() < size) {
        frame.bytes = std::as_bytes(std::span(input.substr(expression.size() + 1)));
    }
    frame.original_length = static_cast<std::uint32_t>(frame.bytes.size());
    frame.number = 1;
    decode::dissect_frame(frame, {.verify_icrc = filter->needs_icrc()}, dissection);
    const bool once = filter->matches(dissection);
    require(filter->matches(dissection) == once);
    // Its opposite gives the opposite.
    const std::string opposite = "not (" + std::string(expression) + ")";
    if (const auto other = filter::Filter::compile(opposite)) {
        require(other->matches(dissection) != once || filter->patterns_given_up() > 0);
    }
    return 0;
}
