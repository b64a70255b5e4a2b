// Internal: reserves UDP 4791 on each of the interface's own addresses with a socket that drops
// everything. Otherwise the kernel would answer RoCE packets with ICMP port unreachable.
#pragma once

#include <expected>
#include <vector>

#include "transport/net/descriptor.hpp"
#include "transport/net/interface.hpp"

namespace veriroce::net {

std::expected<std::vector<Descriptor>, Error> reserve_roce_port(const Interface& interface);

} // namespace veriroce::net
