// What the script makes of the packets that an honest peer would send: `>` lines as specs.
#pragma once

#include <vector>

#include "conformance/interpreter/met.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Environment;
struct Objects;

// One packet, or those of a whole message: the line's fields say what the first carries; length,
// opcodes, PSNs and payload of each follow, and AckReq belongs to the last (LEN-10).
Met<std::vector<wire::PacketSpec>> packets_of(Objects& objects, const Environment& environment,
                                              const script::SendPacket& line, const CaseQp& qp);

} // namespace veriroce::interpreter
