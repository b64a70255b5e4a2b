// What a correct peer would send at this moment: the default of every field that a `>` line does
// not write. Pure functions. Source: rules ACK-07, RSP-02, CNP-02, CRC-06.
#pragma once

#include <cstdint>

#include "dissector/wire/packet_spec.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Environment;
struct Objects;

// The next PSN in script notation. For datagrams, the number of the packet on its QP.
std::int64_t next_psn(const CaseQp& qp, std::uint8_t opcode);

// All values of a packet that its spec does not write. `ip_id`: its IPv4 identification.
wire::Sender honest_sender(const CaseQp& qp, const Objects& objects, const Environment& environment,
                           const wire::PacketSpec& spec, std::uint16_t ip_id);

} // namespace veriroce::interpreter
