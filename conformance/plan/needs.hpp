// What a run needs of the device and the link: the `needs` lines of its case, and what its own
// lines ask for. A run that sends an atomic needs atomics, whether or not its header says so, and
// the other runs of its case do not.
//
// Source: conformance/agent/README.md, "Capabilities and traits".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/script/ast.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

// The needs of one run, each once; `needs WORD for NAME=VALUE` counts for the runs with that value.
std::vector<script::Need> needs_of(const script::Case& script, const script::Run& run);

// The need of a path MTU: 256 has a word of its own, because some devices do not have it.
script::Need need_of_mtu(std::int64_t bytes);

// Why the need is not met here: "needs sge>=3, has 1"; nothing if it is.
std::optional<std::string> lacking(const script::Need& need, const testbed::Testbed& testbed,
                                   const interpreter::Environment& environment);

} // namespace veriroce::plan
