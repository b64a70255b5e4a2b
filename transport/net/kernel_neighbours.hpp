// Inside this room: the kernel's neighbour table (rtnetlink(7)), as `ip neigh` shows it.
#pragma once

#include <optional>

#include "dissector/wire/ip_address.hpp"

namespace veriroce::net {

// The MAC that the kernel knows for `address` on this interface and holds for right now: entries
// that are stale or unanswered do not count.
std::optional<wire::MacAddress> kernel_neighbour(int interface_index,
                                                 const wire::IpAddress& address);

} // namespace veriroce::net
