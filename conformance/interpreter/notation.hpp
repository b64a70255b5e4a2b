// Packets, fields and times in script notation, for mismatches.
// Source: conformance/script/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/script/ast.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::interpreter {

struct Entry;

// A field's value: codes by their names, keys and addresses in hexadecimal, "absent" where the
// packet has no such field.
std::string value_text(std::optional<std::int64_t> value, const script::FieldName& field);

std::string duration_text(wire::Duration duration); // "67.108 ms"

// The attribute of a message of connection management; nothing if the packet has none.
std::optional<std::uint16_t> management_of(const wire::Packet& packet);

std::string_view opcode_text(const wire::Packet& packet); // "NAK", "RDMA_READ_REQUEST", "CM_REJ"
// "ACK psn=2 msn=1": the opcode and the most important fields. `psn` is relative to the first PSN
// of the requesting side.
std::string packet_text(const wire::Packet& packet, std::int64_t psn);

// What a frame is that no QP takes: to which QPN it goes, or that it is wrapped twice.
std::string astray_text(const Entry& entry);
// Whether the payload is an IP packet to the RoCEv2 port once more.
bool is_wrapped_twice(const Entry& entry);
// "q2 < ACK psn=2 msn=1": a packet of the record after the name of its QP.
std::string entry_text(const Entry& entry, std::string_view qp);

// Equal from opcode to payload, except AckReq and MigReq, which a retransmission may change
// (REQ-31), and FECN and BECN, which the network sets.
bool same_packet(const wire::Packet& a, const wire::Packet& b);

} // namespace veriroce::interpreter
