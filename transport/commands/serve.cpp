#include "transport/commands/serve.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

constexpr wire::Duration kTurn = std::chrono::milliseconds(200); // a signal ends a wait this soon

Accepted<void> serve_peer(net::ByteStream stream, Ports& ports, const ServeOptions& options,
                          std::FILE* out) {
    const auto remote = receive_introduction(stream);
    if (!remote) return std::unexpected(remote.error());
    const auto local = stream.local_address();
    if (!local) return unable("the connection has no address");
    const auto chosen = ports.for_connection(*local);
    if (!chosen) return std::unexpected(chosen.error());
    auto side = open_side(options, *chosen);
    if (!side) return std::unexpected(side.error());
    fmt::print(out, "local:  {}\nremote: {}\n", text_of((*side)->local()), text_of(*remote));
    std::fflush(out);
    if (auto met = connect(**side, *chosen, *remote); !met) return met;
    if (auto said = send_introduction(stream, (*side)->local()); !said) return said;
    std::array<char, pingpong::kDone.size()> done{};
    const auto heard = stream.receive_all(done, net::monotonic_now() + kExchangePatience);
    if (!heard) return unable(heard.error().text);
    return play_and_report(**side, chosen->link, options, "", out);
}

// Waits for the next peer, and meanwhile answers for addresses that only the port knows.
Accepted<std::optional<net::ByteStream>> next_peer(std::vector<net::StreamListener>& listeners,
                                                   port::Port* port, const ServeOptions& options,
                                                   std::FILE* out) {
    while (!command_line::StopOnSignal::requested()) {
        std::vector<int> others;
        for (const net::StreamListener& one : listeners)
            others.push_back(one.fd());
        if (port != nullptr) {
            if (const auto ran = port->run(net::monotonic_now() + kTurn, others); !ran) {
                return unable(ran.error().text);
            }
            if (options.verbose) print_refusals(port->engine(), out);
        }
        const wire::Instant until =
            port != nullptr ? wire::Instant::min() : net::monotonic_now() + kTurn;
        for (net::StreamListener& one : listeners) {
            auto peer =
                one.accept(&one == &listeners.front() ? until : wire::Instant::min(), others);
            if (!peer) return unable(peer.error().text);
            if (*peer) return std::move(*peer);
        }
    }
    return std::nullopt;
}

Accepted<std::vector<net::StreamListener>> listen(const ServeOptions& options) {
    std::vector<net::StreamListener> listeners;
    for (const std::string& text : options.listen) {
        const auto address = net::LineAddress::parse(text);
        if (!address) return misused("--listen: " + address.error().text);
        auto listener = net::StreamListener::open(*address);
        if (!listener) return unable(listener.error().text);
        listeners.push_back(std::move(*listener));
    }
    if (!listeners.empty()) return listeners;
    // Everywhere, as far as this host has both IP versions.
    std::optional<net::Error> last;
    for (const char* host : {"0.0.0.0", "::"}) {
        auto listener = net::StreamListener::open({false, host, pingpong::kExchangePort});
        if (listener)
            listeners.push_back(std::move(*listener));
        else
            last = listener.error();
    }
    if (listeners.empty()) return unable(last->text);
    return listeners;
}

} // namespace

void add_serve(Command program) {
    auto command = program.add_command(
        "serve", "Wait for ibv_rc_pingpong or 'veriroce ping', and send back what it sends");
    const auto options = std::make_shared<ServeOptions>();
    add_options(command, *options);
    command.option("--listen", options->listen,
                   "Where to wait; the default is port 18515 on every address",
                   {.value = "ADDRESS:PORT", .takes_several = true});
    command.flag("--once", options->once, "End after the first peer");
    command.on_run([options] { return run_serve(*options, stdout, stderr); });
}

int run_serve(const ServeOptions& options, std::FILE* out, std::FILE* err) {
    const command_line::StopOnSignal stop;
    auto listeners = listen(options);
    if (!listeners) return tell(err, listeners.error());
    auto ports = Ports::open(options);
    if (!ports) return tell(err, ports.error());
    for (const net::StreamListener& one : *listeners)
        fmt::print(out, "waiting for ibv_rc_pingpong or veriroce ping on {}\n",
                   one.address().text());
    std::fflush(out);
    while (true) {
        auto peer = next_peer(*listeners, ports->opened(), options, out);
        if (!peer) return tell(err, peer.error());
        if (!*peer) return kExitInterrupted;
        fmt::print(out, "peer {}\n", (*peer)->peer().text());
        const auto served = serve_peer(std::move(**peer), *ports, options, out);
        if (!served) {
            const int code = tell(err, served.error());
            // The next peer may do better.
            if (options.once || code == kExitInterrupted || code == kExitUsage) return code;
        } else if (options.once) {
            return kExitSuccess;
        }
    }
}

} // namespace veriroce::commands
