#include "transport/engine/responder.hpp"

#include <algorithm>
#include <cstring>

#include "transport/engine/qp_states.hpp"
#include "transport/engine/responder_replies.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::engine {

namespace {

using wire::Operation;

bool of_key(RequestCheck check) {
    return group_of(check) == CheckGroup::Key;
}

WcStatus receive_status(RequestCheck check) {
    if (check == RequestCheck::ReceiveRoom) return WcStatus::LocLenErr;    // LEN-06
    if (check == RequestCheck::ReceiveMemory) return WcStatus::LocProtErr; // KEY-12
    if (of_key(check)) return WcStatus::LocAccessErr;                      // N-14
    return WcStatus::LocQpOpErr;
}

// KEY-14, KEY-06: as much of a packet that is refused as fits.
void place_what_fits(Device& device, const Qp& qp, const RequestView& view, RequestCheck check) {
    const wire::Bytes payload = view.packet.payload();
    if (check == RequestCheck::ReceiveRoom) {
        const std::uint64_t before = view.info.starts_message() ? 0 : qp.inbound.received;
        const std::uint64_t room = view.receive_bytes - std::min(view.receive_bytes, before);
        static_cast<void>(scatter(device.memory, view.receive_domain, view.receive_sges, before,
                                  payload.first(std::min<std::size_t>(room, payload.size()))));
    }
    const bool write = view.info.operation == Operation::RdmaWrite;
    if (check != RequestCheck::KeyRange || !write || !view.target) return;
    const Region& region = device.memory.slot(view.target->rkey.value);
    const std::uint64_t address = view.info.starts_message()
                                      ? view.packet.reth.virtual_address
                                      : qp.inbound.address + qp.inbound.received;
    if (!region.covers(address, 0)) return;
    const std::uint64_t room = region.bytes.size() - (address - region.address);
    const wire::Bytes fits = payload.first(std::min<std::size_t>(room, payload.size()));
    std::ranges::copy(fits, region.at(address, fits.size()).begin());
}

// A NAK of class A or C: the last word of this QP (N-07).
void refuse(Device& device, Qp& qp, const RequestView& view, wire::NakCode code,
            RequestCheck check) {
    if (device.config.behaviour.refused_data == RefusedData::AsFits) {
        place_what_fits(device, qp, view, check);
    }
    // OPC-06: at the PSN of the offending packet, with an MSN that does not count it (ACK-08).
    acknowledge(device, qp, view.packet.bth.psn, wire::Syndrome::nak(code));
    const bool would_take =
        device.config.behaviour.refused_immediate == RefusedImmediate::AccessError &&
        of_key(check) && view.takes_receive();
    const bool uses_receive = qp.inbound.receive_taken || check == RequestCheck::ReceiveRoom ||
                              check == RequestCheck::ReceiveMemory || would_take;
    const bool told = uses_receive && fail_receive(device, qp, receive_status(check));
    if (!told) { // N-13
        device.raise(
            code == wire::NakCode::RemoteAccess ? EventType::QpAccessErr : EventType::QpReqErr, qp);
    }
    enter_error(device, qp);
}

// Class J: the receive completes in error and the QP ends, but the peer is not told (KEY-11).
void fail_silently(Device& device, Qp& qp) {
    if (!fail_receive(device, qp, WcStatus::LocQpOpErr)) device.raise(EventType::QpReqErr, qp);
    enter_error(device, qp);
}

void save(Qp& qp, const RequestView& view, std::uint32_t packets, std::uint64_t original) {
    const wire::Packet& packet = view.packet;
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    const bool reth = packet.headers.has(wire::Header::Reth);
    qp.saved.add({.psn = packet.bth.psn,
                  .packets = packets,
                  .opcode = packet.bth.opcode,
                  .address = reth ? packet.reth.virtual_address : packet.atomic.virtual_address,
                  .rkey = reth ? packet.reth.rkey : packet.atomic.rkey,
                  .length = read ? packet.reth.dma_length : 0,
                  .compare = packet.atomic.compare,
                  .swap_or_add = packet.atomic.swap_or_add,
                  .original = original,
                  .msn = qp.inbound.msn});
}

Reply read_reply(const wire::Packet& packet, wire::Mtu mtu, wire::Msn msn) {
    return {.kind = ReplyKind::Read,
            .psn = packet.bth.psn,
            .packets = wire::packets_of(packet.reth.dma_length, mtu),
            .syndrome = {},
            .msn = msn,
            .rkey = packet.reth.rkey,
            .address = packet.reth.virtual_address,
            .left = packet.reth.dma_length};
}

// RDR-01..03: the response is made when it is sent; its access is checked again then (RDR-13).
void read(Device& device, Qp& qp, const RequestView& view) {
    const std::uint32_t packets = wire::packets_of(view.packet.reth.dma_length, qp.connection.mtu);
    qp.inbound.msn = qp.inbound.msn + 1;
    save(qp, view, packets, 0);
    Reply reply = read_reply(view.packet, qp.connection.mtu, qp.inbound.msn);
    reply.syndrome = ack_syndrome(device, qp);
    drop_deferred_ack(device, qp); // REQ-26: the response acknowledges all before it
    qp.replies.add(reply);
    ++qp.inbound.replies;
    qp.inbound.expected_psn += packets; // RSP-01
    device.mark_ready(qp);
}

// ATM-01, ATM-08. The value in memory is a number of the host, as in the verbs.
void atomic(Device& device, Qp& qp, const RequestView& view) {
    const wire::AtomicEth& asked = view.packet.atomic;
    const Region& region = device.memory.slot(asked.rkey.value);
    std::uint64_t original = 0;
    if (!region.covers(asked.virtual_address, sizeof original)) return;
    const wire::MutableBytes place = region.at(asked.virtual_address, sizeof original);
    std::memcpy(&original, place.data(), sizeof original);
    std::uint64_t value = original + asked.swap_or_add;
    if (view.info.operation == Operation::CompareSwap) {
        value = original == asked.compare ? asked.swap_or_add : original;
    }
    std::memcpy(place.data(), &value, sizeof value);
    qp.inbound.msn = qp.inbound.msn + 1;
    save(qp, view, 1, original);
    drop_deferred_ack(device, qp);
    qp.replies.add({.kind = ReplyKind::Atomic,
                    .psn = view.packet.bth.psn,
                    .syndrome = ack_syndrome(device, qp),
                    .msn = qp.inbound.msn,
                    .original = original});
    ++qp.inbound.replies;
    qp.inbound.expected_psn += 1;
    device.mark_ready(qp);
}

// FLUSH and ATOMIC WRITE: answered by an empty READ response in its turn (EXT-02). What a WRITE
// brought is in memory and seen by all before anything later is looked at, so that of a FLUSH
// nothing is left to do here; that memory is persistent is a promise of the region (N-29).
void write_or_flush(Device& device, Qp& qp, const RequestView& view) {
    const wire::Reth& reth = view.packet.reth;
    if (view.info.operation == Operation::AtomicWrite) {
        const wire::Bytes payload = view.packet.payload();
        const Region& region = device.memory.slot(reth.rkey.value);
        if (!region.covers(reth.virtual_address, payload.size())) return;
        // EXT-01: all eight bytes at once.
        std::memcpy(region.at(reth.virtual_address, payload.size()).data(), payload.data(),
                    payload.size());
    }
    qp.inbound.msn = qp.inbound.msn + 1;
    save(qp, view, 1, 0);
    drop_deferred_ack(device, qp);
    qp.replies.add({.kind = ReplyKind::Read,
                    .psn = view.packet.bth.psn,
                    .syndrome = ack_syndrome(device, qp),
                    .msn = qp.inbound.msn});
    ++qp.inbound.replies;
    qp.inbound.expected_psn += 1;
    device.mark_ready(qp);
}

// Takes the receive WQE at the end of a SEND or of a WRITE with immediate data.
bool complete_receive(Device& device, Qp& qp, const RequestView& view, std::uint64_t bytes) {
    const bool send = view.info.operation == Operation::Send;
    Completion completion{.id = take_receive(device, qp)->id,
                          .opcode = send ? WcOpcode::Recv : WcOpcode::RecvRdmaWithImm,
                          .byte_len = static_cast<std::uint32_t>(bytes)};
    if (view.info.immediate()) completion.imm = view.packet.imm.value;
    // KEY-11: revoked when the data is there, before the host is told.
    if (view.info.invalidates() &&
        device.memory.invalidate(view.packet.ieth.rkey, qp.connection.pd, qp.connection.qpn)) {
        completion.invalidated_rkey = view.packet.ieth.rkey;
    }
    return deliver(device, qp, Queue::Receive, completion, view.packet.bth.solicited);
}

bool place(Device& device, Qp& qp, const RequestView& view) {
    wire::Bytes payload = view.packet.payload();
    if (view.info.operation == Operation::Send) {
        return scatter(device.memory, view.receive_domain, view.receive_sges, qp.inbound.received,
                       payload);
    }
    if (device.config.behaviour.write_excess == WriteExcess::AtLast) {
        // LEN-04: the NAK follows later; nothing beyond the announced length is written.
        payload =
            payload.first(static_cast<std::size_t>(within_announced(qp.inbound, payload.size())));
    }
    if (payload.empty()) return true;
    const std::uint64_t address = qp.inbound.address + qp.inbound.received;
    const Region& region = device.memory.slot(qp.inbound.rkey.value);
    if (!region.covers(address, payload.size())) return false;
    std::memcpy(region.at(address, payload.size()).data(), payload.data(), payload.size());
    return true;
}

// A packet of a SEND or WRITE.
void receive(Device& device, Qp& qp, const RequestView& view) {
    Inbound& inbound = qp.inbound;
    const bool send = view.info.operation == Operation::Send;
    if (view.info.starts_message()) {
        inbound.received = 0;
        inbound.open = send ? OpenMessage::Send : OpenMessage::Write;
        inbound.receive_taken = send;
        if (send) hold_receive(device, qp);
        inbound.announced = view.packet.reth.dma_length;
        inbound.address = view.packet.reth.virtual_address;
        inbound.rkey = view.packet.reth.rkey;
    }
    // The checks have asked all this; a table with a planted defect must not break memory.
    const bool needs_receive = send || view.info.immediate();
    if ((needs_receive && next_receive(qp) == nullptr) || !place(device, qp, view)) return;
    inbound.received += view.packet.payload().size();
    inbound.expected_psn += 1;
    qp.last_acked = view.packet.bth.psn;
    if (view.info.ends_message()) {
        inbound.open = OpenMessage::None;
        inbound.receive_taken = false;
        inbound.msn = inbound.msn + 1; // ACK-09: at the message's end, with or without a completion
        if (needs_receive && !complete_receive(device, qp, view, inbound.received)) return;
    }
    acknowledge_request(device, qp, view);
}

// The whole answer to a remembered request once more.
Reply repeat(const Device& device, const Qp& qp, const SavedRequest& saved) {
    const bool atomic = wire::opcode_info(saved.opcode).headers.has(wire::Header::AtomicEth);
    return {.kind = atomic ? ReplyKind::Atomic : ReplyKind::Read,
            .psn = saved.psn,
            .packets = saved.packets,
            .syndrome = ack_syndrome(device, qp),
            .msn = qp.inbound.msn,
            .original = saved.original,
            .rkey = saved.rkey,
            .address = saved.address,
            .left = saved.length,
            .fresh = false};
}

// RSP-10: a SEND or WRITE that was carried out already.
void acknowledge_duplicate(Device& device, Qp& qp, const RequestView& view) {
    const Behaviour& behaviour = device.config.behaviour;
    if (!view.packet.bth.ack_request && !behaviour.duplicate_without_ack_request_is_acked) {
        return; // RSP-11
    }
    Reply reply{.psn = qp.last_acked,
                .syndrome = ack_syndrome(device, qp),
                .msn = qp.inbound.msn,
                .fresh = false};
    const SavedRequest* const newest = qp.saved.newest();
    switch (behaviour.duplicate_answer) {
    case DuplicateAnswer::LastAck: break;
    case DuplicateAnswer::LatestPsn: reply.psn = qp.inbound.expected_psn - 1; break;
    case DuplicateAnswer::ResendReadResponse:
        if (newest != nullptr && wire::distance(view.packet.bth.psn, newest->psn) > 0) {
            reply = repeat(device, qp, *newest);
        }
        break;
    }
    qp.replies.add_duplicate(reply);
    device.mark_ready(qp);
}

// RDR-04, RDR-05, ATM-04, EXT-04
void answer_duplicate(Device& device, Qp& qp, const RequestView& view) {
    const SavedRequest& saved = *view.saved;
    Reply reply = repeat(device, qp, saved);
    if (view.info.operation == Operation::RdmaReadRequest) {
        reply = read_reply(view.packet, qp.connection.mtu, qp.inbound.msn);
        // RDR-06: a repeated tail begins again, or continues at the READ's position.
        reply.begins = view.packet.bth.psn == saved.psn ||
                       device.config.behaviour.partial_read_reply == PartialReadReply::FirstOrOnly;
    }
    reply.syndrome = ack_syndrome(device, qp);
    reply.fresh = false;
    if (!qp.replies.add_duplicate(reply)) {
        device.drop(DropReason::NoReplyRoom, view.packet.bth, view.now);
    }
    if (device.config.behaviour.duplicate_resends_later) { // RDR-04
        qp.saved.for_each_behind(saved.psn, [&](const SavedRequest& later) {
            qp.replies.add_duplicate(repeat(device, qp, later));
        });
    }
    device.mark_ready(qp);
}

// RSP-12: a duplicate is never NAKed, even if it is wrong.
void handle_duplicate(Device& device, Qp& qp, RequestView& view) {
    ++device.counters.duplicate_request;
    // RSP-03; what comes after an RNR NAK draws none until the retry (RNR-04).
    const bool naked = qp.inbound.nak == NakState::Sequence;
    if (naked && device.config.behaviour.duplicate_rearms_nak) qp.inbound.nak = NakState::None;
    const Operation operation = view.info.operation;
    if (operation == Operation::Send || operation == Operation::RdmaWrite) {
        acknowledge_duplicate(device, qp, view);
        return;
    }
    view.saved = qp.saved.holding(view.packet.bth.psn);
    auto refused_by = device.checks.duplicate_refused_by(view);
    // A planted defect may accept a duplicate that is not remembered: there is no answer to send.
    if (!refused_by && view.saved == nullptr) refused_by = DuplicateCheck::Remembered;
    if (refused_by) {
        device.drop(*refused_by, view.packet.bth, view.now);
    } else {
        answer_duplicate(device, qp, view);
    }
}

} // namespace

RequestView request_view(const Device& device, const Qp& qp, const PacketView& packet) {
    const ReceiveWork* const work = next_receive(qp);
    const bool ready = work != nullptr;
    // One by one: the members were stored just now, and a copy of more than one at once would wait
    // until they have left the processor.
    return {{packet.envelope, packet.packet, packet.info, packet.connection, packet.behaviour,
             packet.pkeys, packet.now},
            qp.inbound,
            device.memory,
            device.config.limits.message_bytes,
            ready,
            ready ? work->bytes : 0,
            ready ? work->sges : std::span<const Sge>{},
            receive_domain(qp),
            target_of(packet.packet, qp.inbound, device.config.behaviour),
            nullptr};
}

void carry_out(Device& device, Qp& qp, const RequestView& view) {
    qp.inbound.nak = NakState::None; // RSP-06, N-09
    if (!qp.established) {           // STA-04
        qp.established = true;
        if (qp.connection.state == QpState::Rtr) device.raise(EventType::CommEst, qp);
    }
    if (!wants_response(view.info)) {
        receive(device, qp, view);
    } else if (!qp.replies.room()) {
        device.drop(DropReason::NoReplyRoom, view.packet.bth, view.now);
    } else if (view.info.operation == Operation::RdmaReadRequest) {
        read(device, qp, view);
    } else if (view.packet.headers.has(wire::Header::Reth)) {
        write_or_flush(device, qp, view);
    } else {
        atomic(device, qp, view);
    }
}

void handle_request(Device& device, Qp& qp, const PacketView& packet) {
    RequestView view = request_view(device, qp, packet);
    const RequestRuling ruling = device.checks.judge(view);
    const wire::Bth& bth = packet.packet.bth;
    const auto note = [&](RefusalOutcome outcome) {
        device.note_refusal(*ruling.by, outcome, bth, packet.now);
    };
    switch (ruling.verdict) {
    case RequestVerdict::Accept: carry_out(device, qp, view); break;
    case RequestVerdict::Drop: device.drop(*ruling.by, bth, packet.now); break;
    case RequestVerdict::Duplicate: handle_duplicate(device, qp, view); break;
    case RequestVerdict::NakSequence: // RSP-02: at the PSN that is missing
        note(RefusalOutcome::SequenceNak);
        ++device.counters.out_of_sequence;
        qp.inbound.nak = NakState::Sequence;
        acknowledge(device, qp, qp.inbound.expected_psn,
                    wire::Syndrome::nak(wire::NakCode::PsnSequence));
        break;
    case RequestVerdict::Rnr: // RNR-01, RNR-07
        note(RefusalOutcome::RnrNak);
        ++device.counters.rnr_nak_sent;
        qp.inbound.nak = NakState::Rnr;
        acknowledge(device, qp, bth.psn, rnr_syndrome(device, qp));
        qp.inbound.rnr_until = packet.now + wire::rnr_time(rnr_syndrome(device, qp).code());
        break;
    case RequestVerdict::FailSilently:
        note(RefusalOutcome::QpEnded);
        fail_silently(device, qp);
        break;
    case RequestVerdict::NakInvalidRequest:
        note(RefusalOutcome::InvalidRequestNak);
        refuse(device, qp, view, wire::NakCode::InvalidRequest, *ruling.by);
        break;
    case RequestVerdict::NakRemoteAccess:
        note(RefusalOutcome::RemoteAccessNak);
        refuse(device, qp, view, wire::NakCode::RemoteAccess, *ruling.by);
        break;
    case RequestVerdict::NakRemoteOperational:
        note(RefusalOutcome::RemoteOperationalNak);
        refuse(device, qp, view, wire::NakCode::RemoteOperational, *ruling.by);
        break;
    }
}

} // namespace veriroce::engine
