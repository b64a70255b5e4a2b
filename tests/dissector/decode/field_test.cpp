// The field table against wire's, against itself, and on packets.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "dissector/decode/field.hpp"
#include "dissector/wire/field.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;

namespace {

bool stands_at(std::string_view name, const wire::Location& place) {
    for (const FieldRow& row : field_table()) {
        if (row.name == name && row.layer == layer_kind_of(place.layer) && row.bit == place.bit &&
            row.bits == place.bits) {
            return true;
        }
    }
    return false;
}

std::vector<std::uint64_t> numbers(std::string_view name, const Dissection& d) {
    std::vector<std::uint64_t> values;
    const auto column = Column::find(name);
    REQUIRE(column);
    column->for_each(d,
                     [&](const FieldRow&, const Value& value) { values.push_back(value.number); });
    return values;
}

} // namespace

TEST_CASE("fields: every field of wire's table of positions stands at the same place here",
          "[decode]") {
    // Checked, and not shown.
    const std::set<std::string_view> unnamed{"roce.rdeth.reserved", "roce.deth.reserved",
                                             "roce.xrceth.reserved", "roce.feth.reserved"};
    std::size_t compared = 0;
    for (const wire::FieldPlace& field : wire::field_places()) {
        INFO(field.name);
        CHECK(stands_at(field.name, field.where) == !unnamed.contains(field.name));
        ++compared;
    }
    CHECK(compared > 70);
}

TEST_CASE("fields: every field that a script can name stands at the same place here", "[decode]") {
    const auto known = [](const wire::Location& where) {
        return std::ranges::any_of(field_table(), [&](const FieldRow& row) {
            return row.layer == layer_kind_of(where.layer) && row.bit == where.bit &&
                   row.bits == where.bits;
        });
    };
    for (const wire::FieldInfo& field : wire::field_table()) {
        INFO(field.name);
        CHECK(known(field.primary));
        if (field.secondary) CHECK(known(*field.secondary));
    }
}

TEST_CASE("fields: rows fit their format", "[decode]") {
    for (const FieldRow& row : field_table()) {
        INFO(row.name);
        CHECK_FALSE(row.title.empty());
        CHECK((row.format == Format::Hex) == (row.digits > 0));
        if (row.compute != nullptr || row.bits == 0) continue;
        switch (row.format) {
        case Format::Mac: CHECK(row.bits == 48); break;
        case Format::Ipv4: CHECK(row.bits == 32); break;
        case Format::Ipv6: CHECK(row.bits == 128); break;
        case Format::Bytes: CHECK(row.bits % 8 == 0); break;
        case Format::Decimal:
        case Format::Hex: CHECK(row.bits <= 64); break;
        case Format::Boolean: CHECK(row.bits == 1); break;
        case Format::Text:
        case Format::Date:
        case Format::Seconds: CHECK(row.compute != nullptr); break;
        }
    }
}

TEST_CASE("fields: a name with several places has a value for each that is there", "[decode]") {
    const auto atomic = frames_of("rxe-atomic.pcap");
    const Dissection d = taken_apart(atomic.at(0));
    CHECK(numbers("infiniband.reth.va", d) == std::vector<std::uint64_t>{0x5595dc8eb000});
    CHECK(numbers("udp.port", d) == std::vector<std::uint64_t>{50308, 4791});
    CHECK(numbers("infiniband.aeth.msn", d).empty());
    CHECK(numbers("infiniband.bth.psn", d) == std::vector<std::uint64_t>{2852790});
    CHECK_FALSE(Column::find("infiniband.bth.psm"));
}

TEST_CASE("fields: what was not captured has no value", "[decode]") {
    const auto frames = frames_of("rxe-atomic.pcap");
    const wire::Bytes whole = frames.at(0);
    const auto original = static_cast<std::uint32_t>(whole.size());
    const Dissection d = taken_apart(whole.first(14 + 20 + 8 + 12 + 10), 1, original);
    CHECK(numbers("infiniband.reth.va", d).size() == 1);
    CHECK(numbers("infiniband.reth.r_key", d).empty());
    CHECK(numbers("roce.cut", d) == std::vector<std::uint64_t>{1});
}

TEST_CASE("fields: the meaning of a syndrome's code depends on its kind", "[decode]") {
    const auto nak = frames_of("rxe-nak-access-read.pcap");
    const Dissection d = taken_apart(nak.at(1));
    CHECK(numbers("infiniband.aeth.syndrome.error_code", d) == std::vector<std::uint64_t>{2});
    CHECK(numbers("infiniband.aeth.syndrome.credit_count", d).empty());
    CHECK(numbers("infiniband.aeth.syndrome.timer", d).empty());
}
