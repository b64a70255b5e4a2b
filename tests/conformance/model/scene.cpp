#include "tests/conformance/model/scene.hpp"

#include <algorithm>

#include "conformance/dut/pattern.hpp"

namespace veriroce::model::test {
namespace {

const wire::MacAddress kDutMac = *wire::MacAddress::parse("02:00:00:00:00:01");
const wire::MacAddress kTesterMac = *wire::MacAddress::parse("02:00:00:00:00:02");
const wire::IpAddress kDut = *wire::IpAddress::parse("192.0.2.1");
const wire::IpAddress kTester = *wire::IpAddress::parse("192.0.2.2");

} // namespace

std::vector<std::byte> filled(std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> bytes(length);
    dut::write_pattern(bytes, dut::Pattern::Offsets, offset, 5);
    return bytes;
}

dut::SendRequest request(wire::WrOpcode opcode, std::uint64_t offset, std::uint32_t length) {
    dut::SendRequest request{.opcode = opcode};
    request.sge.push_back({.mr = kRegion, .offset = offset, .length = length});
    return request;
}

dut::UdDestination peer() {
    return {.address = kTester, .qpn = kTesterQpn, .qkey = kQkey};
}

Scene::Scene(wire::QpType of) : type(of) {
    story.setting = {.dut_address = kDut,
                     .dut_mac = kDutMac,
                     .tester_mac = kTesterMac,
                     .exact = true,
                     .lowest_qpn = {0x800},
                     .first_qpn = {0x800}};
    story.setting.dut.ports.push_back({.mac = kDutMac, .pkeys = {wire::kDefaultPkey}});
    call(dut::QpCreate{.type = type}, dut::Result{dut::QpCreated{.qp = kQp, .qpn = kDutQpn}});
    dut::QpModify init{.qp = kQp, .attributes = {.state = wire::QpState::Init, .pkey_index = 0}};
    dut::QpModify rtr{.qp = kQp, .attributes = {.state = wire::QpState::Rtr}};
    if (type == wire::QpType::Ud) {
        init.attributes.qkey = kQkey;
    } else {
        rtr.attributes.address_vector =
            dut::AddressVector{.address = kTester, .hop_limit = 64, .traffic_class = 26 << 2};
        rtr.attributes.path_mtu = wire::Mtu::B256;
        rtr.attributes.rq_psn = wire::Psn(kPeerStart);
        rtr.attributes.dest_qp_num = kTesterQpn;
        rtr.attributes.min_rnr_timer = std::uint8_t{12};
    }
    call(std::move(init));
    call(std::move(rtr));
    call(dut::QpModify{
        .qp = kQp, .attributes = {.state = wire::QpState::Rts, .sq_psn = wire::Psn(kOwnStart)}});
    call(dut::MrRegister{.length = kRegionBytes, .fill = dut::Fill{dut::Pattern::Offsets, 5}},
         dut::Result{dut::MrRegistered{.mr = kRegion, .address = 0x10000, .rkey = kRegionKey}});
}

void Scene::call(dut::Request request, dut::Answer answer) {
    story.steps.push_back({Step::Kind::Asked, story.calls.size()});
    story.steps.push_back({Step::Kind::Answered, story.calls.size()});
    story.calls.push_back(
        {.request = std::move(request), .answer = std::move(answer), .asked = {}, .answered = {}});
}

void Scene::post(dut::SendRequest request) {
    dut::PostSend chain{.qp = kQp};
    chain.requests.push_back(std::move(request));
    call(std::move(chain), dut::Result{dut::Posted{1}});
}

void Scene::post_receives(std::size_t count) {
    dut::PostRecv chain{.qp = kQp};
    chain.requests.resize(count);
    call(std::move(chain), dut::Result{dut::Posted{static_cast<std::uint32_t>(count)}});
}

void Scene::query(std::uint8_t hop_limit) {
    dut::QpQueried queried;
    queried.attributes.address_vector =
        dut::AddressVector{.address = kTester, .hop_limit = hop_limit};
    call(dut::QpQuery{.qp = kQp}, dut::Result{queried});
}

void Scene::add(Side from, std::string_view opcode, std::int64_t psn, wire::Bytes payload,
                const Edits& edits) {
    const bool of_dut = from == Side::Dut;
    wire::Packet packet;
    const bool cnp = opcode == "CNP";
    packet.bth.opcode =
        cnp ? wire::kCnpOpcode : *wire::opcode_by_name(opcode, wire::service_of(type));
    const wire::OpcodeInfo& info = packet.info();
    packet.headers = info.headers;
    if (type == wire::QpType::Ud) packet.deth = {.qkey = kQkey, .source_qp = kDutQpn};
    const bool own = of_dut != info.response();
    packet.bth.psn = wire::Psn(own ? kOwnStart : kPeerStart) + psn;
    packet.bth.dest_qp = of_dut ? kTesterQpn : kDutQpn;
    packet.bth.pad = wire::pad_of(payload.size());
    packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    if (info.service == wire::Service::Cnp) {
        packet.bth.psn = wire::Psn(0);
        packet.bth.becn = true;
    }
    edits.packet(packet);
    wire::Envelope envelope{.source = of_dut ? kDut : kTester,
                            .destination = of_dut ? kTester : kDut,
                            .source_port = 0xC001,
                            .dscp = 26};
    edits.envelope(envelope);
    wire::LinkAddress link = edits.link;
    if (link.source == wire::MacAddress{}) link.source = of_dut ? kDutMac : kTesterMac;
    if (link.destination == wire::MacAddress{}) link.destination = of_dut ? kTesterMac : kDutMac;
    add_frame(story, frames, from, packet, link, envelope, payload, {}, [&](auto& frame) {
        edits.frame(frame);
        wire::seal(frame);
    });
}

void Scene::heard(std::string_view opcode, std::int64_t psn, wire::Bytes payload,
                  const Edits& edits) {
    add(Side::Dut, opcode, psn, payload, edits);
}

void Scene::sent(std::string_view opcode, std::int64_t psn, wire::Bytes payload,
                 const Edits& edits) {
    add(Side::Tester, opcode, psn, payload, edits);
}

void Scene::acknowledged(std::int64_t psn, std::uint32_t msn, wire::Syndrome syndrome) {
    heard("ACKNOWLEDGE", psn, {}, {.packet = [&](wire::Packet& packet) {
              packet.aeth.msn = {msn};
              packet.aeth.syndrome = syndrome;
          }});
}

std::string Scene::found_alive() {
    dut::QpQueried queried;
    queried.attributes.state = wire::QpState::Rts;
    call(dut::QpQuery{.qp = kQp}, dut::Result{queried});
    story.end = wire::Instant{} + std::chrono::seconds(1);
    return found();
}

std::string Scene::found() const {
    std::string text;
    for (const Deviation& one : check_packets(story)) {
        if (!text.empty()) text += "; ";
        text += one.rule + " " + one.field;
    }
    return text;
}

} // namespace veriroce::model::test
