// `veriroce test` from the outside: its reports, and what a signal leaves of them.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {

TEST_CASE("run: a report has results.json and junit.xml", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run("veriroce test rsp --over psn=wrap --report out");
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(place.listing().contains("out/results.json"));
    CHECK(place.listing().contains("out/junit.xml"));
    const Outcome counted = place.run("python3 -c \"import xml.etree.ElementTree as t, json; "
                                      "print(t.parse('out/junit.xml').getroot().get('tests') == "
                                      "str(len(json.load(open('out/results.json'))['cases'])))\"");
    CHECK(counted.out == "True\n");
}

TEST_CASE("run: a signal ends it with a report of what ran", "[program]") {
    const Workplace place;
    // More rounds than any machine can play in this time.
    const Outcome outcome =
        place.run("timeout --preserve-status -s INT 2 "
                  "veriroce test rsp/gap-nak --repeat 30000 --quiet --report out");
    INFO(outcome.err);
    CHECK(outcome.code == 130);
    CHECK(outcome.out.find("incomplete: the run ended before its last case") != std::string::npos);
    const std::string json = house::read_text(place.folder() / "out" / "results.json");
    CHECK(json.find("\"complete\": false") != std::string::npos);
    CHECK(house::read_text(place.folder() / "out" / "junit.xml").ends_with("</testsuites>\n"));
}

TEST_CASE("run: a defect is made small, and the small script finds it", "[program]") {
    const Workplace place;
    const Outcome shrunk =
        place.run("veriroce test --shrink rsp/gap-nak --mutant nak_names_the_arrived_psn");
    CHECK(shrunk.code == 1);
    CHECK(shrunk.err.starts_with("veriroce: rsp/gap-nak: FAIL: "));
    place.write("small.roce", shrunk.out);
    const std::string again = "veriroce test small.roce";
    CHECK(place.run(again).code == 0);
    CHECK(place.run(again + " --mutant nak_names_the_arrived_psn").code == 1);
}

TEST_CASE("run: what the explorer finds is a script that finds it again", "[program]") {
    const Workplace place;
    CHECK(place.run("veriroce test --explore --runs 40").code == 0);
    const std::string mutant = " --mutant nak_for_every_packet_ahead";
    const Outcome explored = place.run(
        "veriroce test --explore --seed 500 --runs 300 --fail-fast --report out" + mutant);
    INFO(explored.out);
    CHECK(explored.code == 1);
    std::size_t scripts = 0;
    for (const std::string& file : place.listing()) {
        if (!file.ends_with(".roce")) continue;
        ++scripts;
        // out/explored-570.roce
        const std::string seed = " --seed " + file.substr(file.find('-') + 1, 3);
        CHECK(place.run("veriroce test " + file + seed).code == 0);
        CHECK(place.run("veriroce test " + file + seed + mutant).code == 1);
    }
    CHECK(scripts == 1);
    CHECK(place.listing().contains("out/results.json"));
}

TEST_CASE("run: a thorough run plays every axis, then dialogues", "[program]") {
    const Workplace place;
    const std::string axes = " --thorough --list";
    const Outcome all = place.run("veriroce test rsp/gap-nak" + axes);
    CHECK(all.out.find("rsp/gap-nak[ip=6,psn=wrap,mtu=4096]") != std::string::npos);
    CHECK(std::ranges::count(all.out, '\n') == 2 * 2 * 3);
    const Outcome fewer = place.run("veriroce test rsp/gap-nak --over ip=4" + axes);
    CHECK(std::ranges::count(fewer.out, '\n') == 2 * 3);
    // A device with a smaller port has no runs over larger path MTUs.
    const Outcome small = place.run("veriroce test rsp/gap-nak --thorough --dut-lacks 'mtu>=2048'");
    CHECK(small.code == 0);
    CHECK(small.out.find("mtu=4096") == std::string::npos);
    CHECK(small.out.find("dialogues") == std::string::npos); // a case is selected

    const Outcome both = place.run("veriroce test --thorough --shard 1/300 --runs 20");
    INFO(both.out);
    CHECK(both.code == 0);
    CHECK(both.out.find("\n20 dialogues, ") != std::string::npos);
    CHECK(place.run("veriroce test rsp --time 3").code == 2);
}

TEST_CASE("run: a fault plan is checked, laid out, played and made small", "[program]") {
    const Workplace place;
    place.write("loss.faults", "mark  ce when psn=0 also\ndrop when from=tester psn=0\n");
    CHECK(place.run("veriroce script check loss.faults").out == "loss.faults: 2 fault rules\n");
    CHECK(place.run("veriroce script format --check loss.faults").code == 1);
    CHECK(place.run("veriroce script format loss.faults").code == 0);
    CHECK(place.run("veriroce script format --check loss.faults").code == 0);
    const Outcome played = place.run("veriroce test rsp/gap-nak --faults loss.faults");
    CHECK(played.code == 1);
    CHECK(played.out.find("rerun     veriroce test rsp/gap-nak --faults loss.faults --seed 1") !=
          std::string::npos);
    const Outcome small = place.run("veriroce test rsp/gap-nak --faults loss.faults --shrink");
    CHECK(small.code == 1);
    CHECK(small.out == "drop when from=tester psn=0\n");
}

TEST_CASE("run: a capture becomes a script that passes, and finds a defect", "[program]") {
    const Workplace place;
    const std::string capture = VERIROCE_SOURCE_DIR "/pcaps/rxe-write-loss.pcap";
    const std::string import = "veriroce script import " + capture;
    REQUIRE(place.run(import + " --messages 6 -o loss.roce").code == 0);
    CHECK(place.run(import + " --messages 6").out ==
          house::read_text(place.folder() / "loss.roce"));
    CHECK(place.run("veriroce script check loss.roce").code == 0);
    CHECK(place.run("veriroce script format --check loss.roce").code == 0);
    const std::string play = "veriroce test loss.roce";
    CHECK(place.run(play).code == 0);
    const Outcome defect = place.run(play + " --mutant nak_names_the_arrived_psn");
    CHECK(defect.code == 1);
    CHECK(defect.out.find("< NAK") != std::string::npos);
}

TEST_CASE("run: a capture that ends early gives its script, and exit code 3", "[program]") {
    const Workplace place;
    const std::string capture = VERIROCE_SOURCE_DIR "/pcaps/rxe-write-loss.pcap";
    REQUIRE(place.run("head -c 20000 " + capture + " > cut.pcap").code == 0);
    const Outcome outcome = place.run("veriroce script import cut.pcap -o cut.roce");
    CHECK(outcome.code == 3);
    CHECK(outcome.err.find("the file ends in the middle of a packet or header") !=
          std::string::npos);
    CHECK(place.run("veriroce test cut.roce").code == 0);
}

TEST_CASE("run: nothing is shown of progress where stderr is no terminal", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run("veriroce test rsp/gap-nak");
    CHECK(outcome.err.empty());
    CHECK(outcome.out.find('\r') == std::string::npos);
}

// What follows "rerun" in the output, run by the shell.
std::string again_in(const std::string& out) {
    const std::size_t begin = out.find("rerun ");
    REQUIRE(begin != std::string::npos);
    const std::string line = out.substr(begin, out.find('\n', begin) - begin);
    return line.substr(line.find("veriroce"));
}

TEST_CASE("run: the command that runs a case again does", "[program]") {
    const Workplace place;
    REQUIRE(place.run("mkdir -p rsp 'my own'").code == 0);
    // Called as one of the program's own, and with a blank in its name; both fail.
    for (const std::string file : {"rsp/gap-nak.roce", "my own/gap.roce"}) {
        place.write(file, "rule   RSP-01\ntitle  \"no answer\"\nrole   responder\n\n"
                          "> SEND_ONLY  psn=0\n< NAK        psn=0 code=PSN_SEQUENCE\n");
        const Outcome first = place.run("veriroce test '" + file + "' --timeout-scale 2");
        CHECK(first.code == 1);
        const std::string again = again_in(first.out);
        INFO(again);
        CHECK(again.find("--timeout-scale 2") != std::string::npos);
        CHECK(place.run(again).code == 1);
    }
    const Outcome slow =
        place.run("veriroce test opc/matrix --slow --mutant first_inside_a_message_restarts");
    CHECK(slow.code == 1);
    CHECK(place.run(again_in(slow.out)).code == 1);
}

TEST_CASE("run: the command that runs a case again plays that run alone", "[program]") {
    const Workplace place;
    const Outcome first =
        place.run("veriroce test bth/transport-version --over ip=4,6 --mutant tver_not_checked "
                  "--report out");
    const std::string again = again_in(first.out);
    INFO(again);
    CHECK(again.find("'bth/transport-version[ip=4,v=1]'") != std::string::npos);
    const Outcome second = place.run(again);
    CHECK(second.code == 1);
    CHECK(second.out.find("\n1 run in ") != std::string::npos);
    // The console names the file with the packets, and the packet that it is about.
    const std::size_t at = first.out.find("packets   wireshark -g ");
    REQUIRE(at != std::string::npos);
    const std::string command = first.out.substr(at, first.out.find('\n', at) - at);
    CHECK(place.run("veriroce dissect " + command.substr(command.rfind(' '))).code == 0);
}

TEST_CASE("run: merged shards are the run of the whole plan", "[program]") {
    const Workplace place;
    const std::string test =
        "veriroce test rsp/gap-nak rsp/fault-ahead rsp/duplicate-send rsp/psn-wrap-nak "
        "--mutant nak_for_every_packet_ahead --report ";
    const std::string lines_of = "grep -E '^ {6}\"(id|verdict|summary|command)\"' ";
    const Outcome merged = place.run(
        test + "whole; " + test + "a --shard 1/2; " + test +
        "b --shard 2/2; veriroce report merge a b -o all && ls all && " + lines_of +
        "whole/results.json > whole/lines && " + lines_of + "all/results.json | cmp - whole/lines");
    INFO(merged.out << merged.err);
    CHECK(merged.code == 0);
    CHECK(merged.out.find("5 runs of 2 reports: 2 of 5 judged runs failed\njunit.xml\n"
                          "report.html\nreport.md\nresults.json\nrsp-fault-ahead.pcapng\n") !=
          std::string::npos);
    const Outcome twice = place.run("veriroce report merge a whole -o a");
    CHECK(twice.err == "veriroce: report merge: -o a is one of the runs to be merged\n");
    CHECK(twice.code == 2);
}

TEST_CASE("run: where all is skipped, that is said", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run("veriroce test opc/matrix");
    CHECK(outcome.code == 3);
    CHECK(outcome.err == "veriroce: nothing was tested: all 19 runs were skipped (the reasons "
                         "are printed above)\n");
}

TEST_CASE("run: a dry run says how much would be played, and plays nothing", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run("veriroce test rsp/gap-nak --over ip=4,6 --dry-run");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.ends_with("2 runs of 1 case, not played\n"));
}

TEST_CASE("run: a report does not keep the capture of a case that passes now", "[program]") {
    const Workplace place;
    const std::string run = "veriroce test rsp/gap-nak --report r";
    REQUIRE(place.run(run + " --mutant gap_dropped_in_silence").code == 1);
    REQUIRE(place.listing().contains("r/rsp-gap-nak.pcapng"));
    CHECK(place.run(run).code == 0);
    CHECK_FALSE(place.listing().contains("r/rsp-gap-nak.pcapng"));
}

} // namespace veriroce::program::test
