#include "conformance/interpreter/call_log.hpp"

#include <utility>

namespace veriroce::interpreter {

std::size_t CallLog::asked(dut::Request request, wire::Instant at, std::size_t next_packet) {
    calls_.push_back({.call = {.request = std::move(request),
                               .answer = std::nullopt,
                               .asked = at,
                               .answered = at},
                      .next_when_asked = next_packet,
                      .next_when_answered = next_packet});
    return calls_.size() - 1;
}

void CallLog::answered(std::size_t call, const dut::Answer& answer, wire::Instant at,
                       std::size_t next_packet) {
    Logged& logged = calls_[call];
    logged.call.answer = answer;
    logged.call.answered = at;
    logged.next_when_answered = next_packet;
}

} // namespace veriroce::interpreter
