// Inside this room: keeps the kernel quiet on UDP 4791. A socket that drops everything holds the
// port on each own address of the interface; without it the kernel would answer RoCE packets with
// ICMP port unreachable.
#pragma once

#include <expected>
#include <vector>

#include "transport/net/descriptor.hpp"
#include "transport/net/interface.hpp"

namespace veriroce::net {

std::expected<std::vector<Descriptor>, Error> hold_roce_port(const Interface& interface);

} // namespace veriroce::net
