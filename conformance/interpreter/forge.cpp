#include "conformance/interpreter/forge.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "conformance/dut/pattern.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/honest_sender.hpp"
#include "conformance/interpreter/management.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/values.hpp"

namespace veriroce::interpreter {
namespace {

using script::SpecialField;
using wire::Field;

constexpr std::size_t kDefaultPayload = 64; // bytes of a whole message

std::vector<std::byte> offsets(std::size_t length, std::uint64_t first) {
    std::vector<std::byte> bytes(length);
    dut::write_pattern(bytes, dut::Pattern::Offsets, first, 0);
    return bytes;
}

// --- one packet -------------------------------------------------------------------------------

// Writes the fields of a line into a spec.
class Writer {
  public:
    Writer(Objects& objects, const Environment& environment, const CaseQp& qp,
           wire::PacketSpec& spec, bool datagram)
        : objects_(objects), environment_(environment), qp_(qp), spec_(spec), datagram_(datagram) {}

    Met<> write(const script::FieldWrite& field) {
        if (const auto* mad = std::get_if<script::MadField>(&field.field))
            return write(field, *mad);
        if (const auto* of_header = std::get_if<Field>(&field.field)) {
            return write(field, *of_header);
        }
        return write(field, std::get<SpecialField>(field.field));
    }

  private:
    [[nodiscard]] Met<std::uint64_t> number_of(const script::FieldWrite& field) const {
        const auto* expr = std::get_if<script::Expr>(&field.value);
        const auto* absolute = std::get_if<script::Absolute>(&field.value);
        if (expr == nullptr && absolute == nullptr) {
            return unplayable(field.span, "expected a number");
        }
        const auto value =
            number(objects_, expr != nullptr ? *expr : absolute->value, qp_, field.field);
        if (!value) return std::unexpected(value.error());
        if (expr != nullptr && field.field == script::FieldName(Field::Psn)) {
            return qp_.book.absolute_psn(Side::Tester, spec_.opcode, *value).value();
        }
        return static_cast<std::uint64_t>(*value);
    }

    Met<> write(const script::FieldWrite& field, Field of_header) {
        if (const auto* address = std::get_if<script::Address>(&field.value)) {
            return write_address(*address, of_header, field.span);
        }
        const auto value = number_of(field);
        if (!value) return std::unexpected(value.error());
        spec_.fields.push_back({of_header, *value});
        return {};
    }

    Met<> write(const script::FieldWrite& field, const script::MadField& mad) {
        std::vector<std::byte>& datagram = *spec_.payload; // an honest one
        const wire::MutableBytes place =
            wire::MutableBytes(datagram).subspan(mad.bit / 8, (mad.bit % 8 + mad.bits + 7) / 8U);
        if (const auto* hex = std::get_if<script::HexBytes>(&field.value)) {
            std::ranges::copy(hex->bytes, place.begin());
            return {};
        }
        if (const auto* address = std::get_if<script::Address>(&field.value)) {
            const auto ip = environment_.address(address->name, address->offset);
            if (!ip) return unplayable(field.span, "no such address");
            std::ranges::copy(ip->bytes, place.begin());
            return {};
        }
        const auto value = number_of(field);
        if (!value) return std::unexpected(value.error());
        put_mad_field(datagram, mad, *value);
        return {};
    }

    Met<> write_address(const script::Address& address, Field of_header, Span span) {
        if (wire::field_info(of_header).kind == wire::FieldKind::Mac) {
            const bool dut = address.name == "dut" || environment_.dut_named.contains(address.name);
            spec_.fields.push_back(
                {of_header, dut ? environment_.dut_mac : environment_.tester.mac});
            return {};
        }
        const auto ip = environment_.address(address.name, address.offset);
        if (!ip) return unplayable(span, "no such address");
        spec_.fields.push_back({of_header, *ip});
        return {};
    }

    Met<> write(const script::FieldWrite& field, SpecialField special) {
        switch (special) {
        case SpecialField::Data: return write_data(field);
        case SpecialField::PadBytes:
            spec_.pad_bytes = std::get<script::HexBytes>(field.value).bytes;
            return {};
        case SpecialField::IpOptions:
            spec_.ip_options = std::get<script::HexBytes>(field.value).bytes;
            return {};
        case SpecialField::Icrc:
            if (const auto* kind = std::get_if<wire::IcrcKind>(&field.value)) {
                spec_.icrc = *kind;
                return {};
            }
            break;
        case SpecialField::UdpChecksum:
            if (const auto* kind = std::get_if<wire::UdpChecksumKind>(&field.value)) {
                spec_.udp_checksum = *kind;
                return {};
            }
            break;
        case SpecialField::Code:
            if (const auto* code = std::get_if<wire::NakCode>(&field.value)) {
                put_syndrome(wire::Syndrome::nak(*code).value);
                return {};
            }
            break;
        case SpecialField::Length:
        case SpecialField::Credits:
        case SpecialField::Timer: break;
        }
        const auto value = number_of(field);
        if (!value) return std::unexpected(value.error());
        write_number(special, *value);
        return {};
    }

    void write_number(SpecialField special, std::uint64_t value) {
        constexpr std::uint64_t code_bits = 0x1F;
        switch (special) {
        case SpecialField::Length:
            if (datagram_)
                spec_.payload->resize(static_cast<std::size_t>(value)); // zeros behind it
            else
                spec_.payload = offsets(static_cast<std::size_t>(value), 0);
            return;
        case SpecialField::Icrc: spec_.icrc = static_cast<std::uint32_t>(value); return;
        case SpecialField::UdpChecksum:
            spec_.udp_checksum = static_cast<std::uint16_t>(value);
            return;
        case SpecialField::Credits: return put_syndrome(value & code_bits);
        case SpecialField::Timer: return put_syndrome(0x20 | (value & code_bits));
        case SpecialField::Code: return put_syndrome(0x60 | (value & code_bits));
        case SpecialField::Data:
        case SpecialField::PadBytes:
        case SpecialField::IpOptions: return; // bytes, not a number
        }
    }

    void put_syndrome(std::uint64_t value) { spec_.fields.push_back({Field::Syndrome, value}); }

    Met<> write_data(const script::FieldWrite& field) {
        if (const auto* hex = std::get_if<script::HexBytes>(&field.value)) {
            spec_.payload = hex->bytes;
            return {};
        }
        const auto piece = piece_of(objects_, std::get<script::RegionSlice>(field.value), qp_);
        if (!piece) return std::unexpected(piece.error());
        const auto bytes = wire::Bytes(piece->memory->bytes).subspan(piece->offset, piece->length);
        spec_.payload.emplace(bytes.begin(), bytes.end());
        return {};
    }

    Objects& objects_;
    const Environment& environment_;
    const CaseQp& qp_;
    wire::PacketSpec& spec_;
    bool datagram_; // of management
};

// Where a bit of a management datagram is, counted from the IP header, which has no options. Bit 0
// of a field is its least significant.
wire::Flip flip_of(const script::MadField& field, std::uint64_t bit, const CaseQp& qp) {
    constexpr std::size_t before = 8 + wire::Bth::kSize + wire::Deth::kSize; // with UDP
    const std::size_t at = field.bit + field.bits - 1U - bit;
    const std::size_t ip = qp.tester_address.v4() ? wire::Ipv4::kSize : wire::Ipv6::kSize;
    return {.where = ip + before + at / 8, .bit = static_cast<std::uint8_t>(7 - at % 8)};
}

Met<std::vector<wire::Flip>> flips_of(const Objects& objects,
                                      const std::vector<script::FlipBit>& lines, const CaseQp& qp) {
    std::vector<wire::Flip> flips;
    for (const script::FlipBit& flip : lines) {
        if (const auto* mad = std::get_if<script::MadField>(&flip.where)) {
            const auto bit = number(objects, flip.bit, qp);
            if (!bit) return std::unexpected(bit.error());
            flips.push_back(flip_of(*mad, static_cast<std::uint64_t>(*bit), qp));
            continue;
        }
        wire::Flip one;
        if (const auto* field = std::get_if<Field>(&flip.where)) {
            one.where = *field;
        } else {
            const auto byte = number(objects, std::get<script::Expr>(flip.where), qp);
            if (!byte) return std::unexpected(byte.error());
            one.where = static_cast<std::size_t>(*byte);
        }
        const auto bit = number(objects, flip.bit, qp);
        if (!bit) return std::unexpected(bit.error());
        one.bit = static_cast<std::uint8_t>(*bit);
        flips.push_back(one);
    }
    return flips;
}

Met<wire::Damage> damage_of(const Objects& objects, const script::DamageSpec& line,
                            const CaseQp& qp) {
    wire::Damage damage;
    const auto size_of = [&](const script::Expr& expr) -> Met<std::size_t> {
        const auto value = number(objects, expr, qp);
        if (!value) return std::unexpected(value.error());
        return static_cast<std::size_t>(*value);
    };
    for (const auto& [written, into] :
         {std::pair{&line.truncate, &damage.truncate}, {&line.cut, &damage.cut}}) {
        if (!*written) continue;
        const auto size = size_of(**written);
        if (!size) return std::unexpected(size.error());
        *into = *size;
    }
    if (line.trailer) {
        const auto size = size_of(*line.trailer);
        if (!size) return std::unexpected(size.error());
        damage.trailer = *size;
    }
    auto flips = flips_of(objects, line.flips, qp);
    if (!flips) return std::unexpected(std::move(flips.error()));
    damage.flips = std::move(*flips);
    damage.untagged = line.untagged;
    return damage;
}

Met<wire::PacketSpec> spec_of(Objects& objects, const Environment& environment,
                              const script::SendPacket& line, const CaseQp& qp,
                              std::uint8_t opcode) {
    wire::PacketSpec spec;
    spec.opcode = opcode;
    const auto* acknowledgement = std::get_if<script::Acknowledgement>(&line.kind);
    if (acknowledgement != nullptr && *acknowledgement == script::Acknowledgement::RnrNak) {
        spec.fields.push_back({Field::Syndrome, std::uint64_t{wire::Syndrome::rnr(1).value}});
    } else if (acknowledgement != nullptr && *acknowledgement == script::Acknowledgement::Nak) {
        spec.fields.push_back(
            {Field::Syndrome,
             std::uint64_t{wire::Syndrome::nak(wire::NakCode::PsnSequence).value}});
    }
    const auto* management = std::get_if<script::Management>(&line.kind);
    if (management != nullptr)
        spec.payload = honest_datagram(management->attribute, objects, environment, qp);
    Writer writer(objects, environment, qp, spec, management != nullptr);
    for (const script::FieldWrite& field : line.fields) {
        if (auto written = writer.write(field); !written) return std::unexpected(written.error());
    }
    auto inverted = flips_of(objects, line.damage.inverts, qp);
    if (!inverted) return std::unexpected(std::move(inverted.error()));
    spec.inverted = std::move(*inverted);
    auto damage = damage_of(objects, line.damage, qp);
    if (!damage) return std::unexpected(std::move(damage.error()));
    spec.damage = std::move(*damage);
    return spec;
}

// --- a whole message --------------------------------------------------------------------------

struct Segment {
    wire::Position position;
    std::size_t bytes;
};

// Cuts a message of this length into packets (LEN-10).
std::vector<Segment> segments_of(std::uint64_t length, wire::Mtu mtu) {
    const std::uint32_t packets = wire::packets_of(length, mtu);
    std::vector<Segment> segments;
    for (std::uint32_t i = 0; i < packets; ++i) {
        const bool first = i == 0;
        const bool last = i + 1 == packets;
        const std::uint64_t before = std::uint64_t{i} * wire::bytes_of(mtu);
        const auto bytes =
            static_cast<std::size_t>(std::min<std::uint64_t>(length - before, wire::bytes_of(mtu)));
        const wire::Position position = first && last ? wire::Position::Only
                                        : first       ? wire::Position::First
                                        : last        ? wire::Position::Last
                                                      : wire::Position::Middle;
        segments.push_back({position, bytes});
    }
    return segments;
}

struct MessageKind {
    wire::Operation operation;
    bool immediate = false;
    bool invalidate = false;
};

MessageKind kind_of(script::Message message) {
    switch (message) {
    case script::Message::Send: return {wire::Operation::Send};
    case script::Message::SendWithImm: return {wire::Operation::Send, true};
    case script::Message::SendWithInv: return {wire::Operation::Send, false, true};
    case script::Message::RdmaWrite: return {wire::Operation::RdmaWrite};
    case script::Message::RdmaWriteWithImm: return {wire::Operation::RdmaWrite, true};
    case script::Message::RdmaReadResponse: return {wire::Operation::RdmaReadResponse};
    }
    return {wire::Operation::Send};
}

// Removes those fields of the message's first packet that this packet does not have.
bool not_in_packet(Field field, const wire::OpcodeInfo& info, bool last) {
    const bool reth = field == Field::Va || field == Field::Rkey || field == Field::DmaLength;
    const bool tail = field == Field::AckReq || field == Field::SolicitedEvent ||
                      field == Field::Imm || field == Field::Ikey;
    return field == Field::Psn || (reth && !info.headers.has(wire::Header::Reth)) ||
           (tail && !last);
}

wire::Psn first_psn_of(const wire::PacketSpec& first, const CaseQp& qp) {
    if (const wire::FieldValue* psn = first.written(Field::Psn)) {
        return wire::Psn(static_cast<std::uint32_t>(std::get<std::uint64_t>(*psn)));
    }
    return qp.book.absolute_psn(Side::Tester, first.opcode, next_psn(qp, first.opcode));
}

std::vector<wire::PacketSpec> cut(const wire::PacketSpec& first, const MessageKind& kind,
                                  const script::SendPacket& line, const CaseQp& qp) {
    const QpIdentity& identity = qp.book.identity();
    const std::uint64_t length = first.payload ? first.payload->size() : kDefaultPayload;
    const wire::Psn base = first_psn_of(first, qp);
    const bool dma_length_written = std::ranges::any_of(line.fields, [](const auto& one) {
        return one.field == script::FieldName(Field::DmaLength);
    });
    std::vector<wire::PacketSpec> specs;
    std::uint64_t done = 0;
    for (const Segment& segment : segments_of(length, identity.mtu)) {
        const bool last =
            segment.position == wire::Position::Last || segment.position == wire::Position::Only;
        wire::PacketSpec spec = first;
        spec.opcode = *wire::opcode_of(identity.service, kind.operation, segment.position,
                                       kind.immediate && last, kind.invalidate && last);
        const wire::OpcodeInfo& info = wire::opcode_info(spec.opcode);
        std::erase_if(spec.fields, [&](const wire::PacketSpec::Written& one) {
            return not_in_packet(one.field, info, last);
        });
        const wire::Psn psn = base + static_cast<std::int64_t>(specs.size());
        spec.fields.push_back({Field::Psn, std::uint64_t{psn.value()}});
        if (info.headers.has(wire::Header::Reth) && !dma_length_written) {
            spec.fields.push_back({Field::DmaLength, length});
        }
        if (first.payload) {
            const auto part = wire::Bytes(*first.payload).subspan(done, segment.bytes);
            spec.payload.emplace(part.begin(), part.end());
        } else {
            spec.payload = offsets(segment.bytes, done);
        }
        done += segment.bytes;
        specs.push_back(std::move(spec));
    }
    return specs;
}

} // namespace

Met<std::vector<wire::PacketSpec>> packets_of(Objects& objects, const Environment& environment,
                                              const script::SendPacket& line, const CaseQp& qp) {
    const auto* message = std::get_if<script::Message>(&line.kind);
    if (message == nullptr) {
        const auto* opcode = std::get_if<script::Opcode>(&line.kind);
        const std::uint8_t code = opcode != nullptr ? opcode->code
                                  : std::holds_alternative<script::Management>(line.kind)
                                      ? *wire::opcode_by_name("SEND_ONLY", wire::Service::Ud)
                                      : *wire::opcode_by_name("ACKNOWLEDGE");
        auto spec = spec_of(objects, environment, line, qp, code);
        if (!spec) return std::unexpected(std::move(spec.error()));
        return std::vector{std::move(*spec)};
    }
    const MessageKind kind = kind_of(*message);
    const std::uint8_t only =
        *wire::opcode_of(qp.book.identity().service, kind.operation, wire::Position::Only,
                         kind.immediate, kind.invalidate);
    const auto first = spec_of(objects, environment, line, qp, only);
    if (!first) return std::unexpected(first.error());
    return cut(*first, kind, line, qp);
}

} // namespace veriroce::interpreter
