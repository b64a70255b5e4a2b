#include "transport/net/kernel_neighbours.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::net {

namespace {

constexpr std::uint16_t kHolds = NUD_REACHABLE | NUD_PERMANENT;
constexpr std::size_t kReplyBytes = 64U << 10U;

bool ask_for_table(const Descriptor& socket, const wire::IpAddress& address) {
    struct {
        nlmsghdr header;
        ndmsg body;
    } request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETNEIGH;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.ndm_family = address.v4() ? AF_INET : AF_INET6;
    return ::send(socket.fd(), &request, sizeof request, 0) == sizeof request;
}

// The attributes of one entry, which begin at `offset` of the message.
std::optional<wire::MacAddress> match(std::span<const char> message, const wire::IpAddress& address,
                                      int interface_index) {
    ndmsg entry{};
    if (message.size() < sizeof entry) return std::nullopt;
    std::memcpy(&entry, message.data(), sizeof entry);
    if (entry.ndm_ifindex != interface_index || (entry.ndm_state & kHolds) == 0) {
        return std::nullopt;
    }
    const auto wanted =
        address.v4() ? wire::Bytes(address.bytes).subspan(12) : wire::Bytes(address.bytes);
    bool same = false;
    std::optional<wire::MacAddress> mac;
    std::size_t at = NLMSG_ALIGN(sizeof entry);
    while (at + sizeof(rtattr) <= message.size()) {
        rtattr attribute{};
        std::memcpy(&attribute, message.data() + at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > message.size()) break;
        const auto value =
            message.subspan(at + sizeof attribute, attribute.rta_len - sizeof attribute);
        if (attribute.rta_type == NDA_DST && value.size() == wanted.size()) {
            same = std::memcmp(value.data(), wanted.data(), wanted.size()) == 0;
        } else if (attribute.rta_type == NDA_LLADDR && value.size() == 6) {
            mac.emplace();
            std::memcpy(mac->bytes.data(), value.data(), value.size());
        }
        at += RTA_ALIGN(attribute.rta_len);
    }
    return same ? mac : std::nullopt;
}

} // namespace

std::optional<wire::MacAddress> kernel_neighbour(int interface_index,
                                                 const wire::IpAddress& address) {
    const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket.valid() || !ask_for_table(socket, address)) return std::nullopt;
    std::vector<char> reply(kReplyBytes);
    std::optional<wire::MacAddress> found;
    for (;;) {
        const auto count = ::recv(socket.fd(), reply.data(), reply.size(), 0);
        if (count <= 0) return found;
        const std::span<const char> bytes(reply.data(), static_cast<std::size_t>(count));
        std::size_t at = 0;
        while (at + sizeof(nlmsghdr) <= bytes.size()) {
            nlmsghdr header{};
            std::memcpy(&header, bytes.data() + at, sizeof header);
            if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) return found;
            if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > bytes.size()) break;
            const auto body = bytes.subspan(at + sizeof header, header.nlmsg_len - sizeof header);
            if (auto mac = match(body, address, interface_index)) found = mac;
            at += NLMSG_ALIGN(header.nlmsg_len);
        }
    }
}

} // namespace veriroce::net
