// Internal: requests to the kernel's routing tables (rtnetlink(7)).
#pragma once

#include <linux/rtnetlink.h>

#include <cstring>
#include <span>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::net {

// Sends a request with a body such as ndmsg or ifinfomsg, and returns the bodies of the answers.
// Empty if the kernel refuses. `flags` is NLM_F_DUMP for a whole table, 0 for one entry.
std::vector<std::vector<char>> ask_netlink(std::uint16_t type, std::uint16_t flags,
                                           std::span<const char> body);

template <typename Body>
std::vector<std::vector<char>> ask_netlink(std::uint16_t type, std::uint16_t flags,
                                           const Body& body) {
    const auto* bytes = reinterpret_cast<const char*>(&body);
    return ask_netlink(type, flags, std::span(bytes, sizeof body));
}

// Calls visit(type, value) for each attribute after a body of type Body.
template <typename Body, typename F>
void visit_attributes(std::span<const char> message, F visit) {
    std::size_t at = NLMSG_ALIGN(sizeof(Body));
    while (at + sizeof(rtattr) <= message.size()) {
        rtattr attribute{};
        std::memcpy(&attribute, message.data() + at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > message.size()) return;
        visit(attribute.rta_type,
              message.subspan(at + sizeof attribute, attribute.rta_len - sizeof attribute));
        at += RTA_ALIGN(attribute.rta_len);
    }
}

} // namespace veriroce::net
