#include "conformance/interpreter/notation.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "conformance/interpreter/entry.hpp"
#include "conformance/script/mad_fields.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::interpreter {
namespace {

using script::SpecialField;
using wire::Field;

std::string syndrome_text(wire::Syndrome syndrome) {
    switch (syndrome.kind()) {
    case wire::AckKind::Ack:
        return syndrome.code() == wire::kNoCredits ? ""
                                                   : fmt::format(" credits={}", syndrome.code());
    case wire::AckKind::RnrNak: return fmt::format(" timer={}", syndrome.code());
    case wire::AckKind::Reserved: return fmt::format(" syndrome=0x{:02X}", syndrome.value);
    case wire::AckKind::Nak: break;
    }
    const auto code = syndrome.nak_code();
    return code ? fmt::format(" code={}", wire::name_of(*code))
                : fmt::format(" code={}", syndrome.code());
}

// The fields that tell packets of one kind apart.
void append_header(std::string& text, const wire::Packet& packet, wire::Header header) {
    const auto out = std::back_inserter(text);
    switch (header) {
    case wire::Header::Rdeth:
        fmt::format_to(out, " eecontext=0x{:X}", packet.rdeth.ee_context);
        break;
    case wire::Header::Deth:
        fmt::format_to(out, " qkey=0x{:X} srcqp=0x{:X}", packet.deth.qkey.value,
                       packet.deth.source_qp.value);
        break;
    case wire::Header::Xrceth: fmt::format_to(out, " srq=0x{:X}", packet.xrceth.srq); break;
    case wire::Header::Feth:
        fmt::format_to(out, " plt={} sel={}", packet.feth.placement, packet.feth.selectivity);
        break;
    case wire::Header::Reth:
        fmt::format_to(out, " va=0x{:X} rkey=0x{:X} dmalen={}", packet.reth.virtual_address,
                       packet.reth.rkey.value, packet.reth.dma_length);
        break;
    case wire::Header::AtomicEth:
        fmt::format_to(out, " va=0x{:X} rkey=0x{:X}", packet.atomic.virtual_address,
                       packet.atomic.rkey.value);
        break;
    case wire::Header::Aeth:
        fmt::format_to(out, " msn={}{}", packet.aeth.msn.value,
                       syndrome_text(packet.aeth.syndrome));
        break;
    case wire::Header::AtomicAckEth:
        fmt::format_to(out, " original=0x{:X}", packet.atomic_ack.original);
        break;
    case wire::Header::ImmDt: fmt::format_to(out, " imm=0x{:X}", packet.imm.value); break;
    case wire::Header::Ieth: fmt::format_to(out, " ikey=0x{:X}", packet.ieth.rkey.value); break;
    }
}

} // namespace

std::string value_text(std::optional<std::int64_t> value, const script::FieldName& field) {
    if (!value) return "absent";
    if (field == script::FieldName(SpecialField::Code) && *value <= 4) {
        return std::string(wire::name_of(static_cast<wire::NakCode>(*value)));
    }
    if (field == script::FieldName(SpecialField::Icrc)) return fmt::format("0x{:08X}", *value);
    if (field == script::FieldName(SpecialField::UdpChecksum))
        return fmt::format("0x{:04X}", *value);
    constexpr std::uint16_t widest_decimal = 16;
    if (const auto* mad = std::get_if<script::MadField>(&field); mad && mad->bits > widest_decimal)
        return fmt::format("0x{:X}", static_cast<std::uint64_t>(*value));
    constexpr std::array hexadecimal{Field::Va,   Field::Rkey, Field::Ikey,    Field::Imm,
                                     Field::Pkey, Field::Qkey, Field::Syndrome};
    const auto* wire_field = std::get_if<Field>(&field);
    if (wire_field != nullptr && std::ranges::find(hexadecimal, *wire_field) != hexadecimal.end()) {
        return fmt::format("0x{:X}", static_cast<std::uint64_t>(*value));
    }
    return fmt::format("{}", *value);
}

std::string duration_text(wire::Duration duration) {
    const double ns = static_cast<double>(duration.count());
    if (ns < 1e3) return fmt::format("{} ns", duration.count());
    if (ns < 1e6) return fmt::format("{:.3f} us", ns / 1e3);
    if (ns < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
    return fmt::format("{:.3f} s", ns / 1e9);
}

std::optional<std::uint16_t> management_of(const wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool datagram = info.service == wire::Service::Ud &&
                          info.operation == wire::Operation::Send &&
                          packet.body.size() >= decode::kMadHeaderBytes;
    if (!datagram) return std::nullopt;
    const auto mad = decode::MadHeader::read(packet.body);
    if (mad.management_class != wire::kCmClass) return std::nullopt;
    return mad.attribute;
}

std::string_view opcode_text(const wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (packet.bth.dest_qp == wire::kGsiQpn) {
        const auto message = management_of(packet);
        const auto name = message ? script::management_name(*message) : std::string_view{};
        if (!name.empty()) return name;
    }
    if (info.operation != wire::Operation::Acknowledge) return info.name;
    switch (packet.aeth.syndrome.kind()) {
    case wire::AckKind::Ack: return "ACK";
    case wire::AckKind::RnrNak: return "RNR_NAK";
    case wire::AckKind::Nak: return "NAK";
    case wire::AckKind::Reserved: return info.name;
    }
    return info.name;
}

namespace {

// The fields that tell messages of connection management apart.
void append_management(std::string& text, const wire::Packet& packet) {
    constexpr std::array<std::string_view, 8> names{
        "mad.transactionid", "cm.localcommid", "cm.remotecommid", "cm.requestid",
        "cm.serviceid",      "cm.msgrej",      "cm.reason",       "cm.status"};
    const auto message = management_of(packet);
    if (packet.bth.dest_qp != wire::kGsiQpn || !message) return;
    for (const std::string_view name : names) {
        const auto field = script::mad_field(*message, name);
        if (!field || field->bit + field->bits > packet.body.size() * 8) continue;
        const auto value =
            static_cast<std::int64_t>(wire::load_bits(packet.body, field->bit, field->bits));
        text += fmt::format(" {}={}", name, value_text(value, *field));
    }
}

} // namespace

std::string packet_text(const wire::Packet& packet, std::int64_t psn) {
    std::string text = fmt::format("{} psn={}", opcode_text(packet), psn);
    for (wire::HeaderSet left = packet.headers; !left.empty(); left = left.without_first())
        append_header(text, packet, left.first());
    append_management(text, packet);
    if (packet.info().carries_payload()) text += fmt::format(" len={}", packet.payload().size());
    if (packet.bth.ack_request) text += " ackreq";
    if (packet.bth.solicited) text += " se";
    return text;
}

bool same_packet(const wire::Packet& a, const wire::Packet& b) {
    wire::Bth first = a.bth;
    wire::Bth second = b.bth;
    for (wire::Bth* bth : {&first, &second}) {
        bth->ack_request = false;
        bth->mig_req = false;
        bth->fecn = bth->becn = false;
    }
    // A datagram that is sent again is a new packet.
    if (a.info().service == wire::Service::Ud) second.psn = first.psn;
#define VERIROCE_HEADER_EQUAL(type, member, ...) &&a.member == b.member
    return first == second && a.headers == b.headers &&
           std::ranges::equal(a.body, b.body) VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_EQUAL);
#undef VERIROCE_HEADER_EQUAL
}

namespace {

// Of a packet that is wrapped twice the opcode of the inner one.
std::optional<std::string> inner_packet(const Entry& entry) {
    const wire::Bytes rest = entry.frame.transport;
    if (rest.empty()) return std::nullopt;
    const auto version = std::to_integer<unsigned>(rest.front() >> 4);
    if (version != 4 && version != 6) return std::nullopt;
    std::vector<std::byte> frame(wire::Ethernet::kSize);
    wire::store_be<2>(wire::MutableBytes(frame), 12, version == 4 ? 0x0800U : 0x86DDU);
    const wire::Bytes all(entry.bytes);
    const wire::Bytes inner = all.subspan(entry.frame.layers.at(wire::Layer::Bth));
    frame.insert(frame.end(), inner.begin(), inner.end());
    const auto parsed = wire::parse_frame(frame);
    if (!parsed || !parsed->packet) return std::nullopt;
    return std::string(opcode_text(*parsed->packet));
}

} // namespace

bool is_wrapped_twice(const Entry& entry) {
    return inner_packet(entry).has_value();
}

std::string astray_text(const Entry& entry) {
    if (const auto inner = inner_packet(entry)) {
        return fmt::format("< {} wrapped twice: IP, UDP and BTH come once more behind UDP", *inner);
    }
    if (!entry.packet) {
        return fmt::format("< {} bytes, too few for the headers of a packet", entry.bytes.size());
    }
    return fmt::format("{}, to QP 0x{:06X}, which the tester does not have", entry_text(entry, ""),
                       entry.packet->bth.dest_qp.value);
}

std::string entry_text(const Entry& entry, std::string_view qp) {
    const char direction = entry.from == Side::Tester ? '>' : '<';
    if (!entry.packet) return fmt::format("{} {} bytes", direction, entry.bytes.size());
    return fmt::format("{}{}{} {}{}", qp, qp.empty() ? "" : " ", direction,
                       packet_text(*entry.packet, entry.psn), entry.lost() ? " icrc=bad" : "");
}

} // namespace veriroce::interpreter
