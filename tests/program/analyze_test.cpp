// `veriroce analyze` from the outside.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

std::string pcap(const std::string& name) {
    return std::string(VERIROCE_SOURCE_DIR) + "/pcaps/" + name + ".pcap";
}

} // namespace

TEST_CASE("analyze: exit codes say whether all is healthy", "[program]") {
    const Workplace place;
    CHECK(place.run("veriroce analyze " + pcap("rxe-rping-cm")).code == 0);
    CHECK(place.run("veriroce analyze " + pcap("rxe-write-loss")).code == 1);
    CHECK(place.run("veriroce analyze " + pcap("rxe-cm-reject")).code == 1);
    const std::string limits = " --max-retransmissions 95% --max-rnr-naks 10";
    CHECK(place.run("veriroce analyze " + pcap("rxe-rnr-nak") + limits).code == 0);
    CHECK(place.run("veriroce analyze --max-latency 1ms " + pcap("rxe-rping-cm")).code == 1);
    CHECK(place.run("veriroce analyze --max-latency 10ms " + pcap("rxe-rping-cm")).code == 0);
}

TEST_CASE("analyze: wrong options and inputs are told", "[program]") {
    const Workplace place;
    const auto check = [&](const std::string& command, int code, const std::string& said) {
        const Outcome outcome = place.run("veriroce analyze " + command);
        INFO(command << "\n" << outcome.err);
        CHECK(outcome.code == code);
        CHECK(outcome.err.find(said) != std::string::npos);
    };
    place.write("notes.txt", "these are my notes\n");
    check("", 2, "no capture file; give file names, - for standard input, or -i IFACE");
    check("-i lo " + pcap("rxe-atomic"), 2, "-i reads no files");
    check("--max-retransmissions many x.pcap", 2,
          "--max-retransmissions: expected a share such as 0.1% or 0.001, got 'many'");
    check("--max-latency 5 x.pcap", 2,
          "--max-latency: expected a time such as 500us, 10ms or 1s, got '5'");
    check("--rows messages x.pcap", 2, "--rows goes with --format csv or jsonl");
    check("--second x.pcap", 2, "--second needs the FILEs of the first point, too");
    check("x.pcap --second -", 2, "--second reads the files twice");
    check("x.pcap --second y.pcap --format csv", 2, "--second goes with --format text or json");
    check("x.pcap --second y.pcap --html z.html", 2, "leave --second out");
    check(pcap("rxe-atomic") + " --second " + pcap("rxe-vlan"), 3, "nothing was compared");
    check("missing.pcap", 3, "missing.pcap: No such file or directory");
    check("notes.txt", 3, "notes.txt");
    check("--connection 9 " + pcap("rxe-atomic"), 3, "no connection has the number 9");
}

TEST_CASE("analyze: two captures of one point differ in nothing", "[program]") {
    const Workplace place;
    const std::string both = pcap("rxe-write-loss") + " --second " + pcap("rxe-write-loss");
    const Outcome same = place.run("veriroce analyze " + both);
    CHECK(same.code == 0);
    CHECK(same.out.find("the second is 0 ns ahead of the first (give or take 0 ns)") !=
          std::string::npos);
    CHECK(same.out.find("lost") == std::string::npos);
    const Outcome json = place.run("veriroce analyze --format json " + both +
                                   " > out; python3 -c "
                                   "\"import json; d = json.load(open('out')); print(d['schema'], "
                                   "len(d['missing']))\"");
    CHECK(json.out == "veriroce/two-points/1 0\n");
}

TEST_CASE("analyze: programs can read what it says", "[program]") {
    const Workplace place;
    place.write("check.py",
                "import csv, json, sys\n"
                "kind, path = sys.argv[1:]\n"
                "text = open(path)\n"
                "if kind == 'json':\n"
                "    d = json.load(text)\n"
                "    c = d['connections'][0]\n"
                "    print(d['schema'], d['capture']['packets'], c['healthy'],\n"
                "          c['directions'][0]['resent']['sequence_nak'] > 200,\n"
                "          c['directions'][0]['requests_missed']['behind'],\n"
                "          len([e for e in c['episodes'] if e['kind'] == 'sequence-nak']))\n"
                "elif kind == 'jsonl':\n"
                "    lines = [json.loads(line) for line in text]\n"
                "    print([sum(l['type'] == t for l in lines) for t in\n"
                "           ('capture', 'connection', 'message')])\n"
                "else:\n"
                "    rows = list(csv.DictReader(text))\n"
                "    assert all(None not in row and None not in row.values() for row in rows)\n"
                "    print(len(rows), sum(int(r.get('bytes') or 0) for r in rows))\n");
    const auto read = [&](const std::string& options, const std::string& kind) {
        const Outcome outcome =
            place.run("veriroce analyze " + options + " " + pcap("rxe-write-loss") +
                      " > out; python3 check.py " + kind + " out");
        INFO(outcome.err);
        return outcome.out;
    };
    CHECK(read("--format json", "json") == "veriroce/analysis/1 499 False True 9 9\n");
    CHECK(read("--format jsonl", "jsonl") == "[1, 1, 0]\n");
    CHECK(read("--format jsonl --rows messages", "jsonl") == "[0, 0, 12]\n");
    CHECK(read("--format csv", "csv") == "1 0\n");
    CHECK(read("--format csv --rows messages", "csv") == "12 196608\n");
}

TEST_CASE("analyze: a database is new, and other files stay", "[program]") {
    const Workplace place;
    const std::string command = "veriroce analyze --sqlite x.db " + pcap("rxe-rping-cm");
    CHECK(place.run(command).code == 0);
    CHECK(place.run(command).code == 0); // replaces its own
    const Outcome counted =
        place.run("python3 -c \"import sqlite3; d = sqlite3.connect('x.db'); "
                  "print(d.execute('select count(*), sum(bytes) from messages').fetchall())\"");
    CHECK(counted.out == "[(30, 1320)]\n");
    place.write("notes.txt", "these are my notes\n");
    const Outcome refused = place.run("veriroce analyze --sqlite notes.txt " + pcap("rxe-atomic"));
    CHECK(refused.code == 3);
    CHECK(refused.out.empty());
    CHECK(refused.err == "veriroce: notes.txt: exists and is not a database of veriroce analyze; "
                         "not overwritten\n");
    CHECK(place.run("veriroce analyze --sqlite none.db missing.pcap").code == 3);
    CHECK(place.listing() == std::set<std::string>{"notes.txt", "x.db"});
}

TEST_CASE("analyze: the parts of a capture give what the whole gives", "[program]") {
    const Workplace place;
    const std::string whole = pcap("rxe-write-loss");
    place.write("split.py", "import struct, sys\n"
                            "data = open(sys.argv[1], 'rb').read()\n"
                            "at, n, parts = 24, 0, [b'', b'', b'']\n"
                            "while at < len(data):\n"
                            "    size = 16 + struct.unpack_from('<I', data, at + 8)[0]\n"
                            "    parts[n // 200] += data[at:at + size]\n"
                            "    at, n = at + size, n + 1\n"
                            "for i, part in enumerate(parts):\n"
                            "    open(f'part{i}.pcap', 'wb').write(data[:24] + part)\n");
    CHECK(place.run("python3 split.py " + whole).code == 0);
    const Outcome one = place.run("veriroce analyze -v " + whole);
    CHECK(one.out == place.run("veriroce analyze -v part2.pcap part0.pcap part1.pcap").out);
    CHECK(one.out == place.run("cat " + whole + " | veriroce analyze -v -").out);
    for (const std::string_view line : house::lines(one.out))
        CHECK(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <= 100);
}

} // namespace veriroce::program::test
