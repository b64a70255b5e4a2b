// Our reader and libpcap read what the writer wrote; an unfinished file leaves nothing behind.
#include <catch2/catch.hpp>

#include <pcap/pcap.h>

#include "dissector/capture/pcapng_writer.hpp"
#include "tests/dissector/capture/files.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

} // namespace

TEST_CASE("pcapng writer: packets, times, comments and direction come back", "[capture]") {
    const TemporaryFolder folder;
    const std::string path = folder.file("out.pcapng");
    const std::vector<std::string> comments{"RSP-03: a second NAK", "two"};
    {
        auto writer = PcapngWriter::create(path, "test");
        REQUIRE(writer);
        REQUIRE(writer->add_interface({.link_code = 1, .name = "a"}).value() == 0);
        REQUIRE(writer->add_interface({.link_code = 1, .name = "b"}).value() == 1);
        REQUIRE(writer->write({.interface = 1,
                               .time_ns = 1'700'000'000'123'456'789,
                               .bytes = bytes_of("hello"),
                               .original_length = 64,
                               .direction = Direction::Inbound,
                               .comments = comments}));
        REQUIRE(writer->write({.interface = 0, .time_ns = 5, .bytes = bytes_of("four")}));
        CHECK_FALSE(std::filesystem::exists(path));
        REQUIRE(writer->finish());
    }
    CHECK(folder.entries() == 1);
    const Contents contents = drain(Reader::open(path));
    CHECK_FALSE(contents.error);
    REQUIRE(contents.packets.size() == 2);
    CHECK(contents.packets[0].time_ns == 1'700'000'000'123'456'789);
    CHECK(contents.packets[0].bytes == "hello");
    CHECK(contents.packets[0].original_length == 64);
    CHECK(contents.packets[0].interface == 1);
    CHECK(contents.packets[0].comments == comments);
    CHECK(contents.packets[1].original_length == 4);
    CHECK(contents.interfaces.at(1).name == "b");

    auto reader = Reader::open(path);
    Record record;
    REQUIRE(reader->next(record).value());
    CHECK(direction_of(record) == Direction::Inbound);

    std::array<char, PCAP_ERRBUF_SIZE> why{};
    pcap_t* file = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO,
                                                           why.data());
    REQUIRE(file != nullptr);
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    REQUIRE(pcap_next_ex(file, &header, &bytes) == 1);
    CHECK(header->ts.tv_sec == 1'700'000'000);
    CHECK(header->ts.tv_usec == 123'456'789);
    CHECK(header->caplen == 5);
    pcap_close(file);
}

TEST_CASE("pcapng writer: many packets pass through the buffer unharmed", "[capture]") {
    const TemporaryFolder folder;
    const std::string path = folder.file("many.pcapng");
    auto writer = PcapngWriter::create(path, "test");
    REQUIRE(writer);
    REQUIRE(writer->add_interface({}));
    const std::string payload(1'001, 'p');
    constexpr std::size_t kPackets = 2'000;
    for (std::size_t i = 0; i < kPackets; ++i) {
        REQUIRE(
            writer->write({.time_ns = static_cast<std::int64_t>(i), .bytes = bytes_of(payload)}));
    }
    REQUIRE(writer->finish());
    const Contents contents = drain(Reader::open(path));
    REQUIRE(contents.packets.size() == kPackets);
    CHECK(contents.packets.back().time_ns == kPackets - 1);
    CHECK(contents.packets.back().bytes == payload);
}

TEST_CASE("pcapng writer: not finished, it leaves the old file as it was", "[capture]") {
    const TemporaryFolder folder;
    const std::string path = folder.file("kept.pcapng");
    std::ofstream(path) << "old";
    {
        auto writer = PcapngWriter::create(path, "test");
        REQUIRE(writer);
        REQUIRE(writer->add_interface({}));
    }
    CHECK(folder.entries() == 1);
    CHECK(file_bytes(path).size() == 3);
}

TEST_CASE("pcapng writer: errors are values with a sentence", "[capture]") {
    const auto nowhere = PcapngWriter::create("/nonexistent/x.pcapng", "test");
    REQUIRE_FALSE(nowhere);
    CHECK(text_of(nowhere.error(), "/nonexistent/x.pcapng") ==
          "/nonexistent/x.pcapng: cannot be created: No such file or directory");

    auto full = PcapngWriter::create("/dev/full", "test");
    REQUIRE(full);
    const auto finished = full->finish();
    REQUIRE_FALSE(finished);
    CHECK(text_of(finished.error(), "/dev/full") ==
          "/dev/full: writing failed: No space left on device");

    const TemporaryFolder folder;
    auto writer = PcapngWriter::create(folder.file("x.pcapng"), "test");
    REQUIRE(writer);
    CHECK(writer->write({.interface = 0}).error().kind == WriteErrorKind::UnknownInterface);
    REQUIRE(writer->add_interface({}));
    const std::vector<std::string> long_comment{std::string(70'000, 'c')};
    CHECK(writer->write({.comments = long_comment}).error().kind == WriteErrorKind::CommentTooLong);
}
