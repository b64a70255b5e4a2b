#include "dissector/decode/field.hpp"

#include <algorithm>
#include <cassert>

#include "dissector/decode/field_rows.hpp"

namespace veriroce::decode {
namespace {

// In the order of the layers, within a layer in the order of their lists.
std::vector<FieldRow> all_rows() {
    std::vector<FieldRow> all;
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
        for (const auto part :
             {rows::outer(), rows::extensions(), rows::trailers(), rows::carriers(),
              rows::transport(), rows::management(), rows::nvme(), rows::storage()}) {
            std::ranges::copy_if(part, std::back_inserter(all), [kind](const FieldRow& row) {
                return row.layer == static_cast<LayerKind>(kind);
            });
        }
    }
    return all;
}

// A number of up to 64 bits; the layer has its bytes.
std::uint64_t load_bits(wire::Bytes bytes, std::size_t bit, std::size_t bits) {
    const std::size_t first = bit / 8;
    const std::size_t last = (bit + bits + 7) / 8;
    assert(last - first <= 8);
    std::uint64_t value = 0;
    for (std::size_t i = first; i < last; ++i) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    value >>= last * 8 - bit - bits;
    return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
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
        value.number = load_bits(bytes, row.bit, row.bits);
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

bool Column::needs_icrc() const {
    return name().starts_with("roce.icrc.") || name().starts_with("roce.finding");
}

} // namespace veriroce::decode
