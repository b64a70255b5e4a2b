// JSON names of enumerators and of sets of rights and flags, and what the reader and the writer of
// JSON values share. Only codec.cpp includes this.
#pragma once

#include <boost/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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
inline constexpr std::array<Bit<engine::Access>, 8> kAccessBits{{
    {"LOCAL_WRITE", &engine::Access::local_write},
    {"REMOTE_WRITE", &engine::Access::remote_write},
    {"REMOTE_READ", &engine::Access::remote_read},
    {"REMOTE_ATOMIC", &engine::Access::remote_atomic},
    {"MW_BIND", &engine::Access::mw_bind},
    {"ZERO_BASED", &engine::Access::zero_based},
    {"FLUSH_GLOBAL", &engine::Access::flush_global},
    {"FLUSH_PERSISTENT", &engine::Access::flush_persistent},
}};
inline constexpr std::array<Bit<Flags>, 4> kFlagBits{{
    {"SIGNALED", &Flags::signaled},
    {"SOLICITED", &Flags::solicited},
    {"FENCE", &Flags::fence},
    {"INLINE", &Flags::inline_data},
}};
constexpr const auto& bits_of(Of<engine::Access> /*of*/) {
    return kAccessBits;
}
constexpr const auto& bits_of(Of<Flags> /*of*/) {
    return kFlagBits;
}
template <typename T>
concept BitSet = requires { bits_of(Of<T>{}); };

inline constexpr std::array<std::pair<engine::Queue, std::string_view>, 2> kQueueNames{{
    {engine::Queue::Send, "send"},
    {engine::Queue::Receive, "recv"},
}};
inline constexpr std::array<std::pair<MigState, std::string_view>, 3> kMigNames{{
    {MigState::Migrated, "MIGRATED"},
    {MigState::Rearm, "REARM"},
    {MigState::Armed, "ARMED"},
}};

template <std::size_t N, typename Enum>
std::string_view named(const std::array<std::pair<Enum, std::string_view>, N>& rows, Enum value) {
    for (const auto& [known, name] : rows) {
        if (known == value) return name;
    }
    return {};
}
template <std::size_t N, typename Enum>
std::optional<Enum> by_name(const std::array<std::pair<Enum, std::string_view>, N>& rows,
                            std::string_view name) {
    for (const auto& [value, known] : rows) {
        if (known == name) return value;
    }
    return std::nullopt;
}

template <typename Enum>
std::string_view enum_name(Enum value) {
    if constexpr (std::is_same_v<Enum, engine::Queue>)
        return named(kQueueNames, value);
    else if constexpr (std::is_same_v<Enum, MigState>)
        return named(kMigNames, value);
    else
        return name_of(value);
}
template <typename Enum>
std::optional<Enum> enum_value(std::string_view name) {
    if constexpr (std::is_same_v<Enum, engine::Queue>)
        return by_name(kQueueNames, name);
    else if constexpr (std::is_same_v<Enum, MigState>)
        return by_name(kMigNames, name);
    else if constexpr (std::is_same_v<Enum, Pattern>)
        return pattern_by_name(name);
    else
        return engine::enum_by_name<Enum>(name);
}

} // namespace veriroce::dut::json
