// `<` lines: which packet satisfies a line, and which packets need no line.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/runner/dialogue.hpp"
#include "conformance/runner/notation.hpp"

namespace veriroce::runner {
namespace {

using script::Acknowledgement;
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

wire::Operation operation_of(script::Message message) {
    switch (message) {
    case script::Message::Send:
    case script::Message::SendWithImm:
    case script::Message::SendWithInv: return wire::Operation::Send;
    case script::Message::RdmaWrite:
    case script::Message::RdmaWriteWithImm: return wire::Operation::RdmaWrite;
    case script::Message::RdmaReadResponse: return wire::Operation::RdmaReadResponse;
    }
    return wire::Operation::Send;
}

bool acknowledge_is(const wire::Packet& packet, Acknowledgement wanted) {
    if (packet.info().operation != wire::Operation::Acknowledge) return false;
    const wire::AckKind kind = packet.aeth.syndrome.kind();
    switch (wanted) {
    case Acknowledgement::Ack: return kind == wire::AckKind::Ack;
    case Acknowledgement::Nak: return kind == wire::AckKind::Nak;
    case Acknowledgement::RnrNak: return kind == wire::AckKind::RnrNak;
    }
    return false;
}

bool compare(std::int64_t value, script::Comparison comparison, std::int64_t wanted) {
    switch (comparison) {
    case script::Comparison::Equal: return value == wanted;
    case script::Comparison::NotEqual: return value != wanted;
    case script::Comparison::AtMost: return value <= wanted;
    case script::Comparison::AtLeast: return value >= wanted;
    }
    return false;
}

const script::FieldMatch* match_of(const std::vector<script::FieldMatch>& matches,
                                   script::FieldName field) {
    const auto found =
        std::ranges::find_if(matches, [&](const auto& match) { return match.field == field; });
    return found == matches.end() ? nullptr : &*found;
}

} // namespace

// --- fields -----------------------------------------------------------------------------------

std::optional<std::int64_t> Dialogue::field_of(const Peer& peer, const Entry& entry,
                                               const script::FieldName& field) const {
    if (!entry.packet) return std::nullopt;
    const wire::Packet& packet = *entry.packet;
    if (const auto* wire_field = std::get_if<Field>(&field)) {
        if (*wire_field == Field::Psn) return peer.book.relative_psn(entry.from, packet);
        const auto value = wire::read_field(entry.bytes, entry.frame.layers, *wire_field);
        if (!value) return std::nullopt;
        return static_cast<std::int64_t>(*value);
    }
    switch (std::get<SpecialField>(field)) {
    case SpecialField::Length: return static_cast<std::int64_t>(packet.payload().size());
    case SpecialField::Credits:
    case SpecialField::Timer:
    case SpecialField::Code:
        if (!packet.headers.has(wire::Header::Aeth)) return std::nullopt;
        return packet.aeth.syndrome.code();
    case SpecialField::UdpChecksum: return entry.frame.udp.checksum;
    case SpecialField::Icrc: return entry.frame.icrc;
    case SpecialField::Data:
    case SpecialField::PadBytes:
    case SpecialField::IpOptions: return std::nullopt;
    }
    return std::nullopt;
}

Met<bool> Dialogue::field_matches(const script::FieldMatch& match, const Peer& peer,
                                  const Entry& entry) const {
    // Data is compared after the packet was claimed: it may need the DUT's memory.
    if (match.field == script::FieldName(SpecialField::Data)) return true;
    if (const auto* hex = std::get_if<script::HexBytes>(&match.value)) {
        const wire::Bytes body = entry.packet->body;
        const wire::Bytes pad = body.subspan(entry.packet->payload().size());
        return std::ranges::equal(pad, hex->bytes);
    }
    if (const auto* address = std::get_if<script::Address>(&match.value)) {
        const Field field = std::get<Field>(match.field);
        if (wire::field_info(field).kind == wire::FieldKind::Mac) {
            const auto mac = wire::read_mac(entry.bytes, entry.frame.layers, field);
            return (mac == (address->name == "dut" ? setting_.dut_mac : setting_.tester.mac)) ==
                   (match.comparison == script::Comparison::Equal);
        }
        return (wire::read_ip(entry.bytes, entry.frame.layers, field) == address_of(*address)) ==
               (match.comparison == script::Comparison::Equal);
    }
    if (const auto* kind = std::get_if<wire::IcrcKind>(&match.value)) {
        return wire::unseal(entry.frame).has_value() == (*kind == wire::IcrcKind::Good);
    }
    const auto value = field_of(peer, entry, match.field);
    if (!value) return false;
    if (const auto* code = std::get_if<wire::NakCode>(&match.value)) {
        return compare(*value, match.comparison, static_cast<std::int64_t>(*code));
    }
    if (const auto* absolute = std::get_if<script::Absolute>(&match.value)) {
        const auto wanted = number(absolute->value, peer, match.field, &entry);
        if (!wanted) return std::unexpected(wanted.error());
        const bool psn = match.field == script::FieldName(Field::Psn);
        return compare(psn ? entry.packet->bth.psn.value() : *value, match.comparison, *wanted);
    }
    const bool timer = match.field == script::FieldName(SpecialField::Timer);
    const auto in_time = [&](std::int64_t code) {
        return timer ? wire::rnr_time(static_cast<std::uint8_t>(code & 0x1F)).count() : code;
    };
    if (const auto* range = std::get_if<script::ValueRange>(&match.value)) {
        auto limits = bounds(*range, peer, match.field, &entry);
        if (!limits) return std::unexpected(limits.error());
        if (limits->low) limits->low = in_time(*limits->low);
        if (limits->high) limits->high = in_time(*limits->high);
        return limits->has(in_time(*value)) == (match.comparison == script::Comparison::Equal);
    }
    const auto wanted = number(std::get<script::Expr>(match.value), peer, match.field, &entry);
    if (!wanted) return std::unexpected(wanted.error());
    return compare(in_time(*value), match.comparison, in_time(*wanted));
}

Met<Dialogue::Match> Dialogue::match_fields(const std::vector<script::FieldMatch>& matches,
                                            const Peer& peer, const Entry& entry,
                                            bool skip_psn) const {
    for (const script::FieldMatch& match : matches) {
        if (skip_psn && match.field == script::FieldName(Field::Psn)) continue;
        const auto same = field_matches(match, peer, entry);
        if (!same) return std::unexpected(same.error());
        if (!*same) {
            return Match{
                .why = fmt::format("{} is {}", name_of(match.field),
                                   value_text(field_of(peer, entry, match.field), match.field))};
        }
    }
    return Match{.satisfied = true};
}

// --- packets ----------------------------------------------------------------------------------

bool Dialogue::kind_matches(const script::PacketKind& kind, const Entry& entry) const {
    if (!entry.packet) return false;
    const wire::OpcodeInfo& info = entry.packet->info();
    if (const auto* opcode = std::get_if<script::Opcode>(&kind)) return info.code == opcode->code;
    if (const auto* ack = std::get_if<Acknowledgement>(&kind)) {
        return acknowledge_is(*entry.packet, *ack);
    }
    if (const auto* message = std::get_if<script::Message>(&kind)) {
        return info.service == wire::Service::Rc && info.operation == operation_of(*message);
    }
    const auto named = named_packets_.find(std::get<script::SameAs>(kind).name);
    if (named == named_packets_.end()) return false;
    return same_packet(*history_[named->second].packet, *entry.packet);
}

// `< ACK psn=P`: the first acknowledgement that covers P satisfies it. Nothing: the line is no
// such line, or the packet no acknowledgement, and is compared field by field.
Met<std::optional<Dialogue::Match>> Dialogue::covers(const script::ExpectPacket& line,
                                                     const Peer& peer, const Entry& entry) const {
    const auto* ack = std::get_if<Acknowledgement>(&line.kind);
    if (ack == nullptr || *ack != Acknowledgement::Ack || line.exact || !entry.packet) {
        return std::nullopt;
    }
    const script::FieldMatch* psn = match_of(line.matches, Field::Psn);
    const auto* expr = psn == nullptr ? nullptr : std::get_if<script::Expr>(&psn->value);
    if (expr == nullptr || psn->comparison != script::Comparison::Equal) return std::nullopt;
    const auto wanted = number(*expr, peer, Field::Psn);
    if (!wanted) return std::unexpected(wanted.error());

    const std::int64_t value = peer.book.relative_psn(Side::Dut, *entry.packet);
    if (acknowledge_is(*entry.packet, Acknowledgement::Ack)) {
        // An ACK beyond what was sent covers nothing: it is wrong, and must not be passed over.
        if (value < *wanted || value >= peer.book.next_request()) return std::nullopt;
        std::vector<script::FieldMatch> rest = line.matches;
        std::erase_if(rest, [&](const script::FieldMatch& match) {
            return match.field == script::FieldName(Field::Psn) ||
                   (match.field == script::FieldName(Field::Msn) && value != *wanted);
        });
        const auto fields = match_fields(rest, peer, entry, true);
        if (!fields) return std::unexpected(fields.error());
        return *fields;
    }
    const wire::Operation operation = entry.packet->info().operation;
    const bool other_answer = operation == wire::Operation::RdmaReadResponse ||
                              operation == wire::Operation::AtomicAcknowledge;
    if (other_answer && value > *wanted) return Match{.satisfied = true, .claims = false};
    return std::nullopt;
}

Met<Dialogue::Match> Dialogue::match(const script::ExpectPacket& line, const Peer& peer,
                                     const Entry& entry) const {
    if (!entry.packet) return Match{.why = "the packet is too short for its headers"};
    const auto covered = covers(line, peer, entry);
    if (!covered) return std::unexpected(covered.error());
    if (*covered) return **covered;
    if (!kind_matches(line.kind, entry)) return Match{.why = "another packet came"};
    return match_fields(line.matches, peer, entry, false);
}

// What may come without a line that asks for it.
bool Dialogue::tolerated(const Peer& peer, const Entry& entry) {
    if (!entry.packet || !wire::unseal(entry.frame)) return false;
    const wire::Packet& packet = *entry.packet;
    const wire::OpcodeInfo& info = packet.info();
    const std::int64_t psn = entry.psn;
    switch (info.operation) {
    case wire::Operation::Cnp: return true;
    case wire::Operation::Acknowledge:
        // ACK-02, ACK-03: whoever wants may acknowledge what was sent.
        return acknowledge_is(packet, Acknowledgement::Ack) && psn < peer.book.next_request();
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::AtomicAcknowledge:
        // A duplicate of ours may bring later responses again (corrections G3).
        return peer.book.dut_responses(psn) > 1 && peer.book.repeated_up_to(psn);
    case wire::Operation::Send:
    case wire::Operation::RdmaWrite:
    case wire::Operation::RdmaReadRequest:
    case wire::Operation::CompareSwap:
    case wire::Operation::FetchAdd:
    case wire::Operation::Resync:
    case wire::Operation::Flush:
    case wire::Operation::AtomicWrite:
    case wire::Operation::Reserved: break;
    }
    const auto timeout = wire::ack_timeout(peer.timeout);
    if (info.service != wire::Service::Rc || !timeout) return false;
    // A retransmission, where the DUT's timer may have run out since it sent this PSN last.
    for (auto one = peer.heard.rbegin(); one != peer.heard.rend(); ++one) {
        const Entry& earlier = history_[*one];
        if (&earlier == &entry || !earlier.packet || earlier.psn != psn) continue;
        if (earlier.packet->bth.opcode != packet.bth.opcode) continue;
        if (earlier.at.earliest >= entry.at.earliest) continue;
        if (entry.at.latest - earlier.at.earliest < *timeout) return false;
        ++result_.tolerated_retransmissions;
        return true;
    }
    return false;
}

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
    wire::Duration patience = setting_.patience;
    if (line.within) {
        const auto within = number(*line.within, peer);
        if (!within) co_return std::unexpected(within.error());
        patience = wire::Duration(*within);
    }
    const wire::Instant deadline = line_end_ + patience;
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
            if (kind_matches(line.kind, entry)) {
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
                span, fmt::format("no such packet within {}{}", duration_text(patience), why),
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
            *wire::opcode_of(wire::Service::Rc, operation_of(message), position, immediate && last,
                             message == script::Message::SendWithInv && last)};
        const wire::OpcodeInfo& info = wire::opcode_info(std::get<script::Opcode>(one.kind).code);
        std::erase_if(one.matches, [&](const script::FieldMatch& match) {
            if (match.field == script::FieldName(SpecialField::Data)) return true;
            const auto* field = std::get_if<Field>(&match.field);
            if (field == nullptr) return false;
            const bool reth =
                *field == Field::Va || *field == Field::Rkey || *field == Field::DmaLength;
            return (reth && !info.headers.has(wire::Header::Reth)) ||
                   (*field == Field::Msn && !info.headers.has(wire::Header::Aeth)) ||
                   ((*field == Field::AckReq || *field == Field::Imm) && !last);
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
