// Things made ahead by several threads come in order, each once; what is not wanted ends.
#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

#include "conformance/plan/ahead.hpp"
#include "conformance/plan/play.hpp"

namespace veriroce::plan {

TEST_CASE("ahead: things come in the order of their numbers", "[ahead]") {
    for (const unsigned threads : {1U, 2U, 5U}) {
        std::atomic<std::size_t> made = 0;
        Ahead<std::string> ahead(threads, 500, [&](std::size_t number) {
            // The even ones take longer.
            volatile std::size_t work = number % 2 == 0 ? 20'000 : 0;
            while (work > 0)
                work = work - 1;
            ++made;
            return std::to_string(number);
        });
        for (std::size_t i = 0; i < 500; ++i)
            REQUIRE(ahead.take() == std::to_string(i));
        CHECK(made == 500);
    }
}

TEST_CASE("ahead: no more is made than may wait, and the rest is not made", "[ahead]") {
    std::atomic<std::size_t> made = 0;
    {
        Ahead<std::size_t> ahead(3, 1'000'000, [&](std::size_t number) {
            ++made;
            return number;
        });
        CHECK(ahead.take() == 0);
        CHECK(ahead.take() == 1);
    }
    CHECK(made >= 2);
    CHECK(made < 100);
}

TEST_CASE("ahead: nothing to make", "[ahead]") {
    const Ahead<int> none(4, 0, [](std::size_t) -> int { throw std::logic_error("asked for"); });
    SUCCEED("it ended");
}

TEST_CASE("ahead: an exception comes out where its thing would", "[ahead]") {
    for (const unsigned threads : {1U, 3U}) {
        Ahead<std::size_t> ahead(threads, 10, [](std::size_t number) {
            if (number == 4) throw std::runtime_error("the fifth");
            return number;
        });
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(ahead.take() == i);
        CHECK_THROWS_WITH(ahead.take(), "the fifth");
        if (threads > 1) CHECK(ahead.take() == 5);
    }
}

TEST_CASE("tester's QPNs: those of a run are those that it would get behind the others",
          "[ahead]") {
    for (const std::uint32_t first : {TesterQpns::kFirst, TesterQpns::kFirst + 0x100 * 0x7FFE}) {
        TesterQpns one_by_one(first);
        for (std::size_t i = 0; i < 50'000; ++i) {
            TesterQpns at_once = TesterQpns::after(first, i);
            REQUIRE(at_once.next() == one_by_one.next());
        }
    }
}

} // namespace veriroce::plan
