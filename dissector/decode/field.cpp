#include "dissector/decode/field.hpp"

#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::decode {
namespace {

// In the order of the layers, within a layer in the order of their lists.
std::vector<FieldRow> all_rows() {
    std::vector<FieldRow> all;
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
        for (const auto part : {rows::outer(), rows::extensions(), rows::trailers(),
                                rows::carriers(), rows::transport(), rows::management(),
                                rows::nvme(), rows::storage(), rows::followed()}) {
            std::ranges::copy_if(part, std::back_inserter(all), [kind](const FieldRow& row) {
                return row.layer == static_cast<LayerKind>(kind);
            });
        }
    }
    return all;
}

bool is_number(Format format) {
    switch (format) {
    case Format::Decimal:
    case Format::Hex:
    case Format::Boolean:
    case Format::Seconds:
    case Format::Date: return true;
    case Format::Mac:
    case Format::Ipv4:
    case Format::Ipv6:
    case Format::Bytes:
    case Format::Text: return false;
    }
    return false;
}

} // namespace

std::span<const FieldRow> field_table() {
    static const std::vector<FieldRow> table = all_rows();
    return table;
}

std::span<const FieldRow> fields_of(LayerKind layer) {
    const auto found = std::ranges::equal_range(field_table(), layer, {}, &FieldRow::layer);
    return {found.begin(), found.end()};
}

std::optional<Value> read(const FieldRow& row, const Dissection& dissection,
                          const LayerSpan& layer) {
    if (row.compute != nullptr) return row.compute(dissection, layer);
    const wire::Bytes bytes = dissection.bytes_of(layer);
    if (row.bits == 0) return Value{.number = 0, .bytes = bytes, .text = {}};
    if (bytes.size() * 8 < std::size_t{row.bit} + row.bits) return std::nullopt;
    Value value;
    if (is_number(row.format)) {
        value.number = wire::load_bits(bytes, row.bit, row.bits);
    } else {
        value.bytes = bytes.subspan(row.bit / 8U, row.bits / 8U);
    }
    return value;
}

std::optional<Column> Column::find(std::string_view name) {
    Column column;
    for (const FieldRow& row : field_table()) {
        if (row.name == name) column.rows_.push_back(&row);
    }
    if (column.rows_.empty()) return std::nullopt;
    column.plain_ = column.rows_.size() == 1 && column.rows_.front()->each == nullptr;
    return column;
}

std::optional<Value> Column::of(const Dissection& dissection, const LayerSpan& layer) const {
    for (const FieldRow* row : rows_) {
        if (row->layer != layer.kind) continue;
        if (const auto value = read(*row, dissection, layer)) return value;
    }
    return std::nullopt;
}

std::optional<Value> Column::first(const Dissection& dissection) const {
    if (!present(dissection)) return std::nullopt;
    for (const LayerSpan& layer : dissection.layers) {
        if (const auto value = of(dissection, layer)) return value;
    }
    return std::nullopt;
}

bool Column::stands_in(LayerKind layer) const {
    return std::ranges::any_of(rows_, [&](const FieldRow* row) { return row->layer == layer; });
}

bool Column::needs_icrc() const {
    return std::ranges::any_of(rows_, [](const FieldRow* row) { return row->needs_icrc; });
}

} // namespace veriroce::decode
