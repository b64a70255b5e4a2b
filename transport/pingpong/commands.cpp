#include "transport/pingpong/commands.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <expected>
#include <memory>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "transport/net/byte_stream.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/stop_on_signal.hpp"
#include "transport/pingpong/pingpong.hpp"
#include "transport/port/port.hpp"

namespace veriroce::pingpong {
namespace {

using namespace std::chrono_literals;

constexpr wire::Duration exchange_patience = 5s;
constexpr wire::Duration resolve_patience = 2s;
constexpr wire::Duration silence_limit = 10s; // of a peer that should send
constexpr wire::Duration turn = 200ms;        // so that a signal is heard soon
constexpr wire::Duration linger = 500ms;      // acknowledges what the peer may repeat

constexpr int broken_off = 1;
constexpr int usage_error = 2;
constexpr int tool_error = 3;
constexpr int interrupted = 130;

struct Refusal {
    int code = tool_error;
    std::string text;
};
template <typename T>
using Done = std::expected<T, Refusal>;

std::unexpected<Refusal> refused(int code, std::string text) {
    return std::unexpected(Refusal{code, std::move(text)});
}
std::unexpected<Refusal> refused(const net::Error& error) {
    return refused(tool_error, error.text);
}

Done<wire::Mtu> mtu_for(const Options& options, const port::Port& port) {
    constexpr std::array known{wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048,
                               wire::Mtu::B4096};
    if (options.mtu == 0) return std::min(wire::Mtu::B1024, port.largest_mtu());
    const auto wanted = std::ranges::find(known, options.mtu, wire::bytes_of);
    if (wanted == known.end()) {
        return refused(usage_error, fmt::format("--mtu {}: a path MTU is 256, 512, 1024, 2048 or "
                                                "4096",
                                                options.mtu));
    }
    if (*wanted > port.largest_mtu()) {
        return refused(usage_error, fmt::format("--mtu {}: {} carries {} at most", options.mtu,
                                                port.text(), wire::bytes_of(port.largest_mtu())));
    }
    return *wanted;
}

// Ports are opened when the exchange has told which address they need, and kept.
class Ports {
  public:
    static Done<Ports> open(const Options& options) {
        Ports ports;
        std::vector<wire::IpAddress> extra;
        if (!options.address.empty()) {
            const auto address = wire::IpAddress::parse(options.address);
            if (!address) {
                return refused(usage_error,
                               fmt::format("--address: '{}' is no IP address", options.address));
            }
            ports.own_ = *address;
        }
        if (options.interface.empty()) return ports;
        if (ports.own_) extra.push_back(*ports.own_);
        auto raw = port::Port::raw(options.interface, extra);
        if (!raw) return refused(raw.error());
        ports.port_ = std::move(*raw);
        ports.raw_ = true;
        return ports;
    }

    struct Chosen {
        port::Port& port;
        wire::IpAddress address;
    };
    // For a peer whose exchange came over this address of ours.
    Done<Chosen> for_connection(const wire::IpAddress& local) {
        const wire::IpAddress wanted = own_.value_or(local);
        if (!raw_ && (!port_ || port_->addresses().front() != wanted)) {
            port_.reset(); // two sockets cannot hold UDP 4791
            auto udp = port::Port::udp(wanted);
            if (!udp) return refused(udp.error());
            port_ = std::move(*udp);
        }
        const auto addresses = port_->addresses();
        if (std::ranges::find(addresses, wanted) != addresses.end()) return Chosen{*port_, wanted};
        const auto fits = std::ranges::find(addresses, wanted.v4(), &wire::IpAddress::v4);
        if (fits == addresses.end()) {
            return refused(tool_error, fmt::format("{}: no {} address there", port_->text(),
                                                   wanted.v4() ? "IPv4" : "IPv6"));
        }
        return Chosen{*port_, *fits};
    }
    [[nodiscard]] port::Port* opened() { return port_.get(); }

  private:
    std::optional<wire::IpAddress> own_;
    std::unique_ptr<port::Port> port_;
    bool raw_ = false;
};

wire::Psn first_psn(const Options& options) {
    if (options.psn) return wire::Psn(*options.psn);
    std::random_device random;
    return wire::Psn(static_cast<std::uint32_t>(random()));
}

Done<std::unique_ptr<Pingpong>> open_side(const Options& options, const Ports::Chosen& chosen) {
    const auto mtu = mtu_for(options, chosen.port);
    if (!mtu) return std::unexpected(mtu.error());
    auto side = Pingpong::open(chosen.port.engine(), {.size = options.size,
                                                      .rounds = options.rounds,
                                                      .mtu = *mtu,
                                                      .psn = first_psn(options),
                                                      .address = chosen.address});
    if (!side) return refused(tool_error, side.error());
    return std::move(*side);
}

std::string shown(const Introduction& side) {
    return fmt::format("QPN 0x{:06X}, PSN 0x{:06X}, GID {}", side.qpn.value, side.psn.value(),
                       side.gid.text());
}

Done<Introduction> hear(net::ByteStream& stream) {
    Introduction::Message message{};
    const auto heard = stream.receive_all(message, net::monotonic_now() + exchange_patience);
    if (!heard) return refused(heard.error());
    auto remote = Introduction::decode(message);
    if (!remote) {
        return refused(tool_error, fmt::format("{}: {}", stream.peer().text(), remote.error()));
    }
    return *remote;
}

Done<void> say(net::ByteStream& stream, const Introduction& local) {
    const auto message = local.encode();
    const auto said =
        stream.send({message.data(), message.size()}, net::monotonic_now() + exchange_patience);
    if (!said) return refused(said.error());
    return {};
}

Done<void> meet(Pingpong& side, const Ports::Chosen& chosen, const Introduction& remote) {
    if (const auto known = chosen.port.reach(remote.gid, net::monotonic_now() + resolve_patience);
        !known) {
        return refused(known.error());
    }
    if (const auto joined = side.connect(remote, net::monotonic_now()); !joined) {
        return refused(broken_off, joined.error());
    }
    return {};
}

// Both sides play until all round trips are made.
Done<void> play(Pingpong& side, port::Port& port) {
    wire::Instant heard = net::monotonic_now();
    std::uint64_t moved = 0;
    while (!side.finished()) {
        if (net::StopOnSignal::requested()) return refused(interrupted, "interrupted");
        if (const auto ran = port.run(net::monotonic_now() + turn); !ran) {
            return refused(ran.error());
        }
        const wire::Instant now = net::monotonic_now();
        side.progress(now);
        if (const std::uint64_t count = side.sent() + side.received(); count != moved) {
            moved = count;
            heard = now;
        } else if (now - heard > silence_limit) {
            return refused(broken_off, fmt::format("the peer has been silent for 10 s, after {} "
                                                   "messages of it: do both sides want the same "
                                                   "number of round trips (-n)?",
                                                   side.received()));
        }
    }
    if (side.failed()) return refused(broken_off, *side.failed());
    return {};
}

Done<void> play_and_tell(Pingpong& side, port::Port& port, const Options& options,
                         std::string_view checked, std::FILE* out) {
    const wire::Instant began = net::monotonic_now();
    const auto played = play(side, port);
    if (!played) return played;
    const auto seconds = std::chrono::duration<double>(net::monotonic_now() - began).count();
    const auto rounds = static_cast<double>(options.rounds);
    fmt::print(out, "{} round trips of {} bytes in {:.3f} s: {:.1f} us each, {:.1f} Mbit/s{}\n",
               options.rounds, options.size, seconds, seconds / rounds * 1e6,
               rounds * 2 * 8 * options.size / seconds / 1e6, checked);
    if (side.parted()) {
        fmt::print(out, "the peer had gone before it acknowledged the last message\n");
    }
    const engine::Counters& counters = port.engine().counters();
    if (port.bad_icrc() + counters.local_ack_timeout + counters.out_of_sequence +
            counters.duplicate_request >
        0) {
        fmt::print(out,
                   "since the start: {} timeouts, {} packets out of sequence, {} duplicates, "
                   "{} bad ICRCs\n",
                   counters.local_ack_timeout, counters.out_of_sequence, counters.duplicate_request,
                   port.bad_icrc());
    }
    std::fflush(out);
    const wire::Instant until = net::monotonic_now() + linger;
    while (net::monotonic_now() < until && !net::StopOnSignal::requested()) {
        if (const auto ran = port.run(until); !ran) return refused(ran.error());
    }
    return {};
}

int say_why(const Refusal& refusal, std::FILE* err) {
    fmt::print(err, "veriroce: {}\n", refusal.text);
    return refusal.code;
}

// --- serve ------------------------------------------------------------------------------------

Done<void> serve_peer(net::ByteStream stream, Ports& ports, const Options& options,
                      std::FILE* out) {
    const auto remote = hear(stream);
    if (!remote) return std::unexpected(remote.error());
    const auto local = stream.local_address();
    if (!local) return refused(tool_error, "the connection has no address");
    const auto chosen = ports.for_connection(*local);
    if (!chosen) return std::unexpected(chosen.error());
    auto side = open_side(options, *chosen);
    if (!side) return std::unexpected(side.error());
    fmt::print(out, "local:  {}\nremote: {}\n", shown((*side)->local()), shown(*remote));
    std::fflush(out);
    if (auto met = meet(**side, *chosen, *remote); !met) return met;
    if (auto said = say(stream, (*side)->local()); !said) return said;
    std::array<char, kDone.size()> done{};
    const auto heard = stream.receive_all(done, net::monotonic_now() + exchange_patience);
    if (!heard) return refused(heard.error());
    return play_and_tell(**side, chosen->port, options, "", out);
}

// Waits for the next peer, and meanwhile answers for addresses that only the port knows.
Done<std::optional<net::ByteStream>> next_peer(std::vector<net::StreamListener>& listeners,
                                               port::Port* port) {
    while (!net::StopOnSignal::requested()) {
        std::vector<int> others;
        for (const net::StreamListener& one : listeners)
            others.push_back(one.fd());
        if (port != nullptr) {
            if (const auto ran = port->run(net::monotonic_now() + turn, others); !ran) {
                return refused(ran.error());
            }
        }
        const wire::Instant until =
            port != nullptr ? wire::Instant::min() : net::monotonic_now() + turn;
        for (net::StreamListener& one : listeners) {
            auto peer =
                one.accept(&one == &listeners.front() ? until : wire::Instant::min(), others);
            if (!peer) return refused(peer.error());
            if (*peer) return std::move(*peer);
        }
    }
    return std::nullopt;
}

Done<std::vector<net::StreamListener>> listen(const Options& options) {
    std::vector<net::StreamListener> listeners;
    for (const std::string& text : options.listen) {
        const auto address = net::LineAddress::parse(text);
        if (!address) return refused(usage_error, "--listen: " + address.error().text);
        auto listener = net::StreamListener::open(*address);
        if (!listener) return refused(listener.error());
        listeners.push_back(std::move(*listener));
    }
    if (!listeners.empty()) return listeners;
    // Everywhere, as far as this host has both IP versions.
    std::optional<net::Error> last;
    for (const char* host : {"0.0.0.0", "::"}) {
        auto listener = net::StreamListener::open({false, host, kExchangePort});
        if (listener)
            listeners.push_back(std::move(*listener));
        else
            last = listener.error();
    }
    if (listeners.empty()) return refused(*last);
    return listeners;
}

} // namespace

int serve(const Options& options, std::FILE* out, std::FILE* err) {
    const net::StopOnSignal stop;
    auto listeners = listen(options);
    if (!listeners) return say_why(listeners.error(), err);
    auto ports = Ports::open(options);
    if (!ports) return say_why(ports.error(), err);
    for (const net::StreamListener& one : *listeners)
        fmt::print(out, "waiting for ibv_rc_pingpong or veriroce ping on {}\n",
                   one.address().text());
    std::fflush(out);
    while (true) {
        auto peer = next_peer(*listeners, ports->opened());
        if (!peer) return say_why(peer.error(), err);
        if (!*peer) return interrupted;
        fmt::print(out, "peer {}\n", (*peer)->peer().text());
        const auto served = serve_peer(std::move(**peer), *ports, options, out);
        if (!served) {
            const int code = say_why(served.error(), err);
            // A peer that breaks off is its own affair; the next one may do better.
            if (options.once || code == interrupted || code == usage_error) return code;
        } else if (options.once) {
            return 0;
        }
    }
}

int ping(const Options& options, std::FILE* out, std::FILE* err) {
    const net::StopOnSignal stop;
    const bool with_port =
        options.peer.rfind(':') != std::string::npos && !wire::IpAddress::parse(options.peer);
    const auto address = with_port ? net::LineAddress::parse(options.peer)
                                   : net::LineAddress{false, options.peer, kExchangePort};
    if (!address) return say_why({usage_error, address.error().text}, err);
    auto ports = Ports::open(options);
    if (!ports) return say_why(ports.error(), err);
    auto stream = net::ByteStream::connect(*address, net::monotonic_now() + exchange_patience,
                                           "ibv_rc_pingpong or veriroce serve");
    if (!stream) return say_why({tool_error, stream.error().text}, err);
    const auto local = stream->local_address();
    if (!local) return say_why({usage_error, "the peer must be a host"}, err);
    const auto chosen = ports->for_connection(*local);
    if (!chosen) return say_why(chosen.error(), err);
    auto side = open_side(options, *chosen);
    if (!side) return say_why(side.error(), err);

    if (const auto said = say(*stream, (*side)->local()); !said) return say_why(said.error(), err);
    const auto remote = hear(*stream);
    if (!remote) return say_why(remote.error(), err);
    fmt::print(out, "{}\nlocal:  {}\nremote: {}\n", chosen->port.text(), shown((*side)->local()),
               shown(*remote));
    if (const auto met = meet(**side, *chosen, *remote); !met) return say_why(met.error(), err);
    if (const auto told = stream->send(kDone, net::monotonic_now() + exchange_patience); !told) {
        return say_why({tool_error, told.error().text}, err);
    }
    (*side)->start(net::monotonic_now());
    const auto played = play_and_tell(**side, chosen->port, options, ", data as sent", out);
    return played ? 0 : say_why(played.error(), err);
}

} // namespace veriroce::pingpong
