#include <catch2/catch.hpp>

#include <string>

#include "dissector/capture/decoded_frames.hpp"
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
    DecodedFrames frames(std::move(readers), {.decode = {}, .threads = 2});
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

// A pcapng file with `count` frames of 40 to 64 bytes that no protocol has, and an interface before
// every hundredth: the first four bytes are the frame's number.
FileBytes pcapng_of(std::uint32_t count) {
    FileBytes file;
    file.block(0x0A0D0D0A, FileBytes().u32(0x1A2B3C4D).u16(1).u16(0).u64(~std::uint64_t{0}));
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i % 100 == 0) file.block(1, FileBytes().u16(1).u16(0).u32(0));
        const std::uint32_t bytes = 40 + i % 25;
        FileBytes body;
        body.u32(i / 100).u32(0).u32(i).u32(bytes).u32(bytes).u32(i);
        body.text(std::string(bytes - 4, 'x'));
        file.block(6, body);
    }
    return file;
}

DecodedFrames frames_of(const std::vector<std::byte>& bytes, DecodedFrames::Options options) {
    auto reader = Reader::over(bytes);
    REQUIRE(reader);
    return {std::move(*reader), std::move(options)};
}

} // namespace

TEST_CASE("decoded frames: every number of threads gives the same frames in order", "[capture]") {
    constexpr std::uint32_t kFrames = 3000;
    auto file = pcapng_of(kFrames).bytes();
    file.pop_back(); // ends inside the last frame
    for (const std::uint32_t threads : {1U, 2U, 3U, 8U}) {
        INFO(threads << " threads");
        DecodedFrames frames = frames_of(file, {.decode = {}, .threads = threads});
        std::uint32_t seen = 0;
        bool right = true;
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            for (std::size_t i = 0; i < some.size(); ++i, ++seen) {
                const decode::FrameFacts& frame = some[i].frame;
                right = right && ByteOrder{}.u32(frame.bytes, 0) == seen &&
                        frame.number == seen + 1 && frames.record(i).interface == seen / 100 &&
                        frames.interfaces(i).size() == seen / 100 + 1 && frames.selected(i) &&
                        some[i].layers.size() > 1;
            }
        }
        CHECK(right);
        CHECK(seen == kFrames - 1);
        REQUIRE(frames.errors().size() == 1);
        CHECK(frames.errors().front().second.kind == ReadErrorKind::Truncated);
        CHECK(frames.next().empty());
    }
}

TEST_CASE("decoded frames: each share sees every frame in order, before the caller", "[capture]") {
    constexpr std::uint32_t kFrames = 5000;
    constexpr std::size_t kShares = 3;
    const auto file = pcapng_of(kFrames).bytes();
    for (const std::uint32_t threads : {1U, 2U, 3U, 8U}) {
        INFO(threads << " threads");
        struct Seen {
            std::uint64_t last = 0;
            bool right = true;
        };
        std::array<Seen, kShares> shares;
        std::vector<std::array<std::uint64_t, kShares>> by_place(DecodedFrames::places(threads));
        const auto observe = [&](std::size_t share, std::size_t place, auto some) {
            Seen& seen = shares[share];
            for (const decode::Dissection& frame : some)
                seen.right = seen.right && frame.frame.number == ++seen.last;
            by_place[place][share] = seen.last;
        };
        DecodedFrames frames = frames_of(
            file, {.decode = {}, .threads = threads, .shares = kShares, .observe = observe});
        std::uint64_t last = 0;
        bool right = true;
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            last += some.size();
            for (const std::uint64_t seen : by_place[frames.place()])
                right = right && seen == last;
        }
        CHECK(right);
        CHECK(last == kFrames);
        for (const Seen& seen : shares)
            CHECK((seen.right && seen.last == kFrames));
    }
}

TEST_CASE("decoded frames: what is not selected is not decoded, and what is may be cut",
          "[capture]") {
    const auto file = pcapng_of(1000).bytes();
    for (const std::uint32_t threads : {1U, 3U}) {
        const auto even = [](Record& record) {
            record.bytes = record.bytes.first(20);
            return ByteOrder{}.u32(record.bytes, 0) % 2 == 0;
        };
        DecodedFrames frames = frames_of(file, {.decode = {}, .threads = threads, .select = even});
        std::uint32_t seen = 0;
        bool right = true;
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            for (std::size_t i = 0; i < some.size(); ++i, ++seen) {
                right = right && frames.selected(i) == (seen % 2 == 0) &&
                        frames.record(i).bytes.size() == 20 &&
                        (seen % 2 != 0 || some[i].frame.bytes.size() == 20);
            }
        }
        CHECK(right);
        CHECK(seen == 1000);
    }
}

TEST_CASE("decoded frames: the caller may stop in the middle", "[capture]") {
    const auto file = pcapng_of(5000).bytes();
    for (int batches = 0; batches < 20; ++batches) {
        DecodedFrames frames = frames_of(file, {.decode = {}, .threads = 4});
        for (int i = 0; i < batches; ++i)
            CHECK_FALSE(frames.next().empty());
    }
}

TEST_CASE("decoded frames: files are one capture in the order of time", "[capture]") {
    const auto early = pcap_of({{1, 'a'}, {2, 'b'}, {3, 'c'}});
    const auto late = pcap_of({{10, 'x'}, {11, 'y'}});
    CHECK(merged({early, late}).names == "abcxy");
    CHECK(merged({late, early}).names == "abcxy");
    const auto beside = pcap_of({{2, 'p'}, {3, 'q'}, {10, 'r'}, {12, 's'}});
    // Of equal times the earlier file's comes first, wherever the reader is.
    CHECK(merged({late, beside, early}).names == "apbqcxrys");
    CHECK(merged({late, early, beside}).names == "abpcqxrys");
    CHECK(merged({early}).names == "abc");
    CHECK(merged({}).names.empty());
}

TEST_CASE("decoded frames: each file keeps its order, and gives what is before an error",
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
