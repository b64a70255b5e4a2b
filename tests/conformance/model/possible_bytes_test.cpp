// What a stretch of memory may hold while writes are under way.
#include "conformance/model/possible_bytes.hpp"

#include <catch2/catch.hpp>

namespace veriroce::model::test {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> all;
    for (const int value : values)
        all.push_back(static_cast<std::byte>(value));
    return all;
}

bool permits(const PossibleBytes& contents, std::initializer_list<int> values) {
    return contents.differences(0, bytes(values)).empty();
}

} // namespace

TEST_CASE("possible bytes: a write that nobody answered for is there or not, byte by byte",
          "[model]") {
    PossibleBytes contents(bytes({0, 0, 0, 0}));
    contents.may_hold({1, 10, 1}, 1, bytes({7, 8}));
    CHECK(permits(contents, {0, 0, 0, 0}));
    CHECK(permits(contents, {0, 7, 8, 0}));
    CHECK(permits(contents, {0, 7, 0, 0}));
    CHECK_FALSE(permits(contents, {7, 0, 0, 0}));
    CHECK_FALSE(permits(contents, {0, 8, 7, 0}));
    CHECK_FALSE(contents.certain());
    CHECK(contents.certain(3, 1));
    CHECK_FALSE(contents.certain(2, 1));
}

TEST_CASE("possible bytes: a settled write replaces what was there", "[model]") {
    PossibleBytes contents(bytes({0, 0, 0, 0}));
    contents.may_hold({1, 10, 1}, 1, bytes({7, 8}));
    contents.settle(1, {1, 2}, 2);
    CHECK(contents.certain());
    CHECK(permits(contents, {0, 7, 8, 0}));
    CHECK_FALSE(permits(contents, {0, 0, 0, 0}));
}

TEST_CASE("possible bytes: of two writes of one origin the later one wins", "[model]") {
    PossibleBytes contents(bytes({0, 0}));
    contents.may_hold({1, 10, 1}, 0, bytes({7, 7}));
    contents.may_hold({2, 10, 2}, 1, bytes({9}));
    contents.settle(2, {1, 1}, 3);
    contents.settle(1, {0, 2}, 4);
    CHECK(permits(contents, {7, 9}));
    CHECK_FALSE(permits(contents, {7, 7}));
    CHECK(contents.certain());
}

TEST_CASE("possible bytes: of two concurrent origins any may win", "[model]") {
    PossibleBytes contents(bytes({0}));
    contents.may_hold({1, 10, 1}, 0, bytes({7}));
    contents.may_hold({2, 20, 2}, 0, bytes({9}));
    contents.settle(1, {0, 1}, 3);
    contents.settle(2, {0, 1}, 4);
    CHECK(permits(contents, {7}));
    CHECK(permits(contents, {9}));
    CHECK_FALSE(permits(contents, {0}));
}

TEST_CASE("possible bytes: what was settled before a write began is replaced by it", "[model]") {
    PossibleBytes contents(bytes({0}));
    contents.may_hold({1, 10, 1}, 0, bytes({7}));
    contents.settle(1, {0, 1}, 2);
    contents.may_hold({2, 20, 3}, 0, bytes({9}));
    contents.settle(2, {0, 1}, 4);
    CHECK(permits(contents, {9}));
    CHECK_FALSE(permits(contents, {7}));
}

TEST_CASE("possible bytes: a retracted write leaves the old bytes", "[model]") {
    PossibleBytes contents(bytes({1, 2, 3}));
    contents.may_hold({1, 10, 1}, 0, bytes({7, 7, 7}));
    contents.retract(1, {0, 3});
    CHECK(contents.certain());
    CHECK(permits(contents, {1, 2, 3}));
    CHECK_FALSE(permits(contents, {7, 2, 3}));
}

TEST_CASE("possible bytes: a write that could leave anything is refined by what it left",
          "[model]") {
    PossibleBytes contents(bytes({1, 2, 3}));
    contents.may_hold_anything({1, 10, 1}, 1, 1);
    CHECK(permits(contents, {1, 99, 3}));
    CHECK_FALSE(permits(contents, {1, 99, 4}));
    contents.refine(1, 1, bytes({5}));
    contents.settle(1, {1, 1}, 2);
    CHECK(permits(contents, {1, 5, 3}));
    CHECK_FALSE(permits(contents, {1, 99, 3}));
}

TEST_CASE("possible bytes: the same packet again adds no candidate", "[model]") {
    PossibleBytes contents(bytes({0}));
    for (int i = 0; i < 100; ++i)
        contents.may_hold({1, 10, 1}, 0, bytes({7}));
    CHECK_FALSE(permits(contents, {5}));
    CHECK(contents.text(0) == "00|07");
}

TEST_CASE("possible bytes: more writes than are kept leave the byte open", "[model]") {
    PossibleBytes contents(bytes({0}));
    for (std::uint64_t i = 1; i <= PossibleBytes::kMostCandidates + 1; ++i)
        contents.may_hold({i, i, i}, 0, bytes({static_cast<int>(i)}));
    CHECK(permits(contents, {200}));
}

TEST_CASE("possible bytes: a write that comes again stays before those behind it", "[model]") {
    constexpr std::uint64_t last = PossibleBytes::kMostCandidates + 3;
    PossibleBytes contents(bytes({0}));
    for (std::uint64_t id = 1; id <= last; ++id)
        contents.may_hold({id, 10, id}, 0, bytes({static_cast<int>(id)}));
    contents.may_hold({1, 10, last + 1}, 0, bytes({1}));
    for (std::uint64_t id = 1; id <= last; ++id)
        contents.settle(id, {0, 1}, last + 1 + id);
    CHECK(permits(contents, {static_cast<int>(last)}));
    CHECK_FALSE(permits(contents, {1}));
}

TEST_CASE("possible bytes: many writes of one origin leave those of others possible", "[model]") {
    constexpr std::uint64_t last = PossibleBytes::kMostCandidates + 5;
    PossibleBytes contents(bytes({0}));
    contents.may_hold({1, 10, 1}, 0, bytes({99}));
    for (std::uint64_t id = 2; id <= last; ++id)
        contents.may_hold({id, 20, id}, 0, bytes({static_cast<int>(id)}));
    for (std::uint64_t id = 2; id <= last; ++id)
        contents.settle(id, {0, 1}, last + id);
    contents.may_hold({1, 10, 1}, 0, bytes({99})); // it comes again, and its answer after that
    contents.settle(1, {0, 1}, 3 * last);
    CHECK(permits(contents, {static_cast<int>(last)}));
    CHECK(permits(contents, {99}));
    CHECK_FALSE(permits(contents, {0}));
}

TEST_CASE("possible bytes: what is beyond the end is cut off", "[model]") {
    PossibleBytes contents(bytes({1, 2}));
    contents.may_hold({1, 10, 1}, 1, bytes({7, 8, 9}));
    contents.settle(1, {1, 3}, 2);
    CHECK(permits(contents, {1, 7}));
    contents.may_hold({2, 10, 3}, 5, bytes({7}));
    CHECK(contents.certain());
}

TEST_CASE("possible bytes: a slice holds what the range may hold", "[model]") {
    PossibleBytes contents(bytes({1, 2, 3, 4}));
    contents.may_hold({1, 10, 1}, 1, bytes({7, 8}));
    const PossibleBytes slice = contents.slice(2, 2);
    CHECK(slice.size() == 2);
    CHECK(permits(slice, {3, 4}));
    CHECK(permits(slice, {8, 4}));
    CHECK_FALSE(permits(slice, {7, 4}));
}

TEST_CASE("possible bytes: many bytes differ where each of them differs by itself", "[model]") {
    constexpr std::uint64_t kSize = 6;
    PossibleBytes contents(bytes({0, 0, 0, 0, 0, 0}));
    contents.may_hold({1, 10, 1}, 1, bytes({1, 2}));
    contents.may_hold({2, 10, 2}, 4, bytes({1}));
    const std::vector<std::byte> values = bytes({0, 1, 2, 3});
    for (std::size_t code = 0; code < std::size_t{1} << (2 * kSize); ++code) {
        std::vector<std::byte> actual;
        for (std::uint64_t at = 0; at < kSize; ++at)
            actual.push_back(values[code >> (2 * at) & 3]);
        for (std::uint64_t from = 0; from < kSize; ++from) {
            const wire::Bytes rest = wire::Bytes(actual).subspan(from);
            std::vector<bool> wrong(kSize);
            for (const ByteRange& range : contents.differences(from, rest)) {
                for (std::uint64_t i = 0; i < range.length; ++i)
                    wrong[range.offset + i] = true;
            }
            for (std::uint64_t at = from; at < kSize; ++at) {
                const bool alone = contents.differences(at, rest.subspan(at - from, 1)).empty();
                if (wrong[at] == alone) FAIL_CHECK("actual " << code << " from " << from);
            }
        }
    }
    CHECK(contents.differences(0, bytes({3, 3, 3, 3, 3, 3})) ==
          std::vector<ByteRange>{ByteRange{0, kSize}});
}

} // namespace veriroce::model::test
