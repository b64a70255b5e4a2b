#include "conformance/agent/serve.hpp"

#include <csignal>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "conformance/agent/session.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/event_loop.hpp"
#include "transport/net/line_server.hpp"

namespace veriroce::agent {

namespace {

constexpr int exit_usage = 2;
constexpr int exit_cannot = 3;

void say(std::string_view text) {
    std::fprintf(stderr, "veriroce-agent: %.*s\n", static_cast<int>(text.size()), text.data());
}

class Service {
  public:
    Service(net::EventLoop& loop, net::LineServer& server, Backend& backend, std::string token)
        : loop_(loop), server_(server), backend_(backend), token_(std::move(token)) {}

    // Until a signal says stop.
    void serve() {
        for (;;) {
            loop_.run_once(next_deadline());
            if (loop_.poll_signal()) return;
            while (loop_.poll_ready()) {
            } // the backend's descriptor: it is asked below in any case
            const auto now = net::monotonic_now();
            backend_.advance(now);
            while (auto event = server_.poll_event())
                take(*event);
            for (auto& [connection, session] : sessions_) {
                session.advance(now);
                send_lines(connection, session);
            }
        }
    }

  private:
    void take(const net::LineEvent& event) {
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

    void take_line(net::ConnectionId connection, std::string_view line) {
        const auto found = sessions_.find(connection);
        if (found == sessions_.end()) return;
        auto& session = found->second;
        const auto before = session.standing();
        session.handle_line(line, net::monotonic_now());
        if (before == Session::Standing::New && session.standing() == Session::Standing::Admitted) {
            server_.admit(connection);
        }
        send_lines(connection, session);
        if (session.standing() == before) return;
        if (session.standing() == Session::Standing::Closing) {
            say("closing: " + session.reason());
            server_.close(connection);
        }
        if (session.standing() == Session::Standing::WrongToken) {
            say("closing: " + session.reason());
            server_.close_after(connection, Session::wrong_token_delay);
        }
    }

    void send_lines(net::ConnectionId connection, Session& session) {
        while (const auto line = session.poll_line()) {
            if (!server_.send(connection, *line)) return; // its Closed event follows
        }
    }

    [[nodiscard]] wire::Instant next_deadline() const {
        const auto now = net::monotonic_now();
        auto first = backend_.next_deadline().value_or(net::kNever);
        for (const auto& [connection, session] : sessions_) {
            first = std::min(first, session.next_deadline(now).value_or(net::kNever));
        }
        return first;
    }

    net::EventLoop& loop_;
    net::LineServer& server_;
    Backend& backend_;
    std::string token_;
    std::map<net::ConnectionId, Session> sessions_;
};

// The token that callers must know; empty for none, where nobody else can reach us.
std::expected<std::string, std::string> token_for(const Options& options,
                                                  const net::LineAddress& address) {
    if (!options.token_file.empty()) return read_token(options.token_file);
    if (address.local()) return std::string();
    return std::unexpected("on " + options.listen +
                           " everybody could use this device: give --token-file FILE, or listen on "
                           "127.0.0.1 and use ssh -L");
}

std::expected<std::unique_ptr<Backend>, std::string>
open_backend(const Options& options, std::span<const BackendKind> backends) {
    std::string known;
    for (const auto& kind : backends) {
        if (options.backend.empty() || kind.name == options.backend) return kind.open(options);
        known += (known.empty() ? "" : ", ") + std::string(kind.name);
    }
    return std::unexpected("this program has no backend \"" + options.backend + "\", only " +
                           known);
}

// Everything that can go wrong before the first connection.
std::expected<void, std::string> serve(const Options& options,
                                       std::span<const BackendKind> backends) {
    const auto address = net::LineAddress::parse(options.listen);
    if (!address) return std::unexpected(address.error().text);
    auto token = token_for(options, *address);
    if (!token) return std::unexpected(token.error());
    const auto backend = open_backend(options, backends);
    if (!backend) return std::unexpected(backend.error());
    const auto loop = net::EventLoop::open();
    if (!loop) return std::unexpected(loop.error().text);
    if (const auto caught = (*loop)->catch_signals({SIGINT, SIGTERM}); !caught) {
        return std::unexpected(caught.error().text);
    }
    if (const int fd = (*backend)->descriptor(); fd >= 0) {
        if (const auto watched = (*loop)->watch(fd); !watched) {
            return std::unexpected(watched.error().text);
        }
    }
    const net::LineLimits limits{.connections = options.limits.connections,
                                 .line_bytes = options.limits.line_bytes,
                                 .queued_bytes = options.limits.queued_bytes};
    const auto server = net::LineServer::listen(**loop, *address, limits);
    if (!server) return std::unexpected(server.error().text);
    say((*backend)->text() + " on " + (*server)->address().text());
    Service(**loop, **server, **backend, std::move(*token)).serve();
    return {};
}

} // namespace

int run(const Options& options, std::span<const BackendKind> backends) {
    const auto served = serve(options, backends);
    if (served) return 0;
    say(served.error());
    return exit_cannot;
}

int run_command_line(std::span<const std::string_view> words,
                     std::span<const BackendKind> backends) {
    const auto options = parse_options(words);
    if (!options) {
        say(options.error());
        return exit_usage;
    }
    if (options->help) {
        std::fwrite(usage().data(), 1, usage().size(), stdout);
        return 0;
    }
    return run(*options, backends);
}

} // namespace veriroce::agent
