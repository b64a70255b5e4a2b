#include <catch2/catch.hpp>

#include "dissector/capture/merged_frames.hpp"
#include "tests/dissector/capture/files.hpp"

namespace veriroce::capture::test {
namespace {

// A pcap file of frames of one byte, which names them, at these times in microseconds.
std::vector<std::byte> pcap_of(const std::vector<std::pair<std::uint32_t, char>>& frames) {
    FileBytes file;
    file.u32(0xA1B2C3D4).u16(2).u16(4).u32(0).u32(0).u32(65'535).u32(1);
    for (const auto& [us, name] : frames)
        file.u32(0).u32(us).u32(1).u32(1).text(std::string_view(&name, 1));
    return file.bytes();
}

struct Read {
    std::string names;
    std::uint64_t last_number = 0;
    std::size_t errors = 0;
};

Read merged(const std::vector<std::vector<std::byte>>& files) {
    std::vector<Reader> readers;
    for (const auto& bytes : files) {
        auto reader = Reader::over(bytes);
        REQUIRE(reader);
        readers.push_back(std::move(*reader));
    }
    MergedFrames frames(std::move(readers), 4);
    Read read;
    for (auto some = frames.next(); !some.empty(); some = frames.next()) {
        for (const decode::Dissection& frame : some) {
            read.names += static_cast<char>(frame.frame.bytes[0]);
            CHECK(frame.frame.number == ++read.last_number);
        }
    }
    CHECK(frames.next().empty());
    read.errors = frames.errors().size();
    return read;
}

} // namespace

TEST_CASE("merged frames: files are one capture in the order of time", "[capture]") {
    const auto early = pcap_of({{1, 'a'}, {2, 'b'}, {3, 'c'}});
    const auto late = pcap_of({{10, 'x'}, {11, 'y'}});
    CHECK(merged({early, late}).names == "abcxy");
    CHECK(merged({late, early}).names == "abcxy");
    const auto beside = pcap_of({{2, 'p'}, {3, 'q'}, {10, 'r'}, {12, 's'}});
    CHECK(merged({late, beside, early}).names == "abpqcxrys");
    CHECK(merged({early}).names == "abc");
    CHECK(merged({}).names.empty());
}

TEST_CASE("merged frames: each file keeps its order, and gives what is before an error",
          "[capture]") {
    const auto jumps = pcap_of({{5, 'a'}, {1, 'b'}, {6, 'c'}});
    const auto other = pcap_of({{2, 'x'}, {9, 'y'}});
    CHECK(merged({jumps, other}).names == "xabcy");
    auto cut = pcap_of({{1, 'a'}, {2, 'b'}});
    cut.pop_back();
    const Read read = merged({cut, other});
    CHECK(read.names == "axy");
    CHECK(read.errors == 1);
}

} // namespace veriroce::capture::test
