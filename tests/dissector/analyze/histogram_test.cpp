#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "dissector/analyze/histogram.hpp"
#include "dissector/analyze/time_series.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::analyze::test {

TEST_CASE("histogram: quantiles are those of the sorted numbers, 3.2 percent off at most",
          "[analyze]") {
    std::uint64_t random = 7;
    Histogram histogram;
    Histogram halves;
    Histogram other;
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < 5000; ++i) {
        const std::uint64_t bits = 20 + wire::splitmix64(random) % 44;
        const std::uint64_t number = wire::splitmix64(random) >> bits;
        numbers.push_back(number);
        histogram.add(number);
        (i % 2 == 0 ? halves : other).add(number);
    }
    halves.add(other);
    std::ranges::sort(numbers);
    CHECK(histogram.count() == numbers.size());
    CHECK(histogram.least() == numbers.front());
    CHECK(histogram.most() == numbers.back());
    for (const double part : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(part * 5000.0));
        const auto exact = static_cast<double>(numbers[rank == 0 ? 0 : rank - 1]);
        INFO(part << ": " << exact);
        CHECK(static_cast<double>(histogram.quantile(part)) <= exact * 1.032);
        CHECK(static_cast<double>(histogram.quantile(part)) >= exact * 0.968);
        CHECK(halves.quantile(part) == histogram.quantile(part));
    }
}

TEST_CASE("histogram: lengths that are powers of two are told exactly", "[analyze]") {
    Histogram sizes;
    for (const std::uint64_t size : {64U, 4096U, 4096U, 65'536U, 1'048'576U})
        sizes.add(size);
    CHECK(sizes.low_quantile(0.5) == 4096);
    CHECK(sizes.low_quantile(0.8) == 65'536);
    CHECK(sizes.sum() == 64 + 2 * 4096 + 65'536 + 1'048'576);
    const Histogram empty;
    CHECK(empty.quantile(0.5) == 0);
    CHECK(empty.least() == 0);
}

TEST_CASE("time series: parts double when the time does not fit, and nothing is lost",
          "[analyze]") {
    TimeSeries series;
    std::uint64_t sum = 0;
    for (std::int64_t ns = 0; ns < 1'000'000; ns += 100) {
        series.add(wire::Instant(wire::Duration(5'000'000 + ns)), 3);
        sum += 3;
    }
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < series.size(); ++i)
        found += series[i];
    CHECK(found == sum);
    CHECK(series.part() == wire::Duration(1024 * 32));
    CHECK(series.size() == (999'900 / (1024 * 32)) + 1);
    CHECK(series.begin() == wire::Instant(wire::Duration(5'000'000)));
    CHECK(series[0] == 3 * 328); // 0 to 32,700 ns
}

} // namespace veriroce::analyze::test
