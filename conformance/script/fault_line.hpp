// Parses a fault rule: ACTION when SELECTOR… [also], and what a plan expects.
#pragma once

#include <span>

#include "conformance/script/names.hpp"
#include "transport/fault/expectation.hpp"

namespace veriroce::script {

enum class FaultPlace : std::uint8_t {
    Case, // from=dut|tester, qp= a QP's name
    Plan, // from=a|b as well, qp= a QPN
};

// The line after `fault`; in a plan the whole line. Every number must be known before the run.
fault::Rule parse_fault(Cursor& cursor, const Scope& scope, FaultPlace place);

// A plan's line `expect …`.
fault::Expectation parse_expectation(Cursor& cursor, const Scope& scope);

// The first words of all actions.
std::span<const std::string_view> fault_action_names();

} // namespace veriroce::script
