// QP 1: the messages of connection management that a correct peer sends, and the question with
// which a case that sends them begins.
//
// Source: rules N-30, CM-01..CM-14; the fields by the dissector's table (script/mad_fields.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"
#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;
struct Environment;
struct Objects;

// The 256 bytes of a message as a correct peer would begin one: with new ids, about the case's own
// QP, to a service that nobody offers. `gsi` is the QP that sends it.
std::vector<std::byte> honest_datagram(std::uint16_t attribute, const Objects& objects,
                                       const Environment& environment, const CaseQp& gsi);

// Writes a number of up to 64 bits into the datagram.
void put_mad_field(std::vector<std::byte>& datagram, const script::MadField& field,
                   std::uint64_t value);

// Makes the case's `gsi`, and asks for a service that nobody offers. A device of which no message
// comes has no connection management that a case could test: SKIP.
Task<Met<>> connect_gsi(Interpreter& interpreter);

} // namespace veriroce::interpreter
