// Runs of whole engines in virtual time, recorded at the port of each, and what a judge says who
// was there. What each engine is, and what fault_for its packets, comes from one seed.
#pragma once

#include <map>

#include "conformance/judge/judge.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::judge::test {

// Both addresses of an endpoint.
std::array<wire::IpAddress, 2> addresses_of(std::size_t endpoint);

struct Seen {
    std::vector<std::byte> frame;
    wire::Instant when;
    std::uint64_t order = 0; // among all sightings of the run
    bool leaves = false;     // the port, before anything can befall it; else it comes there
};

// What passed each endpoint's port.
struct Recording {
    sim::Scenario scenario;
    sim::Outcome outcome;
    std::map<std::size_t, std::vector<Seen>> ports;

    Recording(sim::Scenario played, const sim::Defect& defect);
};

// The facts that a judge at the endpoint's port has: no packet is missing, and its place. With
// `everything` also what the two ends of each connection have agreed upon, how long a device may
// take to answer, and that no application writes where others may read.
enum class Told : std::uint8_t { Place, Everything };
Assumptions assumptions_at(const Recording& recording, std::size_t endpoint, Told told);

// Whether the network makes packets of its own; the addresses of all endpoints but this one.
bool forges(const sim::Scenario& scenario);
std::vector<wire::IpAddress> all_but(std::size_t endpoint);

Judge judged_at(const Recording& recording, std::size_t endpoint, Assumptions assumptions);

} // namespace veriroce::judge::test
