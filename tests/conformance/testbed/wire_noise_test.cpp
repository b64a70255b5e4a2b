// The bad wire of the virtual testbed.
#include "conformance/testbed/wire_noise.hpp"

#include <catch2/catch.hpp>

#include <bit>

namespace veriroce::testbed::test {

TEST_CASE("wire noise: shares are read, and wrong ones are told", "[testbed]") {
    CHECK(parse_noise("loss=0.2%") == WireNoise{.loss = 0.002});
    CHECK(parse_noise("loss=1%,duplicate=2%,reorder=3%,corrupt=4%") ==
          WireNoise{.loss = 0.01, .duplicate = 0.02, .reorder = 0.03, .corrupt = 0.04});
    CHECK(parse_noise("los=1%").error() == "unknown kind of noise 'los'; did you mean 'loss'?");
    for (const auto* text : {"loss=1", "loss=%", "loss=-1%", "loss=101%", "loss=nan%", "loss"})
        CHECK(parse_noise(text).error().starts_with("loss: expected a share such as 0.2%, got '"));
    CHECK(parse_noise("").error() == "expected a share above 0, such as loss=0.2%");
    CHECK_FALSE(parse_noise("loss=0%").has_value());
}

TEST_CASE("wire noise: each kind does what it says, to its share of the packets", "[testbed]") {
    const std::vector<std::byte> frame(100);
    constexpr int frames = 10'000;
    struct Seen {
        int none = 0;
        int twice = 0;
        int late = 0;
        int changed = 0;
    };
    const auto seen = [&](const WireNoise& noise, std::uint64_t seed) {
        NoisyWire wire(noise, seed);
        Seen all;
        for (int i = 0; i < frames; ++i) {
            const auto arriving = wire.pass(frame);
            if (arriving.empty()) ++all.none;
            if (arriving.size() == 2) ++all.twice;
            if (arriving.empty()) continue;
            if (arriving.front().delay > wire::Duration(0)) ++all.late;
            CHECK(arriving.back().delay <= 2 * kMostNoiseDelay);
            if (arriving.front().frame == frame) continue;
            ++all.changed;
            std::size_t bits = 0;
            for (std::size_t at = 0; at < frame.size(); ++at) {
                bits += static_cast<std::size_t>(
                    std::popcount(std::to_integer<unsigned>(arriving.front().frame[at])));
            }
            CHECK(bits == 1);
            CHECK(std::equal(frame.begin(), frame.begin() + 34, arriving.front().frame.begin()));
        }
        return all;
    };
    for (const std::uint64_t seed : {1U, 2U}) {
        const Seen lost = seen({.loss = 0.03}, seed);
        CHECK(lost.none == Approx(300).margin(70));
        CHECK(lost.twice + lost.late + lost.changed == 0);
        CHECK(seen({.duplicate = 0.01}, seed).twice == Approx(100).margin(40));
        CHECK(seen({.reorder = 0.01}, seed).late == Approx(100).margin(40));
        CHECK(seen({.corrupt = 0.01}, seed).changed == Approx(100).margin(40));
    }
    CHECK(seen({.loss = 0.03}, 1).none != seen({.loss = 0.03}, 2).none);
}

} // namespace veriroce::testbed::test
