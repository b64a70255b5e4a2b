// Written blind: defects of one check, which judges some packets wrongly.
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind_checks {
namespace {

using engine::DuplicateCheck;
using engine::kStandardChecks;
using engine::NakState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using wire::Operation;

namespace request_check = engine::request_check;

bool is_read(const RequestView& view) {
    return view.info.operation == Operation::RdmaReadRequest;
}

bool is_atomic(const RequestView& view) {
    return view.info.operation == Operation::CompareSwap ||
           view.info.operation == Operation::FetchAdd;
}

std::int32_t ahead(const RequestView& view) {
    return wire::distance(view.inbound.expected_psn, view.packet.bth.psn);
}

// --- duplicates

RequestVerdict answers_duplicate_ends_only(const RequestView& view) {
    const RequestVerdict verdict = request_check::expected_psn(view);
    const bool inside = verdict == RequestVerdict::Duplicate && !view.info.ends_message();
    return inside ? RequestVerdict::Drop : verdict;
}

bool nothing_remembered_while_nak_waits(const RequestView& view) {
    return engine::duplicate_check::remembered(view) && view.inbound.nak != NakState::Sequence;
}

bool only_the_newest_read(const RequestView& view) {
    if (!engine::duplicate_check::remembered(view) || !is_read(view)) {
        return engine::duplicate_check::remembered(view);
    }
    return view.saved->psn + view.saved->packets == view.inbound.expected_psn;
}

// --- RNR

bool for_ever_for_sends_only(const SendView& view) {
    const bool write = view.request.opcode == engine::WrOpcode::RdmaWriteWithImm;
    if (!write) return engine::send_check::rnr_retry_left(view);
    return view.outbound.rnr_retries < view.connection.rnr_retry;
}

bool rnr_naks_count_as_retries(const SendView& view) {
    return view.outbound.retries + view.outbound.rnr_retries < view.connection.retry_count;
}

RequestVerdict silent_while_nak_waits(const RequestView& view) {
    const RequestVerdict verdict = request_check::receive_ready(view);
    const bool again = verdict == RequestVerdict::Rnr && view.inbound.nak == NakState::Sequence;
    return again ? RequestVerdict::Drop : verdict;
}

// --- PSNs

RequestVerdict compares_psns_as_numbers(const RequestView& view) {
    const RequestVerdict verdict = request_check::expected_psn(view);
    const bool lower = view.packet.bth.psn.value() < view.inbound.expected_psn.value();
    return verdict == RequestVerdict::NakSequence && lower ? RequestVerdict::Duplicate : verdict;
}

RequestVerdict ignores_large_gaps(const RequestView& view) {
    constexpr std::int32_t sixteen_bits = 0xFFFF;
    return ahead(view) > sixteen_bits ? RequestVerdict::Drop : request_check::expected_psn(view);
}

RequestVerdict key_before_psn(const RequestView& view) {
    const RequestVerdict verdict = request_check::one_nak(view);
    const bool unknown =
        view.target && !view.memory.slot(view.target->rkey.value).live && ahead(view) > 0;
    return verdict == RequestVerdict::Accept && unknown ? RequestVerdict::NakRemoteAccess : verdict;
}

// --- the requester

bool one_more_try_for_reads(const SendView& view) {
    const int more = view.request.opcode == engine::WrOpcode::RdmaRead ? 1 : 0;
    return view.outbound.retries < view.connection.retry_count + more;
}

bool atomics_are_not_counted(const SendView& view) {
    return engine::is_atomic(view.request.opcode) || engine::send_check::rd_atomic(view);
}

bool writes_pass_the_fence(const SendView& view) {
    return view.request.opcode == engine::WrOpcode::RdmaWrite || engine::send_check::fence(view);
}

// --- atomics, lengths, keys

RequestVerdict aligned_to_four(const RequestView& view) {
    return is_atomic(view) && view.packet.atomic.virtual_address % 4 == 0
               ? RequestVerdict::Accept
               : request_check::atomic_alignment(view);
}

RequestVerdict windows_writable(const RequestView& view) {
    const bool write = view.info.operation == Operation::RdmaWrite;
    const bool window =
        view.target && view.memory.slot(view.target->rkey.value).kind != engine::KeyKind::Region;
    return write && window ? RequestVerdict::Accept : request_check::key_rights(view);
}

RequestVerdict any_variant_of_a_window(const RequestView& view) {
    const bool window =
        view.target && view.memory.slot(view.target->rkey.value).kind != engine::KeyKind::Region;
    return window ? RequestVerdict::Accept : request_check::key_variant(view);
}

RequestVerdict key_of_empty_immediate(const RequestView& view) {
    const bool empty = view.info.operation == Operation::RdmaWrite && view.info.immediate() &&
                       view.info.starts_message() && view.packet.reth.dma_length == 0;
    if (empty && !view.memory.slot(view.packet.reth.rkey.value).live) {
        return RequestVerdict::NakRemoteAccess;
    }
    return request_check::key_known(view);
}

RequestVerdict atomics_in_any_domain(const RequestView& view) {
    return is_atomic(view) ? RequestVerdict::Accept : request_check::key_domain(view);
}

RequestVerdict last_byte_of_small_region(const RequestView& view) {
    const RequestVerdict verdict = request_check::key_range(view);
    if (verdict != RequestVerdict::Accept || !view.target || !is_read(view)) return verdict;
    constexpr std::size_t page = 4096;
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    const std::uint64_t end = view.target->address + view.target->length;
    const bool to_the_end = end == region.address + region.bytes.size();
    return to_the_end && region.bytes.size() < page ? RequestVerdict::NakRemoteAccess : verdict;
}

RequestVerdict room_of_the_first_piece(const RequestView& view) {
    if (view.info.operation != Operation::Send || view.receive_sges.size() < 2) {
        return request_check::receive_room(view);
    }
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    return before + view.packet.payload().size() > view.receive_sges.front().length
               ? RequestVerdict::NakInvalidRequest
               : RequestVerdict::Accept;
}

RequestVerdict lengths_in_sixteen_bits(const RequestView& view) {
    const RequestVerdict verdict = request_check::message_length(view);
    const bool write = view.info.operation == Operation::RdmaWrite && view.info.starts_message() &&
                       view.info.ends_message();
    constexpr std::uint32_t sixteen_bits = 0xFFFF;
    const bool equal = (view.packet.reth.dma_length & sixteen_bits) == view.packet.payload().size();
    return write && equal ? RequestVerdict::Accept : verdict;
}

RequestVerdict key_zero_revokes_nothing(const RequestView& view) {
    return view.packet.ieth.rkey.value == 0 ? RequestVerdict::Accept
                                            : request_check::invalidate_key(view);
}

RequestVerdict empty_end_of_send(const RequestView& view) {
    const bool empty = view.info.operation == Operation::Send &&
                       view.info.position == wire::Position::Last && view.packet.body.empty();
    return empty ? RequestVerdict::Accept : request_check::payload_length(view);
}

// --- states

RequestVerdict no_reads_while_drained(const RequestView& view) {
    return view.connection.state == engine::QpState::Sqd && is_read(view)
               ? RequestVerdict::Drop
               : request_check::state(view);
}

constexpr std::array kFirst{
    Mutant{.name = "duplicate_inside_message_not_answered",
           .rule = "RSP-10",
           .description = "A duplicate FIRST or MIDDLE is not acknowledged, although it asks.",
           .cases = "rsp/duplicate-inside",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, answers_duplicate_ends_only)},
    Mutant{.name = "duplicate_read_ignored_while_nak_waits",
           .rule = "RSP-04",
           .description = "After a sequence NAK, and until the gap is closed, duplicate READs and "
                          "atomics get no answer.",
           .cases = "rsp/gap-behind-a-read rsp/duplicates-in-a-gap",
           .checks = kStandardChecks.with(DuplicateCheck::Remembered,
                                          nothing_remembered_while_nak_waits)},
    Mutant{.name = "duplicate_read_only_while_newest",
           .rule = "RDR-04",
           .description = "A duplicate READ is answered only if nothing was executed after it.",
           .cases = "rdr/earlier-duplicate",
           .checks = kStandardChecks.with(DuplicateCheck::Remembered, only_the_newest_read)},
    Mutant{.name = "rnr_for_ever_for_sends_only",
           .rule = "RNR-09",
           .description = "rnr_retry 7 is for ever for a SEND, and seven for a WRITE with "
                          "immediate data.",
           .cases = "rnr/for-ever-with-immediate",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, for_ever_for_sends_only)},
    Mutant{.name = "rnr_naks_use_up_retry_count",
           .rule = "N-10",
           .description = "RNR NAKs and timeouts together use up retry_cnt.",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, rnr_naks_count_as_retries)},
    Mutant{.name = "no_rnr_nak_after_sequence_nak",
           .rule = "N-09",
           .description = "A request that closes a gap and finds no receive is dropped in silence.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, silent_while_nak_waits)},
    Mutant{.name = "gap_across_wrap_is_a_duplicate",
           .rule = "RSP-09",
           .description = "A PSN ahead of the expected one, but beyond the wrap to 0, is taken for "
                          "a duplicate.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, compares_psns_as_numbers)},
    Mutant{.name = "gap_of_sixteen_bits_not_nakked",
           .rule = "RSP-02",
           .description = "A gap of more than 65535 PSNs gets no NAK.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, ignores_large_gaps)},
    Mutant{.name = "key_checked_before_psn",
           .rule = "RSP-02",
           .description = "A WRITE or READ with an unknown key behind a gap gets NAK remote access "
                          "error instead of the sequence NAK.",
           .checks = kStandardChecks.with(RequestCheck::OneNak, key_before_psn)},
    Mutant{.name = "one_more_try_for_reads",
           .rule = "TMO-03",
           .description = "A READ is tried once more than retry_cnt allows.",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, one_more_try_for_reads)},
    Mutant{.name = "writes_pass_the_fence",
           .rule = "REQ-28",
           .description = "A WRITE without immediate data ignores its fence.",
           .cases = "req/fence-others",
           .checks = kStandardChecks.with(SendCheck::Fence, writes_pass_the_fence)},
    Mutant{.name = "atomic_aligned_to_four",
           .rule = "ATM-02",
           .description = "An atomic on an address that is a multiple of 4, but not of 8, is "
                          "carried out.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, aligned_to_four)},
    Mutant{.name = "any_variant_of_a_window_key",
           .rule = "KEY-08",
           .description = "The lowest byte of a window's key is not compared: the key from before "
                          "the last bind still opens it.",
           .checks = kStandardChecks.with(RequestCheck::KeyVariant, any_variant_of_a_window)},
    Mutant{.name = "key_of_empty_immediate_write_checked",
           .rule = "N-15",
           .description = "A WRITE with immediate data and no bytes is refused if its key is "
                          "unknown.",
           .checks = kStandardChecks.with(RequestCheck::KeyKnown, key_of_empty_immediate)},
    Mutant{.name = "atomics_in_any_domain",
           .rule = "KEY-03",
           .description = "An atomic may use a key of another protection domain.",
           .cases = "key/other-domain-atomic",
           .checks = kStandardChecks.with(RequestCheck::KeyDomain, atomics_in_any_domain)},
    Mutant{.name = "last_byte_of_small_region_unreadable",
           .rule = "N-37",
           .description = "Of a region smaller than a page, a READ that ends at its last byte is "
                          "refused.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, last_byte_of_small_region)},
    Mutant{.name = "receive_room_is_the_first_piece",
           .rule = "LEN-06",
           .description = "A SEND that fits into a receive of several pieces, but not into the "
                          "first of them, is refused.",
           .cases = "len/shared-receives-of-other-pieces",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, room_of_the_first_piece)},
    Mutant{.name = "write_only_length_in_sixteen_bits",
           .rule = "LEN-04",
           .description = "A WRITE_ONLY whose RETH announces a multiple of 64 KiB too much is "
                          "accepted.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, lengths_in_sixteen_bits)},
};

constexpr std::array kSecond{
    Mutant{.name = "atomics_beyond_the_read_limit",
           .rule = "REQ-27",
           .description = "max_rd_atomic limits READs, and no atomics.",
           .cases = "req/answered-atomic-again req/outstanding-atomics",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, atomics_are_not_counted)},
    Mutant{.name = "windows_are_always_writable",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A window lets a WRITE in, whatever rights it was bound with.",
           .cases = "key/window-atomic-alone key/window-read-alone",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, windows_writable)},
    Mutant{.name = "invalidate_of_key_zero_ignored",
           .rule = "KEY-11",
           .description = "A SEND that is to revoke the key 0 is taken for one that revokes "
                          "nothing.",
           .checks = kStandardChecks.with(RequestCheck::InvalidateKey, key_zero_revokes_nothing)},
    Mutant{.name = "send_may_end_empty",
           .rule = "LEN-02",
           .description = "A SEND_LAST without payload is accepted.",
           .checks = kStandardChecks.with(RequestCheck::PayloadLength, empty_end_of_send)},
    Mutant{.name = "no_reads_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "In SQD the device answers no new READ.",
           .checks = kStandardChecks.with(RequestCheck::State, no_reads_while_drained)},
};

} // namespace
} // namespace veriroce::mutants::of_blind_checks

namespace veriroce::mutants {

std::span<const Mutant> blind_checks() {
    return of_blind_checks::kFirst;
}

std::span<const Mutant> blind2_checks() {
    return of_blind_checks::kSecond;
}

} // namespace veriroce::mutants
