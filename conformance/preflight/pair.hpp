// Which addresses of the tester and the device talk to each other. Pure.
#pragma once

#include <vector>

#include "conformance/dut/device_methods.hpp"
#include "transport/net/subnet.hpp"

namespace veriroce::preflight {

// The device's GID and the tester's address.
struct Pair {
    dut::Gid gid;
    wire::IpAddress tester;
    bool one_subnet = false; // of the tester's interface
};

// The first two in one subnet of the tester's interface: a device sends to another subnet through
// a router. If there are none, simply the first. Neither list may be empty.
Pair best_pair(const std::vector<dut::Gid>& gids, const std::vector<wire::IpAddress>& testers,
               const std::vector<net::Subnet>& subnets);

// Whether an address is a link-local one of IPv6, which RoCE connections are not tested with.
bool link_local(const wire::IpAddress& address);

} // namespace veriroce::preflight
