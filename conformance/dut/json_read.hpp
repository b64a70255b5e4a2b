// Converts JSON values to values of the contract, with the field lists of fields.hpp. Only
// codec.cpp includes this.
//
// Reading checks everything that comes from outside and reports the wrong field and what it
// expected: "sge[1].length: expected a whole number from 0 to 4294967295, got a string".
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "conformance/dut/base64.hpp"
#include "conformance/dut/json_names.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::dut::json {

// Whether an unknown name is an error (requests: probably a typing error) or is ignored (results:
// an agent may report more than we know).
enum class Unknown : std::uint8_t { Refused, Ignored };

// The place in the document, and what was expected there. An empty path means no error.
struct ReadError {
    std::string path;
    std::string text;

    ReadError&& inside(std::string_view name) && {
        const bool joined = path.empty() || path.front() == '[';
        path = std::string(name) + (joined ? "" : ".") + path;
        return std::move(*this);
    }
};
using Outcome = std::optional<ReadError>; // nothing if it was read

constexpr std::size_t kMostText = 512; // bytes of a text from the other side that are kept

inline std::string_view kind_of(const value& from) {
    switch (from.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "true or false";
    case boost::json::kind::int64:
    case boost::json::kind::uint64: return "a number";
    case boost::json::kind::double_: return "a fraction";
    case boost::json::kind::string: return "a string";
    case boost::json::kind::array: return "an array";
    case boost::json::kind::object: return "an object";
    }
    return "nothing";
}
inline Outcome wrong(std::string_view expected, const value& found) {
    return ReadError{.path = {},
                     .text = "expected " + std::string(expected) + ", got " +
                             std::string(kind_of(found))};
}
inline Outcome wrong_text(std::string_view expected, std::string_view found) {
    return ReadError{.path = {},
                     .text = "expected " + std::string(expected) + ", got \"" +
                             std::string(found.substr(0, 40)) + '"'};
}
inline std::optional<std::string_view> text_of(const value& from) {
    if (!from.is_string()) return std::nullopt;
    return std::string_view(from.get_string().data(), from.get_string().size());
}

template <Struct T>
Outcome read_fields(const object& from, T& into, Unknown unknown);

inline Outcome read_number(const value& from, std::uint64_t last, std::uint64_t& into) {
    std::optional<std::uint64_t> number;
    if (from.is_uint64()) number = from.get_uint64();
    if (from.is_int64() && from.get_int64() >= 0) {
        number = static_cast<std::uint64_t>(from.get_int64());
    }
    const auto expected = "a whole number from 0 to " + std::to_string(last);
    if (!number) {
        return from.is_int64() ? wrong_text(expected, std::to_string(from.get_int64()))
                               : wrong(expected, from);
    }
    if (*number > last) return wrong_text(expected, std::to_string(*number));
    into = *number;
    return std::nullopt;
}

// "0x1f" or "31", as the style demands, and nothing else.
inline Outcome read_numeral(const value& from, Style style, std::uint64_t& into) {
    const bool hexadecimal = style == Style::Hex;
    const std::string_view expected =
        hexadecimal ? R"(a string like "0x1f")" : R"(a string of decimal digits like "31")";
    const auto text = text_of(from);
    if (!text) return wrong(expected, from);
    std::string_view digits = *text;
    if (hexadecimal) {
        if (!digits.starts_with("0x")) return wrong_text(expected, *text);
        digits.remove_prefix(2);
    }
    const auto* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, into, hexadecimal ? 16 : 10);
    if (result.ec != std::errc{} || result.ptr != end) return wrong_text(expected, *text);
    return std::nullopt;
}

inline Outcome read(const value& from, bool& into, Style /*style*/, Unknown /*unknown*/) {
    if (!from.is_bool()) return wrong("true or false", from);
    into = from.get_bool();
    return std::nullopt;
}
// In a result it is text for people, and for files: of bounded length, and nothing that a terminal
// obeys. In a request it is a token.
inline Outcome read(const value& from, std::string& into, Style /*style*/, Unknown unknown) {
    const auto text = text_of(from);
    if (!text) return wrong("a string", from);
    into = unknown == Unknown::Ignored ? wire::safe_excerpt(*text, kMostText) : std::string(*text);
    return std::nullopt;
}
template <std::unsigned_integral T>
    requires(!std::is_same_v<T, bool>)
Outcome read(const value& from, T& into, Style style, Unknown /*unknown*/) {
    std::uint64_t number = 0;
    auto failed =
        style == Style::Plain
            ? read_number(from,
                          std::min<std::uint64_t>(kNumberLimit - 1, std::numeric_limits<T>::max()),
                          number)
            : read_numeral(from, style, number);
    if (failed) return failed;
    into = static_cast<T>(number);
    return std::nullopt;
}
template <typename Tag, typename T>
Outcome read(const value& from, wire::Identifier<Tag, T>& into, Style style, Unknown unknown) {
    return read(from, into.value, style, unknown);
}
inline Outcome read(const value& from, wire::Qpn& into, Style /*style*/, Unknown /*unknown*/) {
    std::uint64_t number = 0;
    if (auto failed = read_number(from, wire::kMask24, number)) return failed;
    into.value = static_cast<std::uint32_t>(number);
    return std::nullopt;
}
inline Outcome read(const value& from, wire::Psn& into, Style /*style*/, Unknown /*unknown*/) {
    std::uint64_t number = 0;
    if (auto failed = read_number(from, wire::kMask24, number)) return failed;
    into = wire::Psn(static_cast<std::uint32_t>(number));
    return std::nullopt;
}
inline Outcome read(const value& from, wire::Mtu& into, Style /*style*/, Unknown /*unknown*/) {
    std::uint64_t number = 0;
    if (auto failed = read_number(from, 4096, number)) return failed;
    for (const auto mtu :
         {wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
        if (wire::bytes_of(mtu) != number) continue;
        into = mtu;
        return std::nullopt;
    }
    return wrong_text("256, 512, 1024, 2048 or 4096", std::to_string(number));
}
inline Outcome read(const value& from, wire::Instant& into, Style /*style*/, Unknown /*unknown*/) {
    std::uint64_t number = 0;
    if (auto failed = read_numeral(from, Style::Decimal, number)) return failed;
    constexpr auto latest = static_cast<std::uint64_t>(wire::Duration::max().count());
    if (number > latest) return wrong_text("a time below 2^63 ns", std::to_string(number));
    into = wire::Instant(wire::Duration(static_cast<wire::Duration::rep>(number)));
    return std::nullopt;
}
template <typename T>
    requires std::is_same_v<T, wire::IpAddress> || std::is_same_v<T, wire::MacAddress>
Outcome read(const value& from, T& into, Style /*style*/, Unknown /*unknown*/) {
    constexpr std::string_view expected = std::is_same_v<T, wire::MacAddress>
                                              ? R"(a MAC address like "02:00:00:00:00:01")"
                                              : R"(an address like "10.77.0.1" or "fd77::1")";
    const auto text = text_of(from);
    if (!text) return wrong(expected, from);
    const auto address = T::parse(*text);
    if (!address) return wrong_text(expected, *text);
    into = *address;
    return std::nullopt;
}
inline Outcome read(const value& from, std::vector<std::byte>& into, Style /*style*/,
                    Unknown /*unknown*/) {
    const auto text = text_of(from);
    if (!text) return wrong("base64", from);
    auto bytes = from_base64(*text);
    if (!bytes) return wrong_text("base64", *text);
    into = std::move(*bytes);
    return std::nullopt;
}
template <wire::VerbsEnum Enum>
Outcome read(const value& from, Enum& into, Style /*style*/, Unknown /*unknown*/) {
    const auto text = text_of(from);
    if (!text) return wrong("a name", from);
    const auto known = wire::enum_by_name<Enum>(*text);
    if (!known) {
        return ReadError{.path = {},
                         .text = "unknown name \"" + std::string(text->substr(0, 40)) + '"'};
    }
    into = *known;
    return std::nullopt;
}
template <BitSet T>
Outcome read(const value& from, T& into, Style /*style*/, Unknown /*unknown*/) {
    if (!from.is_array()) return wrong("an array of names", from);
    for (const auto& element : from.get_array()) {
        const auto text = text_of(element);
        if (!text) return wrong("an array of names", element);
        bool known = false;
        for (const auto& bit : bits_of(Of<T>{})) {
            if (bit.name != *text) continue;
            into.*bit.member = true;
            known = true;
        }
        if (!known) {
            return ReadError{.path = {},
                             .text = "unknown name \"" + std::string(text->substr(0, 40)) + '"'};
        }
    }
    return std::nullopt;
}
template <Struct T>
Outcome read(const value& from, T& into, Style /*style*/, Unknown unknown) {
    if (!from.is_object()) return wrong("an object", from);
    return read_fields(from.get_object(), into, unknown);
}
template <typename T>
Outcome read(const value& from, std::vector<T>& into, Style style, Unknown unknown) {
    if (!from.is_array()) return wrong("an array", from);
    for (const auto& element : from.get_array()) {
        T one{};
        if (auto failed = read(element, one, style, unknown)) {
            return std::move(*failed).inside('[' + std::to_string(into.size()) + ']');
        }
        into.push_back(std::move(one));
    }
    return std::nullopt;
}

inline Outcome read_merged(const object& from, std::map<std::string, std::uint64_t>& into) {
    for (const auto& member : from) {
        std::uint64_t number = 0;
        if (auto failed = read_numeral(member.value(), Style::Decimal, number)) {
            return std::move(*failed).inside(std::string_view(member.key()));
        }
        into[wire::safe_excerpt(member.key(), kMostText)] = number;
    }
    return std::nullopt;
}
template <Struct T>
Outcome read_merged(const object& from, T& into) {
    return read_fields(from, into, Unknown::Ignored); // the owner of the object checks its names
}

template <typename T>
Outcome read_field(const object& from, std::string_view name, Style style, T& into,
                   Unknown unknown) {
    const auto* found = from.if_contains(name);
    if (found == nullptr) return ReadError{.path = std::string(name), .text = "is missing"};
    auto failed = read(*found, into, style, unknown);
    if (failed) return std::move(*failed).inside(name);
    return std::nullopt;
}
template <typename T>
Outcome read_field(const object& from, std::string_view name, Style style, std::optional<T>& into,
                   Unknown unknown) {
    into.reset();
    if (!from.contains(name)) return std::nullopt;
    return read_field(from, name, style, into.emplace(), unknown);
}

// Whether a struct has a field of this name, merged ones included.
template <Struct T>
bool has_field(std::string_view name);

template <typename Owner, typename Member>
bool is_named(const Field<Owner, Member>& field, std::string_view name) {
    return field.name == name;
}
template <typename Owner, typename Member>
bool is_named(const Merged<Owner, Member>& /*field*/, std::string_view name) {
    if constexpr (Struct<Member>)
        return has_field<Member>(name);
    else
        return true; // a map accepts every name
}

template <Struct T>
bool has_field(std::string_view name) {
    return std::apply([&](const auto&... field) { return (is_named(field, name) || ...); },
                      fields_of(Of<T>{}));
}

template <typename T, typename Owner, typename Member>
Outcome read_one(const object& from, T& into, const Field<Owner, Member>& field, Unknown unknown) {
    return read_field(from, field.name, field.style, into.*field.member, unknown);
}
template <typename T, typename Owner, typename Member>
Outcome read_one(const object& from, T& into, const Merged<Owner, Member>& field,
                 Unknown /*unknown*/) {
    return read_merged(from, into.*field.member);
}

template <Struct T>
Outcome read_fields(const object& from, T& into, Unknown unknown) {
    if (unknown == Unknown::Refused) {
        for (const auto& member : from) {
            if (has_field<T>(member.key())) continue;
            return ReadError{.path = std::string(member.key()), .text = "is not a known field"};
        }
    }
    Outcome failed;
    const auto fails = [&](const auto& field) {
        failed = read_one(from, into, field, unknown);
        return failed.has_value();
    };
    std::apply([&](const auto&... field) { static_cast<void>((fails(field) || ...)); },
               fields_of(Of<T>{}));
    return failed;
}

} // namespace veriroce::dut::json
