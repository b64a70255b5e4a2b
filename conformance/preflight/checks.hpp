// What must be right before a run: judges facts about the tester's interface, its host and the
// device. Pure: the same facts give the same results.
//
// Source: conformance/preflight/README.md, which says why each check is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/preflight/facts.hpp"

namespace veriroce::preflight {

enum class Grade : std::uint8_t {
    Ok,
    Warning, // runs work, but some cases cannot be judged, or the network may disturb them
    Must,    // without a remedy no case can be played, or its verdict means nothing
};
std::string_view name_of(Grade grade);

struct CheckResult {
    Grade grade = Grade::Ok;
    std::string_view where;   // "tester", "DUT", "network"
    std::string_view subject; // "link", "GRO", "ARP"
    std::string text;         // a sentence without full stop
    std::string remedy;       // a command, or what to do; empty if nothing must or can be done

    friend bool operator==(const CheckResult&, const CheckResult&) = default;
};

// In the order in which a user mends them.
std::vector<CheckResult> check(const Facts& facts);

// "warning: tester, MTU: 1500 is too small ...; remedy: ip link set eth1 mtu 4200".
std::string note_of(const CheckResult& result);
// "tester   must     carrier       eth1 has no carrier", and the remedy on a line of its own.
std::string line_of(const CheckResult& result);

} // namespace veriroce::preflight
