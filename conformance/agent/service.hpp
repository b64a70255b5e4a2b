// The sessions of an agent, connected to their sockets. Everything runs in one thread: the owner of
// the loop calls step() repeatedly.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/agent/backend.hpp"
#include "conformance/agent/log.hpp"
#include "conformance/agent/session.hpp"
#include "transport/net/event_loop.hpp"
#include "transport/net/line_server.hpp"

namespace veriroce::agent {

class Service {
  public:
    // The caller owns all four. An empty token means that none is required.
    Service(net::EventLoop& loop, net::LineServer& server, Backend& backend, Log& log,
            std::string token)
        : loop_(loop), server_(server), backend_(backend), log_(log), token_(std::move(token)) {}

    // Sleeps until an event or a deadline, then handles it.
    void step();

  private:
    struct Peer {
        Session session;
        std::string address;
    };

    void take(const net::LineEvent& event);
    void take_line(net::ConnectionId connection, std::string_view line);
    void take_closed(net::ConnectionId connection, const std::string& reason);
    void send_lines(net::ConnectionId connection, Session& session);
    [[nodiscard]] wire::Instant next_deadline() const;

    net::EventLoop& loop_;
    net::LineServer& server_;
    Backend& backend_;
    Log& log_;
    std::string token_;
    std::map<net::ConnectionId, Peer> peers_;
    // Of connections without a right hello at most one a second is logged: anyone can open them.
    wire::Instant next_stranger_ = wire::Instant::min();
    std::uint64_t strangers_ = 0; // not logged since the last one that was
};

} // namespace veriroce::agent
