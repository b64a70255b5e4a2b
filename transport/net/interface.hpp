// Internal: properties of a network interface, and whether a raw link may be opened on it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "dissector/wire/ip_address.hpp"
#include "transport/net/error.hpp"
#include "transport/net/subnet.hpp"

namespace veriroce::net {

struct Interface {
    std::string name;
    int index = 0;
    std::size_t mtu = 0;
    wire::MacAddress mac;
    std::vector<wire::IpAddress> addresses;
    std::vector<Subnet> subnets; // of the addresses, in their order

    // Fails if no interface has this name, if it is down, or if it is not Ethernet.
    static std::expected<Interface, Error> find(const std::string& name);
};

// Waits until frames can leave the interface: shortly after `ip link set up` the kernel drops all
// frames silently. Fails after a few seconds: no cable, or the other end is down.
std::expected<void, Error> wait_for_carrier(const Interface& interface);

// The error for an interface on which the kernel reported that the network is down.
Error lost_interface(const std::string& name, int index);

// Fails if the interface belongs to an RDMA device, which would receive the packets. `rdma_class`
// is /sys/class/infiniband.
std::expected<void, Error> check_no_rdma(const std::string& interface,
                                         const std::string& rdma_class);

// Fails if this kernel forwards packets: it would route those for addresses that are not its own.
std::expected<void, Error> check_no_forwarding(const std::string& interface,
                                               const std::vector<wire::IpAddress>& extra);

} // namespace veriroce::net
