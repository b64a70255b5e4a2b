#include "dissector/print/table.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "dissector/print/append.hpp"
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

using Occurrence = FieldStyle::Occurrence;

void append_values(std::string& out, const decode::Dissection& dissection, const Column& column,
                   char aggregator = ',', Occurrence occurrence = Occurrence::All) {
    bool first = true;
    const std::size_t start = out.size();
    column.for_each(dissection, [&](const decode::FieldRow& row, const decode::Value& value) {
        if (!first) {
            if (occurrence == Occurrence::First) return;
            if (occurrence == Occurrence::Last) {
                out.resize(start);
            } else {
                out += aggregator;
            }
        }
        first = false;
        append_value(out, row, value);
    });
}

// Doubles the quotation marks inside, and puts one at each end.
void put_between(std::string& out, std::size_t start, char mark) {
    for (std::size_t at = start; (at = out.find(mark, at)) != std::string::npos; at += 2)
        out.insert(at, 1, mark);
    out.insert(start, 1, mark);
    out += mark;
}

// Quotes the text appended since `start` if necessary.
void quote(std::string& out, std::size_t start) {
    if (out.find_first_of(",\"\r\n", start) == std::string::npos) return;
    put_between(out, start, '"');
}

// A character of -E: itself, or /t for a tab, /s for a space.
std::optional<char> character_of(std::string_view word) {
    if (word == "/t" || word == "\\t") return '\t';
    if (word == "/s") return ' ';
    if (word.size() == 1 && word != "\n") return word.front();
    return std::nullopt;
}

// tshark's word for the type of a field.
std::string_view type_of(const decode::FieldRow& row) {
    switch (row.format) {
    case decode::Format::Decimal:
    case decode::Format::Hex:
        if (row.bits > 32) return "FT_UINT64";
        return row.bits > 16 || row.bits == 0 ? "FT_UINT32"
               : row.bits > 8                 ? "FT_UINT16"
                                              : "FT_UINT8";
    case decode::Format::Boolean: return "FT_BOOLEAN";
    case decode::Format::Mac: return "FT_ETHER";
    case decode::Format::Ipv4: return "FT_IPv4";
    case decode::Format::Ipv6: return "FT_IPv6";
    case decode::Format::Bytes: return "FT_BYTES";
    case decode::Format::Text: return "FT_STRING";
    case decode::Format::Seconds: return "FT_RELATIVE_TIME";
    case decode::Format::Date: return "FT_ABSOLUTE_TIME";
    }
    return {};
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
        auto column = Column::find(name);
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
        columns.push_back(*Column::find(row.name));
    }
    return columns;
}

Columns default_columns() {
    Columns columns;
    for (const std::string_view name : kUsualFields)
        columns.push_back(Column::find(name).value());
    return columns;
}

std::expected<void, std::string> read_style(FieldStyle& style, std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (name == "header") {
        if (value != "y" && value != "n") return std::unexpected("header=y or header=n");
        style.header = value == "y";
        return {};
    }
    if (name == "occurrence") {
        if (value != "a" && value != "f" && value != "l") {
            return std::unexpected("occurrence=a, f or l (all, first, last)");
        }
        style.occurrence = value == "a"   ? Occurrence::All
                           : value == "f" ? Occurrence::First
                                          : Occurrence::Last;
        return {};
    }
    if (name == "quote") {
        if (value != "d" && value != "s" && value != "n") {
            return std::unexpected("quote=d, s or n (double, single, none)");
        }
        style.quote.reset();
        if (value != "n") style.quote = value == "d" ? '"' : '\'';
        return {};
    }
    if (name == "separator" || name == "aggregator") {
        const auto character = character_of(value);
        if (!character) return std::unexpected(std::string(name) + "= one character, /t or /s");
        (name == "separator" ? style.separator : style.aggregator) = *character;
        return {};
    }
    return std::unexpected("header=, separator=, aggregator=, occurrence= or quote=");
}

void append_fields_header(std::string& out, std::span<const Column> columns,
                          const FieldStyle& style) {
    if (!style.header) return;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += style.separator;
        out += columns[i].name();
    }
    out += '\n';
}

void append_fields(std::string& out, const decode::Dissection& dissection,
                   std::span<const Column> columns, const FieldStyle& style) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += style.separator;
        const std::size_t start = out.size();
        append_values(out, dissection, columns[i], style.aggregator, style.occurrence);
        if (style.quote && out.size() > start) put_between(out, start, *style.quote);
    }
    out += '\n';
}

void append_field_list(std::string& out) {
    std::set<std::string_view> seen;
    for (const decode::FieldRow& row : decode::field_table()) {
        if (!seen.insert(row.name).second) continue;
        append<"F\t{}\t{}\t{}\t{}\n">(out, row.title, row.name, type_of(row),
                                      row.name.substr(0, row.name.find('.')));
    }
}

void append_protocol_list(std::string& out) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < decode::kLayerKinds; ++i) {
        const decode::LayerInfo& layer = decode::layer_info(static_cast<decode::LayerKind>(i));
        if (!seen.insert(layer.name).second) continue;
        append<"{}\t{}\t{}\n">(out, layer.title, layer.name, layer.name);
    }
}

void append_csv_header(std::string& out, std::span<const Column> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        out += columns[i].name();
    }
    out += '\n';
}

void append_csv(std::string& out, const decode::Dissection& dissection,
                std::span<const Column> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        const std::size_t start = out.size();
        append_values(out, dissection, columns[i]);
        quote(out, start);
    }
    out += '\n';
}

} // namespace veriroce::print
