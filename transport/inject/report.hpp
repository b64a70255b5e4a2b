// What an injection came to, for people and for programs.
//
// Source: the schema of the JSON is in README.md of this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transport/fault/expectation.hpp"
#include "transport/inject/bump.hpp"
#include "transport/inject/ports.hpp"

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
};

// A line for each connection, at most `most`; the busiest first.
std::string connection_table(const Bump& bump, wire::Duration elapsed, std::size_t most);
// The connections, each rule with its faults and their recovery, losses of our own, verdicts.
std::string text_of(const Result& result);
std::string json_of(const Result& result);

} // namespace veriroce::inject
