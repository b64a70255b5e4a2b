#include "transport/engine/request_checks.hpp"

#include "transport/engine/scatter.hpp"

namespace veriroce::engine::request_check {

using wire::Operation;
using wire::Position;
using enum RequestVerdict;

namespace {

bool is_atomic(const RequestView& view) {
    return view.info.operation == Operation::CompareSwap ||
           view.info.operation == Operation::FetchAdd;
}

bool writes(const RequestView& view) {
    return view.info.operation == Operation::RdmaWrite ||
           view.info.operation == Operation::AtomicWrite;
}

// Placement types of a FLUSH, one bit each (EXT-03).
constexpr unsigned kGlobalVisibility = 1;
constexpr unsigned kPersistence = 2;
constexpr unsigned kAllPlacements = kGlobalVisibility | kPersistence;

// Whether these rights hold for all that a FLUSH asks for.
bool may_flush(const Access& access, const RequestView& view) {
    const unsigned wanted = view.packet.feth.placement;
    return ((wanted & kGlobalVisibility) == 0 || access.flush_global) &&
           ((wanted & kPersistence) == 0 || access.flush_persistent);
}

// Bytes of the message that came before this packet.
std::uint64_t before(const RequestView& view) {
    return view.info.starts_message() ? 0 : view.inbound.received;
}

RequestVerdict refuse_if(bool wrong, RequestVerdict verdict) {
    return wrong ? verdict : Accept;
}

} // namespace

// STA-01, STA-02, STA-07: only a QP that receives hears anything.
RequestVerdict state(const RequestView& view) {
    return refuse_if(!receives(view.connection.state), Drop);
}

// RSP-03, RNR-04: after a NAK nothing ahead of the expected PSN is NAKed, not even for another
// fault (RSP-05).
RequestVerdict one_nak(const RequestView& view) {
    const bool ahead = wire::distance(view.inbound.expected_psn, view.packet.bth.psn) > 0;
    return refuse_if(ahead && view.inbound.nak != NakState::None, Drop);
}

// RSP-01, RSP-02, RSP-08
RequestVerdict expected_psn(const RequestView& view) {
    const auto ahead = wire::distance(view.inbound.expected_psn, view.packet.bth.psn);
    if (ahead < 0) return Duplicate;
    return refuse_if(ahead > 0, NakSequence);
}

// BTH-06: a reserved opcode, and one that this engine does not know.
RequestVerdict known_opcode(const RequestView& view) {
    const bool known = view.info.operation == Operation::Send ||
                       view.info.operation == Operation::RdmaWrite || wants_response(view.info);
    return refuse_if(
        !known, view.behaviour.reserved_opcode == ReservedOpcode::Nak ? NakInvalidRequest : Drop);
}

// OPC-01..05, OPC-10: a message begins once, continues with its own operation, and ends before the
// next one begins.
RequestVerdict opcode_sequence(const RequestView& view) {
    const bool begins = view.info.starts_message();
    bool fits = false;
    switch (view.inbound.open) {
    case OpenMessage::None: fits = begins; break;
    case OpenMessage::Send: fits = !begins && view.info.operation == Operation::Send; break;
    case OpenMessage::Write: fits = !begins && view.info.operation == Operation::RdmaWrite; break;
    }
    return refuse_if(!fits, NakInvalidRequest);
}

// KEY-01: the QP's own access rights.
RequestVerdict rights(const RequestView& view) {
    const Access& access = view.connection.access;
    bool allowed = true;
    if (writes(view)) allowed = access.remote_write;
    if (view.info.operation == Operation::RdmaReadRequest) allowed = access.remote_read;
    if (is_atomic(view)) allowed = access.remote_atomic;
    if (view.info.operation == Operation::Flush) allowed = may_flush(access, view);
    return refuse_if(!allowed, NakInvalidRequest);
}

// RDR-09, RDR-10, N-28: more READs, atomics, FLUSHes and ATOMIC WRITEs than were agreed upon. One
// that is wholly answered does not count any more.
RequestVerdict reply_resources(const RequestView& view) {
    if (!wants_response(view.info) || view.inbound.replies < view.connection.max_dest_rd_atomic) {
        return Accept;
    }
    if (view.connection.max_dest_rd_atomic == 0) return NakInvalidRequest;
    switch (view.behaviour.excess_read) {
    case ExcessRead::NakInvalidRequest: return NakInvalidRequest;
    case ExcessRead::Rnr: return Rnr;
    case ExcessRead::Silent: return Drop;
    }
    return NakInvalidRequest;
}

// RNR-01; RNR-02: a WRITE with immediate data needs its receive at its end only.
RequestVerdict receive_ready(const RequestView& view) {
    if (!view.takes_receive() || view.receive_ready) return Accept;
    const bool early = view.inbound.nak == NakState::Rnr && view.now < view.inbound.rnr_until;
    return early && view.behaviour.early_resend == EarlyResend::Silent ? Drop : Rnr; // RNR-05
}

// BTH-10: only a message's end is padded. BTH-12: more pad than bytes.
RequestVerdict pad_count(const RequestView& view) {
    const bool padded_inside = !view.info.ends_message() && view.packet.bth.pad != 0;
    if (view.packet.pad_exceeds_body()) {
        return view.behaviour.excess_pad == ExcessPad::Nak ? NakInvalidRequest : Drop;
    }
    return refuse_if(padded_inside, NakInvalidRequest);
}

namespace {

RequestVerdict stray_payload(StrayPayload choice) {
    switch (choice) {
    case StrayPayload::Nak: return NakInvalidRequest;
    case StrayPayload::Silent: return Drop;
    case StrayPayload::Ignored: return Accept;
    }
    return NakInvalidRequest;
}

} // namespace

// LEN-01, LEN-02, LEN-03; ATM-07: READ requests and atomics carry nothing.
RequestVerdict payload_length(const RequestView& view) {
    const std::size_t bytes = view.packet.payload().size();
    const std::size_t full = wire::bytes_of(view.connection.mtu);
    if (!view.info.carries_payload()) {
        return refuse_if(!view.packet.body.empty(), stray_payload(view.behaviour.stray_payload));
    }
    if (view.info.operation == Operation::AtomicWrite) { // EXT-01
        return refuse_if(bytes != sizeof(std::uint64_t), NakInvalidRequest);
    }
    bool fits = false;
    switch (view.info.position) {
    case Position::First:
    case Position::Middle: fits = bytes == full; break;
    case Position::Last: fits = bytes >= 1 && bytes <= full; break;
    case Position::Only: fits = bytes <= full; break;
    }
    return refuse_if(!fits, NakInvalidRequest);
}

// LEN-04: a WRITE carries the length of its RETH; the first packet that proves otherwise is NAKed.
// LEN-05, LEN-11: no message is larger than the limit.
RequestVerdict message_length(const RequestView& view) {
    const std::uint64_t so_far = before(view) + view.packet.payload().size();
    // The length of a FLUSH is not that of a message.
    const bool has_reth =
        view.packet.headers.has(wire::Header::Reth) && view.info.operation != Operation::Flush;
    if (has_reth && view.packet.reth.dma_length > view.message_limit) {
        return view.behaviour.oversize_nak == OversizeNak::RemoteAccess ? NakRemoteAccess
                                                                        : NakInvalidRequest;
    }
    if (so_far > view.message_limit) return NakInvalidRequest;
    if (!writes(view)) return Accept;
    const std::uint64_t announced = has_reth ? view.packet.reth.dma_length : view.inbound.announced;
    if (!view.info.ends_message() && view.behaviour.write_excess == WriteExcess::AtLast) {
        return Accept;
    }
    const bool fits = view.info.ends_message() ? so_far == announced : so_far < announced;
    return refuse_if(!fits, NakInvalidRequest);
}

// ATM-02, EXT-01
RequestVerdict atomic_alignment(const RequestView& view) {
    std::uint64_t address = 0;
    if (is_atomic(view)) address = view.packet.atomic.virtual_address;
    if (view.info.operation == Operation::AtomicWrite) address = view.packet.reth.virtual_address;
    return refuse_if(address % 8 != 0, NakInvalidRequest);
}

// LEN-06: a SEND longer than the receive that it meets.
RequestVerdict receive_room(const RequestView& view) {
    const bool too_long = view.info.operation == Operation::Send &&
                          before(view) + view.packet.payload().size() > view.receive_bytes;
    return refuse_if(too_long, NakInvalidRequest);
}

// KEY-12: our own receive names memory that it must not.
RequestVerdict receive_memory(const RequestView& view) {
    if (view.info.operation != Operation::Send) return Accept;
    const bool reached = reachable(view.memory, view.receive_domain, view.receive_sges,
                                   before(view), view.packet.payload().size(), Direction::ToMemory);
    return refuse_if(!reached, NakRemoteOperational);
}

// KEY-02; KEY-07: asked at each packet, so that a region that went away is noticed.
RequestVerdict key_known(const RequestView& view) {
    return refuse_if(view.target && !view.memory.slot(view.target->rkey.value).live,
                     NakRemoteAccess);
}

// KEY-08
RequestVerdict key_variant(const RequestView& view) {
    return refuse_if(view.target &&
                         view.memory.slot(view.target->rkey.value).key != view.target->rkey.value,
                     NakRemoteAccess);
}

// KEY-03; KEY-09: a window of type 2 opens to the QP that bound it only.
RequestVerdict key_domain(const RequestView& view) {
    return refuse_if(view.target && !view.memory.slot(view.target->rkey.value)
                                         .open_to(view.connection.pd, view.connection.qpn),
                     NakRemoteAccess);
}

// KEY-04
RequestVerdict key_rights(const RequestView& view) {
    if (!view.target) return Accept;
    const Access& access = view.memory.slot(view.target->rkey.value).access;
    bool allowed = access.remote_write;
    if (view.info.operation == Operation::RdmaReadRequest) allowed = access.remote_read;
    if (is_atomic(view)) allowed = access.remote_atomic;
    if (view.info.operation == Operation::Flush) allowed = may_flush(access, view);
    return refuse_if(!allowed, NakRemoteAccess);
}

// KEY-05; KEY-06: of a WRITE the whole range is asked for at its first packet.
RequestVerdict key_range(const RequestView& view) {
    // A FLUSH of no bytes flushes nothing, wherever that is.
    if (!view.target || view.target->whole || view.target->length == 0) return Accept;
    return refuse_if(!view.memory.slot(view.target->rkey.value)
                          .covers(view.target->address, view.target->length),
                     NakRemoteAccess);
}

// EXT-03, N-29: a placement type or a selectivity that is not defined.
RequestVerdict flush_kind(const RequestView& view) {
    if (view.info.operation != Operation::Flush) return Accept;
    const wire::Feth& feth = view.packet.feth;
    const bool defined =
        feth.placement != 0 && (feth.placement & ~kAllPlacements) == 0 && feth.selectivity <= 1;
    return refuse_if(!defined, NakRemoteAccess);
}

// KEY-11: the key that a SEND revokes.
RequestVerdict invalidate_key(const RequestView& view) {
    if (!view.info.invalidates()) return Accept;
    return refuse_if(
        !view.memory.may_invalidate(view.packet.ieth.rkey, view.connection.pd, view.connection.qpn),
        FailSilently);
}

} // namespace veriroce::engine::request_check
