// `veriroce test` on a real link: against the built-in engine behind an agent in a network
// namespace of its own, right or with a planted defect. Needs root.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tests/part_of.hpp"
#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

// device.sh AGENT_OPTIONS: the device at the other end of va, until it is killed. Its namespace
// stays when it is started again.
constexpr std::string_view kDevice = R"(#!/bin/sh
exec veriroce agent --backend engine --interface vb --address 192.0.2.1 --listen unix:agent "$@" \
    2>>agent.txt
)";

// live.sh AGENT_OPTION TEST_OPTIONS...: a whole run. `$before` is done before the agent starts,
// `$during` meanwhile.
constexpr std::string_view kLive = R"sh(#!/bin/sh
planted=$1
shift
unshare -n sleep 300 &
namespace=$!
while [ "$(readlink /proc/$namespace/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.02
done
ip link set vb netns $namespace
inside="nsenter -t $namespace -n"
$inside ip link set vb up
echo "$inside" >inside
[ -z "$before" ] || sh -c "$before"
$inside sh device.sh $planted &
echo $! >device
sh await.sh $(cat device) || { kill -9 $namespace; exit 99; }
[ -z "$during" ] || sh -c "$during" &
veriroce test --dut unix:agent -i va --report out "$@"
code=$?
kill -9 $(cat device) $namespace 2>/dev/null
exit $code
)sh";

// proxy.py: stands as `agent` in front of the agent at `real`. It closes its first connection
// when the first verdict has been written: the agent lives on, and the tester has lost it.
constexpr std::string_view kProxy = R"py(
import contextlib, os, selectors, socket, time
while not os.path.exists("real"):
    time.sleep(0.02)
listener = socket.socket(socket.AF_UNIX)
listener.bind("agent")
listener.listen()
first = True
while True:
    tester, agent = listener.accept()[0], socket.socket(socket.AF_UNIX)
    agent.connect("real")
    both = selectors.DefaultSelector()
    both.register(tester, selectors.EVENT_READ, agent)
    both.register(agent, selectors.EVENT_READ, tester)
    there = True
    while there:
        for key, _ in both.select(0.01):
            data = key.fileobj.recv(65536)
            there = there and bool(data)
            key.data.sendall(data)
        with contextlib.suppress(FileNotFoundError):
            if first and "verdict" in open("out/results.json").read():
                first = there = False
    tester.close()
    agent.close()
)py";

// What every case of the report satisfies, as a Python expression of `case`.
bool all_cases(const Workplace& place, const std::string& holds) {
    const Outcome said =
        place.run("python3 -c \"import json; cases = json.load(open('out/results.json'))['cases']; "
                  "print(len(cases) > 0 and all(" +
                  holds + " for case in cases))\"");
    INFO(said.out << said.err << house::read_text(place.folder() / "out" / "results.json"));
    return said.out == "True\n";
}

struct Live {
    Live() {
        place.write("device.sh", kDevice);
        place.write("await.sh", kAwaitAgent);
        place.write("live.sh", kLive);
    }
    Outcome play(const std::string& planted, const std::string& options,
                 const std::string& during = "", const std::string& before = "") const {
        return place.run_in_network("before=\"" + before + "\" during=\"" + during +
                                    "\" sh live.sh \"" + planted + "\" " + options);
    }

    Workplace place;
};

const std::string kWaiting = "ack/each-kind bth/answer-header rdr/msn rdr/order rsp/wide-gaps "
                             "req/sequence-nak n/extra-responses";

} // namespace

TEST_CASE("live: the right engine passes on a real link", "[program]") {
    const Live live;
    const Outcome outcome = live.play("", kWaiting);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(all_cases(live.place, "case['verdict'] in ('PASS', 'SKIP')"));
}

TEST_CASE("live: QP 1 of the engine answers on a real link", "[program][N-30]") {
    const Live live;
    const Outcome right = live.play("", "--slow cm");
    INFO(right.out << right.err);
    CHECK(right.code == 0);
    CHECK(all_cases(live.place, "case['verdict'] == 'PASS' or "
                                "(case['verdict'], case['id']) == ('SKIP', 'cm/several-peers')"));
}

TEST_CASE("live: a defect at QP 1 fails the cases about it", "[program][N-30]") {
    const Live live;
    const Outcome wrong =
        live.play("--mutant transaction_not_repeated", "cm/answer-form cm/unknown-service");
    INFO(wrong.out << wrong.err);
    CHECK(wrong.code == 1);
    CHECK(all_cases(live.place, "case['verdict'] == 'FAIL'"));
}

// The waits are shortened: the device answers at once, but wrongly.
TEMPLATE_TEST_CASE_SIG(
    "live: no case that waits for a packet passes a device whose ICRCs are wrong",
    "[program][CRC-01]", ((std::size_t part), part), 0, 1, 2) {
    const std::string cases =
        fmt::format("{}", fmt::join(veriroce::test::part_of(house::words(kWaiting), part, 3), " "));
    const Live live;
    const Outcome outcome = live.play("--mutant every_icrc_wrong", cases + " --timeout-scale 0.3");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.find("round trips could not be measured") != std::string::npos);
    CHECK(all_cases(live.place, "case['verdict'] in ('FAIL', 'SKIP')"));
    CHECK(all_cases(live.place, "case['verdict'] == 'SKIP' or 'CRC-01' in case['rules']"));
}

TEST_CASE("live: a device of which every third ICRC is wrong fails", "[program][CRC-01]") {
    const Live live;
    const Outcome outcome =
        live.play("--mutant every_third_icrc_wrong",
                  "ack/each-kind rdr/order 'rsp/each-request-again[which=1,later=0]'");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(all_cases(live.place, "case['verdict'] == 'FAIL' and 'CRC-01' in case['rules']"));
}

TEST_CASE("live: a device that refuses empty WRITEs is measured with SENDs", "[program]") {
    const Live live;
    const Outcome outcome =
        live.play("--mutant empty_write_needs_a_key", "rsp/gap-nak len/zero-length-write");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.find("round trips were measured with a SEND of 4 bytes, because of an empty "
                           "RDMA WRITE (expected ACK, got NAK") != std::string::npos);
    CHECK(
        all_cases(live.place, "(case['verdict'] == 'FAIL') == case['id'].startswith('len/zero')"));
}

TEST_CASE("live: an oddity that lacks verbs passes or is skipped", "[program]") {
    const Live live;
    const Outcome limited =
        live.play("--mutant core_without_comfort", "rsp/gap-nak ext/unreliable-gap");
    INFO(limited.out << limited.err);
    CHECK(limited.code == 0);
    CHECK(all_cases(live.place,
                    "(case['verdict'] == 'SKIP') == case['id'].startswith('ext/unreliable')"));
}

TEST_CASE("live: an oddity that tells its host late passes", "[program]") {
    const Live live;
    const Outcome late = live.play("--mutant host_one_ms_late", "atm/fetch-add rsp/lost-twice");
    INFO(late.out << late.err);
    CHECK(late.code == 0);
    CHECK(all_cases(live.place, "case['verdict'] == 'PASS'"));
}

TEST_CASE("live: a device that sends nothing is refused, and what it got is kept", "[program]") {
    const Live live;
    // Both ends know each other's MAC, and nothing leaves the device.
    const Outcome outcome =
        live.play("", "rsp/gap-nak --capture refused.pcapng", "",
                  "inside=\\$(cat inside); \\$inside tc qdisc add dev vb root pfifo limit 0; "
                  "\\$inside ip link set vb address 02:00:00:00:00:0b; "
                  "\\$inside ip neigh replace 192.0.2.9 lladdr 02:00:00:00:00:0a dev vb; "
                  "ip link set va address 02:00:00:00:00:0a; "
                  "ip neigh replace 192.0.2.1 lladdr 02:00:00:00:00:0b dev va");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 3);
    CHECK(outcome.err.starts_with("veriroce: no RoCEv2 packet comes from the device at 192.0.2.1"));
    CHECK(outcome.err.ends_with("; the packets until then: refused.pcapng\n"));
    const Outcome read = live.place.run("veriroce dissect refused.pcapng");
    CHECK(read.out.find("RC RDMA Write Only") != std::string::npos);
    CHECK(read.out.find("RC Send Only") != std::string::npos);
}

TEST_CASE("live: a device that has to be reset fails the case in which it died", "[program]") {
    const Live live;
    live.place.write("reset.sh", "rm -f agent\n$(cat inside) sh device.sh &\necho $! >device\n"
                                 "sh await.sh $(cat device)\n");
    // Killed when the first case has been played; the wait ends in any case.
    const Outcome outcome =
        live.play("", "rsp/gap-nak --repeat 150 --dut-reset 'sh reset.sh'",
                  "for i in \\$(seq 400); do sleep 0.05; grep -q verdict out/results.json && "
                  "kill -9 \\$(cat device) && break; done 2>/dev/null");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    // Not on the terminal, which breaks its lines at any word.
    CHECK(house::read_text(live.place.folder() / "out" / "results.json")
              .find("--dut-reset had to bring it back") != std::string::npos);
    CHECK(outcome.out.find("1 failed") != std::string::npos);
}

TEST_CASE("live: an agent that only was out of reach is no device that died", "[program]") {
    const Live live;
    std::string device(kDevice);
    device.replace(device.find("unix:agent"), 10, "unix:real");
    live.place.write("device.sh", device);
    live.place.write("proxy.py", kProxy);
    const Outcome outcome =
        live.play("", "rsp/gap-nak --repeat 60", "", "timeout 60 python3 proxy.py &");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 3);
    CHECK(outcome.out.find("0 failed") != std::string::npos);
    CHECK(outcome.out.find("1 ERROR\n") != std::string::npos);
}

TEST_CASE("live: an agent that does not start ends the script, and says why", "[program]") {
    const Live live;
    const Outcome outcome = live.play("--listen nowhere", "rsp/gap-nak");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 99);
    CHECK(outcome.err.starts_with("the agent has ended:\nveriroce"));
}

TEST_CASE("live: a wire that dies ends the run", "[program]") {
    const Live live;
    const Outcome outcome =
        live.play("", "rsp/gap-nak --repeat 3000",
                  "sleep 2; \\$(cat inside) tc qdisc add dev vb root pfifo limit 0");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 3);
    CHECK(outcome.err.find("runs were not played") != std::string::npos);
}

} // namespace veriroce::program::test
