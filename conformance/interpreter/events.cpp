#include "conformance/interpreter/events.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace veriroce::runner {

void Stage::packet(wire::Bytes frame, Interval at) {
    now_ = std::max(now_, at.latest);
    ++packets_;
    listener_(frame, at);
    if (wake_on_packet_) wake();
}

void Stage::reply(std::uint64_t ticket, dut::Answer answer) {
    if (wake_on_reply_ != ticket) return; // of a call that the script has given up
    answer_ = std::move(answer);
    wake();
}

void Stage::advance(wire::Instant now) {
    now_ = std::max(now_, now);
    if (wake_at_ && *wake_at_ <= now_) wake();
}

std::optional<Action> Stage::poll_action() {
    if (actions_.empty()) return std::nullopt;
    Action action = std::move(actions_.front());
    actions_.pop_front();
    return action;
}

std::uint64_t Stage::send(std::vector<std::byte> frame) {
    actions_.emplace_back(SendFrame{++last_number_, std::move(frame)});
    return last_number_;
}

void Stage::wake() {
    wake_at_.reset();
    wake_on_packet_ = false;
    wake_on_reply_.reset();
    if (const auto sleeper = std::exchange(sleeper_, nullptr)) sleeper.resume();
}

Stage::CallAwaiter::CallAwaiter(Stage& stage, dut::Request request)
    : stage_(stage), ticket_(++stage.last_ticket_) {
    stage_.actions_.emplace_back(CallDut{ticket_, std::move(request)});
}

void Stage::CallAwaiter::await_suspend(std::coroutine_handle<> sleeper) {
    assert(!stage_.sleeper_);
    stage_.sleeper_ = sleeper;
    stage_.wake_on_reply_ = ticket_;
}

dut::Answer Stage::CallAwaiter::await_resume() {
    dut::Answer answer = std::move(*stage_.answer_);
    stage_.answer_.reset();
    return answer;
}

Stage::WaitAwaiter::WaitAwaiter(Stage& stage, wire::Instant deadline, bool packets)
    : stage_(stage), deadline_(deadline), packets_(packets), packets_before_(stage.packets_) {}

bool Stage::WaitAwaiter::await_ready() const noexcept {
    return deadline_ <= stage_.now_;
}

void Stage::WaitAwaiter::await_suspend(std::coroutine_handle<> sleeper) {
    assert(!stage_.sleeper_);
    stage_.sleeper_ = sleeper;
    stage_.wake_at_ = deadline_;
    stage_.wake_on_packet_ = packets_;
}

Wake Stage::WaitAwaiter::await_resume() const noexcept {
    return packets_ && stage_.packets_ != packets_before_ ? Wake::Packet : Wake::Deadline;
}

} // namespace veriroce::runner
