#include "transport/commands/pingpong.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

#include <fmt/format.h>

#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::commands {

using namespace std::chrono_literals;
using namespace command_line;
using pingpong::Introduction;
using pingpong::Pingpong;

namespace {

constexpr wire::Duration kResolvePatience = 2s;
constexpr wire::Duration kSilenceLimit = 10s; // of a peer that should send

std::unexpected<Refusal> broken_off(std::string text) {
    return std::unexpected(Refusal{kExitFound, std::move(text)});
}

Accepted<wire::Mtu> mtu_for(const RoundTripOptions& options, const port::Port& port) {
    constexpr std::array known{wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048,
                               wire::Mtu::B4096};
    if (options.mtu == 0) return std::min(wire::Mtu::B1024, port.largest_mtu());
    const auto wanted = std::ranges::find(known, options.mtu, wire::bytes_of);
    if (wanted == known.end()) {
        return misused(
            fmt::format("--mtu: expected 256, 512, 1024, 2048 or 4096, got '{}'", options.mtu));
    }
    if (*wanted > port.largest_mtu()) {
        return misused(fmt::format("--mtu {}: {} carries at most {}", options.mtu, port.text(),
                                   wire::bytes_of(port.largest_mtu())));
    }
    return *wanted;
}

} // namespace

void add_options(Command& command, RoundTripOptions& options) {
    command.option("-i,--interface", options.interface,
                   "Send raw frames on this interface; the default is a UDP socket",
                   {.value = "IFACE"});
    command.option("--address", options.address,
                   "Our address; the default is the one that the TCP connection uses",
                   {.value = "ADDRESS"});
    command.number("-s,--size", options.size, {1, 1U << 30U}, "Bytes in a message",
                   {.value = "BYTES", .shows_default = true});
    command.number("-n,--rounds", options.rounds, {1, 1'000'000'000}, "Round trips",
                   {.value = "N", .shows_default = true});
    command.number("-m,--mtu", options.mtu, {},
                   "Path MTU; the default is 1024, or less if the link cannot carry it",
                   {.value = "BYTES"});
    command.flag("-v,--verbose", options.verbose,
                 "Print each packet that the engine refuses, and the check that refuses it");
    command.number("--psn", options.psn, {0, 0xFFFFFF}, "Our first PSN; the default is random",
                   {.value = "PSN"});
}

Accepted<Ports> Ports::open(const RoundTripOptions& options) {
    Ports ports;
    std::vector<wire::IpAddress> extra;
    if (!options.address.empty()) {
        const auto address = wire::IpAddress::parse(options.address);
        if (!address) {
            return misused(
                fmt::format("--address: expected an IP address, got '{}'", options.address));
        }
        ports.own_ = *address;
    }
    if (options.interface.empty()) return ports;
    if (ports.own_) extra.push_back(*ports.own_);
    auto raw = port::Port::raw(options.interface, extra);
    if (!raw) return unable(raw.error().text);
    ports.port_ = std::move(*raw);
    ports.raw_ = true;
    return ports;
}

bool Ports::serves(const wire::IpAddress& local) const {
    return raw_ || (port_ && port_->addresses().front() == own_.value_or(local));
}

Accepted<Ports::Chosen> Ports::for_connection(const wire::IpAddress& local) {
    const wire::IpAddress wanted = own_.value_or(local);
    if (!serves(local)) {
        port_.reset(); // two sockets cannot hold UDP 4791
        auto udp = port::Port::udp(wanted);
        if (!udp) return unable(udp.error().text);
        port_ = std::move(*udp);
    }
    const auto addresses = port_->addresses();
    if (std::ranges::find(addresses, wanted) != addresses.end()) return Chosen{*port_, wanted};
    const auto fits = std::ranges::find(addresses, wanted.v4(), &wire::IpAddress::v4);
    if (fits == addresses.end()) {
        return unable(
            fmt::format("{} has no {} address", port_->text(), wanted.v4() ? "IPv4" : "IPv6"));
    }
    return Chosen{*port_, *fits};
}
namespace {

wire::Psn first_psn(const RoundTripOptions& options) {
    if (options.psn) return wire::Psn(*options.psn);
    std::random_device random;
    return wire::Psn(static_cast<std::uint32_t>(random()));
}

} // namespace

Accepted<std::unique_ptr<Pingpong>> open_side(const RoundTripOptions& options,
                                              const Ports::Chosen& chosen) {
    const auto mtu = mtu_for(options, chosen.link);
    if (!mtu) return std::unexpected(mtu.error());
    auto side = Pingpong::open(chosen.link.engine(), {.size = options.size,
                                                      .rounds = options.rounds,
                                                      .mtu = *mtu,
                                                      .psn = first_psn(options),
                                                      .address = chosen.address});
    if (!side) return unable(side.error());
    return std::move(*side);
}

std::string text_of(const Introduction& side) {
    return fmt::format("QPN 0x{:06X}, PSN 0x{:06X}, GID {}", side.qpn.value, side.psn.value(),
                       side.gid.text());
}

Accepted<Introduction> receive_introduction(net::ByteStream& stream) {
    Introduction::Message message{};
    const auto heard = stream.receive_all(message, net::monotonic_now() + kExchangePatience);
    if (!heard) return unable(heard.error().text);
    return read_introduction(message, stream);
}

Accepted<Introduction> read_introduction(const Introduction::Message& message,
                                         const net::ByteStream& stream) {
    auto remote = Introduction::decode(message);
    if (!remote) {
        return unable(fmt::format("{}: {}", stream.peer().text(), remote.error()));
    }
    return *remote;
}

Accepted<void> send_introduction(net::ByteStream& stream, const Introduction& local) {
    const auto message = local.encode();
    const auto said =
        stream.send({message.data(), message.size()}, net::monotonic_now() + kExchangePatience);
    if (!said) return unable(said.error().text);
    return {};
}

Accepted<void> connect(Pingpong& side, const Ports::Chosen& chosen, const Introduction& remote) {
    if (const auto known = chosen.link.reach(remote.gid, net::monotonic_now() + kResolvePatience);
        !known) {
        return unable(known.error().text);
    }
    if (const auto joined = side.connect(remote, net::monotonic_now()); !joined) {
        return broken_off(joined.error());
    }
    return {};
}

void print_refusals(engine::Engine& engine, std::FILE* out) {
    while (const auto refusal = engine.poll_refusal())
        fmt::print(out, "refused {}: {}\n", refusal->number, engine::text_of(*refusal));
    std::fflush(out);
}

Accepted<bool> Play::step(Pingpong& side, wire::Instant now) {
    side.progress(now);
    if (side.failed()) return broken_off(*side.failed());
    if (side.finished()) return true;
    if (const std::uint64_t count = side.sent() + side.received(); count != moved_) {
        moved_ = count;
        heard_ = now;
    } else if (now - heard_ > kSilenceLimit) {
        return broken_off(
            fmt::format("the peer has been silent for 10 s, after {} "
                        "messages: do both sides use the same number of round trips (-n)?",
                        side.received()));
    }
    return false;
}

void Play::report(const Pingpong& side, port::Port& port, const RoundTripOptions& options,
                  std::string_view checked, wire::Instant now, std::FILE* out) const {
    // One message each way is a round trip; an interrupted peer has made fewer than were asked for.
    const std::uint64_t made = side.finished() ? options.rounds : side.received();
    if (made > 0) {
        const auto seconds = std::chrono::duration<double>(now - began_).count();
        const auto rounds = static_cast<double>(made);
        fmt::print(out, "{} round trips of {} bytes in {:.3f} s: {:.1f} us each, {:.1f} Mbit/s{}\n",
                   made, options.size, seconds, seconds / rounds * 1e6,
                   rounds * 2 * 8 * options.size / seconds / 1e6, checked);
    }
    if (side.parted()) {
        fmt::print(out, "the peer left before it acknowledged the last message\n");
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
}

Accepted<void> play_and_report(Pingpong& side, port::Port& port, const RoundTripOptions& options,
                               std::string_view checked, std::FILE* out) {
    Play play(net::monotonic_now());
    for (bool finished = false; !finished;) {
        if (command_line::StopOnSignal::requested()) {
            play.report(side, port, options, checked, net::monotonic_now(), out);
            return std::unexpected(Refusal{kExitInterrupted, "interrupted"});
        }
        if (const auto ran = port.run(net::monotonic_now() + kTurn); !ran) {
            return unable(ran.error().text);
        }
        if (options.verbose) print_refusals(port.engine(), out);
        const auto stepped = play.step(side, net::monotonic_now());
        if (!stepped) return std::unexpected(stepped.error());
        finished = *stepped;
    }
    play.report(side, port, options, checked, net::monotonic_now(), out);
    const wire::Instant until = net::monotonic_now() + kLinger;
    while (net::monotonic_now() < until && !command_line::StopOnSignal::requested()) {
        if (const auto ran = port.run(until); !ran) return unable(ran.error().text);
        if (options.verbose) print_refusals(port.engine(), out);
    }
    return {};
}

} // namespace veriroce::commands
