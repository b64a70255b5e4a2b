// Planted defects: devices that break one rule each, made of the right engine by a replaced check
// or by a filter on its surface. Whoever tests the suite runs it against each of them: the suite
// must fail them, and must pass the lawful oddities.
//
//   const auto& mutant = mutants::find("tver_not_checked")->get();
//   engine::Engine engine({.behaviour = mutant.behaviour}, mutant.checks);
//   auto filter = mutant.make_filter ? mutant.make_filter() : nullptr;
//
// A filter plays one device: it is made anew for each, and must be told of the QPs (qp_changed).
// The same packets and times give the same behaviour.
//
// Source: the rules; each mutant breaks a MUST and uses no lawful alternative. None was written
// with a case in view.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "transport/engine/behaviour.hpp"
#include "transport/engine/checks.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

struct Mutant {
    std::string_view name; // snake_case, unique among all and lawful ones together
    std::string_view rule; // the rule that is broken; of an oddity, the rule that allows it
    // Whether the packets at the device's port prove it in ordinary traffic over a network that
    // loses, corrupts and repeats. If not, a tester must send what no correct peer sends, or look
    // at completions, memory or configuration.
    bool passive = false;
    std::string_view description;
    engine::Checks checks = engine::kStandardChecks;
    engine::Behaviour behaviour{};
    std::unique_ptr<engine::SurfaceFilter> (*make_filter)() = nullptr; // null: no filter
};

// Every planted defect, by rule group.
std::span<const Mutant> all();

// Devices that behave oddly and lawfully: no case and no judgement may fail on them.
std::span<const Mutant> lawful();

// Looks in both.
std::optional<std::reference_wrapper<const Mutant>> find(std::string_view name);

} // namespace veriroce::mutants
