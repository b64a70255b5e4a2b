// Errors of links and line streams: a kind for programs, and a message for users that says what
// failed, where, and what to do next. The message has no full stop at its end.
#pragma once

#include <cstdint>
#include <string>

namespace veriroce::net {

enum class ErrorKind : std::uint8_t {
    BadAddress,    // not an address, or an unknown host name
    NoInterface,   // there is no such interface, or it disappeared
    InterfaceDown, // it exists but is down
    NotEthernet,   // loopback or a tunnel, which cannot carry RoCE frames
    NotPermitted,  // needs CAP_NET_RAW or CAP_NET_ADMIN, or a file's permissions forbid it
    RdmaOwnsIt,    // an RDMA device would receive the packets
    PortTaken,     // UDP 4791, or the port to listen on, is in use
    WouldRoute,    // this kernel would forward packets for the tester's extra addresses
    TooLong,       // a frame exceeds the MTU, or a line its limit
    NoNeighbour,   // no answer to ARP or neighbour solicitation
    Refused,       // nothing listens there
    Unreachable,   // no route, or the host does not answer
    TimedOut,
    Closed, // by the peer
    System, // any other system error; the text has its message
};

struct Error {
    ErrorKind kind = ErrorKind::System;
    std::string text;
};

} // namespace veriroce::net
