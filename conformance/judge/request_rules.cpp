// The requester: PSNs, repetition, lengths, how much is outstanding. REQ, LEN-10, N-36, ENC-02,
// BTH-08, RNR-08, TMO-01, CM-02.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;
using rules::Level;

// The extent that holds the packet's PSN, if it is in the history.
const Extent* extent_of(const Context& context) {
    const auto index = context.stream().index_of(context.packet.psn());
    if (!index) return nullptr;
    const Extent& extent = context.stream().extents()[*index];
    return extent.missing ? nullptr : &extent;
}

// What a requester did with a PSN for the second time may have been done by another connection.
Excuses of_repetition(const Context& context) {
    const bool open = wire::distance(context.stream().unacknowledged(), context.packet.psn()) >= 0;
    return open ? Excuses(Excuse::NewLife, Excuse::Damage)
                : Excuses(Excuse::NewLife, Excuse::Reconnect, Excuse::Damage);
}

void judge_repetition(const Context& context) {
    const Extent* extent = extent_of(context);
    if (extent == nullptr || !again(context.seen.kind)) return;
    const flow::Packet& packet = context.packet;
    const Evidence shown(packet.number, extent->first_number);
    const bool read = packet.info().operation == wire::Operation::RdmaReadRequest;
    if (extent->read() && !extent->span_known) return; // whose PSN it is, is a guess
    if (extent->read() && !read) {
        // Inside the PSNs that a READ keeps for its responses.
        context.report("N-36", of_repetition(context), shown,
                       {phrase({packet.info().name, " has ", packet.psn()}),
                        phrase({extent->psn, " to ", extent->last_psn().value(),
                                " are taken by the responses of a READ"})});
    } else if (!extent->read() && (read || context.seen.changed)) {
        const bool same_opcode = packet.info().code == extent->info().code;
        context.report("REQ-31", of_repetition(context), shown,
                       {phrase({packet.psn(), " was sent again as ", packet.info().name,
                                same_opcode ? " with other content" : ""}),
                        phrase({"it must be the same ", extent->info().name, " as before"})});
    }
}

// Known by negotiation, or shown by earlier packets of the stream.
void judge_length(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::OpcodeInfo& info = packet.info();
    const auto mtu = context.stream().mtu();
    if (!mtu || !info.carries_payload()) return;
    const std::uint32_t bytes = packet.payload_bytes();
    const bool fits =
        info.ends_message() ? bytes <= wire::bytes_of(*mtu) : bytes == wire::bytes_of(*mtu);
    if (!fits) {
        context.report("LEN-10", Excuses(Excuse::NewLife, Excuse::Damage), Evidence(packet.number),
                       {phrase({info.name, " carries ", bytes, " bytes"}),
                        phrase({"it must carry ", info.ends_message() ? "at most " : "",
                                "the path MTU of ", wire::bytes_of(*mtu), " bytes"})});
    }
}

// A gap is the sender's doing only where its packets were recorded as they left: anywhere else the
// network may have lost what is missing.
void judge_order(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (context.seen.kind != Class::BeyondGap || !context.recorded_at(packet.source)) return;
    context.report("REQ-01", Excuses(Excuse::CaptureLoss, Excuse::NewLife), Evidence(packet.number),
                   {phrase({packet.psn(), " was sent, ", context.seen.skipped, " too far ahead"}),
                    "PSNs must be sent without gaps"});
}

// CM-02: where CM made the connection, its messages say at which PSN each end begins.
void judge_first_psn(const Context& context) {
    if (std::exchange(context.notes->begun, true)) return;
    const flow::Packet& packet = context.packet;
    const auto& agreed = context.connection->ends[context.seen.from].attributes.first_psn;
    if (!context.connection->service_id || !agreed || packet.psn() == *agreed) return;
    const bool ahead = wire::distance(*agreed, packet.psn()) > 0;
    context.report(
        "CM-02", ahead ? kUnseenOrOvertaken : Excuses(Excuse::NewLife, Excuse::Damage),
        Evidence(packet.number),
        {phrase({"the first request has ", packet.psn()}), phrase({"by CM it has ", *agreed})});
}

// REQ-02: half of all PSNs, those of READ responses to come included.
void judge_outstanding(const Context& context) {
    constexpr std::int64_t most = std::int64_t{1} << 23;
    const flow::Stream& stream = context.stream();
    if (context.seen.kind != Class::New) return;
    const flow::Packet& packet = context.packet;
    const bool read = packet.info().operation == wire::Operation::RdmaReadRequest;
    if (read && !stream.mtu()) return;
    const std::int64_t count =
        read ? wire::packets_of(packet.transport.reth.dma_length, *stream.mtu()) : 1;
    const std::int64_t open = wire::distance(stream.unacknowledged(), packet.psn()) + count;
    if (open <= most) return;
    context.report(
        "REQ-02", kUnseenOrOvertaken, Evidence(packet.number),
        {phrase({open, " PSNs are outstanding"}), phrase({"at most ", most, " may be"})});
}

bool opens_read(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::RdmaReadRequest ||
           info.headers.has(wire::Header::AtomicEth);
}

bool power_of_two(std::uint32_t value) {
    return (value & (value - 1)) == 0;
}

void judge_open_reads(const Context& context) {
    if (!opens_read(context.packet.info())) return;
    if (context.seen.kind != Class::New && context.seen.kind != Class::BeyondGap) return;
    const std::uint32_t open = ++context.notes->open_reads;
    const auto& limit = context.connection->ends[context.seen.from].attributes.max_rd_atomic;
    if (!limit || open <= *limit) return;
    context.report("REQ-27", Excuses(Excuse::CaptureLoss, Excuse::NetworkOrder, Excuse::NewLife),
                   Evidence(context.packet.number),
                   {phrase({open, " READs/atomics outstanding"}),
                    phrase({"the negotiated limit is ", *limit})},
                   power_of_two(*limit) ? Level::Must : Level::Should);
}

// Whether the ACK timer may have sent the packet before the requester took in what came `since`
// then: between its decision and the port, real devices take tens of microseconds.
bool may_be_of_timer(const Context& context, wire::Duration since) {
    constexpr wire::Duration under_way = std::chrono::microseconds(100);
    constexpr wire::Duration if_unknown = std::chrono::milliseconds(1); // the shortest in use
    if (!context.seen.previous || since > under_way) return false;
    const auto& code = context.connection->ends[context.seen.from].attributes.timeout;
    const wire::Duration timer =
        code ? wire::ack_timeout(*code).value_or(wire::Duration::max()) : if_unknown;
    const wire::Duration passed = *context.packet.time - *context.seen.previous;
    return passed + context.assumptions.clock_error >= timer;
}

// RNR-08, RNR-10: the time between two sightings is that at the requester and the way there and
// back, so a short one shows a short wait, unless the packet was on its way already.
void judge_rnr_wait(const Context& context) {
    auto& refused = context.notes->rnr_nak;
    const flow::Packet& packet = context.packet;
    // RNR-12: behind an unanswered READ or atomic it counts as an implied NAK, and that is retried.
    if (refused && again(context.seen.kind) && wire::distance(packet.psn(), refused->psn) > 0) {
        refused->waits = false;
    }
    if (!refused || refused->psn != packet.psn() || !packet.time || !refused->time) return;
    const wire::Duration waited = *packet.time - *refused->time;
    const wire::Duration wanted = wire::rnr_time(refused->code);
    const wire::Duration error = context.assumptions.clock_error;
    if (refused->waits && waited + error < wanted && !may_be_of_timer(context, waited)) {
        const auto& round_trip = context.assumptions.round_trip;
        const bool had_left = !round_trip || waited <= *round_trip;
        context.report("RNR-08",
                       had_left ? Excuses(Excuse::InFlight, Excuse::NewLife, Excuse::WrongPair)
                                : Excuses(Excuse::NewLife, Excuse::WrongPair),
                       Evidence(packet.number, refused->number),
                       {phrase({packet.psn(), " was sent again after ", waited}),
                        phrase({"the RNR NAK asks for at least ", wanted})});
    }
    refused.reset();
}

// TMO-01, N-27: the lower bound, where the timer is known and the clock is the sender's.
void judge_timeout(const Context& context) {
    const flow::Packet& packet = context.packet;
    const flow::End& sender = context.connection->ends[context.seen.from];
    const bool timed = context.seen.cause == flow::Cause::Timeout && sender.attributes.timeout &&
                       context.recorded_at(packet.source);
    // A run of packets is timed by its first one.
    if (!timed || !packet.time || !context.seen.previous || context.notes->in_resend) return;
    // Any response since may have been an implied NAK to a requester that dropped one before it,
    // as one that came out of order (REQ-08, REQ-09); a NAK may have been answered meanwhile.
    const AtPort* port = context.notes->at_port.get();
    if (port != nullptr && port->told && *port->told >= *context.seen.previous) return;
    const auto wanted = wire::ack_timeout(*sender.attributes.timeout);
    const wire::Duration waited = *packet.time - *context.seen.previous;
    if (!wanted || waited + context.assumptions.clock_error >= *wanted) return;
    context.report("TMO-01", Excuses(Excuse::CaptureLoss), Evidence(packet.number),
                   {phrase({packet.psn(), " was sent again after ", waited}),
                    phrase({"the local ACK timeout is ", *wanted})});
}

} // namespace

void judge_path(const Context& context) {
    Notes& notes = *context.path;
    const flow::Packet& packet = context.packet;
    constexpr Excuses kAnew{Excuse::Reconnect};
    if (!notes.source_port) {
        notes.source_port = packet.source_port;
        notes.source_port_number = packet.number;
    } else if (*notes.source_port != packet.source_port && !context.out_of_order(packet.source)) {
        context.report("ENC-02", kAnew, Evidence(packet.number, notes.source_port_number),
                       {phrase({"the QP's UDP source port changed from ", *notes.source_port,
                                " to ", packet.source_port}),
                        "it should stay the same"});
        notes.source_port = packet.source_port;
        notes.source_port_number = packet.number;
    }
    const wire::Pkey pkey = packet.transport.bth.pkey;
    const auto& agreed = context.connection->ends[context.seen.from].attributes.pkey;
    constexpr std::uint16_t membership = 0x8000; // each end has its own
    if (agreed && ((agreed->value ^ pkey.value) & ~membership) != 0) {
        context.report("CM-02", kAnew, Evidence(packet.number),
                       {phrase({"the P_Key is ", Hex{pkey.value}}),
                        phrase({"by CM it is ", Hex{agreed->value}})});
    }
    if (!notes.pkey) {
        notes.pkey = pkey;
        notes.pkey_number = packet.number;
    } else if (*notes.pkey != pkey) {
        context.report("BTH-08", kAnew, Evidence(packet.number, notes.pkey_number),
                       {phrase({"the QP's P_Key changed from ", Hex{notes.pkey->value}, " to ",
                                Hex{pkey.value}}),
                        "it should stay the same"});
        notes.pkey = pkey;
        notes.pkey_number = packet.number;
    }
}

void judge_waiting(const Context& context) {
    judge_rnr_wait(context);
    judge_timeout(context);
}

void judge_request(const Context& context) {
    judge_repetition(context);
    judge_length(context);
    judge_first_psn(context);
    judge_order(context);
    judge_outstanding(context);
    judge_open_reads(context);
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const bool forgotten = context.seen.kind == Class::Forgotten;
    // RSP-08: the history is shorter than the window of duplicates.
    const bool before_history =
        forgotten && wire::distance(packet.psn(), context.stream().next()) > 0;
    if (again(context.seen.kind) || before_history) {
        notes.repeat = Notes::Repeat{packet.psn(), packet.number};
        if (!notes.lowest_repeat || wire::distance(packet.psn(), *notes.lowest_repeat) > 0)
            notes.lowest_repeat = packet.psn();
    }
    if (forgotten) notes.unfollowed = true;
    if (notes.sequence_nak) {
        const std::int32_t ahead = wire::distance(notes.sequence_nak->psn, packet.psn());
        if (ahead == 0) notes.sequence_nak->resent = true;
        if (ahead < 0) notes.duplicate_below_nak = true;
    }
    notes.in_resend = again(context.seen.kind);
}

} // namespace veriroce::judge
