#include "conformance/interpreter/expect.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/matching.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/patience.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/waiting.hpp"
#include "conformance/script/words.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::interpreter {
namespace {

using script::SpecialField;
using wire::Field;
using namespace std::string_view_literals;

// Whether the case says when, or how often, the DUT sends again.
bool about_ack_timer(const script::Case& script) {
    constexpr std::array kRules{"N-27"sv,   "REQ-13"sv, "REQ-14"sv, "RNR-08"sv,
                                "RNR-10"sv, "RNR-13"sv, "TMO-01"sv, "TMO-02"sv,
                                "TMO-03"sv, "TMO-04"sv, "TMO-05"sv};
    return std::ranges::any_of(script.rules, [&](const script::Word& rule) {
        return std::ranges::find(kRules, rule.text) != kRules.end();
    });
}

// Whether this field of a whole message is absent from one of its packets.
bool not_in_packet(const script::FieldName& name, const wire::OpcodeInfo& info, bool last) {
    if (name == script::FieldName(SpecialField::Data)) return true;
    const auto* field = std::get_if<Field>(&name);
    if (field == nullptr) return false;
    const bool reth = *field == Field::Va || *field == Field::Rkey || *field == Field::DmaLength;
    const bool at_end = *field == Field::AckReq || *field == Field::Imm || *field == Field::Ikey;
    return (reth && !info.headers.has(wire::Header::Reth)) ||
           (*field == Field::Msn && !info.headers.has(wire::Header::Aeth)) || (at_end && !last);
}

// The length of a whole message; nothing for a single packet.
Met<std::optional<std::uint64_t>>
length_of(const Objects& objects, const script::ExpectPacket& line, const CaseQp& qp, Span span) {
    if (!std::holds_alternative<script::Message>(line.kind)) return std::nullopt;
    const script::FieldMatch* match = match_of(line.matches, SpecialField::Length);
    const auto* expr = match == nullptr ? nullptr : std::get_if<script::Expr>(&match->value);
    if (expr == nullptr) return unplayable(span, "a whole message needs its length: len=N");
    const auto length = number(objects, *expr, qp);
    if (!length) return std::unexpected(length.error());
    return static_cast<std::uint64_t>(*length);
}

// The line as it applies to the current packet.
script::ExpectPacket packet_wanted(const AwaitedPacket& packet, const QpIdentity& qp) {
    script::ExpectPacket one = *packet.line;
    if (!packet.length) return one;
    const auto message = std::get<script::Message>(one.kind);
    const std::uint64_t received = packet.data.size();
    const bool last = *packet.length - received <= wire::bytes_of(qp.mtu);
    const wire::Position position = wire::position_of(received == 0, last);
    one.kind = script::Opcode{*wire::opcode_of(qp.service, script::operation_of(message), position,
                                               script::immediate(message) && last,
                                               script::invalidates(message) && last)};
    const wire::OpcodeInfo& info = wire::opcode_info(std::get<script::Opcode>(one.kind).code);
    std::erase_if(one.matches, [&](const script::FieldMatch& match) {
        return not_in_packet(match.field, info, last);
    });
    const std::uint64_t here = last ? *packet.length - received : wire::bytes_of(qp.mtu);
    for (script::FieldMatch& match : one.matches) {
        if (match.field == script::FieldName(SpecialField::Length)) {
            match.value = script::Expr{.number = static_cast<std::int64_t>(here)};
        } else if (match.field == script::FieldName(Field::Psn)) {
            const auto* base = std::get_if<script::Expr>(&match.value);
            if (base == nullptr) continue;
            match.value = script::Expr{.kind = script::Expr::Kind::Add,
                                       .operands = {*base, script::Expr{.number = packet.packets}}};
        }
    }
    return one;
}

// --- time -------------------------------------------------------------------------------------

Finding late(const Awaited& line, const Record& record, std::size_t index, Difference time,
             std::string_view since) {
    return {.kind = FindingKind::Late,
            .line = line.span.line,
            .differences = {std::move(time)},
            .packet = index,
            .actual = entry_text(record[index], line.qp->book.identity().name),
            .detail = std::string(since)};
}

// `within T` is judged by the packet's own stamp, not by the time at which the tester looked at it.
Met<> in_time(Interpreter& interpreter, const Awaited& line, std::size_t index) {
    if (!line.since) return {};
    const Interval base = interpreter.clock().interval_of(*line.since);
    const Interval& at = interpreter.record()[index].at;
    const wire::Duration least = at.earliest - base.latest;
    const wire::Duration most = at.latest - base.earliest;
    if (most <= line.patience) return {};
    if (least <= line.patience) {
        return noisy(line.span,
                     fmt::format("too noisy to judge: it came {} to {} after the line before it, "
                                 "and the limit is {}",
                                 short_time(least), short_time(most), short_time(line.patience)));
    }
    return failed(late(line, interpreter.record(), index,
                       {"time", "within " + short_time(line.patience), short_time(least)},
                       "after the line before it"));
}

// When the latest earlier packet of this QP was on the wire. Packets that were passed over do not
// count.
const Interval* before(const Record& record, const CaseQp& qp, std::size_t index) {
    const auto here = std::ranges::find(qp.entries.rbegin(), qp.entries.rend(), index);
    const auto found = std::find_if(std::next(here), qp.entries.rend(),
                                    [&](std::size_t one) { return !record[one].tolerated; });
    return found == qp.entries.rend() ? nullptr : &record[*found].at;
}

// `after A..B` and `measure`. A bound fails only if every instant of both intervals violates it; if
// only some instants do, the stamps are too inexact for a finding.
Met<> judge_time(Interpreter& interpreter, const Awaited& waiting, std::size_t index) {
    const script::ExpectPacket& line = *waiting.packet()->line;
    if (!line.after && !line.measure) return {};
    const Record& record = interpreter.record();
    const Interval* base = before(record, *waiting.qp, index);
    if (base == nullptr)
        return unplayable(waiting.span, "'after' and 'measure' need an earlier packet on this QP");
    const Interval& at = record[index].at;
    const wire::Duration least = at.earliest - base->latest;
    const wire::Duration most = at.latest - base->earliest;
    if (line.measure) {
        interpreter.result().measures[line.measure->name].push_back(at.latest - base->latest);
    }
    if (!line.after) return {};
    const MatchContext context = context_of(interpreter, *waiting.qp);
    const auto limits = bounds(*line.after, lookup_of(record[index], context, std::nullopt));
    if (!limits) return std::unexpected(limits.error());
    const auto low = wire::Duration(limits->low.value_or(0));
    const auto high = limits->high ? wire::Duration(*limits->high) : wire::Duration::max();
    if (least >= low && most <= high) return {};
    const std::string wanted =
        limits->high ? fmt::format("{}..{}", limits->low ? short_time(low) : "", short_time(high))
                     : "at least " + short_time(low);
    if (most >= low && least <= high) {
        return noisy(waiting.span, fmt::format("too noisy to judge: the wait was {} to {}, and {} "
                                               "is allowed",
                                               short_time(least), short_time(most), wanted));
    }
    return failed(late(waiting, record, index, {"time", wanted, short_time(most)},
                       "counted from the packet before it on this QP"));
}

// --- claiming ---------------------------------------------------------------------------------

// Gives the packet to the line, as its packet or as the next part of its message.
Met<> claim(Interpreter& interpreter, Awaited& line, std::size_t index) {
    AwaitedPacket& packet = *line.packet();
    Entry& entry = interpreter.record()[index];
    entry.line = line.span.line;
    if (packet.line->as) interpreter.record().name(packet.line->as->text, index);
    line.qp->in_run = false;
    const Met<> timely = in_time(interpreter, line, index);
    interpreter.clock().line_ended_with(index);
    if (!timely) return timely;
    if (const Met<> judged = judge_time(interpreter, line, index); !judged) return judged;
    const wire::Bytes payload = entry.packet->payload();
    packet.data.insert(packet.data.end(), payload.begin(), payload.end());
    if (std::exchange(packet.window_opened, false)) line.qp->window.helped = true;
    ++packet.packets;
    line.met = !packet.length || packet.data.size() >= *packet.length;
    if (line.met) return {};
    packet.next = packet_wanted(packet, line.qp->book.identity());
    packet.near.reset();
    packet.passed.reset();
    if (line.since) line.since = interpreter.clock().line_end();
    return {};
}

Met<> take_packet(Interpreter& interpreter, OpenLines& open, CaseQp& qp, std::size_t index) {
    Entry& entry = interpreter.record()[index];
    const MatchContext context = context_of(interpreter, qp);
    const Awaited* only = nullptr; // the line that waits for a packet of this QP, if there is one
    std::size_t waiting = 0;
    Match why;
    for (Awaited& line : open.lines) {
        AwaitedPacket* packet = line.packet();
        if (packet == nullptr || line.met || line.qp != &qp) continue;
        auto matched = match(packet->next, entry, context);
        if (!matched) return std::unexpected(std::move(matched.error()));
        if (matched->satisfied) {
            if (matched->claims) ++qp.next;
            return claim(interpreter, line, index);
        }
        if (matched->right_kind) {
            packet->near = index;
            packet->lacks = matched->differences;
            packet->detail = matched->detail;
        }
        packet->passed = index;
        only = ++waiting == 1 ? &line : nullptr;
        why = std::move(*matched);
    }
    if (!entry.tolerated && lacks_resource(interpreter, qp, index)) {
        qp.refusal = index;
        ++qp.next;
        return {};
    }
    if (passes_without_line(interpreter, qp, index) || is_unscripted(interpreter)) {
        ++qp.next;
        return {};
    }
    const Span at = only == nullptr ? open.span : only->span;
    entry.line = at.line;
    entry.remarks.push_back(fmt::format("not what line {} expects", at.line));
    if (only == nullptr) {
        Finding finding = unexpected_packet(qp, interpreter.record(), index, at);
        finding.detail = "no line that is waiting expects it";
        return failed(std::move(finding));
    }
    Finding finding =
        mismatch(at, std::move(why.differences), entry_text(entry, qp.book.identity().name));
    finding.packet = index;
    finding.subject = kind_text(only->packet()->next.kind);
    finding.detail = std::move(why.detail);
    return failed(std::move(finding));
}

} // namespace

bool early_resends_pass(Interpreter& interpreter) {
    return interpreter.environment().early_ack_timer() || !about_ack_timer(interpreter.script());
}

bool retries_used_up(const Record& record, const CaseQp& qp) {
    if (!qp.gave_up) return false;
    std::map<std::int64_t, std::int64_t> copies; // of each request, by its PSN
    for (const std::size_t one : qp.heard) {
        const Entry& entry = record[one];
        if (!entry.lost() && entry.packet && entry.packet->info().request()) ++copies[entry.psn];
    }
    // The first copy may have had more packets of a READ before it.
    const std::int64_t retries = retries_of(qp.setup);
    return std::ranges::any_of(copies, [&](const auto& one) { return one.second >= retries; });
}

bool is_unscripted(const Interpreter& interpreter) {
    return interpreter.script().tagged("unscripted");
}

MatchContext context_of(Interpreter& interpreter, const CaseQp& qp) {
    const Objects& objects = interpreter.objects();
    const Record& record = interpreter.record();
    MatchContext context{.book = qp.book,
                         .environment = interpreter.environment(),
                         .value_of_name = {},
                         .packet_of_name = {},
                         .timeout = qp.timeout,
                         .early_resends = early_resends_pass(interpreter),
                         .last_sent = {}};
    context.value_of_name = [&objects, &qp](std::string_view name, FieldOf field) {
        return value_of_name(objects, qp, name, field);
    };
    context.packet_of_name = [&record](std::string_view name) -> const wire::Packet* {
        const auto index = record.named(name);
        return index && record[*index].packet ? &*record[*index].packet : nullptr;
    };
    if (qp.answering) return context;
    const auto ours = std::ranges::find(qp.entries.rbegin(), qp.entries.rend(), Side::Tester,
                                        [&](std::size_t index) { return record[index].from; });
    if (ours != qp.entries.rend()) context.last_sent = record[*ours].at;
    return context;
}

Met<AwaitedPacket> awaited_by(Interpreter& interpreter, const script::ExpectPacket& line,
                              const CaseQp& qp, Span span) {
    const auto length = length_of(interpreter.objects(), line, qp, span);
    if (!length) return std::unexpected(length.error());
    AwaitedPacket packet{
        .line = &line, .next = {}, .length = *length, .data = {}, .lacks = {}, .detail = {}};
    packet.next = packet_wanted(packet, qp.book.identity());
    return packet;
}

std::optional<std::int64_t> request_wanted(Interpreter& interpreter, const AwaitedPacket& packet,
                                           const CaseQp& qp) {
    const auto* opcode = std::get_if<script::Opcode>(&packet.next.kind);
    if (opcode == nullptr || !wire::opcode_info(opcode->code).request()) return std::nullopt;
    const script::FieldMatch* psn = match_of(packet.next.matches, Field::Psn);
    const auto* expr = psn == nullptr ? nullptr : std::get_if<script::Expr>(&psn->value);
    if (expr == nullptr || psn->comparison != script::Comparison::Equal) return std::nullopt;
    const auto wanted = number(interpreter.objects(), *expr, qp);
    if (!wanted) return std::nullopt;
    return *wanted;
}

Task<Met<>> ask_for(Interpreter& /*interpreter*/, const Awaited& /*line*/, AwaitedPacket& /*what*/,
                    Question /*question*/) {
    co_return Met<>{};
}

Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line,
           const AwaitedPacket& /*what*/) {
    CaseQp& qp = *line.qp;
    const auto waits = [&](const Awaited& other) {
        return !other.met && other.qp == &qp && other.packet() != nullptr;
    };
    while (qp.next < qp.heard.size() && std::ranges::any_of(open.lines, waits)) {
        const Met<> met = take_packet(interpreter, open, qp, qp.heard[qp.next]);
        if (!met) return met;
    }
    return {};
}

Met<bool> is_there(Interpreter& interpreter, const Awaited& line, const AwaitedPacket& what) {
    const CaseQp& qp = *line.qp;
    if (qp.next >= qp.heard.size()) return false;
    const auto matched =
        match(what.next, interpreter.record()[qp.heard[qp.next]], context_of(interpreter, qp));
    if (!matched) return std::unexpected(matched.error());
    return matched->satisfied;
}

Task<Met<std::vector<Difference>>>
data_differences(Interpreter& interpreter, const script::FieldMatch& match, const CaseQp& qp,
                 const std::vector<std::byte>& found, Span span) {
    std::vector<std::byte> wanted;
    if (const auto* hex = std::get_if<script::HexBytes>(&match.value)) {
        wanted = hex->bytes;
    } else {
        const Piece piece = co_await piece_of(interpreter.objects(),
                                              std::get<script::RegionSlice>(match.value), qp);
        std::vector<std::byte> held = co_await read_memory(interpreter, piece, span);
        wanted = std::move(held);
    }
    std::vector<Difference> differing = byte_differences(wanted, found);
    const auto order =
        differing.empty() ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
    if (holds(match.comparison, order)) {
        differing.clear();
    } else if (differing.empty()) {
        differing.push_back({"data", "other bytes", "the same"});
    }
    co_return Met<std::vector<Difference>>(std::move(differing));
}

Task<Met<>> compare_data(Interpreter& interpreter, const Awaited& line) {
    const AwaitedPacket* packet = line.packet();
    const auto* data =
        packet == nullptr ? nullptr : match_of(packet->line->matches, SpecialField::Data);
    if (data == nullptr) co_return Met<>{};
    std::vector<Difference> differing =
        co_await data_differences(interpreter, *data, *line.qp, packet->data, line.span);
    // ACK-05: the packet may bring what the DUT's owner does not see yet.
    const auto* slice = std::get_if<script::RegionSlice>(&data->value);
    const Memory* region = slice == nullptr ? nullptr : interpreter.objects().region(slice->region);
    const bool may_come = region != nullptr && region->side == Side::Dut &&
                          data->comparison == script::Comparison::Equal;
    Patience patience(interpreter);
    while (may_come && !differing.empty()) {
        const bool again = co_await patience.look_again();
        if (!again) break;
        std::vector<Difference> now =
            co_await data_differences(interpreter, *data, *line.qp, packet->data, line.span);
        differing = std::move(now);
    }
    if (differing.empty()) co_return Met<>{};
    const bool equal = data->comparison == script::Comparison::NotEqual;
    co_return failed(
        mismatch(line.span, std::move(differing), equal ? "these very bytes" : "other bytes"));
}

Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedPacket& packet) {
    Record& record = interpreter.record();
    const std::string& name = line.qp->book.identity().name;
    Finding finding = missing(line.span, kind_text(packet.next.kind), line.patience);
    if (packet.near) {
        record[*packet.near].remarks.push_back(
            fmt::format("not what line {} expects", line.span.line));
        finding.differences = packet.lacks;
        finding.packet = packet.near;
        finding.actual = entry_text(record[*packet.near], name);
        finding.detail = packet.detail;
    } else if (packet.passed) {
        finding.packet = packet.passed;
        finding.actual = entry_text(record[*packet.passed], name) + ", and nothing else";
    } else if (const auto astray =
                   astray_since(interpreter, interpreter.clock().interval_of(line.since.value_or(
                                                 interpreter.clock().line_end())))) {
        finding.packet = astray;
        finding.actual = astray_text(record[*astray]);
        finding.detail = "it came otherwise: " + finding.actual;
    }
    return finding;
}

std::optional<std::size_t> astray_since(Interpreter& interpreter, const Interval& since) {
    const auto astray = interpreter.record().astray;
    if (!astray || interpreter.record()[*astray].at.latest < since.earliest) return std::nullopt;
    return astray;
}

namespace {

// Whether the wire has repeated a frame of the DUT: the same to the last bit, IPv4 identification
// and all. A device that sends a packet twice counts on.
bool is_copy_of_the_wire(Interpreter& interpreter, const CaseQp& qp, std::size_t index) {
    const Record& record = interpreter.record();
    const Entry& entry = record[index];
    if (interpreter.environment().path_delay || entry.refusal) return false;
    constexpr std::size_t id_at = 18; // behind Ethernet without a tag
    const wire::Bytes bytes = entry.bytes;
    if (bytes.size() < id_at + 2 || wire::load_u16(bytes, 12) != 0x0800) return false;
    if (wire::load_u16(bytes, id_at) == 0) return false; // RFC 6864: nobody counts
    return std::ranges::any_of(
        qp.heard, [&](std::size_t one) { return one < index && record[one].bytes == entry.bytes; });
}

// CM-10: whether the DUT asks for patience, with its answer to a REQ.
bool is_wait_for_answer(const CaseQp& qp, const Record& record, std::size_t index) {
    const Entry& entry = record[index];
    if (!entry.packet || management_of(*entry.packet) != wire::cm::kMra) return false;
    const auto asked =
        std::ranges::find_if(qp.entries.rbegin(), qp.entries.rend(), [&](std::size_t one) {
            return one < index && record[one].from == Side::Tester && record[one].packet;
        });
    return asked != qp.entries.rend() && management_of(*record[*asked].packet) == wire::cm::kReq;
}

} // namespace

bool passes_without_line(Interpreter& interpreter, const CaseQp& qp, std::size_t index) {
    Entry& entry = interpreter.record()[index];
    if (is_wait_for_answer(qp, interpreter.record(), index)) {
        entry.remarks.emplace_back("the DUT will answer later (CM-10)");
        entry.tolerated = true;
        return true;
    }
    if (qp.answering) return needs_no_line_of_engine(entry, context_of(interpreter, qp));
    if (!entry.tolerated && is_copy_of_the_wire(interpreter, qp, index)) entry.tolerated = true;
    if (!entry.tolerated && needs_no_line(entry, context_of(interpreter, qp))) {
        entry.tolerated = true;
        if (!entry.lost() && entry.packet->info().request())
            ++interpreter.result().tolerated_retransmissions;
    }
    return entry.tolerated;
}

namespace {

// ACK-04: whether the packet is an ACK that the QP heard before, and left before the DUT could have
// seen what we sent since.
bool is_copied_ack(Interpreter& interpreter, const CaseQp& qp, std::size_t index) {
    const Record& record = interpreter.record();
    const Entry& entry = record[index];
    if (!entry.packet || entry.refusal) return false;
    const auto here = std::ranges::find(qp.entries.rbegin(), qp.entries.rend(), index);
    const auto original = std::find_if(here, qp.entries.rend(), [&](std::size_t one) {
        const Entry& earlier = record[one];
        return one != index && earlier.from == Side::Dut && earlier.packet &&
               same_acknowledge(*earlier.packet, *entry.packet);
    });
    if (original == qp.entries.rend()) return false;
    const auto since = std::ranges::find(original.base(), qp.entries.end(), Side::Tester,
                                         [&](std::size_t one) { return record[one].from; });
    // Sooner than any answer: packets on the way take turns.
    const wire::Duration jitter = interpreter.environment().round_trip_p99 / 4;
    return since == qp.entries.end() || entry.at.earliest <= record[*since].at.latest + jitter;
}

} // namespace

bool passes_in_silence(Interpreter& interpreter, const CaseQp& qp, std::size_t index) {
    Entry& entry = interpreter.record()[index];
    const bool cnp = entry.packet && entry.packet->info().operation == wire::Operation::Cnp;
    const bool passes = entry.lost() || cnp || is_copied_ack(interpreter, qp, index) ||
                        is_early_resend(entry, context_of(interpreter, qp)); // TMO-08
    if (!passes) return false;
    entry.tolerated = true;
    return true;
}

Finding unexpected_packet(const CaseQp& qp, const Record& record, std::size_t index, Span span) {
    const Entry& entry = record[index];
    const std::string name =
        entry.packet ? std::string(opcode_text(*entry.packet)) : std::string("packet");
    Finding finding = unexpected(span, name, entry_text(entry, qp.book.identity().name));
    finding.packet = index;
    if (entry.refusal) finding.detail = wire::text_of(*entry.refusal);
    return finding;
}

Task<Met<>> play(Interpreter& interpreter, const script::ExpectPacket& line, Span span) {
    Awaited one = co_await awaited(interpreter, line, span);
    co_await await_one(interpreter, std::move(one));
    co_return Met<>{};
}

} // namespace veriroce::interpreter
