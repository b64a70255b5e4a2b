#include "dissector/wire/duration_text.hpp"

#include <catch2/catch.hpp>

namespace veriroce::wire::test {

using namespace std::chrono_literals;

TEST_CASE("duration: the unit is the largest, and no decimal is needless", "[wire]") {
    CHECK(short_time(1s) == "1 s");
    CHECK(short_time(1500us) == "1.5 ms");
    CHECK(short_time(67108ns) == "67.108 us");
    CHECK(short_time(100s) == "100 s");
    CHECK(short_time(1'001'000'001ns) == "1.001 s");
    CHECK(short_time(2'050ns) == "2.05 us");
    CHECK(short_time(7ns) == "7 ns");
    CHECK(short_time(0ns) == "0 ns");
}

} // namespace veriroce::wire::test
