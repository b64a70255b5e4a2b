// The classic format: both byte orders, both units of time, and every way to be cut.
#include <catch2/catch.hpp>

#include "tests/dissector/capture/files.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

FileBytes two_packets(std::uint32_t magic, bool big_endian) {
    FileBytes file = pcap_header(magic, big_endian, 276);
    file.u32(1'000).u32(123'456).u32(3).u32(90).text("abc");
    return file.u32(1'001).u32(1).u32(5).u32(5).text("hello");
}

} // namespace

TEST_CASE("pcap: both byte orders and both units of time are read", "[capture]") {
    for (const bool big_endian : {false, true}) {
        const FileBytes micro = two_packets(0xA1B2C3D4, big_endian);
        const FileBytes nano = two_packets(0xA1B23C4D, big_endian);
        const Contents a = drain(Reader::over(micro.bytes()));
        const Contents b = drain(Reader::over(nano.bytes()));
        REQUIRE(a.packets.size() == 2);
        REQUIRE(b.packets.size() == 2);
        CHECK_FALSE(a.error);
        CHECK(a.packets[0].time_ns == 1'000'123'456'000);
        CHECK(b.packets[0].time_ns == 1'000'000'123'456);
        CHECK(a.packets[1].time_ns == 1'001'000'001'000);
        CHECK(a.packets[0].bytes == "abc");
        CHECK(a.packets[0].original_length == 90);
        CHECK(a.packets[1].bytes == "hello");
        CHECK(a.packets[1].link_code == 276);
        CHECK(a.interfaces.at(0).snap_length == 65535);
    }
}

TEST_CASE("pcap: the frame check bits above the link type are not part of it", "[capture]") {
    FileBytes file = pcap_header(0xA1B2C3D4, false, 0x54000001);
    file.u32(0).u32(0).u32(1).u32(1).text("x");
    CHECK(drain(Reader::over(file.bytes())).packets.at(0).link_code == 1);
}

TEST_CASE("pcap: a file cut at any byte gives the packets before the cut, then says where",
          "[capture]") {
    const FileBytes file = two_packets(0xA1B2C3D4, false);
    const auto& whole = file.bytes();
    const std::size_t first_end = 24 + 16 + 3;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        INFO("cut after " << size << " bytes");
        const auto cut = std::span(whole).first(size);
        const Contents contents = drain(Reader::over(cut));
        CHECK(contents.packets.size() == (size >= first_end ? 1U : 0U));
        if (size == 24 || size == first_end) {
            CHECK_FALSE(contents.error);
            continue;
        }
        REQUIRE(contents.error);
        if (size == 0) {
            CHECK(contents.error->kind == ReadErrorKind::Empty);
        } else if (size < 4) {
            CHECK(contents.error->kind == ReadErrorKind::NotACapture);
        } else {
            CHECK(contents.error->kind == ReadErrorKind::Truncated);
            CHECK(contents.error->offset == (size < 24 ? 0 : size < first_end ? 24 : first_end));
        }
    }
}

TEST_CASE("pcap: a packet header that claims gigabytes is damage, not a packet", "[capture]") {
    FileBytes file = pcap_header(0xA1B2C3D4, false);
    file.u32(0).u32(0).u32(1).u32(1).text("x");
    file.u32(0).u32(0).u32(0xFFFFFFF0).u32(1).text("x");
    const Contents contents = drain(Reader::over(file.bytes()));
    CHECK(contents.packets.size() == 1);
    REQUIRE(contents.error);
    CHECK(contents.error->kind == ReadErrorKind::BadRecord);
    CHECK(contents.error->offset == 41);
    CHECK(text_of(*contents.error, "a.pcap") ==
          "a.pcap: damaged: the packet at byte 41 claims 4294967280 bytes; "
          "the packets before it were read");
}

TEST_CASE("capture: what is no capture file is refused with its first bytes", "[capture]") {
    struct Row {
        std::string_view bytes;
        std::string_view sentence;
    };
    const std::vector<Row> rows{
        {"", "f: empty file; give a capture file"},
        {"he", "f: not a pcap or pcapng file (first bytes 6865); give a capture file"},
        {"hello", "f: not a pcap or pcapng file (first bytes 68656c6c); give a capture file"},
        {"\xFD"
         "7zXZ etc.",
         "f: compressed with xz; pipe the output of 'xz -dc f' into this command, and give - as "
         "the file"},
        {"BZh9 etc.", "f: compressed with bzip2; pipe the output of 'bzip2 -dc f' into this "
                      "command, and give - as the file"},
        {"\x04\x22\x4D\x18 etc.",
         "f: compressed with LZ4; pipe the output of 'lz4 -dc f' into this "
         "command, and give - as the file"},
        {"PK\x03\x04 etc.", "f: compressed with zip; pipe the output of 'unzip -p f' into this "
                            "command, and give - as the file"},
    };
    for (const Row& row : rows) {
        const auto reader = Reader::over(std::as_bytes(std::span(row.bytes)));
        REQUIRE_FALSE(reader);
        CHECK(text_of(reader.error(), "f") == row.sentence);
    }
}

TEST_CASE("capture: a file that cannot be opened says why", "[capture]") {
    const auto missing = Reader::open("/nonexistent/x.pcap");
    REQUIRE_FALSE(missing);
    CHECK(text_of(missing.error(), "/nonexistent/x.pcap") ==
          "/nonexistent/x.pcap: No such file or directory");
    const auto folder = Reader::open("/tmp");
    REQUIRE_FALSE(folder);
    CHECK(text_of(folder.error(), "/tmp") == "/tmp: reading failed at byte 0: Is a directory");
}

TEST_CASE("pcap: a file of many pages is the same from the disk as from memory", "[capture]") {
    // Several times what is shown of a map at once; its packets lie across every border.
    FileBytes file = pcap_header(0xA1B23C4D, false);
    for (std::uint32_t i = 0; file.bytes().size() < std::size_t{48} << 20; ++i) {
        const std::size_t size = std::size_t{i} * 7919 % 60000;
        file.u32(1).u32(i).u32(size).u32(size).text(std::string(size, static_cast<char>(i)));
    }
    const TemporaryFolder folder;
    const std::string path = folder.file("large.pcap");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.bytes().data()),
               static_cast<std::streamsize>(file.bytes().size()));
    const Contents mapped = drain(Reader::open(path));
    const Contents held = drain(Reader::over(file.bytes()));
    CHECK_FALSE(mapped.error);
    REQUIRE(mapped.packets.size() == held.packets.size());
    CHECK(std::ranges::equal(mapped.packets, held.packets, [](const Packet& a, const Packet& b) {
        return a.time_ns == b.time_ns && a.bytes == b.bytes;
    }));
    // Left before its end, while its pages are still on their way.
    auto reader = Reader::open(path);
    REQUIRE(reader);
    CHECK(reader->keeps());
    Record record;
    CHECK(reader->next(record).value_or(false));
}
