#include "conformance/model/story.hpp"

#include <algorithm>

namespace veriroce::model {

bool Setting::trait(std::string_view word) const {
    return std::ranges::find(dut.traits, word) != dut.traits.end();
}

bool Setting::timed() const {
    return !trait("adaptive_retransmission") && !trait("ack_timer_ignored");
}

std::optional<wire::Duration> Setting::ack_timeout(std::optional<std::uint8_t> code) const {
    if (code.value_or(0) == 0) return std::nullopt;
    return wire::ack_timeout(std::max(*code, ack_timer_floor));
}

} // namespace veriroce::model
