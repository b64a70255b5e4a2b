// What the program says when something is wrong: the whole of stderr and the exit code, a row each.
// A row that fails leaves no file behind, whatever it was asked to write.
#include <catch2/catch.hpp>

#include <vector>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

constexpr int usage = 2;
constexpr int tool = 3;

struct Row {
    std::string command;
    std::string err; // all of it, without the last newline
    int code = usage;
    bool prints = false; // something on stdout as well
};

void check(const Workplace& place, const Row& row, bool in_network = false) {
    const auto before = place.listing();
    const Outcome outcome = in_network ? place.run_in_network(row.command) : place.run(row.command);
    INFO("$ " << row.command << "\n" << outcome.out);
    CHECK(outcome.err == row.err + "\n");
    CHECK(outcome.code == row.code);
    CHECK(outcome.out.empty() == !row.prints);
    CHECK(place.listing() == before);
}

std::string pcap_of_two_and_a_half() {
    const auto word = [](std::uint32_t value) {
        std::string text;
        for (int i = 0; i < 4; ++i)
            text += static_cast<char>(value >> (8 * i) & 0xFF);
        return text;
    };
    const std::string packet = word(1) + word(0) + word(60) + word(60) + std::string(60, '\0');
    std::string file = word(0xA1B2C3D4) + word(0x00040002) + word(0) + word(0) + word(65535);
    file += word(1) + packet + packet + packet;
    return file.substr(0, file.size() - 30);
}

const std::string typo = "rule   RSP-01\n"
                         "title  \"made up\"\n"
                         "role   responder\n"
                         "\n"
                         "dut    recv id=1\n"
                         "> SEND_ONYL  psn=0 ackreq\n";

const std::string typo_found =
    "typo.roce:6:3: unknown opcode 'SEND_ONYL'; did you mean 'SEND_ONLY'?\n"
    "    > SEND_ONYL  psn=0 ackreq\n"
    "      ^^^^^^^^^";

const std::string not_laid_out = "rule RSP-01\n"
                                 "title \"made up\"\n"
                                 "role responder\n"
                                 "\n"
                                 "> SEND_ONLY psn=0 tver=1\n"
                                 "dropped\n";

} // namespace

TEST_CASE("errors: dissect", "[program]") {
    const Workplace place;
    place.write("notes.txt", "these are my notes\n");
    place.write("empty.pcap", "");
    place.write("short.pcap", pcap_of_two_and_a_half());
    place.write("packed.pcap.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8));
    const std::vector<Row> rows{
        {"veriroce dissect notes.txt",
         "veriroce: notes.txt: not a pcap or pcapng file (first bytes 74686573); give a "
         "capture file",
         tool},
        {"veriroce dissect missing.pcap", "veriroce: missing.pcap: No such file or directory",
         tool},
        {"veriroce dissect \"$(printf 'a\\033[2J.pcap')\"",
         "veriroce: a\\x1b[2J.pcap: No such file or directory", tool},
        {"veriroce judge \"$(printf 'a\\033[2J.pcap')\"",
         "veriroce: a\\x1b[2J.pcap: No such file or directory", tool, true},
        {"veriroce dissect -r missing.pcap", "veriroce: missing.pcap: No such file or directory",
         tool},
        {"veriroce dissect .", "veriroce: .: reading failed at byte 0: Is a directory", tool},
        {"veriroce dissect empty.pcap", "veriroce: empty.pcap: empty file; give a capture file",
         tool},
        {"veriroce dissect short.pcap",
         "veriroce: short.pcap: the file ends in the middle of a packet or header at byte 176; "
         "the packets before it were read",
         tool, true},
        {"veriroce dissect packed.pcap.gz",
         "veriroce: packed.pcap.gz: the gzip data ends at byte 8 before it is complete; "
         "the packets before it were read",
         tool},
        {"veriroce dissect -T fields -e infiniband.bth.pns short.pcap",
         "veriroce: dissect: unknown field 'infiniband.bth.pns'; did you mean "
         "'infiniband.bth.psn'?"},
        {"veriroce dissect -T fields short.pcap",
         "veriroce: dissect: -T fields needs at least one -e FIELD"},
        {"veriroce dissect -Y 'ip and upd' short.pcap",
         "veriroce: dissect: -Y: column 8: unknown field or protocol 'upd'; did you mean "
         "'udp'?\n"
         "    ip and upd\n"
         "           ^^^"},
        {"veriroce dissect --decode-as qp=0x12:nvmf short.pcap",
         "veriroce: dissect: --decode-as: unknown protocol 'nvmf'; choose nvme, nvme_admin, "
         "nvme_io, iser, smb_direct, rpcordma or none"},
        {"veriroce dissect --decode-as nvme short.pcap",
         "veriroce: dissect: --decode-as: expected qp=N:PROTOCOL or port=N:PROTOCOL, got "
         "'nvme'"},
        {"veriroce dissect --decode-as port=70000:nvme short.pcap",
         "veriroce: dissect: --decode-as: '70000' is not a port number"},
        {"veriroce dissect -T xml short.pcap",
         "veriroce: -T: expected text, fields, json, jsonl or csv, got 'xml'"},
        {"veriroce dissect -T ek short.pcap",
         "veriroce: -T: expected jsonl, which is one JSON object per line, got 'ek'"},
        {"veriroce dissect -T tabs short.pcap",
         "veriroce: -T: expected fields, whose values are separated by tabs; -e _ws.col.Info is "
         "the line's last column, got 'tabs'"},
        {"veriroce dissect -r short.pcap -z io,stat,1",
         "veriroce: -z: there are no taps; --stats counts packets, opcodes, NAKs and QPs, --check "
         "prints what 'expert' does, --follow one connection"},
        {"veriroce dissect -r short.pcap -u hms",
         "veriroce: -u: expected s: times are in seconds, -t chooses their form, got 'hms'"},
        {"veriroce dissect --version",
         "veriroce: -v,--version: 'veriroce --version' prints the version; -V prints packets as "
         "trees"},
        {"veriroce dissect -2 -r short.pcap -R udp",
         "veriroce: -2: every file is read once; a filter goes after -Y"},
        {"veriroce dissect -r short.pcap --color",
         "veriroce: --color: output has no colours; leave it out"},
        {"veriroce dissect -r short.pcap -F pcap",
         "veriroce: -F: expected pcapng, the one format of -w ('editcap -F' converts it), got "
         "'pcap'"},
        {"veriroce dissect -r short.pcap -E header=y -E header=1",
         "veriroce: -E: expected header=y or header=n, got 'header=1'"},
        {"veriroce dissect -r short.pcap -t x",
         "veriroce: -t: expected r, a, ad, u, ud, d, dd or e, got 'x'"},
        {"veriroce dissect -r short.pcap ip adn udp",
         "veriroce: dissect: -Y: column 4: unknown operator 'adn'; did you mean 'and'?\n"
         "    ip adn udp\n"
         "       ^^^"},
        {"veriroce dissect", "veriroce: dissect: no capture file; give a file name, - for standard "
                             "input, or -i INTERFACE"},
        {"veriroce dissekt short.pcap",
         "veriroce: unknown command 'dissekt'; did you mean 'dissect'?"},
        {"veriroce frobnicate",
         "veriroce: unknown command 'frobnicate'; the commands are dissect, analyze, judge, "
         "test, doctor, report, script, rules, agent, serve, ping, bench, fuzz, inject"},
        {"veriroce bench", "veriroce: expected a command: engine, icrc; --help describes them"},
        {"veriroce bench sim", "veriroce: unknown command 'sim'; the commands are engine, icrc"},
        {"veriroce fuzz --seeds 0", "veriroce: fuzz: --seeds: expected 1 or more, got 0"},
        {"veriroce", "veriroce: expected a command: dissect, analyze, judge, test, doctor, "
                     "report, script, rules, agent, serve, ping, bench, fuzz, inject; --help "
                     "describes them"},
        {"veriroce dissect --chek short.pcap",
         "veriroce: unknown option '--chek'; did you mean '--check'?"},
        {"veriroce dissect -c many short.pcap",
         "veriroce: -c: expected a whole number, got 'many'"},
        {"veriroce ping --size 0 10.0.0.1",
         "veriroce: --size: expected a whole number from 1 to 1073741824, got '0'"},
        {"veriroce ping", "veriroce: HOST is required"},
        {"veriroce agent --listn x", "veriroce: unknown option '--listn'; did you mean "
                                     "'--listen'?"},
    };
    for (const Row& row : rows)
        check(place, row);
}

TEST_CASE("errors: judge", "[program]") {
    const Workplace place;
    place.write("notes.txt", "these are my notes\n");
    place.write("short.pcap", pcap_of_two_and_a_half());
    const std::vector<Row> rows{
        {"veriroce judge", "veriroce: FILE is required"},
        {"veriroce judge missing.pcap", "veriroce: missing.pcap: No such file or directory", tool,
         true},
        {"veriroce judge -q notes.txt",
         "veriroce: notes.txt: not a pcap or pcapng file (first bytes 74686573); give a "
         "capture file",
         tool},
        {"veriroce judge short.pcap",
         "veriroce: short.pcap: the file ends in the middle of a packet or header at byte 176; "
         "the packets before it were read",
         tool, true},
        {"veriroce judge --format xml short.pcap",
         "veriroce: --format: expected text or json, got 'xml'"},
        {"veriroce judge --recorded-at nowhere short.pcap",
         "veriroce: judge: --recorded-at: expected an IP address, got 'nowhere'"},
        {"veriroce judge --connections notes.txt short.pcap",
         "veriroce: judge: notes.txt:1: expected an IP address, got 'these'"},
        {"veriroce judge --connections missing.txt short.pcap",
         "veriroce: judge: missing.txt: No such file or directory"},
    };
    for (const Row& row : rows)
        check(place, row);
}

TEST_CASE("errors: test, before anything is sent", "[program]") {
    const Workplace place;
    place.write("bad.faults", "dorp when psn=0\n");
    place.write("loss.faults", "drop when psn=0\n");
    place.write("none.faults", "# nothing\n");
    place.write("typo.roce", typo);
    place.write("wrong.yaml", "profil: x\n");
    REQUIRE(place.run("mkdir -p a b/a").code == 0);
    for (const char* name : {"a/x.roce", "b/a/x.roce"})
        place.write(name, not_laid_out);
    const std::vector<Row> rows{
        {"veriroce test rsp/gap-nack",
         "veriroce: unknown case or group 'rsp/gap-nack'; did you mean "
         "'rsp/gap-nak'?"},
        {"veriroce test no-such-group-at-all",
         "veriroce: unknown case or group 'no-such-group-at-all'; 'veriroce test "
         "--list' lists them"},
        {"veriroce test 'rsp/gap-nack[n=1]'",
         "veriroce: unknown case or group 'rsp/gap-nack[n=1]'; did you mean "
         "'rsp/gap-nak'?"},
        {"veriroce test 'bth/truncated[n=5]'",
         "veriroce: bth/truncated has no run with n=5; 'veriroce test --list bth/truncated' shows "
         "them"},
        {"veriroce test --exclude bth/truncted",
         "veriroce: --exclude bth/truncted: no run, case or group matches; did you mean "
         "'bth/truncated'?"},
        {"veriroce test bth/truncated --exclude 'bth*'", "veriroce: no case matches the selection"},
        {"veriroce test --allow-errors 2",
         "veriroce: --allow-errors: expected a share such as 2%, got '2'"},
        {"veriroce test --allow-errors 101%",
         "veriroce: --allow-errors: expected a share such as 2%, got '101%'"},
        {"veriroce test --dut-other-address fd77:1::1",
         "veriroce: --dut-other-address needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --rule RSP-99", "veriroce: unknown rule 'RSP-99'; did you mean 'RSP-09'?"},
        {"veriroce test --rule RSP-02 --role requester", "veriroce: no case matches the selection"},
        {"veriroce test --role observer",
         "veriroce: --role: expected responder or requester, got 'observer'"},
        {"veriroce test --tag lethl", "veriroce: unknown tag 'lethl'; did you mean 'lethal'?"},
        {"veriroce test --dry-run --mutant tver_not_cheked",
         "veriroce: unknown mutant 'tver_not_cheked'; did you mean "
         "'tver_not_checked'?"},
        {"veriroce test --dry-run --dut 127.0.0.1:1 -i va --profile wrong.yaml",
         "veriroce: wrong.yaml:1:1: unknown key 'profil'; did you mean 'profile'?"},
        {"veriroce test a/x.roce b/a/x.roce",
         "veriroce: a/x.roce and b/a/x.roce are both called a/x: play them in two runs"},
        {"veriroce test typo.roce", "veriroce: " + typo_found},
        {"veriroce test loss.faults",
         "veriroce: loss.faults is a fault plan, not a test case: veriroce test CASE --faults "
         "loss.faults"},
        {"veriroce test rsp --faults bad.faults",
         "veriroce: bad.faults:1:1: unknown fault action 'dorp'; did you mean 'drop'?\n"
         "    dorp when psn=0\n"
         "    ^^^^"},
        {"veriroce test rsp --faults none.faults",
         "veriroce: none.faults: the fault plan has no rules"},
        {"veriroce test rsp --faults missing.faults",
         "veriroce: missing.faults: No such file or directory", tool},
        {"veriroce test missing.roce", "veriroce: missing.roce: No such file or directory", tool},
        {"veriroce test --over ip=5", "veriroce: --over ip=5: ip: expected 4 or 6, got '5'"},
        {"veriroce test --over ip=", "veriroce: --over ip=: ip: expected 4 or 6, got ''"},
        {"veriroce test --over size=256",
         "veriroce: --over size=256: the axes are ip=4,6, psn=low,wrap, vlan=none,ID, "
         "migreq=0,1 and mtu=256,512,1024,2048,4096"},
        {"veriroce test --over vlan=4095",
         "veriroce: --over vlan=4095: vlan: expected none or an ID from 1 to 4094, got '4095'"},
        {"veriroce test rsp/gap-nak --write-profile missing/p.yaml",
         "veriroce: missing/p.yaml: No such file or directory", tool},
        {"veriroce dissect $(printf '%b' '--\\033[31mz')",
         "veriroce: unknown option '--\\x1b[31mz'; see --help"},
        {"veriroce test --over psn=high",
         "veriroce: --over psn=high: psn: expected low or wrap, got 'high'"},
        {"veriroce test --shard 3", "veriroce: --shard: expected I/N, such as 2/5, got '3'"},
        {"veriroce test --shard 6/5",
         "veriroce: --shard: expected I/N with I from 1 to N, got '6/5'"},
        {"veriroce test rsp/gap-nak --shard 2/2",
         "veriroce: --shard 2/2: nothing to run: the selection has only 1 runs"},
        {"veriroce test -D lost", "veriroce: -D: 'lost' is not NAME=VALUE"},
        {"veriroce test req/lost-read-response -D lots=2",
         "veriroce: -D lots=2: no selected case has a 'let' or 'for' line with that name; did you "
         "mean "
         "'lost'?"},
        {"veriroce test --profile rxe.yaml",
         "veriroce: --profile needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --shrink --dut 127.0.0.1:1 -i va",
         "veriroce: --shrink plays in virtual time: leave out --dut"},
        {"veriroce test --dut-reset true",
         "veriroce: --dut-reset needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --seed many", "veriroce: --seed: expected a whole number, got 'many'"},
        {"veriroce test --timeout-scale 0",
         "veriroce: --timeout-scale: expected a number from 0.1 to 100000, got '0'"},
        {"veriroce test --noise los=1%",
         "veriroce: --noise: unknown kind of noise 'los'; did you mean 'loss'?"},
        {"veriroce test --noise loss=1",
         "veriroce: --noise: loss: expected a share such as 0.2%, got '1'"},
        {"veriroce test --noise loss=1% --shrink",
         "veriroce: --shrink needs a wire that loses nothing: leave out --noise"},
        {"veriroce test --dut 127.0.0.1:1 -i va --noise loss=1%",
         "veriroce: --noise disturbs the wire in virtual time: leave out --dut"},
        {"veriroce test --mutant tver_not_cheked",
         "veriroce: unknown mutant 'tver_not_cheked'; did you mean "
         "'tver_not_checked'?"},
        {"veriroce test --runs 3", "veriroce: --runs and --time limit --explore and --thorough"},
        {"veriroce test --mutant nosuch",
         "veriroce: unknown mutant 'nosuch'; 'veriroce test --list-mutants' lists them"},
        {"veriroce test -i va", "veriroce: -i needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --tester-address 192.0.2.9",
         "veriroce: --tester-address needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --dut 127.0.0.1:1",
         "veriroce: --dut needs the tester's interface on the device's network: -i IFACE"},
        {"veriroce test --dut 127.0.0.1:1 -i va --mutant tver_not_checked",
         "veriroce: --mutant plants a defect in the built-in engine: leave out --dut"},
        {"veriroce test --dut 127.0.0.1 -i va", "veriroce: --dut: \"127.0.0.1\" is not a valid "
                                                "address: the port is missing; write "
                                                "ADDRESS:PORT, [IPV6]:PORT or unix:PATH"},
        {"veriroce test --dut 127.0.0.1:1 -i va --tester-address 192.0.2",
         "veriroce: --tester-address: expected an IP address, got '192.0.2'"},
        {"veriroce test --dut-port 2",
         "veriroce: --dut-port needs a device: name its agent with --dut HOST:PORT"},
        {"veriroce test --dut 127.0.0.1:1 -i va --dut-gid 1,x",
         "veriroce: --dut-gid: expected an index, got 'x'"},
        {"veriroce test --dut-lacks ucc",
         "veriroce: --dut-lacks: 'ucc' is nothing that a device can lack"},
        {"veriroce test --dut 127.0.0.1:1 -i va --dut-lacks uc",
         "veriroce: --dut-lacks limits the built-in engine: leave out --dut"},
        {"veriroce test --dut 127.0.0.1:1 -i va --dut-address fd77::1,x",
         "veriroce: --dut-address: expected an IP address, got 'x'"},
        {"veriroce test --dut 127.0.0.1:1 -i va --dut-token-file missing",
         "veriroce: missing: No such file or directory", tool},
        {"veriroce test rsp/gap-nack --report out --capture all.pcapng",
         "veriroce: unknown case or group 'rsp/gap-nack'; did you mean "
         "'rsp/gap-nak'?"},
    };
    for (const Row& row : rows)
        check(place, row);
}

TEST_CASE("errors: script import", "[program]") {
    const Workplace place;
    const std::string pcaps = VERIROCE_SOURCE_DIR "/pcaps/";
    place.write("notes.txt", "these are my notes\n");
    place.write("short.pcap", pcap_of_two_and_a_half());
    REQUIRE(place
                .run("cp " + pcaps + "rxe-tc-dscp.pcap one.pcap; cp " + pcaps +
                     "rxe-uc-pingpong.pcap uc.pcap; cp " + pcaps +
                     "rxe-vlan.pcap two.pcap; "
                     "veriroce dissect one.pcap -Y 'infiniband.bth.opcode == 17' -w acks.pcapng")
                .code == 0);
    const std::string only = "10.77.0.1 QP 0x00003b - 10.77.0.2 QP 0x00003c";
    const std::vector<Row> rows{
        {"veriroce script import", "veriroce: CAPTURE is required"},
        {"veriroce script import missing.pcap", "veriroce: missing.pcap: No such file or directory",
         tool},
        {"veriroce script import notes.txt",
         "veriroce: notes.txt: not a pcap or pcapng file (first bytes 74686573); give a "
         "capture file",
         tool},
        {"veriroce script import short.pcap",
         "veriroce: short.pcap: the file ends in the middle of a packet or header at byte 176; "
         "the packets before it were read\n"
         "veriroce: short.pcap: the capture has no RC connection"},
        {"veriroce script import -",
         "veriroce: script import reads its capture twice: name a file, not standard input"},
        {"veriroce script import uc.pcap",
         "veriroce: uc.pcap: connection 1 is UC; only RC can be imported"},
        {"veriroce script import acks.pcapng",
         "veriroce: acks.pcapng: connection 1, 10.77.0.2 QP unknown - 10.77.0.1 QP 0x00003b, has "
         "no requests, only answers"},
        {"veriroce script import one.pcap --connection 2",
         "veriroce: one.pcap: no connection 2; the connections are\n    1  RC " + only +
             ", 2 and 0 request packets"},
        {"veriroce script import one.pcap --connection 0",
         "veriroce: --connection: expected a whole number from 1 to 1000000000, got '0'"},
        {"veriroce script import one.pcap --messages 0",
         "veriroce: --messages: expected a whole number from 1 to 1000000000, got '0'"},
        {"veriroce script import one.pcap --as peer",
         "veriroce: --as: expected requester or responder, got 'peer'"},
        {"veriroce script import one.pcap --from nowhere",
         "veriroce: --from: expected an IP address, got 'nowhere'"},
        {"veriroce script import one.pcap --from 10.0.0.9",
         "veriroce: one.pcap: 10.0.0.9 is not an end of the connection " + only},
        {"veriroce script import one.pcap --from 10.77.0.2",
         "veriroce: one.pcap: 10.77.0.2 sends no requests on the connection " + only},
        {"veriroce script import one.pcap -o none/x.roce",
         "veriroce: none/x.roce: No such file or directory", tool},
    };
    for (const Row& row : rows)
        check(place, row);
}

TEST_CASE("errors: script and rules", "[program]") {
    const Workplace place;
    place.write("bad.faults", "dorp when psn=0\n");
    place.write("loss.faults", "drop when psn=0\n");
    place.write("none.faults", "# nothing\n");
    place.write("typo.roce", typo);
    place.write("rough.roce", not_laid_out);
    const std::vector<Row> rows{
        {"veriroce script check missing.roce", "veriroce: missing.roce: No such file or directory",
         tool},
        {"veriroce script format missing.roce", "veriroce: missing.roce: No such file or directory",
         tool},
        {"veriroce script check typo.roce", typo_found},
        {"veriroce script check bad.faults",
         "bad.faults:1:1: unknown fault action 'dorp'; did you mean 'drop'?\n"
         "    dorp when psn=0\n"
         "    ^^^^"},
        {"veriroce script format typo.roce", typo_found},
        {"veriroce script check .", "veriroce: .: Is a directory", tool},
        {"veriroce script",
         "veriroce: expected a command: check, format, import; --help describes them"},
        {"veriroce script chek typo.roce",
         "veriroce: unknown command 'chek'; did you mean 'check'?"},
        {"veriroce rules RSP-99", "veriroce: unknown rule 'RSP-99'; did you mean 'RSP-09'?"},
        {"veriroce rules RSPP", "veriroce: unknown rule 'RSPP'"},
        {"veriroce report diff one", "veriroce: report diff: expected 2 runs, got 1"},
        {"veriroce report matrix missing", "veriroce: missing: No such file or directory", tool},
        {"veriroce report matrix typo.roce", "veriroce: typo.roce: this is not JSON: syntax error",
         tool},
    };
    for (const Row& row : rows)
        check(place, row);
    CHECK(place.run("veriroce script format --check rough.roce").code == 1);
    CHECK(house::read_text(place.folder() / "rough.roce") == not_laid_out);
    CHECK(house::read_text(place.folder() / "typo.roce") == typo);
}

TEST_CASE("errors: a report that cannot be written", "[program]") {
    const Workplace place;
    place.write("file", "not a folder");
    // 4 KiB a file at most, and no signal for more.
    const std::string little_room = "trap '' XFSZ; ulimit -f 8; ";
    const std::vector<Row> rows{
        {"veriroce test rsp/gap-nak --report file/out", "veriroce: file/out: Not a directory",
         tool},
        {"veriroce test rsp/gap-nak --capture missing/run.pcapng",
         "veriroce: missing/run.pcapng: cannot be created: No such file or directory", tool},
        {"mkdir -p in/results.json && veriroce test rsp/gap-nak --report in; code=$?; rm -r in; "
         "exit $code",
         "veriroce: in/results.json: Is a directory", tool},
        {"mkdir -p in/junit.xml && veriroce test rsp/gap-nak --report in; code=$?; rm -r in; "
         "exit $code",
         "veriroce: in/junit.xml: Is a directory", tool},
        // What there was room for stays.
        {little_room + "veriroce test -q rsp --capture run.pcapng; code=$?; rm run.pcapng; "
                       "exit $code",
         "veriroce: run.pcapng: writing failed: File too large", tool, true},
    };
    for (const Row& row : rows)
        check(place, row);
    // A disk that is full from the beginning: nothing is played.
    const Outcome full = place.run(
        "mkdir out; { trap '' XFSZ; ulimit -f 0; veriroce test -q rsp --report out 2>&1; echo $?; }"
        " | cat; rmdir out");
    CHECK(full.out == "veriroce: out/junit.xml: File too large\n3\n");
    CHECK(full.err.empty());
    // Where not even that can be said, the code still tells.
    CHECK(place
              .run("mkdir out; trap '' XFSZ; ulimit -f 0; veriroce test -q rsp --report out; "
                   "code=$?; rmdir out && exit $code")
              .code == tool);
    // One that becomes full: all files are tried, and what was written until then stays.
    check(place, {"mkdir out && " + little_room + "veriroce test -q rsp --report out; " +
                      "code=$?; grep -q '\"complete\": false' out/results.json; " +
                      "rm out/results.json out/report.md && rmdir out && exit $code",
                  "veriroce: out/results.json: File too large\n"
                  "veriroce: out/junit.xml: File too large\n"
                  "veriroce: out/report.html: File too large",
                  tool, true});
}

TEST_CASE("errors: output that finds no room or no reader", "[program]") {
    const Workplace place;
    const std::string full = "veriroce: standard output: No space left on device";
    const std::string import =
        "veriroce script import " VERIROCE_SOURCE_DIR "/pcaps/rxe-write-loss.pcap";
    for (const std::string& command :
         {std::string("veriroce rules"), std::string("veriroce test --list"),
          std::string("veriroce test --list-mutants"), std::string("veriroce test rsp/gap-nak"),
          import}) {
        check(place, {command + " > /dev/full", full, tool});
        // The pipe's reader is gone before anything is written.
        const Outcome unread =
            place.run("{ sleep 0.3; " + command + "; echo $? > code; } | true; cat code; rm code");
        INFO(command);
        CHECK(unread.err.empty());
        CHECK(unread.out == "0\n");
    }
    // The run goes on without its reader, up to the report.
    CHECK(place.run("veriroce test rsp/gap-nak --report r > /dev/full").code == tool);
    CHECK(place.listing().contains("r/results.json"));
}

TEST_CASE("errors: the device and the link, which needs root", "[program]") {
    const Workplace place;
    const auto socket = [&](const char* name) { return place.folder() / name; };
    const Listener http(socket("http"), Listener::Manner::Answer,
                        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    const Listener prose(socket("prose"), Listener::Manner::Answer, "220 mail.example ESMTP\n");
    const Listener hostile(
        socket("hostile"), Listener::Manner::Answer,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"\\u001b[2J\"}}\n");
    const Listener binary(socket("binary"), Listener::Manner::Answer, "\xFF\xFE\x1b[2J\n");
    const Listener shut(socket("shut"), Listener::Manner::HangUp);
    const Listener silent(socket("silent"), Listener::Manner::Silent);
    place.write("no-token", "\n");
    const std::string report = " --report out --capture all.pcapng";
    const std::vector<Row> rows{
        {"veriroce test -i va --dut 127.0.0.1:1" + report,
         "veriroce: nothing listens on 127.0.0.1:1: start the agent there, or check the "
         "address and port",
         tool},
        {"veriroce test -i va --dut unix:missing" + report,
         "veriroce: there is no socket unix:missing: start the agent there, or check "
         "the path",
         tool},
        {"veriroce test -i va --dut unix:missing --tester-address 192.0.2.7 --tester-address "
         "192.0.2.8 --dut-address 192.0.2.1 --dut-address 192.0.2.2",
         "veriroce: there is no socket unix:missing: start the agent there, or check "
         "the path",
         tool},
        {"veriroce test -i va --dut unix:http" + report,
         "veriroce: unix:http speaks HTTP: it is not a veriroce agent; check the port", tool},
        {"veriroce test -i va --dut unix:hostile" + report,
         "veriroce: unix:hostile rejected hello: \\x1b[2J", tool},
        {"veriroce test -i va --dut unix:binary" + report,
         "veriroce: unix:binary is not a veriroce agent: it answered with "
         "\"\\xff\\xfe\\x1b[2J\", which is not JSON-RPC",
         tool},
        {"veriroce test -i va --dut unix:prose" + report,
         "veriroce: unix:prose is not a veriroce agent: it answered with \"220 "
         "mail.example ESMTP\", which is not JSON-RPC",
         tool},
        {"veriroce test -i va --dut unix:shut" + report,
         "veriroce: unix:shut closed the connection without an answer: it requires a token, or "
         "it is not a veriroce agent",
         tool},
        {"veriroce test -i va --dut unix:silent" + report,
         "veriroce: unix:silent does not answer: is it a veriroce agent?", tool},
        {"veriroce test -i va --dut unix:http --dut-token-file no-token" + report,
         "veriroce: no-token: this file is empty; it must hold the same line as the agent's "
         "--token-file",
         tool},
        {"veriroce test -i vc --dut unix:http" + report,
         "veriroce: there is no interface \"vc\": this host has lo, off, other, va, vb", tool},
        {"veriroce test -i off --dut unix:http" + report,
         "veriroce: interface off is down: ip link set off up", tool},
        {"veriroce test -i lo --dut unix:http" + report,
         "veriroce: interface lo is not an Ethernet interface, which RoCEv2 needs", tool},
        {"veriroce dissect -i vc",
         "veriroce: there is no interface \"vc\": this host has lo, off, other, va, vb", tool},
        {"veriroce dissect -i off", "veriroce: interface off is down: ip link set off up", tool},
        {"setpriv --bounding-set -net_raw veriroce dissect -i va",
         "veriroce: capturing on va needs CAP_NET_RAW: run as root, or setcap "
         "cap_net_raw,cap_net_admin+ep on the program",
         tool},
        {"setpriv --bounding-set -net_raw veriroce test -i va --dut unix:http" + report,
         "veriroce: raw frames on va need CAP_NET_RAW: run as root, or setcap "
         "cap_net_raw,cap_net_admin+ep on the program",
         tool},
    };
    for (const Row& row : rows)
        check(place, row, true);
}

TEST_CASE("errors: inject", "[program]") {
    const Workplace place;
    place.write("ok.faults", "drop when p=1\n");
    place.write("bad.faults", "drop when p=1\nexpect miracle\n");
    place.write("none.faults", "# nothing\n");
    place.write("notes.txt", "these are my notes\n");
    const std::vector<Row> rows{
        {"veriroce inject va off --plan missing.faults",
         "veriroce: there is no file and no plan missing.faults; 'veriroce inject --list-plans' "
         "shows the plans",
         tool},
        {"veriroce inject va off --plan bad.faults",
         "veriroce: bad.faults:2:8: unknown expectation 'miracle'\n    expect miracle\n"
         "           ^^^^^^^"},
        {"veriroce inject va off --plan none.faults",
         "veriroce: none.faults: the fault plan has no rules"},
        {"veriroce inject va --plan ok.faults",
         "veriroce: inject needs two interfaces, or --dry-run CAPTURE"},
        {"veriroce inject --plan ok.faults --dry-run notes.txt",
         "veriroce: notes.txt: not a pcap or pcapng file (first bytes 74686573); give a capture "
         "file",
         tool},
        {"veriroce inject va va --plan ok.faults",
         "veriroce: a bump needs two interfaces, got va twice", tool},
        {"veriroce inject va nix --plan ok.faults", "veriroce: there is no interface nix", tool},
        {"veriroce inject va lo --plan ok.faults", "veriroce: lo is not an Ethernet interface",
         tool},
        {"veriroce inject va off --plan ok.faults", "veriroce: off is down: ip link set off up",
         tool},
        {"veriroce inject va vb --path packet --if-killed forward --plan ok.faults",
         "veriroce: --if-killed forward needs XDP: AF_PACKET always blocks", tool},
    };
    for (const Row& row : rows)
        check(place, row, true);
}

} // namespace veriroce::program::test
