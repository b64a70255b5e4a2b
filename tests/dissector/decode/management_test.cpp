// Management datagrams: every message of connection management, and subnet administration.
#include <catch2/catch.hpp>

#include <deque>

#include "dissector/decode/field.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/management.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using enum LayerKind;

namespace {

constexpr std::uint8_t kUdSendOnly = 0x64;

// A datagram to QP 1: byte i after the common header is i.
FrameBytes datagram(std::uint8_t management_class, std::uint16_t attribute) {
    std::vector<std::byte> mad(wire::kMadBytes);
    mad[0] = std::byte{1};
    mad[1] = std::byte{management_class};
    mad[2] = std::byte{2};
    mad[3] = std::byte{3};
    wire::store_be<2>(mad, 16, attribute);
    for (std::size_t i = kMadHeaderBytes; i < mad.size(); ++i)
        mad[i] = static_cast<std::byte>(i - kMadHeaderBytes);
    return made({.opcode = kUdSendOnly,
                 .fields = {{wire::Field::DestQp, std::uint64_t{1}}},
                 .payload = std::move(mad)});
}

// A dissection points into its frame, which is kept here.
Dissection kept_apart(FrameBytes frame) {
    static std::deque<FrameBytes> frames;
    return taken_apart(frames.emplace_back(std::move(frame)));
}

std::uint64_t number(std::string_view name, const Dissection& d) {
    std::vector<std::uint64_t> values;
    const auto column = Column::find(name);
    REQUIRE(column);
    column->for_each(d, [&](const FieldRow&, const Value& v) { values.push_back(v.number); });
    INFO(name);
    REQUIRE(values.size() == 1);
    return values.front();
}

// The value of the first byte of such a field, and how many bytes it has.
std::pair<unsigned, std::size_t> first_and_size(std::string_view name, const Dissection& d) {
    std::pair<unsigned, std::size_t> found{};
    Column::find(name).value().for_each(d, [&](const FieldRow&, const Value& v) {
        found = {std::to_integer<unsigned>(v.bytes.front()), v.bytes.size()};
    });
    return found;
}

} // namespace

TEST_CASE("management: every message of connection management has its layer", "[decode]") {
    const std::vector<std::pair<std::uint16_t, LayerKind>> messages{
        {0x10, CmReq},     {0x11, CmMra},  {0x12, CmRej},  {0x13, CmRep},
        {0x14, CmRtu},     {0x15, CmDreq}, {0x16, CmDrep}, {0x17, CmSidrReq},
        {0x18, CmSidrRep}, {0x19, CmLap},  {0x1A, CmApr},
    };
    for (const auto& [attribute, layer] : messages) {
        INFO(attribute);
        const Dissection d = kept_apart(datagram(wire::kCmClass, attribute));
        CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, layer,
                                          CmPrivate, LayerKind::Icrc});
        CHECK(d.findings.empty());
        CHECK(d.layers.find(layer)->length == cm_layout(attribute)->bytes);
        // All of the 232 bytes are shown.
        CHECK(d.layers.find(layer)->length + d.layers.find(CmPrivate)->length == 232);
    }
    CHECK(layers_of(taken_apart(datagram(wire::kCmClass, 0x1B))) ==
          std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, MadData, LayerKind::Icrc});
}

// Those that tshark 4.0 has no names for; the others are compared with it on real captures. Byte i
// of the message is i. Source: IBTA volume 1 tables of chapter 12.
TEST_CASE("management: fields stand where the standard puts them", "[decode]") {
    const Dissection mra = kept_apart(datagram(wire::kCmClass, 0x11));
    CHECK(number("roce.cm.mra.remotecommid", mra) == 0x04050607);
    CHECK(number("roce.cm.mra.msgmraed", mra) == 8 >> 6);
    CHECK(number("roce.cm.mra.servicetimeout", mra) == 9 >> 3);
    const Dissection request = kept_apart(datagram(wire::kCmClass, 0x17));
    CHECK_FALSE(request.layers.has(IpCm)); // another service
    CHECK(number("roce.cm.sidr_req.pkey", request) == 0x0405);
    CHECK(number("roce.cm.sidr_req.serviceid", request) == 0x08090A0B0C0D0E0F);
    const Dissection reply = kept_apart(datagram(wire::kCmClass, 0x18));
    CHECK(number("roce.cm.sidr_rep.status", reply) == 4);
    CHECK(number("roce.cm.sidr_rep.qpn", reply) == 0x08090A);
    CHECK(number("roce.cm.sidr_rep.serviceid", reply) == 0x0C0D0E0F10111213);
    CHECK(number("roce.cm.sidr_rep.qkey", reply) == 0x14151617);
    CHECK(number("roce.cm.sidr_rep.infolen", reply) == 5);
    CHECK(first_and_size("roce.cm.sidr_rep.info", reply) == std::pair(24U, std::size_t{72}));
    const Dissection lap = kept_apart(datagram(wire::kCmClass, 0x19));
    CHECK(number("roce.cm.lap.remoteqpn", lap) == 0x0C0D0E);
    CHECK(number("roce.cm.lap.remoteresptout", lap) == 15 >> 3);
    CHECK(number("roce.cm.lap.alt_locallid", lap) == 0x1415);
    CHECK(number("roce.cm.lap.alt_remotelid", lap) == 0x1617);
    CHECK(first_and_size("roce.cm.lap.alt_localgid", lap) == std::pair(24U, std::size_t{16}));
    CHECK(first_and_size("roce.cm.lap.alt_remotegid", lap) == std::pair(40U, std::size_t{16}));
    CHECK(number("roce.cm.lap.alt_flowlabel", lap) == 0x38393A >> 4);
    CHECK(number("roce.cm.lap.alt_tfcclass", lap) == 59);
    CHECK(number("roce.cm.lap.alt_hoplim", lap) == 60);
    CHECK(number("roce.cm.lap.alt_pktrate", lap) == 61);
    CHECK(number("roce.cm.lap.alt_sl", lap) == 62 >> 4);
    CHECK(number("roce.cm.lap.alt_subnetlocal", lap) == (62 >> 3 & 1));
    CHECK(number("roce.cm.lap.alt_localacktout", lap) == 63 >> 3);
    const Dissection apr = kept_apart(datagram(wire::kCmClass, 0x1A));
    CHECK(number("roce.cm.apr.infolen", apr) == 8);
    CHECK(number("roce.cm.apr.status", apr) == 9);
    CHECK(first_and_size("roce.cm.apr.info", apr) == std::pair(12U, std::size_t{72}));
    const Dissection rep = kept_apart(datagram(wire::kCmClass, 0x13));
    CHECK(number("infiniband.cm.rep.localqpn", rep) == 0x0C0D0E);
    CHECK(number("infiniband.cm.rep.startpsn", rep) == 0x141516);
}

// Linux's rdma_cm puts the addresses in front of the private data of both kinds of requests.
TEST_CASE("management: a SIDR request to an IP service has the header of the IP CM service",
          "[decode]") {
    constexpr std::size_t kMessageAt = 14 + 20 + 8 + 12 + 8 + kMadHeaderBytes;
    const auto to_service = [](std::uint16_t attribute, std::uint64_t service) {
        FrameBytes frame = datagram(wire::kCmClass, attribute);
        wire::store_be<8>(frame, kMessageAt + 8, service);
        return kept_apart(std::move(frame));
    };
    const Dissection udp = to_service(0x17, 0x0000000001111C06);
    CHECK(layers_of(udp) == std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, CmSidrReq, IpCm,
                                        CmPrivate, LayerKind::Icrc});
    CHECK(udp.layers.find(IpCm)->length == 36);
    CHECK(number("infiniband.cm.req.ip_cm.sport", udp) == 0x1213); // bytes 16 + 2 of the message
    CHECK(to_service(0x17, 0x0000000000021234).layers.has(IpCm));  // IPoIB, of datagrams alone
    CHECK_FALSE(to_service(0x10, 0x0000000000021234).layers.has(IpCm));
    CHECK_FALSE(to_service(0x17, 0x1000000000001234).layers.has(IpCm));
    CHECK_FALSE(to_service(0x18, 0x0000000001111C06).layers.has(IpCm)); // an answer has none
}

TEST_CASE("management: classes, methods and attributes have names", "[decode]") {
    CHECK(mad_class_name(0x03) == "Subnet Administration");
    CHECK(mad_class_name(0x09) == "Vendor");
    CHECK(mad_class_name(0x0F) == "Vendor");
    CHECK(mad_class_name(0x10) == "Application");
    CHECK(mad_class_name(0x2F) == "Application");
    CHECK(mad_class_name(0x30) == "Vendor with OUI");
    CHECK(mad_class_name(0x4F) == "Vendor with OUI");
    CHECK(mad_class_name(0x50) == "Reserved");
    CHECK(mad_class_name(0x00) == "Reserved");
    CHECK(mad_class_name(0x02) == "Reserved");
    CHECK(mad_method_name(0x12) == "GetTable");
    CHECK(mad_method_name(0x95) == "DeleteResp");
    CHECK(mad_method_name(0x16).empty());
    CHECK(mad_attribute_name(0x03, 0x35) == "PathRecord");
    CHECK(mad_attribute_name(0x03, 0x01) == "ClassPortInfo");
    CHECK(mad_attribute_name(0x01, 0x11) == "NodeInfo");
    CHECK(mad_attribute_name(0x81, 0x01).empty());
    CHECK(mad_attribute_name(0x04, 0x12) == "PortCounters");
    CHECK(mad_attribute_name(0x07, 0x01) == "ClassPortInfo");
    CHECK(mad_attribute_name(0x50, 0x01).empty());
}

TEST_CASE("management: the words of RMPP by its type", "[decode]") {
    const auto of_type = [](std::uint8_t type) {
        FrameBytes frame = datagram(kSaClass, kPathRecordAttribute);
        const std::size_t rmpp = 14 + 20 + 8 + 12 + 8 + kMadHeaderBytes;
        frame[rmpp + 1] = std::byte{type};
        frame[rmpp + 2] = std::byte{19 << 3 | 5};
        frame[rmpp + 3] = std::byte{118};
        return kept_apart(std::move(frame));
    };
    const Dissection data = of_type(1);
    CHECK(number("infiniband.rmpp.rmpptype", data) == 1);
    CHECK(number("infiniband.rmpp.rresptime", data) == 19); // five bits
    CHECK(number("infiniband.rmpp.rmppflags", data) == 5);  // three
    CHECK(number("infiniband.rmpp.rmppstatus", data) == 118);
    CHECK(number("infiniband.rmpp.segmentnumber", data) == 0x04050607);
    CHECK(number("infiniband.rmpp.payloadlength", data) == 0x08090A0B);
    const Dissection ack = of_type(2);
    CHECK(number("infiniband.rmpp.segmentnumber", ack) == 0x04050607);
    CHECK(number("infiniband.rmpp.newwindowlast", ack) == 0x08090A0B);
    CHECK(number("infiniband.rmpp.data2", of_type(0)) == 0x08090A0B);
}

TEST_CASE("management: a path record of subnet administration", "[decode]") {
    const Dissection d = kept_apart(datagram(kSaClass, kPathRecordAttribute));
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, Sa, PathRecord,
                                      MadData, LayerKind::Icrc});
    CHECK(number("infiniband.sa.smkey", d) == 0x0C0D0E0F10111213);
    CHECK(number("infiniband.pathrecord.dlid", d) == 0x4849); // 32 + 40
    CHECK(number("infiniband.pathrecord.p_key", d) == 0x5253);
    CHECK(layers_of(taken_apart(datagram(kSaClass, 0x11))) ==
          std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, Sa, MadData, LayerKind::Icrc});
    CHECK(layers_of(taken_apart(datagram(0x04, 0x12))) ==
          std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Deth, Mad, MadData, LayerKind::Icrc});
}

TEST_CASE("management: the reasons of a refusal have names", "[decode]") {
    CHECK(cm_reject_reason(8) == "Invalid service ID");
    CHECK(cm_reject_reason(28) == "Consumer reject");
    CHECK(cm_reject_reason(33) == "Invalid alternate flow label");
    CHECK(cm_reject_reason(34).empty());
    CHECK(cm_reject_reason(0xFFFF).empty());
}
