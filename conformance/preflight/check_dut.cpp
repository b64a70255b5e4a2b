// The device as its agent describes it, and the network between the two hosts.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/preflight/list.hpp"
#include "conformance/preflight/pair.hpp"

namespace veriroce::preflight {

namespace {

constexpr std::uint64_t kEnoughMemory = 16U << 20U;
constexpr wire::Duration kSlowAgent = std::chrono::milliseconds(20);

void check_agent(const DutFacts& facts, List& list) {
    const dut::Welcome& welcome = facts.welcome;
    std::string text = fmt::format("{}: device {}", welcome.name, welcome.device);
    if (welcome.driver) text += ", driver " + *welcome.driver;
    if (!welcome.firmware.empty()) text += ", firmware " + welcome.firmware;
    if (welcome.kernel) text += ", kernel " + *welcome.kernel;
    list.ok("agent", text);
    if (const auto& memlock = welcome.limits.memlock_bytes; memlock && *memlock < kEnoughMemory) {
        list.warning("memory",
                     fmt::format("the agent may lock {} KiB at most: cases with large or many "
                                 "memory regions end with ERROR",
                                 *memlock >> 10U),
                     "ulimit -l unlimited (before veriroce-agent, on the DUT's host)");
    }
    if (!facts.answers) return;
    const double ms = std::chrono::duration<double, std::milli>(*facts.answers).count();
    const std::string took = fmt::format("the agent answers within {:.3g} ms", ms);
    if (*facts.answers > kSlowAgent) {
        list.warning("agent", took + ": a run takes several minutes longer",
                     "connect to it by a faster network, or end what keeps its host busy");
    } else {
        list.ok("agent", took);
    }
}

void check_port(const dut::Port& port, List& list) {
    if (!port.link_layer.empty() && port.link_layer != "Ethernet") {
        list.must("port",
                  fmt::format("port {} is {}, and RoCE needs Ethernet", port.port, port.link_layer),
                  "set the port to Ethernet (mlxconfig set LINK_TYPE_P1=2), or use another device");
        return;
    }
    if (port.state && *port.state != "ACTIVE") {
        list.must("port", fmt::format("port {} is {}, not ACTIVE", port.port, *port.state),
                  "ip link set IFACE up (on the DUT's host), and plug in its cable");
        return;
    }
    const bool known = port.mac != wire::MacAddress{};
    list.ok("port", fmt::format("port {}{}", port.port, known ? ", " + port.mac.text() : ""));
    const std::string mtu = fmt::format("active path MTU {}", wire::bytes_of(port.mtu_active));
    if (port.mtu_active < port.mtu_max) {
        list.warning("MTU",
                     fmt::format("{}, but the device can do {}", mtu, wire::bytes_of(port.mtu_max)),
                     fmt::format("ip link set IFACE mtu {} (on the DUT's host)",
                                 wire::bytes_of(port.mtu_max) + 104));
    } else {
        list.ok("MTU", mtu);
    }
}

bool usable(const dut::Gid& gid) {
    return gid.type == "rocev2" && !link_local(gid.address);
}

void check_gids(const dut::Port& port, List& list) {
    std::vector<std::string> found;
    bool only_v1 = !port.gids.empty();
    for (const dut::Gid& gid : port.gids) {
        only_v1 = only_v1 && gid.type != "rocev2";
        if (!usable(gid)) continue;
        found.push_back(fmt::format("{} {}{}", gid.index, gid.address.text(),
                                    gid.vlan ? fmt::format(" (VLAN {})", *gid.vlan) : ""));
    }
    if (!found.empty()) {
        list.ok("GID", fmt::format("RoCEv2: {}", fmt::join(found, ", ")));
    } else if (only_v1) {
        list.must("GID", "only GIDs of RoCE v1",
                  "turn on RoCE v2 for the port (cma_roce_mode, or the driver's option)");
    } else {
        list.must("GID", "the port has no RoCEv2 GID but link-local ones",
                  "ip addr add 192.0.2.1/24 dev IFACE (on the DUT's host)");
    }
}

void check_arp(const Ends& ends, const wire::MacAddress& port_mac, List& list) {
    const std::string_view protocol = ends.dut.v4() ? "ARP" : "neighbours";
    const std::string address = ends.dut.text();
    if (ends.answered.empty()) {
        list.must(protocol, fmt::format("nobody answers for {}", address),
                  "connect both hosts to one L2 network, without a router, in the same VLAN");
        return;
    }
    const wire::MacAddress& first = ends.answered.front();
    const std::string remedy = "sysctl -w net.ipv4.conf.all.arp_ignore=1 "
                               "net.ipv4.conf.all.arp_announce=2 (on the DUT's host)";
    if (ends.answered.size() > 1) {
        std::vector<std::string> all;
        for (const wire::MacAddress& one : ends.answered)
            all.push_back(one.text());
        list.must(protocol,
                  fmt::format("{} answer for {}: two hosts have this address, or two interfaces of "
                              "one host answer",
                              fmt::join(all, " and "), address),
                  remedy);
    } else if (port_mac != wire::MacAddress{} && first != port_mac) {
        list.warning(protocol,
                     fmt::format("{} answers for {}, but the port of the device has {}: another "
                                 "interface answers, or a bond or a virtual router has the address",
                                 first.text(), address, port_mac.text()),
                     remedy);
    } else {
        list.ok(protocol, fmt::format("{} answers for {}", first.text(), address));
    }
}

bool belongs_to(const HostFacts& host, const wire::IpAddress& address) {
    return std::ranges::any_of(host.addresses, [&](const HostFacts::Address& one) {
        return one.subnet.address == address;
    });
}

void check_ends(const TesterFacts& tester, const DutFacts& dut, const Ends& ends, List& list) {
    const std::string both = fmt::format("tester {}, DUT {}", ends.tester.text(), ends.dut.text());
    if (belongs_to(tester.host, ends.dut)) {
        list.must(
            "hosts",
            fmt::format("{} belongs to this host: the kernel or the NIC delivers packets to it "
                        "without the wire",
                        ends.dut.text()),
            "move one of the two interfaces to a network namespace (ip link set IFACE netns NAME)");
        return;
    }
    if (ends.one_subnet) {
        list.ok("subnet", both);
    } else {
        list.warning("subnet",
                     both + fmt::format(": not in one subnet of {}, so the device may send to "
                                        "a router",
                                        tester.interface.name),
                     "give both an address of one subnet, or name a pair with --tester-address and "
                     "--dut-address");
    }
    const wire::MacAddress mac =
        dut.welcome.ports.empty() ? wire::MacAddress{} : dut.welcome.ports.front().mac;
    check_arp(ends, mac, list);
}

} // namespace

void check_dut(const DutFacts& facts, List& list) {
    if (facts.no_agent) {
        list.must("agent", *facts.no_agent,
                  fmt::format("veriroce-agent --listen {} (on the DUT's host)",
                              facts.agent.empty() ? "HOST:4790" : facts.agent));
        return;
    }
    check_agent(facts, list);
    if (facts.wrong_choice) {
        list.must("choice", *facts.wrong_choice, "");
        return;
    }
    if (facts.welcome.ports.empty()) {
        list.must("port", fmt::format("the agent names no port of {}", facts.welcome.device),
                  "choose a device with a port (veriroce-agent --device)");
        return;
    }
    check_port(facts.welcome.ports.front(), list);
    check_gids(facts.welcome.ports.front(), list);
}

void check_network(const TesterFacts& tester, const DutFacts& dut, List& list) {
    for (const Ends& ends : dut.ends)
        check_ends(tester, dut, ends, list);
    // Without a usable GID that was said above.
    const bool can_look = !tester.link_error && !dut.no_agent && !dut.wrong_choice &&
                          !dut.welcome.ports.empty() &&
                          std::ranges::any_of(dut.welcome.ports.front().gids, usable);
    if (dut.ends.empty() && can_look) {
        list.must(
            "subnet",
            "the tester and the DUT have no IP version in common, or --dut-address names no GID",
            fmt::format("ip addr add ADDRESS dev {} (of the version of the DUT's GIDs)",
                        tester.interface.name));
    }
}

} // namespace veriroce::preflight
