// What one packet shows by itself: BTH, ACK-06, LEN-10, RDR-01, CNP-02, ROB-04.
#include <algorithm>

#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using rules::Level;

constexpr std::uint32_t kCnpBytes = 16;

bool all_zero(wire::Bytes bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_mtu(std::uint32_t bytes) {
    return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

int bit(bool set) {
    return set ? 1 : 0;
}

std::string cnp_fields(const flow::Packet& packet) {
    const wire::Bth& bth = packet.transport.bth;
    const bool zero = packet.whole() && all_zero(packet.transport.body);
    return phrase({"the CNP has ", bth.psn, ", SE=", bit(bth.solicited),
                   " MigReq=", bit(bth.mig_req), " TVer=", bth.version, " and ", packet.body_bytes,
                   zero ? " zero bytes" : " bytes"});
}

void judge_pad(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::Bth& bth = packet.transport.bth;
    const Evidence shown(packet.number);
    if (packet.body_bytes % 4 != 0) {
        context.report("BTH-09", kDamage, shown,
                       {phrase({"payload and pad are ", packet.body_bytes, " bytes"}),
                        "they must be a multiple of 4 bytes"});
    }
    if (bth.pad > 0 && bth.pad <= packet.body_bytes && packet.whole() &&
        !all_zero(packet.transport.body.last(bth.pad))) {
        context.report("ROB-04", kDamage, shown,
                       {"pad bytes are not zero", "pad bytes should be zero"});
    }
}

void judge_flags(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::Bth& bth = packet.transport.bth;
    const wire::OpcodeInfo& info = packet.info();
    const Evidence shown(packet.number);
    // The six bits beside FECN and BECN are outside the ICRC: a network may have changed them.
    constexpr Excuses kRewritten{Excuse::Damage, Excuse::Rewritten};
    if (bth.reserved7 != 0 || bth.reserved6 != 0) {
        context.report(
            "BTH-16", bth.reserved7 != 0 ? kDamage : kRewritten, shown,
            {phrase({"reserved BTH bits are ", Hex{bth.reserved6}, " and ", Hex{bth.reserved7}}),
             "reserved BTH bits must be zero"});
    }
    if (info.request() && bth.solicited && !(info.consumes_receive() && info.ends_message())) {
        context.report("BTH-14", kDamage, shown,
                       {phrase({"SE is set in ", info.name}),
                        "SE may be set only where a message ends that uses a receive"});
    }
    if (info.response() && (bth.solicited || bth.ack_request)) {
        context.report(
            "BTH-19", kDamage, shown,
            {phrase({"a response has SE=", bit(bth.solicited), " AckReq=", bit(bth.ack_request)}),
             "a response should have SE=0 AckReq=0"},
            Level::Should);
    }
}

void judge_syndrome(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (!packet.transport.headers.has(wire::Header::Aeth)) return;
    const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
    const bool defined = (syndrome.value & 0x80) == 0 &&
                         syndrome.kind() != wire::AckKind::Reserved &&
                         (syndrome.kind() != wire::AckKind::Nak || syndrome.nak_code().has_value());
    if (!defined) {
        context.report("ACK-06", kDamage, Evidence(packet.number),
                       {phrase({"AETH syndrome is ", Hex{syndrome.value}}),
                        "AETH syndrome must be one that is defined"});
    }
}

// A FIRST or MIDDLE packet is as long as one of the five path MTUs, whichever the QP has.
void judge_full_packet(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::OpcodeInfo& info = packet.info();
    if (info.ends_message() || !info.carries_payload() || is_mtu(packet.payload_bytes())) return;
    const bool answer = info.operation == wire::Operation::RdmaReadResponse;
    context.report(answer ? "RDR-01" : "LEN-10", kDamage, Evidence(packet.number),
                   {phrase({info.name, " carries ", packet.payload_bytes(), " bytes"}),
                    "it must carry a whole path MTU: 256, 512, 1024, 2048 or 4096 bytes"});
}

void judge_cnp(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::Bth& bth = packet.transport.bth;
    const Evidence shown(packet.number);
    const bool fields = bth.psn == wire::Psn(0) && !bth.solicited && !bth.mig_req &&
                        bth.version == 0 && packet.body_bytes == kCnpBytes;
    if (!fields || (packet.whole() && !all_zero(packet.transport.body))) {
        context.report(
            "CNP-02", kDamage, shown,
            {cnp_fields(packet), "a CNP must have PSN 0, SE=0 MigReq=0 TVer=0 and 16 zero bytes"});
    } else if ((!bth.becn || bth.fecn) && context.recorded_at(packet.source)) {
        // These two are outside the ICRC.
        context.report("CNP-02", kDamage, shown,
                       {phrase({"the CNP has BECN=", bit(bth.becn), " FECN=", bit(bth.fecn)}),
                        "a CNP should have BECN=1 FECN=0"},
                       Level::Should);
    }
}

// EXT-05: a datagram is one packet, and no path carries more than the largest MTU.
void judge_datagram(const Context& context) {
    const flow::Packet& packet = context.packet;
    constexpr std::uint32_t kLargestMtu = 4096;
    if (packet.info().service != wire::Service::Ud || packet.info().reserved()) return;
    if (packet.payload_bytes() <= kLargestMtu) return;
    context.report("EXT-05", kDamage, Evidence(packet.number),
                   {phrase({"the datagram carries ", packet.payload_bytes(), " bytes"}),
                    phrase({"a datagram carries at most ", kLargestMtu, " bytes"})});
}

} // namespace

void judge_packet(const Context& context) {
    const wire::OpcodeInfo& info = context.packet.info();
    if (info.operation == wire::Operation::Cnp) return judge_cnp(context);
    judge_datagram(context);
    const bool connected = info.service == wire::Service::Rc || info.service == wire::Service::Uc;
    if (!connected || info.reserved()) return;
    judge_pad(context);
    judge_flags(context);
    judge_syndrome(context);
    judge_full_packet(context);
}

} // namespace veriroce::judge
