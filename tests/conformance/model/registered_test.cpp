// What registered memory may hold while a write is under way.
#include <catch2/catch.hpp>

#include <array>

#include "conformance/model/registered.hpp"

namespace veriroce::model::tests {

using namespace std::chrono_literals;

TEST_CASE("registered: a write may be done at once, and is done when its time has come",
          "[model][EXT-06]") {
    constexpr std::array<std::byte, 4> zeros{};
    constexpr std::array fresh{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    Registered memory;
    Region& region = memory.add({.length = zeros.size()}, {});
    const Write write{.id = 1, .origin = 1, .made = 1};
    region.may_hold(write, 0, fresh, wire::Instant{});
    memory.settle_at(wire::Instant(10ms), region, {0, fresh.size()}, write);
    memory.advance(wire::Instant(9ms), 2);
    CHECK(region.contents.differences(0, zeros).empty());
    CHECK(region.contents.differences(0, fresh).empty());
    memory.advance(wire::Instant(10ms), 3);
    CHECK_FALSE(region.contents.differences(0, zeros).empty());
    CHECK(region.contents.differences(0, fresh).empty());
}

} // namespace veriroce::model::tests
