// Which packet satisfies a line, and which packets need no line.
#include "conformance/interpreter/matching.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

using script::Acknowledgement;
using script::SpecialField;
using wire::Field;

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

} // namespace

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

const script::FieldMatch* match_of(const std::vector<script::FieldMatch>& matches,
                                   script::FieldName field) {
    const auto found =
        std::ranges::find_if(matches, [&](const auto& match) { return match.field == field; });
    return found == matches.end() ? nullptr : &*found;
}

// --- fields -----------------------------------------------------------------------------------

Met<bool> Interpreter::field_matches(const script::FieldMatch& match, const Peer& peer,
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
            return (mac ==
                    (address->name == "dut" ? environment_.dut_mac : environment_.tester.mac)) ==
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

Met<Interpreter::Match> Interpreter::match_fields(const std::vector<script::FieldMatch>& matches,
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

bool Interpreter::kind_matches(const script::PacketKind& kind, const Peer& peer,
                               const Entry& entry) const {
    if (!entry.packet) return false;
    const wire::OpcodeInfo& info = entry.packet->info();
    if (const auto* opcode = std::get_if<script::Opcode>(&kind)) return info.code == opcode->code;
    if (const auto* ack = std::get_if<Acknowledgement>(&kind)) {
        return acknowledge_is(*entry.packet, *ack);
    }
    if (const auto* message = std::get_if<script::Message>(&kind)) {
        return info.service == peer.book.identity().service &&
               info.operation == operation_of(*message);
    }
    const auto named = named_packets_.find(std::get<script::SameAs>(kind).name);
    if (named == named_packets_.end()) return false;
    return same_packet(*history_[named->second].packet, *entry.packet);
}

// `< ACK psn=P`: the first acknowledgement that covers P satisfies it. Nothing: the line is no
// such line, or the packet no acknowledgement, and is compared field by field.
Met<std::optional<Interpreter::Match>>
Interpreter::covers(const script::ExpectPacket& line, const Peer& peer, const Entry& entry) const {
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

// N-05: a packet of another VLAN is not for us.
std::string Interpreter::foreign_vlan(const Entry& entry) const {
    const std::uint16_t found = vlan_id_of(entry.frame.vlan);
    const std::uint16_t wanted = vlan_id_of(environment_.vlan);
    if (found == wanted) return {};
    const auto text = [](std::uint16_t id) {
        return id == 0 ? std::string("no VLAN") : fmt::format("VLAN {}", id);
    };
    return fmt::format("it came in {}; {} was wanted", text(found), text(wanted));
}

Met<Interpreter::Match> Interpreter::match(const script::ExpectPacket& line, const Peer& peer,
                                           const Entry& entry) const {
    if (!entry.packet) return Match{.why = "the packet is too short for its headers"};
    if (std::string foreign = foreign_vlan(entry); !foreign.empty()) {
        return Match{.why = std::move(foreign)};
    }
    const auto covered = covers(line, peer, entry);
    if (!covered) return std::unexpected(covered.error());
    if (*covered) return **covered;
    if (!kind_matches(line.kind, peer, entry)) return Match{.why = "another packet came"};
    if (line.after && !peer.answering && crosses_ours(peer, entry)) {
        return Match{.why = "it may have left before our last packet was there"};
    }
    return match_fields(line.matches, peer, entry, false);
}

// A retransmission of the DUT that our last packet cannot have brought about, or need not have.
bool Interpreter::crosses_ours(const Peer& peer, const Entry& entry) const {
    const auto ours = std::ranges::find(peer.entries.rbegin(), peer.entries.rend(), Side::Tester,
                                        [&](std::size_t index) { return history_[index].from; });
    return ours != peer.entries.rend() &&
           entry.at.earliest <= history_[*ours].at.latest + environment_.round_trip_p99 &&
           timer_may_have_run_out(peer, entry);
}

// While our engine answers, what no line names is its own affair.
bool Interpreter::needs_no_line(const Peer& peer, Entry& entry) {
    if (peer.answering) return true;
    if (!entry.tolerated && tolerated(peer, entry)) {
        entry.tolerated = true;
        if (entry.packet->info().request()) ++result_.tolerated_retransmissions;
    }
    return entry.tolerated;
}

bool Interpreter::tolerated(const Peer& peer, const Entry& entry) const {
    if (!entry.packet || !wire::unseal(entry.frame)) return false;
    if (!foreign_vlan(entry).empty()) return false;
    const wire::Packet& packet = *entry.packet;
    const wire::OpcodeInfo& info = packet.info();
    const std::int64_t psn = entry.psn;
    if (packet.headers.has(wire::Header::Aeth) &&
        packet.aeth.msn.value > peer.book.messages_sent()) {
        return false;
    }
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
    return timer_may_have_run_out(peer, entry);
}

// A retransmission, where the DUT's timer may have run out since it sent this PSN last.
bool Interpreter::timer_may_have_run_out(const Peer& peer, const Entry& entry) const {
    const wire::OpcodeInfo& info = entry.packet->info();
    const auto timeout = wire::ack_timeout(peer.timeout);
    if (info.service != wire::Service::Rc || !timeout) return false;
    for (auto one = peer.heard.rbegin(); one != peer.heard.rend(); ++one) {
        const Entry& earlier = history_[*one];
        if (&earlier == &entry || !earlier.packet || earlier.psn != entry.psn) continue;
        if (earlier.packet->bth.opcode != info.code) continue;
        if (earlier.at.earliest >= entry.at.earliest) continue;
        return entry.at.latest - earlier.at.earliest >= *timeout;
    }
    return false;
}

} // namespace veriroce::interpreter
