// Deterministic simulation: random work by two or three engines, with random lawful behaviours and
// random faults on the wire, all from one seed. At each step the reference model checks memory and
// completions. At some point the faults stop, and then everything must complete.
//
//   const sim::Outcome outcome = sim::run_swarm(4711);
//   if (outcome.failure) ... sim::shrink(outcome.scenario, outcome.injected, {})  // shrink.hpp
//
// A seed gives exactly the same run on every machine; nothing here uses a clock. Errors: none; the
// outcome says what went wrong.
// Source: model.hpp says what is checked, network_faults.hpp what happens on the wire.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/engine/checks.hpp"
#include "transport/engine/surface_filter.hpp"
#include "transport/sim/model.hpp"
#include "transport/sim/network_faults.hpp"

namespace veriroce::sim {

// A device with a planted defect, to show that the checks can fail.
struct Defect {
    engine::Checks checks = engine::kStandardChecks;
    std::unique_ptr<engine::SurfaceFilter> (*make_filter)() = nullptr;
    std::optional<engine::Behaviour> behaviour; // replaces the scenario's
    std::optional<std::size_t> endpoint; // only this endpoint has the defect; empty: all of them
    // Ignore the model's failures and finish the run, for tests that only observe the packets.
    bool watched_only = false;

    [[nodiscard]] bool at(std::size_t index) const { return !endpoint || *endpoint == index; }
};

struct Tally {
    std::uint64_t frames = 0; // sent by all endpoints
    std::uint64_t works = 0;  // posted
    std::uint64_t completions = 0;
    std::uint64_t steps = 0;
    std::array<std::uint64_t, kFaultKinds> faults{};
    wire::Duration time{0}; // virtual
};

// A frame that an endpoint sent and the fault that it suffered: the ground truth for passive
// observers.
struct SentFrame {
    std::size_t endpoint = 0;
    bool request = false; // belongs to a connection of the scenario
    bool again = false;   // its PSN was sent before, as a request or within a READ
    std::optional<FaultKind> fault;
};

struct Outcome {
    MaybeFailure failure;
    Tally tally;
    std::vector<std::array<wire::Qpn, 2>> qpns; // of both sides of each connection
    std::vector<Injected> injected;             // faults that were applied, in order
    std::vector<SentFrame> sent;                // in order; only filled if there is an observer
    // Only of a failed run: the last packets that each endpoint refused, and the check that did.
    std::vector<std::string> refusals;
};

// Called for each frame at each endpoint's port: when it leaves, before faults, and when it
// arrives. Endpoint i has the addresses 10.77.0.(i + 1) and fd77::(i + 1).
using FrameObserver =
    std::function<void(std::size_t endpoint, wire::Bytes frame, wire::Instant when)>;

Outcome run_swarm(std::uint64_t seed, const Defect& defect = {},
                  const FrameObserver& observer = {});

// Runs a scenario with its own random faults, or (below) with exactly the given faults.
Outcome play(const Scenario& scenario, const Defect& defect);
Outcome play(const Scenario& scenario, const Defect& defect, std::span<const Injected> exactly);
Outcome play(const Scenario& scenario, const Defect& defect, const FrameObserver& observer);

} // namespace veriroce::sim
