#include "conformance/preflight/gather.hpp"

#include <linux/capability.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "conformance/preflight/pair.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/interface.hpp"
#include "transport/net/system_files.hpp"

namespace veriroce::preflight {

namespace {

constexpr wire::Duration kSecondAnswer = std::chrono::milliseconds(300);
constexpr wire::Duration kFirstAnswer = std::chrono::seconds(2);
constexpr wire::Duration kPingPatience = std::chrono::seconds(1);
constexpr int kPings = 5;

std::uint64_t number_in(const std::filesystem::path& file) {
    std::istringstream text(net::first_line(file).value_or(""));
    std::uint64_t number = 0;
    text >> number;
    return number;
}

// A set of capabilities: CapEff of /proc/self/status.
std::uint64_t effective_capabilities() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("CapEff:")) continue;
        return std::stoull(line.substr(line.find_first_not_of(" \t", 7)), nullptr, 16);
    }
    return 0;
}

// The eighth number of the first line of /proc/stat, of the sum of all.
double stolen_share() {
    std::istringstream line(net::first_line("/proc/stat").value_or(""));
    std::string cpu;
    line >> cpu;
    double sum = 0;
    double stolen = 0;
    double ticks = 0;
    for (int i = 1; i <= 8 && line >> ticks; ++i) { // guest times are part of user times
        sum += ticks;
        if (i == 8) stolen = ticks;
    }
    return sum > 0 ? stolen / sum : 0;
}

HostFacts host_facts(const std::vector<std::string>& interfaces) {
    HostFacts facts;
    const std::uint64_t capabilities = effective_capabilities();
    facts.net_raw = (capabilities >> CAP_NET_RAW & 1U) != 0;
    facts.net_admin = (capabilities >> CAP_NET_ADMIN & 1U) != 0;
    facts.receive_buffer_most = number_in("/proc/sys/net/core/rmem_max");
    facts.clock_source =
        net::first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .value_or("");
    facts.stolen = stolen_share();
    const std::filesystem::path settings = "/proc/sys/net/ipv4/conf";
    const std::uint64_t all = number_in(settings / "all" / "arp_ignore");
    for (const std::string& name : interfaces) {
        const auto found = net::Interface::find(name); // Ethernet that is up
        if (!found) continue;
        const std::uint64_t own = number_in(settings / name / "arp_ignore");
        for (const net::Subnet& one : found->subnets)
            facts.addresses.push_back({name, one, std::max(all, own) == 0});
    }
    return facts;
}

// The longest of a few times; nothing if the agent does not answer.
std::optional<wire::Duration> time_to_answer(dut::RemoteDut& dut) {
    wire::Duration longest{0};
    for (int i = 0; i < kPings; ++i) {
        const wire::Instant before = net::monotonic_now();
        const auto call = dut.submit(dut::Ping{}, before);
        for (;;) {
            const auto reply = dut.poll(net::monotonic_now());
            if (reply && reply->call == call) {
                if (!reply->answer) return std::nullopt;
                break;
            }
            if (!reply && net::wait_for(dut.descriptor(), POLLIN, before + kPingPatience) !=
                              net::Waited::Ready) {
                return std::nullopt;
            }
        }
        longest = std::max(longest, net::monotonic_now() - before);
    }
    return longest;
}

// Those of one IP version that a run may use without a VLAN.
std::vector<dut::Gid> usable_gids(const dut::Welcome& welcome, bool v4,
                                  const std::vector<wire::IpAddress>& wanted) {
    std::vector<dut::Gid> gids;
    if (welcome.ports.empty()) return gids;
    const bool named = std::ranges::any_of(wanted, [&](const auto& one) { return one.v4() == v4; });
    std::ranges::copy_if(
        welcome.ports.front().gids, std::back_inserter(gids), [&](const dut::Gid& one) {
            return one.type == "rocev2" && one.address.v4() == v4 && !link_local(one.address) &&
                   one.vlan.value_or(0) == 0 &&
                   (!named || std::ranges::find(wanted, one.address) != wanted.end());
        });
    return gids;
}

// A second answer comes soon after the first, which may be late.
std::vector<wire::MacAddress> who_answers(net::RawLink& link, const Pair& pair) {
    auto all = link.who_has(pair.gid.address, pair.tester, net::monotonic_now() + kSecondAnswer);
    if (!all.empty()) return all;
    const auto late = link.resolve(pair.gid.address, pair.tester, std::nullopt,
                                   net::monotonic_now() + kFirstAnswer);
    if (late) all.push_back(*late);
    return all;
}

} // namespace

TesterFacts tester_facts(const std::string& interface,
                         std::vector<wire::IpAddress> extra_addresses) {
    TesterFacts facts;
    facts.interface = net::interface_facts(interface);
    facts.host = host_facts(facts.interface.all_names);
    facts.extra_addresses = std::move(extra_addresses);
    return facts;
}

DutFacts dut_facts(const std::string& agent, dut::RemoteDut& dut, net::RawLink* link,
                   const std::vector<wire::IpAddress>& wanted) {
    DutFacts facts;
    facts.agent = agent;
    facts.welcome = dut.welcome();
    facts.answers = time_to_answer(dut);
    if (link == nullptr) return facts;
    const auto& pool =
        link->extra_addresses().empty() ? link->own_addresses() : link->extra_addresses();
    for (const bool v4 : {true, false}) {
        std::vector<wire::IpAddress> testers;
        std::ranges::copy_if(pool, std::back_inserter(testers),
                             [&](const auto& one) { return one.v4() == v4 && !link_local(one); });
        const auto gids = usable_gids(facts.welcome, v4, wanted);
        if (testers.empty() || gids.empty()) continue;
        const Pair pair = best_pair(gids, testers, link->subnets());
        facts.ends.push_back({.tester = pair.tester,
                              .dut = pair.gid.address,
                              .one_subnet = pair.one_subnet,
                              .answered = who_answers(*link, pair)});
    }
    return facts;
}

} // namespace veriroce::preflight
