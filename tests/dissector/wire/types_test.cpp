#include <catch2/catch.hpp>

#include "dissector/wire/types.hpp"

using namespace veriroce::wire;

TEST_CASE("psn: sums stay on the circle of 24 bits", "[wire][RSP-09]") {
    CHECK((Psn(0xFFFFFF) + 1) == Psn(0));
    CHECK((Psn(0xFFFFFE) + 5) == Psn(3));
    CHECK((Psn(0) - 1) == Psn(0xFFFFFF));
    CHECK((Psn(3) + -5) == Psn(0xFFFFFE));
    CHECK((Psn(7) + 0x1000000) == Psn(7));
    CHECK(Psn(0x12345678).value() == 0x345678);
    Psn psn(0xFFFFFF);
    psn += 2;
    CHECK(psn.value() == 1);
}

TEST_CASE("psn: distances are signed and wrap", "[wire][RSP-08]") {
    CHECK(distance(Psn(5), Psn(5)) == 0);
    CHECK(distance(Psn(0xFFFFFF), Psn(0)) == 1);
    CHECK(distance(Psn(0), Psn(0xFFFFFF)) == -1);
    CHECK(distance(Psn(0xFFFFFC), Psn(0x10)) == 20);
    CHECK(distance(Psn(0), Psn(0x7FFFFF)) == 0x7FFFFF);
    CHECK(distance(Psn(0), Psn(0x800000)) == -0x800000); // half the circle is behind
    CHECK(distance(Psn(0x800000), Psn(0)) == -0x800000);
    CHECK(distance(Psn(0x800001), Psn(0)) == 0x7FFFFF);
    for (const std::int32_t n : {-0x800000, -70000, -1, 0, 1, 70000, 0x7FFFFF}) {
        CHECK(distance(Psn(0xFFFFFE), Psn(0xFFFFFE) + n) == n);
    }
}

TEST_CASE("msn: counts in 24 bits", "[wire]") {
    CHECK((Msn{0xFFFFFF} + 1) == Msn{0});
    CHECK((Msn{0} + -1) == Msn{0xFFFFFF});
}

TEST_CASE("mtu: packets and pad bytes of a message", "[wire][BTH-09]") {
    CHECK(packets_of(0, Mtu::B1024) == 1);
    CHECK(packets_of(1, Mtu::B1024) == 1);
    CHECK(packets_of(1024, Mtu::B1024) == 1);
    CHECK(packets_of(1025, Mtu::B1024) == 2);
    CHECK(packets_of(std::uint64_t{1} << 31, Mtu::B256) == 0x800000);
    CHECK(bytes_of(Mtu::B4096) == 4096);
    CHECK(pad_of(0) == 0);
    CHECK(pad_of(1) == 3);
    CHECK(pad_of(2) == 2);
    CHECK(pad_of(3) == 1);
    CHECK(pad_of(4) == 0);
}
