// `>` lines as packet specs: the packet of a correct peer, with the fields that the script changes.
#pragma once

#include <vector>

#include "conformance/interpreter/met.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Environment;
struct Objects;

// One packet, or the packets of a whole message. The line's fields describe the first packet;
// length, opcode, PSN and payload of the others follow from it, and only the last has AckReq
// (LEN-10).
Met<std::vector<wire::PacketSpec>> packets_of(Objects& objects, const Environment& environment,
                                              const script::SendPacket& line, const CaseQp& qp);

} // namespace veriroce::interpreter
