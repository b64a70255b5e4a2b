// The sessions of an agent, connected to their sockets. Everything runs in one thread: the owner of
// the loop calls step() repeatedly.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/agent/backend.hpp"
#include "conformance/agent/session.hpp"
#include "transport/net/event_loop.hpp"
#include "transport/net/line_server.hpp"

namespace veriroce::agent {

// One line on stderr, with the program's name.
void say(std::string_view text);

class Service {
  public:
    // The caller owns all three. An empty token means that none is required.
    Service(net::EventLoop& loop, net::LineServer& server, Backend& backend, std::string token)
        : loop_(loop), server_(server), backend_(backend), token_(std::move(token)) {}

    // Sleeps until an event or a deadline, then handles it.
    void step();

  private:
    void take(const net::LineEvent& event);
    void take_line(net::ConnectionId connection, std::string_view line);
    void send_lines(net::ConnectionId connection, Session& session);
    [[nodiscard]] wire::Instant next_deadline() const;

    net::EventLoop& loop_;
    net::LineServer& server_;
    Backend& backend_;
    std::string token_;
    std::map<net::ConnectionId, Session> sessions_;
};

} // namespace veriroce::agent
