// An independent witness of the outer headers: libtins reads what write_frame wrote.
#include <catch2/catch.hpp>

#include <tins/dot1q.h>
#include <tins/ethernetII.h>
#include <tins/ip.h>
#include <tins/ipv6.h>
#include <tins/rawpdu.h>
#include <tins/udp.h>

#include <algorithm>
#include <vector>

#include "dissector/wire/frame.hpp"

using namespace veriroce::wire;

namespace {

const LinkAddress kLink{.source = *MacAddress::parse("52:54:00:77:00:01"),
                        .destination = *MacAddress::parse("02:00:00:00:00:fe")};

std::vector<std::byte> written(const Envelope& envelope, const std::vector<std::byte>& transport) {
    std::vector<std::byte> frame(kMaxFrameOverhead + transport.size());
    frame.resize(write_frame(kLink, envelope, 0xBEEF, transport, {}, frame));
    return frame;
}

Tins::EthernetII parsed(const std::vector<std::byte>& frame) {
    return {reinterpret_cast<const std::uint8_t*>(frame.data()),
            static_cast<std::uint32_t>(frame.size())};
}

void check_udp(const Tins::EthernetII& ethernet, const Envelope& envelope, std::size_t transport) {
    const auto& udp = ethernet.rfind_pdu<Tins::UDP>();
    CHECK(udp.sport() == envelope.source_port);
    CHECK(udp.dport() == envelope.destination_port);
    CHECK(udp.length() == 8 + transport + 4);
    CHECK(udp.checksum() == 0);
    CHECK(ethernet.rfind_pdu<Tins::RawPDU>().payload().size() == transport + 4);
    CHECK(ethernet.src_addr().to_string() == kLink.source.text());
    CHECK(ethernet.dst_addr().to_string() == kLink.destination.text());
}

} // namespace

TEST_CASE("witness: libtins reads our IPv4 frame as we meant it", "[wire]") {
    const Envelope envelope{.source = *IpAddress::parse("10.77.0.1"),
                            .destination = *IpAddress::parse("192.168.255.2"),
                            .source_port = 0xC0DE,
                            .dscp = 0x1A,
                            .ecn = 2,
                            .hop_limit = 17};
    const std::vector<std::byte> transport(100, std::byte{0x5A});
    const auto frame = written(envelope, transport);
    const auto ethernet = parsed(frame);
    const auto& ip = ethernet.rfind_pdu<Tins::IP>();
    CHECK(ip.src_addr().to_string() == "10.77.0.1");
    CHECK(ip.dst_addr().to_string() == "192.168.255.2");
    CHECK(ip.tos() == (0x1A << 2 | 2));
    CHECK(ip.ttl() == 17);
    CHECK(ip.id() == 0xBEEF);
    CHECK(ip.flags() == Tins::IP::DONT_FRAGMENT);
    CHECK(ip.fragment_offset() == 0);
    CHECK(ip.tot_len() == frame.size() - 14);
    CHECK(ip.head_len() == 5);
    check_udp(ethernet, envelope, transport.size());
    // libtins computes checksums when it serialises: its header must be ours.
    auto again = parsed(frame).serialize();
    CHECK(std::equal(again.begin(), again.begin() + 34,
                     reinterpret_cast<const std::uint8_t*>(frame.data())));
    // Its UDP checksum, which it always computes, is ours, too.
    const Bytes theirs = std::as_bytes(std::span(again));
    CHECK(load_u16(theirs, 40) == udp_checksum(theirs.subspan(26, 8), theirs.subspan(34)));
}

TEST_CASE("witness: libtins reads our tagged IPv6 frame as we meant it", "[wire]") {
    const Envelope envelope{.source = *IpAddress::parse("fd77::1"),
                            .destination = *IpAddress::parse("fe80::5054:ff:fe77:2"),
                            .source_port = 1,
                            .dscp = 0x3F,
                            .ecn = 1,
                            .hop_limit = 255,
                            .flow_label = 0xABCDE,
                            .vlan = VlanId{.id = 0x7B, .priority = 5}};
    const std::vector<std::byte> transport(64, std::byte{0xC3});
    const auto frame = written(envelope, transport);
    const auto ethernet = parsed(frame);
    const auto& tag = ethernet.rfind_pdu<Tins::Dot1Q>();
    CHECK(tag.id() == 0x7B);
    CHECK(tag.priority() == 5);
    CHECK(tag.payload_type() == 0x86DD);
    const auto& ip = ethernet.rfind_pdu<Tins::IPv6>();
    CHECK(ip.src_addr().to_string() == "fd77::1");
    CHECK(ip.dst_addr().to_string() == "fe80::5054:ff:fe77:2");
    CHECK(ip.traffic_class() == (0x3F << 2 | 1));
    CHECK(ip.flow_label() == 0xABCDE);
    CHECK(ip.hop_limit() == 255);
    CHECK(ip.payload_length() == 8 + 64 + 4);
    check_udp(ethernet, envelope, transport.size());
    const auto again = parsed(frame).serialize();
    const Bytes theirs = std::as_bytes(std::span(again));
    CHECK(load_u16(theirs, 64) == udp_checksum(theirs.subspan(26, 32), theirs.subspan(58)));
}
