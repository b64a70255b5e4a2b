// Packets for programs to read: chosen fields as tab-separated lines, CSV or JSON.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "dissector/decode/field.hpp"

namespace veriroce::print {

using Columns = std::vector<decode::Column>;

// A name that is no field, and the field that was perhaps meant (may be empty).
struct UnknownField {
    std::string name;
    std::string nearest;
};

std::expected<Columns, UnknownField> columns_of(std::span<const std::string> names);
// Every field that is not shown by name only, each once.
Columns all_columns();
// What a CSV file has if no fields are chosen.
Columns usual_columns();

// `tshark -T fields`: tabs between fields, commas between the values of one, a newline.
void append_fields(std::string& out, const decode::Dissection& dissection,
                   std::span<const decode::Column> columns);

// RFC 4180, lines end in \n: the names, and a packet.
void append_csv_header(std::string& out, std::span<const decode::Column> columns);
void append_csv(std::string& out, const decode::Dissection& dissection,
                std::span<const decode::Column> columns);

} // namespace veriroce::print
