// Our own formatting against fmt's.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "dissector/print/append.hpp"
#include "dissector/print/value_text.hpp"

using namespace veriroce;
using namespace veriroce::print;

namespace {

template <Pattern pattern, typename... Args>
std::string ours(const Args&... args) {
    std::string out = "before ";
    append<pattern>(out, args...);
    return out;
}

} // namespace

TEST_CASE("append: numbers and text as fmt prints them", "[print]") {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{255},
          std::uint64_t{0xABCDEF}, ~std::uint64_t{0}, std::uint64_t{1'000'000'007}}) {
        CHECK(ours<"{} and {:x}.">(number, number) ==
              fmt::format("before {} and {:x}.", number, number));
        CHECK(ours<"{:#x}|{:016x}">(number, number) ==
              fmt::format("before {:#x}|{:016x}", number, number));
    }
    const std::uint8_t small = 7;
    CHECK(ours<"{}{:02x}">(small, small) == "before 707");
    CHECK(ours<"{}">(-12) == "before -12");
    CHECK(ours<"{:.2f} ms">(655.36) == "before 655.36 ms");
    CHECK(ours<"{:.2f}">(0.005) == fmt::format("before {:.2f}", 0.005));
    CHECK(ours<"{} {} {}">("a", std::string("b"), std::string_view("c")) == "before a b c");
    CHECK(ours<"nothing">() == "before nothing");
}

TEST_CASE("append: text of any length passes whole", "[print]") {
    for (std::size_t size = 200; size < 600; size += 7) {
        const std::string text(size, 'x');
        CHECK(ours<"<{}|{}|{}>">(text, 12345, text) == "before <" + text + "|12345|" + text + ">");
    }
}

TEST_CASE("append: addresses are written as their own text", "[print]") {
    for (const std::string text :
         {"::", "::1", "fd77::1", "1:2:3:4:5:6:7:8", "1::4:5:0:0:8",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::5054:ff:fe77:1", "0:1::"}) {
        const auto address = wire::IpAddress::parse(text);
        REQUIRE(address);
        CHECK(address->text() == text);
        std::string out;
        append_ipv6(out, address->bytes);
        CHECK(out == address->text());
    }
    std::string out;
    append_ipv6(out, wire::IpAddress::parse("255.255.255.255")->bytes);
    CHECK(out == "::ffff:255.255.255.255");
}
