// A time as people write it: "1 s", "10 ms", "67.108 us", "7 ns". At most three decimals, none of
// them a trailing zero; the unit is the largest of which there is one.
#pragma once

#include <string>

#include "dissector/wire/instant.hpp"

namespace veriroce::wire {

std::string short_time(Duration time);

} // namespace veriroce::wire
