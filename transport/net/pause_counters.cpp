#include "transport/net/pause_counters.hpp"

#include <linux/ethtool.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "transport/net/ethtool_command.hpp"

namespace veriroce::net {

bool counts_received_pause(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 3> kSubjects{"pause", "pfc", "xoff"};
    // mlx5 counts times and transitions, too: rx_prio3_pause_duration.
    return lower.contains("rx") && !lower.contains("duration") && !lower.contains("transition") &&
           std::ranges::any_of(kSubjects, [&](auto subject) { return lower.contains(subject); });
}

std::map<std::string, std::uint64_t> received_pause(const std::string& interface) {
    std::map<std::string, std::uint64_t> counters;
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EthtoolCommand<ethtool_drvinfo> info(ETHTOOL_GDRVINFO);
    if (!socket.valid() || ethtool_call(socket, interface, info.get()) != 0) return counters;
    const std::size_t count = info.get()->n_stats;
    EthtoolCommand<ethtool_gstrings> names(ETHTOOL_GSTRINGS, count * ETH_GSTRING_LEN);
    names.get()->string_set = ETH_SS_STATS;
    names.get()->len = static_cast<std::uint32_t>(count);
    EthtoolCommand<ethtool_stats> values(ETHTOOL_GSTATS, count * sizeof(std::uint64_t));
    values.get()->n_stats = static_cast<std::uint32_t>(count);
    if (ethtool_call(socket, interface, names.get()) != 0 ||
        ethtool_call(socket, interface, values.get()) != 0 || names.get()->len != count ||
        values.get()->n_stats != count) {
        return counters; // the driver has changed their number meanwhile
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto* text = reinterpret_cast<const char*>(&names.get()->data[i * ETH_GSTRING_LEN]);
        const std::string name(text, ::strnlen(text, ETH_GSTRING_LEN));
        if (counts_received_pause(name)) counters[name] = values.get()->data[i];
    }
    return counters;
}

} // namespace veriroce::net
