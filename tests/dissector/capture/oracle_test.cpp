// Every committed capture, read by libpcap as well: the same packets, byte for byte.
#include <catch2/catch.hpp>

#include <fstream>
#include <memory>
#include <set>

#include <pcap/pcap.h>

#include "tests/dissector/capture/files.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

std::vector<Packet> by_libpcap(const std::filesystem::path& path) {
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(
        pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO,
                                                why.data()),
        pcap_close);
    INFO(path << ": " << why.data());
    REQUIRE(file);
    std::vector<Packet> packets;
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    while (pcap_next_ex(file.get(), &header, &bytes) == 1) {
        packets.push_back({.time_ns = header->ts.tv_sec * 1'000'000'000L + header->ts.tv_usec,
                           .original_length = header->len,
                           .bytes = {reinterpret_cast<const char*>(bytes), header->caplen},
                           .comments = {}});
    }
    return packets;
}

void check_same(const std::vector<Packet>& ours, const std::vector<Packet>& theirs) {
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const bool same = ours[i].time_ns == theirs[i].time_ns &&
                          ours[i].original_length == theirs[i].original_length &&
                          ours[i].bytes == theirs[i].bytes;
        if (!same) FAIL_CHECK("packet " << i + 1 << " differs");
    }
}

} // namespace

TEST_CASE("capture: libpcap reads the same packets from every committed file", "[capture]") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(pcap_path(""))) {
        if (entry.path().extension() != ".pcap") continue;
        ++files;
        INFO(entry.path());
        const Contents ours = drain(Reader::open(entry.path()));
        CHECK_FALSE(ours.error);
        check_same(ours.packets, by_libpcap(entry.path()));
    }
    CHECK(files >= 18);
}

TEST_CASE("capture: a committed file cut at every byte of its first 4 KiB ends as it should",
          "[capture]") {
    const auto whole = file_bytes(pcap_path("rxe-rping-cm.pcap"));
    REQUIRE(whole.size() > 4096);
    // Where packets end, from the packet headers alone.
    std::set<std::size_t> ends{24};
    for (std::size_t at = 24; at + 16 <= whole.size();) {
        at += 16 + veriroce::capture::ByteOrder{}.u32(whole, at + 8);
        ends.insert(at);
    }
    for (std::size_t size = 4; size < 4096; ++size) {
        const Contents contents = drain(Reader::over(std::span(whole).first(size)));
        const auto next_end = ends.upper_bound(size);
        const auto packets = std::distance(ends.begin(), next_end) - 1;
        INFO("cut after " << size << " bytes");
        REQUIRE(contents.packets.size() == static_cast<std::size_t>(packets < 0 ? 0 : packets));
        REQUIRE(contents.error.has_value() == !ends.contains(size));
        if (contents.error) REQUIRE(contents.error->kind == ReadErrorKind::Truncated);
    }
}

TEST_CASE("capture: through a pipe a file gives the same packets as mapped", "[capture]") {
    const auto path = pcap_path("rxe-write-corrupt.pcap");
    const TemporaryFolder folder;
    const std::string fifo = folder.file("fifo");
    const std::string command = "mkfifo " + fifo + " && (cat " + path.string() + " > " + fifo +
                                ") & until test -p " + fifo + "; do :; done";
    REQUIRE(std::system(command.c_str()) == 0);
    const Contents piped = drain(Reader::open(fifo));
    CHECK_FALSE(piped.error);
    check_same(piped.packets, drain(Reader::open(path)).packets);
}

TEST_CASE("capture: a big-endian pcapng file gives what libpcap gives", "[capture]") {
    const auto path = pcap_path("rxe-vlan.pcap");
    const auto original = by_libpcap(path);
    FileBytes file = section(true);
    FileBytes interface(true);
    interface.u16(1).u16(0).u32(0).option(9, std::string_view("\x09", 1)).u32(0);
    file.block(1, interface);
    for (const Packet& packet : original) {
        FileBytes body(true);
        const auto time = static_cast<std::uint64_t>(packet.time_ns.value());
        body.u32(0).u32(time >> 32).u32(time & 0xFFFFFFFF);
        body.u32(packet.bytes.size()).u32(packet.original_length).text(packet.bytes);
        file.block(6, body);
    }
    const TemporaryFolder folder;
    std::ofstream(folder.file("big.pcapng"), std::ios::binary)
        .write(reinterpret_cast<const char*>(file.bytes().data()),
               static_cast<std::streamsize>(file.bytes().size()));
    check_same(drain(Reader::open(folder.file("big.pcapng"))).packets,
               by_libpcap(folder.file("big.pcapng")));
}
