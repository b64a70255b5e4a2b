#include "reports/pcapng.hpp"

#include <catch2/catch.hpp>

#include "dissector/capture/reader.hpp"
#include "tests/reports/made_up.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::reports::test {
namespace {

struct Read {
    std::vector<std::byte> bytes;
    std::int64_t time_ns = 0;
    capture::Direction direction = capture::Direction::Unknown;
    std::vector<std::string> comments;
};

std::vector<Read> read_back(const std::string& path) {
    auto back = capture::Reader::open(path);
    REQUIRE(back.has_value());
    std::vector<Read> packets;
    capture::Record record;
    while (true) {
        const auto more = back->next(record);
        REQUIRE(more.has_value());
        if (!*more) return packets;
        Read packet{.bytes = {record.bytes.begin(), record.bytes.end()},
                    .time_ns = record.time_ns.value_or(-1),
                    .direction = capture::direction_of(record),
                    .comments = {}};
        for (const std::string_view comment : capture::comments_of(record))
            packet.comments.emplace_back(comment);
        packets.push_back(std::move(packet));
    }
}

} // namespace

TEST_CASE("pcapng: packets come back with time, direction and remarks", "[reports]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.file("case.pcapng");
    const interpreter::CaseResult result = failed();
    REQUIRE(write_pcapng(result, path).has_value());
    const auto packets = read_back(path);
    REQUIRE(packets.size() == 2);
    CHECK(packets[0].bytes == result.packets[0].frame);
    CHECK(packets[0].time_ns == 1'000'001'000);
    CHECK(packets[0].direction == capture::Direction::Outbound);
    CHECK(packets[0].comments ==
          std::vector<std::string>{"bth/transport-version[v=1]: > SEND_ONLY psn=0"});
    CHECK(packets[1].bytes == result.packets[1].frame);
    CHECK(packets[1].direction == capture::Direction::Inbound);
    CHECK(packets[1].comments ==
          std::vector<std::string>{"bth/transport-version[v=1]: < ACK psn=0 msn=1",
                                   "injected: delay",
                                   "line 9: unexpected ACK: line 9 allows none for 10 ms",
                                   "ACK-04: PSN 7 was not sent; only PSNs before 5 were sent"});
}

TEST_CASE("pcapng: remarks hold nothing that a terminal would obey", "[reports]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.file("case.pcapng");
    interpreter::CaseResult result = failed();
    result.packets[1].remarks = {"\x1b[2J\n"};
    REQUIRE(write_pcapng(result, path).has_value());
    CHECK(read_back(path)[1].comments[1] == "\\x1b[2J\\n");
}

TEST_CASE("pcapng: packets stand in the order in which they were on the wire", "[reports]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.file("case.pcapng");
    interpreter::CaseResult result = failed();
    std::swap(result.packets[0], result.packets[1]);
    REQUIRE(write_pcapng(result, path).has_value());
    const auto packets = read_back(path);
    REQUIRE(packets.size() == 2);
    CHECK(packets[0].direction == capture::Direction::Outbound);
    CHECK(packets[1].direction == capture::Direction::Inbound);
}

TEST_CASE("pcapng: the command opens a capture at the packet that the verdict is about",
          "[reports]") {
    interpreter::CaseResult result = failed();
    CHECK(open_command(result).empty());
    result.capture = "out/a b.pcapng";
    CHECK(open_command(result) == "wireshark -g 2 'out/a b.pcapng'");
    std::swap(result.packets[0], result.packets[1]); // recorded before the packet that it followed
    CHECK(open_command(result) == "wireshark -g 1 'out/a b.pcapng'");
    result.findings[0].packet.reset(); // the violation names the same place
    CHECK(open_command(result) == "wireshark -g 1 'out/a b.pcapng'");
    result.packets[1].on_wire = false;
    CHECK(open_command(result) == "wireshark 'out/a b.pcapng'");
}

TEST_CASE("pcapng: a run has the packets of all its cases", "[reports]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.file("run.pcapng");
    interpreter::CaseResult another = failed();
    another.id = "another/case";
    auto capture = RunCapture::create(path);
    REQUIRE(capture.has_value());
    CHECK(read_back(path).empty());
    REQUIRE(capture->add(failed()).has_value());
    // What is there can be read at any time.
    CHECK(read_back(path).size() == 2);
    REQUIRE(capture->add(another).has_value());
    REQUIRE(capture->finish().has_value());
    const auto packets = read_back(path);
    REQUIRE(packets.size() == 4);
    REQUIRE(packets[2].comments.size() == 1);
    CHECK(packets[2].comments[0] == "another/case: > SEND_ONLY psn=0");
}

TEST_CASE("pcapng: a file that cannot be written is one sentence", "[reports]") {
    const std::string path = "/nonexistent/folder/run.pcapng";
    const auto whole = write_pcapng(failed(), path);
    const auto growing = RunCapture::create(path);
    REQUIRE_FALSE(whole.has_value());
    REQUIRE_FALSE(growing.has_value());
    for (const std::string& error : {whole.error(), growing.error()}) {
        CHECK(error.starts_with(path + ": "));
        CHECK(error.find('\n') == std::string::npos);
    }
}

} // namespace veriroce::reports::test
