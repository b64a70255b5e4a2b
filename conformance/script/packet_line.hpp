// Parses the text after `>`, `<` and `no`: the kind of a packet, its fields, its clauses.
#pragma once

#include <variant>
#include <vector>

#include "conformance/script/names.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::script {

using PacketNode = std::variant<SendPacket, SendRaw, SendFragment, SendPfc, ExpectPacket>;

// The name of a QP, if there is one here; else the default QP.
QpRef take_qp(Cursor& cursor, const Scope& scope);
// The same before a packet: a message of connection management goes to QP 1 unless a QP is named.
QpRef take_qp_of_packet(Cursor& cursor, const Scope& scope);
// The service of this QP's opcodes; `own` is that of the default QP.
wire::Service service_of(const Scope& scope, const QpRef& qp, wire::Service own);

// The line after the QP: from `>` or `<` on.
PacketNode parse_packet(Cursor& cursor, Scope& scope, QpRef qp, wire::Service service);

PacketKind parse_kind(Cursor& cursor, wire::Service service);
std::vector<FieldMatch> parse_matches(Cursor& cursor, const Scope& scope, const PacketKind& kind,
                                      wire::Service service,
                                      std::span<const std::string_view> stop_words);

// One field of a packet and its value, without clauses: NAME=VALUE, or a flag. Of `fault rewrite`
// and `forge` as well, which have no kind and know no fields of management datagrams.
FieldWrite parse_field_write(Cursor& cursor, const Scope& scope, const Word& name,
                             const PacketKind* kind = nullptr);
// FIELD:BIT or @BYTE:BIT after `flip=` or `invert=`.
FlipBit parse_flip(Cursor& cursor, const Scope& scope, std::string_view word,
                   const PacketKind* kind = nullptr);
// Why a packet of this kind cannot have this field; empty if it can.
std::string misplaced(const FieldName& field, const PacketKind& kind, wire::Service service);

} // namespace veriroce::script
