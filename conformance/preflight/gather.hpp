// Collects the facts that checks.hpp judges. It changes no setting; it sends ARP requests or
// neighbour solicitations for the device's addresses, and pings its agent.
//
// Times: net::monotonic_now(). Errors are facts.
#pragma once

#include <string>
#include <vector>

#include "conformance/dut/remote_dut.hpp"
#include "conformance/preflight/facts.hpp"
#include "transport/net/raw_link.hpp"

namespace veriroce::preflight {

TesterFacts tester_facts(const std::string& interface,
                         std::vector<wire::IpAddress> extra_addresses);

// Of a device whose agent has answered. Only GIDs with one of `wanted`, for its IP version, if
// there is one. Takes half a second.
DutFacts dut_facts(const std::string& agent, dut::RemoteDut& dut, net::RawLink* link,
                   const std::vector<wire::IpAddress>& wanted);

} // namespace veriroce::preflight
