// A connected byte stream over TCP or a Unix socket, and the socket that accepts such connections.
// No call blocks beyond its deadline.
//
// Error messages say what failed and what to do: "nothing listens on 10.77.0.2:4790: start the
// agent there ...". After any error except TimedOut the connection is unusable.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/error.hpp"
#include "transport/net/line_address.hpp"

namespace veriroce::net {

class ByteStream {
  public:
    // `who` is the expected listener, for error messages: "the agent".
    static std::expected<ByteStream, Error> connect(const LineAddress& address,
                                                    wire::Instant deadline, std::string_view who);
    // Takes ownership of a connected socket.
    ByteStream(Descriptor socket, LineAddress peer)
        : socket_(std::move(socket)), peer_(std::move(peer)) {}

    std::expected<void, Error> send(std::string_view bytes, wire::Instant deadline);

    // Returns at least one byte. Errors: Closed if the peer has closed, TimedOut at the deadline.
    // With a deadline in the past it does not wait.
    std::expected<std::size_t, Error> receive(std::span<char> room, wire::Instant deadline);
    std::expected<void, Error> receive_all(std::span<char> room, wire::Instant deadline);

    [[nodiscard]] int fd() const { return socket_.fd(); }
    [[nodiscard]] const LineAddress& peer() const { return peer_; }
    // This host's address of the connection; empty for a Unix socket.
    [[nodiscard]] std::optional<wire::IpAddress> local_address() const;

  private:
    Descriptor socket_;
    LineAddress peer_;
};

class StreamListener {
  public:
    static std::expected<StreamListener, Error> open(const LineAddress& address);

    // The next connection; empty if the deadline has passed or one of `also` is readable.
    std::expected<std::optional<ByteStream>, Error> accept(wire::Instant deadline,
                                                           std::span<const int> also = {});

    [[nodiscard]] int fd() const { return socket_.fd(); }
    // With the actual port if port 0 was requested.
    [[nodiscard]] const LineAddress& address() const { return address_; }

  private:
    StreamListener(Descriptor socket, LineAddress address)
        : socket_(std::move(socket)), address_(std::move(address)) {}

    Descriptor socket_;
    LineAddress address_;
};

} // namespace veriroce::net
