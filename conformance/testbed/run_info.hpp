// Which device a run tested, over which link. A report begins with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace veriroce::testbed {

// What the device's agent said in its hello, in the words of the contract
// (conformance/agent/README.md); the words that a profile adds or takes away are not in it.
struct DeviceFacts {
    std::string name;     // what its agent calls the host
    std::string device;   // "rxe0", "mlx5_0"
    std::string firmware; // empty if unknown, as the two below
    std::string driver;   // "mlx5_core"
    std::string kernel;
    std::string backend;                         // "verbs", "engine"
    std::vector<std::string> capabilities;       // sorted
    std::vector<std::string> traits;             // sorted
    std::map<std::string, std::uint64_t> limits; // by the contract's names; MTUs in bytes

    friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

struct RunInfo {
    std::string program; // "veriroce 0.1.0"; empty in files of older versions
    std::uint64_t seed = 0;
    std::string mutant; // the defect that is planted in the built-in engine; empty without one
    std::string dut;    // "built-in engine, virtual time", or what the agent said of itself
    std::string link;   // "virtual", or "tester0, 52:54:..., MTU 1500"
    std::string profile;
    DeviceFacts device;   // all empty in files of older versions
    std::string dut_host; // "kernel 6.1.0-56-amd64, driver rdma_rxe"; empty if its agent is silent
    std::string host;     // of the tester
    bool complete = true; // false: ended by a signal
    std::vector<std::string> notes; // offloads changed, what cannot be judged here
};

} // namespace veriroce::testbed
