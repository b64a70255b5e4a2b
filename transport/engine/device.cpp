#include "transport/engine/device.hpp"

#include "dissector/wire/management.hpp"

namespace veriroce::engine {

namespace {

std::uint8_t code_of(wire::Operation operation, wire::Position position, bool immediate = false,
                     bool invalidate = false, wire::Service service = wire::Service::Rc) {
    // Nothing: no such packet exists, and no caller asks for it.
    return wire::opcode_of(service, operation, position, immediate, invalidate).value_or(0);
}

constexpr std::array kPositions{wire::Position::First, wire::Position::Middle, wire::Position::Last,
                                wire::Position::Only};

} // namespace

const Opcodes& Opcodes::all() {
    static const Opcodes opcodes;
    return opcodes;
}

Opcodes::Opcodes()
    : read(code_of(wire::Operation::RdmaReadRequest, wire::Position::Only)),
      compare_swap(code_of(wire::Operation::CompareSwap, wire::Position::Only)),
      fetch_add(code_of(wire::Operation::FetchAdd, wire::Position::Only)),
      flush(code_of(wire::Operation::Flush, wire::Position::Only)),
      atomic_write(code_of(wire::Operation::AtomicWrite, wire::Position::Only)),
      acknowledge(code_of(wire::Operation::Acknowledge, wire::Position::Only)),
      atomic_acknowledge(code_of(wire::Operation::AtomicAcknowledge, wire::Position::Only)) {
    for (const wire::Position position : kPositions) {
        const auto at = static_cast<std::size_t>(position);
        for (const bool immediate : {false, true}) {
            for (std::size_t type = 0; type < send.size(); ++type) {
                const wire::Service service = service_of(static_cast<QpType>(type));
                send[type][at][immediate] =
                    code_of(wire::Operation::Send, position, immediate, false, service);
            }
            for (std::size_t type = 0; type < write.size(); ++type) {
                const wire::Service service = service_of(static_cast<QpType>(type));
                write[type][at][immediate] =
                    code_of(wire::Operation::RdmaWrite, position, immediate, false, service);
            }
        }
        send[0][at][2] = code_of(wire::Operation::Send, position, false, true); // RC alone has it
        read_response[at] = code_of(wire::Operation::RdmaReadResponse, position);
    }
}

Device::Device(const Config& config_of_device, const Checks& checks_of_device)
    : config(config_of_device), checks(checks_of_device),
      memory(config_of_device.first_key, config_of_device.limits.regions,
             config_of_device.limits.windows),
      groups(config_of_device.limits.multicast_attached,
             config_of_device.limits.multicast_group_qps) {}

bool Device::alive(PdId pd) const {
    return pd.value != 0 && pd.value <= pds.size() && pds[pd.value - 1] != 0;
}

Qp* Device::find(QpId qp) const {
    if (qp.value == 0 || qp.value > qps.size()) return nullptr;
    return qps[qp.value - 1].get();
}

Qp* Device::find(wire::Qpn qpn) const {
    if (qpn == wire::kGsiQpn && gsi) return find(*gsi);
    if (qpn < config.first_qpn) return nullptr;
    Qp* const qp = find(QpId{qpn.value - config.first_qpn.value + 1});
    return qp != nullptr && qp->connection.qpn == qpn ? qp : nullptr; // QP1 left its number free
}

CompletionQueue* Device::find(CqId cq) const {
    if (cq.value == 0 || cq.value > cqs.size()) return nullptr;
    return cqs[cq.value - 1].get();
}

SharedReceiveQueue* Device::find(SrqId srq) const {
    if (srq.value == 0 || srq.value > srqs.size()) return nullptr;
    return srqs[srq.value - 1].get();
}

void Device::mark_ready(Qp& qp) {
    if (qp.ready) return;
    qp.ready = true;
    ready.push(index_of(qp)); // as many slots as QPs
}

void Device::raise(const Event& event) {
    if (events.full()) {
        ++counters.events_lost;
        return;
    }
    events.push(event);
}

void Device::note_refusal(RefusedBy by, RefusalOutcome outcome, const std::optional<wire::Bth>& bth,
                          wire::Instant now) {
    if (refusals.full()) refusals.pop();
    refusals.push({.number = ++refused, .by = by, .outcome = outcome, .bth = bth, .at = now});
}

void Device::drop(RefusedBy by, const std::optional<wire::Bth>& bth, wire::Instant now) {
    ++counters.dropped;
    note_refusal(by, RefusalOutcome::Dropped, bth, now);
}

wire::Packet& packet_to_peer(Device& device, const Qp& qp, std::uint8_t opcode, wire::Psn psn) {
    wire::Packet& packet = device.packet;
    packet.bth = {.opcode = opcode,
                  .mig_req = qp.connection.mig_req,
                  .pkey = qp.connection.pkey, // BTH-08
                  .dest_qp = qp.connection.peer,
                  .psn = psn};
    packet.headers = packet.info().headers;
    return packet;
}

Transmit* transmit(Device& device, const Qp& qp, const wire::Packet& packet, wire::Bytes payload) {
    const std::size_t size = wire::encode_headers(packet, device.headers);
    Transmit& out = device.outgoing;
    out.envelope = qp.envelope;
    out.headers = wire::Bytes(device.headers).first(size);
    out.payload = payload;
    out.pad = packet.bth.pad;
    out.qp = qp.id;
    return &out;
}

} // namespace veriroce::engine
