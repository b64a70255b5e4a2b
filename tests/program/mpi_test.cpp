// `mpirun veriroce-mpi analyze` against `veriroce analyze`: the same output to the byte, for every
// number of processes and wherever the files are divided.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "tests/program/program.hpp"

namespace veriroce::program::test {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kPacketHeader = 16;

// A pcap file of this machine's byte order, in microseconds.
struct PcapBytes {
    std::string header;
    std::vector<std::string> packets; // with their headers

    [[nodiscard]] std::string with(const std::vector<std::string>& some) const {
        std::string all = header;
        for (const std::string& packet : some)
            all += packet;
        return all;
    }
};

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
}

std::string word(std::uint32_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

PcapBytes committed(const std::string& name) {
    std::ifstream file(fmt::format("{}/pcaps/{}", VERIROCE_SOURCE_DIR, name), std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    REQUIRE(all.size() > kFileHeader);
    PcapBytes pcap{.header = all.substr(0, kFileHeader), .packets = {}};
    for (std::size_t at = kFileHeader; at < all.size(); at += pcap.packets.back().size())
        pcap.packets.push_back(all.substr(at, kPacketHeader + word_at(all, at + 8)));
    return pcap;
}

// Every third packet.
std::string third(const PcapBytes& pcap, std::size_t which) {
    std::vector<std::string> some;
    for (std::size_t i = which; i < pcap.packets.size(); i += 3)
        some.push_back(pcap.packets[i]);
    return pcap.with(some);
}

// Times go back within each five packets.
std::string turned(const PcapBytes& pcap) {
    std::vector<std::string> packets = pcap.packets;
    for (std::size_t i = 0; i + 5 <= packets.size(); i += 5) {
        const auto begin = packets.begin() + static_cast<std::ptrdiff_t>(i);
        std::reverse(begin, begin + 5);
    }
    return pcap.with(packets);
}

// In front of each packet a frame whose bytes look like headers of more packets.
std::string with_look_alikes(const PcapBytes& pcap) {
    std::vector<std::string> packets;
    for (const std::string& packet : pcap.packets) {
        const std::string time = packet.substr(0, 8);
        std::string frame(14, '\0');
        for (int i = 0; i < 20; ++i)
            frame += time + word(0) + word(0);
        const auto bytes = static_cast<std::uint32_t>(frame.size());
        packets.push_back(time + word(bytes) + word(bytes) + frame);
        packets.push_back(packet);
    }
    return pcap.with(packets);
}

std::string damaged(const PcapBytes& pcap) {
    std::vector<std::string> packets = pcap.packets;
    packets[packets.size() / 2].replace(8, 4, word(0x7FFFFFFF));
    return pcap.with(packets);
}

// Of mpirun's own words on stderr nothing.
std::multiset<std::string> complaints(const std::string& err) {
    std::multiset<std::string> lines;
    std::istringstream all(err);
    for (std::string line; std::getline(all, line);) {
        if (line.starts_with("veriroce")) lines.insert(line);
    }
    return lines;
}

std::string together(std::size_t processes, const std::string& arguments) {
    return fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                       "ASAN_OPTIONS=detect_leaks=0 " // MPI keeps what it has
                       "mpirun --oversubscribe -n {} veriroce-mpi {}",
                       processes, arguments);
}

void compare(const Workplace& place, const std::string& arguments, std::size_t processes,
             std::size_t piece) {
    CAPTURE(arguments, processes, piece);
    const Outcome alone = place.run("veriroce analyze " + arguments);
    const Outcome shared =
        place.run(together(processes, fmt::format("analyze --piece {} {}", piece, arguments)));
    CHECK_FALSE(alone.out.empty());
    CHECK((shared.out == alone.out)); // not both in full where they differ
    CHECK(shared.code == alone.code);
    CHECK(complaints(shared.err) == complaints(alone.err));
}

TEST_CASE("mpi: processes say together what one says of the committed captures") {
    const Workplace place;
    const std::string files = fmt::format("{}/pcaps/*.pcap", VERIROCE_SOURCE_DIR);
    compare(place, files, 1, 1'000'000);
    compare(place, "--format json " + files, 3, 2000);
}

TEST_CASE("mpi: files that overlap, go back in time, mislead, or end early") {
    const Workplace place;
    const PcapBytes pcap = committed("rxe-write-loss.pcap");
    REQUIRE(pcap.packets.size() > 50);
    place.write("a.pcap", third(pcap, 0));
    place.write("b.pcap", third(pcap, 1));
    place.write("c.pcap", third(pcap, 2));
    place.write("turned.pcap", turned(committed("rxe-rping-cm.pcap")));
    place.write("misleading.pcap", with_look_alikes(committed("rxe-rnr-nak.pcap")));
    place.write("damaged.pcap", damaged(committed("rxe-lengths.pcap")));
    const std::string cut = committed("rxe-atomic.pcap").with(committed("rxe-atomic.pcap").packets);
    place.write("cut.pcap", cut.substr(0, cut.size() - 30));
    place.write("empty.pcap", pcap.header);
    REQUIRE(place.run("gzip b.pcap && veriroce dissect -w c.pcapng c.pcap").code == 0);
    const std::string files = "a.pcap b.pcap.gz c.pcapng turned.pcap misleading.pcap damaged.pcap "
                              "cut.pcap empty.pcap absent.pcap";
    compare(place, "--format json " + files, 2, 1500);
    compare(place, "--format jsonl --rows messages " + files, 4, 700);
    compare(place, "--format csv --rows messages " + files, 1, 300);
    compare(place, "--format csv --rows episodes misleading.pcap", 3, 100);
}

TEST_CASE("mpi: what cannot be divided is refused, once") {
    const Workplace place;
    const Outcome piped = place.run(together(2, "analyze -"));
    CHECK(piped.code == 2);
    CHECK(complaints(piped.err) ==
          std::multiset<std::string>{"veriroce-mpi: analyze: standard input cannot be divided "
                                     "among processes; give file names"});
    CHECK(place.run(together(2, "analyze")).code == 2);
    CHECK(place.run(together(2, "analyze absent.pcap")).code == 3);
    CHECK(place
              .run(together(2, "analyze --sqlite /nowhere/x.db " VERIROCE_SOURCE_DIR
                               "/pcaps/rxe-lengths.pcap"))
              .code == 3);
}

// Both wait at a pipe that has no writer. Then one of them is killed.
TEST_CASE("mpi: a process that dies ends the job with an error") {
    const Workplace place;
    const Outcome outcome =
        place.run("mkfifo pipe && (" + together(2, "analyze pipe") +
                  "; echo ended $?) & sleep 1; "
                  "for try in 1 2 3 4 5 6 7 8 9 10; do "
                  "  killed=$(pgrep -n -f '^veriroce-mpi analyze pipe') && break; sleep 1; done; "
                  "kill -9 $killed; wait");
    CHECK(outcome.out == "ended 137\n");
}

} // namespace
} // namespace veriroce::program::test
