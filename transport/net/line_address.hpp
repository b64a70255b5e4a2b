// The address that a line stream listens on or connects to: "127.0.0.1:4790", "[fd77::1]:4790",
// "host:4790" or "unix:/run/agent.sock".
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "transport/net/error.hpp"

namespace veriroce::net {

struct LineAddress {
    bool is_unix = false;
    std::string host; // an address or host name; for a Unix socket, its path
    std::uint16_t port = 0;

    static std::expected<LineAddress, Error> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
    // Whether only this host can reach it: a Unix socket, 127.0.0.0/8, ::1 or "localhost".
    [[nodiscard]] bool local() const;

    friend bool operator==(const LineAddress&, const LineAddress&) = default;
};

} // namespace veriroce::net
