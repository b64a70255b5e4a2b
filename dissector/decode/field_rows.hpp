// How rows of the field table are written, and the parts it is put together from. Internal.
#pragma once

#include "dissector/decode/field.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::decode::rows {

// Rows of fields whose position is in wire's table: name, layer and bits are taken from there.
//
//   dec(place("infiniband.bth.psn"), "Packet Sequence Number"),
using wire::place;

constexpr FieldRow placed(const wire::FieldPlace& place, std::string_view title, Format format,
                          std::string_view (*meaning)(std::uint64_t) = nullptr) {
    return {.name = place.name,
            .title = title,
            .layer = layer_kind_of(place.where.layer),
            .bit = place.where.bit,
            .bits = place.where.bits,
            .format = format,
            .meaning = meaning};
}
constexpr FieldRow dec(const wire::FieldPlace& place, std::string_view title,
                       std::string_view (*meaning)(std::uint64_t) = nullptr) {
    return placed(place, title, Format::Decimal, meaning);
}
constexpr FieldRow hex(const wire::FieldPlace& place, std::string_view title, std::uint8_t digits,
                       std::string_view (*meaning)(std::uint64_t) = nullptr) {
    FieldRow row = placed(place, title, Format::Hex, meaning);
    row.digits = digits;
    return row;
}
constexpr FieldRow flag(const wire::FieldPlace& place, std::string_view title) {
    return placed(place, title, Format::Boolean);
}
constexpr FieldRow bytes(const wire::FieldPlace& place, std::string_view title,
                         Format format = Format::Bytes) {
    return placed(place, title, format);
}

// Rows of layers that wire does not know, which have their positions here and nowhere else. `at`
// and `bits` count bits from the layer's first.
constexpr FieldRow dec(std::string_view name, std::string_view title, LayerKind layer,
                       std::uint16_t at, std::uint16_t bits,
                       std::string_view (*meaning)(std::uint64_t) = nullptr) {
    return {.name = name,
            .title = title,
            .layer = layer,
            .bit = at,
            .bits = bits,
            .format = Format::Decimal,
            .meaning = meaning};
}

constexpr FieldRow hex(std::string_view name, std::string_view title, LayerKind layer,
                       std::uint16_t at, std::uint16_t bits, std::uint8_t digits,
                       std::string_view (*meaning)(std::uint64_t) = nullptr) {
    return {.name = name,
            .title = title,
            .layer = layer,
            .bit = at,
            .bits = bits,
            .format = Format::Hex,
            .digits = digits,
            .meaning = meaning};
}

constexpr FieldRow flag(std::string_view name, std::string_view title, LayerKind layer,
                        std::uint16_t at) {
    return {.name = name,
            .title = title,
            .layer = layer,
            .bit = at,
            .bits = 1,
            .format = Format::Boolean};
}

constexpr FieldRow bytes(std::string_view name, std::string_view title, LayerKind layer,
                         std::uint16_t at, std::uint16_t bits, Format format = Format::Bytes) {
    return {
        .name = name, .title = title, .layer = layer, .bit = at, .bits = bits, .format = format};
}

// All bytes of a header under its own name.
constexpr FieldRow whole(std::string_view name, std::string_view title, LayerKind layer) {
    return {.name = name,
            .title = title,
            .layer = layer,
            .format = Format::Bytes,
            .shown = Shown::OnlyByName};
}

constexpr FieldRow computed(std::string_view name, std::string_view title, LayerKind layer,
                            Format format,
                            std::optional<Value> (*compute)(const Dissection&, const LayerSpan&),
                            Shown shown = Shown::Everywhere) {
    return {.name = name,
            .title = title,
            .layer = layer,
            .format = format,
            .shown = shown,
            .compute = compute};
}

// A field that one layer has several times.
using Each = std::optional<Value> (*)(const Dissection&, const LayerSpan&, std::size_t);

template <Each Values>
std::optional<Value> first_of(const Dissection& dissection, const LayerSpan& layer) {
    return Values(dissection, layer, 0);
}

template <Each Values>
constexpr FieldRow repeated(std::string_view name, std::string_view title, LayerKind layer,
                            Format format, Shown shown = Shown::Everywhere) {
    FieldRow row = computed(name, title, layer, format, first_of<Values>, shown);
    row.each = Values;
    return row;
}

constexpr FieldRow second_name(FieldRow row) {
    row.shown = Shown::OnlyByName;
    return row;
}
// The same bits under another name and title.
constexpr FieldRow also_called(std::string_view name, std::string_view title, FieldRow row) {
    row.name = name;
    row.title = title;
    return second_name(row);
}
// A row whose value is not known before the ICRC was verified.
constexpr FieldRow after_icrc(FieldRow row) {
    row.needs_icrc = true;
    return row;
}

// For a computed row: the bits that it shows, how it is printed, what it means.
constexpr FieldRow standing(FieldRow row, std::uint16_t at, std::uint16_t bits) {
    row.bit = at;
    row.bits = bits;
    return row;
}
constexpr FieldRow standing(FieldRow row, const wire::FieldPlace& place) {
    return standing(row, place.where.bit, place.where.bits);
}
constexpr FieldRow with_digits(FieldRow row, std::uint8_t digits) {
    row.digits = digits;
    return row;
}
constexpr FieldRow with_meaning(FieldRow row, std::string_view (*meaning)(std::uint64_t)) {
    row.meaning = meaning;
    return row;
}

// Rows of numbers whose first byte is the least significant: `Bytes` of them from byte `At` on, and
// of that number `Bits` bits above the lowest `Shift`.
template <std::size_t At, std::size_t Bytes, unsigned Shift = 0, unsigned Bits = Bytes * 8>
std::optional<Value> little(const Dissection& dissection, const LayerSpan& layer) {
    static_assert(Bytes <= 8 && Shift + Bits <= Bytes * 8);
    const wire::Bytes bytes = dissection.bytes_of(layer);
    if (bytes.size() < At + Bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = Bytes; i > 0; --i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[At + i - 1]);
    value >>= Shift;
    if constexpr (Bits < 64) value &= (std::uint64_t{1} << Bits) - 1;
    return Value{.number = value, .bytes = {}, .text = {}};
}

template <std::size_t At, std::size_t Bytes, unsigned Shift = 0, unsigned Bits = Bytes * 8>
constexpr FieldRow little_row(std::string_view name, std::string_view title, LayerKind layer,
                              Format format, std::uint8_t digits = 0,
                              std::string_view (*meaning)(std::uint64_t) = nullptr) {
    FieldRow row = computed(name, title, layer, format, little<At, Bytes, Shift, Bits>);
    row.bit = At * 8;
    row.bits = Bytes * 8;
    row.digits = digits;
    row.meaning = meaning;
    return row;
}

// For rows that are computed.
constexpr Value number(std::uint64_t value) {
    return {.number = value, .bytes = {}, .text = {}};
}
constexpr Value text(std::string_view value) {
    return {.number = 0, .bytes = {}, .text = value};
}

std::span<const FieldRow> outer();      // frame, link, network, UDP
std::span<const FieldRow> extensions(); // IPv4 options, IPv6 extension headers
std::span<const FieldRow> trailers();
std::span<const FieldRow> carriers();   // tunnels, MAC control, InfiniBand's own headers, iWARP
std::span<const FieldRow> transport();  // BTH to ICRC
std::span<const FieldRow> management(); // MADs
std::span<const FieldRow> nvme();
std::span<const FieldRow> storage();  // iSER, iSCSI, SMB Direct, RPC over RDMA
std::span<const FieldRow> followed(); // what other packets tell

} // namespace veriroce::decode::rows
