// Parses what stands behind `>`, `<` and `no`: the kind of a packet, its fields, its clauses.
#pragma once

#include <variant>
#include <vector>

#include "conformance/script/names.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::script {

using PacketNode =
    std::variant<SendPacket, SendRaw, SendFragment, SendPfc, CmMessage, ExpectPacket>;

// A QP's name, if one stands here; the case's own QP otherwise.
QpRef take_qp(Cursor& cursor, const Scope& scope);
// The service whose opcodes are meant on this QP; `own` is that of the case's own QP.
wire::Service service_of(const Scope& scope, const QpRef& qp, wire::Service own);

// The line behind the QP: from `>` or `<` on.
PacketNode parse_packet(Cursor& cursor, Scope& scope, QpRef qp, wire::Service service);

PacketKind parse_kind(Cursor& cursor, wire::Service service);
std::vector<FieldMatch> parse_matches(Cursor& cursor, const Scope& scope, const PacketKind& kind,
                                      wire::Service service,
                                      std::span<const std::string_view> stop_words);

// One field of a packet and its value, without clauses: NAME=VALUE, or a flag. Of `fault rewrite`
// and `forge` as well.
FieldWrite parse_field_write(Cursor& cursor, const Scope& scope, const Word& name);
// What is wrong with this field in a packet of this kind; empty if nothing is.
std::string misplaced(const FieldName& field, const PacketKind& kind, wire::Service service);

} // namespace veriroce::script
