// The requester: PSNs, repetition, lengths, how much is outstanding. REQ, LEN-10, N-36, ENC-02,
// BTH-08, RNR-08, TMO-01.
#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;
using rules::Level;

// The extent that holds the packet's PSN, if it is in the history.
const Extent* extent_of(const Case& at_hand) {
    const auto index = at_hand.stream().index_of(at_hand.packet.psn());
    if (!index) return nullptr;
    const Extent& extent = at_hand.stream().extents()[*index];
    return extent.missing ? nullptr : &extent;
}

// What a requester did with a PSN for the second time may have been done by another connection.
Excuses of_repetition(const Case& at_hand) {
    const bool open = wire::distance(at_hand.stream().unacknowledged(), at_hand.packet.psn()) >= 0;
    return open ? Excuses(Excuse::NewLife, Excuse::Damage)
                : Excuses(Excuse::NewLife, Excuse::Reconnect, Excuse::Damage);
}

void judge_repetition(const Case& at_hand) {
    const Extent* extent = extent_of(at_hand);
    if (extent == nullptr || !again(at_hand.seen.kind)) return;
    const flow::Packet& packet = at_hand.packet;
    const Evidence shown(packet.number, extent->first_number);
    const bool read = packet.info().operation == wire::Operation::RdmaReadRequest;
    if (extent->read() && !extent->span_known) return; // whose PSN it is, is a guess
    if (extent->read() && !read) {
        // Inside the PSNs that a READ keeps for its responses.
        at_hand.report("N-36", of_repetition(at_hand), shown,
                       text_of(packet.psn()) + " belongs to the responses of a READ");
    } else if (!extent->read() && (read || at_hand.seen.changed)) {
        at_hand.report("REQ-31", of_repetition(at_hand), shown,
                       text_of(packet.psn()) + " was sent again with another opcode or content");
    }
}

// Known by negotiation, or shown by earlier packets of the stream.
void judge_length(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::OpcodeInfo& info = packet.info();
    const auto mtu = at_hand.stream().mtu();
    if (!mtu || !info.carries_payload()) return;
    const std::uint32_t bytes = packet.payload_bytes();
    const bool fits =
        info.ends_message() ? bytes <= wire::bytes_of(*mtu) : bytes == wire::bytes_of(*mtu);
    if (!fits) {
        at_hand.report("LEN-10", Excuses(Excuse::NewLife, Excuse::Damage), Evidence(packet.number),
                       std::string(info.name) + " carries " + std::to_string(bytes) +
                           " bytes where the path MTU is " + std::to_string(wire::bytes_of(*mtu)));
    }
}

// A gap is the sender's doing only where its packets were recorded as they left: anywhere else the
// network may have lost what is missing.
void judge_order(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (at_hand.seen.kind != Class::BeyondGap || !at_hand.recorded_at(packet.source)) return;
    at_hand.report("REQ-01", Excuses(Excuse::CaptureLoss, Excuse::NewLife), Evidence(packet.number),
                   std::to_string(at_hand.seen.skipped) + " PSNs before " + text_of(packet.psn()) +
                       " were not sent");
}

bool opens_read(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::RdmaReadRequest ||
           info.headers.has(wire::Header::AtomicEth);
}

bool power_of_two(std::uint32_t value) {
    return (value & (value - 1)) == 0;
}

void judge_open_reads(const Case& at_hand) {
    if (!opens_read(at_hand.packet.info())) return;
    if (at_hand.seen.kind != Class::New && at_hand.seen.kind != Class::BeyondGap) return;
    const std::uint32_t open = ++at_hand.notes->open_reads;
    const auto& limit = at_hand.connection->ends[at_hand.seen.from].attributes.max_rd_atomic;
    if (!limit || open <= *limit) return;
    at_hand.report("REQ-27", Excuses(Excuse::CaptureLoss, Excuse::NetworkOrder, Excuse::NewLife),
                   Evidence(at_hand.packet.number),
                   std::to_string(open) + " READs and atomics are outstanding, agreed were " +
                       std::to_string(*limit),
                   power_of_two(*limit) ? Level::Must : Level::Should);
}

// RNR-08, RNR-10: the time between two sightings is that at the requester and the way there and
// back, so a short one shows a short wait, unless the packet was on its way already.
void judge_rnr_wait(const Case& at_hand) {
    auto& refused = at_hand.notes->rnr_nak;
    const flow::Packet& packet = at_hand.packet;
    // RNR-12: behind an unanswered READ or atomic it counts as an implied NAK, and that is retried.
    if (refused && again(at_hand.seen.kind) && wire::distance(packet.psn(), refused->psn) > 0) {
        refused->waits = false;
    }
    if (!refused || refused->psn != packet.psn() || !packet.time || !refused->time) return;
    const wire::Duration waited = *packet.time - *refused->time;
    const wire::Duration wanted = wire::rnr_time(refused->code);
    const wire::Duration error = at_hand.knowledge.clock_error;
    if (refused->waits && waited + error < wanted) {
        const auto& round_trip = at_hand.knowledge.round_trip;
        const bool had_left = !round_trip || waited <= *round_trip;
        at_hand.report("RNR-08",
                       had_left ? Excuses(Excuse::InFlight, Excuse::NewLife, Excuse::WrongPair)
                                : Excuses(Excuse::NewLife, Excuse::WrongPair),
                       Evidence(packet.number, refused->number),
                       text_of(packet.psn()) + " was sent again after " +
                           std::to_string(waited.count()) + " ns, RNR NAK asked for " +
                           std::to_string(wanted.count()) + " ns");
    }
    refused.reset();
}

// TMO-01, N-27: the lower bound, where the timer is known and the clock is the sender's.
void judge_timeout(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const flow::End& sender = at_hand.connection->ends[at_hand.seen.from];
    const bool timed = at_hand.seen.cause == flow::Cause::Timeout && sender.attributes.timeout &&
                       at_hand.recorded_at(packet.source);
    // A run of packets is timed by its first one.
    if (!timed || !packet.time || !at_hand.seen.previous || at_hand.notes->in_resend) return;
    // Any response since may have been an implied NAK to a requester that dropped one before it,
    // as one that came out of order (REQ-08, REQ-09); a NAK may have been answered meanwhile.
    const AtPort* port = at_hand.notes->at_port.get();
    if (port != nullptr && port->told && *port->told >= *at_hand.seen.previous) return;
    const auto wanted = wire::ack_timeout(*sender.attributes.timeout);
    const wire::Duration waited = *packet.time - *at_hand.seen.previous;
    if (!wanted || waited + at_hand.knowledge.clock_error >= *wanted) return;
    at_hand.report("TMO-01", Excuses(Excuse::CaptureLoss), Evidence(packet.number),
                   text_of(packet.psn()) + " was sent again after " +
                       std::to_string(waited.count()) + " ns, the timeout is " +
                       std::to_string(wanted->count()) + " ns");
}

} // namespace

void judge_path(const Case& at_hand) {
    Notes& notes = *at_hand.path;
    const flow::Packet& packet = at_hand.packet;
    constexpr Excuses kAnew{Excuse::Reconnect};
    if (!notes.source_port) {
        notes.source_port = packet.source_port;
        notes.source_port_number = packet.number;
    } else if (*notes.source_port != packet.source_port) {
        at_hand.report("ENC-02", kAnew, Evidence(packet.number, notes.source_port_number),
                       "packets of one QP have different UDP source ports");
        notes.source_port = packet.source_port;
        notes.source_port_number = packet.number;
    }
    const wire::Pkey pkey = packet.transport.bth.pkey;
    if (!notes.pkey) {
        notes.pkey = pkey;
        notes.pkey_number = packet.number;
    } else if (*notes.pkey != pkey) {
        at_hand.report("BTH-08", kAnew, Evidence(packet.number, notes.pkey_number),
                       "packets of one QP have different P_Keys");
        notes.pkey = pkey;
        notes.pkey_number = packet.number;
    }
}

void judge_waiting(const Case& at_hand) {
    judge_rnr_wait(at_hand);
    judge_timeout(at_hand);
}

void judge_request(const Case& at_hand) {
    judge_repetition(at_hand);
    judge_length(at_hand);
    judge_order(at_hand);
    judge_open_reads(at_hand);
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    if (again(at_hand.seen.kind)) notes.repeat = Notes::Repeat{packet.psn(), packet.number};
    if (at_hand.seen.kind == Class::Forgotten) notes.unfollowed = true;
    if (notes.sequence_nak) {
        const std::int32_t ahead = wire::distance(notes.sequence_nak->psn, packet.psn());
        if (ahead == 0) notes.sequence_nak->resent = true;
        if (ahead < 0) notes.duplicate_below_nak = true;
    }
    notes.in_resend = at_hand.seen.kind == Class::Retransmission;
}

} // namespace veriroce::judge
