// Where a line stream listens or connects to: "127.0.0.1:4790", "[fd77::1]:4790", "host:4790" or
// "unix:/run/agent.sock".
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "transport/net/error.hpp"

namespace veriroce::net {

struct LineAddress {
    bool is_unix = false;
    std::string host; // an address or a name; of a Unix socket its path
    std::uint16_t port = 0;

    static std::expected<LineAddress, Error> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
    // A Unix socket, 127.0.0.0/8, ::1 or "localhost": nobody outside this host can reach it.
    [[nodiscard]] bool local() const;

    friend bool operator==(const LineAddress&, const LineAddress&) = default;
};

} // namespace veriroce::net
