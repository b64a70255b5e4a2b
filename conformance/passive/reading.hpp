// Captures into judges, as fast as they are read.
#pragma once

#include <optional>

#include "conformance/judge/judge.hpp"
#include "dissector/capture/reader.hpp"

namespace veriroce::passive {

// Every frame that `reader` still has, numbered from 1. Returns what ended the capture early, if
// anything did; what stood before it was judged. Finishing the judge is left to the caller.
std::optional<capture::ReadError> read_into(judge::Judge& judge, capture::Reader& reader);

} // namespace veriroce::passive
