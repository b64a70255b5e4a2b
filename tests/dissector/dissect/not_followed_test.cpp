// The counts of frames that were not taken apart.
#include <catch2/catch.hpp>

#include "dissector/dissect/not_followed.hpp"

using namespace veriroce;
using namespace veriroce::dissect;

TEST_CASE("dissect: frames that were not taken apart are counted by type", "[dissect]") {
    NotFollowedCounts counts;
    decode::Dissection dissection;
    counts.add(dissection);
    CHECK(counts.total() == 0);
    for (std::uint32_t port = 0; port < 300; ++port) {
        dissection.not_followed = {decode::Stop::UdpPort, port};
        counts.add(dissection);
    }
    dissection.not_followed = {decode::Stop::EtherType, 0x8864};
    counts.add(dissection); // beyond the limit of types
    dissection.not_followed = {decode::Stop::UdpPort, 53};
    counts.add(dissection);
    CHECK(counts.total() == 302);
    CHECK(counts.types() == 257);
    const auto largest = counts.largest(2);
    REQUIRE(largest.size() == 2);
    CHECK(largest[0].text == "other types");
    CHECK(largest[0].frames == 45);
    CHECK(largest[1].text == "UDP port 53");
    CHECK(largest[1].frames == 2);
}
