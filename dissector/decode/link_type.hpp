// Link types of capture files that this room can take apart. Source: the LINKTYPE_ registry of
// tcpdump.org.
#pragma once

#include <cstdint>
#include <optional>

namespace veriroce::decode {

enum class LinkType : std::uint8_t {
    Ethernet,
    RawIp,      // IPv4 or IPv6 by the first nibble
    LinuxSll,   // Linux "cooked" capture, version 1
    LinuxSll2,  // version 2
    InfiniBand, // from the LRH to the VCRC
    Erf,        // Endace's record header in front of each packet
    Null,       // loopback of BSD and macOS: the address family in the host's byte order
    Loop,       // of OpenBSD: in network byte order
    Ppp,        // also in HDLC-like framing
    Chdlc,      // Cisco HDLC
};

// Nothing for a link type that is not supported.
constexpr std::optional<LinkType> link_type_of(std::uint16_t code) {
    switch (code) {
    case 0: return LinkType::Null;
    case 1: return LinkType::Ethernet;
    case 9:                           // PPP
    case 50: return LinkType::Ppp;    // in HDLC-like framing
    case 12:                          // raw IP as some systems number it
    case 14:                          // raw IP on other systems
    case 101:                         // raw IP
    case 228:                         // raw IPv4
    case 229: return LinkType::RawIp; // raw IPv6
    case 104: return LinkType::Chdlc;
    case 108: return LinkType::Loop;
    case 113: return LinkType::LinuxSll;
    case 197: return LinkType::Erf;
    case 247: return LinkType::InfiniBand;
    case 276: return LinkType::LinuxSll2;
    default: return std::nullopt;
    }
}

} // namespace veriroce::decode
