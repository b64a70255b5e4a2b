#include "dissector/print/table.hpp"

#include <array>
#include <set>

#include "dissector/print/value_text.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::print {
namespace {

constexpr std::array<std::string_view, 16> kUsualFields{
    "frame.number",
    "frame.time_relative",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "frame.len",
    "roce.opcode.name",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.a",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
    "infiniband.reth.dmalen",
    "roce.payload_bytes",
    "roce.icrc.status",
};

void append_values(std::string& out, const decode::Dissection& dissection,
                   const decode::Column& column) {
    bool first = true;
    column.for_each(dissection, [&](const decode::FieldRow& row, const decode::Value& value) {
        if (!first) out += ',';
        first = false;
        append_value(out, row, value);
    });
}

// Quotes the text appended since `start` if necessary.
void quote(std::string& out, std::size_t start) {
    if (out.find_first_of(",\"\r\n", start) == std::string::npos) return;
    for (std::size_t at = start; (at = out.find('"', at)) != std::string::npos; at += 2) {
        out.insert(at, 1, '"');
    }
    out.insert(start, 1, '"');
    out += '"';
}

std::string nearest_field(std::string_view name) {
    std::vector<std::string_view> names;
    for (const decode::FieldRow& row : decode::field_table())
        names.push_back(row.name);
    return std::string(wire::nearest_word(name, names).value_or(""));
}

} // namespace

std::expected<Columns, UnknownField> columns_of(std::span<const std::string> names) {
    Columns columns;
    for (const std::string& name : names) {
        auto column = decode::Column::find(name);
        if (!column) {
            return std::unexpected(UnknownField{.name = name, .nearest = nearest_field(name)});
        }
        columns.push_back(std::move(*column));
    }
    return columns;
}

Columns all_columns() {
    Columns columns;
    std::set<std::string_view> seen;
    for (const decode::FieldRow& row : decode::field_table()) {
        if (row.shown == decode::Shown::OnlyByName || !seen.insert(row.name).second) continue;
        columns.push_back(*decode::Column::find(row.name));
    }
    return columns;
}

Columns default_columns() {
    Columns columns;
    for (const std::string_view name : kUsualFields)
        columns.push_back(decode::Column::find(name).value());
    return columns;
}

void append_fields(std::string& out, const decode::Dissection& dissection,
                   std::span<const decode::Column> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += '\t';
        append_values(out, dissection, columns[i]);
    }
    out += '\n';
}

void append_csv_header(std::string& out, std::span<const decode::Column> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        out += columns[i].name();
    }
    out += '\n';
}

void append_csv(std::string& out, const decode::Dissection& dissection,
                std::span<const decode::Column> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        const std::size_t start = out.size();
        append_values(out, dissection, columns[i]);
        quote(out, start);
    }
    out += '\n';
}

} // namespace veriroce::print
