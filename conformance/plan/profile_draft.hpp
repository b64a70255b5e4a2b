// A profile that describes what a run found: a draft for people, who add the reasons.
//
// Every FAIL and WARN becomes an entry that excuses exactly its findings. A run of the same device
// with the draft as its profile has XFAILs in their place.
// Source: conformance/profiles/README.md.
#pragma once

#include <span>
#include <string>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/case_result.hpp"

namespace veriroce::plan {

// How many runs would need an entry.
std::size_t unexplained(std::span<const interpreter::CaseResult> results);

// YAML that parse_profile() accepts.
std::string profile_draft(const dut::Welcome& device,
                          std::span<const interpreter::CaseResult> results);

} // namespace veriroce::plan
