// Packets for other programs: selected fields as tab-separated lines, CSV or JSON.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/print/column.hpp"

namespace veriroce::print {

using Columns = std::vector<Column>;

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

// How -T fields separates (-E of tshark).
struct FieldStyle {
    enum class Occurrence : std::uint8_t { All, First, Last };
    char separator = '\t';
    char aggregator = ',';                   // between the values of one field
    std::optional<char> quote;               // around each field that has a value
    Occurrence occurrence = Occurrence::All; // which values are printed
    bool header = false;                     // a line of names at the beginning
};

// A word of -E, such as "separator=,"; the error is what was expected instead.
std::expected<void, std::string> read_style(FieldStyle& style, std::string_view word);

// As `tshark -T fields`, with a newline at the end.
void append_fields_header(std::string& out, std::span<const Column> columns,
                          const FieldStyle& style);
void append_fields(std::string& out, const decode::Dissection& dissection,
                   std::span<const Column> columns, const FieldStyle& style = {});

// Every field as `tshark -G fields` lists it: F, title, name, type, protocol, separated by tabs.
void append_field_list(std::string& out);

// Every protocol and header as `tshark -G protocols` lists them: title, short name, name for
// filters, separated by tabs. Here both names are one.
void append_protocol_list(std::string& out);

// RFC 4180, but lines end in \n. The header line, then one line per packet.
void append_csv_header(std::string& out, std::span<const Column> columns);
void append_csv(std::string& out, const decode::Dissection& dissection,
                std::span<const Column> columns);

} // namespace veriroce::print
