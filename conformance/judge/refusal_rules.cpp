// Requests that a responder must refuse, and whether it took them: OPC-01..05, OPC-10, LEN-01..05,
// ATM-02, BTH-10. Only a tester sends such, so this judges the device that answers.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;
using wire::Operation;

bool message_operation(Operation operation) {
    return operation == Operation::Send || operation == Operation::RdmaWrite;
}

// The order of opcodes, where the packet before this one is known.
std::string_view order_defect(const wire::OpcodeInfo& before, const wire::OpcodeInfo& now) {
    const bool inside = !before.ends_message() && message_operation(before.operation);
    if (!inside) return now.starts_message() ? std::string_view{} : "OPC-03";
    if (!message_operation(now.operation)) return "OPC-04";
    if (now.starts_message()) return "OPC-10";
    return now.operation == before.operation ? std::string_view{} : "OPC-05";
}

// By the negotiated path MTU; one that was only seen may be the wrong one.
std::string_view length_defect(const flow::Packet& packet, std::optional<wire::Mtu> agreed) {
    const wire::OpcodeInfo& info = packet.info();
    if (!agreed || !message_operation(info.operation)) return {};
    const std::uint32_t bytes = packet.payload_bytes();
    const std::uint32_t mtu = wire::bytes_of(*agreed);
    if (!info.ends_message()) return bytes == mtu ? std::string_view{} : "LEN-01";
    if (info.position == wire::Position::Last) {
        return bytes >= 1 && bytes <= mtu ? std::string_view{} : "LEN-02";
    }
    return bytes <= mtu ? std::string_view{} : "LEN-03";
}

std::string_view field_defect(const flow::Packet& packet) {
    const wire::Packet& transport = packet.transport;
    if (!packet.info().ends_message() && transport.bth.pad != 0) return "BTH-10";
    if (transport.headers.has(wire::Header::AtomicEth) &&
        transport.atomic.virtual_address % 8 != 0) {
        return "ATM-02";
    }
    constexpr std::uint32_t kLongest = 1U << 31;
    if (transport.headers.has(wire::Header::Reth) && transport.reth.dma_length > kLongest) {
        return "LEN-05";
    }
    return {};
}

// LEN-04: the payloads of a WRITE add up to the length of its RETH. Zero length with payload is
// left open.
std::string_view sum_defect(const Context& context, const Extent& extent) {
    const flow::Packet& packet = context.packet;
    const bool last =
        packet.info().operation == Operation::RdmaWrite && packet.info().ends_message();
    const auto at = context.stream().message_index(extent.message);
    if (!last || !at || !context.stream().message(*at).begun) return {};
    const flow::Message& message = context.stream().message(*at);
    const auto first = context.stream().index_of(message.first);
    if (!first) return {};
    for (std::size_t i = *first; i < context.stream().extents().size(); ++i) {
        if (context.stream().extents()[i].missing) return {};
    }
    const std::uint32_t wanted = context.stream().extents()[*first].length;
    return wanted == 0 || message.bytes == wanted ? std::string_view{} : "LEN-04";
}

std::string_view defect_of(const Context& context, std::size_t index) {
    const auto& extents = context.stream().extents();
    const flow::Packet& packet = context.packet;
    if (index > 0 && !extents[index - 1].missing) {
        const auto order = order_defect(extents[index - 1].info(), packet.info());
        if (!order.empty()) return order;
    }
    const auto agreed = context.connection->ends[context.seen.from].attributes.mtu;
    if (const auto length = length_defect(packet, agreed); !length.empty()) return length;
    if (const auto field = field_defect(packet); !field.empty()) return field;
    return sum_defect(context, extents[index]);
}

} // namespace

void note_defects(const Context& context) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    if (packet.info().service != wire::Service::Rc) return;
    // Sent again in another form: which of them arrived is not known.
    const auto noted = std::ranges::find(notes.defects, packet.psn(), &Notes::Defect::psn);
    if (noted != notes.defects.end()) {
        notes.defects.erase(noted);
        return;
    }
    if (context.seen.kind != Class::New) return;
    const auto index = context.stream().index_of(packet.psn());
    if (!index || notes.defects.size() == Notes::kMaxDefects) return;
    const std::string_view rule = defect_of(context, *index);
    if (!rule.empty()) notes.defects.push_back({packet.psn(), rule, packet.number});
}

void judge_acceptance(const Context& context) {
    std::vector<Notes::Defect>& defects = context.notes->defects;
    const flow::Packet& packet = context.packet;
    if (defects.empty() || context.seen.kind == Class::Unsolicited) return;
    const bool accepts = !packet.transport.headers.has(wire::Header::Aeth) ||
                         packet.transport.aeth.syndrome.kind() == wire::AckKind::Ack;
    std::erase_if(defects, [&](const Notes::Defect& defect) {
        if (wire::distance(defect.psn, packet.psn()) < 0) return false;
        if (accepts) {
            context.report(defect.rule, kUnseen, Evidence(packet.number, defect.number),
                           {phrase({"the request at ", defect.psn, " is acknowledged"}),
                            "it must be rejected"});
        }
        return true;
    });
}

} // namespace veriroce::judge
