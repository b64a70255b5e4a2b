#include "conformance/interpreter/events.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace veriroce::interpreter {

void Events::packet(wire::Bytes frame, Interval at) {
    now_ = std::max(now_, at.latest);
    ++packets_;
    listener_(frame, at);
    if (wake_on_packet_) wake();
}

void Events::reply(std::uint64_t ticket, dut::Answer answer) {
    if (wake_on_reply_ != ticket) return; // the interpreter has given up on this call
    answer_ = std::move(answer);
    wake();
}

void Events::advance(wire::Instant now) {
    now_ = std::max(now_, now);
    if (wake_at_ && *wake_at_ <= now_) wake();
}

std::optional<Action> Events::poll_action() {
    if (actions_.empty()) return std::nullopt;
    Action action = std::move(actions_.front());
    actions_.pop_front();
    return action;
}

std::uint64_t Events::send(std::vector<std::byte> frame) {
    actions_.emplace_back(SendFrame{++last_number_, std::move(frame)});
    return last_number_;
}

void Events::wake() {
    wake_at_.reset();
    wake_on_packet_ = false;
    wake_on_reply_.reset();
    if (const auto sleeper = std::exchange(sleeper_, nullptr)) sleeper.resume();
}

Events::CallAwaiter::CallAwaiter(Events& events, dut::Request request)
    : events_(events), ticket_(++events.last_ticket_),
      logged_(events.call_log_.asked(request, events.now_, events.recorded_())) {
    events_.actions_.emplace_back(CallDut{ticket_, std::move(request)});
}

void Events::CallAwaiter::await_suspend(std::coroutine_handle<> sleeper) {
    assert(!events_.sleeper_);
    events_.sleeper_ = sleeper;
    events_.wake_on_reply_ = ticket_;
}

dut::Answer Events::CallAwaiter::await_resume() {
    dut::Answer answer = std::move(*events_.answer_);
    events_.answer_.reset();
    events_.call_log_.answered(logged_, answer, events_.now_, events_.recorded_());
    return answer;
}

Events::WaitAwaiter::WaitAwaiter(Events& events, wire::Instant deadline, bool packets)
    : events_(events), deadline_(deadline), packets_(packets), packets_before_(events.packets_) {}

bool Events::WaitAwaiter::await_ready() const noexcept {
    return deadline_ <= events_.now_;
}

void Events::WaitAwaiter::await_suspend(std::coroutine_handle<> sleeper) {
    assert(!events_.sleeper_);
    events_.sleeper_ = sleeper;
    events_.wake_at_ = deadline_;
    events_.wake_on_packet_ = packets_;
}

Wake Events::WaitAwaiter::await_resume() const noexcept {
    return packets_ && events_.packets_ != packets_before_ ? Wake::Packet : Wake::Deadline;
}

} // namespace veriroce::interpreter
