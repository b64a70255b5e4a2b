// The tester's interface and host.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/preflight/list.hpp"
#include "conformance/preflight/pair.hpp"

namespace veriroce::preflight {

namespace {

// A packet of path MTU 4096 with all of its headers.
constexpr std::size_t kWholeMtu = 4200;
// RawLinkOptions::receive_buffer_bytes.
constexpr std::size_t kReceiveBuffer = 64U << 20U;
// The answers to a READ of 64 KiB with path MTU 256, and as many of the case beside it.
constexpr std::uint32_t kShortRing = 512;
constexpr std::uint32_t kLateUsecs = 10;
constexpr auto* kPrivileges = "run as root, or setcap cap_net_raw,cap_net_admin+ep on the program";
constexpr double kMuchStolen = 0.005;

// False if nothing else about the interface is worth a look.
bool check_link(const net::InterfaceFacts& interface, List& list) {
    const std::string& name = interface.name;
    if (!interface.exists) {
        list.must("interface",
                  fmt::format("this host has no interface {}: it has {}", name,
                              fmt::join(interface.all_names, ", ")),
                  "name one of them with -i");
        return false;
    }
    if (!interface.ethernet) {
        list.must("interface", fmt::format("{} is not Ethernet", name), "name another one with -i");
        return false;
    }
    if (!interface.up) {
        list.must("interface", fmt::format("{} is down", name),
                  fmt::format("ip link set {} up", name));
        return false;
    }
    if (!interface.carrier) {
        list.must("carrier", fmt::format("{} has no carrier", name),
                  "plug in the cable, or set the other end up");
        return false;
    }
    std::string text = fmt::format("{} is up", name);
    if (interface.speed_mbps && *interface.speed_mbps > 0) {
        const std::uint32_t mbps = *interface.speed_mbps;
        text += mbps < 1000 ? fmt::format(", {} Mbit/s", mbps)
                            : fmt::format(", {:g} Gbit/s", mbps / 1000.0);
    }
    if (!interface.driver.empty()) text += ", driver " + interface.driver;
    if (!interface.firmware.empty()) text += ", firmware " + interface.firmware;
    list.ok("interface", text);
    return true;
}

void check_permission(const TesterFacts& facts, List& list) {
    if (!facts.host.net_raw) {
        list.must("permission", "raw frames need CAP_NET_RAW", kPrivileges);
    } else if (!facts.host.net_admin) {
        list.warning("permission", "without CAP_NET_ADMIN, a run cannot turn off offloads",
                     kPrivileges);
    } else {
        list.ok("permission", "CAP_NET_RAW and CAP_NET_ADMIN");
    }
}

void check_rdma(const net::InterfaceFacts& interface, List& list) {
    for (const net::RdmaOwner& owner : interface.rdma) {
        const std::string remedy = cure(owner) + " (or use another interface)";
        if (owner.device.empty()) {
            list.warning("RDMA",
                         fmt::format("the RDMA driver {} is loaded for {}, but its device is not "
                                     "visible here: if another network namespace has it, it may "
                                     "take the packets to UDP 4791",
                                     owner.driver, interface.name),
                         remedy);
        } else {
            list.must("RDMA",
                      fmt::format("the RDMA device {} owns {} and takes the packets to UDP 4791",
                                  owner.device, interface.name),
                      remedy);
        }
    }
    if (interface.rdma.empty()) list.ok("RDMA", "no RDMA device takes the packets to UDP 4791");
}

void check_mtu(const net::InterfaceFacts& interface, List& list) {
    const std::string has = fmt::format("MTU {}", interface.mtu);
    if (interface.mtu >= kWholeMtu) {
        list.ok("MTU", has);
        return;
    }
    list.warning("MTU",
                 fmt::format("{} is too small for path MTU 4096, which needs {}", has, kWholeMtu),
                 fmt::format("ip link set {} mtu {} (and so the DUT's interface and the switch)",
                             interface.name, kWholeMtu));
}

void check_addresses(const TesterFacts& facts, List& list) {
    std::vector<std::string> usable;
    for (const wire::IpAddress& one : facts.extra_addresses)
        usable.push_back(one.text());
    for (const net::Subnet& one : facts.interface.subnets) {
        if (!link_local(one.address)) usable.push_back(one.text());
    }
    if (usable.empty()) {
        list.must(
            "address",
            fmt::format("{} has no address that the DUT can answer", facts.interface.name),
            fmt::format("ip addr add 192.0.2.2/24 dev {} (an address in the subnet of the DUT)",
                        facts.interface.name));
        return;
    }
    list.ok("address", fmt::format("{}", fmt::join(usable, ", ")));
}

void check_offloads(const TesterFacts& facts, List& list) {
    std::vector<std::string> changed;
    std::vector<std::string> fixed;
    for (const auto& one : facts.interface.offloads)
        (one.changeable && facts.host.net_admin ? changed : fixed).push_back(one.name);
    // The link is promiscuous then.
    const bool filter = std::erase(fixed, "rx-vlan-filter") > 0;
    if (!fixed.empty()) {
        list.warning("offloads",
                     fmt::format("{} cannot be turned off, and may merge or change packets: a case "
                                 "that receives a merged packet ends with ERROR",
                                 fmt::join(fixed, ", ")),
                     "use an interface with another driver, or more privileges");
    } else if (!changed.empty()) {
        list.ok("offloads",
                fmt::format("a run turns off {}, and then on again", fmt::join(changed, ", ")));
    } else {
        list.ok("offloads", "none that merges or changes packets");
    }
    if (filter) {
        list.ok("VLAN filter", "cannot be turned off: a run makes the interface promiscuous");
    }
}

// Packets of one QP, or requests and answers, may come through queues that are read by different
// CPUs: the capture then shows them in another order.
void check_order(const net::InterfaceFacts& interface, List& list) {
    const std::string& name = interface.name;
    const std::uint32_t queues = interface.queues ? interface.queues->receive : 1;
    const bool by_addresses =
        interface.hashes_ports_v4 == false && interface.hashes_ports_v6 == false;
    if (queues > 1 && !by_addresses) {
        const std::string_view which = interface.queues->combined ? "combined" : "rx";
        list.warning(
            "order",
            fmt::format("{} receives by {} queues: packets of several QPs may seem to come "
                        "in another order",
                        name, queues),
            fmt::format("ethtool -L {} {} 1", name, which));
    } else if (queues > 1) {
        list.ok("order", fmt::format("{} queues, but addresses alone choose the queue", queues));
    } else {
        list.ok("order", "one receive queue");
    }
    if (interface.steers_packets) {
        list.warning(
            "RPS",
            fmt::format("the kernel spreads packets of {} over several CPUs, which may "
                        "change their order",
                        name),
            fmt::format("for f in /sys/class/net/{}/queues/rx-*/rps_cpus; do echo 0 > $f; done",
                        name));
    }
}

void check_times(const net::InterfaceFacts& interface, List& list) {
    const auto& times = interface.coalescing;
    if (!times) return;
    if (times->adaptive || times->receive_usecs > kLateUsecs) {
        list.warning(
            "interrupts",
            times->adaptive
                ? fmt::format("{} delays interrupts as it likes (adaptive-rx): times below "
                              "some 100 us cannot be judged",
                              interface.name)
                : fmt::format("{} delays interrupts by {} us: shorter times cannot be judged",
                              interface.name, times->receive_usecs),
            fmt::format("ethtool -C {} adaptive-rx off rx-usecs 0", interface.name));
    } else {
        list.ok("interrupts", fmt::format("delayed by {} us at most", times->receive_usecs));
    }
}

void check_room(const TesterFacts& facts, List& list) {
    const auto& ring = facts.interface.ring;
    if (ring && ring->receive < std::min(kShortRing, ring->most)) {
        list.warning("receive ring",
                     fmt::format("holds {} packets: a burst may be lost", ring->receive),
                     fmt::format("ethtool -G {} rx {}", facts.interface.name, ring->most));
    }
    if (!facts.host.net_admin && facts.host.receive_buffer_most < kReceiveBuffer) {
        list.warning("socket buffer",
                     fmt::format("at most {} KiB: a burst may be lost",
                                 facts.host.receive_buffer_most >> 10U),
                     fmt::format("sysctl -w net.core.rmem_max={}", kReceiveBuffer));
    }
}

void check_layers(const net::InterfaceFacts& interface, List& list) {
    const std::string& name = interface.name;
    const auto& of = interface.master_kind;
    if (!interface.master.empty()) {
        list.warning(
            "layers",
            fmt::format("{} is a port of {}{}, which answers ARP and may send and receive by "
                        "other ports",
                        name, of.empty() ? "" : of + " ", interface.master),
            fmt::format("ip link set {} nomaster", name));
    }
    constexpr std::array<std::string_view, 6> kLayers{"bond", "bridge",  "team",
                                                      "vlan", "macvlan", "openvswitch"};
    if (std::ranges::find(kLayers, interface.kind) != kLayers.end()) {
        list.warning(
            "layers",
            fmt::format("{} is a {}: its settings are not those of the ports below it, which "
                        "may merge, filter or reorder packets",
                        name, interface.kind),
            "name the physical interface with -i");
    }
    if (!interface.on_top.empty()) {
        list.warning(
            "layers",
            fmt::format("the kernel answers on {}, on top of {}, also in cases with a VLAN",
                        fmt::join(interface.on_top, ", "), name),
            fmt::format("ip link delete {}", interface.on_top.front()));
    }
    if (interface.xdp) {
        list.warning("XDP",
                     fmt::format("a program on {} takes packets before the tester sees them", name),
                     fmt::format("ip link set {} xdp off", name));
    }
    constexpr std::array<std::string_view, 4> kDisturb{"netem", "tbf", "htb", "ets"};
    if (std::ranges::find(kDisturb, interface.queueing) != kDisturb.end()) {
        list.warning("queueing",
                     fmt::format("the discipline {} of {} may delay or drop what the tester sends",
                                 interface.queueing, name),
                     fmt::format("tc qdisc del dev {} root", name));
    }
}

// The drivers of Intel's NICs do not let a host send MAC control frames of its own.
void check_pause(const net::InterfaceFacts& interface, List& list) {
    if (interface.driver != "ice" && interface.driver != "i40e") return;
    list.warning("PFC",
                 fmt::format("{} does not send PAUSE frames that a program makes: rob/paused and "
                             "rob/other-frames cannot be tested from here",
                             interface.driver),
                 "");
}

void check_host(const HostFacts& host, List& list) {
    constexpr std::array<std::string_view, 4> kSlow{"hpet", "acpi_pm", "jiffies",
                                                    "refined-jiffies"};
    if (std::ranges::find(kSlow, host.clock_source) != kSlow.end()) {
        list.warning("clock",
                     fmt::format("{} is slow to read: time stamps are coarse", host.clock_source),
                     "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
    }
    if (host.stolen > kMuchStolen) {
        list.warning("CPU",
                     fmt::format("the hypervisor gave {:.1f} % of the CPU time to other machines: "
                                 "cases about times may end with ERROR",
                                 100 * host.stolen),
                     "test from a physical host, or pin the virtual CPUs");
    }
}

// Another interface that answers ARP for the tester's address catches the device's packets.
void check_other_interfaces(const TesterFacts& facts, List& list) {
    for (const net::Subnet& own : facts.interface.subnets) {
        if (!own.address.v4()) continue;
        for (const HostFacts::Address& other : facts.host.addresses) {
            if (other.interface == facts.interface.name || !other.answers_for_others ||
                !other.subnet.contains(own.address)) {
                continue;
            }
            list.warning(
                "ARP flux",
                fmt::format("{} is in the subnet of {}, too, and answers ARP for {}: the DUT "
                            "may send its packets there",
                            other.interface, facts.interface.name, own.address.text()),
                "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2");
        }
    }
}

// What only the attempt to open a link shows.
void check_open(const TesterFacts& facts, List& list) {
    if (!facts.link_error) return;
    const bool permitted = facts.host.net_raw; // and still refused
    switch (facts.link_error->kind) {
    case net::ErrorKind::NotPermitted:
        if (permitted) list.must("raw link", facts.link_error->text, "");
        return;
    case net::ErrorKind::NoInterface:
    case net::ErrorKind::InterfaceDown:
    case net::ErrorKind::NotEthernet:
    case net::ErrorKind::RdmaOwnsIt: return; // said above
    case net::ErrorKind::BadAddress:
    case net::ErrorKind::PortTaken:
    case net::ErrorKind::WouldRoute:
    case net::ErrorKind::TooLong:
    case net::ErrorKind::NoNeighbour:
    case net::ErrorKind::Refused:
    case net::ErrorKind::Unreachable:
    case net::ErrorKind::TimedOut:
    case net::ErrorKind::Closed:
    case net::ErrorKind::System: list.must("raw link", facts.link_error->text, ""); return;
    }
}

} // namespace

void check_tester(const TesterFacts& facts, List& list) {
    check_permission(facts, list);
    if (!check_link(facts.interface, list)) return;
    check_rdma(facts.interface, list);
    check_mtu(facts.interface, list);
    check_addresses(facts, list);
    check_offloads(facts, list);
    check_order(facts.interface, list);
    check_times(facts.interface, list);
    check_room(facts, list);
    check_layers(facts.interface, list);
    check_pause(facts.interface, list);
    check_host(facts.host, list);
    check_other_interfaces(facts, list);
    check_open(facts, list);
}

} // namespace veriroce::preflight
