// `<` lines: waiting for the packets that satisfy them.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/runner/dialogue.hpp"
#include "conformance/runner/matching.hpp"
#include "conformance/runner/notation.hpp"

namespace veriroce::runner {
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

} // namespace

// --- time -------------------------------------------------------------------------------------

// `after A..B` and `measure`: the time since the latest earlier packet of this QP. A bound that is
// broken for every instant of both intervals is a FAIL, one that holds for every instant is met,
// and in between nobody can say.
Met<> Dialogue::judge_time(const script::ExpectPacket& line, script::SourceSpan span,
                           const Peer& peer, std::size_t history_index) {
    if (!line.after && !line.measure) return {};
    const auto here = std::ranges::find(peer.entries, history_index);
    if (here == peer.entries.begin()) return std::unexpected(error(span, "no packet before this"));
    const Interval& base = history_[*std::prev(here)].at;
    const Interval& at = history_[history_index].at;
    const wire::Duration least = at.earliest - base.latest;
    const wire::Duration most = at.latest - base.earliest;
    if (line.measure) result_.measures[line.measure->name].push_back(at.latest - base.latest);
    if (!line.after) return {};
    const auto limits = bounds(*line.after, peer, std::nullopt, &history_[history_index]);
    if (!limits) return std::unexpected(limits.error());
    const auto low = wire::Duration(limits->low.value_or(0));
    const auto high = limits->high ? wire::Duration(*limits->high) : wire::Duration::max();
    if (most < low || least > high) {
        return std::unexpected(
            failed(span, fmt::format("came {} after the packet before it", duration_text(most)),
                   notation(&peer, history_[history_index])));
    }
    if (least >= low && most <= high) return {};
    return std::unexpected(error(span, fmt::format("too noisy to judge: the wait was {} to {}",
                                                   duration_text(least), duration_text(most))));
}

// --- lines ------------------------------------------------------------------------------------

Met<> Dialogue::claim(const script::ExpectPacket& line, script::SourceSpan span, Peer& peer,
                      std::size_t heard_index) {
    const std::size_t index = peer.heard[heard_index];
    if (line.as) named_packets_[line.as->text] = index;
    peer.in_run = false;
    line_end_ = std::max(line_end_, history_[index].at.latest);
    return judge_time(line, span, peer, index);
}

Task<Met<>> Dialogue::expect_one(const script::ExpectPacket& line, script::SourceSpan span,
                                 std::vector<std::byte>* payload) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    const auto patience = time_or(line.within, setting_.patience, peer);
    if (!patience) co_return std::unexpected(patience.error());
    const wire::Instant deadline = line_end_ + *patience;
    // The last packet of this kind that needs no line: what the DUT said instead, if it says no
    // more.
    Entry* near = nullptr;
    std::string why;
    while (true) {
        while (peer.next < peer.heard.size()) {
            Entry& entry = history_[peer.heard[peer.next]];
            const auto matched = match(line, peer, entry);
            if (!matched) co_return std::unexpected(matched.error());
            if (matched->satisfied) {
                const auto met = claim(line, span, peer, peer.next);
                if (payload != nullptr) {
                    payload->assign(entry.packet->payload().begin(), entry.packet->payload().end());
                }
                if (matched->claims) ++peer.next;
                co_return met;
            }
            // While our engine answers, what no line names is its own affair.
            if (!peer.answering && !tolerated(peer, entry)) {
                entry.remarks.push_back(fmt::format("not what line {} expects", span.line));
                co_return std::unexpected(failed(span, matched->why, notation(&peer, entry)));
            }
            if (kind_matches(line.kind, peer, entry)) {
                near = &entry;
                why = ": " + matched->why;
            }
            ++peer.next;
        }
        if (stage_.now() >= deadline) {
            if (near != nullptr) {
                near->remarks.push_back(fmt::format("not what line {} expects", span.line));
            }
            co_return std::unexpected(failed(
                span, fmt::format("no such packet within {}{}", duration_text(*patience), why),
                near != nullptr ? notation(&peer, *near) : "nothing"));
        }
        co_await stage_.wait(deadline);
    }
}

// `< RDMA_READ_RESPONSE psn=0 len=64KiB`: all packets of the message in order.
Task<Met<>> Dialogue::expect_message(const script::ExpectPacket& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    const script::FieldMatch* length_match = match_of(line.matches, SpecialField::Length);
    const auto* length_expr =
        length_match == nullptr ? nullptr : std::get_if<script::Expr>(&length_match->value);
    if (length_expr == nullptr) {
        co_return std::unexpected(error(span, "a whole message needs its length: len=N"));
    }
    const auto length = number(*length_expr, peer);
    if (!length) co_return std::unexpected(length.error());

    const auto message = std::get<script::Message>(line.kind);
    const bool immediate =
        message == script::Message::SendWithImm || message == script::Message::RdmaWriteWithImm;
    const wire::Mtu mtu = peer.book.identity().mtu;
    std::vector<std::byte> data;
    std::int64_t packets = 0;
    do {
        const auto whole = static_cast<std::uint64_t>(*length);
        const wire::Position position = position_after(data.size(), whole, mtu);
        const bool last = position == wire::Position::Last || position == wire::Position::Only;
        script::ExpectPacket one = line;
        one.kind = script::Opcode{
            *wire::opcode_of(peer.book.identity().service, operation_of(message), position,
                             immediate && last, message == script::Message::SendWithInv && last)};
        const wire::OpcodeInfo& info = wire::opcode_info(std::get<script::Opcode>(one.kind).code);
        std::erase_if(one.matches, [&](const script::FieldMatch& match) {
            if (match.field == script::FieldName(SpecialField::Data)) return true;
            const auto* field = std::get_if<Field>(&match.field);
            if (field == nullptr) return false;
            const bool reth =
                *field == Field::Va || *field == Field::Rkey || *field == Field::DmaLength;
            return (reth && !info.headers.has(wire::Header::Reth)) ||
                   (*field == Field::Msn && !info.headers.has(wire::Header::Aeth)) ||
                   ((*field == Field::AckReq || *field == Field::Imm || *field == Field::Ikey) &&
                    !last);
        });
        const std::uint64_t here = last ? whole - data.size() : wire::bytes_of(mtu);
        for (script::FieldMatch& match : one.matches) {
            if (match.field == script::FieldName(SpecialField::Length)) {
                match.value = script::Expr{.number = static_cast<std::int64_t>(here)};
            } else if (match.field == script::FieldName(Field::Psn)) {
                const auto* base = std::get_if<script::Expr>(&match.value);
                if (base == nullptr) continue;
                match.value = script::Expr{.kind = script::Expr::Kind::Add,
                                           .operands = {*base, script::Expr{.number = packets}}};
            }
        }
        std::vector<std::byte> payload;
        const Met<> met = co_await expect_one(one, span, &payload);
        if (!met) co_return met;
        data.insert(data.end(), payload.begin(), payload.end());
        ++packets;
    } while (data.size() < static_cast<std::uint64_t>(*length));

    if (const auto* match = match_of(line.matches, SpecialField::Data)) {
        const Met<> met = co_await compare_data(*match, peer, std::move(data), span);
        co_return met;
    }
    co_return Met<>{};
}

Task<Met<>> Dialogue::expect(const script::ExpectPacket& line, script::SourceSpan span) {
    if (std::holds_alternative<script::Message>(line.kind)) {
        const Met<> met = co_await expect_message(line, span);
        co_return met;
    }
    std::vector<std::byte> payload;
    const Met<> met = co_await expect_one(line, span, &payload);
    if (!met) co_return met;
    if (const auto* data = match_of(line.matches, SpecialField::Data)) {
        const Met<Peer*> peer = peer_of(line.qp);
        const Met<> same = co_await compare_data(*data, **peer, std::move(payload), span);
        co_return same;
    }
    co_return Met<>{};
}

Task<Met<>> Dialogue::compare_data(const script::FieldMatch& data, const Peer& peer,
                                   std::vector<std::byte> payload, script::SourceSpan span) {
    std::vector<std::byte> wanted;
    if (const auto* hex = std::get_if<script::HexBytes>(&data.value)) {
        wanted = hex->bytes;
    } else {
        const auto piece = piece_of(std::get<script::RegionSlice>(data.value), peer);
        if (!piece) co_return std::unexpected(piece.error());
        auto bytes = co_await read_memory(*piece->memory, piece->offset, piece->length, span);
        if (!bytes) co_return std::unexpected(bytes.error());
        wanted = std::move(*bytes);
    }
    const auto difference = std::ranges::mismatch(payload, wanted);
    if (difference.in1 == payload.end() && difference.in2 == wanted.end()) co_return Met<>{};
    const bool equal = (data.comparison == script::Comparison::NotEqual);
    if (equal) co_return Met<>{};
    co_return std::unexpected(
        failed(span,
               fmt::format("the data differs from byte {} on (of {}, expected {})",
                           difference.in1 - payload.begin(), payload.size(), wanted.size()),
               "other bytes"));
}

} // namespace veriroce::runner
