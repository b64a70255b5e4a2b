// The MSN: ACK-07, ACK-08, RDR-03, ATM-10, OPC-06.
//
// The responder's MSN is the number of messages that ended before its expected PSN, plus an offset
// that never changes: zero where the connection was seen from its beginning. Which PSN it expected
// is known between bounds: a response vouches for everything before its own PSN, and at most for
// everything that was sent. So each response bounds the offset, and the bounds of all must agree.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Bounds;

// What a response says of the number of messages that ended.
struct Range {
    std::uint64_t low = 0;     // at least: also if the capture lacks packets
    std::uint64_t high = 0;    // at most
    bool high_is_sure = false; // also if the capture lacks packets
};

std::optional<Range> range_of(const Context& context) {
    const flow::Stream& stream = context.stream();
    const flow::Packet& packet = context.packet;
    const wire::Psn psn = packet.psn();
    const auto all = stream.ended_before(stream.next());
    if (!all) return std::nullopt;
    const auto index = stream.index_of(psn);
    if (refuses(packet)) {
        // Nothing at or behind its PSN was executed (ACK-08); a READ that failed later may count.
        const auto before = stream.ended_before(psn);
        if (!before) return std::nullopt;
        const bool read = index && stream.extents()[*index].read();
        return Range{before->low, before->high + (read ? 1 : 0), true};
    }
    std::optional<Bounds> before = stream.ended_before(psn + 1);
    if (packet.info().operation == wire::Operation::RdmaReadResponse && index) {
        // RDR-03: FIRST may lack the READ itself. So may the end of a piece of it.
        const flow::Extent& extent = stream.extents()[*index];
        if (psn != extent.last_psn() || !packet.info().ends_message()) {
            before = stream.ended_before(extent.psn);
        }
    }
    if (!before) return std::nullopt;
    // KEY-11: a SEND whose key cannot be invalidated fails, and may be acknowledged.
    const bool may_fail = index && stream.extents()[*index].invalidates() && before->low > 0;
    return Range{before->low - (may_fail ? 1 : 0), all->high, false};
}

std::int64_t signed24(std::uint32_t value) {
    const auto low = static_cast<std::int64_t>(value & wire::kMask24);
    return low < 0x800000 ? low : low - 0x1000000;
}

// The MSNs that a response may have.
struct MsnBounds {
    std::int64_t low = 0;
    std::int64_t high = 0;
};

Values values(std::uint32_t msn, const MsnBounds& allowed) {
    const auto wrapped = [](std::int64_t value) {
        return static_cast<std::uint32_t>(value) & wire::kMask24;
    };
    std::string text = phrase({"MSN must be ", wrapped(allowed.low)});
    if (allowed.high != allowed.low) text += phrase({" to ", wrapped(allowed.high)});
    return {phrase({"MSN is ", msn}), std::move(text)};
}

std::string_view rule_of(const flow::Packet& packet, bool too_low) {
    const wire::Operation operation = packet.info().operation;
    if (operation == wire::Operation::RdmaReadResponse) return "RDR-03";
    if (operation == wire::Operation::AtomicAcknowledge) return "ATM-10";
    return refuses(packet) && !too_low ? "ACK-08" : "ACK-07";
}

void start(Notes& notes, const Context& context, const Range& range, std::uint32_t msn) {
    const auto low = static_cast<std::int64_t>(range.low);
    const auto high = static_cast<std::int64_t>(range.high);
    const std::uint64_t number = context.packet.number;
    notes.msn_base = msn;
    notes.msn = Notes::Offset{-high, -low, number, number};
    notes.low_is_sure = range.high_is_sure;
}

} // namespace

void judge_msn(const Context& context) {
    const flow::Packet& packet = context.packet;
    const bool counted = packet.transport.headers.has(wire::Header::Aeth) &&
                         context.seen.kind != flow::Class::Unsolicited &&
                         context.seen.kind != flow::Class::Forgotten;
    if (!counted) return;
    const auto range = range_of(context);
    if (!range) return;
    Notes& notes = *context.notes;
    const std::uint32_t msn = packet.transport.aeth.msn.value;
    if (!notes.msn && context.stream().begin_known()) {
        notes.msn_base = 0; // ACK-07: it starts at 0
        notes.msn = Notes::Offset{};
        notes.low_is_sure = true;
    } else if (!notes.msn) {
        return start(notes, context, *range, msn);
    }
    // What this response allows the offset to be.
    const std::int64_t value = signed24(msn - notes.msn_base);
    const std::int64_t low = value - static_cast<std::int64_t>(range->high);
    const std::int64_t high = value - static_cast<std::int64_t>(range->low);
    Notes::Offset& offset = *notes.msn;
    const auto allowed = [&] {
        const auto base = static_cast<std::int64_t>(notes.msn_base);
        return MsnBounds{base + offset.low + static_cast<std::int64_t>(range->low),
                         base + offset.high + static_cast<std::int64_t>(range->high)};
    };
    if (high < offset.low) {
        Excuses excuses = kConnectionExcuses;
        if (!notes.low_is_sure) {
            excuses = kUnseenOrOvertaken;
        }
        context.report(rule_of(packet, true), excuses, Evidence(packet.number, offset.low_number),
                       values(msn, allowed()));
        return start(notes, context, *range, msn);
    }
    if (low > offset.high) {
        Excuses excuses = kConnectionExcuses;
        if (!range->high_is_sure) {
            excuses = kUnseenOrOvertaken;
        }
        context.report(rule_of(packet, false), excuses, Evidence(packet.number, offset.high_number),
                       values(msn, allowed()));
        return start(notes, context, *range, msn);
    }
    if (low > offset.low) {
        offset.low = low;
        offset.low_number = packet.number;
        notes.low_is_sure = range->high_is_sure;
    }
    if (high < offset.high) {
        offset.high = high;
        offset.high_number = packet.number;
    }
}

} // namespace veriroce::judge
