// JSON names of the members of sets of rights and flags, and what the reader and the writer of JSON
// values share. Enumerators have the names of wire/verbs.hpp. Only codec.cpp includes this.
#pragma once

#include <boost/json.hpp>

#include <array>
#include <cstdint>
#include <string_view>

#include "conformance/dut/fields.hpp"

namespace veriroce::dut::json {

using boost::json::array;
using boost::json::object;
using boost::json::string;
using boost::json::value;

inline constexpr std::uint64_t kNumberLimit = std::uint64_t{1} << 53; // exclusive

template <typename T>
concept Struct = requires { fields_of(Of<T>{}); };

template <typename Set>
struct Bit {
    std::string_view name;
    bool Set::* member;
};
inline constexpr std::array<Bit<Flags>, 4> kFlagBits{{
    {"SIGNALED", &Flags::signaled},
    {"SOLICITED", &Flags::solicited},
    {"FENCE", &Flags::fence},
    {"INLINE", &Flags::inline_data},
}};
constexpr const auto& bits_of(Of<engine::Access> /*of*/) {
    return wire::kAccessRights;
}
constexpr const auto& bits_of(Of<Flags> /*of*/) {
    return kFlagBits;
}
template <typename T>
concept BitSet = requires { bits_of(Of<T>{}); };

} // namespace veriroce::dut::json
