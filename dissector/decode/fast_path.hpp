// The fast path: nearly every frame of a RoCE capture, taken apart at once. Internal to this room.
#pragma once

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

// Does what the general walk (walker.hpp) does, for Ethernet with at most one VLAN tag, IP without
// options or extension headers, UDP to port 4791 without a checksum, all of it captured, to which
// the outer walk of wire has no objection, and which is neither a datagram nor a CNP.
// False for any other; then nothing of `out` is to be relied on. Checks and ICRC are not done.
bool take_fast_path(Dissection& out);

} // namespace veriroce::decode
