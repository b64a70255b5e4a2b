// Frames whose outer headers are unusual: IP fragments, IPv4 options, IPv6 extension headers,
// padding and frame check sequences, flow control. For comparisons with another dissector.
#pragma once

#include "tests/dissector/corpus/corpus.hpp"

namespace veriroce::corpus {

// All on Ethernet. The same at every call.
Corpus outer_corpus();

} // namespace veriroce::corpus
