// The description of an RDMA device for hello, and its counters.
#ifdef VERIROCE_HAVE_VERBS

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"
#include "conformance/agent/verbs_probe.hpp"
#include "conformance/dut/capabilities.hpp"
#include "transport/net/pause_counters.hpp"

namespace veriroce::agent {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

fs::path port_folder(const std::string& device, unsigned port) {
    return fs::path("/sys/class/infiniband") / device / "ports" / std::to_string(port);
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

std::optional<std::string> kernel_release() {
    utsname system{};
    if (uname(&system) != 0) return std::nullopt;
    return system.release;
}

// A PCI device has a link to its driver. A soft RoCE device has none, but names its Ethernet
// device.
std::optional<std::string> driver_of(const std::string& device) {
    const fs::path folder = fs::path("/sys/class/infiniband") / device;
    std::error_code error;
    const fs::path link = fs::read_symlink(folder / "device" / "driver", error);
    if (!error) return link.filename().string();
    if (fs::exists(folder / "parent", error)) return "rdma_rxe";
    return std::nullopt;
}

std::optional<wire::IpAddress> address_of(const sockaddr& from) {
    if (from.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &from, sizeof v4);
        return wire::IpAddress::from_v4(be32toh(v4.sin_addr.s_addr));
    }
    if (from.sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 v6{};
    std::memcpy(&v6, &from, sizeof v6);
    wire::IpAddress address;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, address.bytes.size());
    return address;
}

// Loopback and link-local addresses do not reach this host from the device's network.
bool reachable(const wire::IpAddress& address) {
    if (address.v4()) return address.low32() >> 24U != 127 && address.low32() >> 16U != 0xA9FE;
    constexpr unsigned link_local = 0xFE80;
    return address != *wire::IpAddress::parse("::1") &&
           (wire::load_u16(address.bytes, 0) & 0xFFC0U) != link_local;
}

// The addresses of all interfaces of this host, each once.
std::vector<wire::IpAddress> host_addresses() {
    std::vector<wire::IpAddress> addresses;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return addresses;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const auto address = address_of(*one->ifa_addr);
        if (!address || !reachable(*address)) continue;
        if (std::ranges::find(addresses, *address) == addresses.end())
            addresses.push_back(*address);
    }
    freeifaddrs(all);
    return addresses;
}

std::vector<ibv_gid_entry> read_gids(ibv_context& context) {
    std::vector<ibv_gid_entry> entries(1024);
    const auto count = ibv_query_gid_table(&context, entries.data(), entries.size(), 0);
    entries.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return entries;
}

wire::IpAddress address_of(const ibv_gid_entry& entry) {
    wire::IpAddress address;
    std::memcpy(address.bytes.data(), entry.gid.raw, address.bytes.size());
    return address;
}

wire::MacAddress mac_of(std::uint32_t interface) {
    std::array<char, IF_NAMESIZE> name{};
    if (if_indextoname(interface, name.data()) == nullptr) return {};
    const auto text = first_line(fs::path("/sys/class/net") / name.data() / "address");
    return wire::MacAddress::parse(text).value_or(wire::MacAddress{});
}

// The kernel's file for a VLAN interface begins with "eth0.77  VID: 77 REORDER_HDR: 1 ...".
std::optional<std::uint16_t> vlan_of(const ibv_gid_entry& entry) {
    std::array<char, IF_NAMESIZE> name{};
    if (if_indextoname(entry.ndev_ifindex, name.data()) == nullptr) return std::nullopt;
    const auto line = first_line(fs::path("/proc/net/vlan") / name.data());
    constexpr std::string_view label = "VID: ";
    const std::size_t at = line.find(label);
    if (at == std::string::npos) return std::nullopt;
    std::uint16_t id = 0;
    const char* digits = line.data() + at + label.size();
    if (std::from_chars(digits, line.data() + line.size(), id).ec != std::errc{}) {
        return std::nullopt;
    }
    return id;
}

std::string_view state_name(ibv_port_state state) {
    switch (state) {
    case IBV_PORT_NOP: return "NOP";
    case IBV_PORT_DOWN: return "DOWN";
    case IBV_PORT_INIT: return "INIT";
    case IBV_PORT_ARMED: return "ARMED";
    case IBV_PORT_ACTIVE: return "ACTIVE";
    case IBV_PORT_ACTIVE_DEFER: return "ACTIVE_DEFER";
    }
    return "NOP";
}

// The rate of a lane, by the codes of ibv_query_port; of 8b/10b lanes the rate on the line.
std::uint32_t lane_mbps(std::uint8_t speed) {
    switch (speed) {
    case 1: return 2'500;
    case 2: return 5'000;
    case 4:
    case 8: return 10'000;
    case 16: return 14'000;
    case 32: return 25'000;
    case 64: return 50'000;
    case 128: return 100'000;
    default: return 0;
    }
}

std::uint32_t lanes_of(std::uint8_t width) {
    switch (width) {
    case 1: return 1;
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 0;
    }
}

dut::Port describe_port(ibv_context& context, std::uint8_t number, const ibv_port_attr& from,
                        std::span<const ibv_gid_entry> gids) {
    dut::Port port{.port = number};
    port.mtu_active = mtu_of(from.active_mtu).value_or(wire::Mtu::B256);
    port.mtu_max = mtu_of(from.max_mtu).value_or(wire::Mtu::B256);
    const std::uint32_t speed = lane_mbps(from.active_speed) * lanes_of(from.active_width);
    if (speed != 0) port.speed_mbps = speed;
    port.state = std::string(state_name(from.state));
    port.link_layer = from.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    for (int i = 0; i < from.pkey_tbl_len; ++i) {
        __be16 pkey = 0;
        if (ibv_query_pkey(&context, number, i, &pkey) != 0) break;
        port.pkeys.push_back({be16toh(pkey)});
    }
    for (const auto& gid : gids) {
        if (gid.port_num != number || gid.gid_type == IBV_GID_TYPE_IB) continue;
        port.gids.push_back({.index = gid.gid_index,
                             .type = gid.gid_type == IBV_GID_TYPE_ROCE_V1 ? "rocev1" : "rocev2",
                             .address = address_of(gid),
                             .vlan = vlan_of(gid)});
        if (!port.gids.back().vlan) port.mac = mac_of(gid.ndev_ifindex);
    }
    port.other_addresses = host_addresses();
    std::erase_if(*port.other_addresses, [&](const wire::IpAddress& address) {
        return std::ranges::find(port.gids, address, &dut::Gid::address) != port.gids.end();
    });
    return port;
}

std::string_view atomic_name(ibv_atomic_cap cap) {
    switch (cap) {
    case IBV_ATOMIC_NONE: return "NONE";
    case IBV_ATOMIC_HCA: return "HCA";
    case IBV_ATOMIC_GLOB: return "GLOB";
    }
    return "NONE";
}

std::vector<std::string> capabilities_of(const ibv_device_attr& device,
                                         const std::vector<dut::Port>& ports) {
    std::vector<std::string> words{"rc",  "uc",  "ud",     "ud_path", "read",
                                   "imm", "sqd", "events", "notify",  "iova"};
    const auto add_if = [&](bool has, std::string_view word) {
        if (has) words.emplace_back(word);
    };
    const auto any_gid = [&](auto&& is) {
        return std::ranges::any_of(
            ports, [&](const dut::Port& port) { return std::ranges::any_of(port.gids, is); });
    };
    add_if(device.atomic_cap != IBV_ATOMIC_NONE, "atomics");
    add_if((device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0, "send_inv");
    add_if(any_gid([](const dut::Gid& gid) { return !gid.address.v4(); }), "ipv6");
    add_if(any_gid([](const dut::Gid& gid) { return gid.type == "rocev1"; }), "rocev1");
    add_if(any_gid([](const dut::Gid& gid) { return gid.vlan.has_value(); }), "vlan");
    add_if(std::ranges::any_of(ports, [](const auto& port) { return port.pkeys.size() > 1; }),
           "pkey_table");
    add_if(device.max_srq > 0, "srq");
    add_if(device.max_mw > 0, "mw");
    return words;
}

std::uint32_t count(int value) {
    return value < 0 ? 0 : static_cast<std::uint32_t>(value);
}

} // namespace

std::optional<std::uint64_t> lockable_bytes() {
    rlimit limit{};
    if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::nullopt;
    if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

dut::Welcome describe(ibv_context& context) {
    ibv_device_attr device{};
    static_cast<void>(ibv_query_device(&context, &device));
    const auto gids = read_gids(context);
    dut::Welcome welcome{.name = host_name(),
                         .backend = "verbs",
                         .device = ibv_get_device_name(context.device),
                         .firmware = device.fw_ver,
                         .kernel = kernel_release(),
                         .driver = driver_of(ibv_get_device_name(context.device)),
                         .local_ca_ack_delay = device.local_ca_ack_delay,
                         .atomic = std::string(atomic_name(device.atomic_cap))};
    for (std::uint8_t number = 1; number <= device.phys_port_cnt; ++number) {
        ibv_port_attr port{};
        if (ibv_query_port(&context, number, &port) != 0) continue;
        welcome.ports.push_back(describe_port(context, number, port, gids));
        welcome.max.msg_bytes = std::max<std::uint64_t>(welcome.max.msg_bytes, port.max_msg_sz);
    }
    welcome.capabilities = capabilities_of(device, welcome.ports);
    welcome.max.qp = count(device.max_qp);
    welcome.max.qp_wr = count(device.max_qp_wr);
    welcome.max.sge = count(device.max_sge);
    welcome.max.cqe = count(device.max_cqe);
    welcome.max.mr_bytes = device.max_mr_size;
    welcome.max.rd_atomic = count(device.max_qp_init_rd_atom);
    welcome.max.dest_rd_atomic = count(device.max_qp_rd_atom);
    welcome.limits.memlock_bytes = lockable_bytes();
    dut::complete(welcome); // what the verbs claim; probing takes out what they refuse
    probe(context, welcome);
    return welcome;
}

std::map<std::string, std::uint64_t> read_counters(const std::string& device) {
    std::map<std::string, std::uint64_t> counters;
    for (unsigned port = 1; fs::exists(port_folder(device, port)); ++port) {
        for (const auto* group : {"counters", "hw_counters"}) {
            std::error_code error;
            for (const auto& file :
                 fs::directory_iterator(port_folder(device, port) / group, error)) {
                const auto name = file.path().filename().string();
                if (name == "lifespan") continue; // a setting of the kernel, not a counter
                std::ifstream text(file.path());
                std::uint64_t value = 0;
                if (text >> value)
                    counters[port == 1 ? name : std::to_string(port) + '.' + name] = value;
            }
        }
        // They say whether PAUSE frames of the tester arrive.
        const std::string interface = first_line(port_folder(device, port) / "gid_attrs/ndevs/0");
        if (port == 1 && !interface.empty()) counters.merge(net::received_pause(interface));
    }
    return counters;
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
