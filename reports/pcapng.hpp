// The packets of cases as pcapng: what went over the wire, in the order of time, with remarks as
// packet comments. One file for a run, or one for each failed case.
#pragma once

#include <expected>
#include <string>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// Writes the packets of `result` (and its title as the first packet's comment) to `path`.
// The error is one sentence.
std::expected<void, std::string> write_pcapng(const interpreter::CaseResult& result,
                                              const std::string& path);
// All cases of a run, each packet with its case's id as a comment.
std::expected<void, std::string> write_pcapng(const plan::RunResults& results,
                                              const std::string& path);

} // namespace veriroce::reports
