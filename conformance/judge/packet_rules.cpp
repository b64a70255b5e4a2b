// What one packet shows by itself: BTH, ACK-06, LEN-10, RDR-01, CNP-02, ROB-04.
#include <algorithm>

#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using rules::Level;

constexpr Excuses kDamage{Excuse::Damage};
constexpr std::uint32_t kCnpBytes = 16;

bool all_zero(wire::Bytes bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_mtu(std::uint32_t bytes) {
    return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

void judge_pad(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::Bth& bth = packet.transport.bth;
    const Evidence shown(packet.number);
    if (packet.body_bytes % 4 != 0) {
        at_hand.report("BTH-09", kDamage, shown, "payload and pad are no multiple of four bytes");
    }
    if (bth.pad > 0 && bth.pad <= packet.body_bytes && packet.whole() &&
        !all_zero(packet.transport.body.last(bth.pad))) {
        at_hand.report("ROB-04", kDamage, shown, "pad bytes are not zero");
    }
}

void judge_flags(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::Bth& bth = packet.transport.bth;
    const wire::OpcodeInfo& info = packet.info();
    const Evidence shown(packet.number);
    // The six bits beside FECN and BECN are outside the ICRC: a network may have changed them.
    const bool six = bth.reserved6 != 0 && at_hand.recorded_at(packet.source);
    if (bth.reserved7 != 0 || six) {
        at_hand.report("BTH-16", kDamage, shown, "reserved bits of the BTH are not zero");
    }
    if (info.request() && bth.solicited && !(info.consumes_receive() && info.ends_message())) {
        at_hand.report("BTH-14", kDamage, shown,
                       "SE is set in " + std::string(info.name) + ", where it has no meaning");
    }
    if (info.response() && (bth.solicited || bth.ack_request)) {
        at_hand.report("BTH-19", kDamage, shown, "SE or AckReq is set in a response",
                       Level::Should);
    }
}

void judge_syndrome(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (!packet.transport.headers.has(wire::Header::Aeth)) return;
    const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
    const bool defined = (syndrome.value & 0x80) == 0 &&
                         syndrome.kind() != wire::AckKind::Reserved &&
                         (syndrome.kind() != wire::AckKind::Nak || syndrome.nak_code().has_value());
    if (!defined) {
        at_hand.report("ACK-06", kDamage, Evidence(packet.number),
                       "the AETH syndrome " + std::to_string(syndrome.value) + " is not defined");
    }
}

// A FIRST or MIDDLE packet is as long as one of the five path MTUs, whichever the QP has.
void judge_full_packet(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::OpcodeInfo& info = packet.info();
    if (info.ends_message() || !info.carries_payload() || is_mtu(packet.payload_bytes())) return;
    const bool answer = info.operation == wire::Operation::RdmaReadResponse;
    at_hand.report(answer ? "RDR-01" : "LEN-10", kDamage, Evidence(packet.number),
                   std::string(info.name) + " carries " + std::to_string(packet.payload_bytes()) +
                       " bytes, which is no path MTU");
}

void judge_cnp(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::Bth& bth = packet.transport.bth;
    const Evidence shown(packet.number);
    const bool fields = bth.psn == wire::Psn(0) && !bth.solicited && !bth.mig_req &&
                        bth.version == 0 && packet.body_bytes == kCnpBytes;
    if (!fields || (packet.whole() && !all_zero(packet.transport.body))) {
        at_hand.report("CNP-02", kDamage, shown, "a field of the CNP is not as it must be");
    } else if ((!bth.becn || bth.fecn) && at_hand.recorded_at(packet.source)) {
        // These two are outside the ICRC.
        at_hand.report("CNP-02", kDamage, shown, "the CNP has not BECN 1 and FECN 0",
                       Level::Should);
    }
}

// EXT-05: a datagram is one packet, and no path carries more than the largest MTU.
void judge_datagram(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    constexpr std::uint32_t kLargestMtu = 4096;
    if (packet.info().service != wire::Service::Ud || packet.info().reserved()) return;
    if (packet.payload_bytes() <= kLargestMtu) return;
    at_hand.report("EXT-05", kDamage, Evidence(packet.number),
                   "the datagram carries " + std::to_string(packet.payload_bytes()) +
                       " bytes, more than any path MTU");
}

} // namespace

void judge_packet(const Case& at_hand) {
    const wire::OpcodeInfo& info = at_hand.packet.info();
    if (info.operation == wire::Operation::Cnp) return judge_cnp(at_hand);
    judge_datagram(at_hand);
    const bool connected = info.service == wire::Service::Rc || info.service == wire::Service::Uc;
    if (!connected || info.reserved()) return;
    judge_pad(at_hand);
    judge_flags(at_hand);
    judge_syndrome(at_hand);
    judge_full_packet(at_hand);
}

} // namespace veriroce::judge
