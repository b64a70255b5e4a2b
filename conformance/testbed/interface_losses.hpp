// What the tester's own interface lost, by the kernel's counters: before the capture could see it,
// and so beside what the capture itself drops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conformance/interpreter/case_result.hpp"

namespace veriroce::testbed {

// The counters of received packets that did not get through, as /sys/class/net/IF/statistics names
// them.
struct InterfaceLosses {
    std::uint64_t rx_dropped = 0;
    std::uint64_t rx_missed_errors = 0; // the NIC had no buffer
    std::uint64_t rx_over_errors = 0;
    std::uint64_t rx_fifo_errors = 0;
    std::uint64_t rx_crc_errors = 0;
};

// Of the interface with this name, in this network namespace; nothing if there is none.
std::optional<InterfaceLosses> losses_of(const std::string& interface);

// "rx_missed_errors +3, rx_dropped +1": which counters grew; empty if none did.
std::string growth_text(const InterfaceLosses& before, const InterfaceLosses& after);

// The interface lost packets during this run: what they would explain says nothing about the DUT.
// A case that passed has not needed them, and a contradiction stays.
void hold_to_losses(interpreter::CaseResult& result, const InterfaceLosses& before,
                    const InterfaceLosses& after);

} // namespace veriroce::testbed
