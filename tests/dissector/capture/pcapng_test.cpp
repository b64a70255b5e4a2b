// pcapng: sections, interfaces, all three kinds of packet blocks, options, damage.
#include <catch2/catch.hpp>

#include "tests/dissector/capture/files.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kOldPacketBlock = 2;
constexpr std::uint32_t kSimplePacketBlock = 3;
constexpr std::uint32_t kNameBlock = 4;
constexpr std::uint32_t kEnhancedPacketBlock = 6;

FileBytes interface_body(bool big, std::uint16_t link, std::uint32_t snap, char resolution) {
    FileBytes body(big);
    body.u16(link).u16(0).u32(snap).option(2, "eth0");
    if (resolution != 0) body.option(9, std::string_view(&resolution, 1));
    return body.u32(0);
}

FileBytes enhanced_body(bool big, std::uint32_t interface, std::uint64_t time,
                        std::string_view bytes, std::uint32_t original) {
    FileBytes body(big);
    body.u32(interface).u32(time >> 32).u32(time & 0xFFFFFFFF);
    return body.u32(bytes.size()).u32(original).text(bytes).pad();
}

FileBytes everything(bool big) {
    FileBytes file = section(big);
    file.block(kInterfaceBlock, interface_body(big, 1, 4, 9));
    file.block(kInterfaceBlock, interface_body(big, 113, 0, 0));
    file.block(kNameBlock, FileBytes(big).u32(0));
    file.block(kEnhancedPacketBlock,
               enhanced_body(big, 0, 5'000'000'001, "abcde", 77)
                   .option(1, "first")
                   .option(2, std::string_view(big ? "\0\0\0\2" : "\2\0\0\0", 4))
                   .option(1, "second")
                   .u32(0));
    file.block(kEnhancedPacketBlock, enhanced_body(big, 1, 5'000'001, "xy", 2));
    file.block(kSimplePacketBlock, FileBytes(big).u32(6).text("simp"));
    FileBytes old(big);
    old.u16(1).u16(0).u32(0).u32(7).u32(3).u32(3).text("old");
    file.block(kOldPacketBlock, old);
    return file;
}

} // namespace

TEST_CASE("pcapng: packets of every kind, interfaces and comments in both byte orders",
          "[capture]") {
    for (const bool big : {false, true}) {
        const FileBytes file = everything(big);
        const Contents contents = drain(Reader::over(file.bytes()));
        CHECK_FALSE(contents.error);
        REQUIRE(contents.packets.size() == 4);
        const Packet& first = contents.packets[0];
        CHECK(first.time_ns == 5'000'000'001);
        CHECK(first.bytes == "abcde");
        CHECK(first.original_length == 77);
        CHECK(first.comments == std::vector<std::string>{"first", "second"});
        CHECK(contents.packets[1].time_ns == 5'000'001'000);
        CHECK(contents.packets[1].link_code == 113);
        CHECK(contents.packets[1].comments.empty());
        CHECK(contents.packets[2].bytes == "simp");
        CHECK(contents.packets[2].original_length == 6);
        CHECK_FALSE(contents.packets[2].time_ns);
        CHECK(contents.packets[3].bytes == "old");
        CHECK(contents.packets[3].time_ns == 7'000);
        REQUIRE(contents.interfaces.size() == 2);
        CHECK(contents.interfaces[0].name == "eth0");
    }
}

TEST_CASE("pcapng: a second section has its own byte order and interfaces", "[capture]") {
    FileBytes file = section(false);
    file.block(kInterfaceBlock, interface_body(false, 1, 0, 0));
    file.block(kEnhancedPacketBlock, enhanced_body(false, 0, 1, "one", 3));
    FileBytes second = section(true);
    second.block(kInterfaceBlock, interface_body(true, 101, 0, 9));
    second.block(kEnhancedPacketBlock, enhanced_body(true, 0, 2, "two", 3));
    file.append(second);
    const Contents contents = drain(Reader::over(file.bytes()));
    REQUIRE(contents.packets.size() == 2);
    CHECK(contents.packets[0].link_code == 1);
    CHECK(contents.packets[0].time_ns == 1'000);
    CHECK(contents.packets[1].link_code == 101);
    CHECK(contents.packets[1].interface == 1);
    CHECK(contents.packets[1].time_ns == 2);
    CHECK(contents.interfaces[1].section == 2);
}

TEST_CASE("pcapng: a packet's direction is read", "[capture]") {
    const FileBytes file = everything(false);
    auto reader = Reader::over(file.bytes());
    REQUIRE(reader);
    Record record;
    REQUIRE(reader->next(record).value());
    CHECK(direction_of(record) == Direction::Outbound);
    REQUIRE(reader->next(record).value());
    CHECK(direction_of(record) == Direction::Unknown);
}

TEST_CASE("pcapng: units of time from seconds to beyond nanoseconds", "[capture]") {
    struct Row {
        TimeScale scale;
        std::uint64_t units;
        std::int64_t nanoseconds;
    };
    const std::vector<Row> rows{
        {{.exponent = 0}, 3, 3'000'000'000},
        {{.exponent = 3}, 1'234, 1'234'000'000},
        {{.exponent = 12}, 1'999, 1},
        {{.exponent = 30}, 5, 0},
        {{.exponent = 10, .binary = true}, 1'024, 1'000'000'000},
        {{.exponent = 10, .binary = true}, 1, 976'562},
        {{.exponent = 100, .binary = true}, 1, 0},
        {{.exponent = 9, .offset_s = -2}, 5'000'000'000, 3'000'000'000},
        {{.exponent = 0}, ~std::uint64_t{0}, 9'223'372'036'854'775'807},
    };
    for (const Row& row : rows)
        CHECK(row.scale.nanoseconds(row.units) == row.nanoseconds);
}

TEST_CASE("pcapng: damage is named with its place, and what came before is given", "[capture]") {
    FileBytes start = section(false);
    start.block(kInterfaceBlock, interface_body(false, 1, 0, 0));
    start.block(kEnhancedPacketBlock, enhanced_body(false, 0, 1, "good", 4));
    const std::size_t place = start.bytes().size();
    struct Row {
        FileBytes block;
        ReadErrorKind kind;
    };
    FileBytes long_packet(false);
    long_packet.u32(0).u32(0).u32(0).u32(500).u32(500).text("few");
    const std::vector<Row> rows{
        {FileBytes().u32(6).u32(8).u32(8), ReadErrorKind::BadBlock},
        {FileBytes().u32(6).u32(13).u32(0).u32(0), ReadErrorKind::BadBlock},
        {FileBytes().u32(99).u32(16).u32(0).u32(20), ReadErrorKind::BadBlock},
        {FileBytes().u32(99).u32(0x7FFFFFFC).u32(0), ReadErrorKind::BadBlock},
        {FileBytes().block(6, FileBytes().u32(0)), ReadErrorKind::BadBlock},
        {FileBytes().block(6, long_packet), ReadErrorKind::BadBlock},
        {FileBytes().block(6, enhanced_body(false, 1, 1, "bad", 3)),
         ReadErrorKind::UnknownInterface},
        {FileBytes().u32(0x0A0D0D0A).u32(28).u32(0x11223344), ReadErrorKind::MissingSection},
        {FileBytes().block(0x0A0D0D0A, FileBytes().u32(0x1A2B3C4D).u16(2).u16(0).u64(0)),
         ReadErrorKind::BadVersion},
        {FileBytes().u32(6).u32(32), ReadErrorKind::Truncated},
    };
    for (const Row& row : rows) {
        FileBytes file = start;
        file.append(row.block);
        const Contents contents = drain(Reader::over(file.bytes()));
        CHECK(contents.packets.size() == 1);
        REQUIRE(contents.error);
        CHECK(contents.error->kind == row.kind);
        CHECK(contents.error->offset == place);
        CHECK_FALSE(text_of(*contents.error, "f").empty());
    }
}

TEST_CASE("pcapng: a file cut at any byte never gives more than it holds", "[capture]") {
    const FileBytes file = everything(true);
    const auto& whole = file.bytes();
    std::size_t packets_before = 0;
    for (std::size_t size = 4; size < whole.size(); ++size) {
        INFO("cut after " << size << " bytes");
        const Contents contents = drain(Reader::over(std::span(whole).first(size)));
        CHECK(contents.packets.size() >= packets_before);
        packets_before = contents.packets.size();
        if (contents.error) {
            CHECK(contents.error->kind == ReadErrorKind::Truncated);
            CHECK(contents.error->offset < size);
        }
    }
    CHECK(packets_before == 3);
}
