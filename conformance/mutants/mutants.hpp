// Planted defects: devices that break one rule each, made of the built-in engine by a replaced
// check or by a filter on its surface. The suite is tested with them: it must fail each of them,
// and must pass the lawful oddities.
//
//   const auto& mutant = mutants::find("tver_not_checked")->get();
//   engine::Engine engine({.behaviour = mutant.behaviour}, mutant.checks);
//   auto filter = mutant.make_filter ? mutant.make_filter() : nullptr;
//
// A filter plays one device: make a new one for each device, and tell it of the QPs (qp_changed).
// The same packets and times give the same behaviour.
//
// Source: the rules; each defect breaks one and uses no lawful alternative.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/engine/behaviour.hpp"
#include "transport/engine/checks.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

struct Mutant {
    std::string_view name; // snake_case, unique among all and lawful ones together
    std::string_view rule; // the rule that is broken; of an oddity, the rule that allows it
    std::string_view level = "MUST"; // of what is broken; stated for the defects written blind
    // Whether the packets at the device's port prove it in ordinary traffic over a network that
    // loses, corrupts and repeats. If not, a tester must send what no correct peer sends, or look
    // at completions, memory or configuration. Nothing: it is planted in no ordinary traffic.
    std::optional<bool> passive;
    std::string_view description;
    // Ids of cases that catch it, separated by spaces: a line of the case or a check of the model
    // fails. For an oddity none.
    std::string_view cases;
    // The same, but every line of the case passes: the judge alone sees the defect in the packets.
    std::string_view judge_cases;
    // What a tester must know about the device: words of `unless`, separated by spaces, and the
    // least code of its ACK timer (conformance/profiles).
    std::string_view traits;
    std::uint8_t ack_timer_floor = 0;
    std::string_view lacks; // what the device does not have, as `--dut-lacks` takes it
    engine::Checks checks = engine::kStandardChecks;
    engine::Behaviour behaviour{};
    std::unique_ptr<engine::SurfaceFilter> (*make_filter)() = nullptr; // null: no filter
};

// Every planted defect: by rule group, then the missing checks.
std::span<const Mutant> all();

// Those of them that are the engine without one of its checks: "without_key_range".
std::span<const Mutant> missing_checks();

// Defects that were written without a look at the cases and what they catch: samples by which
// the suite is measured, in their order. They are not among all(); only cases that were
// written because of them are named.
const std::vector<std::vector<Mutant>>& blind_samples();
std::span<const Mutant> blind(std::size_t sample); // counted from 1

// Devices that behave oddly and lawfully: no case and no judgement may fail on them.
std::span<const Mutant> lawful();

// all(), the blind samples and lawful().
std::vector<std::span<const Mutant>> every_list();
// Looks in every list.
std::optional<std::reference_wrapper<const Mutant>> find(std::string_view name);

// Its traits as a list.
std::vector<std::string> traits_of(const Mutant& mutant);

// A case, and a planted defect that it must catch.
struct Caught {
    std::string_view case_id;
    std::string_view mutant;
    bool judge_alone = false;
};

// Every such pair that the defect names; that the defects of every list name, in their order.
std::vector<Caught> caught_by_cases(const Mutant& mutant);
std::vector<Caught> caught_by_cases();

} // namespace veriroce::mutants
