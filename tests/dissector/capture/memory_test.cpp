// How much of a large file counts as memory of the process, and input that never ends.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <unistd.h>

#include "tests/dissector/capture/files.hpp"
#include "tests/text.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// Bytes of files that are mapped and resident.
std::size_t resident_file_bytes() {
    const std::string status = veriroce::house::read_text("/proc/self/status");
    return std::stoull(status.substr(status.find("RssFile:") + 8)) * 1024;
}

} // namespace

TEST_CASE("memory: pages far behind the reader are given back", "[capture]") {
    const veriroce::house::TemporaryFolder folder;
    const FileBytes header = pcap_header(0xA1B2C3D4, false, 1);
    const std::string path =
        folder.file("large.pcap",
                    {reinterpret_cast<const char*>(header.bytes().data()), header.bytes().size()});
    // Zeros: packets of no bytes. The file system stores none of them.
    constexpr std::size_t packets = 256 * mebibyte / 16;
    std::filesystem::resize_file(path, header.bytes().size() + packets * 16);
    const std::size_t before = resident_file_bytes();
    auto reader = Reader::open(path);
    REQUIRE(reader.has_value());
    CHECK(reader->keeps());
    Record record;
    REQUIRE(reader->next(record).value());
    const veriroce::wire::Bytes first = record.bytes;
    std::size_t most = 0;
    std::size_t count = 1;
    while (reader->next(record).value()) {
        if (++count % 100'000 == 0) most = std::max(most, resident_file_bytes());
    }
    CHECK(count == packets);
    CHECK(most < before + 100 * mebibyte);
    // What was given back can still be read.
    CHECK(std::ranges::equal(std::span(first.data() - 16, 16), std::array<std::byte, 16>{}));
}

TEST_CASE("memory: a pipe that has no more ends when it is told to stop", "[capture]") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    FileBytes file = pcap_header(0xA1B2C3D4, false, 1);
    file.u32(1).u32(2).u32(5).u32(5).text("hello").u32(1).u32(3); // and half of a header
    const auto& bytes = file.bytes();
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    std::atomic<bool> stop = false;
    auto reader = Reader::open("/dev/fd/" + std::to_string(ends[0]), &stop);
    REQUIRE(reader.has_value());
    Record record;
    CHECK(reader->at_hand());
    REQUIRE(reader->next(record).value());
    CHECK_FALSE(reader->at_hand());
    stop = true;
    const auto more = reader->next(record); // returns, although the pipe is open
    CHECK((!more || !*more));
    ::close(ends[0]);
    ::close(ends[1]);
}
