// The engine's check lists: every judgement that the engine passes on a packet, as ordered lists of
// small pure functions. A planted defect is a list with one entry replaced
// (`kStandardChecks.with(RequestCheck::KeyRange, f)`); the engine has no branch for defects.
//
// Source: the rules named in each check's row.
#pragma once

#include "transport/engine/datagram_checks.hpp"
#include "transport/engine/duplicate_checks.hpp"
#include "transport/engine/packet_checks.hpp"
#include "transport/engine/request_checks.hpp"
#include "transport/engine/response_checks.hpp"
#include "transport/engine/send_checks.hpp"

namespace veriroce::engine {

struct Checks : CheckList<PacketCheck>,
                CheckList<RequestCheck>,
                CheckList<DuplicateCheck>,
                CheckList<DatagramCheck>,
                CheckList<ResponseCheck>,
                CheckList<SendCheck> {
    friend constexpr bool operator==(const Checks&, const Checks&) = default;

    template <CheckEnum Check>
    [[nodiscard]] constexpr const CheckList<Check>& of() const {
        return *this;
    }
    template <CheckEnum Check>
    [[nodiscard]] constexpr FunctionOf<Check> function(Check check) const {
        return of<Check>().functions[static_cast<std::size_t>(check)];
    }

    // These lists with one entry replaced.
    template <CheckEnum Check>
    [[nodiscard]] constexpr Checks with(Check check, FunctionOf<Check> replacement) const {
        Checks other = *this;
        static_cast<CheckList<Check>&>(other).functions[static_cast<std::size_t>(check)] =
            replacement;
        return other;
    }
};

inline constexpr Checks kStandardChecks;

} // namespace veriroce::engine
