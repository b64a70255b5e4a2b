// The command as a user meets it: formats, exit codes, errors in one line.
#include <catch2/catch.hpp>

#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "dissector/wire/bytes.hpp"
#include "tests/dissector/corpus/corpus.hpp"
#include "tests/dissector/dissect/command.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

std::string golden(std::string_view name) {
    return text_of(source_path("tests/golden/dissect") / name);
}

} // namespace

TEST_CASE("dissect: lines, tree and hex are as they were read over", "[dissect]") {
    std::string lines;
    for (const auto* capture : {"rxe-rping-cm.pcap", "rxe-rnr-nak.pcap", "rxe-nak-access-read.pcap",
                                "rxe-send-imm.pcap", "rxe-ud-verbs.pcap", "rxe-cm-reject.pcap"}) {
        lines += ran({.files = {pcap(capture)}}).out;
    }
    lines += ran({.files = {pcap("rxe-atomic.pcap")}, .max_packets = 8}).out;
    lines += ran({.files = {pcap("rxe-rc-pingpong.pcap")}, .max_packets = 14}).out;
    lines += ran({.files = {pcap("rxe-rping-cm-v6.pcap")}, .max_packets = 8}).out;
    CHECK(lines == golden("lines.txt"));
    const Ran tree =
        ran({.files = {pcap("rxe-rping-cm-v6.pcap")}, .tree = true, .hex = true, .max_packets = 4});
    CHECK(tree.out == golden("tree.txt"));
}

TEST_CASE("dissect: a wrong ICRC is seen in the line", "[dissect]") {
    const Ran result = ran({.files = {pcap("rxe-write-corrupt.pcap")}});
    CHECK(result.code == 0);
    std::size_t bad = 0;
    for (const std::string& line : lines_of(result.out)) {
        if (line.find("[ICRC bad: 0x") != std::string::npos) ++bad;
    }
    CHECK(bad == 12);
}

TEST_CASE("dissect: the summary counts packets, ICRCs and QPs", "[dissect]") {
    const Ran result = ran({.files = {pcap("rxe-write-corrupt.pcap")}, .stats = true});
    CHECK(result.code == 0);
    CHECK(result.out == golden("stats.txt"));
}

TEST_CASE("dissect: the summary fits a screen, whatever there is", "[dissect]") {
    Options options{.stats = true};
    for (const auto& entry : std::filesystem::directory_iterator(VERIROCE_SOURCE_DIR "/pcaps")) {
        if (entry.path().extension() == ".pcap") options.files.push_back(entry.path().string());
    }
    REQUIRE(options.files.size() > 20);
    std::ranges::sort(options.files);
    const Ran result = ran(options);
    CHECK(lines_of(result.out).size() <= 24);
    // What tshark counts of the opcodes 0x11 and 0x12 in infiniband.aeth.syndrome.opcode.
    CHECK(result.out.find("answers     310 ACK, 10 RNR NAK, 20 NAK; 0 CNP\n") != std::string::npos);
    CHECK(result.out.find("\n            CRC-01 13\n") != std::string::npos);
}

TEST_CASE("dissect: the summary tells RoCE v1 and InfiniBand from RoCEv2", "[dissect]") {
    const TemporaryFolder folder;
    for (const auto& corpus : veriroce::corpus::corpora()) {
        if (corpus.name != "erf") continue;
        const std::string path = folder.path() / "erf.pcap";
        veriroce::corpus::write_pcap(corpus, path);
        const Ran result = ran({.files = {path}, .stats = true});
        CHECK(result.code == 0);
        const std::string third = std::to_string(corpus.frames.size() / 3);
        const std::string two_thirds = std::to_string(corpus.frames.size() / 3 * 2);
        CHECK(result.out.find("RoCEv2      " + third + " packets") != std::string::npos);
        CHECK(result.out.find("other       " + two_thirds + " packets") != std::string::npos);
        CHECK(result.out.find(" 0 bad") != std::string::npos);
    }
}

TEST_CASE("dissect: check lists the packets with findings and exits 1", "[dissect]") {
    const Ran found = ran({.files = {pcap("userspace-peer-rc.pcap")}, .check = true});
    CHECK(found.code == 1);
    CHECK(found.out == golden("check.txt"));
    CHECK(found.err.empty());
    const Ran clean = ran({.files = {pcap("rxe-vlan.pcap")}, .check = true});
    CHECK(clean.code == 0);
    CHECK(clean.out == "62 frames, 62 RoCE packets, 0 with errors or warnings\n");
    const Ran quiet = ran({.files = {pcap("rxe-vlan.pcap")}, .check = true, .quiet = true});
    CHECK(quiet.out.empty());
}

TEST_CASE("dissect: without check a finding is no failure", "[dissect]") {
    CHECK(ran({.files = {pcap("userspace-peer-rc.pcap")}}).code == 0);
}

TEST_CASE("dissect: chosen fields as CSV and JSON", "[dissect]") {
    const std::vector<std::string> fields{"frame.number",       "ip.addr",
                                          "infiniband.bth.psn", "infiniband.bth.a",
                                          "roce.opcode.name",   "infiniband.atomiceth.swapdt",
                                          "frame.time_epoch"};
    const Ran csv = ran({.files = {pcap("rxe-atomic.pcap")},
                         .format = Format::Csv,
                         .fields = fields,
                         .max_packets = 1});
    CHECK(csv.out == "frame.number,ip.addr,infiniband.bth.psn,infiniband.bth.a,roce.opcode.name,"
                     "infiniband.atomiceth.swapdt,frame.time_epoch\n"
                     "1,\"10.77.0.2,10.77.0.1\",2852790,1,RC Compare Swap,0,"
                     "1795249278.107468000\n");
    const Ran json = ran({.files = {pcap("rxe-atomic.pcap")},
                          .format = Format::Json,
                          .fields = fields,
                          .max_packets = 1});
    CHECK(json.out ==
          "{\"schema\":\"veriroce/packets/1\",\"packets\":[\n"
          "{\"frame.number\":1,\"ip.addr\":[\"10.77.0.2\",\"10.77.0.1\"],"
          "\"infiniband.bth.psn\":2852790,\"infiniband.bth.a\":true,"
          "\"roce.opcode.name\":\"RC Compare Swap\",\"infiniband.atomiceth.swapdt\":\"0\","
          "\"frame.time_epoch\":\"1795249278.107468000\"}\n]}\n");
}

TEST_CASE("dissect: JSON of a packet with findings names them", "[dissect]") {
    const Ran json = ran({.files = {pcap("userspace-peer-rc.pcap")},
                          .format = Format::Json,
                          .verify_icrc = true,
                          .max_packets = 1});
    CHECK(json.out.find("\"roce.findings\":[{\"rule\":\"ENC-06\",\"severity\":\"note\",") !=
          std::string::npos);
    CHECK(json.out.find("{\"rule\":\"CRC-01\",\"severity\":\"error\",\"text\":\"the ICRC is "
                        "wrong\",\"offset\":118,\"length\":4}") != std::string::npos);
}

TEST_CASE("dissect: findings are fields that can be printed and asked for", "[dissect]") {
    const std::string file = pcap("userspace-peer-rc.pcap");
    const Ran chosen = ran({.files = {file},
                            .filter = "roce.finding == \"CRC-01\"",
                            .format = Format::Fields,
                            .fields = {"roce.finding", "roce.finding.severity", "roce.finding.text",
                                       "roce.malformed"}});
    CHECK(chosen.out ==
          "ENC-06,CRC-01\tnote,error\tthe UDP checksum is wrong,the ICRC is wrong\t0\n");
    const Ran none = ran({.files = {file},
                          .filter = "roce.malformed == 1",
                          .format = Format::Csv,
                          .fields = {"roce.finding"}});
    CHECK(none.out == "roce.finding\n");

    // A packet that has several, and one that ends inside a header.
    veriroce::corpus::Corpus corpus{.name = "faults", .link_code = 1, .frames = {}};
    const auto usual = veriroce::corpus::corpora();
    for (const auto& frame : usual.front().frames) {
        if (frame.opcode == 0x0A && frame.carrier == "plain") corpus.frames.push_back(frame);
    }
    REQUIRE(corpus.frames.size() == 2);
    auto& bits = corpus.frames[0].bytes; // reserved bits in front of QP and PSN
    bits[14 + 20 + 8 + 4] = bits[14 + 20 + 8 + 8] = std::byte{1};
    auto& ends = corpus.frames[1].bytes; // in its RETH
    ends.resize(14 + 40 + 8 + 12 + 8);
    veriroce::wire::store_be<2>(ends, 14 + 4, 8 + 12 + 8);
    veriroce::wire::store_be<2>(ends, 14 + 40 + 4, 8 + 12 + 8);
    const TemporaryFolder folder;
    const std::string faults = folder.path() / "faults.pcap";
    write_pcap(corpus, faults);
    const std::vector<std::string> fields{"frame.number", "roce.malformed", "roce.finding"};
    const Ran csv = ran({.files = {faults}, .format = Format::Csv, .fields = fields});
    CHECK(csv.out == "frame.number,roce.malformed,roce.finding\n"
                     "1,0,\"BTH-16,BTH-16,CRC-01\"\n"
                     "2,1,\"BTH-20,CRC-01\"\n");
    const Ran malformed = ran({.files = {faults},
                               .filter = "roce.malformed == 1 && roce.finding",
                               .format = Format::Fields,
                               .fields = {"frame.number"}});
    CHECK(malformed.out == "2\n");
}

TEST_CASE("dissect: several files count their frames on their own", "[dissect]") {
    const Ran both = ran({.files = {pcap("rxe-cm-reject.pcap"), pcap("rxe-nak-access-read.pcap")},
                          .format = Format::Fields,
                          .fields = {"frame.number", "frame.time_relative"}});
    CHECK(both.out == "1\t0.000000000\n2\t0.002445000\n1\t0.000000000\n2\t0.000733000\n");
    const Ran text = ran({.files = {pcap("rxe-cm-reject.pcap"), pcap("rxe-tc-dscp.pcap")}});
    CHECK(lines_of(text.out).size() == 2 + 2 + 3);
    CHECK(text.out.starts_with("==> "));
}

TEST_CASE("dissect: a display filter chooses packets, and -c counts those that were read",
          "[dissect]") {
    const std::vector<std::string> fields{"frame.number"};
    const Ran chosen = ran({.files = {pcap("rxe-atomic.pcap")},
                            .filter = "infiniband.bth.opcode == 18 && frame.number < 20",
                            .format = Format::Fields,
                            .fields = fields});
    CHECK(chosen.code == 0);
    CHECK(chosen.out == "5\n6\n7\n8\n");
    const Ran few = ran({.files = {pcap("rxe-atomic.pcap")},
                         .filter = "infiniband.bth.opcode == 18",
                         .format = Format::Fields,
                         .fields = fields,
                         .max_packets = 6});
    CHECK(few.out == "5\n6\n");
    const Ran bad = ran({.files = {pcap("rxe-write-corrupt.pcap")},
                         .filter = "roce.icrc.status == bad",
                         .format = Format::Fields,
                         .fields = fields});
    CHECK(lines_of(bad.out).size() == 12);
    const Ran none = ran({.files = {pcap("rxe-atomic.pcap")},
                          .filter = "tcp",
                          .format = Format::Json,
                          .fields = fields});
    CHECK(none.out == "{\"schema\":\"veriroce/packets/1\",\"packets\":[\n]}\n");
    const Ran check = ran({.files = {pcap("rxe-write-corrupt.pcap")},
                           .filter = "roce.icrc.status == good",
                           .check = true});
    CHECK(check.code == 0);
}

TEST_CASE("dissect: a capture filter drops packets before they are counted", "[dissect]") {
    const Ran result = ran({.files = {pcap("rxe-rc-pingpong.pcap")},
                            .capture_filter = "udp port 4791",
                            .format = Format::Fields,
                            .fields = {"frame.number", "ip.proto"},
                            .max_packets = 2});
    CHECK(result.out == "1\t17\n2\t17\n");
}

TEST_CASE("dissect: wrong options are told in one line, and nothing is read", "[dissect]") {
    struct Row {
        Options options;
        std::string message;
    };
    const std::string file = pcap("rxe-atomic.pcap");
    const std::vector<Row> rows{
        {{}, "dissect: no capture file; give a file name, - for standard input, or -i INTERFACE"},
        {{.files = {file}, .format = Format::Fields},
         "dissect: -T fields needs at least one -e FIELD"},
        {{.files = {file}, .fields = {"ip.src"}},
         "dissect: -e FIELD needs -T fields, -T csv, -T json or -T jsonl"},
        {{.files = {file}, .format = Format::Json, .tree = true},
         "dissect: -V, -O, -x and --stats need -T text"},
        {{.files = {file}, .format = Format::Fields, .fields = {"infiniband.bth.psm"}},
         "dissect: unknown field 'infiniband.bth.psm'; did you mean 'infiniband.bth.psn'?"},
        {{.files = {file}, .interface = "va"}, "dissect: -i and a file name cannot be combined"},
        {{.files = {file}, .buffer_mib = 60}, "dissect: -B and -p need -i"},
        {{.files = {file}, .not_promiscuous = true}, "dissect: -B and -p need -i"},
        {{.words = {file}, .interface = "va"}, "dissect: -i and a file name cannot be combined"},
        {{.files = {file}, .decode_as = {"udp.port==1021,infiniband"}},
         "dissect: --decode-as: expected qp=N:PROTOCOL or port=N:PROTOCOL, got "
         "'udp.port==1021,infiniband'; --roce-port names a UDP port of RoCEv2"},
        {{.files = {file}, .ring = {"files:2"}},
         "dissect: -b needs -w FILE, whose name the files get"},
        {{.files = {file}, .autostop = {"files:two"}},
         "dissect: -a: expected duration:SECONDS, filesize:KB, packets:N or files:N, got "
         "'files:two'"},
        {{.files = {file}, .write = "x", .hex = true},
         "dissect: -w writes packets instead of printing them; remove -T, -V, -O and -x, or add -P "
         "to do "
         "both"},
        {{.files = {file}, .write = "-", .check = true},
         "dissect: -w - uses standard output, where --stats, --check and -P print"},
        {{.files = {file}, .capture_filter = "prt 5"},
         "dissect: -f: can't parse filter expression: syntax error"},
        {{.files = {file}, .filter = "ip.src = 10.0.0.1"},
         "dissect: -Y: column 8: to compare, write ==\n"
         "    ip.src = 10.0.0.1\n"
         "           ^"},
        {{.files = {file}, .format = Format::Csv, .fields = {"xyzzy"}},
         "dissect: unknown field 'xyzzy'"},
    };
    for (const Row& row : rows) {
        const Ran result = ran(row.options);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err == "veriroce: " + row.message + "\n");
    }
}

TEST_CASE("dissect: files that cannot be read are told in one line each", "[dissect]") {
    const TemporaryFolder folder;
    const std::string whole = text_of(pcap("rxe-tc-dscp.pcap"));
    struct Row {
        std::string file;
        std::string message;
        std::size_t packets;
    };
    const std::vector<Row> rows{
        {folder.file("rxe.txt", "hello"),
         "not a pcap or pcapng file (first bytes 68656c6c); give a capture file", 0},
        {folder.file("empty", ""), "empty file; give a capture file", 0},
        {folder.path().string() + "/none", "No such file or directory", 0},
        {folder.path().string(), "reading failed at byte 0: Is a directory", 0},
        {folder.file("cut.pcap", whole.substr(0, whole.size() - 1)),
         "the file ends in the middle of a packet or header at byte 2172; the packets before it "
         "were read",
         2},
        {folder.file("packed", "\x1F\x8B\x08"),
         "the gzip data ends at byte 3 before it is complete; the packets before it were read", 0},
    };
    for (const Row& row : rows) {
        const Ran result = ran({.files = {row.file}});
        CHECK(result.code == 3);
        CHECK(lines_of(result.out).size() == row.packets);
        CHECK(result.err == "veriroce: " + row.file + ": " + row.message + "\n");
    }
    const Ran both = ran({.files = {rows[0].file, pcap("userspace-peer-rc.pcap")}, .check = true});
    CHECK(both.code == 1); // a finding weighs more than a file that could not be read
}

TEST_CASE("dissect: enough packets are enough, even of a damaged file", "[dissect]") {
    const TemporaryFolder folder;
    const std::string whole = text_of(pcap("rxe-tc-dscp.pcap"));
    const std::string cut = folder.file("cut.pcap", whole.substr(0, whole.size() - 1));
    const Ran result = ran({.files = {cut}, .max_packets = 2});
    CHECK(result.code == 0);
    CHECK(result.err.empty());
}

TEST_CASE("dissect: a reader that goes away is no error, a full disk is one", "[dissect]") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    ::close(ends[0]);
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    std::FILE* gone = ::fdopen(ends[1], "w");
    TextStream err;
    CHECK(run({.files = {pcap("rxe-write-corrupt.pcap")}}, gone, err.file()) == 0);
    CHECK(err.text().empty());
    std::fclose(gone);
    std::signal(SIGPIPE, before);

    std::FILE* full = std::fopen("/dev/full", "w");
    REQUIRE(full != nullptr);
    CHECK(run({.files = {pcap("rxe-tc-dscp.pcap")}}, full, err.file()) == 3);
    CHECK(err.text() == "veriroce: writing failed: No space left on device\n");
    std::fclose(full);
}

TEST_CASE("dissect: standard input is read through a pipe and as a file", "[dissect]") {
    const std::string expected = ran({.files = {pcap("rxe-send-imm.pcap")}}).out;
    const int saved = ::dup(STDIN_FILENO);
    const int file = ::open(pcap("rxe-send-imm.pcap").c_str(), O_RDONLY);
    REQUIRE(file >= 0);
    ::dup2(file, STDIN_FILENO);
    ::close(file);
    CHECK(ran({.files = {"-"}}).out == expected);

    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const std::string bytes = text_of(pcap("rxe-send-imm.pcap")); // fits the pipe's buffer
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
    ::close(ends[1]);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    CHECK(ran({.files = {"-"}}).out == expected);
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
}
