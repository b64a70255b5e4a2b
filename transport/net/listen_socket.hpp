// Inside this room: a listening socket, made by hand so that every refusal has its own sentence.
#pragma once

#include "transport/net/descriptor.hpp"
#include "transport/net/line_address.hpp"

namespace veriroce::net {

struct ListenSocket {
    Descriptor socket;   // non-blocking
    LineAddress address; // with the port that the kernel chose where 0 was asked for
};

std::expected<ListenSocket, Error> open_listen_socket(const LineAddress& address);

} // namespace veriroce::net
