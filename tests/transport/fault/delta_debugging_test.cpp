#include <numeric>

#include <catch2/catch.hpp>

#include "transport/fault/delta_debugging.hpp"

namespace veriroce::fault {
namespace {

using Numbers = std::vector<int>;

Numbers one_to(int last) {
    Numbers numbers(static_cast<std::size_t>(last));
    std::iota(numbers.begin(), numbers.end(), 1);
    return numbers;
}

bool has(const Numbers& numbers, int wanted) {
    return std::ranges::find(numbers, wanted) != numbers.end();
}

TEST_CASE("delta debugging: keeps only the items that the failure needs", "[fault]") {
    const auto needs = [](const Numbers& wanted) {
        return [wanted](const Numbers& rest) {
            return std::ranges::all_of(wanted, [&](int one) { return has(rest, one); });
        };
    };
    CHECK(reduce_to_failure(one_to(100), needs({7})) == Numbers{7});
    CHECK(reduce_to_failure(one_to(100), needs({1, 50, 51, 100})) == Numbers{1, 50, 51, 100});
    CHECK(reduce_to_failure(one_to(3), needs({1, 2, 3})) == Numbers{1, 2, 3});
    CHECK(reduce_to_failure(one_to(9), needs({})).empty());
    CHECK(reduce_to_failure(Numbers{}, needs({})).empty());
}

TEST_CASE("delta debugging: large pieces go first, so few attempts are made", "[fault]") {
    int attempts = 0;
    const Numbers left = reduce_to_failure(one_to(1024), [&](const Numbers& rest) {
        ++attempts;
        return has(rest, 1000);
    });
    CHECK(left == Numbers{1000});
    CHECK(attempts <= 2 * 10);
}

TEST_CASE("delta debugging: without a budget nothing is removed", "[fault]") {
    CHECK(reduce_to_failure(one_to(5), [](const Numbers&) { return false; }) == one_to(5));
}

} // namespace
} // namespace veriroce::fault
