// What a responder says is missing, held against what has come to it: RSP-02, RSP-09, LEN-07,
// CNP-12, CRC-07. Only where its own port was recorded.
#include <algorithm>

#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

const flow::End& responder(const Case& at_hand) {
    return at_hand.connection->ends[1 - at_hand.seen.asking()];
}

// Whether a responder that expects this request must take it. What is wrong with it, or may be, is
// enough to doubt that: others than the judge look at it too.
bool must_be_taken(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const Notes& notes = *at_hand.notes;
    if (packet.integrity != flow::Integrity::Good || packet.info().reserved()) return false;
    if (at_hand.path->pkey && *at_hand.path->pkey != packet.transport.bth.pkey) return false;
    if (std::ranges::find(notes.defects, packet.psn(), &Notes::Defect::psn) !=
        notes.defects.end()) {
        return false;
    }
    // RDR-09: what becomes of a READ more than was agreed is left open.
    const auto& limit = at_hand.connection->ends[at_hand.seen.from].attributes.max_rd_atomic;
    return notes.open_reads <= limit.value_or(1);
}

std::uint32_t span_of(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (packet.info().operation != wire::Operation::RdmaReadRequest) return 1;
    const auto mtu = at_hand.stream().mtu();
    return wire::packets_of(packet.transport.reth.dma_length, mtu.value_or(wire::Mtu::B4096));
}

bool span_known(const Case& at_hand) {
    return at_hand.stream().mtu().has_value() ||
           at_hand.packet.info().operation != wire::Operation::RdmaReadRequest ||
           at_hand.packet.transport.reth.dma_length <= 256;
}

// The first PSN behind the request that a response answers.
wire::Psn behind_answered(const Case& at_hand) {
    const wire::Psn psn = at_hand.packet.psn();
    const auto index = at_hand.stream().index_of(psn);
    if (at_hand.packet.info().operation != wire::Operation::RdmaReadResponse || !index) {
        return psn + 1;
    }
    const Extent& extent = at_hand.stream().extents()[*index];
    return extent.read() && extent.span_known ? extent.last_psn() + 1 : psn + 1;
}

bool crosses_zero(const Extent& extent) {
    return (extent.last_psn() + 1).value() <= extent.psn.value();
}

struct Reason {
    std::string_view rule;
    std::string_view text;
};

// Why a NAK was sent that nothing ahead can have drawn, by what came last.
Reason reason_of(const Case& at_hand) {
    const Notes& notes = *at_hand.notes;
    const auto index = at_hand.stream().index_of(at_hand.packet.psn());
    const bool damaged = notes.at_port->damaged_number > notes.at_port->said_number;
    const bool cnp = notes.at_port->cnp_number > notes.at_port->said_number;
    if (cnp && !damaged) return {"CNP-12", "a CNP came, and nothing ahead"};
    if (damaged && !cnp) return {"CRC-07", "a packet with a wrong ICRC came, and nothing ahead"};
    if (index) {
        const Extent& at = at_hand.stream().extents()[*index];
        if (at.read() && at.length == 0) return {"LEN-07", "the empty READ there has come"};
        const bool wraps = *index > 0 && at_hand.stream().extents()[*index - 1].read() &&
                           crosses_zero(at_hand.stream().extents()[*index - 1]);
        if (wraps) return {"RSP-09", "it has come, and the READ before it, which crosses PSN 0"};
        const bool has_come =
            !at.missing && wire::distance(at.psn, notes.at_port->arrivals.sure()) > 0;
        if (has_come) return {"RSP-02", "which has come in its turn"};
    }
    return {"RSP-02", "nothing ahead of it has come"};
}

void judge_nak(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const wire::Psn psn = at_hand.packet.psn();
    if (!notes.at_port->arrivals.known() || notes.at_port->arrivals.may_have_missed(psn)) return;
    const Reason reason = reason_of(at_hand);
    at_hand.report(reason.rule, kUnseen,
                   Evidence(at_hand.packet.number,
                            std::max(notes.at_port->damaged_number, notes.at_port->cnp_number)),
                   "the NAK expects " + text_of(psn) + ": " + std::string(reason.text));
    notes.at_port->arrivals.forget();
}

void note_response(const Case& at_hand) {
    Arrivals& arrivals = at_hand.notes->at_port->arrivals;
    const flow::Packet& packet = at_hand.packet;
    const wire::Psn psn = packet.psn();
    const wire::Psn next = at_hand.stream().next();
    const bool told = packet.transport.headers.has(wire::Header::Aeth);
    const wire::Syndrome syndrome = told ? packet.transport.aeth.syndrome : wire::Syndrome{};
    if (at_hand.seen.kind == Class::Forgotten) return;
    if (at_hand.seen.kind == Class::Unsolicited) {
        // Of a PSN that was never sent, nothing follows.
        if (syndrome.nak_code() == wire::NakCode::PsnSequence) judge_nak(at_hand);
        return;
    }
    switch (told ? syndrome.kind() : wire::AckKind::Ack) {
    case wire::AckKind::Ack: arrivals.acknowledged(behind_answered(at_hand), next); break;
    case wire::AckKind::RnrNak: arrivals.not_ready(psn); break;
    case wire::AckKind::Reserved: break;
    case wire::AckKind::Nak:
        if (syndrome.nak_code() != wire::NakCode::PsnSequence) {
            arrivals.forget();
        } else {
            judge_nak(at_hand);
            if (arrivals.known()) arrivals.acknowledged(psn, next);
        }
        break;
    }
}

} // namespace

void judge_arrivals(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    if (notes.at_port) notes.at_port->arrived = {};
    const wire::IpAddress& address = responder(at_hand).address;
    // One that places out of order expects more than one PSN.
    if (!at_hand.recorded_at(address) || at_hand.out_of_order(address)) return;
    if (at_hand.packet.info().service != wire::Service::Rc) return;
    at_hand.open_port();
    if (!notes.at_port->arrivals_begun && at_hand.stream().begin_known()) {
        notes.at_port->arrivals.begin_at(at_hand.stream().begin());
    }
    notes.at_port->arrivals_begun = true;
    if (at_hand.response()) {
        note_response(at_hand);
        notes.at_port->said_number = at_hand.packet.number;
        return;
    }
    if (at_hand.seen.kind == Class::Forgotten || !span_known(at_hand)) {
        notes.at_port->arrivals.forget();
    } else {
        notes.at_port->arrived = notes.at_port->arrivals.request(
            at_hand.packet.psn(), span_of(at_hand), must_be_taken(at_hand));
    }
}

// Packets that must have no effect upon what is expected: a CNP, and whatever has a wrong ICRC.
void note_without_effect(const Case& at_hand) {
    if (at_hand.packet.info().reserved()) at_hand.notes->unfollowed = true;
    const bool cnp = at_hand.packet.info().operation == wire::Operation::Cnp;
    if (!at_hand.notes->at_port || (!cnp && !at_hand.packet.info().request())) return;
    const bool bad = at_hand.packet.integrity == flow::Integrity::Bad;
    (bad ? at_hand.notes->at_port->damaged_number : at_hand.notes->at_port->cnp_number) =
        at_hand.packet.number;
}

} // namespace veriroce::judge
