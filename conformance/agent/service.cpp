#include "conformance/agent/service.hpp"

#include <algorithm>

#include "transport/net/clock.hpp"

namespace veriroce::agent {

namespace {

constexpr wire::Duration kStrangerPause = std::chrono::seconds(1);

dut::Failure no_place() {
    return dut::refused("hello", "EBUSY",
                        "the agent has as many testers as it may have: end one, or start the agent "
                        "with a larger --max-connections");
}

} // namespace

void Service::step() {
    loop_.run_once(next_deadline());
    while (loop_.poll_ready()) {
    } // ignore which descriptor is ready: advance() below handles it in any case
    while (const auto event = server_.poll_event())
        take(*event);
    const auto now = net::monotonic_now();
    backend_.advance(now);
    for (auto& [connection, peer] : peers_) {
        peer.session.advance(now);
        send_lines(connection, peer.session);
    }
}

void Service::take(const net::LineEvent& event) {
    switch (event.kind) {
    case net::LineEvent::Kind::Opened:
        peers_.try_emplace(event.connection, Session(backend_, token_), event.text);
        return;
    case net::LineEvent::Kind::Line: take_line(event.connection, event.text); return;
    case net::LineEvent::Kind::Closed: take_closed(event.connection, event.text); return;
    }
}

void Service::take_line(net::ConnectionId connection, std::string_view line) {
    const auto found = peers_.find(connection);
    if (found == peers_.end()) return;
    auto& session = found->second.session;
    const auto before = session.standing();
    if (before == Session::Standing::New && server_.full()) session.refuse_hello(no_place());
    session.handle_line(line, net::monotonic_now());
    send_lines(connection, session);
    if (session.standing() == before) return;
    switch (session.standing()) {
    case Session::Standing::New: return;
    case Session::Standing::Admitted:
        log_.say(found->second.address + " connected");
        server_.admit(connection);
        return;
    case Session::Standing::Closing: server_.close(connection); return;
    case Session::Standing::WrongToken:
        server_.close_after(connection, Session::wrong_token_delay);
        return;
    }
}

void Service::take_closed(net::ConnectionId connection, const std::string& reason) {
    const auto found = peers_.find(connection);
    if (found == peers_.end()) return;
    const Peer& peer = found->second;
    const auto& why = peer.session.reason().empty() ? reason : peer.session.reason();
    auto line = peer.address + " closed: " + why;
    if (peer.session.standing() == Session::Standing::Admitted) {
        log_.say(line);
    } else if (const auto now = net::monotonic_now(); now < next_stranger_) {
        ++strangers_;
    } else {
        if (strangers_ > 0) line += ", and " + std::to_string(strangers_) + " others before it";
        log_.say(line);
        strangers_ = 0;
        next_stranger_ = now + kStrangerPause;
    }
    peers_.erase(found);
}

void Service::send_lines(net::ConnectionId connection, Session& session) {
    while (const auto line = session.poll_line()) {
        if (!server_.send(connection, *line)) return; // a Closed event follows
    }
}

wire::Instant Service::next_deadline() const {
    const auto now = net::monotonic_now();
    auto first = backend_.next_deadline().value_or(net::kNever);
    for (const auto& [connection, peer] : peers_) {
        first = std::min(first, peer.session.next_deadline(now).value_or(net::kNever));
    }
    return first;
}

} // namespace veriroce::agent
