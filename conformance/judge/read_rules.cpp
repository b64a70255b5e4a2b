// READs and atomics: RDR-01, RDR-02, LEN-07, ATM-04, ATM-10, REQ-10.
#include <algorithm>

#include "conformance/judge/context.hpp"
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

void judge_opcode(const Context& context, const Extent& read) {
    const flow::Packet& packet = context.packet;
    const Notes& notes = *context.notes;
    const wire::OpcodeInfo& info = packet.info();
    const bool at_begin = packet.psn() == read.psn;
    const bool at_end = packet.psn() == read.last_psn();
    const Evidence shown(packet.number, read.first_number);
    const auto values = [&] { // made only if the rule is broken
        return Values{
            phrase({info.name, " has ", packet.psn()}),
            phrase({"the READ's answer begins at ", read.psn, " and ends at ", read.last_psn()})};
    };
    // The first packet begins an answer, and the last one ends it, unless this READ itself is the
    // retry of one that was not seen: its answer may go on as if uninterrupted (RDR-06).
    if ((at_begin && !info.starts_message()) || (at_end && !info.ends_message())) {
        context.report("RDR-01",
                       Excuses(Excuse::CaptureLoss, Excuse::Beginning, Excuse::NetworkOrder,
                               Excuse::NewLife, Excuse::WrongPair),
                       shown, values());
        return;
    }
    const bool begins = !info.starts_message() || at_begin || begins_piece(notes, packet.psn());
    const bool ends = !info.ends_message() || at_end || ends_piece(notes, packet.psn());
    if (!begins || !ends) context.report("RDR-01", kUnseenOrOvertaken, shown, values());
}

void judge_response_length(const Context& context, const Extent& read, std::uint32_t mtu) {
    const flow::Packet& packet = context.packet;
    const std::uint64_t before =
        static_cast<std::uint64_t>(wire::distance(read.psn, packet.psn())) * mtu;
    const std::uint64_t left = read.length > before ? read.length - before : 0;
    const std::uint64_t wanted = std::min<std::uint64_t>(left, mtu);
    if (packet.payload_bytes() == wanted) return;
    const auto pad = wire::pad_of(static_cast<std::uint32_t>(wanted));
    if (packet.body_bytes == wanted + pad) {
        context.report("BTH-09", kConnectionExcuses, Evidence(packet.number, read.first_number),
                       {phrase({"PadCnt is ", packet.transport.bth.pad}),
                        phrase({"PadCnt must be ", pad, " after ", wanted, " bytes"})});
        return;
    }
    context.report(read.length == 0 ? "LEN-07" : "RDR-01", kConnectionExcuses,
                   Evidence(packet.number, read.first_number),
                   {phrase({packet.psn(), " carries ", packet.payload_bytes(), " bytes"}),
                    phrase({"the READ asks for ", wanted, " bytes there"})});
}

// RDR-02: one after the other. A response may be lost on its way; one that goes back answers a
// request that came again, or was overtaken.
void judge_response_order(const Context& context, const Extent& read) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const auto expected = notes.next_read_response;
    const std::int32_t ahead = expected ? wire::distance(*expected, packet.psn()) : 0;
    const bool repeated = notes.repeat && notes.repeat->number > read.first_number;
    if (ahead < 0 && !repeated) {
        constexpr Excuses kBack{Excuse::CaptureLoss, Excuse::NetworkOrder, Excuse::NetworkCopy,
                                Excuse::NewLife, Excuse::WrongPair};
        context.report(
            "RDR-02", kBack, Evidence(packet.number, notes.last_read_response),
            {phrase({"the responses go back to ", packet.psn(), ", and no request was sent again"}),
             phrase({"the next one must have ", *expected})});
    }
    const bool same_read = expected && wire::distance(read.psn, *expected) >= 0;
    if (ahead > 0 && same_read && !repeated && context.recorded_at(packet.source)) {
        context.report("RDR-02", kUnseenOrOvertaken,
                       Evidence(packet.number, notes.last_read_response),
                       {phrase({"the responses continue at ", packet.psn()}),
                        phrase({"the next one must have ", *expected})});
    }
    if (!expected || ahead >= 0) {
        notes.next_read_response = packet.psn() + 1;
        notes.last_read_response = packet.number;
    }
}

// Whether nothing that was seen can have written to the responder's memory since the READ was sent
// first. Requests of another QP may be carried out later than they come.
bool unwritten_since(const Context& context, const Extent& read) {
    const std::optional<Writes>& writes = context.writes;
    if (!writes || writes->number == 0) return true;
    if (writes->number >= read.first_number) return false;
    if (writes->connection == context.connection->id) return true;
    const auto& patience = context.assumptions.patience;
    return patience && read.first_time && writes->time &&
           *read.first_time - *writes->time > *patience;
}

// RDR-05: the same bytes of a READ, asked for twice with no write in between, are the same.
void judge_content(const Context& context, const Extent& read) {
    const flow::Packet& packet = context.packet;
    const auto& at_rest = context.assumptions.memory_at_rest;
    if (std::ranges::find(at_rest, packet.source) == at_rest.end()) return;
    if (!packet.whole() || !packet.undamaged()) return;
    const std::uint64_t digest = flow::digest_of_bytes(packet.transport.payload());
    for (const Notes::Content& earlier : context.notes->contents.kept()) {
        if (earlier.psn != packet.psn() || earlier.number < read.first_number) continue;
        if (earlier.digest != digest && unwritten_since(context, read)) {
            context.report("RDR-05", kUnseen, Evidence(packet.number, earlier.number),
                           {phrase({packet.psn(), " carries other bytes than before"}),
                            "nothing was written, so the bytes must be the same"});
        }
        return;
    }
    context.notes->contents.note({packet.psn(), packet.number, digest});
}

const Extent* extent_at(const Context& context) {
    const auto index = context.stream().index_of(context.packet.psn());
    if (!index || context.seen.kind == Class::Unsolicited) return nullptr;
    const Extent& extent = context.stream().extents()[*index];
    return extent.missing ? nullptr : &extent;
}

} // namespace

void judge_read_response(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (packet.info().operation != wire::Operation::RdmaReadResponse) return;
    const Extent* extent = extent_at(context);
    if (extent == nullptr) return;
    const wire::Operation asked = extent->info().operation;
    // EXT-02: these two are answered in the same form.
    if (asked == wire::Operation::Flush || asked == wire::Operation::AtomicWrite) return;
    if (!extent->read()) {
        context.report("RDR-02", kConnectionExcuses, Evidence(packet.number, extent->first_number),
                       {phrase({"a READ response has ", packet.psn()}),
                        phrase({"the request there is ", extent->info().name, ", not a READ"})});
        return;
    }
    if (!extent->span_known) return;
    judge_opcode(context, *extent);
    const auto mtu = context.stream().mtu();
    if (mtu || extent->length <= 256) {
        judge_response_length(context, *extent, mtu ? wire::bytes_of(*mtu) : 256);
    }
    judge_response_order(context, *extent);
    judge_content(context, *extent);
}

void judge_atomic_response(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (packet.info().operation != wire::Operation::AtomicAcknowledge) return;
    const Evidence shown(packet.number);
    if (packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack) {
        context.report("ATM-10", Excuses(Excuse::Damage), shown,
                       {phrase({"the syndrome of an ATOMIC ACKNOWLEDGE is ",
                                Hex{packet.transport.aeth.syndrome.value}}),
                        "it must be an ACK"});
    }
    const Extent* extent = extent_at(context);
    if (extent == nullptr) return;
    if (!extent->atomic()) {
        context.report("ATM-10", kConnectionExcuses, Evidence(packet.number, extent->first_number),
                       {phrase({"an ATOMIC ACKNOWLEDGE has ", packet.psn()}),
                        phrase({"the request there is ", extent->info().name, ", not an atomic"})});
        return;
    }
    Notes& notes = *context.notes;
    const std::uint64_t original = packet.transport.atomic_ack.original;
    for (const Notes::AtomicResult& earlier : notes.atomics.kept()) {
        // An older one may be of another turn of the PSNs, or of another connection.
        if (earlier.psn != packet.psn() || earlier.number < extent->first_number) continue;
        if (earlier.original != original) {
            context.report(
                "ATM-04", Excuses(Excuse::Reconnect, Excuse::WrongPair),
                Evidence(packet.number, earlier.number),
                {phrase({"the answer to the atomic at ", packet.psn(), " is ", Hex{original}}),
                 phrase({"it was ", Hex{earlier.original}, " before"})});
        }
        return;
    }
    notes.atomics.note({packet.psn(), original, packet.number});
}

// REQ-10: a READ that is asked for again lies within the original.
void judge_read_retry(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (packet.info().operation != wire::Operation::RdmaReadRequest) return;
    if (context.seen.kind != Class::Retransmission && context.seen.kind != Class::Duplicate) return;
    const Extent* read = extent_at(context);
    if (read == nullptr || !read->read() || !read->span_known) return;
    const std::uint32_t mtu =
        context.stream().mtu() ? wire::bytes_of(*context.stream().mtu()) : 256;
    const std::uint64_t before =
        static_cast<std::uint64_t>(wire::distance(read->psn, packet.psn())) * mtu;
    const wire::Reth& reth = packet.transport.reth;
    const std::uint64_t end = before + reth.dma_length;
    const std::uint32_t span =
        wire::packets_of(reth.dma_length, context.stream().mtu().value_or(wire::Mtu::B256));
    context.notes->pieces.note({packet.psn(), packet.psn() + (span - 1)});
    const bool subset = reth.rkey.value == read->rkey &&
                        reth.virtual_address == read->virtual_address + before &&
                        (end == read->length || (end < read->length && end % mtu == 0));
    if (!subset) {
        context.report("REQ-10", Excuses(Excuse::Reconnect, Excuse::Damage),
                       Evidence(packet.number, read->first_number),
                       {phrase({"the READ retried at ", packet.psn(), " asks for ", reth.dma_length,
                                " bytes at ", Hex{reth.virtual_address}, " with R_Key ",
                                Hex{reth.rkey.value}}),
                        phrase({"it must be a part of the ", read->length, " bytes at ",
                                Hex{read->virtual_address}, " with R_Key ", Hex{read->rkey}})});
    }
}

} // namespace veriroce::judge
