// `veriroce inject` as a user runs it: serve and ping in two network namespaces with the bump
// between them. Needs root.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

// The bump ends by SIGTERM, after the round trips.
constexpr std::string_view kSession = R"sh(
unshare -n sleep 60 & left=$!
unshare -n sleep 60 & right=$!
here=$(readlink /proc/self/ns/net)
for host in $left $right; do
    while [ "$(readlink /proc/$host/ns/net)" = "$here" ]; do sleep 0.02; done
done
up() { ip link set $1 addrgenmode none; ip link set $1 up; }
ip link add bump_a type veth peer name host_a
ip link add bump_b type veth peer name host_b
ip link set host_a netns $left
ip link set host_b netns $right
up bump_a; up bump_b
nsenter -t $left -n sh -c 'ip addr add 10.77.0.1/24 dev host_a; ip link set host_a up'
nsenter -t $right -n sh -c 'ip addr add 10.77.0.2/24 dev host_b; ip link set host_b up'
veriroce inject bump_a bump_b --plan plan.faults --report out >said.txt 2>&1 & bump=$!
until grep -q '^plan ' said.txt; do sleep 0.02; done
nsenter -t $right -n veriroce serve --once -n 5 -s 20000 >served.txt 2>&1 & server=$!
until grep -q waiting served.txt; do sleep 0.02; done
nsenter -t $left -n veriroce ping 10.77.0.2 -n 5 -s 20000 --psn 1000 >pinged.txt 2>&1
echo ping $?
wait $server
echo serve $?
kill -TERM $bump
wait $bump
echo inject $?
kill -9 $left $right
cat said.txt
)sh";

Outcome session(const Workplace& place, const std::string& plan) {
    place.write("plan.faults", plan);
    place.write("session.sh", kSession);
    return place.run("unshare -n sh session.sh");
}

} // namespace

TEST_CASE("inject: a lost packet between ping and serve is found, reported and recovered",
          "[program]") {
    const Workplace place;
    const Outcome outcome = session(place, "drop when from=a opcode=data psn=5 pass=1 fires=1\n"
                                           "expect no error\n"
                                           "expect recovery within 5s\n"
                                           "expect retransmissions <= 0\n");
    INFO(outcome.out << outcome.err);
    CHECK(has(outcome.out, "ping 0\nserve 0\ninject 1\n"));
    CHECK(has(outcome.out, "bump_a (A) and bump_b (B): AF_PACKET, MTU 1500\n"));
    CHECK(has(outcome.out, "fired 1 of 1 selected\n  1 of 1 recovered, in "));
    CHECK(has(outcome.out, "met       line 2: expect no error: 0 fatal NAKs, 0 of 1 faults"));
    CHECK(has(outcome.out, "NOT MET   line 4: expect retransmissions <= 0: "));
    const Outcome json = place.run(
        "python3 -c \"import json; r = json.load(open('out/inject.json')); f, = r['faults']; "
        "print(r['schema'], f['psn'], f['psn_on_the_wire'], f['transmission'], f['connection'], "
        "f['detection_ns'] <= f['recovery_ns'], [v['met'] for v in r['verdicts']])\"");
    CHECK(json.out == "veriroce/injection/1 5 1005 1 1 True [True, True, False]\n");
    const std::string recorded = house::read_text(place.folder() / "out" / "inject.pcapng");
    CHECK(has(recorded, "injected, line 1: drop when from=a opcode=data psn=5 pass=1 fires=1 "
                        "(connection 1, PSN 5, transmission 1, message 1, packet 6)"));
    // The packet is in the file where it came in, and not where it would have left; the second
    // transmission is in both places.
    const Outcome copies =
        place.run("veriroce dissect out/inject.pcapng | grep -c 'Send Middle.*PSN=1005'");
    CHECK(copies.out == "3\n");
    const std::string page = house::read_text(place.folder() / "out" / "inject.html");
    CHECK(has(page, "\"fault_count\":1,"));
    CHECK(has(page, "\"ladder\":0}"));
    // The plan is about what the recording of it shows.
    const Outcome dry = place.run("veriroce inject --dry-run out/inject.pcapng --plan plan.faults");
    CHECK(dry.code == 0);
    CHECK(has(dry.out, "would fire 1 times, selected 1\n"));
}

TEST_CASE("inject: a rule names the service that CM set a connection up for", "[program]") {
    const Workplace place;
    const auto dry = [&](const std::string& plan) {
        place.write("plan.faults", plan);
        return place.run("veriroce inject --plan plan.faults --dry-run " VERIROCE_SOURCE_DIR
                         "/pcaps/rxe-rping-cm.pcap");
    };
    // RDMA CM's service ID of rping's port, 7174. The datagrams of CM belong to no connection.
    const Outcome all = dry("drop when conn=1\n");
    const Outcome same = dry("drop when service=0x1061c06\n");
    CHECK(all.code == 0);
    CHECK(same.code == 0);
    CHECK(has(same.out, "would fire 60 times, selected 60\n"));
    const Outcome other = dry("drop when service=0x1061c07\n");
    CHECK(other.code == 1);
    CHECK(has(other.out, "would fire 0 times, selected 0\n"));
}

TEST_CASE("inject: the library of plans is in the program", "[program]") {
    const Workplace place;
    const Outcome all = place.run("veriroce inject --list-plans");
    CHECK(all.code == 0);
    CHECK(has(all.out, "lost-ack              loses three acknowledgements in a row\n"));
    const Outcome one = place.run("veriroce inject --list-plans lost-ack");
    CHECK(one.out.starts_with("lost-ack\n\nLoses three acknowledgements in a row.\n\n**A right"));
    CHECK(has(one.out, "\ndrop when from=b opcode=acks nth=3..5 pass=1 fires=3\n"));
    const Outcome none = place.run("veriroce inject --list-plans nix");
    CHECK(none.code == 2);
    CHECK(has(none.err, "there is no plan nix"));
    place.write("x.pcap", "no capture");
    const Outcome played = place.run("veriroce inject --plan lost-ack --dry-run x.pcap");
    CHECK(played.code == 3); // the plan was found
    CHECK(has(played.err, "x.pcap"));
}

TEST_CASE("inject: a plan or a sweep, and not both", "[program]") {
    const Workplace place;
    place.write("plan.faults", "drop when p=0.5\n");
    const auto refused = [&](const std::string& options) {
        const Outcome outcome = place.run("veriroce inject lo lo " + options);
        CHECK(outcome.code == 2);
        return outcome.err;
    };
    CHECK(has(refused(""), "inject needs one of --plan FILE and --sweep loss=LOW%..HIGH%"));
    CHECK(has(refused("--plan plan.faults --sweep loss=1%..2%"), "one of --plan FILE and"));
    CHECK(has(refused("--plan plan.faults --in-kernel --storm to=a,class=3,quanta=9,every=1ms,"
                      "after=0s,for=1s"),
              "the process must see their packets"));
    CHECK(has(refused("--red from=c"), "--red: expected from=a|b,rate=10Gbit"));
    place.write("expects.faults", "drop when p=0.5\nexpect no error\n");
    CHECK(has(refused("--plan expects.faults --in-kernel"), "the plan has expect lines"));
    CHECK(has(refused("--sweep loss=2%..1%"), "--sweep loss=2%..1%: expected loss=LOW%..HIGH%"));
    CHECK(has(refused("--sweep loss=1%..2% --dry-run x"), "a sweep needs two interfaces"));
}

} // namespace veriroce::program::test
