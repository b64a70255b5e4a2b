// -w: what was written is read back by this program, by capinfos and by tshark.
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>

#include <unistd.h>

#include "dissector/capture/pcapng_writer.hpp"
#include "dissector/capture/reader.hpp"
#include "tests/dissector/dissect/command.hpp"

using namespace veriroce;
using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

std::string output_of(const std::string& command) {
    std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 4096> piece;
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
        text.append(piece.data(), got);
    INFO(command);
    REQUIRE(::pclose(pipe) == 0);
    return text;
}

std::string what_stays(const std::string& file) {
    const Ran result =
        ran({.files = {file},
             .format = Format::Fields,
             .fields = {"frame.time_epoch", "frame.len", "frame.cap_len", "ip.src", "ipv6.src",
                        "infiniband.bth.psn", "infiniband.invariant.crc"}});
    REQUIRE(result.code == 0);
    return result.out;
}

std::vector<std::vector<std::string>> comments_in(const std::string& file) {
    auto reader = capture::Reader::open(file);
    REQUIRE(reader);
    std::vector<std::vector<std::string>> all;
    capture::Record record;
    while (reader->next(record).value()) {
        all.emplace_back();
        for (const auto comment : capture::comments_of(record))
            all.back().emplace_back(comment);
    }
    return all;
}

} // namespace

TEST_CASE("write: a file that is read is never written, whatever its name", "[dissect]") {
    const TemporaryFolder folder;
    const std::filesystem::path read = folder.path() / "in.pcap";
    std::filesystem::copy_file(pcap("rxe-rnr-nak.pcap"), read);
    std::filesystem::create_symlink(read, folder.path() / "other-name");
    const auto bytes = std::filesystem::file_size(read);
    for (const std::string name : {"in.pcap", "./in.pcap", "other-name"}) {
        const Ran result = ran({.files = {read}, .write = folder.path() / name});
        CHECK(result.code == 2);
        CHECK(result.err.find("is read here; name another file") != std::string::npos);
        CHECK(std::filesystem::file_size(read) == bytes);
    }
}

TEST_CASE("write: packets and times are kept, findings become comments", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    const std::string original = pcap("rxe-write-corrupt.pcap");
    const Ran result = ran({.files = {original}, .write = written});
    CHECK(result.code == 0);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
    CHECK(what_stays(written) == what_stays(original));
    std::size_t with_comments = 0;
    for (const auto& comments : comments_in(written)) {
        if (comments.empty()) continue;
        ++with_comments;
        CHECK(comments.size() == 1);
        CHECK(comments[0].starts_with("error CRC-01: the ICRC is wrong (found 0x"));
    }
    CHECK(with_comments == 12);
}

TEST_CASE("write: capinfos and tshark read it, comments and all", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    CHECK(ran({.files = {pcap("rxe-write-corrupt.pcap")}, .write = written}).code == 0);
    CHECK(output_of("capinfos -c -M " + written).find("Number of packets:   370") !=
          std::string::npos);
    const std::string comments =
        output_of("WIRESHARK_CONFIG_DIR=" + folder.path().string() + " tshark -n -r " + written +
                  " -Y frame.comment -T fields -e frame.number -e frame.comment");
    const auto lines = lines_of(comments);
    REQUIRE(lines.size() == 12);
    CHECK(lines[0] == "15\terror CRC-01: the ICRC is wrong (found 0x9fb2b1f1, expected "
                      "0x2d67dd2c), bytes 1078..1081");
}

TEST_CASE("write: the display filter and -c choose what is written", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    CHECK(ran({.files = {pcap("rxe-write-corrupt.pcap")},
               .filter = "roce.icrc.status == bad",
               .write = written})
              .code == 0);
    CHECK(comments_in(written).size() == 12);
    CHECK(ran({.files = {pcap("rxe-write-corrupt.pcap")},
               .filter = "roce.icrc.status == bad",
               .write = written,
               .max_packets = 46})
              .code == 0);
    CHECK(comments_in(written).size() == 3);
    CHECK(ran({.files = {pcap("rxe-atomic.pcap")}, .filter = "tcp", .write = written}).code == 0);
    CHECK(comments_in(written).empty());
}

TEST_CASE("write: comments, interfaces, link types and directions of the original are kept, and a "
          "second time adds nothing",
          "[dissect]") {
    const TemporaryFolder folder;
    const std::string first = folder.path() / "first.pcapng";
    const std::string second = folder.path() / "second.pcapng";
    const std::string third = folder.path() / "third.pcapng";
    {
        auto reader = capture::Reader::open(pcap("userspace-peer-rc.pcap"));
        capture::Record record;
        REQUIRE(reader->next(record).value());
        auto writer = capture::PcapngWriter::create(first, "test");
        REQUIRE(writer);
        REQUIRE(writer->add_interface({.link_code = 101, .name = "unused"}));
        REQUIRE(writer->add_interface(
            {.link_code = 1, .snap_length = 9000, .name = "eth7", .description = "the DUT's"}));
        const std::vector<std::string> comments{"what the operator saw", ""};
        REQUIRE(writer->write({.interface = 1,
                               .time_ns = 1'700'000'000'123'456'789,
                               .bytes = record.bytes,
                               .original_length = 5000,
                               .direction = capture::Direction::Outbound,
                               .comments = comments}));
        REQUIRE(writer->finish());
    }
    CHECK(ran({.files = {first, pcap("userspace-peer-rc.pcap")}, .write = second}).code == 0);
    auto reader = capture::Reader::open(second);
    capture::Record record;
    REQUIRE(reader->next(record).value());
    CHECK(record.time_ns == 1'700'000'000'123'456'789);
    CHECK(record.original_length == 5000);
    CHECK(capture::direction_of(record) == capture::Direction::Outbound);
    REQUIRE(reader->interfaces().size() == 2);
    CHECK(reader->interfaces()[0].link_code == 101);
    CHECK(reader->interfaces()[0].name == "unused");
    CHECK(reader->interfaces()[1].name == "eth7");
    CHECK(reader->interfaces()[1].description == "the DUT's");
    CHECK(reader->interfaces()[1].snap_length == 9000);
    CHECK(record.interface == 1);
    REQUIRE(reader->next(record).value());
    CHECK(record.interface == 2); // the second file's own

    const auto once = comments_in(second);
    REQUIRE(once.size() > 1);
    REQUIRE(once[0].size() >= 2);
    CHECK(once[0][0] == "what the operator saw");
    CHECK(once[0][1].empty());
    CHECK_FALSE(once[1].empty());
    CHECK(ran({.files = {second}, .write = third}).code == 0);
    CHECK(comments_in(third) == once);
    CHECK(text_of(third) == text_of(second));
}

TEST_CASE("write: with --check and --stats these are printed as well", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    const Ran check =
        ran({.files = {pcap("userspace-peer-rc.pcap")}, .write = written, .check = true});
    CHECK(check.code == 1);
    CHECK(check.out == ran({.files = {pcap("userspace-peer-rc.pcap")}, .check = true}).out);
    const Ran stats =
        ran({.files = {pcap("userspace-peer-rc.pcap")}, .write = written, .stats = true});
    CHECK(stats.code == 0);
    CHECK(stats.out == ran({.files = {pcap("userspace-peer-rc.pcap")}, .stats = true}).out);
    CHECK(what_stays(written) == what_stays(pcap("userspace-peer-rc.pcap")));
}

TEST_CASE("write: to standard output, and to where it cannot be", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    const int saved = ::dup(STDOUT_FILENO);
    std::fflush(stdout);
    REQUIRE(std::freopen(written.c_str(), "w", stdout) != nullptr);
    const Ran result = ran({.files = {pcap("rxe-tc-dscp.pcap")}, .write = "-"});
    std::fflush(stdout);
    ::dup2(saved, STDOUT_FILENO);
    ::close(saved);
    CHECK(result.code == 0);
    CHECK(result.out.empty());
    CHECK(what_stays(written) == what_stays(pcap("rxe-tc-dscp.pcap")));

    const std::string nowhere = folder.path() / "none" / "out.pcapng";
    const Ran failed = ran({.files = {pcap("rxe-tc-dscp.pcap")}, .write = nowhere});
    CHECK(failed.code == 3);
    CHECK(failed.err ==
          "veriroce: " + nowhere + ": cannot be created: No such file or directory\n");
}

TEST_CASE("write: a cut file is written up to the cut", "[dissect]") {
    const TemporaryFolder folder;
    const std::string whole = text_of(pcap("rxe-tc-dscp.pcap"));
    const std::string cut = folder.file("cut.pcap", whole.substr(0, whole.size() - 1));
    const std::string written = folder.path() / "out.pcapng";
    CHECK(ran({.files = {cut}, .write = written}).code == 3);
    CHECK(comments_in(written).size() == 2);
}
