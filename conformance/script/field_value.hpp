// Parses the value of a packet's field; the field decides which values are allowed.
#pragma once

#include "conformance/script/names.hpp"

namespace veriroce::script {

// `match`: in a `<` line, where ranges and the packet's own fields may be used.
Value parse_field_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match);

// An Address: `tester`, `dut`, a `tester address` or a `dut address`, each with +N.
Address parse_address(Cursor& cursor, const Scope& scope);

// A key: of a region or window, abs:N.
Key parse_key(Cursor& cursor, const Scope& scope);

// Flags of a packet: without a value they mean 1.
bool is_flag(const FieldName& field);

} // namespace veriroce::script
