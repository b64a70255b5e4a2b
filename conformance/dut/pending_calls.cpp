#include "conformance/dut/pending_calls.hpp"

#include <algorithm>
#include <chrono>

namespace veriroce::dut {

std::optional<std::uint32_t> wait_of(const Request& request) {
    return std::visit(
        [](const auto& r) -> std::optional<std::uint32_t> {
            if constexpr (requires { r.wait_ms; })
                return r.wait_ms;
            else
                return std::nullopt;
        },
        request);
}

namespace {

// Whether the call has no result yet. An overrun queue is reported with the remaining completions,
// or when the wait ends; if overrun counted as a result, later calls would never wait.
bool says_nothing(const Answer& answer) {
    if (!answer) return false;
    if (const auto* polled = std::get_if<Polled>(&*answer)) return polled->completions.empty();
    if (const auto* events = std::get_if<EventList>(&*answer)) return events->events.empty();
    if (const auto* events = std::get_if<CmEventList>(&*answer)) return events->events.empty();
    if (const auto* notified = std::get_if<Notified>(&*answer)) return !notified->notified;
    return false;
}

} // namespace

void PendingCalls::submit(CallId call, const Request& request, Executor& executor,
                          wire::Instant now) {
    if (const auto* wanted = std::get_if<Cancel>(&request)) {
        cancel(call, *wanted, executor, now);
        return;
    }
    if (std::holds_alternative<Reset>(request)) end_all(executor, now);
    const auto wait_ms = wait_of(request).value_or(0);
    if (wait_ms > kMaxWaitMs) {
        answer(call, std::unexpected(invalid("wait_ms: expected at most 60000, got " +
                                             std::to_string(wait_ms))));
        return;
    }
    auto first = executor.execute(request, now);
    if (wait_ms == 0 || !says_nothing(first)) {
        answer(call, std::move(first));
    } else if (waiting_.size() == max_waiting) {
        answer(call, std::unexpected(refused(method_of(request), "EAGAIN",
                                             "1024 calls of this connection are already waiting")));
    } else {
        waiting_.push_back({call, request, now + std::chrono::milliseconds(wait_ms)});
    }
}

void PendingCalls::advance(Executor& executor, wire::Instant now) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        auto result = executor.execute(it->request, now);
        if (says_nothing(result) && now < it->until) {
            ++it;
            continue;
        }
        answer(it->call, std::move(result));
        it = waiting_.erase(it);
    }
}

void PendingCalls::end_all(Executor& executor, wire::Instant now) {
    for (auto& one : waiting_) {
        answer(one.call, executor.execute(one.request, now));
    }
    waiting_.clear();
}

void PendingCalls::cancel(CallId call, const Cancel& wanted, Executor& executor,
                          wire::Instant now) {
    const auto it = std::ranges::find(waiting_, wanted.id, &Waiting::call);
    // Cancelling a call that was answered in the meantime does nothing and is not an error.
    if (it != waiting_.end()) {
        answer(it->call, executor.execute(it->request, now));
        waiting_.erase(it);
    }
    answer(call, Done{});
}

std::optional<Reply> PendingCalls::take() {
    if (ready_.empty()) return std::nullopt;
    Reply reply = std::move(ready_.front());
    ready_.pop_front();
    return reply;
}

std::optional<wire::Instant> PendingCalls::next_deadline() const {
    const auto first = std::ranges::min_element(waiting_, {}, &Waiting::until);
    if (first == waiting_.end()) return std::nullopt;
    return first->until;
}

} // namespace veriroce::dut
