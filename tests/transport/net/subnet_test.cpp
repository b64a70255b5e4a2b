// Which addresses are in the subnet of an interface's address.
#include "transport/net/subnet.hpp"

#include <catch2/catch.hpp>

using namespace veriroce;

TEST_CASE("subnet: contains the addresses that share its prefix", "[net]") {
    const auto ip = [](std::string_view text) { return *wire::IpAddress::parse(text); };
    struct Row {
        net::Subnet subnet;
        std::string_view other;
        bool inside;
    };
    const std::initializer_list<Row> rows{
        {{ip("10.77.0.1"), 24}, "10.77.0.254", true}, {{ip("10.77.0.1"), 24}, "10.77.1.1", false},
        {{ip("10.77.0.1"), 25}, "10.77.0.127", true}, {{ip("10.77.0.1"), 25}, "10.77.0.128", false},
        {{ip("10.77.0.1"), 31}, "10.77.0.0", true},   {{ip("10.77.0.1"), 32}, "10.77.0.0", false},
        {{ip("10.77.0.1"), 0}, "192.0.2.1", true},    {{ip("10.77.0.1"), 0}, "fd77::1", false},
        {{ip("fd77::1"), 64}, "fd77::2:3", true},     {{ip("fd77::1"), 64}, "fd77:0:0:1::1", false},
        {{ip("fd77::1"), 63}, "fd77:0:0:1::1", true}, {{ip("fd77::1"), 64}, "10.77.0.1", false},
    };
    for (const Row& row : rows) {
        INFO(row.subnet.text() << " and " << row.other);
        CHECK(row.subnet.contains(ip(row.other)) == row.inside);
    }
}
