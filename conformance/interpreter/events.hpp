// The events of a case: the plumbing between the outside, which feeds events and fetches actions,
// and the coroutine that plays the script, which asks for something and sleeps until it is there.
//
// Outside (a driver, virtual or live):
//   events.packet(frame, interval)...; events.advance(now); events.reply(ticket, answer);
//   while (auto action = events.poll_action()) carry it out;  wait until events.deadline()
//   In this order: the coroutine must see the packets that came before a deadline first.
// Inside (the interpreter):
//   Answer a = co_await events.call(request);   Wake w = co_await events.wait(deadline);
//
// It has no clock: `now` is the time that the outside passed last. Nothing here judges.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/call_log.hpp"
#include "conformance/interpreter/case_result.hpp"
#include "dissector/wire/bytes.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::interpreter {

// The actions that the interpreter requests, in this order.
struct SendFrame {
    std::uint64_t number = 0; // counts from 1; `sent` names it when its interval is known
    std::vector<std::byte> frame;
};
struct CallDut {
    std::uint64_t ticket = 0; // `reply` names it
    dut::Request request;
};
using Action = std::variant<SendFrame, CallDut>;

// What ends a wait.
enum class Wake : std::uint8_t { Packet, Deadline };

class Events {
  public:
    // Called for every packet that comes in, before the coroutine continues.
    using Listener = std::function<void(wire::Bytes frame, Interval at)>;

    // How many packets were recorded.
    using Recorded = std::function<std::size_t()>;

    Events(Listener listener, Recorded recorded)
        : listener_(std::move(listener)), recorded_(std::move(recorded)) {}

    // --- outside
    void packet(wire::Bytes frame, Interval at);
    void reply(std::uint64_t ticket, dut::Answer answer);
    void advance(wire::Instant now);
    [[nodiscard]] std::optional<Action> poll_action();
    // When the coroutine must be woken even if nothing happens.
    [[nodiscard]] std::optional<wire::Instant> deadline() const { return wake_at_; }

    // --- inside
    [[nodiscard]] wire::Instant now() const { return now_; }
    std::uint64_t send(std::vector<std::byte> frame);
    // Every call, for the model.
    [[nodiscard]] CallLog& call_log() { return call_log_; }

    class CallAwaiter {
      public:
        CallAwaiter(Events& events, dut::Request request);
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> sleeper);
        dut::Answer await_resume();

      private:
        Events& events_;
        std::uint64_t ticket_;
        std::size_t logged_; // its place in the log
    };
    CallAwaiter call(dut::Request request) { return {*this, std::move(request)}; }

    // Sleeps until a packet comes in or the deadline has come.
    class WaitAwaiter {
      public:
        WaitAwaiter(Events& events, wire::Instant deadline, bool packets);
        [[nodiscard]] bool await_ready() const noexcept;
        void await_suspend(std::coroutine_handle<> sleeper);
        Wake await_resume() const noexcept;

      private:
        Events& events_;
        wire::Instant deadline_;
        bool packets_;
        std::uint64_t packets_before_;
    };
    WaitAwaiter wait(wire::Instant deadline) { return {*this, deadline, true}; }
    // Sleeps until the deadline, whatever comes in.
    WaitAwaiter sleep(wire::Instant deadline) { return {*this, deadline, false}; }

  private:
    void wake();

    Listener listener_;
    Recorded recorded_;
    CallLog call_log_;
    std::deque<Action> actions_;
    wire::Instant now_{};
    std::uint64_t packets_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t last_ticket_ = 0;
    std::coroutine_handle<> sleeper_;
    std::optional<wire::Instant> wake_at_;
    bool wake_on_packet_ = false;
    std::optional<std::uint64_t> wake_on_reply_;
    std::optional<dut::Answer> answer_;
};

} // namespace veriroce::interpreter
