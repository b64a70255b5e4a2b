// Which rules of a plan the program in the kernel can decide, in the form that it reads.
//
// It decides drops, CE marks and corruption by bit= or byte= without repair, of packets by from=,
// qp=, host=, opcode=, between, every=, p=, rate=, first= and fires=. The rest needs what only the
// process knows of a connection, or more than a byte to change.
//
// A rule means the same in both places: it counts and draws for every packet that it selects. So a
// rule that counts or draws is the kernel's only if the whole plan is: nothing counts twice.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "transport/fault/rule.hpp"
#include "transport/inject/kernel_rule.hpp"

namespace veriroce::inject {

// Which rules may select a packet: those of its direction and opcode that name its QP, or none. So
// a packet pays for the rules that concern it, not for those that are there.
struct RuleIndex {
    std::array<std::array<rule_set, 256>, 2> by_opcode{}; // from A, from B
    std::map<std::uint32_t, rule_set> by_qpn;             // the rules that name it
    rule_set any_qpn{};                                   // those that name none
};

struct KernelRules {
    std::vector<kernel_rule> rules;
    std::vector<std::size_t> places; // of each in the plan
    RuleIndex index;
    bool whole_plan = false; // no packet needs the process

    [[nodiscard]] bool has(std::size_t place) const;
};

KernelRules kernel_rules(std::span<const fault::Rule> plan, std::uint64_t seed);

} // namespace veriroce::inject
