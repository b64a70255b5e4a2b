// One device with several lawful oddities at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/mutants/filter_chain.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {

// What both change of the standard value; nothing if both change the same member. `Word` is as wide
// as no member that they could change in part.
template <typename Word, typename Value>
std::optional<Value> merged(const Value& standard, const Value& one, const Value& other) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(Word) == 0);
    using Words = std::array<Word, sizeof(Value) / sizeof(Word)>;
    const auto before = std::bit_cast<Words>(standard);
    const auto first = std::bit_cast<Words>(one);
    auto both = std::bit_cast<Words>(other);
    for (std::size_t i = 0; i < both.size(); ++i) {
        if (first[i] == before[i]) continue;
        if (both[i] != before[i]) return std::nullopt;
        both[i] = first[i];
    }
    return std::bit_cast<Value>(both);
}

// A device with all of these oddities; nothing if two of them make the same choice.
inline std::optional<VirtualTestbedOptions>
combination_of(const std::vector<mutants::Mutant>& oddities) {
    static constexpr mutants::Mutant right{};
    VirtualTestbedOptions device = engine_of(right);
    for (const mutants::Mutant& oddity : oddities) {
        const auto behaviour =
            merged<unsigned char>(right.behaviour, device.engine.behaviour, oddity.behaviour);
        const auto checks = merged<std::uintptr_t>(right.checks, device.checks, oddity.checks);
        if (!behaviour || !checks) return std::nullopt;
        device.engine.behaviour = *behaviour;
        device.checks = *checks;
        std::ranges::copy(mutants::traits_of(oddity), std::back_inserter(device.traits));
        device.ack_timer_floor = std::max(device.ack_timer_floor, oddity.ack_timer_floor);
        device.lacks.add(engine_of(oddity).lacks);
    }
    device.filter = [oddities]() -> std::unique_ptr<engine::SurfaceFilter> {
        auto chain = std::make_unique<mutants::FilterChain>();
        for (const mutants::Mutant& oddity : oddities) {
            if (oddity.make_filter != nullptr) chain->add(oddity.make_filter());
        }
        return chain;
    };
    return device;
}

} // namespace veriroce::test
