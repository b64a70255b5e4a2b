#include "transport/net/interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/netlink.hpp"
#include "transport/net/rdma_owner.hpp"
#include "transport/net/socket_address.hpp"
#include "transport/net/system_files.hpp"

namespace veriroce::net {

namespace {

// The kernel updates carrier states once a second.
constexpr auto kUnknownTime = std::chrono::milliseconds(1200);
constexpr auto kCarrierTime = std::chrono::seconds(3);
// It does so in a task of its own, which a busy host holds up.
constexpr auto kBusyTime = std::chrono::seconds(20);
constexpr auto kCarrierPause = std::chrono::milliseconds(10);

struct FreeIfaddrs {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};
using Ifaddrs = std::unique_ptr<ifaddrs, FreeIfaddrs>;

Ifaddrs read_ifaddrs() {
    ifaddrs* list = nullptr;
    return ::getifaddrs(&list) == 0 ? Ifaddrs(list) : nullptr;
}

std::string interface_names() {
    std::set<std::string> names;
    const auto list = read_ifaddrs();
    for (const auto* entry = list.get(); entry != nullptr; entry = entry->ifa_next)
        names.insert(entry->ifa_name);
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

wire::IpAddress address_in(const sockaddr& generic) {
    SocketAddress address;
    address.size = generic.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, &generic, address.size);
    return address.ip();
}

std::uint8_t prefix_bits(const sockaddr& mask) {
    const wire::IpAddress bits = address_in(mask);
    int count = 0;
    for (std::size_t i = mask.sa_family == AF_INET ? 12 : 0; i < bits.bytes.size(); ++i)
        count += std::popcount(std::to_integer<std::uint8_t>(bits.bytes[i]));
    return static_cast<std::uint8_t>(count);
}

std::vector<Subnet> subnets_of(const std::string& name) {
    std::vector<Subnet> subnets;
    const auto list = read_ifaddrs();
    for (const auto* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || name != entry->ifa_name) continue;
        const auto family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const bool masked = entry->ifa_netmask != nullptr;
        subnets.push_back({address_in(*entry->ifa_addr),
                           masked ? prefix_bits(*entry->ifa_netmask) : std::uint8_t{0}});
    }
    return subnets;
}

Error no_interface(const std::string& name) {
    return {ErrorKind::NoInterface,
            "there is no interface \"" + name + "\": this host has " + interface_names()};
}

// A SIOCGIF request about an interface.
std::expected<ifreq, int> ask(const Descriptor& socket, const std::string& name,
                              unsigned long what) {
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    if (::ioctl(socket.fd(), what, &request) != 0) return std::unexpected(errno);
    return request;
}

// RFC 2863 state; linux/if.h defines it but cannot be included together with net/if.h.
constexpr int kOperUnknown = 0;
constexpr int kOperUp = 6;

struct LinkState {
    int operational = kOperUnknown;
    bool carrier = false; // of the hardware; the kernel follows it with `operational`
};

LinkState link_state(int index) {
    ifinfomsg question{};
    question.ifi_family = AF_UNSPEC;
    question.ifi_index = index;
    LinkState state;
    for (const auto& answer : ask_netlink(RTM_GETLINK, 0, question)) {
        visit_attributes<ifinfomsg>(answer, [&](unsigned short type, std::span<const char> value) {
            if (value.empty()) return;
            if (type == IFLA_OPERSTATE)
                state.operational = static_cast<unsigned char>(value.front());
            if (type == IFLA_CARRIER) state.carrier = value.front() != 0;
        });
    }
    return state;
}

} // namespace

std::expected<Interface, Error> Interface::find(const std::string& name) {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return std::unexpected(system_error("cannot open a socket", errno));
    if (name.empty() || name.size() >= IFNAMSIZ) return std::unexpected(no_interface(name));
    const auto index = ask(socket, name, SIOCGIFINDEX);
    const auto flags = ask(socket, name, SIOCGIFFLAGS);
    const auto hardware = ask(socket, name, SIOCGIFHWADDR);
    const auto mtu = ask(socket, name, SIOCGIFMTU);
    if (!index || !flags || !hardware || !mtu) return std::unexpected(no_interface(name));
    if (hardware->ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        return std::unexpected(
            Error{ErrorKind::NotEthernet,
                  "interface " + name + " is not an Ethernet interface, which RoCEv2 needs"});
    }
    if ((flags->ifr_flags & IFF_UP) == 0) {
        return std::unexpected(
            Error{ErrorKind::InterfaceDown,
                  "interface " + name + " is down: ip link set " + name + " up"});
    }
    Interface found{name, index->ifr_ifindex, static_cast<std::size_t>(mtu->ifr_mtu), {}, {}, {}};
    std::memcpy(found.mac.bytes.data(), hardware->ifr_hwaddr.sa_data, found.mac.bytes.size());
    found.subnets = subnets_of(name);
    for (const Subnet& one : found.subnets)
        found.addresses.push_back(one.address);
    return found;
}

std::expected<void, Error> wait_for_carrier(const Interface& interface) {
    const auto start = monotonic_now();
    for (;;) {
        const LinkState state = link_state(interface.index);
        if (state.operational == kOperUp) return {};
        const auto waited = monotonic_now() - start;
        // Some drivers, such as tun, never report a state.
        if (state.operational == kOperUnknown && waited >= kUnknownTime) return {};
        if (waited >= (state.carrier ? kBusyTime : kCarrierTime)) break;
        ::poll(nullptr, 0, kCarrierPause.count());
    }
    return std::unexpected(Error{ErrorKind::InterfaceDown,
                                 "interface " + interface.name +
                                     " has no carrier: check its cable, or whether the other end "
                                     "is up"});
}

Error lost_interface(const std::string& name, int index) {
    if (::if_nametoindex(name.c_str()) != static_cast<unsigned>(index)) {
        return {ErrorKind::NoInterface, "interface " + name + " disappeared while it was in use"};
    }
    return {ErrorKind::InterfaceDown, "interface " + name +
                                          " went down while it was in use: ip link set " + name +
                                          " up, and run again"};
}

std::expected<void, Error> check_no_rdma(const std::string& interface,
                                         const std::string& rdma_class) {
    for (const RdmaOwner& owner : rdma_owners(interface, {.rdma_class = rdma_class})) {
        if (owner.device.empty()) continue; // it may be of no use to RoCE: only a hint
        return std::unexpected(
            Error{ErrorKind::RdmaOwnsIt,
                  "interface " + interface + " belongs to the RDMA device " + owner.device +
                      ", which would get the packets: use another interface, or remove " +
                      "the device (" + cure(owner) + ")"});
    }
    return {};
}

std::expected<void, Error> check_no_forwarding(const std::string& interface,
                                               const std::vector<wire::IpAddress>& extra) {
    for (const auto& address : extra) {
        // IPv4 forwarding is a setting per interface, IPv6 forwarding a global one.
        const std::string setting =
            address.v4() ? "ipv4.conf." + interface + ".forwarding" : "ipv6.conf.all.forwarding";
        const auto path = address.v4() ? "/proc/sys/net/ipv4/conf/" + interface + "/forwarding"
                                       : "/proc/sys/net/ipv6/conf/all/forwarding";
        if (first_line(path).value_or("0") == "0") continue;
        return std::unexpected(
            Error{ErrorKind::WouldRoute, "this kernel would route packets for " + address.text() +
                                             ": sysctl -w net." + setting +
                                             "=0, or use only the addresses of " + interface});
    }
    return {};
}

} // namespace veriroce::net
