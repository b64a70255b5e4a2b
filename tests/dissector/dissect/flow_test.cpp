// Connections in the output of the command: notes in lines, fields in every format and in filters,
// and --follow.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/dissector/dissect/command.hpp"

namespace veriroce::dissect::test {
namespace {

const std::string rnr = pcap("rxe-rnr-nak.pcap");
const std::string rping = pcap("rxe-rping-cm.pcap");

std::vector<std::string> selected_by(const std::string& file, const std::string& filter) {
    Options options = fields_of(file, {"frame.number"});
    options.filter = filter;
    const Ran result = ran(options);
    CHECK(result.err.empty());
    return lines_of(result.out);
}

// In characters, of UTF-8.
std::size_t width_of(const std::string& line) {
    return static_cast<std::size_t>(std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string ladder_of(const std::string& file, const std::string& follow,
                      const char* columns = "100") {
    ::setenv("COLUMNS", columns, 1);
    const Ran result = ran({.files = {file}, .follow = follow});
    ::unsetenv("COLUMNS");
    CHECK(result.code == 0);
    return result.out;
}

} // namespace

TEST_CASE("dissect flow: --no-flow leaves out notes and fields, and nothing else", "[dissect]") {
    std::size_t notes = 0;
    for (const std::string& file : {corrupt, rnr, rping}) {
        const auto with = lines_of(ran({.files = {file}}).out);
        const auto without = lines_of(ran({.files = {file}, .no_flow = true}).out);
        REQUIRE(with.size() == without.size());
        for (std::size_t i = 0; i < with.size(); ++i) {
            CHECK(with[i].starts_with(without[i]));
            if (with[i] != without[i]) ++notes;
        }
    }
    CHECK(notes > 200);
    Options json{.files = {rnr}, .format = Format::JsonLines};
    CHECK(ran(json).out.contains("\"roce.flow.connection\":1"));
    json.no_flow = true;
    CHECK_FALSE(ran(json).out.contains("roce.flow"));
    const Ran tree = ran({.files = {rnr}, .tree = true, .no_flow = true});
    CHECK_FALSE(tree.out.contains("Connection\n"));
    // What nobody can have is refused.
    Options filtered{.files = {rnr}, .filter = "roce.flow", .no_flow = true};
    CHECK(ran(filtered).err ==
          "veriroce: dissect: --no-flow leaves out the roce.flow fields of -Y\n");
    Options named = fields_of(rnr, {"roce.flow.gap"});
    named.no_flow = true;
    CHECK(ran(named).err ==
          "veriroce: dissect: --no-flow leaves out the field 'roce.flow.gap' of -e\n");
    CHECK(ran({.files = {rnr}, .follow = "1", .no_flow = true}).code == 2);
}

TEST_CASE("dissect flow: fields choose packets, and are the same in every format", "[dissect]") {
    // Packets 1 to 22 of one PSN: SEND, RNR NAK, SEND ..., and an ACK at last.
    CHECK(selected_by(rnr, "roce.flow.retransmission").size() == 10);
    CHECK(selected_by(rnr, "roce.flow.cause == \"rnr-nak\"").size() == 10);
    CHECK(selected_by(rnr, "roce.flow.retransmission_of == 19") == std::vector<std::string>{"21"});
    CHECK(selected_by(rnr, "roce.flow.acks_first == 21") == std::vector<std::string>{"22"});
    CHECK(selected_by(rnr, "roce.flow.latency > 0.0006 and roce.flow.latency < 0.0007") ==
          std::vector<std::string>{"2"});
    CHECK(selected_by(rnr, "roce.flow").size() == 22);
    CHECK(selected_by(rnr, "not roce.flow").empty());
    CHECK(selected_by(rping, "infiniband.mad and roce.flow").empty());
    CHECK(selected_by(rping, "roce.flow.pairing == \"CM\"").size() == 60);
    CHECK(selected_by(corrupt, "roce.flow.gap").size() == 4);
    CHECK(selected_by(corrupt, "roce.flow.class == \"damaged\"").size() == 11);

    const std::vector<std::string> names{"frame.number", "roce.flow.retransmission",
                                         "roce.flow.retransmission_of", "roce.flow.latency"};
    Options options = fields_of(rnr, names);
    options.max_packets = 3;
    CHECK(ran(options).out == "1\t\t\t\n2\t\t\t0.000687000\n3\t1\t1\t\n");
    options.format = Format::Csv;
    CHECK(lines_of(ran(options).out).back() == "3,1,1,");
    options.format = Format::JsonLines;
    CHECK(lines_of(ran(options).out).back() ==
          "{\"frame.number\":3,\"roce.flow.retransmission\":true,"
          "\"roce.flow.retransmission_of\":1}");
    // A summary of the packets that a field chooses.
    const Ran stats = ran({.files = {rnr}, .filter = "roce.flow.retransmission", .stats = true});
    CHECK(stats.out.starts_with("frames      10 ("));
    // The column of the line has the notes.
    Options info = fields_of(rnr, {"_ws.col.Info"});
    info.max_packets = 2;
    CHECK(ran(info).out.ends_with("RNR NAK 10.24 ms [NAK of 1, 687 us]\n"));
}

TEST_CASE("dissect flow: the tree has a layer without bytes", "[dissect]") {
    const Ran tree =
        ran({.files = {rnr}, .filter = "frame.number == 3", .tree = true, .hex = true});
    CHECK(tree.out.contains("\nConnection\n             Connection: 1\n"));
    CHECK(tree.out.contains("\n             Retransmission: True\n"));
    const Ran one = ran({.files = {rnr}, .detailed = {"roce.flow"}, .max_packets = 1});
    CHECK(one.out.contains("             Class: new\n"));
}

TEST_CASE("dissect flow: packet numbers are those of each file", "[dissect]") {
    const std::string one = ran({.files = {rnr}}).out;
    CHECK(ran({.files = {rnr, rnr}}).out ==
          "==> " + rnr + " <==\n" + one + "==> " + rnr + " <==\n" + one);
}

TEST_CASE("dissect flow: a followed connection is a ladder", "[dissect]") {
    const std::string ladder = ladder_of(rnr, "0x3d");
    CHECK(ladder == text_of(source_path("tests/golden/dissect/ladder.txt")));
    CHECK(ladder_of(rnr, "1") == ladder);
    CHECK(ladder_of(rnr, "10.77.0.2:0x3e") == ladder);
    CHECK(ladder_of(rnr, "[10.77.0.2]:62") == ladder);
    const std::string damaged = ladder_of(corrupt, "1");
    CHECK(damaged.contains("[ICRC bad]"));
    CHECK(damaged.contains("✗│\n"));
    CHECK(damaged.contains("· 1 PSN missing or damaged: 4133 ·"));
    // Every line is as wide as the terminal, and none is wider.
    for (const char* columns : {"60", "72", "200"}) {
        std::set<std::size_t> widths;
        for (const std::string& line : lines_of(ladder_of(corrupt, "1", columns)))
            widths.insert(width_of(line));
        CHECK(widths == std::set<std::size_t>{std::stoul(columns)});
    }
}

TEST_CASE("dissect flow: --follow chooses both directions from the first packet on", "[dissect]") {
    Options options = fields_of(rping, {"frame.number"});
    options.filter = "infiniband.bth.destqp != 1"; // one connection, set up by CM
    const std::string all = ran(options).out;
    options.filter.clear();
    options.follow = "1";
    CHECK(ran(options).out == all);
    options.filter = "infiniband.aeth";
    options.follow.clear();
    const std::string answers = ran(options).out;
    options.follow = "1";
    CHECK(ran(options).out == answers);
    // What it does not find, or cannot tell apart.
    CHECK(ran({.files = {rping}, .follow = "9"}).err ==
          "veriroce: " + rping + ": --follow 9: no packet of such a connection\n");
    for (const std::string word : {"0", "x", "10.77.0.1", "10.77.0.1:", "1:2", "0x1000000", "-1"}) {
        const Ran wrong = ran({.files = {rping}, .follow = word});
        CHECK(wrong.code == 2);
        CHECK(wrong.err == "veriroce: dissect: --follow: expected ADDRESS:QP, 0xQP or the number "
                           "of a connection, got '" +
                               word + "'\n");
    }
}

} // namespace veriroce::dissect::test
