// Inside this room: what the kernel says about a network interface, and whether a raw link may be
// opened on it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "dissector/wire/ip_address.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

struct Interface {
    std::string name;
    int index = 0;
    std::size_t mtu = 0;
    wire::MacAddress mac;
    std::vector<wire::IpAddress> addresses;

    // Fails if there is none of this name, or it is down, or it is not Ethernet.
    static std::expected<Interface, Error> find(const std::string& name);
};

// Waits until frames can leave the interface: shortly after `ip link set up` the kernel still drops
// them all, silently. Fails after some seconds: no cable, or nothing at its other end.
std::expected<void, Error> wait_for_carrier(const Interface& interface);

// What became of an interface on which the kernel reported that the network is down.
Error lost_interface(const std::string& name, int index);

// Fails if an RDMA device has this interface: it would get the packets. `rdma_class` is
// /sys/class/infiniband.
std::expected<void, Error> check_no_rdma(const std::string& interface,
                                         const std::string& rdma_class);

// Fails if this kernel forwards: it would route packets for addresses that are not its own.
std::expected<void, Error> check_no_forwarding(const std::string& interface,
                                               const std::vector<wire::IpAddress>& extra);

} // namespace veriroce::net
