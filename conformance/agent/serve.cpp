#include "conformance/agent/serve.hpp"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <utility>

#include "conformance/agent/check.hpp"
#include "conformance/agent/service.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/event_loop.hpp"
#include "transport/net/line_server.hpp"

namespace veriroce::agent {

namespace {

// The token that callers must send; empty if none is needed because only this host can connect.
std::expected<std::string, std::string> token_for(const Options& options,
                                                  const net::LineAddress& address) {
    if (!options.token_file.empty()) return read_token(options.token_file);
    if (address.local()) return std::string();
    return std::unexpected("on " + options.listen +
                           " anyone could use this device: give --token-file FILE, or listen on "
                           "127.0.0.1 and use ssh -L");
}

std::expected<std::unique_ptr<Backend>, std::string>
open_backend(const Options& options, std::span<const BackendKind> backends) {
    std::string known;
    for (const auto& kind : backends) {
        if (options.backend.empty() || kind.name == options.backend) return kind.open(options);
        known += (known.empty() ? "" : ", ") + std::string(kind.name);
    }
    return std::unexpected("unknown backend \"" + options.backend + "\"; this program has only " +
                           known);
}

// Starts and serves. The error is why the agent could not start.
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
    if (const auto caught = (*loop)->catch_signals(command_line::ending_signals()); !caught) {
        return std::unexpected(caught.error().text);
    }
    if (const int fd = (*backend)->descriptor(); fd >= 0) {
        if (const auto watched = (*loop)->watch(fd); !watched) {
            return std::unexpected(watched.error().text);
        }
    }
    const net::LineLimits limits{.connections = options.limits.connections,
                                 .line_bytes = options.limits.line_bytes,
                                 .idle_within = std::chrono::seconds(*options.limits.idle_seconds),
                                 .queued_bytes = options.limits.queued_bytes};
    const auto server = net::LineServer::listen(**loop, *address, limits);
    if (!server) return std::unexpected(server.error().text);
    Log log(STDERR_FILENO);
    log.say((*backend)->text() + ", listening on " + (*server)->address().text());
    Service service(**loop, **server, **backend, log, std::move(*token));
    while (!(*loop)->poll_signal())
        service.step();
    return {};
}

} // namespace

int run(const Options& options, std::span<const BackendKind> backends) {
    const auto served = serve(options, backends);
    if (served) return command_line::kExitSuccess;
    Log(STDERR_FILENO).say(served.error());
    return command_line::kExitUnable;
}

std::shared_ptr<Options> add_agent(command_line::Command command,
                                   std::span<const BackendKind> backends) {
    const auto options = std::make_shared<Options>();
    add_options(command, *options);
    command.on_run([options, backends] {
        return options->check.empty() ? run(*options, backends) : run_check(*options);
    });
    return options;
}

} // namespace veriroce::agent
