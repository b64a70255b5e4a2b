// Records of Endace cards, inside pcap and as files of their own.
#include <catch2/catch.hpp>

#include "dissector/capture/reader.hpp"

using namespace veriroce;
using namespace veriroce::capture;

namespace {

using Bytes = std::vector<std::byte>;

// 2008-05-14, and a fraction of which microseconds hold only a part.
constexpr std::uint64_t kSeconds = 1'210'794'479;
constexpr std::uint64_t kFraction = 0x7FED'E48F; // of 2^32: 0.499723705...

Bytes record(std::uint8_t type, std::size_t packet_bytes, std::uint64_t seconds = kSeconds,
             std::size_t padding = 0) {
    Bytes bytes(16 + packet_bytes + padding, std::byte{0x5A});
    const std::uint64_t stamp = seconds << 32 | kFraction;
    for (std::size_t i = 0; i < 8; ++i)
        bytes[i] = static_cast<std::byte>(stamp >> (8 * i) & 0xFF);
    wire::store_be<1>(bytes, 8, type);
    wire::store_be<1>(bytes, 9, 4);
    wire::store_be<2>(bytes, 10, bytes.size());
    wire::store_be<2>(bytes, 12, 0);
    wire::store_be<2>(bytes, 14, packet_bytes);
    return bytes;
}

Bytes operator+(Bytes first, const Bytes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

constexpr std::int64_t kTime =
    static_cast<std::int64_t>(kSeconds) * 1'000'000'000 +
    static_cast<std::int64_t>((kFraction * 1'000'000'000 + (1ULL << 31)) >> 32);

} // namespace

TEST_CASE("capture: a file of ERF records", "[capture]") {
    const Bytes file = record(21, 100) + record(48, 8) + record(2, 60, kSeconds + 1, 4) +
                       record(21, 0, kSeconds + 2);
    auto reader = Reader::over(file);
    REQUIRE(reader);
    REQUIRE(reader->interfaces().size() == 1);
    CHECK(reader->interfaces()[0].link_code == 197);
    Record one;
    REQUIRE(reader->next(one).value());
    CHECK(one.time_ns == kTime);
    CHECK(one.link_code == 197);
    CHECK(one.bytes.size() == 116);
    REQUIRE(reader->next(one).value()); // the record without a packet is passed over
    CHECK(one.time_ns == kTime + 1'000'000'000);
    CHECK(one.bytes.size() == 80);
    REQUIRE(reader->next(one).value());
    CHECK(one.bytes.size() == 16);
    CHECK_FALSE(reader->next(one).value());
}

TEST_CASE("capture: a file of ERF records that is cut", "[capture]") {
    Bytes file;
    for (int i = 0; i < 10; ++i)
        file = file + record(21, 100);
    file.resize(file.size() - 3);
    auto reader = Reader::over(file);
    REQUIRE(reader);
    Record one;
    for (int i = 0; i < 9; ++i)
        REQUIRE(reader->next(one).value());
    CHECK(reader->next(one).error().kind == ReadErrorKind::Truncated);
}

TEST_CASE("capture: other files are not taken for ERF records", "[capture]") {
    const auto refused = [](const Bytes& file) {
        const auto reader = Reader::over(file);
        return !reader && reader.error().kind == ReadErrorKind::NotACapture;
    };
    CHECK_FALSE(refused(record(21, 100)));
    CHECK(refused(record(21, 100) + Bytes(20)));                   // something else follows
    CHECK(refused(record(0, 100)));                                // no such type
    CHECK(refused(record(49, 100)));                               // nor this
    CHECK(refused(record(21, 100, 900'000'000)));                  // before the cards
    CHECK(refused(record(21, 100) + record(21, 9, kSeconds * 2))); // times far apart
    Bytes small = record(21, 100);
    wire::store_be<2>(small, 10, 15);
    CHECK(refused(small));
    CHECK(refused(Bytes(4096, std::byte{0})));
    CHECK(refused(Bytes(4096, std::byte{'a'})));
}

TEST_CASE("capture: ERF in pcap has the time of the record", "[capture]") {
    Bytes file(24);
    const auto put = [&file](std::size_t at, std::uint32_t value) {
        for (std::size_t i = 0; i < 4; ++i)
            file[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
    };
    put(0, 0xA1B2C3D4);
    put(16, 65'535);
    put(20, 197);
    const Bytes packet = record(21, 274);
    file.resize(24 + 16);
    put(24, 1'700'000'000); // of the pcap record: some other day
    put(32, static_cast<std::uint32_t>(packet.size()));
    put(36, static_cast<std::uint32_t>(packet.size()));
    const Bytes whole = file + packet;
    auto reader = Reader::over(whole);
    REQUIRE(reader);
    Record one;
    REQUIRE(reader->next(one).value());
    CHECK(one.time_ns == kTime);
}

TEST_CASE("capture: a long pcapng block of a type that is not read is skipped", "[capture]") {
    constexpr std::size_t kLong = 20UL * 1024 * 1024;
    const auto put = [](Bytes& bytes, std::size_t at, std::size_t value) {
        for (std::size_t i = 0; i < 4; ++i)
            bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
    };
    const auto block = [&](std::size_t type, std::size_t length) {
        Bytes bytes(length);
        put(bytes, 0, type);
        put(bytes, 4, length);
        put(bytes, length - 4, length);
        return bytes;
    };
    Bytes section = block(0x0A0D0D0A, 28);
    put(section, 8, 0x1A2B3C4D);
    section[12] = std::byte{1};
    Bytes interface = block(1, 20);
    interface[8] = std::byte{1};
    Bytes packet = block(6, 32 + 4);
    put(packet, 20, 4);
    put(packet, 24, 4);
    for (const bool wrong_end : {false, true}) {
        Bytes unknown = block(0x0BAD, kLong);
        if (wrong_end) put(unknown, kLong - 4, kLong + 4);
        const Bytes file = section + interface + unknown + packet;
        auto reader = Reader::over(file);
        REQUIRE(reader);
        Record one;
        const auto more = reader->next(one);
        if (wrong_end) {
            CHECK(more.error().kind == ReadErrorKind::BadBlock);
        } else {
            REQUIRE(more.value());
            CHECK(one.bytes.size() == 4);
        }
    }
}
