#include "conformance/script_import/conversation.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::script_import {
namespace {

// BTH-01: another transport version is dropped as silently as a wrong ICRC.
bool damaged(const flow::Packet& packet) {
    return packet.integrity == flow::Integrity::Bad || packet.transport.bth.version != 0;
}

std::string text_of(const FoundEnd& end) {
    if (!end.qpn) return end.address.text() + " QP unknown";
    return fmt::format("{} QP 0x{:06x}", end.address.text(), end.qpn->value);
}

FoundEnd end_of(const flow::End& end) {
    FoundEnd found{.address = end.address,
                   .qpn = end.qpn,
                   .requests = end.stream.counters().requests,
                   .first_psn = end.attributes.first_psn,
                   .mtu = end.attributes.mtu ? end.attributes.mtu : end.stream.mtu()};
    if (!found.first_psn && end.stream.started() && end.stream.begin_known()) {
        found.first_psn = end.stream.begin();
    }
    return found;
}

} // namespace

std::string Found::text() const {
    return text_of(ends[0]) + " - " + text_of(ends[1]);
}

std::optional<std::uint8_t> Found::sender_of(const flow::Packet& packet) const {
    for (const std::uint8_t from : {std::uint8_t{0}, std::uint8_t{1}}) {
        const FoundEnd& to = ends[1U - from];
        if (to.qpn == packet.transport.bth.dest_qp && to.address == packet.destination &&
            ends[from].address == packet.source) {
            return from;
        }
    }
    return std::nullopt;
}

void Survey::feed(const decode::Dissection& dissection) {
    if (const auto packet = flow::packet_of(dissection)) tracker_.feed(*packet);
}

std::vector<Found> Survey::connections() const {
    std::vector<Found> found;
    for (const std::uint32_t index : tracker_.connections()) {
        const flow::Connection& one = tracker_.connection(index);
        found.push_back({.service = one.service,
                         .ends = {end_of(one.ends[0]), end_of(one.ends[1])},
                         .first_number = one.first_number,
                         .last_number = one.last_number});
    }
    std::ranges::sort(found, {}, &Found::first_number);
    return found;
}

std::optional<std::uint8_t> Recorder::sender_of(const flow::Packet& packet) const {
    const Found& connection = conversation_.connection;
    if (packet.number > connection.last_number) return std::nullopt;
    if (packet.info().service != connection.service) return std::nullopt;
    // A connection begins with its first whole packet, but what was damaged before belongs to it.
    if (packet.number < connection.first_number && !damaged(packet)) return std::nullopt;
    return connection.sender_of(packet);
}

void Recorder::feed(const flow::Packet& packet) {
    const auto from = sender_of(packet);
    if (!from) return;
    if (conversation_.events.size() == kMostPackets) {
        ++conversation_.unused;
        return;
    }
    Event& event = conversation_.events.emplace_back();
    event.number = packet.number;
    event.from = *from;
    event.damaged = damaged(packet);
    event.packet = packet.transport;
    event.payload_bytes = packet.payload_bytes();
    const wire::Bytes payload = packet.transport.payload();
    if (packet.whole() && payload.size() <= kMostShown) {
        event.payload.assign(payload.begin(), payload.end());
    }
    event.packet.body = {};
    event.time = packet.time;
}

void Recorder::feed(const decode::Dissection& dissection) {
    const auto packet = flow::packet_of(dissection);
    if (!packet) return;
    if (const auto from = sender_of(*packet)) note_outer(dissection, *from);
    feed(*packet);
}

void Recorder::note_outer(const decode::Dissection& dissection, std::uint8_t from) {
    if (seen_[from]) return;
    seen_[from] = true;
    const wire::Bytes ip = dissection.bytes_of(dissection.network); // behind all tunnels
    if (dissection.network.kind == decode::LayerKind::Ipv4) {
        conversation_.dscp[from] = wire::load_u8(ip, 1) >> 2;
    } else {
        conversation_.dscp[from] = static_cast<std::uint8_t>(wire::load_u16(ip, 0) >> 6 & 0x3F);
    }
    if (const auto* vlan = dissection.layers.find(decode::LayerKind::Vlan)) {
        conversation_.vlan = wire::load_u16(dissection.bytes_of(*vlan), 0) & 0x0FFF;
    }
}

} // namespace veriroce::script_import
