#include "conformance/model/requester.hpp"

#include <algorithm>

namespace veriroce::model {
namespace {

using enum rules::Level;
using wire::Header;
using wire::Operation;
using wire::WrOpcode;

// The operation of its packets; nothing for requests that send none.
std::optional<Operation> operation_of(WrOpcode opcode) {
    switch (opcode) {
    case WrOpcode::Send:
    case WrOpcode::SendWithImm:
    case WrOpcode::SendWithInv: return Operation::Send;
    case WrOpcode::RdmaWrite:
    case WrOpcode::RdmaWriteWithImm: return Operation::RdmaWrite;
    case WrOpcode::RdmaRead: return Operation::RdmaReadRequest;
    case WrOpcode::AtomicCmpAndSwp: return Operation::CompareSwap;
    case WrOpcode::AtomicFetchAndAdd: return Operation::FetchAdd;
    case WrOpcode::Flush: return Operation::Flush;
    case WrOpcode::AtomicWrite: return Operation::AtomicWrite;
    case WrOpcode::LocalInv:
    case WrOpcode::BindMw: return std::nullopt;
    }
    return std::nullopt;
}

bool has_immediate(WrOpcode opcode) {
    return opcode == WrOpcode::SendWithImm || opcode == WrOpcode::RdmaWriteWithImm;
}

// Whether several packets carry it.
bool is_cut(Operation operation) {
    return operation == Operation::Send || operation == Operation::RdmaWrite;
}

std::uint64_t length_of(const dut::SendRequest& request) {
    std::uint64_t length = 0;
    for (const dut::Sge& sge : request.sge)
        length += sge.length;
    return request.opcode == WrOpcode::Flush ? request.flush_length.value_or(length) : length;
}

// How many PSNs the request takes (REQ-01, N-36).
std::int64_t packets_of(Operation operation, std::uint64_t length, wire::Mtu mtu) {
    const bool many = is_cut(operation) || operation == Operation::RdmaReadRequest;
    return many ? wire::packets_of(length, mtu) : 1;
}

// The opcode of packet `index` of a message of `packets`.
std::optional<std::uint8_t> opcode_of(const dut::SendRequest& request, Operation operation,
                                      std::int64_t index, std::int64_t packets,
                                      wire::Service service) {
    if (!is_cut(operation)) return wire::opcode_of(service, operation, wire::Position::Only);
    const bool last = index == packets - 1;
    return wire::opcode_of(service, operation, wire::position_of(index == 0, last),
                           last && has_immediate(request.opcode),
                           last && request.opcode == WrOpcode::SendWithInv);
}

} // namespace

void RequesterChecks::take(const Call& call, Connections& connections, const PostedBytes& bytes) {
    const auto* posted = std::get_if<dut::PostSend>(&call.request);
    if (posted == nullptr) return;
    const Connection* connection = connections.of_handle(posted->qp);
    if (connection == nullptr || connection->type == wire::QpType::Ud) return;
    std::size_t accepted = posted->requests.size();
    if (call.answer && !*call.answer) accepted = call.answer->error().posted.value_or(0);
    accepted = std::min(accepted, posted->requests.size());
    for (std::size_t i = 0; i < accepted; ++i)
        post(posted->requests[i], *connection, bytes);
}

void RequesterChecks::post(const dut::SendRequest& request, const Connection& connection,
                           const PostedBytes& bytes) {
    const auto operation = operation_of(request.opcode);
    if (!operation) return;
    Queue& queue = queues_[&connection];
    Message message{.request = request,
                    .operation = *operation,
                    .length = length_of(request),
                    .first = queue.next_posted,
                    .pieces = bytes.pieces(request.sge)};
    message.packets = packets_of(*operation, message.length, connection.mtu());
    queue.next_posted += message.packets;
    queue.messages.push_back(std::move(message));
}

const RequesterChecks::Message* RequesterChecks::message_at(const Queue& queue,
                                                            std::int64_t psn) const {
    const auto after = std::ranges::upper_bound(queue.messages, psn, {}, &Message::first);
    if (after == queue.messages.begin()) return nullptr;
    const Message& message = *std::prev(after);
    return psn < message.first + message.packets ? &message : nullptr;
}

bool RequesterChecks::knows(const Connection& connection, wire::Psn psn) const {
    const auto found = queues_.find(&connection);
    return found != queues_.end() && message_at(found->second, connection.own_psn(psn)) != nullptr;
}

void RequesterChecks::check(const Packet& packet, const Connection& connection,
                            const PostedBytes& bytes) {
    const wire::Packet& sent = *packet.packet;
    if (sent.info().service != wire::service_of(connection.type)) return; // told already
    PacketLog log(log_, packet.number, connection.qpn);
    if (!connection.attributes.sq_psn) { // it was never brought to RTS
        log.add("STA-03", Must, "opcode", "a QP sends no request before RTS",
                fmt::format("it sends {}", sent.info().name));
        return;
    }
    Queue& queue = queues_[&connection];
    // More than 2^23 PSNs behind the first one the distance would be negative.
    if (queue.next_posted > wire::kMask24 / 2) return;
    const std::int64_t psn = connection.own_psn(sent.bth.psn);
    const Message* message = message_at(queue, psn);
    if (message == nullptr) {
        log.add("REQ-01", Must, "psn",
                fmt::format("requests have PSNs of the {} that were posted, from {} on",
                            queue.next_posted, connection.attributes.sq_psn->value()),
                fmt::format("psn is {}", sent.bth.psn.value()));
        return;
    }
    check_order(log, queue, *message, psn);
    check_contents(log, sent, *message, psn - message->first, connection, bytes);
}

// REQ-01: nothing is left out when a PSN is sent for the first time.
void RequesterChecks::check_order(PacketLog& log, Queue& queue, const Message& message,
                                  std::int64_t psn) const {
    if (psn > queue.next_sent) {
        log.add("REQ-01", Must, "psn",
                fmt::format("request {} (counted from 0) must come first", queue.next_sent),
                fmt::format("it is request {}", psn), rules::FindingClass::Absence);
    }
    const bool read = message.operation == Operation::RdmaReadRequest;
    const std::int64_t after = read ? message.first + message.packets : psn + 1;
    queue.next_sent = std::max(queue.next_sent, after);
}

void RequesterChecks::check_contents(PacketLog& log, const wire::Packet& packet,
                                     const Message& message, std::int64_t index,
                                     const Connection& connection, const PostedBytes& bytes) const {
    const auto opcode = opcode_of(message.request, message.operation, index, message.packets,
                                  wire::service_of(connection.type));
    if (!opcode) return; // no such packet exists: the device should have refused the request
    if (packet.bth.opcode != *opcode) {
        log.add("REQ-31", Must, "opcode",
                fmt::format("packet {} of {} of a {} must be {}", index + 1, message.packets,
                            wire::name_of(message.request.opcode), wire::opcode_info(*opcode).name),
                fmt::format("it is {}", packet.info().name));
        return;
    }
    const std::uint64_t mtu = wire::bytes_of(connection.mtu());
    const bool carries = packet.info().carries_payload();
    const std::uint64_t at = static_cast<std::uint64_t>(index) * mtu;
    const std::uint64_t due = carries ? std::min(message.length - at, mtu) : 0;
    const wire::Bytes payload = packet.payload();
    const bool sized =
        log.equals("LEN-10", Must, "the payload", due, static_cast<std::uint64_t>(payload.size()));
    const bool solicits = message.request.flags.solicited && packet.info().ends_message() &&
                          packet.info().consumes_receive();
    log.equals("BTH-14", Must, "se", solicits, packet.bth.solicited);
    check_headers(log, packet, message, index, connection.mtu());
    if (!sized || !carries) return;
    if (!bytes.permits(message.pieces, at, payload, message.request.flags.inline_data)) {
        log.add("REQ-31", Must, "data",
                fmt::format("packet {} must carry the bytes that were posted", index + 1),
                "it carries others");
    }
}

void RequesterChecks::check_headers(PacketLog& log, const wire::Packet& packet,
                                    const Message& message, std::int64_t index,
                                    wire::Mtu mtu) const {
    const dut::SendRequest& request = message.request;
    const wire::HeaderSet headers = packet.headers;
    const std::uint64_t address = request.remote_address.value_or(0);
    const std::uint32_t rkey = request.rkey.value_or(wire::Rkey{}).value;
    if (headers.has(Header::ImmDt)) {
        log.equals("REQ-34", Must, "imm", request.imm.value_or(0), packet.imm.value);
    }
    if (headers.has(Header::Ieth)) {
        log.equals("REQ-34", Must, "invkey", request.invalidate_rkey.value_or(wire::Rkey{}).value,
                   packet.ieth.rkey.value);
    }
    if (headers.has(Header::Feth)) {
        log.equals("EXT-03", Must, "plt", unsigned{request.flush_placement.value_or(1)},
                   unsigned{packet.feth.placement});
        log.equals("EXT-03", Must, "sel", unsigned{request.flush_selectivity.value_or(0)},
                   unsigned{packet.feth.selectivity});
        log.equals("EXT-03", Must, "the reserved bits of the FETH", 0U, packet.feth.reserved);
    }
    if (headers.has(Header::AtomicEth)) {
        const bool adds = message.operation == Operation::FetchAdd;
        log.equals("ATM-01", Must, "va", address, packet.atomic.virtual_address);
        log.equals("ATM-01", Must, "rkey", rkey, packet.atomic.rkey.value);
        log.equals("ATM-01", Must, adds ? "add" : "swap",
                   (adds ? request.add : request.swap).value_or(0), packet.atomic.swap_or_add);
        if (!adds) {
            log.equals("ATM-01", Must, "compare", request.compare.value_or(0),
                       packet.atomic.compare);
        }
    }
    if (!headers.has(Header::Reth) || message.length == 0) return; // LEN-08: neither counts
    const std::uint64_t mtu_bytes = wire::bytes_of(mtu);
    const std::uint64_t skipped = static_cast<std::uint64_t>(index) * mtu_bytes;
    log.equals("LEN-10", Must, "va", address + skipped, packet.reth.virtual_address);
    log.equals("LEN-10", Must, "rkey", rkey, packet.reth.rkey.value);
    const std::uint64_t left = message.length - skipped;
    const std::uint64_t asked = packet.reth.dma_length;
    // REQ-10: a READ may be asked for again in pieces.
    const bool piece = message.operation == Operation::RdmaReadRequest && asked > 0 &&
                       asked < left && asked % mtu_bytes == 0;
    if (!piece) log.equals("LEN-10", Must, "dmalen", left, asked);
}

} // namespace veriroce::model
