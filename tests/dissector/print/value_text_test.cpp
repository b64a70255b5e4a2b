// Values and names: formats as Wireshark prints them, on values typed here.
#include <catch2/catch.hpp>

#include <array>

#include "dissector/print/json.hpp"
#include "dissector/print/table.hpp"
#include "dissector/print/tree.hpp"
#include "dissector/print/value_text.hpp"

using namespace veriroce;
using namespace veriroce::print;

namespace {

std::string number(decode::Format format, std::uint8_t digits, std::uint64_t value) {
    std::string out;
    append_value(out, {.format = format, .digits = digits},
                 {.number = value, .bytes = {}, .text = {}});
    return out;
}

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
    std::vector<std::byte> result;
    for (const unsigned value : values)
        result.push_back(static_cast<std::byte>(value));
    return result;
}

std::string raw(decode::Format format, const std::vector<std::byte>& value) {
    std::string out;
    append_value(out, {.format = format}, {.number = 0, .bytes = value, .text = {}});
    return out;
}

std::string seconds(std::int64_t nanoseconds, unsigned decimals) {
    std::string out;
    append_seconds(out, nanoseconds, decimals);
    return out;
}

std::string json(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

} // namespace

TEST_CASE("print: numbers in each format", "[print]") {
    using decode::Format;
    CHECK(number(Format::Decimal, 0, 0) == "0");
    CHECK(number(Format::Decimal, 0, ~std::uint64_t{0}) == "18446744073709551615");
    CHECK(number(Format::Hex, 6, 0x11) == "0x000011");
    CHECK(number(Format::Hex, 16, 0xDEADBEEF) == "0x00000000deadbeef");
    CHECK(number(Format::Boolean, 0, 1) == "1");
    CHECK(number(Format::Boolean, 0, 0) == "0");
    CHECK(number(Format::Seconds, 0, 1'795'249'232'507'130'000) == "1795249232.507130000");
}

TEST_CASE("print: a date is that of the zone where we are", "[print]") {
    using decode::Format;
    const auto at = [](const char* zone, std::int64_t nanoseconds) {
        ::setenv("TZ", zone, 1);
        ::tzset();
        return number(Format::Date, 0, static_cast<std::uint64_t>(nanoseconds));
    };
    const char* before = std::getenv("TZ");
    const std::string saved = before != nullptr ? before : "";
    // As tshark 4.0 prints frame.time.
    CHECK(at("UTC0", 1'699'900'000'000'000'123) == "Nov 13, 2023 18:26:40.000000123 UTC");
    CHECK(at("CET-1", 1'700'000'000'000'000'000) == "Nov 14, 2023 23:13:20.000000000 CET");
    CHECK(at("UTC0", 3'900'000'000'000) == "Jan  1, 1970 01:05:00.000000000 UTC");
    CHECK(at("UTC0", -1) == "Dec 31, 1969 23:59:59.999999999 UTC");
    if (before != nullptr) {
        ::setenv("TZ", saved.c_str(), 1);
    } else {
        ::unsetenv("TZ");
    }
    ::tzset();
}

TEST_CASE("print: text keeps to its line", "[print]") {
    decode::FieldRow row;
    row.format = decode::Format::Text;
    std::string out;
    append_value(out, row, {.number = 0, .bytes = {}, .text = "a\nb\tc\rd\x01\x7F \"\\ \xC3\xBC"});
    CHECK(out == "a\\nb\\tc\\rd\\x01\\x7f \"\\ \xC3\xBC");
}

TEST_CASE("print: a sum in a finding has all its digits", "[print]") {
    std::string out;
    append_finding(out, {.kind = decode::FindingKind::BadIcrc,
                         .offset = 8,
                         .length = 4,
                         .found = 0x12,
                         .expected = 0x7860E50});
    CHECK(out == "error CRC-01: the ICRC is wrong (found 0x00000012, expected 0x07860e50), bytes "
                 "8..11");
    out.clear();
    append_finding(out, {.kind = decode::FindingKind::IpChecksum,
                         .offset = 24,
                         .length = 2,
                         .found = 0xAB,
                         .expected = 0xCDEF});
    CHECK(out == "warning N-03: the IPv4 header checksum is wrong (found 0x00ab, expected 0xcdef), "
                 "bytes 24..25");
}

TEST_CASE("print: seconds keep their sign and are cut, not rounded", "[print]") {
    CHECK(seconds(0, 9) == "0.000000000");
    CHECK(seconds(1'999'999'999, 6) == "1.999999");
    CHECK(seconds(-1'000, 9) == "-0.000001000");
    CHECK(seconds(std::numeric_limits<std::int64_t>::min(), 9) == "-9223372036.854775808");
}

TEST_CASE("print: addresses and bytes", "[print]") {
    using decode::Format;
    CHECK(raw(Format::Mac, bytes({0x52, 0x54, 0, 0x77, 0, 0xFF})) == "52:54:00:77:00:ff");
    CHECK(raw(Format::Ipv4, bytes({10, 77, 0, 255})) == "10.77.0.255");
    CHECK(raw(Format::Bytes, bytes({0xA0, 0, 0, 1})) == "a0000001");
    CHECK(raw(Format::Ipv6, bytes({0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})) ==
          "fd77::1");
    CHECK(raw(Format::Ipv6, bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1})) ==
          "::ffff:10.0.0.1");
}

TEST_CASE("print: JSON strings are escaped, and are UTF-8 whatever came in", "[print]") {
    CHECK(json("plain") == "\"plain\"");
    CHECK(json("a\"b\\c\nd\te\x01") == "\"a\\\"b\\\\c\\nd\\te\\u0001\"");
    CHECK(json("µ → 😀") == "\"µ → 😀\"");
    CHECK(json("x\xFFy") == "\"x\\ufffdy\"");
    CHECK(json("\xC0\xAF") == "\"\\ufffd\\ufffd\"");
    CHECK(json("\xED\xA0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK(json("\xE2\x86") == "\"\\ufffd\\ufffd\"");
}

TEST_CASE("print: an unknown field is named with what was perhaps meant", "[print]") {
    const std::vector<std::string> names{"ip.src", "ip.dts"};
    const auto columns = columns_of(names);
    REQUIRE_FALSE(columns);
    CHECK(columns.error().name == "ip.dts");
    CHECK(columns.error().nearest == "ip.dst");
}

TEST_CASE("print: every column that is shown without being asked for is there once", "[print]") {
    std::vector<std::string_view> names;
    for (const auto& column : all_columns())
        names.push_back(column.name());
    CHECK(names.size() > 80);
    auto sorted = names;
    std::ranges::sort(sorted);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
    CHECK(std::ranges::find(names, "data.data") == names.end());
    CHECK(default_columns().size() == 16);
}
