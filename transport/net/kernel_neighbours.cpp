#include "transport/net/kernel_neighbours.hpp"

#include <linux/neighbour.h>
#include <sys/socket.h>

#include <cstring>

#include "transport/net/netlink.hpp"

namespace veriroce::net {

namespace {

constexpr std::uint16_t kHolds = NUD_REACHABLE | NUD_PERMANENT;

// The MAC in a table entry, if the entry is for `address` and valid.
std::optional<wire::MacAddress> match(std::span<const char> message, const wire::IpAddress& address,
                                      int interface_index) {
    ndmsg entry{};
    if (message.size() < sizeof entry) return std::nullopt;
    std::memcpy(&entry, message.data(), sizeof entry);
    if (entry.ndm_ifindex != interface_index || (entry.ndm_state & kHolds) == 0) {
        return std::nullopt;
    }
    const auto whole = wire::Bytes(address.bytes);
    const auto wanted = address.v4() ? whole.subspan(12) : whole;
    bool same = false;
    std::optional<wire::MacAddress> mac;
    visit_attributes<ndmsg>(message, [&](unsigned short type, std::span<const char> value) {
        if (type == NDA_DST && value.size() == wanted.size()) {
            same = std::memcmp(value.data(), wanted.data(), wanted.size()) == 0;
        } else if (type == NDA_LLADDR && value.size() == 6) {
            std::memcpy(mac.emplace().bytes.data(), value.data(), value.size());
        }
    });
    return same ? mac : std::nullopt;
}

} // namespace

std::optional<wire::MacAddress> kernel_neighbour(int interface_index,
                                                 const wire::IpAddress& address) {
    ndmsg question{};
    question.ndm_family = address.v4() ? AF_INET : AF_INET6;
    for (const auto& entry : ask_netlink(RTM_GETNEIGH, NLM_F_DUMP, question)) {
        if (auto mac = match(entry, address, interface_index)) return mac;
    }
    return std::nullopt;
}

} // namespace veriroce::net
