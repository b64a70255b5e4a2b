// Files of every format, cut at every byte of their first 64 KiB: the packets before the cut, then
// an error that says where; never more, never a packet in part.
#include <catch2/catch.hpp>

#include <random>

#include "tests/dissector/capture/compress.hpp"
#include "tests/dissector/capture/files.hpp"
#include "tests/part_of.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;
using veriroce::test::kSweepStep;

namespace {

constexpr std::size_t kCutUpTo = std::size_t{64} * 1024;

// Bytes that do not compress, so that a compressed file is as long as a plain one.
std::string noise(std::mt19937& random, std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text)
        c = static_cast<char>(random());
    return text;
}

// Where a file may end without an error, and how many packets stand before that.
struct Made {
    FileBytes file;
    std::vector<std::size_t> ends;          // rising; the first is that of the file's own header
    std::vector<std::size_t> packet_starts; // of what a cut inside it is an error about
};

void end_here(Made& made, std::size_t start) {
    made.packet_starts.push_back(start);
    made.ends.push_back(made.file.bytes().size());
}

Made pcap_file(std::uint32_t magic, bool big_endian, std::uint32_t link) {
    std::mt19937 random(magic + link);
    Made made{.file = pcap_header(magic, big_endian, link), .ends = {24}, .packet_starts = {}};
    for (std::uint32_t i = 0; made.file.bytes().size() <= kCutUpTo; ++i) {
        const std::size_t start = made.file.bytes().size();
        const std::size_t bytes = 60 + random() % 1400;
        made.file.u32(i).u32(7).u32(bytes).u32(bytes + i % 2).text(noise(random, bytes));
        end_here(made, start);
    }
    return made;
}

Made pcapng_file(bool big_endian) {
    std::mt19937 random(big_endian ? 1 : 2);
    Made made{.file = section(big_endian), .ends = {}, .packet_starts = {}};
    made.ends.push_back(made.file.bytes().size());
    FileBytes interface(big_endian);
    made.file.block(1, interface.u16(1).u16(0).u32(0));
    for (std::uint32_t i = 0; made.file.bytes().size() <= kCutUpTo; ++i) {
        const std::size_t start = made.file.bytes().size();
        const std::size_t bytes = 60 + random() % 1400;
        FileBytes body(big_endian);
        body.u32(0).u32(0).u32(i).u32(bytes).u32(bytes).text(noise(random, bytes)).pad();
        made.file.block(6, body.option(1, "a comment").u32(0));
        end_here(made, start);
    }
    return made;
}

// What a reader gives of the bytes, without copies.
struct Read {
    std::size_t packets = 0;
    bool inside = true; // each packet is completely in the bytes
    std::optional<ReadError> error;
};
Read read(std::span<const std::byte> bytes) {
    Read result;
    auto reader = Reader::over(bytes);
    if (!reader) {
        result.error = reader.error();
        return result;
    }
    Record record;
    for (;;) {
        const auto more = reader->next(record);
        if (!more) result.error = more.error();
        if (!more || !*more) return result;
        ++result.packets;
        const auto* end = record.bytes.data() + record.bytes.size();
        if (record.bytes.data() < bytes.data() || end > bytes.data() + bytes.size()) {
            result.inside = false;
        }
    }
}

void cut_everywhere(const std::string& name, const Made& made, std::size_t extra_end) {
    const std::span<const std::byte> whole(made.file.bytes());
    REQUIRE(whole.size() > kCutUpTo);
    std::size_t packets = 0;
    for (std::size_t size = 4; size <= kCutUpTo; ++size) {
        while (packets < made.packet_starts.size() && made.ends[packets + 1] <= size)
            ++packets;
        const Read result = read(whole.first(size));
        const bool whole_packets = size == made.ends[packets] || size == extra_end;
        const bool right = result.inside && result.packets == packets &&
                           result.error.has_value() != whole_packets &&
                           (!result.error || (result.error->kind == ReadErrorKind::Truncated &&
                                              result.error->offset <= size));
        if (!right) FAIL_CHECK(name << " cut after " << size << " bytes");
    }
    CHECK(packets > 40);
}

// Compressed in members of this many bytes, and cut at every byte of a part of the file. What is
// read is decompressed from the file's beginning each time, so no test takes more than a part.
void cut_compressed(const Compressor& compressor, std::size_t member, std::size_t from,
                    std::size_t up_to) {
    const Made made = pcap_file(0xA1B2C3D4, false, 1);
    const auto compressed = compressed_in_pieces(compressor, made.file.bytes(), member);
    REQUIRE(compressed.size() > up_to);
    std::size_t before = 0;
    for (std::size_t size = from; size <= up_to; size += kSweepStep) {
        const Read result = read(std::span(compressed).first(size));
        // More bytes never give less; at a member's end the plain file is cut instead.
        const bool right = result.packets >= before &&
                           result.packets <= made.packet_starts.size() && result.error &&
                           (result.error->kind == ReadErrorKind::Truncated ||
                            result.error->kind == ReadErrorKind::CompressedTruncated);
        before = result.packets;
        if (!right) FAIL_CHECK(compressor.name << " cut after " << size << " bytes");
    }
    CHECK(before + 5 > made.packet_starts.size() * up_to / kCutUpTo);
}

constexpr std::size_t kOneMember = std::size_t{1} << 20;
constexpr std::size_t kHalf = kCutUpTo / 2;

} // namespace

TEST_CASE("cut: pcap of both byte orders and both units of time, and of Endace records",
          "[capture]") {
    cut_everywhere("pcap us", pcap_file(0xA1B2C3D4, false, 1), 0);
    cut_everywhere("pcap us, big-endian", pcap_file(0xA1B2C3D4, true, 1), 0);
    cut_everywhere("pcap ns", pcap_file(0xA1B23C4D, false, 1), 0);
    cut_everywhere("pcap ns, big-endian", pcap_file(0xA1B23C4D, true, 1), 0);
    cut_everywhere("pcap of ERF", pcap_file(0xA1B2C3D4, false, 197), 0);
}

TEST_CASE("cut: pcapng of both byte orders", "[capture]") {
    for (const bool big_endian : {false, true}) {
        const Made made = pcapng_file(big_endian);
        cut_everywhere(big_endian ? "pcapng, big-endian" : "pcapng", made,
                       made.packet_starts.front()); // after the interface
    }
}

TEST_CASE("cut: a plain file of less than its magic bytes is no capture", "[capture]") {
    const Made made = pcap_file(0xA1B2C3D4, false, 1);
    for (std::size_t size = 0; size < 4; ++size) {
        const Read result = read(std::span(made.file.bytes()).first(size));
        REQUIRE(result.error);
        CHECK(result.error->kind ==
              (size == 0 ? ReadErrorKind::Empty : ReadErrorKind::NotACapture));
    }
}

TEST_CASE("cut: gzip, the first half", "[capture]") {
    cut_compressed(kCompressors.at(0), kOneMember, 4, kHalf);
}

TEST_CASE("cut: gzip, the second half", "[capture]") {
    cut_compressed(kCompressors.at(0), kOneMember, kHalf, kCutUpTo);
}

TEST_CASE("cut: zstd, the first half", "[capture]") {
    cut_compressed(kCompressors.at(1), kOneMember, 4, kHalf);
}

TEST_CASE("cut: zstd, the second half", "[capture]") {
    cut_compressed(kCompressors.at(1), kOneMember, kHalf, kCutUpTo);
}

TEST_CASE("cut: many short members, of which a few are enough", "[capture]") {
    for (const Compressor& compressor : kCompressors)
        cut_compressed(compressor, 4096, 4, 3 * 4096);
}
