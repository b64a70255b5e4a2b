// What can go wrong with a link or a line stream: a kind for programs, and one sentence for people
// that says what, where and what to do next. No full stop at its end.
#pragma once

#include <cstdint>
#include <string>

namespace veriroce::net {

enum class ErrorKind : std::uint8_t {
    BadAddress,    // text that is no address, or a name that nobody knows
    NoInterface,   // no such interface, or it vanished
    InterfaceDown, // it is there, and down
    NotEthernet,   // loopback, tunnels: no RoCE frames there
    NotPermitted,  // CAP_NET_RAW, CAP_NET_ADMIN, a file's mode
    RdmaOwnsIt,    // an RDMA device would get the packets
    PortTaken,     // UDP 4791, or the port to listen on
    WouldRoute,    // this kernel would forward packets for the tester's extra addresses
    TooLong,       // a frame over the MTU, a line over the limit
    NoNeighbour,   // nobody answered ARP or neighbour solicitation
    Refused,       // nobody listens there
    Unreachable,   // no route, or the host does not answer
    TimedOut,
    Closed, // by the other side
    System, // any other refusal of the kernel; the text has its words
};

struct Error {
    ErrorKind kind = ErrorKind::System;
    std::string text;
};

} // namespace veriroce::net
