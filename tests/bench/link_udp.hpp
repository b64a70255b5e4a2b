// The UDP link as it is measured: every datagram is a packet with a PSN of its own, every ICRC is
// made and checked.
#pragma once

#include "tests/bench/bare_udp.hpp"

namespace veriroce::bench_test {

// `offload` of the link; the batch tells how many datagrams are queued before each flush.
Traffic link_udp(const Batch& batch, bool offload);

} // namespace veriroce::bench_test
