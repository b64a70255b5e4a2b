// Every committed capture, field by field, against `tshark -T fields`. What differs stands in
// tests/golden/tshark_differences.tsv with the reason; a difference that is no longer there must
// go. Without tshark this fails: a comparison that did not happen is no success.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "tests/dissector/dissect/command.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

const std::vector<std::string> kFields{
    "frame.number",
    "frame.time_epoch",
    "frame.time_relative",
    "frame.time_delta",
    "frame.len",
    "frame.cap_len",
    "eth.src",
    "eth.dst",
    "eth.addr",
    "eth.type",
    "eth.trailer",
    "vlan.id",
    "vlan.priority",
    "vlan.dei",
    "vlan.etype",
    "ip.version",
    "ip.hdr_len",
    "ip.dsfield",
    "ip.dsfield.dscp",
    "ip.dsfield.ecn",
    "ip.len",
    "ip.id",
    "ip.flags",
    "ip.flags.rb",
    "ip.flags.df",
    "ip.flags.mf",
    "ip.frag_offset",
    "ip.ttl",
    "ip.proto",
    "ip.checksum",
    "ip.src",
    "ip.dst",
    "ip.addr",
    "ipv6.version",
    "ipv6.tclass",
    "ipv6.tclass.dscp",
    "ipv6.tclass.ecn",
    "ipv6.flow",
    "ipv6.plen",
    "ipv6.nxt",
    "ipv6.hlim",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.addr",
    "udp.srcport",
    "udp.dstport",
    "udp.port",
    "udp.length",
    "udp.checksum",
    "infiniband.bth",
    "infiniband.bth.opcode",
    "infiniband.bth.se",
    "infiniband.bth.m",
    "infiniband.bth.padcnt",
    "infiniband.bth.tver",
    "infiniband.bth.p_key",
    "infiniband.bth.destqp",
    "infiniband.bth.a",
    "infiniband.bth.reserved7",
    "infiniband.bth.psn",
    "infiniband.deth",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp",
    "infiniband.reth",
    "infiniband.reth.va",
    "infiniband.reth.r_key",
    "infiniband.reth.dmalen",
    "infiniband.atomiceth",
    "infiniband.atomiceth.swapdt",
    "infiniband.atomiceth.cmpdt",
    "infiniband.aeth",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.syndrome.reserved",
    "infiniband.aeth.syndrome.opcode",
    "infiniband.aeth.syndrome.credit_count",
    "infiniband.aeth.syndrome.timer",
    "infiniband.aeth.syndrome.error_code",
    "infiniband.aeth.msn",
    "infiniband.atomicacketh",
    "infiniband.atomicacketh.origremdt",
    "infiniband.immdt",
    "infiniband.ieth",
    "infiniband.mad",
    "infiniband.mad.baseversion",
    "infiniband.mad.mgmtclass",
    "infiniband.mad.classversion",
    "infiniband.mad.method",
    "infiniband.mad.status",
    "infiniband.mad.classspecific",
    "infiniband.mad.transactionid",
    "infiniband.mad.attributeid",
    "infiniband.mad.attributemodifier",
    "infiniband.mad.data",
    "infiniband.invariant.crc",
    "data.data",
    "data.len",
};

// tshark guesses protocols into RoCE payloads; these two guesses are turned off. Its settings come
// from an empty folder, so that those of whoever runs the test do not matter.
std::vector<std::string> by_tshark(const std::string& capture) {
    const TemporaryFolder settings;
    std::string command = "WIRESHARK_CONFIG_DIR=" + settings.path().string() +
                          " tshark -n --disable-protocol rpcordma --disable-protocol nvme-rdma"
                          " -r '" +
                          pcap(capture) + "' -T fields";
    for (const std::string& field : kFields)
        command += " -e " + field;
    command += " 2>/dev/null";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 65'536> piece;
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
        text.append(piece.data(), got);
    }
    INFO("tshark must be installed: " << command);
    REQUIRE(::pclose(pipe) == 0);
    return lines_of(text);
}

std::vector<std::string> by_us(const std::string& capture) {
    const Ran result = ran({.files = {pcap(capture)}, .format = Format::Fields, .fields = kFields});
    REQUIRE(result.code == 0);
    return lines_of(result.out);
}

struct Difference {
    std::string tshark;
    std::string ours;
    bool seen = false;
};

// Known differences of one capture, by frame number and field.
using Differences = std::map<std::pair<std::string, std::string>, Difference>;

Differences known_differences(const std::string& capture) {
    Differences differences;
    for (const auto& row : rows_of(source_path("tests/golden/tshark_differences.tsv"))) {
        REQUIRE(row.size() == 6);
        REQUIRE_FALSE(row[5].empty()); // the reason
        if (row[0] == capture) differences[{row[1], row[2]}] = {row[3], row[4]};
    }
    return differences;
}

void compare(const std::string& capture) {
    INFO(capture);
    const auto theirs = by_tshark(capture);
    const auto ours = by_us(capture);
    Differences known = known_differences(capture);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours[i] == theirs[i]) continue;
        const auto our_fields = split(ours[i], '\t');
        const auto their_fields = split(theirs[i], '\t');
        REQUIRE(our_fields.size() == kFields.size());
        REQUIRE(their_fields.size() == kFields.size());
        for (std::size_t f = 0; f < kFields.size(); ++f) {
            if (our_fields[f] == their_fields[f]) continue;
            const auto found = known.find({std::to_string(i + 1), kFields[f]});
            const bool listed = found != known.end() && found->second.ours == our_fields[f] &&
                                found->second.tshark == their_fields[f];
            if (listed) found->second.seen = true;
            if (!listed) {
                FAIL_CHECK("frame " << i + 1 << " " << kFields[f] << ": tshark '" << their_fields[f]
                                    << "', we '" << our_fields[f] << "'");
            }
        }
    }
    for (const auto& [place, difference] : known) {
        INFO("frame " << place.first << " " << place.second << " differs no longer");
        CHECK(difference.seen);
    }
}

// The captures of one of three parts, so that no test case takes long.
void compare_part(std::size_t part) {
    std::vector<std::string> captures;
    for (const auto& row : rows_of(source_path("pcaps/manifest.tsv")))
        captures.push_back(row[0]);
    REQUIRE(captures.size() >= 18);
    for (std::size_t i = part; i < captures.size(); i += 3)
        compare(captures[i]);
}

} // namespace

TEST_CASE("tshark prints the same fields of the captures, first third", "[dissect]") {
    compare_part(0);
}

TEST_CASE("tshark prints the same fields of the captures, second third", "[dissect]") {
    compare_part(1);
}

TEST_CASE("tshark prints the same fields of the captures, last third", "[dissect]") {
    compare_part(2);
}
