// Every committed capture against counts.tsv, whose figures come from count_packets.py.
#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/dissector/flow/captured.hpp"

namespace veriroce::flow::test {
namespace {

Tracker tracked(const std::vector<Frame>& frames) {
    Tracker tracker;
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Frame& frame : frames) {
        dissect(frame, ++number, dissection);
        if (const auto packet = packet_of(dissection)) tracker.feed(*packet);
    }
    return tracker;
}

Counters sum_of(const Tracker& tracker) {
    Counters sum;
    for (const std::uint32_t index : tracker.connections()) {
        const Connection& connection = tracker.connection(index);
        sum.responses += connection.unpaired_responses;
        for (const End& end : connection.ends) {
            const Counters& counters = end.stream.counters();
            if (connection.service != wire::Service::Rc) continue;
            sum.requests += counters.requests;
            sum.responses += counters.responses;
            sum.messages += counters.messages;
            sum.bytes += counters.bytes;
            sum.repeated += counters.repeated;
            sum.gaps += counters.gaps;
            sum.lost_by_capture += counters.lost_by_capture;
            sum.lost_in_network += counters.lost_in_network;
            sum.sequence_naks += counters.sequence_naks;
            sum.rnr_naks += counters.rnr_naks;
            sum.fatal_naks += counters.fatal_naks;
            sum.forgotten += counters.forgotten;
            sum.duplicates += counters.duplicates;
        }
    }
    return sum;
}

} // namespace

TEST_CASE("tracker: counts of every capture are those of an independent program", "[flow]") {
    std::ifstream table(std::filesystem::path(VERIROCE_SOURCE_DIR) /
                        "tests/dissector/flow/counts.tsv");
    std::string line;
    std::size_t captures = 0;
    while (std::getline(table, line)) {
        if (line.starts_with('#')) continue;
        std::istringstream row(line);
        std::string name;
        Counters wanted;
        row >> name >> wanted.requests >> wanted.responses >> wanted.repeated >> wanted.gaps >>
            wanted.rnr_naks >> wanted.sequence_naks >> wanted.fatal_naks;
        INFO(name);
        const Counters found = sum_of(tracked(frames_of(pcap(name))));
        CHECK(found.requests == wanted.requests);
        CHECK(found.responses == wanted.responses);
        CHECK(found.repeated == wanted.repeated);
        CHECK(found.gaps == wanted.gaps);
        CHECK(found.rnr_naks == wanted.rnr_naks);
        // One capture begins with a NAK whose connection is not known yet.
        const bool unknown = name == "userspace-peer-rc";
        CHECK(found.sequence_naks + (unknown ? 1 : 0) == wanted.sequence_naks);
        CHECK(found.fatal_naks == wanted.fatal_naks);
        // Nothing was lost by these captures, and the network made no copies.
        CHECK(found.lost_by_capture == 0);
        CHECK(found.forgotten == 0);
        CHECK(found.duplicates == 0);
        ++captures;
    }
    CHECK(captures > 20);
}

TEST_CASE("tracker: messages and bytes are those that the captured programs moved", "[flow]") {
    struct Row {
        const char* capture;
        std::uint64_t messages;
        std::uint64_t bytes;
    };
    const std::vector<Row> rows{
        {"rxe-write-loss", 12, 12 * 16'384},
        {"rxe-write-corrupt", 16, 16 * 8192},
        {"rxe-rc-pingpong", 40, 40 * 4096},
        {"rxe-atomic", 60, 0},
        {"rxe-mtu4096-read-send", 3, 30'003},
        {"rxe-retry-exceeded", 0, 0},
        {"rxe-rnr-nak", 1, 500},
        {"rxe-send-imm", 4, 0 + 13 + 1024 + 4000},
        {"rxe-psn-wrap", 3, 18'000},
        {"rxe-nak-access-read", 0, 0},
    };
    for (const Row& row : rows) {
        INFO(row.capture);
        const Counters found = sum_of(tracked(frames_of(pcap(row.capture))));
        CHECK(found.messages == row.messages);
        CHECK(found.bytes == row.bytes);
    }
}

TEST_CASE("tracker: CM names both QPs before they speak", "[flow][CM-02]") {
    for (const char* name : {"rxe-rping-cm", "rxe-rping-cm-v6"}) {
        const Tracker tracker = tracked(frames_of(pcap(name)));
        const auto used = tracker.connections();
        REQUIRE(used.size() == 1);
        const Connection& connection = tracker.connection(used.front());
        CHECK(connection.pairing == Pairing::Known);
        CHECK(connection.unpaired_responses == 0);
        CHECK(connection.ends[0].attributes.mtu == wire::Mtu::B1024);
        CHECK(connection.ends[0].stream.begin_known());
        CHECK(connection.ends[0].stream.counters().messages == 10);
        CHECK(connection.ends[1].stream.counters().messages == 20);
    }
}

} // namespace veriroce::flow::test
