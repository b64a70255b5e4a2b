// One connection to the agent, without its socket: lines in, lines out, and when to close.
//
// The first line must be a hello, with the token if the agent has one. Anything else closes the
// connection without an answer, so that a web page cannot talk to a port on localhost. A wrong
// token closes it after one second. The session destroys everything that the connection created.
//
// Source: conformance/agent/README.md, "Transport".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/agent/backend.hpp"
#include "conformance/dut/codec.hpp"
#include "conformance/dut/pending_calls.hpp"

namespace veriroce::agent {

// Compares in a time that depends only on the lengths.
bool same_token(std::string_view one, std::string_view other);

class Session {
  public:
    // How often waiting calls are executed again: polling the device's queues makes completions
    // independent of interrupts.
    static constexpr wire::Duration poll_interval = std::chrono::microseconds(500);
    static constexpr wire::Duration wrong_token_delay = std::chrono::seconds(1);

    enum class Standing : std::uint8_t {
        New,        // before hello
        Admitted,   // after hello
        Closing,    // ignores further lines; close when all answers are sent
        WrongToken, // close after wrong_token_delay, without an answer
    };

    // An empty token means that none is required. The caller owns the backend.
    Session(Backend& backend, std::string token) : backend_(backend), token_(std::move(token)) {}

    // A hello that would be accepted from now on is answered with this failure, and the connection
    // closes.
    void refuse_hello(dut::Failure failure) { busy_ = std::move(failure); }
    void handle_line(std::string_view line, wire::Instant now);
    // Executes waiting calls again.
    void advance(wire::Instant now);
    // The next line to send.
    std::optional<std::string> poll_line();

    [[nodiscard]] Standing standing() const { return standing_; }
    // The reason for closing, for the log.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    // When advance() is due.
    [[nodiscard]] std::optional<wire::Instant> next_deadline(wire::Instant now) const;

  private:
    void greet(const dut::Call& call, wire::Instant now);
    void close(Standing standing, std::string reason);

    Backend& backend_;
    std::string token_;
    Standing standing_ = Standing::New;
    std::string reason_;
    std::optional<dut::Failure> busy_;
    std::unique_ptr<dut::Executor> device_;
    dut::PendingCalls pending_;
    std::deque<std::string> lines_; // answers that do not come from pending_
};

} // namespace veriroce::agent
