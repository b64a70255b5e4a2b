// Where calls with `wait_ms` stand while they have nothing to say: each is asked again whenever
// something may have happened, and answered when it has a result, when its time is over or when it
// is cancelled. All other calls are answered at once and in order.
//
// One desk serves one connection. It has no clock; whoever owns it calls `advance` with the time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "conformance/dut/dut.hpp"
#include "conformance/dut/executor.hpp"

namespace veriroce::dut {

class CallDesk {
  public:
    // More waits than this at a time are refused (EAGAIN).
    static constexpr std::size_t max_parked = 1024;

    // Carries the request out, or parks it. Cancel ends one wait and Reset all of them: they are
    // answered with what is there by then.
    void submit(CallId call, const Request& request, Executor& executor, wire::Instant now);
    // Asks the parked calls again, oldest first.
    void advance(Executor& executor, wire::Instant now);
    // The next answer, in the order in which they became ready.
    std::optional<Reply> take();

    // When the first parked wait is over.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;
    [[nodiscard]] bool waiting() const { return !parked_.empty(); }

  private:
    struct Parked {
        CallId call;
        Request request;
        wire::Instant until;
    };

    void answer(CallId call, Answer answer) { ready_.push_back({call, std::move(answer)}); }
    void end_all(Executor& executor, wire::Instant now);
    void cancel(CallId call, const Cancel& wanted, Executor& executor, wire::Instant now);

    std::deque<Parked> parked_;
    std::deque<Reply> ready_;
};

// How long a request may wait; nothing if it is of a kind that does not wait.
std::optional<std::uint32_t> wait_of(const Request& request);

} // namespace veriroce::dut
