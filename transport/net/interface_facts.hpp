// What decides whether an interface shows a tester the packets of the wire, unchanged and in order:
// as `ip -d link`, `ip addr` and `ethtool -k`, `-l`, `-c`, `-g`, `-i`, `-n` show it. It changes
// nothing, and needs no privilege. What the kernel or the driver does not tell is empty.
//
// Units: as the names say. Source: rtnetlink(7), linux/ethtool.h, Documentation/ABI/testing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dissector/wire/ip_address.hpp"
#include "transport/net/rdma_owner.hpp"
#include "transport/net/subnet.hpp"

namespace veriroce::net {

struct InterfaceFacts {
    std::string name;
    std::vector<std::string> all_names; // of this host's interfaces
    bool exists = false;
    bool ethernet = false;
    bool up = false;
    bool carrier = false;
    std::size_t mtu = 0;
    wire::MacAddress mac;
    std::vector<Subnet> subnets;

    std::string driver;
    std::string firmware;
    std::optional<std::uint32_t> speed_mbps;

    // Offloads that a raw link turns off, as far as they are on now.
    struct Offload {
        std::string name; // the kernel's
        bool changeable = false;
    };
    std::vector<Offload> offloads;

    struct Queues {
        std::uint32_t receive = 1;
        bool combined = false; // they also send: ethtool -L combined, else -L rx
    };
    std::optional<Queues> queues;
    // Whether the ports of a datagram help to choose its receive queue.
    std::optional<bool> hashes_ports_v4;
    std::optional<bool> hashes_ports_v6;
    bool steers_packets = false; // RPS: the kernel hands packets to several CPUs

    struct Coalescing {
        bool adaptive = false;
        std::uint32_t receive_usecs = 0;
    };
    std::optional<Coalescing> coalescing;
    struct Ring {
        std::uint32_t receive = 0;
        std::uint32_t most = 0;
    };
    std::optional<Ring> ring;

    std::string kind; // "vlan", "bond", "veth"; empty for hardware
    std::string master;
    std::string master_kind;         // "bond", "bridge", "team"
    std::vector<std::string> on_top; // VLAN and macvlan interfaces over this one
    std::string queueing;            // the root queueing discipline: "mq", "netem"
    bool xdp = false;                // a program takes packets before packet sockets see them
    std::vector<RdmaOwner> rdma;     // of the interface or its master
};

InterfaceFacts interface_facts(const std::string& name, const SystemFolders& folders = {});

} // namespace veriroce::net
