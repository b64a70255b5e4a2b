#include <catch2/catch.hpp>

#include <array>

#include "dissector/wire/syndrome.hpp"

using namespace veriroce::wire;
using std::chrono::nanoseconds;

TEST_CASE("syndrome: each of the 256 values is taken apart by its bits", "[wire]") {
    for (int value = 0; value < 256; ++value) {
        INFO(value);
        const Syndrome syndrome{static_cast<std::uint8_t>(value)};
        const std::array kinds{AckKind::Ack, AckKind::RnrNak, AckKind::Reserved, AckKind::Nak};
        CHECK(syndrome.kind() == kinds[static_cast<std::size_t>(value % 128 / 32)]);
        CHECK(syndrome.code() == value % 32);
        const bool named = value % 128 / 32 == 3 && value % 32 <= 4;
        CHECK(syndrome.nak_code().has_value() == named);
        if (named) CHECK(static_cast<int>(*syndrome.nak_code()) == value % 32);
    }
}

TEST_CASE("syndrome: builders", "[wire]") {
    CHECK(Syndrome::ack(31).value == 0x1F);
    CHECK(Syndrome::ack(0).value == 0x00);
    CHECK(Syndrome::rnr(20).value == 0x34);
    CHECK(Syndrome::nak(NakCode::PsnSequence).value == 0x60);
    CHECK(Syndrome::nak(NakCode::InvalidRequest).value == 0x61);
    CHECK(Syndrome::nak(NakCode::RemoteAccess).value == 0x62);
    CHECK(Syndrome::nak(NakCode::RemoteOperational).value == 0x63);
    CHECK(Syndrome::nak(NakCode::InvalidRdRequest).value == 0x64);
}

TEST_CASE("syndrome: NAK codes by name, both ways", "[wire]") {
    for (int code = 0; code <= 4; ++code) {
        const auto nak = static_cast<NakCode>(code);
        CHECK(nak_code_by_name(name_of(nak)) == nak);
    }
    CHECK(name_of(NakCode::PsnSequence) == "PSN_SEQUENCE");
    CHECK(name_of(NakCode::InvalidRequest) == "INVALID_REQUEST");
    CHECK(name_of(NakCode::RemoteAccess) == "REMOTE_ACCESS");
    CHECK(name_of(NakCode::RemoteOperational) == "REMOTE_OPERATIONAL");
    CHECK(name_of(NakCode::InvalidRdRequest) == "INVALID_RD_REQUEST");
    CHECK(!nak_code_by_name("PSN"));
    CHECK(!nak_code_by_name(""));
}

TEST_CASE("syndrome: the RNR timer table", "[wire][RNR-08]") {
    const std::array<std::int64_t, 32> hundredths_of_ms{
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    for (std::uint8_t code = 0; code < 32; ++code) {
        INFO(int{code});
        CHECK(rnr_time(code) == nanoseconds(hundredths_of_ms[code] * 10'000));
    }
    CHECK(rnr_time(0x34) == rnr_time(20)); // only five bits count
}

TEST_CASE("syndrome: the credit table", "[wire][ACK-10]") {
    const std::array<std::uint32_t, 31> credits{0,    1,    2,    3,     4,     6,     8,    12,
                                                16,   24,   32,   48,    64,    96,    128,  192,
                                                256,  384,  512,  768,   1024,  1536,  2048, 3072,
                                                4096, 6144, 8192, 12288, 16384, 24576, 32768};
    for (std::uint8_t code = 0; code < 31; ++code) {
        INFO(int{code});
        CHECK(credits_of(code) == credits[code]);
        CHECK(credit_code_of(credits[code]) == code);
        if (code < 30 && credits[code] + 1 < credits[code + 1U]) {
            CHECK(credit_code_of(credits[code + 1U] - 1) == code);
        }
    }
    CHECK(!credits_of(31));
    CHECK(credit_code_of(0xFFFFFFFF) == 30);
}

TEST_CASE("syndrome: the ACK timeout table", "[wire][TMO-01]") {
    CHECK(!ack_timeout(0));
    CHECK(!ack_timeout(32));
    CHECK(ack_timeout(1) == nanoseconds(8'192));
    CHECK(ack_timeout(14) == nanoseconds(67'108'864));
    CHECK(ack_timeout(16) == nanoseconds(268'435'456));
    CHECK(ack_timeout(18) == nanoseconds(1'073'741'824));
    CHECK(ack_timeout(20) == nanoseconds(4'294'967'296));
    CHECK(ack_timeout(31) == nanoseconds(8'796'093'022'208));
    for (std::uint8_t code = 1; code < 31; ++code) {
        CHECK(*ack_timeout(static_cast<std::uint8_t>(code + 1)) == 2 * *ack_timeout(code));
    }
}
