// Compressed captures: the packets of the plain file, however the packing was cut into members and
// however it is damaged.
#include <catch2/catch.hpp>

#include <fstream>

#include "tests/dissector/capture/files.hpp"
#include "tests/dissector/capture/packing.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

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

TEST_CASE("packed: every committed capture reads as its plain file, in one and many members",
          "[capture]") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(pcap_path(""))) {
        if (entry.path().extension() != ".pcap") continue;
        ++files;
        const auto plain = file_bytes(entry.path());
        const Contents expected = drain(Reader::over(plain));
        for (const Packer& packer : kPackers) {
            INFO(entry.path() << " " << packer.name);
            check_same(drain(Reader::over(packer.pack(plain))), expected);
            check_same(drain(Reader::over(packed_in_pieces(packer, plain, 10'007))), expected);
        }
    }
    CHECK(files >= 18);
}

TEST_CASE("packed: a pcapng file and many tiny members", "[capture]") {
    FileBytes file = section(false);
    FileBytes interface;
    file.block(1, interface.u16(1).u16(0).u32(0));
    for (std::size_t i = 0; i < 50; ++i) {
        FileBytes body;
        file.block(6, body.u32(0).u32(0).u32(i).u32(5).u32(5).text("hello"));
    }
    const Contents expected = drain(Reader::over(file.bytes()));
    REQUIRE(expected.packets.size() == 50);
    for (const Packer& packer : kPackers)
        check_same(drain(Reader::over(packed_in_pieces(packer, file.bytes(), 3))), expected);
}

TEST_CASE("packed: from a file, and through a pipe", "[capture]") {
    const TemporaryFolder folder;
    const auto plain = file_bytes(pcap_path("rxe-write-corrupt.pcap"));
    const Contents expected = drain(Reader::over(plain));
    for (const Packer& packer : kPackers) {
        const std::string path =
            write(folder.file(packer.name), packed_in_pieces(packer, plain, 30'011));
        check_same(drain(Reader::open(path)), expected);
        const std::string fifo = folder.file(packer.name + ".fifo");
        const std::string command = "mkfifo " + fifo + " && (cat " + path + " > " + fifo +
                                    ") & until test -p " + fifo + "; do :; done";
        REQUIRE(std::system(command.c_str()) == 0);
        check_same(drain(Reader::open(fifo)), expected);
    }
}

TEST_CASE("packed: cut at any byte it gives the packets before the cut, then says where",
          "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-send-imm.pcap"));
    const Contents expected = drain(Reader::over(plain));
    REQUIRE(expected.packets.size() > 4);
    for (const Packer& packer : kPackers) {
        const Bytes first = packer.pack(std::span(plain).first(plain.size() / 2));
        const Bytes whole = packed_in_pieces(packer, plain, plain.size() / 2 + 1);
        const std::size_t magic = packer.name == "gzip" ? 2 : 4;
        std::size_t before = 0;
        for (std::size_t size = magic; size < whole.size(); ++size) {
            const Contents contents = drain(Reader::over(std::span(whole).first(size)));
            INFO(packer.name << " cut after " << size << " bytes");
            REQUIRE(begins_with(expected.packets, contents.packets));
            REQUIRE(contents.packets.size() >= before); // more bytes never give less
            before = contents.packets.size();
            REQUIRE(contents.error);
            if (contents.error->kind == ReadErrorKind::Truncated) { // between two members
                REQUIRE(contents.error->unpacked);
                continue;
            }
            REQUIRE(contents.error->kind == ReadErrorKind::PackedTruncated);
            REQUIRE(contents.error->offset == size);
        }
        CHECK(before >= expected.packets.size() / 2);
        CHECK(first.size() < whole.size());
        check_same(drain(Reader::over(whole)), expected);
    }
}

TEST_CASE("packed: with any byte changed it gives a beginning of the packets and an error",
          "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-send-imm.pcap"));
    const Contents expected = drain(Reader::over(plain));
    for (const Packer& packer : kPackers) {
        Bytes packed = packer.pack(plain);
        std::size_t noticed = 0;
        for (std::size_t at = 0; at < packed.size(); ++at) {
            packed[at] ^= std::byte{0x10};
            const Contents contents = drain(Reader::over(packed));
            INFO(packer.name << " byte " << at);
            if (contents.error) {
                ++noticed;
                REQUIRE_FALSE(text_of(*contents.error, "f").empty());
            }
            packed[at] ^= std::byte{0x10};
        }
        // gzip's header has bytes that mean nothing here; the checksums see everything else.
        CHECK(noticed + 8 >= packed.size());
    }
}

TEST_CASE("packed: what is wrong is said with its place", "[capture]") {
    const auto plain = file_bytes(pcap_path("rxe-tc-dscp.pcap"));
    const std::string notes = "these are my notes";
    for (const Packer& packer : kPackers) {
        Bytes packed = packer.pack(plain);
        const std::string size = std::to_string(packed.size());
        CHECK(sentence(std::span(packed).first(packed.size() - 1)) ==
              "f: the " + packer.name + " data end at byte " + std::to_string(packed.size() - 1) +
                  " before they are complete; the packets before it were read");
        CHECK(sentence(packer.pack(std::as_bytes(std::span(notes)))) ==
              "f: once unpacked not a pcap or pcapng file (first bytes 74686573); give a capture "
              "file");
        CHECK(sentence(packer.pack({})) == "f: empty once unpacked; give a capture file");
        CHECK(sentence(packer.pack(std::span(plain).first(plain.size() - 1))) ==
              "f: the file ends in the middle of what begins at byte 2172 of what was unpacked; "
              "the packets before it were read");
        packed.push_back(std::byte{'x'});
        CHECK(sentence(packed) == "f: what follows at byte " + size + " is not compressed with " +
                                      packer.name + "; the packets before it were read");
        CHECK(drain(Reader::over(packed)).packets.size() == 3);
    }
    Bytes damaged = gzip(plain);
    damaged[damaged.size() - 8] ^= std::byte{1};
    CHECK(sentence(damaged) ==
          "f: damaged: the gzip data before byte " + std::to_string(damaged.size() - 4) +
              " cannot be unpacked (incorrect data check); the packets before it were read");
}
