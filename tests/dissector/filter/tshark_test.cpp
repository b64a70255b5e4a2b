// Expressions that tshark 4.0 takes as well: they select the same frames of the committed captures.
// Without tshark this fails: a comparison that did not happen is not a success.
#include <array>
#include <set>

#include "tests/dissector/filter/frames.hpp"
#include "tests/part_of.hpp"

using namespace veriroce;
using namespace veriroce::filter::test;

namespace {

const std::vector<std::string> kExpressions{
    // presence
    "infiniband",
    "infiniband.aeth",
    "!infiniband.aeth",
    "not not udp",
    "tcp or arp",
    "ipv6",
    "vlan",
    "icmpv6",
    "infiniband.bth.a",
    "infiniband.mad && !infiniband.reth",
    "udp && !infiniband",
    "frame",
    "eth.trailer",
    // numbers
    "infiniband.bth.opcode == 17",
    "infiniband.bth.opcode == 0x11",
    "infiniband.bth.opcode == 021",
    "infiniband.bth.opcode == 0b10001",
    "infiniband.bth.opcode == '\\x11'",
    "infiniband.bth.opcode!=17",
    "infiniband.aeth.msn > 3 and infiniband.aeth.msn le 9",
    "frame.len lt 80 or frame.len ge 1000",
    "infiniband.bth.psn & 1",
    "infiniband.bth.psn & 3 == 1",
    "infiniband.bth.psn bitwise_and 0x10",
    "infiniband.bth.destqp == 0x11",
    "infiniband.reth.va >= 0x7f0000000000",
    "infiniband.bth.a == true",
    "infiniband.bth.a == False",
    "infiniband.bth.a == 2",
    "infiniband.bth.a != 1",
    "ip.flags == 0x02",
    "ip.flags & 2",
    "ip.proto == \"UDP\"",
    "eth.type == 0x86dd",
    "infiniband.bth.psn == infiniband.aeth.msn",
    "frame.len == frame.cap_len",
    "ip.len < frame.len",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp == 1",
    "infiniband.mad.attributeid in {0x10, 0x13..0x15}",
    "infiniband.atomiceth.swapdt == 0",
    "infiniband.immdt",
    "frame.number < 3",
    // several values
    "ip.addr == 10.77.0.1",
    "ip.addr != 10.77.0.1",
    "ip.addr !== 10.77.0.1",
    "ip.addr ~= 10.77.0.1",
    "ip.addr any_ne 10.77.0.1",
    "!(ip.addr == 10.77.0.1)",
    "ip.addr === 10.77.0.1",
    "ip.addr all_ne 10.77.0.9",
    "any ip.addr > 10.77.0.1",
    "all ip.addr > 10.77.0.1",
    "udp.port == 4791",
    "udp.port != 4791",
    "udp.port in {4791}",
    "ip.addr == ip.src",
    "ip.addr != ip.src",
    // sets
    "infiniband.bth.opcode in {4, 6..8, 17}",
    "infiniband.bth.opcode not in {17}",
    "infiniband.aeth.msn not in {1..3}",
    "!(infiniband.aeth.msn in {1..3})",
    "frame.number in{1 .. 3,5}",
    "frame.number in {5..3}",
    "frame.time_delta in {0..0.001}",
    "ip.src in {10.77.0.1..10.77.0.9}",
    "ip.src in {10.77.0.0/31}",
    "eth.src in {52:54:00:77:00:01, 52:54:00:77:00:05}",
    // addresses
    "ip.src eq 10.77.0.1",
    "ip.src == 10.77.0.0/30",
    "ip.src != 10.77.0.0/31",
    "ip.src > 10.77.0.1",
    "ip.src < 10.77.0.2/31",
    "ip.src == 0.0.0.0/0",
    "ipv6.src == fd77::1",
    "ipv6.addr == fe80::/10",
    "ipv6.dst == fd77::2 or ipv6.dst == ff02::/16",
    "eth.src == 52:54:00:77:00:01",
    "eth.src == 52-54-00-77-00-01",
    "eth.src == 5254.0077.0001",
    "eth.src > 52:54:00:77:00:01",
    "eth.addr contains 77:00",
    "eth.dst == ff:ff:ff:ff:ff:ff",
    // times
    "frame.time_delta > 0.001",
    "frame.time_delta < 0",
    "frame.time_epoch >= 1795249278.5",
    // slices
    "eth.src[0:3] == 52:54:00",
    "eth.src[0-2] == 52:54:00",
    "eth.src[-1] == 02",
    "eth.src[-2:] == 00:01",
    "eth.src[5:] == 1",
    "eth.src[:2] == eth.dst[:2]",
    "eth.src[0:2,5] == 52:54:02",
    "eth.src[4:10]",
    "eth.src[6]",
    "infiniband.bth[0] == 11",
    "infiniband.bth[0] == 0x11",
    "infiniband.bth[0:1] == \"\\x11\"",
    "ip[0] == 45",
    "ip[20:2]",
    "eth[14] == 45",
    "udp[8] == 12",
    "frame[12:2] == 08:00",
    "frame[12:2] > 08:00",
    "infiniband[0] == 04",
    "infiniband.reth[0:4] == 00:00:7f:00",
    "ip.src[0] == 0a",
    // bytes and text
    "frame contains 12:b7",
    "frame contains \"RT\"",
    "eth contains 86:dd",
    "infiniband.bth contains ff:ff",
    "infiniband.bth > 12",
    "infiniband.mad.data contains 01",
    "frame matches \"^RT\"",
    "frame ~ r\"\\x00\\x01\\x08\\x00\"",
    "eth.src matches \"rt\"",
    "frame matches \"\\\\d{4}\"",
    // together
    "infiniband.bth.opcode == 17 or infiniband.bth.opcode == 12 and frame.number < 100",
    "not infiniband.bth.opcode == 17 and ip",
    "(infiniband.bth.opcode == 17 or infiniband.bth.opcode == 12) && !(ip.src == 10.77.0.1)",
    "infiniband.bth.opcode==4&&frame.number>2||vlan",
    "",
};

std::vector<std::uint64_t> by_tshark(const AllCaptures& captures, const std::string& expression) {
    std::string quoted = expression;
    for (std::size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 4)
        quoted.replace(at, 1, "'\\''");
    const std::string command = "WIRESHARK_CONFIG_DIR=" + captures.folder().string() +
                                " tshark -n -r " + captures.path() + " -T fields -e frame.number" +
                                " --disable-protocol rpcordma --disable-protocol nvme-rdma -Y '" +
                                quoted + "' 2>" + captures.folder().string() + "/err";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::vector<std::uint64_t> numbers;
    std::array<char, 64> line{};
    while (std::fgets(line.data(), line.size(), pipe) != nullptr)
        numbers.push_back(std::stoull(line.data()));
    INFO("tshark must be installed: " << command);
    REQUIRE(::pclose(pipe) == 0);
    return numbers;
}

// The expressions of one of `parts` parts, so that no test case takes long.
void compare_part(std::size_t part, std::size_t parts) {
    const AllCaptures captures;
    for (const std::string& expression : veriroce::test::sweep_of(kExpressions, part, parts)) {
        INFO(expression);
        const auto filter = filter::Filter::compile(expression);
        if (!filter) FAIL_CHECK(text_of(filter.error(), expression));
        if (!filter) continue;
        CHECK(captures.selected(*filter) == by_tshark(captures, expression));
    }
}

} // namespace

TEST_CASE("filter: tshark selects the same frames, first quarter", "[filter]") {
    compare_part(0, 4);
}
TEST_CASE("filter: tshark selects the same frames, second quarter", "[filter]") {
    compare_part(1, 4);
}
TEST_CASE("filter: tshark selects the same frames, third quarter", "[filter]") {
    compare_part(2, 4);
}
TEST_CASE("filter: tshark selects the same frames, last quarter", "[filter]") {
    compare_part(3, 4);
}

TEST_CASE("filter: the expressions select many different sets of frames", "[filter]") {
    const AllCaptures captures;
    std::set<std::vector<std::uint64_t>> sets;
    for (const std::string& expression : kExpressions)
        sets.insert(captures.selected(filter::Filter::compile(expression).value()));
    CHECK(sets.size() > kExpressions.size() / 3);
}
