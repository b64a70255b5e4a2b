// A packet of a page's ladder, taken apart: {"tree", "hex"}, as text.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/json/fwd.hpp>

#include "dissector/wire/bytes.hpp"

namespace veriroce::reports {

// `bytes` may be the beginning of a frame of `length` bytes. `number` counts from 1.
boost::json::value decoded_packet(wire::Bytes bytes, std::size_t length, std::size_t number,
                                  std::int64_t time_ns);

} // namespace veriroce::reports
