// One connection to the agent, without its socket: lines in, lines out, and when to close.
//
// The first line must be a hello, with the token where there is one; anything else closes the
// connection without an answer, so that a web page cannot speak to a port on localhost. A wrong
// token closes it after one second. All that the connection made dies with the session.
//
// Source: conformance/agent/README.md, "Transport".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/agent/backend.hpp"
#include "conformance/dut/call_desk.hpp"
#include "conformance/dut/codec.hpp"

namespace veriroce::agent {

// Compares in a time that depends on the lengths alone.
bool same_token(std::string_view one, std::string_view other);

class Session {
  public:
    // How often calls that wait are asked again: the device's queues are polled, so that no
    // completion depends on an interrupt.
    static constexpr wire::Duration poll_interval = std::chrono::microseconds(500);
    static constexpr wire::Duration wrong_token_delay = std::chrono::seconds(1);

    enum class Standing : std::uint8_t {
        New,        // hello has not been said
        Admitted,   // it has
        Closing,    // nothing more is read; close when the lines are sent
        WrongToken, // close after wrong_token_delay, without an answer
    };

    // Empty token: none is demanded. The backend stays the caller's.
    Session(Backend& backend, std::string token) : backend_(backend), token_(std::move(token)) {}

    void handle_line(std::string_view line, wire::Instant now);
    // Asks waiting calls again.
    void advance(wire::Instant now);
    // The next line to send.
    std::optional<std::string> poll_line();

    [[nodiscard]] Standing standing() const { return standing_; }
    // Why it closes, for the log.
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
    std::unique_ptr<dut::Executor> device_;
    dut::CallDesk desk_;
    std::deque<std::string> lines_; // answers that are no reply of the desk
};

} // namespace veriroce::agent
