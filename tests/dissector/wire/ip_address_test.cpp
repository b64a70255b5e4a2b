// Our text forms against the C library's.
#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstring>
#include <random>

#include "dissector/wire/ip_address.hpp"

using namespace veriroce::wire;

namespace {

std::optional<IpAddress> by_library(const std::string& text) {
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return IpAddress::from_v4(ntohl(v4.s_addr));
    in6_addr v6{};
    if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::nullopt;
    return IpAddress::from_v6(std::as_bytes(std::span(v6.s6_addr)));
}

std::string text_by_library(const IpAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    REQUIRE(inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size()) != nullptr);
    return text.data();
}

} // namespace

TEST_CASE("address: text is read as the C library reads it", "[wire]") {
    for (const std::string text : {"10.77.0.1",
                                   "0.0.0.0",
                                   "255.255.255.255",
                                   "256.1.1.1",
                                   "1.2.3",
                                   "1.2.3.4.5",
                                   "1.2.3.",
                                   ".1.2.3",
                                   "1..2.3",
                                   "01.2.3.4",
                                   "1.2.3.04",
                                   "1.2.3.0",
                                   "",
                                   " 1.2.3.4",
                                   "1.2.3.4 ",
                                   "a.b.c.d",
                                   "::",
                                   "::1",
                                   "1::",
                                   "fd77::1",
                                   "fd77::2:0:0:1",
                                   "1:2:3:4:5:6:7:8",
                                   "1:2:3:4:5:6:7",
                                   "1:2:3:4:5:6:7:8:9",
                                   "1::2::3",
                                   ":::",
                                   ":1",
                                   "1:",
                                   "12345::",
                                   "g::",
                                   "::ffff:10.77.0.1",
                                   "1:2:3:4:5:6:1.2.3.4",
                                   "1:2:3:4:5:6:7:1.2.3.4",
                                   "1.2.3.4::",
                                   "::1.2.3",
                                   "1:2:3:4:5:6:7::",
                                   "::2:3:4:5:6:7:8",
                                   "1:2:3:4::5:6:7:8",
                                   "FE80::ABCD",
                                   "fe80::1%eth0",
                                   "1:2",
                                   ":"}) {
        INFO("'" << text << "'");
        CHECK(IpAddress::parse(text) == by_library(text));
    }
}

TEST_CASE("address: text is written as the C library writes it", "[wire]") {
    std::mt19937_64 random(4791);
    INFO("seed 4791");
    for (int i = 0; i < 2000; ++i) {
        IpAddress address;
        for (std::size_t group = 0; group < 8; ++group) {
            const auto value = random();
            // Many zero groups, so that runs of all lengths come up; the first never is.
            const bool zero = group != 0 && (value >> 32 & 1) != 0;
            store_be<2>(address.bytes, 2 * group, zero ? 0 : (value & 0xFFFF) | 1);
        }
        CHECK(address.text() == text_by_library(address));
        CHECK(IpAddress::parse(address.text()) == address);
        const auto v4 = IpAddress::from_v4(static_cast<std::uint32_t>(random()));
        CHECK(v4.v4());
        CHECK(IpAddress::parse(v4.text()) == v4);
    }
    CHECK(IpAddress::from_v4(0x0A4D0001).text() == "10.77.0.1");
    CHECK(IpAddress{}.text() == "::");
    CHECK(!IpAddress{}.v4());
    CHECK(IpAddress::parse("fd77::1")->low32() == 1);
}

TEST_CASE("address: MAC addresses both ways", "[wire]") {
    const auto mac = MacAddress::parse("52:54:00:77:00:aB");
    REQUIRE(mac);
    CHECK(mac->text() == "52:54:00:77:00:ab");
    CHECK(std::to_integer<int>(mac->bytes[0]) == 0x52);
    for (const std::string text :
         {"", "52:54:00:77:00", "52:54:00:77:00:1", "52-54-00-77-00-01", "52:54:00:77:00:0g",
          "52:54:00:77:00:01:", "52:54:00:77:0001:2", "5 :54:00:77:00:01", "+5:54:00:77:00:01"}) {
        INFO(text);
        CHECK(!MacAddress::parse(text));
    }
}
