// THE field table of the dissector: one row for each named field, with its title, its format, and
// where it stands or how it is worked out. Tree, -T fields, JSON, CSV, display filters and the line
// read it. Positions from Ethernet to the ICRC are those of wire/field_places.hpp.
//
// Names and value formats are Wireshark's where Wireshark has the field (4.0, `tshark -G fields`);
// what it has not is under `roce.`. A name may have several rows (`ip.addr` is source and
// destination, `infiniband.reth.va` stands in RETH and AtomicETH), and a layer may stand in a frame
// several times: a field has as many values as are there, in frame order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

enum class Format : std::uint8_t {
    Decimal,
    Hex,     // 0x and as many digits as the row says
    Boolean, // 1 or 0
    Mac,
    Ipv4,
    Ipv6,
    Bytes, // hex digits without anything between
    Text,
    Seconds, // `number` is signed nanoseconds
    Date,    // `number` is nanoseconds since 1970: date and local time of day
};

// A value as it was found. Which member counts is told by the row's format: Mac, Ipv4, Ipv6 and
// Bytes use `bytes`, Text uses `text`, all others `number`.
struct Value {
    std::uint64_t number = 0;
    wire::Bytes bytes;
    std::string_view text;
};

// Where a row is shown if it is not asked for by name.
enum class Shown : std::uint8_t {
    Everywhere,
    NotInTree,  // it repeats what another row shows
    OnlyByName, // long, or a second name
};

struct FieldRow {
    std::string_view name;
    std::string_view title;
    LayerKind layer = LayerKind::Frame;
    std::uint16_t bit = 0;  // from the layer's first bit
    std::uint16_t bits = 0; // at most 64 for numbers; 0: all bytes of the layer
    Format format = Format::Decimal;
    std::uint8_t digits = 0; // of Hex
    Shown shown = Shown::Everywhere;
    bool needs_icrc = false; // the value depends on the ICRC being verified
    // What the number means: "RC Send First". Empty if it has no name.
    std::string_view (*meaning)(std::uint64_t) = nullptr;
    // Computes the value, for fields without a fixed place.
    std::optional<Value> (*compute)(const Dissection&, const LayerSpan&) = nullptr;
    // Of a field that one layer has several times: the value by its number, counted from 0, or
    // nothing after the last. Then `compute` gives the first.
    std::optional<Value> (*each)(const Dissection&, const LayerSpan&, std::size_t) = nullptr;
};

// All rows, grouped by layer in the order of LayerKind, within a layer in the order of the bytes.
std::span<const FieldRow> field_table();
// The rows of one layer.
std::span<const FieldRow> fields_of(LayerKind layer);

// Nothing if the field is not there: beyond what was captured, or not of this packet's kind.
std::optional<Value> read(const FieldRow& row, const Dissection& dissection,
                          const LayerSpan& layer);

// Calls `use(value)` for each value that the row has in one layer of its kind.
template <typename Use>
void for_each_value(const FieldRow& row, const Dissection& dissection, const LayerSpan& layer,
                    Use use) {
    if (row.each == nullptr) {
        if (const auto value = read(row, dissection, layer)) use(*value);
        return;
    }
    std::size_t number = 0;
    while (const auto value = row.each(dissection, layer, number++))
        use(*value);
}

// A field that somebody asked for by name.
class Column {
  public:
    // Nothing if the table does not have the field.
    static std::optional<Column> find(std::string_view name);

    [[nodiscard]] std::string_view name() const { return rows_.front()->name; }
    // Its rows; at least one.
    [[nodiscard]] std::span<const FieldRow* const> rows() const { return rows_; }
    // Whether its value depends on the ICRC being verified.
    [[nodiscard]] bool needs_icrc() const;
    // Whether layers of this kind have the field.
    [[nodiscard]] bool stands_in(LayerKind layer) const;

    // Calls `use(row, value)` for each value in frame order.
    template <typename Use>
    void for_each(const Dissection& dissection, Use use) const {
        if (plain_) return for_each_of(*rows_.front(), dissection, use);
        if (!present(dissection)) return;
        for (const LayerSpan& layer : dissection.layers) {
            for (const FieldRow* row : rows_) {
                if (row->layer != layer.kind) continue;
                for_each_value(*row, dissection, layer,
                               [&](const Value& value) { use(*row, value); });
            }
        }
    }

    // The first value in frame order.
    [[nodiscard]] std::optional<Value> first(const Dissection& dissection) const;
    // The first value in one layer of the packet.
    [[nodiscard]] std::optional<Value> of(const Dissection& dissection,
                                          const LayerSpan& layer) const;

  private:
    // One row is looked for from the first layer of its kind on.
    template <typename Use>
    static void for_each_of(const FieldRow& row, const Dissection& dissection, Use& use) {
        for (const LayerSpan& layer : dissection.layers.from(row.layer)) {
            if (layer.kind != row.layer) continue;
            if (const auto value = read(row, dissection, layer)) use(row, *value);
        }
    }

    [[nodiscard]] bool present(const Dissection& dissection) const {
        for (const FieldRow* row : rows_) {
            if (dissection.layers.has(row->layer)) return true;
        }
        return false;
    }

    std::vector<const FieldRow*> rows_;
    bool plain_ = false; // one row, which a layer has once
};

} // namespace veriroce::decode
