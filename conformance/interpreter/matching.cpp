#include "conformance/interpreter/matching.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/script/mad_fields.hpp"
#include "conformance/script/words.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::interpreter {
namespace {

using script::Acknowledgement;
using script::Comparison;
using script::FieldName;
using script::SpecialField;
using wire::Field;

constexpr std::size_t kMostHexBytes = 16; // bytes that a difference shows
// TMO-08: NVIDIA's adaptive retransmission begins at about 2 ms. That of a device which says that
// its timer is its own may begin at any time.
constexpr wire::Duration kLeastAdaptiveTimeout = std::chrono::milliseconds(1);

std::optional<Acknowledgement> acknowledgement_of(const wire::Packet& packet) {
    if (packet.info().operation != wire::Operation::Acknowledge) return std::nullopt;
    switch (packet.aeth.syndrome.kind()) {
    case wire::AckKind::Ack: return Acknowledgement::Ack;
    case wire::AckKind::Nak: return Acknowledgement::Nak;
    case wire::AckKind::RnrNak: return Acknowledgement::RnrNak;
    case wire::AckKind::Reserved: return std::nullopt;
    }
    return std::nullopt;
}

// Of values without an order.
std::partial_ordering equality(bool equal) {
    return equal ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}

std::string with_comparison(Comparison comparison, std::string value) {
    switch (comparison) {
    case Comparison::Equal: return value;
    case Comparison::NotEqual: return "not " + value;
    case Comparison::AtMost: return "at most " + value;
    case Comparison::AtLeast: return "at least " + value;
    }
    return value;
}

std::string hex_text(wire::Bytes bytes) {
    std::string text;
    for (const std::byte one : bytes.first(std::min(bytes.size(), kMostHexBytes)))
        text += fmt::format("{:02x}", std::to_integer<unsigned>(one));
    if (bytes.size() > kMostHexBytes) text += fmt::format("... ({} bytes)", bytes.size());
    return text.empty() ? "none" : text;
}

// --- fields -----------------------------------------------------------------------------------

// The difference of two values; nothing if they agree.
using Compared = Met<std::optional<Difference>>;

// One field of one line against one packet, by the kind of value that the line writes.
class FieldComparison {
  public:
    FieldComparison(const script::FieldMatch& match, const Entry& entry,
                    const MatchContext& context)
        : match_(match), entry_(entry), context_(context), value_(field_of(entry, match.field)) {}

    Compared operator()(const script::HexBytes& hex) const {
        if (const auto* mad = std::get_if<script::MadField>(&match_.field)) {
            const wire::Bytes found = bytes_of(*mad, hex.bytes.size());
            return compared(equality(std::ranges::equal(found, hex.bytes)), hex_text(hex.bytes),
                            hex_text(found));
        }
        const wire::Bytes found =
            match_.field == FieldName(SpecialField::IpOptions)
                ? ip_options()
                : entry_.packet->body.subspan(entry_.packet->payload().size());
        return compared(equality(std::ranges::equal(found, hex.bytes)), hex_text(hex.bytes),
                        hex_text(found));
    }
    Compared operator()(const script::Address& address) const {
        if (const auto* mad = std::get_if<script::MadField>(&match_.field)) {
            const wire::Bytes found = bytes_of(*mad, wire::IpAddress{}.bytes.size());
            std::optional<wire::IpAddress> gid;
            if (found.size() == wire::IpAddress{}.bytes.size())
                gid = wire::IpAddress::from_v6(found);
            return address_compared(gid,
                                    context_.environment.address(address.name, address.offset));
        }
        const auto field = std::get<Field>(match_.field);
        if (wire::field_info(field).kind == wire::FieldKind::Mac) {
            const auto mac = wire::read_mac(entry_.bytes, entry_.frame.layers, field);
            const wire::MacAddress wanted = address.name == "dut" ? context_.environment.dut_mac
                                                                  : context_.environment.tester.mac;
            return address_compared(mac, std::optional(wanted));
        }
        return address_compared(wire::read_ip(entry_.bytes, entry_.frame.layers, field),
                                context_.environment.address(address.name, address.offset));
    }
    // Every ICRC but the right one is bad; the other kinds are numbers that a broken sender gets.
    Compared operator()(const wire::IcrcKind& kind) const {
        const wire::IcrcKind wanted = kind == wire::IcrcKind::Bad ? wire::IcrcKind::Good : kind;
        const bool equal = entry_.frame.icrc == wire::icrc_of(wanted, entry_.frame.covered());
        return compared(equality(equal != (kind == wire::IcrcKind::Bad)),
                        std::string(wire::name_of(kind)), icrc_text());
    }
    Compared operator()(const wire::UdpChecksumKind& kind) const {
        const wire::UdpChecksumKind found = wire::udp_checksum_kind(entry_.frame);
        return compared(equality(found == kind), udp_checksum_text(kind),
                        found == wire::UdpChecksumKind::Zero
                            ? udp_checksum_text(found)
                            : fmt::format("{} ({})", udp_checksum_text(found), this->found()));
    }
    Compared operator()(const wire::NakCode& code) const {
        return number_compared(value_, static_cast<std::int64_t>(code),
                               std::string(wire::name_of(code)), found());
    }
    Compared operator()(const script::Absolute& absolute) const {
        const auto wanted = number(absolute.value, lookup());
        if (!wanted) return std::unexpected(wanted.error());
        auto value = value_;
        if (match_.field == FieldName(Field::Psn)) value = entry_.packet->bth.psn.value();
        return number_compared(value, *wanted, "abs:" + value_text(*wanted, match_.field),
                               value ? "abs:" + value_text(value, match_.field) : "absent");
    }
    Compared operator()(const script::ValueRange& range) const {
        auto limits = bounds(range, lookup());
        if (!limits) return std::unexpected(limits.error());
        const std::string written = range_text(*limits);
        if (limits->low) limits->low = in_time(*limits->low);
        if (limits->high) limits->high = in_time(*limits->high);
        Order order;
        if (value_) order = equality(limits->has(in_time(*value_)));
        return compared(order, written, found());
    }
    Compared operator()(const script::Expr& expr) const {
        const auto wanted = number(expr, lookup());
        if (!wanted) return std::unexpected(wanted.error());
        return number_compared(value_, *wanted, value_text(*wanted, match_.field), found());
    }
    // Data is compared after the line has claimed the packet: it may need the DUT's memory.
    Compared operator()(const script::RegionSlice& /*slice*/) const { return std::nullopt; }

  private:
    // How the packet's value stands to the line's; nothing: the packet has no such value.
    using Order = std::optional<std::partial_ordering>;

    // Every kind of value comes through here, so that none forgets the line's comparison.
    [[nodiscard]] Compared compared(Order order, std::string expected, std::string actual) const {
        if (order && holds(match_.comparison, *order)) return std::nullopt;
        return Difference{.field = std::string(script::name_of(match_.field)),
                          .expected = with_comparison(match_.comparison, std::move(expected)),
                          .actual = std::move(actual)};
    }
    [[nodiscard]] Compared number_compared(std::optional<std::int64_t> value, std::int64_t wanted,
                                           std::string expected, std::string actual) const {
        Order order;
        if (value) order = in_time(*value) <=> in_time(wanted);
        return compared(order, std::move(expected), std::move(actual));
    }
    template <typename Address>
    [[nodiscard]] Compared address_compared(const std::optional<Address>& value,
                                            const std::optional<Address>& wanted) const {
        const auto text = [](const auto& one) { return one ? one->text() : "absent"; };
        Order order;
        if (value && wanted) order = equality(*value == *wanted);
        return compared(order, text(wanted), text(value));
    }
    // As many bytes of the field as there are; a line may write fewer than the field has.
    [[nodiscard]] wire::Bytes bytes_of(const script::MadField& field, std::size_t wanted) const {
        const wire::Bytes datagram = entry_.packet->body;
        const std::size_t at = std::min<std::size_t>(field.bit / 8, datagram.size());
        return datagram.subspan(at, std::min(wanted, datagram.size() - at));
    }
    // IPv6 has none.
    [[nodiscard]] wire::Bytes ip_options() const {
        if (!entry_.frame.ipv4) return {};
        const wire::Outer& outer = entry_.frame.outer;
        const std::size_t at = outer.ip_at + wire::Ipv4::kSize;
        return wire::Bytes(entry_.bytes).subspan(at, outer.udp_at - at);
    }
    // "swapped", if the number is one that has a name; else the number.
    [[nodiscard]] std::string icrc_text() const {
        for (const auto kind : {wire::IcrcKind::Good, wire::IcrcKind::Swapped, wire::IcrcKind::Zero,
                                wire::IcrcKind::Unmasked}) {
            if (entry_.frame.icrc == wire::icrc_of(kind, entry_.frame.covered())) {
                return std::string(wire::name_of(kind));
            }
        }
        return found();
    }
    [[nodiscard]] static std::string udp_checksum_text(wire::UdpChecksumKind kind) {
        switch (kind) {
        case wire::UdpChecksumKind::Zero: return "0";
        case wire::UdpChecksumKind::Good: return "good";
        case wire::UdpChecksumKind::Bad: return "bad";
        }
        return "0";
    }
    [[nodiscard]] script::Lookup lookup() const {
        return lookup_of(entry_, context_, match_.field);
    }
    [[nodiscard]] std::string found() const { return value_text(value_, match_.field); }
    [[nodiscard]] std::string range_text(const script::Bounds& limits) const {
        return fmt::format("{}..{}", limits.low ? value_text(*limits.low, match_.field) : "",
                           limits.high ? value_text(*limits.high, match_.field) : "");
    }
    // Timer codes are compared as times.
    [[nodiscard]] std::int64_t in_time(std::int64_t code) const {
        if (match_.field != FieldName(SpecialField::Timer)) return code;
        return wire::rnr_time(static_cast<std::uint8_t>(code & 0x1F)).count();
    }

    const script::FieldMatch& match_;
    const Entry& entry_;
    const MatchContext& context_;
    std::optional<std::int64_t> value_;
};

Met<Match> match_fields(const std::vector<script::FieldMatch>& matches, const Entry& entry,
                        const MatchContext& context) {
    Match result{.right_kind = true, .differences = {}, .detail = {}};
    for (const script::FieldMatch& match : matches) {
        if (match.field == FieldName(SpecialField::Data))
            continue; // compared after the line has claimed the packet
        auto compared = std::visit(FieldComparison(match, entry, context), match.value);
        if (!compared) return std::unexpected(std::move(compared.error()));
        if (*compared) result.differences.push_back(std::move(**compared));
    }
    result.satisfied = result.differences.empty();
    return result;
}

// --- kinds ------------------------------------------------------------------------------------

class KindComparison {
  public:
    KindComparison(const Entry& entry, const MatchContext& context)
        : packet_(*entry.packet), context_(context) {}

    bool operator()(const script::Opcode& opcode) const {
        return packet_.info().code == opcode.code;
    }
    bool operator()(const Acknowledgement& wanted) const {
        return acknowledgement_of(packet_) == wanted;
    }
    bool operator()(const script::Message& message) const {
        return packet_.info().service == context_.book.identity().service &&
               packet_.info().operation == script::operation_of(message);
    }
    bool operator()(const script::SameAs& same) const {
        const wire::Packet* named = context_.packet_of_name(same.name);
        return named != nullptr && same_packet(*named, packet_);
    }
    bool operator()(const script::Management& wanted) const {
        return management_of(packet_) == wanted.attribute;
    }

  private:
    const wire::Packet& packet_;
    const MatchContext& context_;
};

struct KindText {
    std::string operator()(const script::Opcode& opcode) const {
        return std::string(wire::opcode_info(opcode.code).name);
    }
    std::string operator()(const Acknowledgement& wanted) const {
        return std::string(script::name_of(wanted));
    }
    std::string operator()(const script::Message& message) const {
        return std::string(script::name_of(message));
    }
    std::string operator()(const script::SameAs& same) const { return "= " + same.name; }
    std::string operator()(const script::Management& wanted) const {
        return std::string(script::management_name(wanted.attribute));
    }
};

// The packet is of another kind. For two acknowledges the other differing fields are listed too.
Met<Match> another_kind(const script::ExpectPacket& line, const Entry& entry,
                        const MatchContext& context) {
    Match result;
    if (std::holds_alternative<Acknowledgement>(line.kind) && acknowledgement_of(*entry.packet)) {
        std::vector<script::FieldMatch> common;
        for (const script::FieldMatch& one : line.matches) {
            if (one.field == FieldName(Field::Psn) || one.field == FieldName(Field::Msn)) {
                common.push_back(one);
            }
        }
        auto fields = match_fields(common, entry, context);
        if (!fields) return std::unexpected(std::move(fields.error()));
        result.differences = std::move(fields->differences);
    }
    result.differences.insert(result.differences.begin(),
                              {.field = "packet",
                               .expected = kind_text(line.kind),
                               .actual = std::string(opcode_text(*entry.packet))});
    return result;
}

// `< ACK psn=P`: the first acknowledgement that covers P satisfies it. Returns nothing if the line
// or the packet is not such an acknowledgement; then they are compared field by field.
Met<std::optional<Match>> covers(const script::ExpectPacket& line, const Entry& entry,
                                 const MatchContext& context) {
    const auto* ack = std::get_if<Acknowledgement>(&line.kind);
    if (ack == nullptr || *ack != Acknowledgement::Ack || line.exact) return std::nullopt;
    const script::FieldMatch* psn = match_of(line.matches, Field::Psn);
    const auto* expr = psn == nullptr ? nullptr : std::get_if<script::Expr>(&psn->value);
    if (expr == nullptr || psn->comparison != Comparison::Equal) return std::nullopt;
    const auto wanted = number(*expr, lookup_of(entry, context, Field::Psn));
    if (!wanted) return std::unexpected(wanted.error());

    if (acknowledgement_of(*entry.packet) == Acknowledgement::Ack) {
        // An ACK of a PSN that was never sent is wrong and must not be passed over.
        if (entry.psn < *wanted || entry.psn >= context.book.next_request()) return std::nullopt;
        std::vector<script::FieldMatch> rest = line.matches;
        std::erase_if(rest, [&](const script::FieldMatch& match) {
            return match.field == FieldName(Field::Psn) ||
                   (match.field == FieldName(Field::Msn) && entry.psn != *wanted);
        });
        auto fields = match_fields(rest, entry, context);
        if (!fields) return std::unexpected(std::move(fields.error()));
        return std::move(*fields);
    }
    const wire::Operation operation = entry.packet->info().operation;
    const bool other_answer = operation == wire::Operation::RdmaReadResponse ||
                              operation == wire::Operation::AtomicAcknowledge;
    if (!other_answer || entry.psn <= *wanted) return std::nullopt;
    return Match{.satisfied = true, .claims = false, .differences = {}, .detail = {}};
}

// --- what else decides ------------------------------------------------------------------------

// N-05: a packet of another VLAN is not ours.
std::optional<Difference> foreign_vlan(const Entry& entry, const Environment& environment) {
    const std::uint16_t found = vlan_id_of(entry.frame.vlan);
    const std::uint16_t wanted = vlan_id_of(environment.vlan);
    if (found == wanted) return std::nullopt;
    const auto text = [](std::uint16_t id) {
        return id == 0 ? std::string("none") : fmt::format("{}", id);
    };
    return Difference{.field = "vlan", .expected = text(wanted), .actual = text(found)};
}

// A retransmission after which the DUT's timer may have expired since it last sent this PSN.
bool timer_may_have_run_out(const Entry& entry, const MatchContext& context) {
    const auto timeout = wire::ack_timeout(context.timeout);
    if (entry.packet->info().service != wire::Service::Rc || !timeout || !entry.sent_before) {
        return false;
    }
    return entry.at.latest - entry.sent_before->earliest >= *timeout;
}

// A retransmission of the DUT that our last packet did not cause, or may not have caused.
bool crosses_ours(const Entry& entry, const MatchContext& context) {
    return context.last_sent &&
           entry.at.earliest <= context.last_sent->latest + context.environment.round_trip_p99 &&
           (timer_may_have_run_out(entry, context) || is_early_resend(entry, context));
}

// A retransmission of the DUT's own accord, before our last packet left: a line behind that waits
// for what the packet causes. Of a device that is known for it, also at the moment when it left.
bool precedes_ours(const Entry& entry, const MatchContext& context) {
    if (!context.last_sent || !entry.unprovoked || !is_early_resend(entry, context)) return false;
    const wire::Instant ours = context.last_sent->earliest;
    return entry.at.latest < ours ||
           (entry.at.latest == ours && context.environment.early_ack_timer());
}

// ACK-07: more messages than have ended.
bool counts_too_much(const Entry& entry, const MatchContext& context) {
    return entry.packet->headers.has(wire::Header::Aeth) &&
           entry.packet->aeth.msn.value > context.book.messages_sent();
}

} // namespace

bool is_early_resend(const Entry& entry, const MatchContext& context) {
    if (!context.early_resends || !entry.packet || entry.lost() || !entry.sent_before) return false;
    const wire::OpcodeInfo& info = entry.packet->info();
    if (info.service != wire::Service::Rc || !info.request() || context.timeout == 0) return false;
    const bool at_once = entry.at.latest - entry.sent_before->earliest < kLeastAdaptiveTimeout;
    if (at_once && !context.environment.early_ack_timer()) return false;
    return !entry.answered ||
           entry.at.earliest <= entry.answered->at.latest + context.environment.round_trip_p99;
}

bool same_acknowledge(const wire::Packet& one, const wire::Packet& other) {
    return acknowledgement_of(one) == Acknowledgement::Ack &&
           acknowledgement_of(other) == Acknowledgement::Ack && one.bth.psn == other.bth.psn &&
           one.aeth.syndrome == other.aeth.syndrome && one.aeth.msn == other.aeth.msn;
}

bool holds(Comparison comparison, std::partial_ordering order) {
    switch (comparison) {
    case Comparison::Equal: return order == 0;
    case Comparison::NotEqual: return order != 0;
    case Comparison::AtMost: return order <= 0;
    case Comparison::AtLeast: return order >= 0;
    }
    return false;
}

Met<Match> match(const script::ExpectPacket& line, const Entry& entry,
                 const MatchContext& context) {
    if (!entry.packet) {
        return Match{
            .differences = {{"packet", kind_text(line.kind), "too few bytes for its headers"}},
            .detail = {}};
    }
    const bool right_kind = std::visit(KindComparison(entry, context), line.kind);
    if (entry.lost() && match_of(line.matches, SpecialField::Icrc) == nullptr) {
        return Match{
            .right_kind = right_kind, .differences = {{"icrc", "good", "bad"}}, .detail = {}};
    }
    if (auto foreign = foreign_vlan(entry, context.environment)) {
        return Match{.right_kind = right_kind, .differences = {std::move(*foreign)}, .detail = {}};
    }
    auto covered = covers(line, entry, context);
    if (!covered) return std::unexpected(std::move(covered.error()));
    if (*covered) return std::move(**covered);
    if (!right_kind) return another_kind(line, entry, context);
    if (precedes_ours(entry, context) || (line.after && crosses_ours(entry, context))) {
        return Match{.right_kind = true,
                     .differences = {},
                     .detail = "it may have left before our last packet arrived"};
    }
    return match_fields(line.matches, entry, context);
}

std::string kind_text(const script::PacketKind& kind) {
    return std::visit(KindText{}, kind);
}

const script::FieldMatch* match_of(const std::vector<script::FieldMatch>& matches,
                                   FieldName field) {
    const auto found =
        std::ranges::find_if(matches, [&](const auto& match) { return match.field == field; });
    return found == matches.end() ? nullptr : &*found;
}

std::optional<std::int64_t> field_of(const Entry& entry, const FieldName& field) {
    if (!entry.packet) return std::nullopt;
    const wire::Packet& packet = *entry.packet;
    if (const auto* wire_field = std::get_if<Field>(&field)) {
        if (*wire_field == Field::Psn) return entry.psn;
        const auto value = wire::read_field(entry.bytes, entry.frame.layers, *wire_field);
        if (!value) return std::nullopt;
        return static_cast<std::int64_t>(*value);
    }
    if (const auto* mad = std::get_if<script::MadField>(&field)) {
        const bool there = mad->bits <= 64 && mad->bit + mad->bits <= packet.body.size() * 8;
        if (!there) return std::nullopt;
        return static_cast<std::int64_t>(wire::load_bits(packet.body, mad->bit, mad->bits));
    }
    switch (std::get<SpecialField>(field)) {
    case SpecialField::Length: return static_cast<std::int64_t>(packet.payload().size());
    case SpecialField::Credits:
    case SpecialField::Timer:
    case SpecialField::Code:
        if (!packet.headers.has(wire::Header::Aeth)) return std::nullopt;
        return packet.aeth.syndrome.code();
    case SpecialField::UdpChecksum: return entry.frame.udp.checksum;
    case SpecialField::Icrc: { // as it is written and shown: the first byte is the highest
        const auto icrc = wire::read_field(entry.bytes, entry.frame.layers, Field::Icrc);
        if (!icrc) return std::nullopt;
        return static_cast<std::int64_t>(*icrc);
    }
    case SpecialField::Data:
    case SpecialField::PadBytes:
    case SpecialField::IpOptions: return std::nullopt;
    }
    return std::nullopt;
}

script::Lookup lookup_of(const Entry& entry, const MatchContext& context,
                         std::optional<FieldName> field) {
    return {.name = [&context,
                     field](std::string_view name) { return context.value_of_name(name, field); },
            .field = [&entry](const FieldName& wanted) { return field_of(entry, wanted); },
            .least_timeout = context.environment.ack_timer_floor};
}

bool needs_no_line_of_engine(const Entry& entry, const MatchContext& context) {
    if (entry.lost()) return true;
    if (!entry.packet || entry.refusal || counts_too_much(entry, context)) return false;
    if (foreign_vlan(entry, context.environment)) return false;
    const wire::OpcodeInfo& info = entry.packet->info();
    const bool answer = info.service == wire::Service::Rc && info.response() &&
                        info.operation != wire::Operation::Cnp;
    return !answer || entry.psn <= context.book.next_request();
}

bool needs_no_line(const Entry& entry, const MatchContext& context) {
    if (entry.lost()) return true;
    if (!entry.packet || entry.refusal || counts_too_much(entry, context)) return false;
    if (foreign_vlan(entry, context.environment)) return false;
    const wire::Packet& packet = *entry.packet;
    const QpBook& book = context.book;
    switch (packet.info().operation) {
    case wire::Operation::Cnp: return true;
    case wire::Operation::Acknowledge:
        // ACK-02, ACK-03: a responder may acknowledge what was sent at any time.
        if (acknowledgement_of(packet) == Acknowledgement::Ack)
            return entry.psn < book.next_request();
        // RNR-04: after an RNR NAK, a sequence NAK for the same PSN should not be, but may be.
        return packet.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence &&
               entry.psn == book.rnr_naked();
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::AtomicAcknowledge:
        // A duplicate of ours may bring later responses again (N-38).
        return book.dut_responses(entry.psn) > 1 && book.repeated_up_to(entry.psn);
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
    return timer_may_have_run_out(entry, context) || is_early_resend(entry, context) ||
           entry.continues_pieces;
}

} // namespace veriroce::interpreter
