#include "transport/engine/unreliable_requester.hpp"

#include <algorithm>

#include "transport/engine/path.hpp"
#include "transport/engine/requester.hpp"
#include "transport/engine/send_completion.hpp"

namespace veriroce::engine {

namespace {

// A work request with this high bit in its Q_Key is sent with the QP's own: a controlled Q_Key
// cannot be had for the asking.
wire::Qkey qkey_of(const Qp& qp, wire::Qkey wanted) {
    constexpr std::uint32_t controlled = 0x80000000;
    return (wanted.value & controlled) != 0 ? qp.connection.qkey : wanted;
}

// The oldest work is sent, and with that complete.
void finish(Device& device, Qp& qp) {
    qp.outbound.unacked_psn = qp.outbound.next_psn;
    qp.cursor = {};
    complete_sent(device, qp);
}

Transmit* send_datagram(Device& device, Qp& qp, const SendWork& work) {
    const auto payload = payload_of(device, qp, work, 0, static_cast<std::size_t>(work.length));
    if (!payload) {
        fail_oldest(device, qp, WcStatus::LocProtErr);
        return nullptr;
    }
    const UdDestination& to = *work.request.ud; // post() has asked for it
    wire::Packet& packet = segment(device, qp, work, qp.outbound.next_psn);
    packet.bth.ack_request = false;
    packet.bth.pad = wire::pad_of(work.length);
    packet.bth.dest_qp = to.qpn;
    packet.deth = {.qkey = qkey_of(qp, to.qkey), .source_qp = qp.connection.qpn};
    Transmit* const made = transmit(device, qp, packet, *payload);
    made->envelope = envelope_to(device, qp, to.path, to.qpn);
    qp.outbound.next_psn += 1;
    finish(device, qp);
    return made;
}

Transmit* send_uc_segment(Device& device, Qp& qp, SendWork& work) {
    const std::uint64_t mtu = wire::bytes_of(qp.connection.mtu);
    const std::uint64_t offset = qp.cursor.packet * mtu;
    const auto bytes = static_cast<std::size_t>(std::min(mtu, work.length - offset));
    const auto payload = payload_of(device, qp, work, offset, bytes);
    if (!payload) {
        fail_oldest(device, qp, WcStatus::LocProtErr);
        return nullptr;
    }
    wire::Packet& packet = segment(device, qp, work, qp.outbound.next_psn);
    packet.bth.ack_request = false; // UC and UD have no answers
    packet.bth.pad = wire::pad_of(bytes);
    Transmit* const made = transmit(device, qp, packet, *payload);
    qp.outbound.next_psn += 1;
    qp.outbound.unacked_psn = qp.outbound.next_psn;
    if (++qp.cursor.packet == work.packets) finish(device, qp);
    return made;
}

// C10-93.1.1: a datagram larger than the port's MTU is not sent, without an error.
bool oversize(const Device& device, const Qp& qp, const SendWork& work) {
    return qp.connection.type == QpType::Ud && work.length > wire::bytes_of(device.config.port_mtu);
}

} // namespace

Transmit* next_unreliable(Device& device, Qp& qp) {
    while (!qp.sends.empty()) {
        const QpState state = qp.connection.state;
        SendWork& work = qp.sends.front();
        const bool goes_on = work.started && state == QpState::Sqd;
        if (!goes_on && !may_begin(qp)) return nullptr;
        if (oversize(device, qp, work)) {
            if (device.config.behaviour.ud_oversize == UdOversize::LengthError) {
                fail_oldest(device, qp, WcStatus::LocLenErr);
                return nullptr;
            }
            finish(device, qp);
            continue;
        }
        if (!work.started) {
            start(device, qp, work);
            const bool failed = work.fault.has_value();
            if (failed || is_local(work.request.opcode)) {
                settle_oldest(device, qp); // the work does not exist any more
                if (failed) return nullptr;
                continue;
            }
        }
        return qp.connection.type == QpType::Ud ? send_datagram(device, qp, work)
                                                : send_uc_segment(device, qp, work);
    }
    return nullptr;
}

} // namespace veriroce::engine
