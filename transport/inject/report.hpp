// What an injection came to, for people and for programs.
//
// Source: the schema of the JSON is in README.md of this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transport/fault/expectation.hpp"
#include "transport/inject/bump.hpp"
#include "transport/inject/excerpts.hpp"
#include "transport/inject/port_counts.hpp"
#include "transport/inject/sweep.hpp"

namespace veriroce::inject {

struct Verdict {
    std::uint32_t line = 0;
    std::string text; // the plan's line
    bool met = false;
    std::string why; // "worst 3.2 ms of 12 faults"
};

// The plan's expectations, and for each rule that did not fire as it requires a verdict that is not
// met.
std::vector<Verdict> judge(const Bump& bump, std::span<const fault::Expectation> expectations);

struct Result {
    const Bump& bump;
    std::span<const Verdict> verdicts;
    std::string path; // the data path, for users
    std::string plan; // its file
    std::uint64_t seed = 0;
    wire::Instant began;
    wire::Duration elapsed{0};
    PortCounts a;
    PortCounts b;
    std::span<const SweepStep> sweep = {};  // those that were measured
    std::span<const Excerpt> excerpts = {}; // for the page
    std::string a_name = {};                // interfaces, for the page
    std::string b_name = {};
};

// Of the followed faults of one rule, or of all.
struct Recoveries {
    std::size_t followed = 0;
    std::vector<wire::Duration> times; // sorted, of those that recovered
    std::uint64_t retransmitted = 0;
};
Recoveries recoveries_of(std::span<const FaultEvent> events, std::optional<std::size_t> rule);

// A line for each connection, at most `most`; the busiest first.
std::string connection_table(const Bump& bump, wire::Duration elapsed, std::size_t most);
// The connections, each rule with its faults and their recovery, losses of our own, verdicts.
std::string text_of(const Result& result);
// A line for each step.
std::string sweep_table(std::span<const SweepStep> steps);
std::string json_of(const Result& result);

} // namespace veriroce::inject
