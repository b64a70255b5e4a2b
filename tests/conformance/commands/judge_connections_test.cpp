// The file of --connections: what it says, and what is wrong with them.
#include <catch2/catch.hpp>

#include "conformance/commands/judge_connections.hpp"

namespace veriroce::commands::test {

TEST_CASE("judge connections: QPs that are known to stay open", "[judge]") {
    const auto known = parse_connections("10.0.0.1 1 10.0.0.2 2 open\n10.0.0.1 3 10.0.0.2 4\n");
    REQUIRE(known);
    REQUIRE(known->size() == 2);
    CHECK((*known)[0][0].attributes.stays_open);
    CHECK((*known)[0][1].attributes.stays_open);
    CHECK_FALSE((*known)[1][0].attributes.stays_open);
}

TEST_CASE("known connections: two ends and what is known of them", "[judge]") {
    const auto labels = parse_connections("# ours\n"
                                          "10.77.0.1 0x11  10.77.0.2 34  # the rest is not known\n"
                                          "\n"
                                          "fd77::1 1 fd77::2 2 mtu=1024 psn=100,0xFFFFFF reads=4,1 "
                                          "timeout=14,0\n");
    REQUIRE(labels);
    REQUIRE(labels->size() == 2);
    const auto& plain = (*labels)[0];
    CHECK(plain[0].address == wire::IpAddress::parse("10.77.0.1"));
    CHECK(plain[0].qpn == wire::Qpn{0x11});
    CHECK(plain[1].qpn == wire::Qpn{34});
    CHECK_FALSE(plain[1].attributes.mtu);
    const auto& full = (*labels)[1];
    CHECK(full[0].attributes.mtu == wire::Mtu::B1024);
    CHECK(full[1].attributes.mtu == wire::Mtu::B1024);
    CHECK(full[1].attributes.first_psn == wire::Psn(0xFFFFFF));
    CHECK(full[0].attributes.max_rd_atomic == 4U);
    CHECK(full[0].attributes.timeout == std::uint8_t{14});
}

TEST_CASE("known connections: a wrong line is named", "[judge]") {
    struct Row {
        const char* text;
        std::size_t line;
        const char* message;
    };
    const std::vector<Row> rows{
        {"10.77.0.1 1 10.77.0.2\n", 1, "expected ADDRESS QP ADDRESS QP"},
        {"\nhere 1 10.77.0.2 2", 2, "expected an IP address, got 'here'"},
        {"10.77.0.1 0x1000000 10.77.0.2 2", 1, "expected a QP number, got '0x1000000'"},
        {"10.77.0.1 1 10.77.0.2 2 mtu=1000", 1,
         "mtu=: expected 256, 512, 1024, 2048 or 4096, got '1000'"},
        {"10.77.0.1 1 10.77.0.2 2 psn=1", 1, "psn=: expected two numbers, got '1'"},
        {"10.77.0.1 1 10.77.0.2 2 timeout=1,32", 1,
         "timeout=: expected a number up to 31, got '32'"},
        {"10.77.0.1 1 10.77.0.2 2 colour=red", 1,
         "expected mtu=, psn=, reads=, timeout= or open, got 'colour=red'"},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        const auto labels = parse_connections(row.text);
        REQUIRE_FALSE(labels);
        CHECK(labels.error().line == row.line);
        CHECK(labels.error().message == row.message);
    }
}

} // namespace veriroce::commands::test
