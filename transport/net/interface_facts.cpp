#include "transport/net/interface_facts.hpp"

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>

#include "transport/net/ethtool_command.hpp"
#include "transport/net/ethtool_features.hpp"
#include "transport/net/interface.hpp"
#include "transport/net/netlink.hpp"
#include "transport/net/offloads.hpp"
#include "transport/net/system_files.hpp"

namespace veriroce::net {

namespace {

// One entry of the kernel's list of interfaces.
struct Link {
    int index = 0;
    std::string name;
    std::string kind;
    std::uint32_t master = 0;
    std::uint32_t lower = 0; // of a VLAN or macvlan interface
    std::string queueing;
    bool xdp = false;
};

std::string text_in(std::span<const char> value) {
    return {value.data(), ::strnlen(value.data(), value.size())};
}

std::uint32_t number_in(std::span<const char> value) {
    std::uint32_t number = 0;
    if (value.size() >= sizeof number) std::memcpy(&number, value.data(), sizeof number);
    return number;
}

// The value of one attribute inside another.
std::span<const char> inside(std::span<const char> nest, unsigned short wanted) {
    for (std::size_t at = 0; at + sizeof(rtattr) <= nest.size();) {
        rtattr attribute{};
        std::memcpy(&attribute, nest.data() + at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > nest.size()) break;
        if (attribute.rta_type == wanted) {
            return nest.subspan(at + sizeof attribute, attribute.rta_len - sizeof attribute);
        }
        at += RTA_ALIGN(attribute.rta_len);
    }
    return {};
}

Link link_in(std::span<const char> message) {
    Link link;
    ifinfomsg body{};
    if (message.size() < sizeof body) return link;
    std::memcpy(&body, message.data(), sizeof body);
    link.index = body.ifi_index;
    visit_attributes<ifinfomsg>(message, [&](unsigned short type, std::span<const char> value) {
        if (type == IFLA_IFNAME) link.name = text_in(value);
        if (type == IFLA_MASTER) link.master = number_in(value);
        if (type == IFLA_LINK) link.lower = number_in(value);
        if (type == IFLA_QDISC) link.queueing = text_in(value);
        if (type == IFLA_LINKINFO) link.kind = text_in(inside(value, IFLA_INFO_KIND));
        if (type == IFLA_XDP) {
            const auto attached = inside(value, IFLA_XDP_ATTACHED);
            link.xdp = !attached.empty() && attached.front() != XDP_ATTACHED_NONE;
        }
    });
    return link;
}

std::vector<Link> all_links() {
    ifinfomsg question{};
    question.ifi_family = AF_UNSPEC;
    std::vector<Link> links;
    for (const auto& answer : ask_netlink(RTM_GETLINK, NLM_F_DUMP, question))
        links.push_back(link_in(answer));
    return links;
}

void add_layers(InterfaceFacts& facts, const std::vector<Link>& links) {
    const auto self = std::ranges::find(links, facts.name, &Link::name);
    if (self == links.end()) return;
    facts.kind = self->kind;
    facts.queueing = self->queueing;
    facts.xdp = self->xdp;
    const auto index = static_cast<std::uint32_t>(self->index);
    for (const Link& one : links) {
        if (one.index != 0 && static_cast<std::uint32_t>(one.index) == self->master) {
            facts.master = one.name;
            facts.master_kind = one.kind;
        }
        // The number of a veth's peer is of another namespace, where it may mean anything.
        if (one.lower == index && (one.kind == "vlan" || one.kind.starts_with("mac"))) {
            facts.on_top.push_back(one.name);
        }
    }
}

// Questions to the driver.
class Driver {
  public:
    explicit Driver(std::string interface)
        : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
          interface_(std::move(interface)) {}

    // The answer; nothing if the driver does not know this question.
    template <typename Answer>
    [[nodiscard]] std::optional<Answer> ask(std::uint32_t command, Answer question = {}) const {
        question.cmd = command;
        if (ethtool_call(socket_, interface_, &question) != 0) return std::nullopt;
        return question;
    }

  private:
    Descriptor socket_;
    std::string interface_;
};

void add_names(InterfaceFacts& facts, const Driver& driver) {
    const auto info = driver.ask<ethtool_drvinfo>(ETHTOOL_GDRVINFO);
    if (!info) return;
    facts.driver = text_in(info->driver);
    facts.firmware = text_in(info->fw_version);
}

void add_offloads(InterfaceFacts& facts) {
    const auto features = EthtoolFeatures::open(facts.name);
    if (!features) return;
    for (const auto name : unwanted_offloads()) {
        if (!features->is_on(name).value_or(false)) continue;
        facts.offloads.push_back({std::string(name), features->can_change(name)});
    }
}

// Whether ports take part in the hash of this kind of datagrams (UDP_V4_FLOW, UDP_V6_FLOW).
std::optional<bool> hashes_ports(const Driver& driver, std::uint32_t flow) {
    const auto hash = driver.ask<ethtool_rxnfc>(ETHTOOL_GRXFH, {.cmd = 0, .flow_type = flow});
    if (!hash) return std::nullopt;
    return (hash->data & (RXH_L4_B_0_1 | RXH_L4_B_2_3)) != 0;
}

// "00000000,00000003": a set of CPUs.
bool several_cpus(const std::string& mask) {
    int cpus = 0;
    for (const char digit : mask) {
        const auto value = std::string_view("0123456789abcdef").find(digit);
        if (value != std::string_view::npos) cpus += std::popcount(value);
    }
    return cpus > 1;
}

void add_queues(InterfaceFacts& facts, const Driver& driver, const SystemFolders& folders) {
    if (const auto channels = driver.ask<ethtool_channels>(ETHTOOL_GCHANNELS)) {
        facts.queues = InterfaceFacts::Queues{
            .receive = std::max(1U, channels->rx_count + channels->combined_count),
            .combined = channels->combined_count > 0};
    }
    facts.hashes_ports_v4 = hashes_ports(driver, UDP_V4_FLOW);
    facts.hashes_ports_v6 = hashes_ports(driver, UDP_V6_FLOW);
    const std::filesystem::path queues =
        std::filesystem::path(folders.net_class) / facts.name / "queues";
    facts.steers_packets = std::ranges::any_of(entries(queues), [](const auto& queue) {
        return several_cpus(first_line(queue / "rps_cpus").value_or(""));
    });
}

void add_times(InterfaceFacts& facts, const Driver& driver) {
    if (const auto times = driver.ask<ethtool_coalesce>(ETHTOOL_GCOALESCE)) {
        facts.coalescing =
            InterfaceFacts::Coalescing{.adaptive = times->use_adaptive_rx_coalesce != 0,
                                       .receive_usecs = times->rx_coalesce_usecs};
    }
    if (const auto ring = driver.ask<ethtool_ringparam>(ETHTOOL_GRINGPARAM);
        ring && ring->rx_max_pending > 0) {
        facts.ring =
            InterfaceFacts::Ring{.receive = ring->rx_pending, .most = ring->rx_max_pending};
    }
}

std::optional<std::uint32_t> number_of(const std::optional<std::string>& text) {
    if (!text || text->empty() ||
        !std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; }) ||
        text->size() > 9) {
        return std::nullopt; // "-1": unknown
    }
    return static_cast<std::uint32_t>(std::stoul(*text));
}

} // namespace

InterfaceFacts interface_facts(const std::string& name, const SystemFolders& folders) {
    InterfaceFacts facts;
    facts.name = name;
    const std::vector<Link> links = all_links();
    for (const Link& one : links)
        facts.all_names.push_back(one.name);
    facts.exists = std::ranges::find(facts.all_names, name) != facts.all_names.end();
    if (!facts.exists) return facts;
    add_layers(facts, links);
    const auto found = Interface::find(name);
    facts.up = found || found.error().kind != ErrorKind::InterfaceDown;
    facts.ethernet = found || found.error().kind != ErrorKind::NotEthernet;
    if (found) {
        facts.mtu = found->mtu;
        facts.mac = found->mac;
        facts.subnets = found->subnets;
        facts.carrier = wait_for_carrier(*found).has_value();
    }
    const Driver driver(name);
    add_names(facts, driver);
    add_offloads(facts);
    add_queues(facts, driver, folders);
    add_times(facts, driver);
    facts.speed_mbps =
        number_of(first_line(std::filesystem::path(folders.net_class) / name / "speed"));
    facts.rdma = rdma_owners(name, folders);
    if (facts.rdma.empty() && !facts.master.empty()) {
        facts.rdma = rdma_owners(facts.master, folders);
    }
    return facts;
}

} // namespace veriroce::net
