#include "conformance/agent/service.hpp"

#include <algorithm>
#include <cstdio>

#include "transport/net/clock.hpp"

namespace veriroce::agent {

void say(std::string_view text) {
    std::fprintf(stderr, "veriroce-agent: %.*s\n", static_cast<int>(text.size()), text.data());
}

void Service::step() {
    loop_.run_once(next_deadline());
    while (loop_.poll_ready()) {
    } // ignore which descriptor is ready: advance() below handles it in any case
    while (const auto event = server_.poll_event())
        take(*event);
    const auto now = net::monotonic_now();
    backend_.advance(now);
    for (auto& [connection, session] : sessions_) {
        session.advance(now);
        send_lines(connection, session);
    }
}

void Service::take(const net::LineEvent& event) {
    switch (event.kind) {
    case net::LineEvent::Kind::Opened:
        sessions_.try_emplace(event.connection, backend_, token_);
        say(event.text + " connected");
        return;
    case net::LineEvent::Kind::Line: take_line(event.connection, event.text); return;
    case net::LineEvent::Kind::Closed:
        sessions_.erase(event.connection);
        say("connection closed: " + event.text);
        return;
    }
}

void Service::take_line(net::ConnectionId connection, std::string_view line) {
    const auto found = sessions_.find(connection);
    if (found == sessions_.end()) return;
    auto& session = found->second;
    const auto before = session.standing();
    session.handle_line(line, net::monotonic_now());
    send_lines(connection, session);
    if (session.standing() == before) return;
    switch (session.standing()) {
    case Session::Standing::New: return;
    case Session::Standing::Admitted: server_.admit(connection); return;
    case Session::Standing::Closing:
        say("closing: " + session.reason());
        server_.close(connection);
        return;
    case Session::Standing::WrongToken:
        say("closing: " + session.reason());
        server_.close_after(connection, Session::wrong_token_delay);
        return;
    }
}

void Service::send_lines(net::ConnectionId connection, Session& session) {
    while (const auto line = session.poll_line()) {
        if (!server_.send(connection, *line)) return; // a Closed event follows
    }
}

wire::Instant Service::next_deadline() const {
    const auto now = net::monotonic_now();
    auto first = backend_.next_deadline().value_or(net::kNever);
    for (const auto& [connection, session] : sessions_) {
        first = std::min(first, session.next_deadline(now).value_or(net::kNever));
    }
    return first;
}

} // namespace veriroce::agent
