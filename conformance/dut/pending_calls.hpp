// The calls of one connection that wait. A call with `wait_ms` is executed again whenever something
// may have happened, until it has a result, its time is over or it is cancelled. All other calls
// are answered at once and in order.
//
// There is no clock here: the owner calls `advance` with the time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "conformance/dut/dut.hpp"
#include "conformance/dut/executor.hpp"

namespace veriroce::dut {

class PendingCalls {
  public:
    // One more waiting call is refused (EAGAIN).
    static constexpr std::size_t max_waiting = 1024;

    // Executes the request, and keeps it if it has to wait. Cancel ends one waiting call and Reset
    // all of them: they are answered with the results so far.
    void submit(CallId call, const Request& request, Executor& executor, wire::Instant now);
    // Executes the waiting calls again, oldest first.
    void advance(Executor& executor, wire::Instant now);
    // The next answer, in the order in which they became ready.
    std::optional<Reply> take();

    // The first deadline of the waiting calls.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;
    [[nodiscard]] bool waiting() const { return !waiting_.empty(); }

  private:
    struct Waiting {
        CallId call;
        Request request;
        wire::Instant until;
    };

    void answer(CallId call, Answer answer) { ready_.push_back({call, std::move(answer)}); }
    void end_all(Executor& executor, wire::Instant now);
    void cancel(CallId call, const Cancel& wanted, Executor& executor, wire::Instant now);

    std::deque<Waiting> waiting_;
    std::deque<Reply> ready_;
};

// How long a request may wait; nothing if its method does not wait.
std::optional<std::uint32_t> wait_of(const Request& request);

} // namespace veriroce::dut
