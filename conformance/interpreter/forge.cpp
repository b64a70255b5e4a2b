// `>` lines: what an honest peer would send at this moment, and what the script makes of it.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/dut/pattern.hpp"
#include "conformance/interpreter/frames.hpp"
#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {
namespace {

using script::SpecialField;
using wire::Field;

constexpr std::size_t default_payload = 64; // of a whole message

std::vector<std::byte> offsets(std::size_t length, std::uint64_t first) {
    std::vector<std::byte> bytes(length);
    dut::write_pattern(bytes, dut::Pattern::Offsets, first, 0);
    return bytes;
}

struct Segment {
    wire::Position position;
    std::size_t bytes;
};

// How a message of this length is cut into packets (LEN-10).
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

// What a link's MTU does not count: the Ethernet header, and a VLAN tag.
std::size_t link_bytes_of(wire::Bytes frame) {
    constexpr std::size_t with_tag = wire::Ethernet::kSize + wire::VlanTag::kSize;
    const bool tagged =
        frame.size() >= with_tag && wire::load_u16(frame, wire::Ethernet::kSize - 2) ==
                                        static_cast<std::uint16_t>(wire::EtherType::Vlan);
    return tagged ? with_tag : wire::Ethernet::kSize;
}

bool names(const script::SendPacket& line, script::FieldName field) {
    return std::ranges::any_of(line.fields,
                               [&](const script::FieldWrite& one) { return one.field == field; });
}

} // namespace

// --- what the script writes -------------------------------------------------------------------

Met<> Interpreter::write(wire::PacketSpec& spec, const script::FieldWrite& field, Peer& peer) {
    const auto as_number = [&]() -> Met<std::uint64_t> {
        const auto* expr = std::get_if<script::Expr>(&field.value);
        const auto* absolute = std::get_if<script::Absolute>(&field.value);
        if (expr == nullptr && absolute == nullptr) {
            return std::unexpected(error(field.span, "a number is needed here"));
        }
        auto value = number(expr != nullptr ? *expr : absolute->value, peer, field.field);
        if (!value) return std::unexpected(value.error());
        if (expr != nullptr && field.field == script::FieldName(Field::Psn)) {
            return peer.book.absolute_psn(Side::Tester, spec.opcode, *value).value();
        }
        return static_cast<std::uint64_t>(*value);
    };
    const auto put = [&](Field where, std::uint64_t value) {
        spec.fields.push_back({where, value});
        return Met<>{};
    };

    if (const auto* wire_field = std::get_if<Field>(&field.field)) {
        if (const auto* address = std::get_if<script::Address>(&field.value)) {
            const wire::FieldInfo& info = wire::field_info(*wire_field);
            if (info.kind == wire::FieldKind::Mac) {
                spec.fields.push_back({*wire_field, address->name == "dut"
                                                        ? environment_.dut_mac
                                                        : environment_.tester.mac});
                return {};
            }
            const auto ip = address_of(*address);
            if (!ip) return std::unexpected(error(field.span, "no such address"));
            spec.fields.push_back({*wire_field, *ip});
            return {};
        }
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        return put(*wire_field, *value);
    }

    switch (std::get<SpecialField>(field.field)) {
    case SpecialField::Length: {
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        spec.payload = offsets(static_cast<std::size_t>(*value), 0);
        return {};
    }
    case SpecialField::Data: {
        if (const auto* hex = std::get_if<script::HexBytes>(&field.value)) {
            spec.payload = hex->bytes;
            return {};
        }
        const auto piece = piece_of(std::get<script::RegionSlice>(field.value), peer);
        if (!piece) return std::unexpected(piece.error());
        const auto bytes = wire::Bytes(piece->memory->bytes).subspan(piece->offset, piece->length);
        spec.payload.emplace(bytes.begin(), bytes.end());
        return {};
    }
    case SpecialField::PadBytes:
        spec.pad_bytes = std::get<script::HexBytes>(field.value).bytes;
        return {};
    case SpecialField::IpOptions:
        spec.ip_options = std::get<script::HexBytes>(field.value).bytes;
        return {};
    case SpecialField::Icrc: {
        if (const auto* kind = std::get_if<wire::IcrcKind>(&field.value)) {
            spec.icrc = *kind;
            return {};
        }
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        spec.icrc = static_cast<std::uint32_t>(*value);
        return {};
    }
    case SpecialField::UdpChecksum: {
        if (const auto* kind = std::get_if<wire::UdpChecksumKind>(&field.value)) {
            spec.udp_checksum = *kind;
            return {};
        }
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        spec.udp_checksum = static_cast<std::uint16_t>(*value);
        return {};
    }
    case SpecialField::Credits: {
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        return put(Field::Syndrome, *value & 0x1F);
    }
    case SpecialField::Timer: {
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        return put(Field::Syndrome, 0x20 | (*value & 0x1F));
    }
    case SpecialField::Code: {
        if (const auto* code = std::get_if<wire::NakCode>(&field.value)) {
            return put(Field::Syndrome, wire::Syndrome::nak(*code).value);
        }
        const auto value = as_number();
        if (!value) return std::unexpected(value.error());
        return put(Field::Syndrome, 0x60 | (*value & 0x1F));
    }
    }
    return {};
}

Met<wire::PacketSpec> Interpreter::spec_of(const script::SendPacket& line, Peer& peer,
                                           std::uint8_t opcode) {
    wire::PacketSpec spec;
    spec.opcode = opcode;
    if (const auto* ack = std::get_if<script::Acknowledgement>(&line.kind)) {
        if (*ack == script::Acknowledgement::RnrNak) {
            spec.fields.push_back({Field::Syndrome, std::uint64_t{wire::Syndrome::rnr(1).value}});
        } else if (*ack == script::Acknowledgement::Nak) {
            spec.fields.push_back(
                {Field::Syndrome,
                 std::uint64_t{wire::Syndrome::nak(wire::NakCode::PsnSequence).value}});
        }
    }
    for (const script::FieldWrite& field : line.fields) {
        const auto written = write(spec, field, peer);
        if (!written) return std::unexpected(written.error());
    }
    const auto count = [&](const std::optional<script::Expr>& expr, auto&& take) -> Met<> {
        if (!expr) return {};
        const auto value = number(*expr, peer);
        if (!value) return std::unexpected(value.error());
        take(static_cast<std::size_t>(*value));
        return {};
    };
    wire::Damage& damage = spec.damage;
    if (auto met = count(line.damage.truncate, [&](std::size_t n) { damage.truncate = n; }); !met) {
        return std::unexpected(met.error());
    }
    if (auto met = count(line.damage.cut, [&](std::size_t n) { damage.cut = n; }); !met) {
        return std::unexpected(met.error());
    }
    if (auto met = count(line.damage.trailer, [&](std::size_t n) { damage.trailer = n; }); !met) {
        return std::unexpected(met.error());
    }
    for (const script::FlipBit& flip : line.damage.flips) {
        wire::Flip one;
        if (const auto* field = std::get_if<Field>(&flip.where)) {
            one.where = *field;
        } else {
            const auto byte = number(std::get<script::Expr>(flip.where), peer);
            if (!byte) return std::unexpected(byte.error());
            one.where = static_cast<std::size_t>(*byte);
        }
        const auto bit = number(flip.bit, peer);
        if (!bit) return std::unexpected(bit.error());
        one.bit = static_cast<std::uint8_t>(*bit);
        damage.flips.push_back(one);
    }
    return spec;
}

Met<std::vector<wire::PacketSpec>> Interpreter::packets_of(const script::SendPacket& line,
                                                           Peer& peer) {
    std::vector<wire::PacketSpec> specs;
    const auto* message = std::get_if<script::Message>(&line.kind);
    if (message == nullptr) {
        const auto* opcode = std::get_if<script::Opcode>(&line.kind);
        const std::uint8_t acknowledge = *wire::opcode_by_name("ACKNOWLEDGE");
        auto spec = spec_of(line, peer, opcode != nullptr ? opcode->code : acknowledge);
        if (!spec) return std::unexpected(spec.error());
        specs.push_back(std::move(*spec));
        return specs;
    }
    // A whole message: the line's fields say what the first packet carries; length, opcodes, PSNs
    // and payload of each packet follow, and AckReq belongs to the last.
    const MessageKind kind = kind_of(*message);
    auto first = spec_of(line, peer,
                         *wire::opcode_of(peer.book.identity().service, kind.operation,
                                          wire::Position::Only, kind.immediate, kind.invalidate));
    if (!first) return std::unexpected(first.error());
    const std::uint64_t length = first->payload ? first->payload->size() : default_payload;
    const std::int64_t base = [&] {
        if (const wire::FieldValue* psn = first->written(Field::Psn)) {
            return static_cast<std::int64_t>(std::get<std::uint64_t>(*psn));
        }
        return static_cast<std::int64_t>(
            peer.book.absolute_psn(Side::Tester, first->opcode, next_psn(peer, first->opcode))
                .value());
    }();
    const bool dma_length_written = names(line, Field::DmaLength);
    std::uint64_t done = 0;
    for (const Segment& segment : segments_of(length, peer.book.identity().mtu)) {
        const bool last =
            segment.position == wire::Position::Last || segment.position == wire::Position::Only;
        wire::PacketSpec spec = *first;
        spec.opcode =
            *wire::opcode_of(peer.book.identity().service, kind.operation, segment.position,
                             kind.immediate && last, kind.invalidate && last);
        const wire::OpcodeInfo& info = wire::opcode_info(spec.opcode);
        std::erase_if(spec.fields, [&](const wire::PacketSpec::Written& one) {
            const bool reth =
                one.field == Field::Va || one.field == Field::Rkey || one.field == Field::DmaLength;
            const bool tail = one.field == Field::AckReq || one.field == Field::SolicitedEvent ||
                              one.field == Field::Imm || one.field == Field::Ikey;
            return one.field == Field::Psn || (reth && !info.headers.has(wire::Header::Reth)) ||
                   (tail && !last);
        });
        const auto psn =
            wire::Psn(static_cast<std::uint32_t>(base)) + static_cast<std::int64_t>(specs.size());
        spec.fields.push_back({Field::Psn, std::uint64_t{psn.value()}});
        if (info.headers.has(wire::Header::Reth) && !dma_length_written) {
            spec.fields.push_back({Field::DmaLength, length});
        }
        spec.payload =
            first->payload
                ? std::vector<std::byte>(
                      first->payload->begin() + static_cast<std::ptrdiff_t>(done),
                      first->payload->begin() + static_cast<std::ptrdiff_t>(done + segment.bytes))
                : offsets(segment.bytes, done);
        done += segment.bytes;
        specs.push_back(std::move(spec));
    }
    return specs;
}

Task<Met<>> Interpreter::send(const script::SendPacket& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    if (line.after && !peer.entries.empty()) {
        const auto after = number(*line.after, peer);
        if (!after) co_return std::unexpected(after.error());
        const std::size_t behind = peer.entries.back();
        const wire::Instant base = history_[behind].at.latest;
        // Lines in between take the time that they take: it is not we who are late then.
        const bool at_once = line_end_.packet == behind;
        const wire::Duration wanted =
            std::max(wire::Duration(*after), at_once ? wire::Duration(0) : events_.now() - base);
        co_await events_.sleep(base + wanted);
        timed_.push_back({history_.size(), behind, wanted, span});
    }
    if (!peer.in_run) {
        peer.in_run = true;
        peer.run_start = peer.book.next_request();
    }
    auto specs = packets_of(line, peer);
    if (!specs) co_return std::unexpected(specs.error());
    std::optional<std::size_t> last;
    for (const wire::PacketSpec& spec : *specs) {
        if (++ip_id_ == 0) ip_id_ = 1; // a tester whose IDs are all 0 tests less (CRC-06)
        auto frame = wire::encode(spec, honest_sender(peer, spec.opcode, spec));
        if (!frame) {
            co_return std::unexpected(error(span, std::string(wire::text_of(frame.error().error))));
        }
        if (line.rocev1) {
            auto older = rocev1_frame(*frame);
            if (!older) co_return std::unexpected(error(span, "RoCEv1 needs a packet with a BTH"));
            *frame = std::move(*older);
        }
        const std::size_t link_bytes = link_bytes_of(*frame);
        if (frame->size() > environment_.tester.mtu + link_bytes) {
            co_return std::unexpected(
                Unmet{Verdict::Skip,
                      fmt::format("needs link MTU {}, has {}", frame->size() - link_bytes,
                                  environment_.tester.mtu),
                      span,
                      {},
                      {}});
        }
        if (line.as) named_packets_[line.as->text] = history_.size();
        last = history_.size();
        transmit(&peer, std::move(*frame));
    }
    line_ended();
    line_end_.packet = last;
    co_return Met<>{};
}

} // namespace veriroce::interpreter
