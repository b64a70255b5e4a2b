#include "transport/engine/uc_responder.hpp"

#include "transport/engine/qp_states.hpp"
#include "transport/engine/responder.hpp"

namespace veriroce::engine {

namespace {

// The message that was open is lost; the receive WQE that it held waits for the next one.
void abandon(Inbound& inbound) {
    inbound.open = OpenMessage::None;
    inbound.receive_taken = false;
}

// Whether the packet goes on with the message that is open.
bool goes_on(const Inbound& inbound, const PacketView& packet) {
    if (packet.packet.bth.psn != inbound.expected_psn || packet.info.starts_message()) return false;
    switch (inbound.open) {
    case OpenMessage::None: return false;
    case OpenMessage::Send: return packet.info.operation == wire::Operation::Send;
    case OpenMessage::Write: return packet.info.operation == wire::Operation::RdmaWrite;
    }
    return false;
}

} // namespace

void handle_uc(Device& device, Qp& qp, const PacketView& packet) {
    Inbound& inbound = qp.inbound;
    const wire::Psn psn = packet.packet.bth.psn;
    if (!goes_on(inbound, packet)) { // EXT-06
        const bool hears = receives(packet.connection.state);
        if (hears && psn != inbound.expected_psn) ++device.counters.out_of_sequence;
        abandon(inbound);
        if (!packet.info.request() || !packet.info.starts_message()) {
            device.drop(DropReason::LostMessage, packet.packet.bth, packet.now);
            return;
        }
        inbound.expected_psn = psn;
    }
    const RequestView view = request_view(device, qp, packet);
    const RequestRuling ruling = device.checks.judge(view);
    if (ruling.verdict == RequestVerdict::Accept) {
        carry_out(device, qp, view);
        return;
    }
    device.drop(*ruling.by, packet.packet.bth, packet.now);
    abandon(inbound);
    inbound.expected_psn = psn + 1;
    if (ruling.by == RequestCheck::ReceiveMemory) { // our own fault ends the QP, as in RC (KEY-12)
        fail_receive(device, qp, WcStatus::LocProtErr);
        enter_error(device, qp);
    }
}

} // namespace veriroce::engine
