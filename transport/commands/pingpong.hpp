// What `veriroce serve` and `veriroce ping` share: their options, the exchange, the round trips.
//
// Exit codes: kExitSuccess every message came back as it was sent; kExitFound the peer broke off or
// sent something else; kExitUsage an option is wrong; kExitUnable no link, no permission, no peer;
// kExitInterrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dissector/command_line/command.hpp"
#include "dissector/command_line/refusal.hpp"
#include "transport/engine/engine.hpp"
#include "transport/net/byte_stream.hpp"
#include "transport/pingpong/pingpong.hpp"
#include "transport/port/port.hpp"

namespace veriroce::commands {

struct RoundTripOptions {
    std::string interface;            // raw frames on it; a UDP socket if empty
    std::string address;              // ours; that of the TCP connection if empty
    std::uint32_t size = 4096;        // of a message, bytes
    std::uint64_t rounds = 1000;      // round trips of a peer
    std::uint32_t mtu = 0;            // path MTU, bytes; 0: 1024, or less where the link is small
    std::optional<std::uint32_t> psn; // the first; random if unset
    bool verbose = false;             // print which packets the engine refuses
};

void add_options(command_line::Command& command, RoundTripOptions& options);

inline constexpr wire::Duration kExchangePatience = std::chrono::seconds(5);

// Opens a port when the exchange shows which address it needs, and keeps it.
class Ports {
  public:
    static command_line::Accepted<Ports> open(const RoundTripOptions& options);

    struct Chosen {
        port::Port& link;
        wire::IpAddress address;
    };
    // For a peer whose exchange came over this address of ours.
    command_line::Accepted<Chosen> for_connection(const wire::IpAddress& local);
    [[nodiscard]] port::Port* opened() { return port_.get(); }
    // Whether for_connection(local) keeps the port that is open.
    [[nodiscard]] bool serves(const wire::IpAddress& local) const;

  private:
    std::optional<wire::IpAddress> own_;
    std::unique_ptr<port::Port> port_;
    bool raw_ = false;
};

command_line::Accepted<std::unique_ptr<pingpong::Pingpong>>
open_side(const RoundTripOptions& options, const Ports::Chosen& chosen);

std::string text_of(const pingpong::Introduction& side);

// The message of the exchange.
command_line::Accepted<pingpong::Introduction> receive_introduction(net::ByteStream& stream);
command_line::Accepted<pingpong::Introduction>
read_introduction(const pingpong::Introduction::Message& message, const net::ByteStream& stream);
command_line::Accepted<void> send_introduction(net::ByteStream& stream,
                                               const pingpong::Introduction& local);

command_line::Accepted<void> connect(pingpong::Pingpong& side, const Ports::Chosen& chosen,
                                     const pingpong::Introduction& remote);

// A line for each packet that the engine refused since the last call: its number, the check, its
// rules, what followed. A gap in the numbers shows that the engine did not keep some.
void print_refusals(engine::Engine& engine, std::FILE* out);

// Watches the round trips of one side.
class Play {
  public:
    explicit Play(wire::Instant now) : began_(now), heard_(now) {}

    // Takes completions and sends what is due for them. Whether all round trips are made; the
    // refusal says why they never will be, for example after ten seconds of silence.
    command_line::Accepted<bool> step(pingpong::Pingpong& side, wire::Instant now);
    // The figures; `checked` is printed after them.
    void report(const pingpong::Pingpong& side, port::Port& port, const RoundTripOptions& options,
                std::string_view checked, wire::Instant now, std::FILE* out) const;

    // When the last message came or went; of none yet, when it began.
    [[nodiscard]] wire::Instant heard() const { return heard_; }
    [[nodiscard]] bool moved() const { return moved_ > 0; }

  private:
    wire::Instant began_;
    wire::Instant heard_;
    std::uint64_t moved_ = 0;
};

// How long a side goes on after its last round trip: it acknowledges what the peer may repeat.
inline constexpr wire::Duration kLinger = std::chrono::milliseconds(500);
inline constexpr wire::Duration kTurn = std::chrono::milliseconds(200); // a signal is heard so soon

// Until all round trips are made; then prints the figures, and lingers.
command_line::Accepted<void> play_and_report(pingpong::Pingpong& side, port::Port& port,
                                             const RoundTripOptions& options,
                                             std::string_view checked, std::FILE* out);

} // namespace veriroce::commands
