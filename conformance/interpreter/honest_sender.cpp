#include "conformance/interpreter/honest_sender.hpp"

#include "conformance/dut/pattern.hpp"
#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"

namespace veriroce::interpreter {
namespace {

using wire::Field;

constexpr std::size_t kUsualPayload = 64;

// The payload of a packet whose line writes none: one PMTU if more packets of the message follow.
std::size_t honest_payload(const wire::OpcodeInfo& info, wire::Mtu mtu) {
    if (!info.carries_payload()) return 0;
    if (info.operation == wire::Operation::AtomicWrite) return 8;
    return info.ends_message() ? kUsualPayload : wire::bytes_of(mtu);
}

// The right that a request needs at its target; nothing for packets that name no region.
bool allows(const engine::Access& access, const wire::OpcodeInfo& info) {
    switch (info.operation) {
    case wire::Operation::RdmaWrite:
    case wire::Operation::AtomicWrite: return access.remote_write;
    case wire::Operation::Flush: return access.flush_global || access.flush_persistent;
    case wire::Operation::RdmaReadRequest: return access.remote_read;
    case wire::Operation::CompareSwap:
    case wire::Operation::FetchAdd: return access.remote_atomic;
    case wire::Operation::Send:
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::Acknowledge:
    case wire::Operation::AtomicAcknowledge:
    case wire::Operation::Resync:
    case wire::Operation::Cnp:
    case wire::Operation::Reserved: return false;
    }
    return false;
}

wire::Pkey pkey_of(const CaseQp& qp, const Environment& environment) {
    const auto index = static_cast<std::size_t>(number_attribute(&qp.setup, "pkey_index", 0));
    if (environment.dut.ports.empty()) return wire::kDefaultPkey;
    const auto& pkeys = environment.dut.ports.front().pkeys;
    return index < pkeys.size() ? pkeys[index] : wire::kDefaultPkey;
}

} // namespace

std::int64_t next_psn(const CaseQp& qp, std::uint8_t opcode) {
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    if (info.service == wire::Service::Ud) {
        const auto sent = static_cast<std::int64_t>(qp.entries.size());
        return (qp.book.identity().tester_start + sent).value();
    }
    return info.response() ? qp.book.last_dut_request() : qp.book.next_request();
}

wire::Sender honest_sender(const CaseQp& qp, const Objects& objects, const Environment& environment,
                           const wire::PacketSpec& spec, std::uint16_t ip_id) {
    const std::uint8_t opcode = spec.opcode;
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    const QpBook& book = qp.book;
    wire::Sender sender;
    sender.link = {environment.tester.mac, environment.dut_mac};
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(number_attribute(qp.tester_setup, name, otherwise));
    };
    const auto port = 0xC000 | (book.identity().tester_qpn.value & 0x3FFF);
    sender.envelope = {
        .source = qp.tester_address,
        .destination = environment.dut_address,
        .source_port = static_cast<std::uint16_t>(number_attribute(qp.tester_setup, "sport", port)),
        .dscp = small("dscp", 0),
        .ecn = small("ecn", 0),
        .hop_limit = small("ttl", 64),
        .flow_label = static_cast<std::uint32_t>(number_attribute(qp.tester_setup, "flow", 0)),
        .vlan = environment.vlan};
    sender.ip_id = ip_id;

    const std::int64_t psn = next_psn(qp, opcode);
    std::int64_t written_psn = psn;
    if (const wire::FieldValue* value = spec.written(Field::Psn)) {
        const wire::Psn start = book.absolute_psn(Side::Tester, opcode, 0);
        const auto absolute = static_cast<std::uint32_t>(std::get<std::uint64_t>(*value));
        written_psn = wire::distance(start, wire::Psn(absolute));
    }
    sender.packet.bth = {.opcode = opcode,
                         .pkey = pkey_of(qp, environment),
                         .dest_qp = book.identity().dut_qpn,
                         .psn = book.absolute_psn(Side::Tester, opcode, psn)};
    // CNP-02: in a CNP the bit is always 0.
    sender.packet.bth.mig_req =
        info.service != wire::Service::Cnp && environment.mig_req.value_or(false);

    const std::size_t payload =
        spec.payload ? spec.payload->size() : honest_payload(info, book.identity().mtu);
    if (!spec.payload) {
        sender.payload.resize(payload);
        dut::write_pattern(sender.payload, dut::Pattern::Offsets, 0, 0);
    }

    sender.packet.deth = {.qkey = qkey_of(qp.setup), .source_qp = book.identity().tester_qpn};
    sender.packet.reth.dma_length = static_cast<std::uint32_t>(payload);
    for (const Memory& region : objects.regions) {
        if (region.side != Side::Dut || region.gone || !allows(region.access, info)) continue;
        const bool whole = info.operation == wire::Operation::RdmaReadRequest ||
                           info.position == wire::Position::First;
        sender.packet.reth = {
            .virtual_address = region.address,
            .rkey = region.rkey,
            .dma_length = static_cast<std::uint32_t>(whole ? region.bytes.size() : payload)};
        sender.packet.atomic = {.virtual_address = region.address, .rkey = region.rkey};
        break;
    }
    // A NAK of a PSN acknowledges the messages before it (RSP-02); every other acknowledge also
    // counts the message that ends at its PSN (ACK-07).
    const wire::FieldValue* syndrome = spec.written(Field::Syndrome);
    const bool counts_itself =
        syndrome == nullptr ||
        wire::Syndrome{static_cast<std::uint8_t>(std::get<std::uint64_t>(*syndrome))}.kind() ==
            wire::AckKind::Ack;
    sender.packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits),
                          .msn = book.msn_up_to(written_psn, counts_itself)};
    return sender;
}

} // namespace veriroce::interpreter
