// A field by its name, for who puts a few fields of a packet into words: where it stands is known
// to the field table alone.
//
//   if (const auto reason = number<"infiniband.cm.rej.reason">(dissection)) ...
#pragma once

#include "dissector/decode/field.hpp"
#include "dissector/print/append.hpp"

namespace veriroce::print {

// The first value of the field, in frame order. Nothing if the packet has none, or the capture does
// not hold all of it. The table has the name.
template <Pattern Name>
std::optional<decode::Value> value(const decode::Dissection& dissection) {
    static const decode::Column column = decode::Column::find(Name.view()).value();
    return column.first(dissection);
}

// The same of a field that is a number.
template <Pattern Name>
std::optional<std::uint64_t> number(const decode::Dissection& dissection) {
    const auto found = value<Name>(dissection);
    if (!found) return std::nullopt;
    return found->number;
}

// In one of the packet's layers, which has this field.
template <Pattern Name>
std::optional<std::uint64_t> number(const decode::Dissection& dissection,
                                    const decode::LayerSpan& layer) {
    static const decode::Column column = decode::Column::find(Name.view()).value();
    const auto found = column.of(dissection, layer);
    if (!found) return std::nullopt;
    return found->number;
}

} // namespace veriroce::print
