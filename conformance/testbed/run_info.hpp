// Which device a run tested, over which link. A report begins with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veriroce::testbed {

struct RunInfo {
    std::uint64_t seed = 0;
    std::string dut;  // "built-in engine, virtual time", or what the agent said of itself
    std::string link; // "virtual", or "tester0, 52:54:..., MTU 1500"
    std::string profile;
    std::string dut_host; // "kernel 6.1.0-56-amd64, driver rdma_rxe"; empty if its agent is silent
    std::string host;     // of the tester
    bool complete = true; // false: ended by a signal
    std::vector<std::string> notes; // offloads changed, what cannot be judged here
};

} // namespace veriroce::testbed
