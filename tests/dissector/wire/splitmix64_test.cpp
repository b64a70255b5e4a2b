#include <catch2/catch.hpp>

#include "dissector/wire/splitmix64.hpp"

namespace veriroce::wire {
namespace {

TEST_CASE("splitmix64: gives the published numbers", "[wire]") {
    std::uint64_t state = 1234567;
    CHECK(splitmix64(state) == 6457827717110365317U);
    CHECK(splitmix64(state) == 3203168211198807973U);
    CHECK(splitmix64(state) == 9817491932198370423U);
    std::uint64_t zero = 0;
    CHECK(splitmix64(zero) == 0xE220A8397B1DCDAF);
}

} // namespace
} // namespace veriroce::wire
