// Internal: converts between our addresses and the kernel's sockaddr variants.
#pragma once

#include <sys/socket.h>

#include <expected>
#include <string>
#include <vector>

#include "dissector/wire/ip_address.hpp"
#include "transport/net/line_address.hpp"

namespace veriroce::net {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] int family() const { return storage.ss_family; }
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }

    // `scope` is the interface's index; it is used only for link-local IPv6 addresses.
    static SocketAddress of(const wire::IpAddress& address, std::uint16_t port, int scope = 0);

    // The address and port; only for IPv4 and IPv6.
    [[nodiscard]] wire::IpAddress ip() const;
    [[nodiscard]] std::uint16_t port() const;
    // For users: "10.0.0.1:4790", "[fd77::1]:4790", "a Unix socket".
    [[nodiscard]] std::string text() const;
};

// Resolves the address of a line stream; a host name may have several addresses.
std::expected<std::vector<SocketAddress>, Error> socket_addresses(const LineAddress& address);

} // namespace veriroce::net
