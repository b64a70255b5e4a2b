// Lists of named checks: one row per check, in the order in which the engine calls them.
//
// Each list has a header of its own (packet_checks.hpp, request_checks.hpp ...) with its enum, its
// functions and its rows; `rows_of(check)` finds the rows of an enum. Everything else about a check
// follows from its row: its name, its rules, its function, how many there are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace veriroce::engine {

// Checks that the engine treats alike beyond their verdicts.
enum class CheckGroup : std::uint8_t {
    None,
    Key,  // of the key of a request: one choice calls them earlier (KEY-10), a repeated READ again
    Path, // of the path on which a packet came: where it fails, so does a migration
};

template <typename Check, typename Function>
struct CheckRow {
    Check check{};
    std::string_view name;        // lower case with hyphens, unique in its list: "key-range"
    std::string_view rules;       // that the check enforces: "KEY-05, KEY-06"
    Function* function = nullptr; // pure: the same view gives the same verdict
    CheckGroup group = CheckGroup::None;
};

// Whether row i describes enumerator i.
template <typename Rows>
constexpr bool in_order(const Rows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (static_cast<std::size_t>(rows[i].check) != i) return false;
    }
    return true;
}

// An enum whose enumerators are the checks of a list.
template <typename Check>
concept CheckEnum = requires(Check check) { rows_of(check).size(); };

template <CheckEnum Check>
using FunctionOf = std::remove_cvref_t<decltype(rows_of(Check{})[0].function)>;

template <CheckEnum Check>
inline constexpr std::size_t kChecksOf = rows_of(Check{}).size();

template <CheckEnum Check>
constexpr std::string_view name_of(Check check) {
    return rows_of(check)[static_cast<std::size_t>(check)].name;
}
template <CheckEnum Check>
constexpr std::string_view rules_of(Check check) {
    return rows_of(check)[static_cast<std::size_t>(check)].rules;
}

template <CheckEnum Check>
constexpr CheckGroup group_of(Check check) {
    return rows_of(check)[static_cast<std::size_t>(check)].group;
}

// The functions of a list by enumerator: the standard ones, unless an entry is replaced.
template <CheckEnum Check>
struct CheckList {
    std::array<FunctionOf<Check>, kChecksOf<Check>> functions = [] {
        std::array<FunctionOf<Check>, kChecksOf<Check>> standard{};
        for (std::size_t i = 0; i < standard.size(); ++i)
            standard[i] = rows_of(Check{})[i].function;
        return standard;
    }();

    friend constexpr bool operator==(const CheckList&, const CheckList&) = default;
};

} // namespace veriroce::engine
