#include "conformance/interpreter/qp_book.hpp"

#include <algorithm>

namespace veriroce::interpreter {
namespace {

// Whether a script counts the PSNs of this opcode from a first PSN.
bool counted(const QpIdentity& identity, const wire::OpcodeInfo& info) {
    return info.service == identity.service && info.service != wire::Service::Ud;
}

// The side whose requests number this packet: its sender for a request, its receiver otherwise.
Side asking_side(Side from, const wire::OpcodeInfo& info) {
    if (!info.response()) return from;
    return from == Side::Tester ? Side::Dut : Side::Tester;
}

} // namespace

std::int64_t QpBook::relative_psn(Side from, const wire::Packet& packet) const {
    const wire::OpcodeInfo& info = packet.info();
    if (!counted(identity_, info)) return packet.bth.psn.value();
    const wire::Psn start =
        asking_side(from, info) == Side::Tester ? identity_.tester_start : identity_.dut_start;
    return wire::distance(start, packet.bth.psn);
}

wire::Psn QpBook::absolute_psn(Side from, std::uint8_t opcode, std::int64_t psn) const {
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    if (!counted(identity_, info)) return wire::Psn(static_cast<std::uint32_t>(psn));
    const wire::Psn start =
        asking_side(from, info) == Side::Tester ? identity_.tester_start : identity_.dut_start;
    return start + psn;
}

void QpBook::note(Side from, const wire::Packet& packet, Interval at) {
    const wire::OpcodeInfo& info = packet.info();
    if (!counted(identity_, info)) return;
    const std::int64_t psn = relative_psn(from, packet);
    if (from == Side::Dut && info.response()) {
        ++dut_responses_[psn];
        const bool rnr = packet.headers.has(wire::Header::Aeth) &&
                         packet.aeth.syndrome.kind() == wire::AckKind::RnrNak;
        if (rnr) rnr_naked_ = psn;
    } else if (from == Side::Dut) {
        note_request_of_dut(psn, packet, at);
    } else if (!info.response()) {
        note_request_of_tester(psn, packet);
    }
}

void QpBook::note_request_of_tester(std::int64_t psn, const wire::Packet& packet) {
    const std::int64_t taken = packet.info().operation == wire::Operation::RdmaReadRequest
                                   ? wire::packets_of(packet.reth.dma_length, identity_.mtu)
                                   : 1;
    next_request_ = std::max(next_request_, psn + taken);
    if (packet.info().ends_message()) ++messages_sent_;
    if (++tester_requests_[psn] > 1) lowest_repeat_ = std::min(lowest_repeat_.value_or(psn), psn);
}

void QpBook::note_request_of_dut(std::int64_t psn, const wire::Packet& packet, Interval at) {
    Asked& asked = dut_requests_[psn];
    // A READ that requests a tail again belongs to a message that is already counted.
    asked.ends_message = packet.info().ends_message();
    asked.dma_length = packet.reth.dma_length;
    asked.last = at;
    ++asked.times;
    last_dut_request_ = std::max(last_dut_request_, psn);
}

wire::Msn QpBook::msn_up_to(std::int64_t psn, bool inclusive) const {
    std::uint32_t messages = 0;
    std::int64_t covered = std::numeric_limits<std::int64_t>::min(); // by an earlier READ
    for (const auto& [at, asked] : dut_requests_) {
        if (at > psn || (at == psn && !inclusive)) break;
        if (asked.ends_message && at > covered) ++messages;
        if (asked.dma_length > 0 && asked.ends_message) {
            covered = std::max(covered, at + wire::packets_of(asked.dma_length, identity_.mtu) - 1);
        }
    }
    return {messages};
}

std::optional<QpBook::Asked> QpBook::dut_request(std::int64_t psn) const {
    const auto found = dut_requests_.find(psn);
    if (found == dut_requests_.end()) return std::nullopt;
    return found->second;
}

std::uint32_t QpBook::dut_responses(std::int64_t psn) const {
    const auto found = dut_responses_.find(psn);
    return found == dut_responses_.end() ? 0 : found->second;
}

bool QpBook::repeated_up_to(std::int64_t psn) const {
    return lowest_repeat_ && *lowest_repeat_ <= psn;
}

} // namespace veriroce::interpreter
