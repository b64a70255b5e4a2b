// Which GID of the device talks to which address of the tester.
#include "conformance/preflight/pair.hpp"

#include <catch2/catch.hpp>

using namespace veriroce;

namespace {

wire::IpAddress ip(std::string_view text) {
    return *wire::IpAddress::parse(text);
}

dut::Gid gid(std::uint32_t index, std::string_view address) {
    return {.index = index, .type = "rocev2", .address = ip(address)};
}

} // namespace

TEST_CASE("pair: two addresses of one subnet are preferred to the first", "[preflight]") {
    // The management network comes first on both sides, but not the same one.
    const auto pair = preflight::best_pair(
        {gid(1, "10.1.0.1"), gid(5, "192.0.2.1"), gid(7, "192.0.2.3")},
        {ip("172.16.0.2"), ip("192.0.2.2")}, {{ip("172.16.0.2"), 16}, {ip("192.0.2.2"), 24}});
    CHECK(pair.gid.index == 5);
    CHECK(pair.tester == ip("192.0.2.2"));
    CHECK(pair.one_subnet);
}

TEST_CASE("pair: without one subnet the first of both sides talk, and it is said", "[preflight]") {
    const auto pair = preflight::best_pair({gid(1, "10.1.0.1"), gid(5, "10.2.0.1")},
                                           {ip("172.16.0.2")}, {{ip("172.16.0.2"), 16}});
    CHECK(pair.gid.index == 1);
    CHECK(pair.tester == ip("172.16.0.2"));
    CHECK_FALSE(pair.one_subnet);
}

TEST_CASE("pair: an address that the tester answers for needs a subnet of its interface",
          "[preflight]") {
    const auto pair = preflight::best_pair(
        {gid(1, "10.79.0.1")}, {ip("10.80.0.3"), ip("10.79.0.4")}, {{ip("10.79.0.2"), 24}});
    CHECK(pair.tester == ip("10.79.0.4"));
    CHECK(pair.one_subnet);
}

TEST_CASE("pair: link-local is an IPv6 address of fe80::/10", "[preflight]") {
    CHECK(preflight::link_local(ip("fe80::1")));
    CHECK(preflight::link_local(ip("febf::1")));
    CHECK_FALSE(preflight::link_local(ip("fec0::1")));
    CHECK_FALSE(preflight::link_local(ip("fd77::1")));
    CHECK_FALSE(preflight::link_local(ip("169.254.0.1")));
}
