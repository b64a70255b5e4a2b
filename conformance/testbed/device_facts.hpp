// A device's answer to hello, as a report keeps it.
#pragma once

#include "conformance/dut/device_methods.hpp"
#include "conformance/testbed/run_info.hpp"

namespace veriroce::testbed {

// MTUs are those of the first port, the one that the run uses.
DeviceFacts device_facts(const dut::Welcome& welcome);

} // namespace veriroce::testbed
