// What can be wrong with one transport packet by itself. Internal to this room.
#pragma once

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

// Adds the findings of a packet whose layers are known. The ICRC is checked elsewhere.
void check_transport(Dissection& dissection);

// Whether check_transport() would find nothing: seen at one glance of most packets of RC. False of
// many a right packet. For those that dissect_usual() takes apart: their headers follow the BTH.
bool unremarkable(const Dissection& dissection);

} // namespace veriroce::decode
