// Suggestions for mistyped words.
#include "conformance/rules/nearest.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

namespace {

using veriroce::rules::edit_distance;
using veriroce::rules::longest_word;
using veriroce::rules::nearest_word;

constexpr std::array<std::string_view, 4> fields{"psn", "ack_req", "opcode", "dest_qp"};
static_assert(nearest_word("opocde", fields) == "opcode");

} // namespace

TEST_CASE("nearest: distance counts letters put in, left out, replaced and swapped", "[rules]") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("", "psn") == 3);
    CHECK(edit_distance("psn", "") == 3);
    CHECK(edit_distance("psn", "psn") == 0);
    CHECK(edit_distance("pn", "psn") == 1);
    CHECK(edit_distance("pssn", "psn") == 1);
    CHECK(edit_distance("pxn", "psn") == 1);
    CHECK(edit_distance("spn", "psn") == 1);
    CHECK(edit_distance("PSN", "psn") == 0);
    CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("nearest: the closest word wins, the first of equals", "[rules]") {
    CHECK(nearest_word("ack_reqest", fields) == "ack_req");
    CHECK(nearest_word("psm", fields) == "psn");
    const std::vector<std::string> equals{"ab1", "ab2"};
    CHECK(nearest_word("ab3", equals) == "ab1");
}

TEST_CASE("nearest: a word unlike all others has no neighbour", "[rules]") {
    CHECK_FALSE(nearest_word("hop_limit", fields).has_value());
    CHECK_FALSE(nearest_word("", fields).has_value());
    CHECK_FALSE(nearest_word("psn", std::vector<std::string>{}).has_value());
}

TEST_CASE("nearest: overlong words are passed over", "[rules]") {
    const std::string longest(longest_word, 'x');
    const std::vector<std::string> words{longest + "x", longest};
    CHECK(nearest_word(longest, words) == longest);
    CHECK_FALSE(nearest_word(longest + "x", words).has_value());
}
