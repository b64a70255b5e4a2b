// Converts values of the contract to JSON values, with the field lists of fields.hpp. Only
// codec.cpp includes this: no header for others contains Boost.JSON.
#pragma once

#include <array>
#include <charconv>
#include <string>

#include "conformance/dut/base64.hpp"
#include "conformance/dut/json_names.hpp"

namespace veriroce::dut::json {

inline std::string hex_text(std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return "0x" + std::string(digits.data(), end.ptr);
}

template <Struct T>
void write_fields(object& into, const T& from);

inline value write(bool from, Style /*style*/) {
    return from;
}
inline value write(const std::string& from, Style /*style*/) {
    return string(from);
}
inline value write(const wire::IpAddress& from, Style /*style*/) {
    return string(from.text());
}
inline value write(const wire::MacAddress& from, Style /*style*/) {
    return string(from.text());
}
inline value write(wire::Psn from, Style /*style*/) {
    return from.value();
}
inline value write(wire::Mtu from, Style /*style*/) {
    return wire::bytes_of(from);
}
inline value write(wire::Instant from, Style /*style*/) {
    return string(std::to_string(from.time_since_epoch().count()));
}
inline value write(const std::vector<std::byte>& from, Style /*style*/) {
    return string(to_base64(from));
}
template <std::unsigned_integral T>
    requires(!std::is_same_v<T, bool>)
value write(T from, Style style) {
    switch (style) {
    case Style::Hex: return string(hex_text(from));
    case Style::Decimal: return string(std::to_string(from));
    case Style::Plain: return std::uint64_t{from};
    }
    return {};
}
template <typename Tag, typename T>
value write(wire::Identifier<Tag, T> from, Style style) {
    return write(from.value, style);
}
template <wire::VerbsEnum Enum>
value write(Enum from, Style /*style*/) {
    return string(wire::name_of(from));
}
template <BitSet T>
value write(const T& from, Style /*style*/) {
    array names;
    for (const auto& bit : bits_of(Of<T>{})) {
        if (from.*bit.member) names.emplace_back(bit.name);
    }
    return names;
}
template <Struct T>
value write(const T& from, Style /*style*/) {
    object into;
    write_fields(into, from);
    return into;
}
template <typename T>
value write(const std::vector<T>& from, Style style) {
    array into;
    into.reserve(from.size());
    for (const auto& element : from)
        into.push_back(write(element, style));
    return into;
}

inline void write_merged(object& into, const std::map<std::string, std::uint64_t>& from) {
    for (const auto& [name, count] : from)
        into[name] = std::to_string(count);
}
template <Struct T>
void write_merged(object& into, const T& from) {
    write_fields(into, from);
}

template <typename T>
void write_field(object& into, std::string_view name, Style style, const T& from) {
    into[name] = write(from, style);
}
template <typename T>
void write_field(object& into, std::string_view name, Style style, const std::optional<T>& from) {
    if (from) into[name] = write(*from, style);
}

template <typename T, typename Owner, typename Member>
void write_one(object& into, const T& from, const Field<Owner, Member>& field) {
    write_field(into, field.name, field.style, from.*field.member);
}
template <typename T, typename Owner, typename Member>
void write_one(object& into, const T& from, const Merged<Owner, Member>& field) {
    write_merged(into, from.*field.member);
}

template <Struct T>
void write_fields(object& into, const T& from) {
    std::apply([&](const auto&... field) { (write_one(into, from, field), ...); },
               fields_of(Of<T>{}));
}

} // namespace veriroce::dut::json
