// Packets for other programs: selected fields as tab-separated lines, CSV or JSON.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "dissector/decode/field.hpp"

namespace veriroce::print {

using Columns = std::vector<decode::Column>;

// An unknown field name, and the closest existing one (may be empty).
struct UnknownField {
    std::string name;
    std::string nearest;
};

std::expected<Columns, UnknownField> columns_of(std::span<const std::string> names);
// Every field once, except those shown only when named.
Columns all_columns();
// The columns of a CSV file if no fields are selected.
Columns default_columns();

// As `tshark -T fields`: tabs between fields, commas between the values of one field, a newline at
// the end.
void append_fields(std::string& out, const decode::Dissection& dissection,
                   std::span<const decode::Column> columns);

// RFC 4180, but lines end in \n. The header line, then one line per packet.
void append_csv_header(std::string& out, std::span<const decode::Column> columns);
void append_csv(std::string& out, const decode::Dissection& dissection,
                std::span<const decode::Column> columns);

} // namespace veriroce::print
