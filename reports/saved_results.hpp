// A run that was kept as results.json, read again as the values that it was written from.
//
// Source: schema "veriroce/results/2" (reports/README.md). Fields that were added to it later may
// be missing; members that this version does not know are passed over.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// The error is a phrase: "cases[3].verdict: expected a verdict, got \"GOOD\"". All text of the run
// is safe to print. The file has no bytes of packets: each frame is as long as it was, and zero
// (take_frames() of pcapng.hpp fills them in).
std::expected<plan::RunResults, std::string> read_results(std::string_view json);

// Whether the frame's bytes are known. No frame of zeros was ever sent: it has no EtherType.
bool has_bytes(const interpreter::RecordedPacket& packet);

} // namespace veriroce::reports
