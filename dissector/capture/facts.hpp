// What the decoder is told of a packet of a capture.
#pragma once

#include "dissector/capture/record.hpp"
#include "dissector/decode/dissection.hpp"

namespace veriroce::capture {

// `number` counts the frames of the capture from 1. The bytes hold as long as the record's. What
// the reader has just stored part by part is read part by part: a processor waits for stores before
// it reads several of them at once.
inline void tell(const Record& record, std::uint64_t number, decode::FrameFacts& frame) {
    frame.bytes = {record.bytes.data(), record.bytes.size()};
    frame.original_length = record.original_length;
    frame.link_code = record.link_code;
    frame.number = number;
    frame.time_ns.reset();
    if (record.time_ns) frame.time_ns = *record.time_ns;
}

} // namespace veriroce::capture
