// `<` lines: the packets that satisfy them, and when those came.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/matching.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

using script::SpecialField;
using wire::Field;

// The order in which a whole message's packets must come.
wire::Position position_after(std::uint64_t received, std::uint64_t length, wire::Mtu mtu) {
    const std::uint64_t full = wire::bytes_of(mtu);
    const bool first = received == 0;
    const bool last = length - received <= full;
    if (first) return last ? wire::Position::Only : wire::Position::First;
    return last ? wire::Position::Last : wire::Position::Middle;
}

// Of a whole message's matches those that are not for the packet at hand.
bool not_in_packet(const script::FieldName& name, const wire::OpcodeInfo& info, bool last) {
    if (name == script::FieldName(SpecialField::Data)) return true;
    const auto* field = std::get_if<Field>(&name);
    if (field == nullptr) return false;
    const bool reth = *field == Field::Va || *field == Field::Rkey || *field == Field::DmaLength;
    const bool at_end = *field == Field::AckReq || *field == Field::Imm || *field == Field::Ikey;
    return (reth && !info.headers.has(wire::Header::Reth)) ||
           (*field == Field::Msn && !info.headers.has(wire::Header::Aeth)) || (at_end && !last);
}

} // namespace

// --- time -------------------------------------------------------------------------------------

// `within T` by the packet's own stamp: that it was looked at in time, or late, says nothing.
Met<> Interpreter::in_time(const Awaited& line, std::size_t index) const {
    if (!line.since) return {};
    const Interval base = interval_of(*line.since);
    const Interval& at = history_[index].at;
    const wire::Duration least = at.earliest - base.latest;
    const wire::Duration most = at.latest - base.earliest;
    if (most <= line.patience) return {};
    if (least > line.patience) {
        return std::unexpected(
            failed(line.span,
                   fmt::format("came {} after the line before it, not within {}",
                               duration_text(least), duration_text(line.patience)),
                   notation(line.peer, history_[index])));
    }
    return std::unexpected(error(
        line.span, fmt::format("too noisy to judge: it came {} to {} after the line before it",
                               duration_text(least), duration_text(most))));
}

// `after A..B` and `measure`: the time since the latest earlier packet of this QP, but for those
// that were passed over. A bound that is broken for every instant of both intervals is a FAIL, one
// that holds for every instant is met, and in between nobody can say.
Met<> Interpreter::judge_time(const Awaited& waiting, std::size_t index) {
    const script::ExpectPacket& line = *std::get<Awaited::Packet>(waiting.what).line;
    const script::SourceSpan span = waiting.span;
    const Peer& peer = *waiting.peer;
    if (!line.after && !line.measure) return {};
    const auto here = std::ranges::find(peer.entries.rbegin(), peer.entries.rend(), index);
    const auto before = std::find_if(std::next(here), peer.entries.rend(),
                                     [&](std::size_t one) { return !history_[one].tolerated; });
    if (before == peer.entries.rend()) {
        return std::unexpected(error(span, "no packet before this"));
    }
    const Interval& base = history_[*before].at;
    const Interval& at = history_[index].at;
    const wire::Duration least = at.earliest - base.latest;
    const wire::Duration most = at.latest - base.earliest;
    if (line.measure) result_.measures[line.measure->name].push_back(at.latest - base.latest);
    if (!line.after) return {};
    const auto limits = bounds(*line.after, peer, std::nullopt, &history_[index]);
    if (!limits) return std::unexpected(limits.error());
    const auto low = wire::Duration(limits->low.value_or(0));
    const auto high = limits->high ? wire::Duration(*limits->high) : wire::Duration::max();
    if (most < low || least > high) {
        return std::unexpected(
            failed(span, fmt::format("came {} after the packet before it", duration_text(most)),
                   notation(&peer, history_[index])));
    }
    if (least >= low && most <= high) return {};
    return std::unexpected(error(span, fmt::format("too noisy to judge: the wait was {} to {}",
                                                   duration_text(least), duration_text(most))));
}

// --- lines ------------------------------------------------------------------------------------

Met<std::optional<std::uint64_t>> Interpreter::length_of(const script::ExpectPacket& line,
                                                         const Peer& peer,
                                                         script::SourceSpan span) const {
    if (!std::holds_alternative<script::Message>(line.kind)) return std::nullopt;
    const script::FieldMatch* match = match_of(line.matches, SpecialField::Length);
    const auto* expr = match == nullptr ? nullptr : std::get_if<script::Expr>(&match->value);
    if (expr == nullptr) {
        return std::unexpected(error(span, "a whole message needs its length: len=N"));
    }
    const auto length = number(*expr, peer);
    if (!length) return std::unexpected(length.error());
    return static_cast<std::uint64_t>(*length);
}

script::ExpectPacket Interpreter::packet_wanted(const Awaited::Packet& packet, const Peer& peer) {
    script::ExpectPacket one = *packet.line;
    if (!packet.length) return one;
    const auto message = std::get<script::Message>(one.kind);
    const QpIdentity& qp = peer.book.identity();
    const std::uint64_t received = packet.data.size();
    const wire::Position position = position_after(received, *packet.length, qp.mtu);
    const bool last = position == wire::Position::Last || position == wire::Position::Only;
    const bool immediate =
        message == script::Message::SendWithImm || message == script::Message::RdmaWriteWithImm;
    one.kind = script::Opcode{*wire::opcode_of(qp.service, operation_of(message), position,
                                               immediate && last,
                                               message == script::Message::SendWithInv && last)};
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

// Everything unclaimed of the QPs that open lines wait for: each packet to the first line that it
// satisfies. What is no line's must be lawful without one.
Met<> Interpreter::take_packets(std::span<Awaited> open, script::SourceSpan span) {
    for (const Awaited& any : open) {
        Peer& peer = *any.peer;
        const auto waits = [&](const Awaited& line) {
            return !line.met && line.peer == &peer &&
                   std::holds_alternative<Awaited::Packet>(line.what);
        };
        while (peer.next < peer.heard.size() && std::ranges::any_of(open, waits)) {
            const Met<> met = take_packet(open, peer, peer.heard[peer.next], span);
            if (!met) return met;
        }
    }
    return {};
}

Met<> Interpreter::take_packet(std::span<Awaited> open, Peer& peer, std::size_t index,
                               script::SourceSpan span) {
    Entry& entry = history_[index];
    Awaited* only = nullptr; // the line that waits for a packet of this QP, if there is one alone
    std::size_t waiting = 0;
    std::string why;
    for (Awaited& line : open) {
        auto* packet = std::get_if<Awaited::Packet>(&line.what);
        if (packet == nullptr || line.met || line.peer != &peer) continue;
        auto matched = match(packet->next, peer, entry);
        if (!matched) return std::unexpected(matched.error());
        if (matched->satisfied) {
            if (matched->claims) ++peer.next;
            return claim(line, index);
        }
        if (kind_matches(packet->next.kind, peer, entry)) {
            packet->near = &entry;
            packet->why = matched->why;
        }
        packet->passed = &entry;
        only = ++waiting == 1 ? &line : nullptr;
        why = std::move(matched->why);
    }
    if (needs_no_line(peer, entry)) {
        ++peer.next;
        return {};
    }
    if (only == nullptr) why = "no open line expects this packet";
    const script::SourceSpan at = only == nullptr ? span : only->span;
    entry.remarks.push_back(fmt::format("not what line {} expects", at.line));
    return std::unexpected(failed(at, why, notation(&peer, entry)));
}

// The packet is the line's, or the next part of the message that it waits for.
Met<> Interpreter::claim(Awaited& line, std::size_t index) {
    auto& packet = std::get<Awaited::Packet>(line.what);
    if (packet.line->as) named_packets_[packet.line->as->text] = index;
    line.peer->in_run = false;
    const Met<> timely = in_time(line, index);
    line_ended(index);
    if (!timely) return timely;
    if (const Met<> judged = judge_time(line, index); !judged) return judged;
    const wire::Bytes payload = history_[index].packet->payload();
    packet.data.insert(packet.data.end(), payload.begin(), payload.end());
    ++packet.packets;
    line.met = !packet.length || packet.data.size() >= *packet.length;
    if (line.met) return {};
    packet.next = packet_wanted(packet, *line.peer);
    packet.near = nullptr;
    packet.passed = nullptr;
    if (line.since) line.since = line_end_;
    return {};
}

Task<Met<>> Interpreter::compare_data(const Awaited& line) {
    const auto* packet = std::get_if<Awaited::Packet>(&line.what);
    const auto* data =
        packet == nullptr ? nullptr : match_of(packet->line->matches, SpecialField::Data);
    if (data == nullptr) co_return Met<>{};
    std::vector<std::byte> wanted;
    if (const auto* hex = std::get_if<script::HexBytes>(&data->value)) {
        wanted = hex->bytes;
    } else {
        const auto piece = piece_of(std::get<script::RegionSlice>(data->value), *line.peer);
        if (!piece) co_return std::unexpected(piece.error());
        auto bytes = co_await read_memory(*piece->memory, piece->offset, piece->length, line.span);
        if (!bytes) co_return std::unexpected(bytes.error());
        wanted = std::move(*bytes);
    }
    const std::vector<std::byte>& payload = packet->data;
    const auto difference = std::ranges::mismatch(payload, wanted);
    if (difference.in1 == payload.end() && difference.in2 == wanted.end()) co_return Met<>{};
    if (data->comparison == script::Comparison::NotEqual) co_return Met<>{};
    co_return std::unexpected(
        failed(line.span,
               fmt::format("the data differs from byte {} on (of {}, expected {})",
                           difference.in1 - payload.begin(), payload.size(), wanted.size()),
               "other bytes"));
}

} // namespace veriroce::interpreter
