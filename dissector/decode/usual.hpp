// The usual packet, taken apart at once. Internal to this room.
#pragma once

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

// Does what a walk through the frame does, for the packet that nearly every frame of a RoCE capture
// is: Ethernet with at most one VLAN tag, IP without options or extension headers, UDP to port 4791
// without a checksum, all of it captured and its lengths at one, and no datagram of management.
// False for any other, and then nothing of `out` is to be relied on. Checks and ICRC are not done.
bool dissect_usual(Dissection& out);

} // namespace veriroce::decode
