// The number of threads changes nothing that a user sees.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/part_of.hpp"
#include "tests/program/program.hpp"

namespace veriroce::program::test {
namespace {

using Words = std::vector<std::string>;

const std::string pcaps = VERIROCE_SOURCE_DIR "/pcaps/";

void check_same(const Workplace& place, const std::string& command,
                const std::vector<std::string>& threads) {
    const Outcome alone = place.run(command + " --threads 1");
    for (const std::string& count : threads) {
        INFO(command << " --threads " << count);
        const Outcome several = place.run(command + " --threads " + count);
        CHECK(several.code == alone.code);
        CHECK((several.out == alone.out));
        CHECK(several.err == alone.err);
    }
    INFO(command);
    CHECK((alone.out.size() > 100));
}

// big.pcapng: thousands of packets, with losses and wrong ICRCs, several sections and interfaces.
void write_captures(const Workplace& place) {
    std::string command = "for i in 1 2 3; do for c in write-loss rping-cm write-corrupt psn-wrap "
                          "uc-pingpong lengths ud-verbs; do veriroce dissect --threads 1 -w - " +
                          pcaps +
                          "rxe-$c.pcap; done; done >> big.pcapng && gzip -k big.pcapng && "
                          "head -c 1000000 big.pcapng > cut.pcapng";
    const Outcome written = place.run("veriroce dissect -w - " + pcaps +
                                      "userspace-peer-rc.pcap > big.pcapng; " + command);
    INFO(written.err);
    REQUIRE(written.code == 0);
}

} // namespace

TEST_CASE("threads: each command says the same with every number of them", "[program]") {
    const Workplace place;
    write_captures(place);
    const Words commands{"judge --recorded-at 10.77.0.254",
                         "analyze --format json",
                         "dissect",
                         "dissect --stats",
                         "dissect --check",
                         "dissect -V -s 90 -c 700",
                         "dissect -f 'src host 10.77.0.1' -T jsonl",
                         "dissect --follow 10.77.0.2:0x47",
                         "dissect -Y roce.flow.retransmission -w -"};
    for (const std::string& command : veriroce::test::sweep_of(commands, 0, 1))
        check_same(place, "veriroce " + command + " big.pcapng", {"2", "3", "8"});
}

TEST_CASE("threads: nor does it matter where the packets come from", "[program]") {
    const Workplace place;
    write_captures(place);
    const Words commands{"dissect -T fields -e frame.number -e roce.icrc.status", "analyze",
                         "judge --recorded-at 10.77.0.254 --format json"};
    for (const std::string& command : veriroce::test::sweep_of(commands, 0, 1)) {
        for (const std::string input :
             {" cut.pcapng", " big.pcapng.gz", " - < big.pcapng.gz", " - < cut.pcapng"}) {
            check_same(place, "veriroce " + command + input, {"3"});
        }
        check_same(place, "cat big.pcapng | veriroce " + command + " -", {"3"});
    }
    check_same(place,
               "veriroce analyze --format csv --rows messages " + pcaps + "rxe-write-loss.pcap " +
                   pcaps + "rxe-write-corrupt.pcap",
               {"2", "8"});
}

// results.json up to its times; what the terminal shows, without them.
constexpr std::string_view played_and_told =
    "play() { veriroce test \"$@\" --report r > out; code=$?; "
    "sed 's/ in [0-9.]* s$//' out; sed '/\"timing\"/,$d' r/results.json; "
    "return $code; }; play ";

TEST_CASE("threads: cases say the same with every number of them", "[program]") {
    const Workplace place;
    const Words plays{"ack --mutant every_icrc_wrong", "rsp rnr/acknowledges-earlier --over ip=4,6",
                      "req rnr --mutant nak_names_the_arrived_psn",
                      "ack rsp --mutant every_icrc_wrong --fail-fast",
                      "rdr --noise loss=1% --seed 3"};
    for (const std::string& what : veriroce::test::sweep_of(plays, 0, 1))
        check_same(place, std::string(played_and_told) + what, {"3"});
    check_same(place, "veriroce test rnr --matrix --mutant unknown_key_is_invalid_request", {"3"});
}

TEST_CASE("threads: dialogues say the same with every number of them", "[program]") {
    const Workplace place;
    const Words plays{"--explore --runs 60", "--explore --runs 12 --mutant gap_dropped_in_silence"};
    for (const std::string& what : veriroce::test::sweep_of(plays, 0, 1))
        check_same(place, std::string(played_and_told) + what, {"3"});
}

} // namespace veriroce::program::test
