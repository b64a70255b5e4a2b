#include "transport/engine/requester.hpp"

#include <algorithm>

#include "transport/engine/completion.hpp"
#include "transport/engine/local_work.hpp"
#include "transport/engine/retry.hpp"
#include "transport/engine/scatter.hpp"
#include "transport/engine/send_completion.hpp"
#include "transport/engine/unreliable_requester.hpp"

namespace veriroce::engine {

namespace {

using wire::Position;

bool is_write(WrOpcode opcode) {
    return opcode == WrOpcode::RdmaWrite || opcode == WrOpcode::RdmaWriteWithImm;
}
// Whether such requests can be sent on a QP of this type.
bool supported(QpType type, WrOpcode opcode) {
    const bool send = opcode == WrOpcode::Send || opcode == WrOpcode::SendWithImm;
    switch (type) {
    case QpType::Rc: return true;
    case QpType::Uc: return send || is_write(opcode) || is_local(opcode);
    case QpType::Ud: return send;
    }
    return false;
}

// What the last packet carries besides data, as the index of Opcodes::Row.
std::size_t ending_of(WrOpcode opcode) {
    if (opcode == WrOpcode::SendWithImm || opcode == WrOpcode::RdmaWriteWithImm) return 1;
    return opcode == WrOpcode::SendWithInv ? 2 : 0;
}

SendView send_view(const Device& device, const Qp& qp, const SendWork& work,
                   std::uint32_t packets) {
    const wire::Psn ssn = work.started ? work.ssn : qp.outbound.credits.newest + 1;
    return {qp.connection, qp.outbound, device.config.behaviour, work.request, packets, ssn};
}

bool window_open(const Device& device, const Qp& qp, const SendWork& work, std::uint32_t packets) {
    return device.checks.allows(SendCheck::Window, send_view(device, qp, work, packets));
}

// Whether the next work may begin.
bool may_start(const Device& device, const Qp& qp, const SendWork& work) {
    if (!may_begin(qp)) return false;
    const std::uint32_t packets = work.request.opcode == WrOpcode::RdmaRead
                                      ? wire::packets_of(work.length, qp.connection.mtu)
                                      : 1;
    const SendView view = send_view(device, qp, work, packets);
    return device.checks.allows(SendCheck::Window, view) &&
           device.checks.allows(SendCheck::RdAtomic, view) &&
           device.checks.allows(SendCheck::Fence, view) &&
           device.checks.allows(SendCheck::Credits, view);
}

// REQ-29: of a message beyond the limit the first packet goes, and the rest when that was taken.
bool credit_waits(const Qp& qp, const SendWork& work) {
    return takes_receive(work.request.opcode) && !qp.outbound.credits.allows(work.ssn) &&
           forward(work.first, qp.outbound.unacked_psn) - 1 >= work.packets;
}

} // namespace

void start(Device& device, Qp& qp, SendWork& work) {
    if (is_local(work.request.opcode)) {
        work.fault = carry_out_locally(device, qp, work.request);
        work.started = !work.fault;
        work.first = qp.outbound.next_psn;
        work.packets = 0;
        return;
    }
    const bool data = brings_data(work.request.opcode);
    if (!work.request.flags.inline_data &&
        !reachable(device.memory, qp.connection.pd, work.request.sges, 0, work.length,
                   data ? Direction::ToMemory : Direction::FromMemory)) {
        work.fault = WcStatus::LocProtErr;
        return;
    }
    work.started = true;
    work.first = work.expected_response = work.asked_from = qp.outbound.next_psn; // REQ-01
    work.packets = is_atomic(work.request.opcode)
                       ? 1
                       : wire::packets_of(work.length, qp.connection.mtu); // LEN-10, N-36
    if (qp.connection.type == QpType::Ud) work.packets = 1;
    work.ssn = qp.outbound.credits.begin(takes_receive(work.request.opcode));
    if (wants_response(work.request.opcode)) ++qp.outbound.outstanding_rd_atomic;
}

namespace {

// For every packet that leaves: notes new PSNs and starts the timer.
Transmit* sent(Device& device, Qp& qp, const wire::Packet& packet, wire::Bytes payload,
               wire::Psn behind, wire::Instant now) {
    const std::uint32_t known = forward(qp.outbound.unacked_psn, qp.outbound.next_psn);
    // TMO-06: a message that is sent again as a whole begins before the oldest unacknowledged PSN.
    const bool acknowledged = wire::distance(behind, qp.outbound.unacked_psn) >= 0;
    if (!acknowledged && forward(qp.outbound.unacked_psn, behind) > known) {
        qp.outbound.next_psn = behind;
    }
    qp.rewound = false;
    qp.since_ack_request = packet.bth.ack_request ? 0 : qp.since_ack_request + 1;
    // TMO-01: T counts from the last packet that asked for an ACK.
    const bool runs = device.deadlines.armed(Device::index_of(qp), Timer::Ack);
    if (packet.bth.ack_request || !runs) arm_ack_timer(device, qp, now);
    return transmit(device, qp, packet, payload);
}

std::uint8_t request_opcode(const Opcodes& opcodes, WrOpcode opcode) {
    if (opcode == WrOpcode::RdmaRead) return opcodes.read;
    if (opcode == WrOpcode::Flush) return opcodes.flush;
    if (opcode == WrOpcode::AtomicWrite) return opcodes.atomic_write;
    return opcode == WrOpcode::AtomicCmpAndSwp ? opcodes.compare_swap : opcodes.fetch_add;
}

// The headers of a request that has a response of its own. REQ-09, REQ-10: a READ that was partly
// answered asks for the rest.
wire::Packet& request_packet(Device& device, const Qp& qp, SendWork& work) {
    const SendRequest& request = work.request;
    const bool rest = device.config.behaviour.read_restart == ReadRestart::FirstMissing;
    work.asked_from = rest ? work.expected_response : work.first;
    const std::uint64_t offset =
        std::uint64_t{forward(work.first, work.asked_from)} * wire::bytes_of(qp.connection.mtu);
    const std::uint8_t opcode = request_opcode(device.opcodes, request.opcode);
    wire::Packet& packet = packet_to_peer(device, qp, opcode, work.asked_from);
    packet.bth.ack_request = true;
    const bool flush = request.opcode == WrOpcode::Flush;
    packet.reth = {.virtual_address = request.remote_address + offset,
                   .rkey = request.rkey,
                   .dma_length = flush ? request.flush_length
                                       : static_cast<std::uint32_t>(work.length - offset)};
    packet.feth = {.selectivity = request.flush_selectivity, .placement = request.flush_placement};
    const bool swaps = request.opcode == WrOpcode::AtomicCmpAndSwp;
    packet.atomic = {.virtual_address = request.remote_address,
                     .rkey = request.rkey,
                     .swap_or_add = swaps ? request.swap : request.compare_or_add,
                     .compare = swaps ? request.compare_or_add : 0};
    return packet;
}

} // namespace

std::optional<wire::Bytes> payload_of(Device& device, const Qp& qp, const SendWork& work,
                                      std::uint64_t offset, std::size_t bytes) {
    if (work.request.flags.inline_data) return work.inline_bytes.subspan(offset, bytes);
    return gather(device.memory, qp.connection.pd, work.request.sges, offset, bytes,
                  device.scratch);
}

namespace {

// A READ, an atomic, a FLUSH or an ATOMIC WRITE: one packet.
Transmit* send_request(Device& device, Qp& qp, SendWork& work, wire::Instant now) {
    wire::Bytes payload;
    if (work.request.opcode == WrOpcode::AtomicWrite) {
        const auto bytes = payload_of(device, qp, work, 0, sizeof(std::uint64_t));
        if (!bytes) { // N-22
            work.fault = WcStatus::LocProtErr;
            settle_oldest(device, qp);
            return nullptr;
        }
        payload = *bytes;
    }
    const wire::Packet& packet = request_packet(device, qp, work);
    ++qp.cursor.work;
    qp.cursor.packet = 0;
    return sent(device, qp, packet, payload, work.last() + 1, now);
}

// BTH-18, N-18: at the end of a message, now and then inside long ones, and where the window ends.
bool wants_ack(const Device& device, const Qp& qp, const SendWork& work, wire::Psn psn, bool ends) {
    if (ends || qp.since_ack_request + 1 >= device.config.behaviour.ack_request_every) return true;
    if (credit_waits(qp, work) || qp.recovers_to) return true;
    const std::uint32_t out = forward(qp.outbound.unacked_psn, qp.outbound.next_psn);
    const std::uint32_t with_next = forward(qp.outbound.unacked_psn, psn + 2);
    return with_next > out && !window_open(device, qp, work, with_next - out);
}

} // namespace

wire::Packet& segment(Device& device, const Qp& qp, const SendWork& work, wire::Psn psn) {
    const SendRequest& request = work.request;
    const bool ends = qp.cursor.packet + 1 == work.packets;
    const Position position = wire::position_of(qp.cursor.packet == 0, ends);
    const std::size_t ending = ends ? ending_of(request.opcode) : 0;
    const auto type = static_cast<std::size_t>(qp.connection.type);
    const Opcodes::Row& row =
        is_write(request.opcode) ? device.opcodes.write[type] : device.opcodes.send[type];
    wire::Packet& packet =
        packet_to_peer(device, qp, row[static_cast<std::size_t>(position)][ending], psn);
    const bool notifies = request.opcode != WrOpcode::RdmaWrite;
    packet.bth.solicited = ends && notifies && request.flags.solicited; // BTH-14
    packet.bth.ack_request = wants_ack(device, qp, work, psn, ends);
    packet.reth = {.virtual_address = request.remote_address,
                   .rkey = request.rkey,
                   .dma_length = static_cast<std::uint32_t>(work.length)};
    packet.imm = {.value = request.imm};
    packet.ieth = {.rkey = request.invalidate_rkey};
    return packet;
}

namespace {

Transmit* send_segment(Device& device, Qp& qp, SendWork& work, wire::Instant now) {
    const wire::Psn psn = work.first + qp.cursor.packet;
    const std::uint64_t mtu = wire::bytes_of(qp.connection.mtu);
    const std::uint64_t offset = qp.cursor.packet * mtu;
    const auto bytes = static_cast<std::size_t>(std::min(mtu, work.length - offset));
    const auto payload = payload_of(device, qp, work, offset, bytes);
    if (!payload) { // N-22: the region went away under the request
        work.fault = WcStatus::LocProtErr;
        settle_oldest(device, qp);
        return nullptr;
    }
    wire::Packet& packet = segment(device, qp, work, psn);
    packet.bth.pad = wire::pad_of(bytes);
    if (++qp.cursor.packet == work.packets) qp.cursor = {.work = qp.cursor.work + 1, .packet = 0};
    return sent(device, qp, packet, *payload, psn + 1, now);
}

bool sendable(const std::optional<UdDestination>& to) {
    return to && to->qpn.value <= wire::kMask24 &&
           to->path.source.v4() == to->path.destination.v4();
}

std::expected<void, VerbError> acceptable(const Device& device, const Qp& qp,
                                          const SendRequest& request) {
    const QpCapacity& capacity = qp.description.capacity;
    const auto refused = std::unexpected(VerbError::InvalidArgument);
    if (!supported(qp.connection.type, request.opcode)) {
        return std::unexpected(VerbError::NotSupported);
    }
    if (is_local(request.opcode)) {
        if (!request.sges.empty() || request.flags.inline_data) return refused;
        if (request.opcode == WrOpcode::BindMw) return acceptable_bind(device, request);
        return {};
    }
    if (request.sges.size() > capacity.max_sge) return refused;
    const std::uint64_t length = bytes_of(request.sges);
    if (length > device.config.limits.message_bytes) return refused; // LEN-11
    if (qp.connection.type == QpType::Ud && !sendable(request.ud)) return refused;
    const bool response = wants_response(request.opcode);
    if (response && qp.connection.max_rd_atomic == 0) return refused;
    const bool eight = is_atomic(request.opcode) || request.opcode == WrOpcode::AtomicWrite;
    if (eight && length != sizeof(std::uint64_t)) return refused;
    if (request.opcode == WrOpcode::Flush && length != 0) return refused;
    const bool data = brings_data(request.opcode);
    if (request.flags.inline_data && (data || length > capacity.max_inline)) return refused;
    return {};
}

// STA-03: nothing is posted before RTS.
bool takes_work(QpState state) {
    return state != QpState::Reset && state != QpState::Init && state != QpState::Rtr;
}

} // namespace

std::expected<void, VerbError> post(Device& device, Qp& qp, const SendRequest& request) {
    if (!takes_work(qp.connection.state)) return std::unexpected(VerbError::InvalidArgument);
    if (auto accepted = acceptable(device, qp, request); !accepted) return accepted;
    return enqueue(device, qp, request);
}

std::expected<void, VerbError> enqueue(Device& device, Qp& qp, const SendRequest& request) {
    const QpState state = qp.connection.state;
    if (!takes_work(state)) return std::unexpected(VerbError::InvalidArgument);
    if (qp.sends.full()) return std::unexpected(VerbError::NoMemory);
    if (state == QpState::Err || state == QpState::Sqe) { // STA-07
        deliver(device, qp, Queue::Send,
                {.id = request.id,
                 .status = WcStatus::WrFlushErr,
                 .opcode = completion_opcode(request.opcode)});
        return {};
    }
    wire::Bytes inline_bytes;
    if (request.flags.inline_data) {
        const std::uint64_t length = bytes_of(request.sges);
        const auto bytes = gather(device.memory, qp.connection.pd, request.sges, 0,
                                  static_cast<std::size_t>(length), device.scratch);
        if (!bytes) return std::unexpected(VerbError::InvalidArgument);
        inline_bytes = *bytes;
    }
    SendWork& work = qp.sends.push(request, inline_bytes);
    work.signaled = request.flags.signaled || qp.description.signal_all;
    device.mark_ready(qp);
    return {};
}

namespace {

// Starts and returns the work whose packet is next. Nothing if no work may send, or if one failed.
SendWork* next_work(Device& device, Qp& qp) {
    while (qp.cursor.work < qp.sends.size()) {
        SendWork& work = qp.sends[qp.cursor.work];
        if (!work.started) {
            if (work.fault || !may_start(device, qp, work)) return nullptr;
            start(device, qp, work);
            if (work.fault) {
                settle_oldest(device, qp);
                return nullptr;
            }
        }
        if (work.fault) return nullptr;
        if (!is_local(work.request.opcode)) return &work;
        ++qp.cursor.work;
        settle_oldest(device, qp);
    }
    return nullptr;
}

} // namespace

namespace {

// AfterLoss::OnePacket: whether the next packet must wait until the oldest one is acknowledged.
bool waits_for_recovery(const Qp& qp) {
    if (!qp.recovers_to || qp.cursor.work >= qp.sends.size()) return false;
    const SendWork& work = qp.sends[qp.cursor.work];
    if (!work.started) return true;
    const wire::Psn oldest = qp.outbound.unacked_psn;
    if (wants_response(work.request.opcode)) return !work.holds(oldest);
    return !is_local(work.request.opcode) &&
           wire::distance(oldest, work.first + qp.cursor.packet) > 0;
}

} // namespace

Transmit* next_request(Device& device, Qp& qp, wire::Instant now) {
    if (qp.connection.type != QpType::Rc) return next_unreliable(device, qp);
    const QpState state = qp.connection.state;
    if ((state != QpState::Rts && state != QpState::Sqd) || qp.waits_for_rnr) return nullptr;
    if (qp.one_message && qp.cursor.work > 0) return nullptr; // RNR-13
    if (waits_for_recovery(qp)) return nullptr;
    SendWork* const next = next_work(device, qp);
    if (next == nullptr) return nullptr;
    SendWork& work = *next;
    if (wants_response(work.request.opcode)) return send_request(device, qp, work, now);
    const bool is_new = work.first + qp.cursor.packet == qp.outbound.next_psn;
    if (is_new && !window_open(device, qp, work, 1)) return nullptr;
    if (qp.cursor.packet > 0 && credit_waits(qp, work)) return nullptr;
    return send_segment(device, qp, work, now);
}

} // namespace veriroce::engine
