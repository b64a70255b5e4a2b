// Offloads of a real veth device: turned off, put back, and put back after a crash.
#include "transport/net/offloads.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/transport/net/lab.hpp"
#include "transport/net/ethtool_features.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;

bool on(std::string_view name) {
    const auto features = net::EthtoolFeatures::open("va");
    REQUIRE(features.has_value());
    return features->is_on(name).value();
}

// A run that dies without putting anything back.
void crash_with_link() {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const auto link = net::RawLink::open({.interface = "va"});
        ::_exit(link ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
}

bool file_is_there() {
    return ::access(net::restore_file("va").c_str(), F_OK) == 0;
}

} // namespace

TEST_CASE("offloads: off while a link is open, on again behind it, and said", "[net]") {
    const Lab lab;
    lab.run("ethtool -K va gro on");
    REQUIRE(on("rx-gro"));
    REQUIRE(on("rx-vlan-hw-parse"));
    {
        const auto link = lab.open();
        CHECK_FALSE(on("rx-gro"));
        CHECK_FALSE(on("rx-vlan-hw-parse"));
        CHECK(link->notes() ==
              std::vector<std::string>{"turned off rx-gro, rx-vlan-hw-parse on va"});
        CHECK(file_is_there());
    }
    CHECK(on("rx-gro"));
    CHECK(on("rx-vlan-hw-parse"));
    CHECK_FALSE(file_is_there());
}

TEST_CASE("offloads: what was off stays off", "[net]") {
    const Lab lab;
    lab.run("ethtool -K va gro off rxvlan off");
    CHECK(lab.open()->notes().empty());
    CHECK_FALSE(on("rx-gro"));
    CHECK_FALSE(on("rx-vlan-hw-parse"));
    CHECK_FALSE(file_is_there());
}

TEST_CASE("offloads: a link that is told not to leaves them alone", "[net]") {
    const Lab lab;
    const auto link = lab.open({.change_offloads = false});
    CHECK(on("rx-vlan-hw-parse"));
    CHECK(link->notes().empty());
}

TEST_CASE("offloads: a crash is cleaned up after by hand", "[net]") {
    const Lab lab;
    crash_with_link();
    CHECK_FALSE(on("rx-vlan-hw-parse"));
    REQUIRE(file_is_there());
    const auto restored = net::restore_offloads("va");
    REQUIRE(restored.has_value());
    CHECK(*restored == std::vector<std::string>{"rx-vlan-hw-parse"});
    CHECK(on("rx-vlan-hw-parse"));
    CHECK_FALSE(file_is_there());
    CHECK(net::restore_offloads("va").value().empty());
}

TEST_CASE("offloads: a crash is cleaned up after by the next run", "[net]") {
    const Lab lab;
    crash_with_link();
    lab.run("ethtool -K va gro on"); // and somebody has been busy since
    {
        const auto link = lab.open();
        CHECK_FALSE(on("rx-gro"));
        CHECK(link->notes() ==
              std::vector<std::string>{
                  "turned off rx-gro on va",
                  "will turn rx-vlan-hw-parse on again on va, which a killed run left off"});
    }
    CHECK(on("rx-gro"));
    CHECK(on("rx-vlan-hw-parse"));
    CHECK_FALSE(file_is_there());
}

TEST_CASE("offloads: only names of ours are believed in the file", "[net]") {
    const Lab lab;
    lab.run("ethtool -K va rxvlan off tx off >/dev/null");
    std::ofstream(net::restore_file("va")) << "tx-checksum-ip-generic\n\nrx-vlan-hw-parse\nrubbish";
    CHECK(net::restore_offloads("va").value() == std::vector<std::string>{"rx-vlan-hw-parse"});
    CHECK(on("rx-vlan-hw-parse"));
    CHECK_FALSE(on("tx-checksum-ip-generic"));
}

// veth has no such filter: this shows only that it is one of ours.
TEST_CASE("offloads: the filter of VLANs is put back as well", "[net]") {
    const Lab lab;
    std::ofstream(net::restore_file("va")) << "rx-vlan-filter\n";
    CHECK(net::restore_offloads("va").value() == std::vector<std::string>{"rx-vlan-filter"});
    const auto unwanted = net::unwanted_offloads();
    CHECK(std::ranges::find(unwanted, "rx-vlan-filter") != unwanted.end());
}

TEST_CASE("offloads: an interface that was renamed is put back under its new name", "[net]") {
    const Lab lab;
    auto offloads = net::Offloads::turn_off("va");
    REQUIRE(offloads.has_value());
    lab.run("ip link set va down && ip link set va name vz");
    CHECK(offloads->put_back().has_value());
    CHECK_FALSE(file_is_there());
    lab.run("ip link set vz name va && ip link set va up");
    CHECK(on("rx-vlan-hw-parse"));
}

TEST_CASE("offloads: a second run on an interface leaves those of the first alone", "[net]") {
    const Lab lab;
    {
        const auto first = net::Offloads::turn_off("va");
        REQUIRE(first.has_value());
        {
            const auto second = net::Offloads::turn_off("va");
            REQUIRE(second.has_value());
            CHECK(second->changed().empty());
            REQUIRE(second->notes().size() == 1);
            CHECK(second->notes().front().starts_with("another run has va and puts its offloads"));
            CHECK_FALSE(net::restore_offloads("va").has_value());
        }
        CHECK_FALSE(on("rx-vlan-hw-parse"));
        CHECK(file_is_there());
    }
    CHECK(on("rx-vlan-hw-parse"));
    CHECK_FALSE(file_is_there());
}

TEST_CASE("raw link: a change of the interface is told", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    CHECK_FALSE(link->change());
    lab.run("ip link set va mtu 1400");
    CHECK(link->change() == "the MTU of va was changed from 1500 to 1400");
    lab.run("ip link set va down && ip link set va name vz && ip link set vz up");
    CHECK(link->change() == "interface va was renamed to vz");
}

TEST_CASE("offloads: the file of an interface is that of its network namespace", "[net]") {
    const std::string outside = net::restore_file("va");
    const Lab lab;
    CHECK(net::restore_file("va") != outside);
}

TEST_CASE("offloads: an interface that is gone has nothing to put back", "[net]") {
    const Lab lab;
    auto offloads = net::Offloads::turn_off("va");
    REQUIRE(offloads.has_value());
    CHECK(offloads->changed() == std::vector<std::string>{"rx-vlan-hw-parse"});
    lab.run("ip link del va");
    CHECK(offloads->put_back().has_value());
    CHECK_FALSE(file_is_there());
    const auto none = net::Offloads::turn_off("va");
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().text == "cannot read the offloads of va: No such device");
}
