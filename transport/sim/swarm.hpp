// Deterministic simulation: random work of two or three engines under random lawful behaviours and
// random trouble on the wire, all from one seed. At each step memory and completions are held
// against the reference model; then the trouble ends, and everything must complete.
//
//   const sim::Outcome outcome = sim::run_swarm(4711);
//   if (outcome.failure) ... sim::shrink(outcome.scenario, outcome.injected, {})  // shrink.hpp
//
// The same seed gives the same run, to the byte, on every machine. Nothing here has a clock.
// Errors: none; what goes wrong is the outcome.
// Source: model.hpp says what is checked; trouble.hpp what happens on the wire.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/engine/checks.hpp"
#include "transport/engine/surface_filter.hpp"
#include "transport/sim/model.hpp"
#include "transport/sim/trouble.hpp"

namespace veriroce::sim {

// A device other than the right one, to prove that a run can fail.
struct Defect {
    engine::Checks checks = engine::kStandardChecks;
    std::unique_ptr<engine::SurfaceFilter> (*make_filter)() = nullptr;
    std::optional<engine::Behaviour> behaviour; // in place of the scenario's
    std::optional<std::size_t> endpoint;        // that is built so; nothing: each of them
    // Whatever the model would say, the run goes on, and has no failure: for those who watch it.
    bool watched_only = false;

    [[nodiscard]] bool at(std::size_t index) const { return !endpoint || *endpoint == index; }
};

struct Tally {
    std::uint64_t frames = 0; // that the endpoints sent
    std::uint64_t works = 0;  // posted
    std::uint64_t completions = 0;
    std::uint64_t steps = 0;
    std::array<std::uint64_t, kFaultKinds> faults{};
    wire::Duration time{0}; // virtual
};

// A frame that an endpoint sent, and what befell it: what those who only watch it must find out.
struct SentFrame {
    std::size_t endpoint = 0;
    bool request = false; // of a connection of the scenario
    bool again = false;   // its PSN had been sent before, as a request or within a READ
    std::optional<FaultKind> fault;
};

struct Outcome {
    Verdict failure;
    Tally tally;
    std::vector<std::array<wire::Qpn, 2>> qpns; // of the two sides of each connection
    std::vector<Injected> injected;             // what befell packets, in order
    std::vector<SentFrame> sent;                // in order; only of a run that is witnessed
    // Only of a run that failed: what each endpoint refused last before that, and by which check.
    std::vector<std::string> refusals;
};

// Told of each frame at each endpoint's port: as it leaves it, before trouble, and as it comes
// there. Endpoint i has the addresses 10.77.0.(i + 1) and fd77::(i + 1).
using Witness = std::function<void(std::size_t endpoint, wire::Bytes frame, wire::Instant when)>;

Outcome run_swarm(std::uint64_t seed, const Defect& defect = {}, const Witness& witness = {});

// One run of a scenario: with its own random trouble, or with these faults and no others.
Outcome play(const Scenario& scenario, const Defect& defect);
Outcome play(const Scenario& scenario, const Defect& defect, std::span<const Injected> exactly);
Outcome play(const Scenario& scenario, const Defect& defect, const Witness& witness);

} // namespace veriroce::sim
