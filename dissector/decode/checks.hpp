// What can be wrong with one transport packet by itself. Internal to this room.
#pragma once

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

// Adds the findings of a packet whose layers are known. The ICRC is checked elsewhere.
void check_transport(Dissection& dissection);

} // namespace veriroce::decode
