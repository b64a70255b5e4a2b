// Internal: a listening socket, created without Asio so that each error has its own message.
#pragma once

#include "transport/net/descriptor.hpp"
#include "transport/net/line_address.hpp"

namespace veriroce::net {

struct ListenSocket {
    Descriptor socket;   // non-blocking
    LineAddress address; // with the actual port if port 0 was requested
};

std::expected<ListenSocket, Error> open_listen_socket(const LineAddress& address);

} // namespace veriroce::net
