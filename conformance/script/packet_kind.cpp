// The kind of packet that a line describes, and the fields of such a packet.
#include <algorithm>

#include "conformance/script/mad_fields.hpp"
#include "conformance/script/packet_line.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using wire::Field;
using wire::Header;
using wire::Layer;

std::optional<Header> header_of(Layer layer) {
    for (std::size_t i = 0; i < wire::kHeaderKinds; ++i) {
        if (wire::layer_of(Header{static_cast<std::uint8_t>(i)}) == layer)
            return Header{static_cast<std::uint8_t>(i)};
    }
    return std::nullopt;
}

// Whether a packet of this kind has the header; for a message, at least one of its packets.
bool has_header(const PacketKind& kind, wire::Service service, Header header) {
    if (const auto* opcode = std::get_if<Opcode>(&kind)) {
        return wire::opcode_info(opcode->code).headers.has(header);
    }
    if (std::holds_alternative<Acknowledgement>(kind)) return header == Header::Aeth;
    if (std::holds_alternative<Management>(kind)) return header == Header::Deth;
    const auto* message = std::get_if<Message>(&kind);
    if (message == nullptr) return false;
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        if (info.service != service || info.operation != operation_of(*message)) continue;
        const bool tail = info.ends_message();
        if (tail && info.immediate() != immediate(*message)) continue;
        if (tail && info.invalidates() != invalidates(*message)) continue;
        if (info.headers.has(header)) return true;
    }
    return false;
}

std::string text_of(const PacketKind& kind) {
    if (const auto* opcode = std::get_if<Opcode>(&kind)) {
        return std::string(wire::opcode_info(opcode->code).name);
    }
    if (const auto* ack = std::get_if<Acknowledgement>(&kind)) return std::string(name_of(*ack));
    if (const auto* message = std::get_if<Message>(&kind)) return std::string(name_of(*message));
    if (const auto* mad = std::get_if<Management>(&kind))
        return std::string(management_name(mad->attribute));
    return "the same packet";
}

std::string misplaced_syndrome_part(SpecialField field, const PacketKind& kind,
                                    wire::Service service) {
    const auto* ack = std::get_if<Acknowledgement>(&kind);
    if (field == SpecialField::Code && (ack == nullptr || *ack != Acknowledgement::Nak)) {
        return "only a NAK has a code";
    }
    if (field == SpecialField::Timer && (ack == nullptr || *ack != Acknowledgement::RnrNak)) {
        return "only an RNR_NAK has a timer";
    }
    if (field != SpecialField::Credits) return {};
    const bool other_ack = ack != nullptr && *ack != Acknowledgement::Ack;
    if (other_ack || !has_header(kind, service, Header::Aeth)) {
        return "only an ACK or a response with an AETH has credits";
    }
    return {};
}

std::string verb_on_the_wire(std::string_view name) {
    if (name == "RDMA_READ") return "RDMA_READ_REQUEST";
    if (name == "ATOMIC_CMP_AND_SWP") return "COMPARE_SWAP";
    if (name == "ATOMIC_FETCH_AND_ADD") return "FETCH_ADD";
    return {};
}

// The words of a service: not every service has ACKs, READs and atomics.
bool has_acknowledges(wire::Service service) {
    return wire::opcode_by_name("ACKNOWLEDGE", service).has_value();
}

bool has_message(wire::Service service, Message message) {
    return std::ranges::any_of(wire::opcode_table(), [&](const wire::OpcodeInfo& info) {
        return info.service == service && info.operation == operation_of(message);
    });
}

std::vector<std::string_view> kinds_of(wire::Service service) {
    std::vector<std::string_view> names = opcode_names(service);
    for (const std::string_view name : message_names()) {
        if (has_message(service, *message_by_name(name))) names.push_back(name);
    }
    if (has_acknowledges(service)) names.insert(names.end(), {"ACK", "NAK", "RNR_NAK"});
    if (service == wire::Service::Ud) {
        const auto messages = management_names();
        names.insert(names.end(), messages.begin(), messages.end());
    }
    return names;
}

} // namespace

std::string misplaced(const FieldName& field, const PacketKind& kind, wire::Service service) {
    if (std::holds_alternative<MadField>(field)) return {}; // its name was looked up by the kind
    if (const auto* special = std::get_if<SpecialField>(&field)) {
        return misplaced_syndrome_part(*special, kind, service);
    }
    const wire::FieldInfo& info = wire::field_info(std::get<Field>(field));
    const auto first = header_of(info.primary.layer);
    if (!first || has_header(kind, service, *first)) return {};
    const auto second = info.secondary ? header_of(info.secondary->layer) : std::nullopt;
    if (second && has_header(kind, service, *second)) return {};
    return text_of(kind) + " has no field '" + std::string(info.name) + "' (it is part of " +
           std::string(wire::name_of(*first)) + ")";
}

PacketKind parse_kind(Cursor& cursor, wire::Service service) {
    const Word word = cursor.word("an opcode");
    if (cursor.failed()) return {};
    for (const auto ack : {Acknowledgement::Ack, Acknowledgement::Nak, Acknowledgement::RnrNak}) {
        if (word.text == name_of(ack) && has_acknowledges(service)) return ack;
    }
    const auto message = message_by_name(word.text);
    if (message && has_message(service, *message)) return *message;
    if (const auto code = wire::opcode_by_name(word.text, service)) return Opcode{*code};
    const auto attribute = management_attribute(word.text);
    if (attribute && service == wire::Service::Ud) return Management{*attribute};
    if (const auto wanted = verb_on_the_wire(word.text); !wanted.empty()) {
        cursor.fail(word.span,
                    "'" + word.text + "' is a verb; its opcode on the wire is " + wanted);
        return {};
    }
    if (attribute) {
        cursor.fail(word.span, "a QP of this type has no " + word.text);
        return {};
    }
    const auto names = kinds_of(service);
    const auto of_rc = kinds_of(wire::Service::Rc);
    if (std::ranges::find(of_rc, word.text) != of_rc.end()) {
        cursor.fail(word.span, "a QP of this type has no " + word.text);
    } else {
        cursor.fail(word.span, "unknown opcode '" + word.text + "'" + suggestion(word.text, names));
    }
    return {};
}

} // namespace veriroce::script
