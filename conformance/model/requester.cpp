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

// A work request whose Q_Key has the top bit sends the Q_Key of its QP.
wire::Qkey qkey_of(const dut::UdDestination& peer, std::optional<wire::Qkey> own) {
    constexpr std::uint32_t kControlled = 0x80000000;
    return (peer.qkey.value & kControlled) != 0 ? own.value_or(peer.qkey) : peer.qkey;
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
    if (connection == nullptr) return;
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
                    .own_qkey = connection.attributes.qkey,
                    .operation = *operation,
                    .length = length_of(request),
                    .first = queue.next_posted,
                    .pieces = bytes.pieces(request.sge)};
    const bool datagram = connection.type == wire::QpType::Ud;
    message.packets = datagram ? 1 : packets_of(*operation, message.length, connection.mtu());
    const bool oversize = datagram && message.length > wire::bytes_of(mtu_of(connection));
    const bool reaches = bytes.reaches(request.sge);
    message.sent = datagram && !reaches; // no datagram carries it
    queue.unsure = queue.unsure || oversize || !reaches;
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

// EXT-05: a datagram has one packet, which may be as long as the port allows.
wire::Mtu RequesterChecks::mtu_of(const Connection& connection) const {
    const auto& ports = setting_.dut.ports;
    const bool datagram = connection.type == wire::QpType::Ud;
    return datagram && !ports.empty() ? ports.front().mtu_active : connection.mtu();
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
    if (connection.type == wire::QpType::Ud)
        return check_datagram(log, packet, queue, psn, connection, bytes);
    const bool unreliable = connection.type == wire::QpType::Uc;
    if (unreliable && queue.unsure) return;
    const Message* message = message_at(queue, psn);
    if (message == nullptr) {
        log.add("REQ-01", Must, "psn",
                fmt::format("requests have PSNs of the {} that were posted, from {} on",
                            queue.next_posted, connection.attributes.sq_psn->value()),
                fmt::format("psn is {}", sent.bth.psn.value()));
        return;
    }
    if (unreliable) check_once(log, queue, psn);
    check_order(log, queue, *message, psn);
    check_contents(log, sent, *message, psn - message->first, connection, bytes);
}

void RequesterChecks::check_datagram(PacketLog& log, const Packet& packet, Queue& queue,
                                     std::int64_t psn, const Connection& connection,
                                     const PostedBytes& bytes) const {
    const wire::Packet& sent = *packet.packet;
    check_once(log, queue, psn);
    Message* message = request_of(queue, sent, psn);
    if (message == nullptr) {
        return log.add("EXT-05", Must, "datagram", "it must carry a request that was posted",
                       fmt::format("psn is {}, and no request that was not sent has its length, "
                                   "peer and immediate data",
                                   sent.bth.psn.value()));
    }
    message->sent = true;
    if (!queue.unsure) check_order(log, queue, *message, psn);
    queue.next_sent = std::max(queue.next_sent, psn + 1);
    check_peer(log, packet, *message);
    check_contents(log, sent, *message, 0, connection, bytes);
}

// UC and UD send nothing again, whatever happens to it. On a real link packets overtake each other.
void RequesterChecks::check_once(PacketLog& log, const Queue& queue, std::int64_t psn) const {
    if (psn >= queue.next_sent) return;
    log.add("REQ-01", Must, "psn", "an unreliable service must send each packet once",
            fmt::format("request packet {} (counted from 0) is sent again", psn),
            setting_.exact ? rules::FindingClass::Contradiction : rules::FindingClass::Surplus);
}

RequesterChecks::Message* RequesterChecks::request_of(Queue& queue, const wire::Packet& packet,
                                                      std::int64_t psn) {
    const auto found = std::ranges::find_if(queue.messages, [&](const Message& one) {
        if (!queue.unsure) return one.first == psn;
        const bool fits = one.request.ud && one.request.ud->qpn == packet.bth.dest_qp &&
                          one.length == packet.payload().size() &&
                          has_immediate(one.request.opcode) == packet.info().immediate();
        return fits && !one.sent;
    });
    return found == queue.messages.end() ? nullptr : &*found;
}

// EXT-05: the work request names the peer. The source QP has led to the connection.
void RequesterChecks::check_peer(PacketLog& log, const Packet& packet,
                                 const Message& message) const {
    if (!message.request.ud) return;
    const dut::UdDestination& peer = *message.request.ud;
    const wire::IpAddress& destination = packet.frame.envelope().destination;
    log.equals("EXT-05", Must, "destqp", peer.qpn.value, packet.packet->bth.dest_qp.value);
    if (destination != peer.address) {
        log.add(packet.frame.ipv4 ? "CA17-12" : "CA17-19", Must, "ip.dst",
                fmt::format("ip.dst must be {}, as posted", peer.address.text()),
                fmt::format("ip.dst is {}", destination.text()));
    }
    if (peer.traffic_class && !setting_.trait("dscp_overridden")) {
        log.equals("ENC-12", setting_.exact ? Must : Should, "ip.dscp",
                   unsigned{*peer.traffic_class} >> 2U, unsigned{packet.frame.envelope().dscp});
    }
    log.equals("EXT-05", Must, "qkey", qkey_of(peer, message.own_qkey).value,
               packet.packet->deth.qkey.value);
    log.equals("EXT-05", Must, "the reserved byte of the DETH", 0U,
               unsigned{packet.packet->deth.reserved});
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
    const std::uint64_t mtu = wire::bytes_of(mtu_of(connection));
    const bool carries = packet.info().carries_payload();
    const std::uint64_t at = static_cast<std::uint64_t>(index) * mtu;
    const std::uint64_t due = carries ? std::min(message.length - at, mtu) : 0;
    const wire::Bytes payload = packet.payload();
    const bool sized =
        log.equals("LEN-10", Must, "the payload", due, static_cast<std::uint64_t>(payload.size()));
    const bool solicits = message.request.flags.solicited && packet.info().ends_message() &&
                          packet.info().consumes_receive();
    log.equals("BTH-14", Must, "se", solicits, packet.bth.solicited);
    check_headers(log, packet, message, index, mtu_of(connection));
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
        log.equals("REQ-34", Must, "ikey", request.invalidate_rkey.value_or(wire::Rkey{}).value,
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
