// What other packets tell about a packet, in brackets behind its line:
//
//   [Retransmission of 123, timeout] [PSN gap: 2 missing] [Duplicate READ of 120]
//   [ACKs 118-123, 35 us] [Response to 120, 35 us]
//
// Numbers are those of packets in the capture.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// Each note begins with a space. Nothing for a packet without the layer Flow.
void append_flow_notes(std::string& out, const decode::Dissection& dissection);

} // namespace veriroce::print
