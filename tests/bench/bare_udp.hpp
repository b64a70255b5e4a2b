// The peer that the UDP link is measured against: sendmmsg and recvmmsg, and nothing else. No ICRC,
// no look at what came, no control messages but those that segmentation offload needs.
#pragma once

#include <cstddef>

#include "tests/bench/traffic.hpp"

namespace veriroce::bench_test {

// What is moved with one system call. `datagrams` of one message is more than one only with
// segmentation offload at both ends.
struct Batch {
    std::size_t datagram_bytes = 0;
    std::size_t datagrams = 1;
    std::size_t messages = 64;
    std::size_t received_messages = 64;
    bool spin = false; // the receiver asks again and again; otherwise it sleeps until one comes
};

// Two sockets on 127.0.0.1 that live as long as the traffic.
Traffic bare_udp(const Batch& batch);

} // namespace veriroce::bench_test
