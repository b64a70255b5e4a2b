// Fills in what the decoder needs to know about a captured packet.
#pragma once

#include "dissector/capture/record.hpp"
#include "dissector/decode/dissection.hpp"

namespace veriroce::capture {

// `number` counts the frames of the capture from 1. The bytes stay valid as long as the record's.
// Members are copied one by one: the reader has just stored them one by one, and a wider load would
// stall on store forwarding.
inline void tell(const Record& record, std::uint64_t number, decode::FrameFacts& frame) {
    frame.bytes = {record.bytes.data(), record.bytes.size()};
    frame.original_length = record.original_length;
    frame.link_code = record.link_code;
    frame.number = number;
    frame.time_ns.reset();
    if (record.time_ns) frame.time_ns = *record.time_ns;
}

} // namespace veriroce::capture
