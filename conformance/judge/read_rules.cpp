// READs and atomics: RDR-01, RDR-02, LEN-07, ATM-04, ATM-10, REQ-10.
#include <algorithm>

#include "conformance/judge/case_at_hand.hpp"
#include "dissector/flow/digest.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

// A READ that is asked for again may be cut at PSN borders (REQ-32), and its answer may begin as an
// answer of its own or go on as if uninterrupted (RDR-06).
bool begins_piece(const Notes& notes, wire::Psn psn) {
    // More retries than are kept: it may have been one of those.
    return notes.pieces.forgot_some() ||
           std::ranges::find(notes.pieces.kept(), psn, &Notes::Piece::first) !=
               notes.pieces.kept().end();
}

bool ends_piece(const Notes& notes, wire::Psn psn) {
    return notes.pieces.forgot_some() ||
           std::ranges::find(notes.pieces.kept(), psn, &Notes::Piece::last) !=
               notes.pieces.kept().end();
}

void judge_opcode(const Case& at_hand, const Extent& read) {
    const flow::Packet& packet = at_hand.packet;
    const Notes& notes = *at_hand.notes;
    const wire::OpcodeInfo& info = packet.info();
    const bool at_begin = packet.psn() == read.psn;
    const bool at_end = packet.psn() == read.last_psn();
    const Evidence shown(packet.number, read.first_number);
    const std::string where = std::string(info.name) + " at " + text_of(packet.psn()) +
                              " of a READ over " + std::to_string(read.span) + " from " +
                              text_of(read.psn);
    // The first packet begins an answer, and the last one ends it, unless this READ itself is the
    // retry of one that was not seen: its answer may go on as if uninterrupted (RDR-06).
    if ((at_begin && !info.starts_message()) || (at_end && !info.ends_message())) {
        at_hand.report("RDR-01",
                       Excuses(Excuse::CaptureLoss, Excuse::Beginning, Excuse::NetworkOrder,
                               Excuse::NewLife, Excuse::WrongPair),
                       shown, where);
        return;
    }
    const bool begins = !info.starts_message() || at_begin || begins_piece(notes, packet.psn());
    const bool ends = !info.ends_message() || at_end || ends_piece(notes, packet.psn());
    if (!begins || !ends) at_hand.report("RDR-01", kUnseenOrOvertaken, shown, where);
}

void judge_response_length(const Case& at_hand, const Extent& read, std::uint32_t mtu) {
    const flow::Packet& packet = at_hand.packet;
    const std::uint64_t before =
        static_cast<std::uint64_t>(wire::distance(read.psn, packet.psn())) * mtu;
    const std::uint64_t left = read.length > before ? read.length - before : 0;
    const std::uint64_t wanted = std::min<std::uint64_t>(left, mtu);
    if (packet.payload_bytes() == wanted) return;
    const auto pad = wire::pad_of(static_cast<std::uint32_t>(wanted));
    if (packet.body_bytes == wanted + pad) {
        at_hand.report("BTH-09", kConnectionExcuses, Evidence(packet.number, read.first_number),
                       "PadCnt is " + std::to_string(packet.transport.bth.pad) + " where " +
                           std::to_string(pad) + " pad bytes follow what was read");
        return;
    }
    at_hand.report(read.length == 0 ? "LEN-07" : "RDR-01", kConnectionExcuses,
                   Evidence(packet.number, read.first_number),
                   text_of(packet.psn()) + " carries " + std::to_string(packet.payload_bytes()) +
                       " bytes, of the READ " + std::to_string(wanted) + " belong there");
}

// RDR-02: one after the other. A response may be lost on its way; one that goes back answers a
// request that came again, or was overtaken.
void judge_response_order(const Case& at_hand, const Extent& read) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const auto expected = notes.next_read_response;
    const std::int32_t ahead = expected ? wire::distance(*expected, packet.psn()) : 0;
    const bool repeated = notes.repeat && notes.repeat->number > read.first_number;
    if (ahead < 0 && !repeated) {
        constexpr Excuses kBack{Excuse::CaptureLoss, Excuse::NetworkOrder, Excuse::NetworkCopy,
                                Excuse::NewLife, Excuse::WrongPair};
        at_hand.report("RDR-02", kBack, Evidence(packet.number, notes.last_read_response),
                       "the responses go back to " + text_of(packet.psn()) +
                           ", and no request was sent again");
    }
    const bool same_read = expected && wire::distance(read.psn, *expected) >= 0;
    if (ahead > 0 && same_read && !repeated && at_hand.recorded_at(packet.source)) {
        at_hand.report(
            "RDR-02", kUnseenOrOvertaken, Evidence(packet.number, notes.last_read_response),
            "the responses skip from " + text_of(*expected - 1) + " to " + text_of(packet.psn()));
    }
    if (!expected || ahead >= 0) {
        notes.next_read_response = packet.psn() + 1;
        notes.last_read_response = packet.number;
    }
}

// Whether nothing that was seen can have written to the responder's memory since the READ was sent
// first. Requests of another QP may be carried out later than they come.
bool unwritten_since(const Case& at_hand, const Extent& read) {
    const std::optional<Writes>& writes = at_hand.writes;
    if (!writes || writes->number == 0) return true;
    if (writes->number >= read.first_number) return false;
    if (writes->connection == at_hand.connection->id) return true;
    const auto& patience = at_hand.knowledge.patience;
    return patience && read.first_time && writes->time &&
           *read.first_time - *writes->time > *patience;
}

// RDR-05: the same bytes of a READ, asked for twice with no write in between, are the same.
void judge_content(const Case& at_hand, const Extent& read) {
    const flow::Packet& packet = at_hand.packet;
    const auto& at_rest = at_hand.knowledge.memory_at_rest;
    if (std::ranges::find(at_rest, packet.source) == at_rest.end()) return;
    if (!packet.whole() || packet.integrity != flow::Integrity::Good) return;
    const std::uint64_t digest = flow::digest_of_bytes(packet.transport.payload());
    for (const Notes::Content& earlier : at_hand.notes->contents.kept()) {
        if (earlier.psn != packet.psn() || earlier.number < read.first_number) continue;
        if (earlier.digest != digest && unwritten_since(at_hand, read)) {
            at_hand.report("RDR-05", kUnseen, Evidence(packet.number, earlier.number),
                           text_of(packet.psn()) +
                               " brings other bytes than before, and nothing was written");
        }
        return;
    }
    at_hand.notes->contents.note({packet.psn(), packet.number, digest});
}

const Extent* extent_at(const Case& at_hand) {
    const auto index = at_hand.stream().index_of(at_hand.packet.psn());
    if (!index || at_hand.seen.kind == Class::Unsolicited) return nullptr;
    const Extent& extent = at_hand.stream().extents()[*index];
    return extent.missing ? nullptr : &extent;
}

} // namespace

void judge_read_response(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (packet.info().operation != wire::Operation::RdmaReadResponse) return;
    const Extent* extent = extent_at(at_hand);
    if (extent == nullptr) return;
    const wire::Operation asked = extent->info().operation;
    // EXT-02: these two are answered in the same form.
    if (asked == wire::Operation::Flush || asked == wire::Operation::AtomicWrite) return;
    if (!extent->read()) {
        at_hand.report("RDR-02", kConnectionExcuses, Evidence(packet.number, extent->first_number),
                       text_of(packet.psn()) + " is no READ, but " +
                           std::string(extent->info().name));
        return;
    }
    if (!extent->span_known) return;
    judge_opcode(at_hand, *extent);
    const auto mtu = at_hand.stream().mtu();
    if (mtu || extent->length <= 256) {
        judge_response_length(at_hand, *extent, mtu ? wire::bytes_of(*mtu) : 256);
    }
    judge_response_order(at_hand, *extent);
    judge_content(at_hand, *extent);
}

void judge_atomic_response(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (packet.info().operation != wire::Operation::AtomicAcknowledge) return;
    const Evidence shown(packet.number);
    if (packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack) {
        at_hand.report("ATM-10", Excuses(Excuse::Damage), shown,
                       "the syndrome of an ATOMIC ACKNOWLEDGE is no ACK");
    }
    const Extent* extent = extent_at(at_hand);
    if (extent == nullptr) return;
    if (!extent->atomic()) {
        at_hand.report("ATM-10", kConnectionExcuses, Evidence(packet.number, extent->first_number),
                       text_of(packet.psn()) + " is no atomic, but " +
                           std::string(extent->info().name));
        return;
    }
    Notes& notes = *at_hand.notes;
    const std::uint64_t original = packet.transport.atomic_ack.original;
    for (const Notes::AtomicResult& earlier : notes.atomics.kept()) {
        // An older one may be of another turn of the PSNs, or of another connection.
        if (earlier.psn != packet.psn() || earlier.number < extent->first_number) continue;
        if (earlier.original != original) {
            at_hand.report("ATM-04", Excuses(Excuse::Reconnect, Excuse::WrongPair),
                           Evidence(packet.number, earlier.number),
                           "the atomic at " + text_of(packet.psn()) +
                               " is answered by another value than before");
        }
        return;
    }
    notes.atomics.note({packet.psn(), original, packet.number});
}

// REQ-10: a READ that is asked for again lies within the original.
void judge_read_retry(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (packet.info().operation != wire::Operation::RdmaReadRequest) return;
    if (at_hand.seen.kind != Class::Retransmission && at_hand.seen.kind != Class::Duplicate) return;
    const Extent* read = extent_at(at_hand);
    if (read == nullptr || !read->read() || !read->span_known) return;
    const std::uint32_t mtu =
        at_hand.stream().mtu() ? wire::bytes_of(*at_hand.stream().mtu()) : 256;
    const std::uint64_t before =
        static_cast<std::uint64_t>(wire::distance(read->psn, packet.psn())) * mtu;
    const wire::Reth& reth = packet.transport.reth;
    const std::uint64_t end = before + reth.dma_length;
    const std::uint32_t span =
        wire::packets_of(reth.dma_length, at_hand.stream().mtu().value_or(wire::Mtu::B256));
    at_hand.notes->pieces.note({packet.psn(), packet.psn() + (span - 1)});
    const bool subset = reth.rkey.value == read->rkey &&
                        reth.virtual_address == read->virtual_address + before &&
                        (end == read->length || (end < read->length && end % mtu == 0));
    if (!subset) {
        at_hand.report("REQ-10", Excuses(Excuse::Reconnect, Excuse::Damage),
                       Evidence(packet.number, read->first_number),
                       "the READ that is asked for again at " + text_of(packet.psn()) +
                           " is no part of the original");
    }
}

} // namespace veriroce::judge
