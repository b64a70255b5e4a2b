// What is found before a run: on made-up facts of NICs and hosts that are not here.
#include "conformance/preflight/checks.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <ostream>

namespace veriroce::preflight {

std::ostream& operator<<(std::ostream& out, const CheckResult& result) {
    return out << '\n' << line_of(result);
}

namespace {

wire::IpAddress ip(std::string_view text) {
    return *wire::IpAddress::parse(text);
}

const auto kMac = *wire::MacAddress::parse("52:54:00:00:00:01");
const auto kOther = *wire::MacAddress::parse("52:54:00:00:00:02");

// A tester and a device with which nothing is wrong.
Facts good() {
    Facts facts;
    net::InterfaceFacts& interface = facts.tester.interface;
    interface.name = "eth1";
    interface.all_names = {"lo", "eth0", "eth1"};
    interface.exists = interface.ethernet = interface.up = interface.carrier = true;
    interface.mtu = 9000;
    interface.subnets = {{ip("192.0.2.2"), 24}, {ip("fe80::1"), 64}};
    interface.driver = "mlx5_core";
    interface.firmware = "22.31.1014";
    interface.speed_mbps = 100'000;
    interface.queues = {.receive = 1, .combined = true};
    interface.coalescing = {.adaptive = false, .receive_usecs = 0};
    interface.ring = {.receive = 1024, .most = 8192};
    interface.queueing = "mq";
    HostFacts& host = facts.tester.host;
    host.net_raw = host.net_admin = true;
    host.clock_source = "tsc";
    host.addresses = {{"eth1", {ip("192.0.2.2"), 24}, true}, {"eth0", {ip("10.0.0.2"), 24}, true}};
    DutFacts& dut = facts.dut.emplace();
    dut.agent = "10.0.0.1:4790";
    dut.welcome.name = "veriroce-agent";
    dut.welcome.device = "mlx5_0";
    dut.welcome.ports = {{.mac = kMac,
                          .mtu_active = wire::Mtu::B4096,
                          .link_layer = "Ethernet",
                          .gids = {{.index = 3, .type = "rocev2", .address = ip("192.0.2.1")}}}};
    dut.answers = std::chrono::microseconds(200);
    dut.ends = {{.tester = ip("192.0.2.2"),
                 .dut = ip("192.0.2.1"),
                 .one_subnet = true,
                 .answered = {kMac}}};
    return facts;
}

// What is not ok, one line each.
std::string findings(const Facts& facts) {
    std::string text;
    for (const CheckResult& one : check(facts)) {
        if (one.grade != Grade::Ok) text += note_of(one) + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("preflight: where all is right, every line says ok", "[preflight]") {
    const Facts facts = good();
    CHECK(findings(facts).empty());
    const auto results = check(facts);
    CHECK(results.size() >= 15);
    CHECK(line_of(results[1]) == "tester   ok       interface      eth1 is up, 100 Gbit/s, driver "
                                 "mlx5_core, firmware 22.31.1014\n");
    Facts alone = facts;
    alone.dut.reset();
    CHECK(std::ranges::all_of(check(alone), [](const auto& one) { return one.where == "tester"; }));
}

TEST_CASE("preflight: each thing that is wrong is found, graded and cured", "[preflight]") {
    struct Row {
        std::function<void(Facts&)> change;
        std::string finding; // the beginning of the only line
        std::string remedy;  // its end
    };
    using Offload = net::InterfaceFacts::Offload;
    const auto port = [](Facts& f) -> dut::Port& { return f.dut->welcome.ports.front(); };
    const std::initializer_list<Row> rows{
        {[](Facts& f) { f.tester.interface.exists = false; },
         "must: tester, interface: this host has no interface eth1: it has lo, eth0, eth1",
         "name one of them with -i"},
        {[](Facts& f) { f.tester.interface.ethernet = false; },
         "must: tester, interface: eth1 is not Ethernet", "name another one with -i"},
        {[](Facts& f) { f.tester.interface.up = false; }, "must: tester, interface: eth1 is down",
         "ip link set eth1 up"},
        {[](Facts& f) { f.tester.interface.carrier = false; },
         "must: tester, carrier: eth1 has no carrier",
         "plug in the cable, or set the other end up"},
        {[](Facts& f) { f.tester.interface.mtu = 1500; },
         "warning: tester, MTU: MTU 1500 is too small for path MTU 4096, which needs 4200",
         "ip link set eth1 mtu 4200 (and so the DUT's interface and the switch)"},
        {[](Facts& f) { f.tester.interface.mtu = 4199; }, "warning: tester, MTU: MTU 4199", ""},
        {[](Facts& f) { f.tester.interface.subnets = {{ip("fe80::1"), 64}}; },
         "must: tester, address: eth1 has no address that the DUT can answer", ""},
        {[](Facts& f) { f.tester.host.net_raw = false; },
         "must: tester, permission: raw frames need CAP_NET_RAW",
         "run as root, or setcap cap_net_raw,cap_net_admin+ep on the program"},
        {[](Facts& f) {
             f.tester.host.net_admin = false;
             f.tester.host.receive_buffer_most = 64U << 20U;
         },
         "warning: tester, permission: without CAP_NET_ADMIN, a run cannot turn off offloads", ""},
        {[](Facts& f) { f.tester.interface.rdma = {{"mlx5_1", "mlx5_core", "0000:03:00.1"}}; },
         "must: tester, RDMA: the RDMA device mlx5_1 owns eth1 and takes the packets to UDP 4791",
         "devlink dev param set pci/0000:03:00.1 name enable_roce value false cmode driverinit && "
         "devlink dev reload pci/0000:03:00.1 (or use another interface)"},
        {[](Facts& f) { f.tester.interface.rdma = {{"rxe0", "", ""}}; },
         "must: tester, RDMA: the RDMA device rxe0 owns eth1",
         "rdma link delete rxe0 (or use another interface)"},
        {[](Facts& f) { f.tester.interface.rdma = {{"", "irdma", "0000:03:00.1"}}; },
         "warning: tester, RDMA: the RDMA driver irdma is loaded for eth1, but its device is not",
         "modprobe -r irdma (or use another interface)"},
        {[](Facts& f) { f.tester.interface.offloads = {Offload{"rx-gro-hw", false}}; },
         "warning: tester, offloads: rx-gro-hw cannot be turned off", ""},
        {[](Facts& f) { f.tester.interface.queues = {.receive = 32, .combined = true}; },
         "warning: tester, order: eth1 receives by 32 queues", "ethtool -L eth1 combined 1"},
        {[](Facts& f) {
             f.tester.interface.queues = {.receive = 4, .combined = false};
             f.tester.interface.hashes_ports_v4 = false; // of IPv6 nothing is known
         },
         "warning: tester, order: eth1 receives by 4 queues", "ethtool -L eth1 rx 1"},
        {[](Facts& f) { f.tester.interface.steers_packets = true; },
         "warning: tester, RPS: the kernel spreads packets of eth1 over several CPUs", ""},
        {[](Facts& f) { f.tester.interface.coalescing->adaptive = true; },
         "warning: tester, interrupts: eth1 delays interrupts as it likes (adaptive-rx)",
         "ethtool -C eth1 adaptive-rx off rx-usecs 0"},
        {[](Facts& f) { f.tester.interface.coalescing->receive_usecs = 50; },
         "warning: tester, interrupts: eth1 delays interrupts by 50 us",
         "ethtool -C eth1 adaptive-rx off rx-usecs 0"},
        {[](Facts& f) { f.tester.interface.ring = {.receive = 256, .most = 4096}; },
         "warning: tester, receive ring: holds 256 packets", "ethtool -G eth1 rx 4096"},
        {[](Facts& f) {
             f.tester.interface.master = "br0";
             f.tester.interface.master_kind = "bridge";
         },
         "warning: tester, layers: eth1 is a port of bridge br0", "ip link set eth1 nomaster"},
        {[](Facts& f) { f.tester.interface.kind = "bond"; },
         "warning: tester, layers: eth1 is a bond", "name the physical interface with -i"},
        {[](Facts& f) { f.tester.interface.on_top = {"eth1.5"}; },
         "warning: tester, layers: the kernel answers on eth1.5", "ip link delete eth1.5"},
        {[](Facts& f) { f.tester.interface.xdp = true; }, "warning: tester, XDP: a program on eth1",
         "ip link set eth1 xdp off"},
        {[](Facts& f) { f.tester.interface.queueing = "netem"; },
         "warning: tester, queueing: the discipline netem of eth1", "tc qdisc del dev eth1 root"},
        {[](Facts& f) { f.tester.interface.driver = "ice"; },
         "warning: tester, PFC: ice does not send PAUSE frames", ""},
        {[](Facts& f) { f.tester.host.clock_source = "hpet"; },
         "warning: tester, clock: hpet is slow to read", ""},
        {[](Facts& f) { f.tester.host.stolen = 0.02; },
         "warning: tester, CPU: the hypervisor gave 2.0 % of the CPU time", ""},
        {[](Facts& f) { f.tester.host.addresses[1].subnet = {ip("192.0.2.7"), 24}; },
         "warning: tester, ARP flux: eth0 is in the subnet of eth1, too",
         "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"},
        {[](Facts& f) {
             f.tester.link_error = net::Error{net::ErrorKind::PortTaken, "UDP port 4791 is taken"};
         },
         "must: tester, raw link: UDP port 4791 is taken", ""},
        {[](Facts& f) {
             f.tester.link_error = net::Error{net::ErrorKind::NotPermitted, "a policy forbids it"};
         },
         "must: tester, raw link: a policy forbids it", ""},
        {[](Facts& f) {
             f.dut->no_agent = "nothing listens on 10.0.0.1:4790";
             f.dut->ends.clear();
         },
         "must: DUT, agent: nothing listens on 10.0.0.1:4790",
         "veriroce-agent --listen 10.0.0.1:4790 (on the DUT's host)"},
        {[](Facts& f) { f.dut->answers = std::chrono::milliseconds(35); },
         "warning: DUT, agent: the agent answers within 35 ms", ""},
        {[](Facts& f) {
             f.dut->welcome.ports.clear();
             f.dut->ends.clear();
         },
         "must: DUT, port: the agent names no port of mlx5_0", ""},
        {[](Facts& f) {
             f.dut->wrong_choice = "the device has no port 3";
             f.dut->ends.clear();
         },
         "must: DUT, choice: the device has no port 3", ""},
        {[&](Facts& f) { port(f).state = "DOWN"; }, "must: DUT, port: port 1 is DOWN, not ACTIVE",
         "ip link set IFACE up (on the DUT's host), and plug in its cable"},
        {[](Facts& f) { f.dut->welcome.limits.memlock_bytes = 8U << 20U; },
         "warning: DUT, memory: the agent may lock 8192 KiB at most",
         "ulimit -l unlimited (before veriroce-agent, on the DUT's host)"},
        {[&](Facts& f) { port(f).link_layer = "InfiniBand"; },
         "must: DUT, port: port 1 is InfiniBand, and RoCE needs Ethernet", ""},
        {[&](Facts& f) { port(f).mtu_active = wire::Mtu::B1024; },
         "warning: DUT, MTU: active path MTU 1024, but the device can do 4096",
         "ip link set IFACE mtu 4200 (on the DUT's host)"},
        {[&](Facts& f) {
             port(f).gids.front().type = "rocev1";
             f.dut->ends.clear();
         },
         "must: DUT, GID: only GIDs of RoCE v1", ""},
        {[&](Facts& f) {
             port(f).gids.front().address = ip("fe80::2");
             f.dut->ends.clear();
         },
         "must: DUT, GID: the port has no RoCEv2 GID but link-local ones",
         "ip addr add 192.0.2.1/24 dev IFACE (on the DUT's host)"},
        {[](Facts& f) { f.dut->ends.clear(); },
         "must: network, subnet: the tester and the DUT have no IP version in common", ""},
        {[](Facts& f) { f.dut->ends.front().one_subnet = false; },
         "warning: network, subnet: tester 192.0.2.2, DUT 192.0.2.1: not in one subnet of eth1",
         ""},
        {[](Facts& f) { f.dut->ends.front().answered.clear(); },
         "must: network, ARP: nobody answers for 192.0.2.1", ""},
        {[](Facts& f) { f.dut->ends.front().answered = {kOther}; },
         "warning: network, ARP: 52:54:00:00:00:02 answers for 192.0.2.1, but the port of the "
         "device has 52:54:00:00:00:01",
         "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 (on the DUT's "
         "host)"},
        {[](Facts& f) { f.dut->ends.front().answered = {kMac, kOther}; },
         "must: network, ARP: 52:54:00:00:00:01 and 52:54:00:00:00:02 answer for 192.0.2.1", ""},
        {[](Facts& f) {
             f.tester.host.addresses.push_back({"eth2", {ip("192.0.2.1"), 32}, false});
         },
         "must: network, hosts: 192.0.2.1 belongs to this host", ""},
    };
    for (const Row& row : rows) {
        Facts facts = good();
        row.change(facts);
        const std::string found = findings(facts);
        INFO("expected " << row.finding << "\ngot\n" << found);
        CHECK(found.starts_with(row.finding));
        CHECK(found.ends_with(row.remedy + "\n"));
        CHECK(std::ranges::count(found, '\n') == 1);
    }
}

TEST_CASE("preflight: what is unusual and harmless is ok", "[preflight]") {
    const auto changes = std::initializer_list<std::function<void(Facts&)>>{
        // Addresses alone choose the queue.
        [](Facts& f) {
            f.tester.interface.queues = {.receive = 8, .combined = true};
            f.tester.interface.hashes_ports_v4 = f.tester.interface.hashes_ports_v6 = false;
        },
        // Turned off during a run.
        [](Facts& f) {
            f.tester.interface.offloads = {{"rx-gro", true}, {"rx-vlan-filter", true}};
        },
        // The link is promiscuous instead.
        [](Facts& f) { f.tester.interface.offloads = {{"rx-vlan-filter", false}}; },
        [](Facts& f) { f.tester.interface.coalescing->receive_usecs = 10; },
        // The ring cannot be larger.
        [](Facts& f) { f.tester.interface.ring = {.receive = 256, .most = 256}; },
        // It does not answer for others.
        [](Facts& f) { f.tester.host.addresses[1] = {"eth0", {ip("192.0.2.7"), 24}, false}; },
        [](Facts& f) { // an interface without an address, and one of the tester's own
            f.tester.interface.subnets.clear();
            f.tester.extra_addresses = {ip("192.0.2.200")};
        },
        // Said once.
        [](Facts& f) { f.tester.interface.kind = "veth"; },
        [](Facts& f) { f.dut->welcome.ports.front().mac = {}; }, // the agent does not know it
        [](Facts& f) {
            f.dut->welcome.ports.front().mtu_active = f.dut->welcome.ports.front().mtu_max =
                wire::Mtu::B1024;
        },
        [](Facts& f) { f.tester.host.clock_source = "kvm-clock"; },
        [](Facts& f) { f.dut->welcome.limits.memlock_bytes = 16U << 20U; },
        [](Facts& f) { f.dut->welcome.ports.front().state = "ACTIVE"; },
    };
    int number = 0;
    for (const auto& change : changes) {
        Facts facts = good();
        change(facts);
        INFO("change " << number++);
        CHECK(findings(facts).empty());
    }
}

TEST_CASE("preflight: a link error that another line explains is not repeated", "[preflight]") {
    Facts facts = good();
    facts.tester.interface.rdma = {{"rxe0", "", ""}};
    facts.tester.link_error = net::Error{net::ErrorKind::RdmaOwnsIt, "belongs to the RDMA device"};
    facts.dut->ends.clear();
    const std::string found = findings(facts);
    CHECK(std::ranges::count(found, '\n') == 1);
    CHECK(found.find("belongs to") == std::string::npos);
}

} // namespace veriroce::preflight
