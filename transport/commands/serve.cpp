#include "transport/commands/serve.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <utility>

#include <fmt/format.h>

#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

// Peers whose exchange is not complete. One more closes the oldest, so silent ones delay no other.
constexpr std::size_t kMostExchanging = 64;
// Of peers that play; each has a message in memory.
constexpr std::ptrdiff_t kMostPlaying = 8;
// Where kMostPlaying play, one that has moved no message for so long makes way for another.
constexpr wire::Duration kIdlePatience = std::chrono::seconds(1);

// One peer, from its connection to the end of its round trips.
struct Peer {
    Peer(net::ByteStream connection, wire::Instant now)
        : stream(std::move(connection)), until(now + kExchangePatience) {}

    [[nodiscard]] std::string name() const { return stream.peer().text(); }
    [[nodiscard]] bool exchanging() const { return !play; }
    // Introduced, while others have all the places.
    [[nodiscard]] bool queued() const { return introduced == introduction.size() && !side; }
    // Whether it has a place although nothing came of it.
    [[nodiscard]] bool idle(wire::Instant now) const {
        return side && !(play && play->moved()) && now - met > kIdlePatience;
    }

    net::ByteStream stream;
    wire::Instant until; // of the exchange; then of lingering
    pingpong::Introduction::Message introduction{};
    std::size_t introduced = 0; // bytes
    std::array<char, pingpong::kDone.size()> done{};
    std::size_t confirmed = 0; // bytes
    std::unique_ptr<pingpong::Pingpong> side;
    port::Port* link = nullptr; // of side
    wire::Instant met{};        // when side was made
    std::optional<Play> play;
    bool lingers = false;
};

// What became of a peer in one step: nothing while it goes on.
using Ended = std::optional<Accepted<void>>;

// Fills `room` from `filled` on with what has come. False while some is missing.
Accepted<bool> receive_into(net::ByteStream& stream, std::span<char> room, std::size_t& filled) {
    while (filled < room.size()) {
        const auto count = stream.receive(room.subspan(filled), wire::Instant::min());
        if (!count && count.error().kind == net::ErrorKind::TimedOut) return false;
        if (!count) return unable(count.error().text);
        filled += *count;
    }
    return true;
}

class Server {
  public:
    Server(const ServeOptions& options, std::vector<wire::IpAddress> gids,
           std::vector<net::StreamListener> listeners, Ports ports, std::FILE* out)
        : options_(options), gids_(std::move(gids)), listeners_(std::move(listeners)),
          ports_(std::move(ports)), out_(out) {}

    // Until a signal, or with --once until the first peer has ended. The exit code.
    int run(std::FILE* err);

  private:
    Accepted<void> wait();
    Accepted<void> accept(wire::Instant now);
    Ended step(Peer& peer, wire::Instant now);
    Ended exchange(Peer& peer, wire::Instant now);
    Accepted<void> meet(Peer& peer, wire::Instant now);
    Accepted<void> may_answer(const Peer& peer, const wire::IpAddress& gid) const;
    bool make_room(wire::Instant now);
    void print_name(const Peer& peer);

    const ServeOptions& options_;
    std::vector<wire::IpAddress> gids_; // that may differ from the address of their exchange
    std::vector<net::StreamListener> listeners_;
    Ports ports_;
    std::FILE* out_;
    std::list<Peer> peers_;         // the oldest first
    const Peer* printed_ = nullptr; // whose lines were printed last
};

// Waits for connections, for bytes of the exchange and for packets.
Accepted<void> Server::wait() {
    auto until = net::monotonic_now() + kTurn;
    std::vector<int> others;
    for (const net::StreamListener& one : listeners_)
        others.push_back(one.fd());
    for (const Peer& peer : peers_) {
        if (peer.exchanging() && !peer.queued()) others.push_back(peer.stream.fd());
    }
    auto* const port = ports_.opened();
    if (port == nullptr) {
        net::wait_for(others.front(), POLLIN, until, others);
        return {};
    }
    if (const auto ran = port->run(until, others); !ran) return unable(ran.error().text);
    if (options_.verbose) print_refusals(port->engine(), out_);
    return {};
}

Accepted<void> Server::accept(wire::Instant now) {
    for (net::StreamListener& one : listeners_) {
        // As many as may wait: more would only close those.
        for (std::size_t taken = 0; taken < kMostExchanging; ++taken) {
            auto stream = one.accept(wire::Instant::min());
            if (!stream) return unable(stream.error().text);
            if (!*stream) break;
            peers_.emplace_back(std::move(**stream), now);
        }
    }
    auto exchanging = static_cast<std::size_t>(std::ranges::count_if(peers_, &Peer::exchanging));
    for (auto peer = peers_.begin(); peer != peers_.end() && exchanging > kMostExchanging;) {
        const auto one = peer++;
        if (!one->exchanging()) continue;
        printed_ = nullptr;
        peers_.erase(one);
        --exchanging;
    }
    return {};
}

// Whether one more peer may play.
bool Server::make_room(wire::Instant now) {
    const auto has_place = [](const Peer& peer) { return peer.side != nullptr; };
    if (std::ranges::count_if(peers_, has_place) < kMostPlaying) return true;
    const auto idle =
        std::ranges::find_if(peers_, [now](const Peer& peer) { return peer.idle(now); });
    if (idle == peers_.end()) return false;
    fmt::print(out_, "peer {} made way: it has sent no message\n", idle->name());
    printed_ = nullptr;
    peers_.erase(idle);
    return true;
}

// Our answers go to the GID that a peer names. If that were any address, whoever can send packets
// with a false source could turn them, many times as large, on a third host.
Accepted<void> Server::may_answer(const Peer& peer, const wire::IpAddress& gid) const {
    const auto from = wire::IpAddress::parse(peer.stream.peer().host);
    if (peer.stream.peer().is_unix || (from && *from == gid)) return {};
    if (std::ranges::find(gids_, gid) != gids_.end()) return {};
    return unable(fmt::format("it names the GID {}, but its exchange came from {}: choose that "
                              "address's GID there (-g of ibv_rc_pingpong), or serve it with "
                              "--allow-gid {}",
                              gid.text(), peer.stream.peer().host, gid.text()));
}

Accepted<void> Server::meet(Peer& peer, wire::Instant now) {
    const auto remote = read_introduction(peer.introduction, peer.stream);
    if (!remote) return std::unexpected(remote.error());
    if (auto allowed = may_answer(peer, remote->gid); !allowed) return allowed;
    const auto local = peer.stream.local_address();
    if (!local) return unable("the connection has no address");
    // A UDP port has one address: the next peer may have another one only when all have ended.
    const bool in_use =
        std::ranges::any_of(peers_, [](const Peer& one) { return one.side != nullptr; });
    if (in_use && !ports_.serves(*local)) {
        return unable(
            fmt::format("it came over {}, while peers use another address", local->text()));
    }
    const auto chosen = ports_.for_connection(*local);
    if (!chosen) return std::unexpected(chosen.error());
    auto side = open_side(options_, *chosen);
    if (!side) return std::unexpected(side.error());
    peer.side = std::move(*side);
    peer.met = now;
    peer.link = &chosen->link;
    print_name(peer);
    fmt::print(out_, "local:  {}\nremote: {}\n", text_of(peer.side->local()), text_of(*remote));
    std::fflush(out_);
    if (auto met = connect(*peer.side, *chosen, *remote); !met) return met;
    return send_introduction(peer.stream, peer.side->local());
}

Ended Server::exchange(Peer& peer, wire::Instant now) {
    const auto failed = [](const Refusal& refusal) { return Ended(std::unexpected(refusal)); };
    if (!peer.side) {
        const auto whole = receive_into(peer.stream, peer.introduction, peer.introduced);
        if (!whole) return failed(whole.error());
        if (*whole && make_room(now)) {
            if (const auto met = meet(peer, now); !met) return failed(met.error());
        }
    }
    if (peer.side) {
        const auto whole = receive_into(peer.stream, peer.done, peer.confirmed);
        if (!whole) return failed(whole.error());
        if (*whole) {
            peer.play.emplace(now);
            return std::nullopt;
        }
    }
    if (now < peer.until) return std::nullopt;
    return failed({kExitUnable, peer.queued()
                                    ? fmt::format("there are {} peers already", kMostPlaying)
                                    : "it has not completed the exchange within 5 s"});
}

Ended Server::step(Peer& peer, wire::Instant now) {
    if (peer.exchanging()) return exchange(peer, now);
    if (peer.lingers) {
        peer.side->progress(now);
        return now < peer.until ? std::nullopt : Ended(Accepted<void>());
    }
    const auto finished = peer.play->step(*peer.side, now);
    if (!finished) return Ended(std::unexpected(finished.error()));
    if (!*finished) return std::nullopt;
    print_name(peer);
    peer.play->report(*peer.side, *peer.link, options_, "", now, out_);
    peer.lingers = true;
    peer.until = now + kLinger;
    return std::nullopt;
}

// Lines of several peers may alternate.
void Server::print_name(const Peer& peer) {
    if (printed_ != &peer) fmt::print(out_, "peer {}\n", peer.name());
    printed_ = &peer;
}

int Server::run(std::FILE* err) {
    while (!command_line::StopOnSignal::requested()) {
        if (const auto waited = wait(); !waited) return tell(err, waited.error());
        const auto now = net::monotonic_now();
        if (const auto accepted = accept(now); !accepted) return tell(err, accepted.error());
        for (auto peer = peers_.begin(); peer != peers_.end();) {
            // make_room() may erase another one, but not this one.
            const auto ended = step(*peer, now);
            if (!ended) {
                ++peer;
                continue;
            }
            int code = kExitSuccess;
            if (!*ended) {
                auto refusal = ended->error();
                if (!refusal.text.starts_with(peer->name())) {
                    refusal.text = peer->name() + ": " + refusal.text;
                }
                code = tell(err, refusal);
            }
            printed_ = nullptr;
            peer = peers_.erase(peer);
            // The next peer may do better, but not with a wrong option.
            if (options_.once || code == kExitUsage) return code;
        }
    }
    return kExitInterrupted;
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

Accepted<std::vector<wire::IpAddress>> allowed_gids(const ServeOptions& options) {
    std::vector<wire::IpAddress> gids;
    for (const std::string& text : options.gids) {
        const auto gid = wire::IpAddress::parse(text);
        if (!gid)
            return misused(fmt::format("--allow-gid: expected an IP address, got '{}'", text));
        gids.push_back(*gid);
    }
    return gids;
}

} // namespace

void add_serve(Command program) {
    auto command = program.add_command(
        "serve", "Answer ibv_rc_pingpong or 'veriroce ping': send every message back");
    const auto options = std::make_shared<ServeOptions>();
    add_options(command, *options);
    command.option("--listen", options->listen,
                   "Where to listen; the default is port 18515 on every address",
                   {.value = "ADDRESS:PORT", .takes_several = true});
    command.option("--allow-gid", options->gids,
                   "Also serve a peer that names this GID although its exchange comes from another "
                   "address",
                   {.value = "ADDRESS", .takes_several = true});
    command.flag("--once", options->once, "End after the first peer");
    command.on_run([options] { return run_serve(*options, stdout, stderr); });
}

int run_serve(const ServeOptions& options, std::FILE* out, std::FILE* err) {
    const command_line::StopOnSignal stop;
    auto gids = allowed_gids(options);
    if (!gids) return tell(err, gids.error());
    auto listeners = listen(options);
    if (!listeners) return tell(err, listeners.error());
    auto ports = Ports::open(options);
    if (!ports) return tell(err, ports.error());
    for (const net::StreamListener& one : *listeners)
        fmt::print(out, "waiting for ibv_rc_pingpong or veriroce ping on {}\n",
                   one.address().text());
    std::fflush(out);
    return Server(options, std::move(*gids), std::move(*listeners), std::move(*ports), out)
        .run(err);
}

} // namespace veriroce::commands
