// Compressed captures: the packets of the plain file, however the compression was cut into members
// and however it is damaged.
#include <catch2/catch.hpp>

#include <fstream>

#include "tests/dissector/capture/compress.hpp"
#include "tests/dissector/capture/files.hpp"
#include "tests/part_of.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;
using veriroce::test::kSweepStep;

namespace {

bool same(const Packet& a, const Packet& b) {
    return a.time_ns == b.time_ns && a.bytes == b.bytes && a.original_length == b.original_length;
}

bool begins_with(const std::vector<Packet>& whole, const std::vector<Packet>& part) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), same);
}

void check_same(const Contents& ours, const Contents& plain) {
    CHECK_FALSE(ours.error);
    CHECK(ours.packets.size() == plain.packets.size());
    CHECK(begins_with(plain.packets, ours.packets));
}

std::string write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path.string();
}

std::string sentence(std::span<const std::byte> file) {
    const Contents contents = drain(Reader::over(file));
    REQUIRE(contents.error);
    return text_of(*contents.error, "f");
}

} // namespace

TEST_CASE("compressed: every committed capture reads as its plain file, in one and many members",
          "[capture]") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(pcap_path(""))) {
        if (entry.path().extension() != ".pcap") continue;
        ++files;
        const auto plain = file_bytes(entry.path());
        const Contents expected = drain(Reader::over(plain));
        for (const Compressor& compressor : kCompressors) {
            INFO(entry.path() << " " << compressor.name);
            check_same(drain(Reader::over(compressor.compress(plain))), expected);
            check_same(drain(Reader::over(compressed_in_pieces(compressor, plain, 10'007))),
                       expected);
        }
    }
    CHECK(files >= 18);
}

TEST_CASE("compressed: a pcapng file and many tiny members", "[capture]") {
    FileBytes file = section(false);
    FileBytes interface;
    file.block(1, interface.u16(1).u16(0).u32(0));
    for (std::size_t i = 0; i < 50; ++i) {
        FileBytes body;
        file.block(6, body.u32(0).u32(0).u32(i).u32(5).u32(5).text("hello"));
    }
    const Contents expected = drain(Reader::over(file.bytes()));
    REQUIRE(expected.packets.size() == 50);
    for (const Compressor& compressor : kCompressors)
        check_same(drain(Reader::over(compressed_in_pieces(compressor, file.bytes(), 3))),
                   expected);
}

TEST_CASE("compressed: from a file, and through a pipe", "[capture]") {
    const TemporaryFolder folder;
    const auto plain = file_bytes(pcap_path("rxe-write-corrupt.pcap"));
    const Contents expected = drain(Reader::over(plain));
    for (const Compressor& compressor : kCompressors) {
        const std::string path =
            write(folder.file(compressor.name), compressed_in_pieces(compressor, plain, 30'011));
        check_same(drain(Reader::open(path)), expected);
        const std::string fifo = folder.file(compressor.name + ".fifo");
        const std::string command = "mkfifo " + fifo + " && (cat " + path + " > " + fifo +
                                    ") & until test -p " + fifo + "; do :; done";
        REQUIRE(std::system(command.c_str()) == 0);
        check_same(drain(Reader::open(fifo)), expected);
    }
}

TEST_CASE("compressed: cut at any byte it gives the packets before the cut, then says where",
          "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-send-imm.pcap"));
    const Contents expected = drain(Reader::over(plain));
    REQUIRE(expected.packets.size() > 4);
    for (const Compressor& compressor : kCompressors) {
        const Bytes first = compressor.compress(std::span(plain).first(plain.size() / 2));
        const Bytes whole = compressed_in_pieces(compressor, plain, plain.size() / 2 + 1);
        const std::size_t magic = compressor.name == "gzip" ? 2 : 4;
        std::size_t before = 0;
        for (std::size_t size = magic; size < whole.size(); size += kSweepStep) {
            const Contents contents = drain(Reader::over(std::span(whole).first(size)));
            INFO(compressor.name << " cut after " << size << " bytes");
            REQUIRE(begins_with(expected.packets, contents.packets));
            REQUIRE(contents.packets.size() >= before); // more bytes never give less
            before = contents.packets.size();
            REQUIRE(contents.error);
            if (contents.error->kind == ReadErrorKind::Truncated) { // between two members
                REQUIRE(contents.error->decompressed);
                continue;
            }
            REQUIRE(contents.error->kind == ReadErrorKind::CompressedTruncated);
            REQUIRE(contents.error->offset == size);
        }
        CHECK(before >= expected.packets.size() / 2);
        CHECK(first.size() < whole.size());
        check_same(drain(Reader::over(whole)), expected);
    }
}

TEST_CASE("compressed: with any byte changed it gives a beginning of the packets and an error",
          "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-send-imm.pcap"));
    const Contents expected = drain(Reader::over(plain));
    for (const Compressor& compressor : kCompressors) {
        Bytes compressed = compressor.compress(plain);
        std::size_t noticed = 0;
        std::size_t changed = 0;
        for (std::size_t at = 0; at < compressed.size(); at += kSweepStep) {
            ++changed;
            compressed[at] ^= std::byte{0x10};
            const Contents contents = drain(Reader::over(compressed));
            INFO(compressor.name << " byte " << at);
            if (contents.error) {
                ++noticed;
                REQUIRE_FALSE(text_of(*contents.error, "f").empty());
            }
            compressed[at] ^= std::byte{0x10};
        }
        // gzip's header has bytes that mean nothing here; the checksums see everything else.
        CHECK(noticed + 8 >= changed);
    }
}

TEST_CASE("compressed: what is wrong is said with its place", "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-tc-dscp.pcap"));
    const std::string notes = "these are my notes";
    for (const Compressor& compressor : kCompressors) {
        Bytes compressed = compressor.compress(plain);
        const std::string size = std::to_string(compressed.size());
        CHECK(sentence(std::span(compressed).first(compressed.size() - 1)) ==
              "f: the " + compressor.name + " data ends at byte " +
                  std::to_string(compressed.size() - 1) +
                  " before it is complete; the packets before it were read");
        CHECK(sentence(compressor.compress(std::as_bytes(std::span(notes)))) ==
              "f: after decompression not a pcap or pcapng file (first bytes 74686573); give a "
              "capture "
              "file");
        CHECK(sentence(compressor.compress({})) ==
              "f: empty after decompression; give a capture file");
        CHECK(sentence(compressor.compress(std::span(plain).first(plain.size() - 1))) ==
              "f: the file ends in the middle of a packet or header at byte 2172 of the "
              "decompressed data; "
              "the packets before it were read");
        compressed.push_back(std::byte{'x'});
        CHECK(sentence(compressed) == "f: the data at byte " + size + " is not compressed with " +
                                          compressor.name + "; the packets before it were read");
        CHECK(drain(Reader::over(compressed)).packets.size() == 3);
    }
    Bytes damaged = gzip(plain);
    damaged[damaged.size() - 8] ^= std::byte{1};
    CHECK(sentence(damaged) ==
          "f: damaged: the gzip data before byte " + std::to_string(damaged.size() - 4) +
              " cannot be decompressed (incorrect data check); the packets before it were read");
}
