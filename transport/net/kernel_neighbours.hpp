// Inside this room: the kernel's neighbour table (rtnetlink(7)), as `ip neigh` shows it.
#pragma once

#include <optional>

#include "dissector/wire/ip_address.hpp"

namespace veriroce::net {

// The MAC that the kernel currently has for `address` on this interface. Stale and incomplete
// entries do not count.
std::optional<wire::MacAddress> kernel_neighbour(int interface_index,
                                                 const wire::IpAddress& address);

} // namespace veriroce::net
