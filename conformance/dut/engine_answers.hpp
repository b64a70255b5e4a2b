// Shared by the parts of the engine device: handles, and refusals of the engine as answers.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "conformance/dut/executor.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::dut {

// A handle is the engine's own number for the object.
template <typename Id, typename Handle>
Id id_of(Handle handle) {
    return Id{static_cast<std::uint32_t>(handle.value)};
}
template <typename Handle, typename Id>
Handle handle_of(Id id) {
    return Handle{id.value};
}

inline Failure refused_by_engine(std::string_view verb, engine::VerbError error) {
    return refused(verb, std::string(engine::name_of(error)),
                   "the engine refused " + std::string(verb));
}

inline Answer done_or(std::string_view verb, const std::expected<void, engine::VerbError>& result) {
    if (!result) return std::unexpected(refused_by_engine(verb, result.error()));
    return Done{};
}

inline Answer posted_or(std::string_view verb, const engine::Engine::Posted& result) {
    const auto posted = static_cast<std::uint32_t>(result.posted);
    if (!result.refused) return Posted{.posted = posted};
    auto failure = refused_by_engine(verb, *result.refused);
    failure.posted = posted;
    return std::unexpected(std::move(failure));
}

CongestionSettings settings_of(const engine::Congestion& congestion);

} // namespace veriroce::dut
