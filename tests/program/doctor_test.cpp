// `veriroce doctor` on a veth pair, with the built-in engine behind an agent at its other end.
// Needs root.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"

namespace veriroce::program::test {
namespace {

// doctor.sh OPTIONS...: `$at_device` is run in the device's namespace first, `$here` in the
// tester's.
// `$before` is run before the agent starts, which then has the interface port0 instead of vb.
constexpr std::string_view kDoctor = R"sh(#!/bin/sh
unshare -n sleep 60 &
namespace=$!
while [ "$(readlink /proc/$namespace/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.02
done
ip link set vb netns $namespace
inside="nsenter -t $namespace -n"
$inside ip link set vb up
port=vb
[ -z "$before" ] || { $inside sh -c "$before"; port=port0; }
$inside veriroce agent --backend engine --interface $port --address 192.0.2.1 --listen unix:agent \
    2>agent.txt &
device=$!
sh await.sh $device || { kill -9 $namespace; exit 99; }
[ -z "$at_device" ] || $inside sh -c "$at_device"
[ -z "$here" ] || sh -c "$here"
veriroce doctor "$@"
code=$?
kill -9 $device $namespace
exit $code
)sh";

struct Doctor {
    Doctor() {
        place.write("doctor.sh", kDoctor);
        place.write("await.sh", kAwaitAgent);
    }
    Outcome look(const std::string& options, const std::string& at_device = "",
                 const std::string& here = "", const std::string& before = "") const {
        return place.run_in_network("at_device='" + at_device + "' here='" + here + "' before='" +
                                    before + "' sh doctor.sh " + options);
    }

    Workplace place;
};

const std::string kBoth = "-i va --dut unix:agent";

} // namespace

TEST_CASE("doctor: nothing must be mended where a run works", "[program]") {
    const Doctor doctor;
    const Outcome outcome = doctor.look(kBoth);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(has(outcome.out, "tester   ok       interface      va is up"));
    CHECK(has(outcome.out, "tester   warning  MTU            MTU 1500 is too small for path MTU "
                           "4096, which needs 4200\n"
                           "                                 -> ip link set va mtu 4200"));
    CHECK(has(outcome.out, "network  ok       subnet         tester 192.0.2.9, DUT 192.0.2.1\n"));
    CHECK(has(outcome.out, "network  ok       RoCEv2         99 % of round trips take at most "));
    CHECK(has(outcome.out, "\nnothing must be mended, "));
}

TEST_CASE("doctor: of the tester alone it needs no agent", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run_in_network("veriroce doctor -i off");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.out, "tester   must     interface      off is down\n"
                           "                                 -> ip link set off up\n"));
    CHECK(has(outcome.out, "\n1 must be mended, 0 warnings\n"));
}

TEST_CASE("doctor: a second host with the device's address is found", "[program]") {
    const Doctor doctor;
    const Outcome outcome = doctor.look(kBoth, "ip link add m0 link vb type macvlan && "
                                               "ip addr add 192.0.2.1/24 dev m0 && "
                                               "ip link set m0 up");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.out, "network  must     ARP "));
    CHECK(has(outcome.out, " answer for 192.0.2.1: two hosts have this address"));
}

TEST_CASE("doctor: what lies around the interface is seen", "[program]") {
    const Doctor doctor;
    const Outcome outcome = doctor.look(kBoth, "",
                                        "ip link add m1 link va type macvlan; "
                                        "ip link add vc type veth peer name vd; ip link set vc up; "
                                        "ip link set vd up; ip addr add 192.0.2.10/24 dev vc");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.out, "warning  ARP flux       vc is in the subnet of va, too"));
    CHECK(has(outcome.out, "warning  layers         the kernel answers on m1, on top of va"));
}

TEST_CASE("doctor: an agent that is not there must be started", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run_in_network("veriroce doctor -i va --dut unix:nobody");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.out, "DUT      must     agent "));
    CHECK(has(outcome.out, "-> veriroce-agent --listen unix:nobody (on the DUT's host)\n"));
}

TEST_CASE("doctor: a device that answers ARP and nothing else is told from one that is not there",
          "[program]") {
    const Doctor doctor;
    // As if an RDMA device took the packets: the kernel answers ARP, the engine is elsewhere.
    const Outcome outcome =
        doctor.look(kBoth, "", "",
                    "ip link add port0 type veth peer name port1 && ip link set port0 up && "
                    "ip link set port1 up && ip addr add 192.0.2.1/24 dev vb");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.out, "network  ok       ARP "));
    CHECK(has(outcome.out, "must     RoCEv2         no RoCEv2 packet comes from the device at "
                           "192.0.2.1, which answers ARP: most likely an RDMA device owns the "
                           "tester's va"));
}

TEST_CASE("doctor: JSON has every check", "[program]") {
    const Doctor doctor;
    const Outcome outcome =
        doctor.look(kBoth + " --json | python3 -c \"import json, sys; d = json.load(sys.stdin); "
                            "print(d['schema'], len(d['checks']) > 12, "
                            "{c['grade'] for c in d['checks']} <= {'ok', 'warning'}, "
                            "all(set(c) <= {'where', 'grade', 'subject', 'text', 'remedy'} "
                            "for c in d['checks']))\"");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.out == "veriroce/doctor/1 True True True\n");
}

TEST_CASE("doctor: wrong options are refused before anything is sent", "[program]") {
    const Workplace place;
    CHECK(place.run("veriroce doctor").code == 2);
    const Outcome address = place.run("veriroce doctor -i lo --tester-address nowhere");
    CHECK(address.code == 2);
    CHECK(address.err == "veriroce: --tester-address: expected an IP address, got 'nowhere'\n");
    CHECK(place.run("veriroce doctor -i lo --dut unix:x --dut-token-file missing").code == 3);
    CHECK(place.run("veriroce doctor --dut unix:x").err ==
          "veriroce: name the tester's interface on the device's network: -i IFACE\n");
}

} // namespace veriroce::program::test
