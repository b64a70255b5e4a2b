// Suggestions for mistyped words.
#include "dissector/wire/nearest_word.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

namespace {

using veriroce::wire::edit_distance;
using veriroce::wire::kLongestWord;
using veriroce::wire::nearest_word;

constexpr std::array<std::string_view, 4> fields{"psn", "ack_req", "opcode", "dest_qp"};
static_assert(nearest_word("opocde", fields) == "opcode");

} // namespace

TEST_CASE("nearest: distance counts letters inserted, deleted, replaced and swapped", "[wire]") {
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

TEST_CASE("nearest: the closest word wins, the first of equals", "[wire]") {
    CHECK(nearest_word("ack_reqest", fields) == "ack_req");
    CHECK(nearest_word("psm", fields) == "psn");
    const std::vector<std::string> equals{"ab1", "ab2"};
    CHECK(nearest_word("ab3", equals) == "ab1");
}

TEST_CASE("nearest: a word unlike all others has no suggestion", "[wire]") {
    CHECK_FALSE(nearest_word("hop_limit", fields).has_value());
    CHECK_FALSE(nearest_word("", fields).has_value());
    CHECK_FALSE(nearest_word("psn", std::vector<std::string>{}).has_value());
}

TEST_CASE("nearest: words above the bound are ignored", "[wire]") {
    const std::string longest(kLongestWord, 'x');
    const std::vector<std::string> words{longest + "x", longest};
    CHECK(nearest_word(longest, words) == longest);
    CHECK_FALSE(nearest_word(longest + "x", words).has_value());
}

TEST_CASE("nearest: at most half of the letters may differ, and always one", "[wire]") {
    const std::array<std::string_view, 4> names{"ip.src", "ip.dst", "infiniband.bth.psn", "tcp"};
    CHECK(nearest_word("ip.scr", names) == "ip.src");
    CHECK(nearest_word("infiniband.psn", names) == "infiniband.bth.psn");
    CHECK(nearest_word("tpc", names) == "tcp");
    CHECK_FALSE(nearest_word("udp", names).has_value());
    CHECK_FALSE(nearest_word("xyzzy", names).has_value());
    CHECK_FALSE(nearest_word(std::string(1'000, 'i'), names).has_value());
}
