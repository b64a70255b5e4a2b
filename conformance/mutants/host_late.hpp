// A host that sees late what its device has done: completions, memory, events; with
// `RefusesInError` it also takes no posts to a QP in ERR. Inside the room only.
#pragma once

#include <chrono>

#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

// ACK-05: an ACK promises no visibility, and nothing says how soon a completion comes.
template <int CompletionUs, int MemoryUs, int EventUs, bool RefusesInError = false>
class HostLate final : public engine::SurfaceFilter {
  public:
    [[nodiscard]] wire::Duration completion_delay() const override {
        return std::chrono::microseconds(CompletionUs);
    }
    [[nodiscard]] wire::Duration memory_delay() const override {
        return std::chrono::microseconds(MemoryUs);
    }
    [[nodiscard]] wire::Duration event_delay() const override {
        return std::chrono::microseconds(EventUs);
    }
    [[nodiscard]] bool refuses_posts_in_error() const override { return RefusesInError; }
};

} // namespace veriroce::mutants
