// A device's answer to hello, as a report keeps it.
#pragma once

#include "conformance/dut/device_methods.hpp"
#include "conformance/testbed/run_info.hpp"

namespace veriroce::testbed {

// MTUs and speed are those of the first port, the one that the run uses.
DeviceFacts device_facts(const dut::Welcome& welcome);

// What is known of every run.
RunInfo begun_info(std::uint64_t seed, const dut::Welcome& welcome);

} // namespace veriroce::testbed
