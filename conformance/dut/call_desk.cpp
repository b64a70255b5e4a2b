#include "conformance/dut/call_desk.hpp"

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

// A result that a wait would wait on. A queue that was overrun is reported with the completions
// that are left, and else when the wait ends: it would never wait again otherwise.
bool says_nothing(const Answer& answer) {
    if (!answer) return false;
    if (const auto* polled = std::get_if<Polled>(&*answer)) return polled->completions.empty();
    if (const auto* events = std::get_if<EventList>(&*answer)) return events->events.empty();
    if (const auto* notified = std::get_if<Notified>(&*answer)) return !notified->notified;
    return false;
}

} // namespace

void CallDesk::submit(CallId call, const Request& request, Executor& executor, wire::Instant now) {
    if (const auto* wanted = std::get_if<Cancel>(&request)) {
        cancel(call, *wanted, executor, now);
        return;
    }
    if (std::holds_alternative<Reset>(request)) end_all(executor, now);
    const auto wait_ms = wait_of(request).value_or(0);
    if (wait_ms > max_wait_ms) {
        answer(call,
               std::unexpected(invalid("wait_ms: at most 60000, not " + std::to_string(wait_ms))));
        return;
    }
    auto first = executor.execute(request, now);
    if (wait_ms == 0 || !says_nothing(first)) {
        answer(call, std::move(first));
    } else if (parked_.size() == max_parked) {
        answer(call, std::unexpected(refused(method_of(request), "EAGAIN",
                                             "1024 calls of this connection wait already")));
    } else {
        parked_.push_back({call, request, now + std::chrono::milliseconds(wait_ms)});
    }
}

void CallDesk::advance(Executor& executor, wire::Instant now) {
    for (auto it = parked_.begin(); it != parked_.end();) {
        auto result = executor.execute(it->request, now);
        if (says_nothing(result) && now < it->until) {
            ++it;
            continue;
        }
        answer(it->call, std::move(result));
        it = parked_.erase(it);
    }
}

void CallDesk::end_all(Executor& executor, wire::Instant now) {
    for (auto& parked : parked_) {
        answer(parked.call, executor.execute(parked.request, now));
    }
    parked_.clear();
}

void CallDesk::cancel(CallId call, const Cancel& wanted, Executor& executor, wire::Instant now) {
    const auto it = std::ranges::find(parked_, wanted.id, &Parked::call);
    // A call that was answered in the meantime is none to cancel, and no error either.
    if (it != parked_.end()) {
        answer(it->call, executor.execute(it->request, now));
        parked_.erase(it);
    }
    answer(call, Done{});
}

std::optional<Reply> CallDesk::take() {
    if (ready_.empty()) return std::nullopt;
    Reply reply = std::move(ready_.front());
    ready_.pop_front();
    return reply;
}

std::optional<wire::Instant> CallDesk::next_deadline() const {
    const auto first = std::ranges::min_element(parked_, {}, &Parked::until);
    if (first == parked_.end()) return std::nullopt;
    return first->until;
}

} // namespace veriroce::dut
