// What stands before the transport headers, and the ICRC: ENC, CRC, CA17.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using decode::FindingKind;
using decode::LayerKind;

// What stands here is covered by the ICRC, other than the checksum that damage would show in.
Excuses damage(const decode::Dissection& frame) {
    return frame.icrc.status == decode::IcrcStatus::Good ? Excuses() : Excuses(Excuse::Damage);
}

// "010": reserved, don't fragment, more fragments.
std::string kFlagBits(const wire::Ipv4& header) {
    std::string bits;
    for (const bool bit : {header.reserved_flag, header.dont_fragment, header.more_fragments})
        bits += bit ? '1' : '0';
    return bits;
}

// A tunnel's header is not the device's: the innermost one is judged.
void judge_ipv4(const decode::Dissection& frame, const Context& context) {
    if (frame.network.kind != LayerKind::Ipv4) return;
    const wire::Ipv4 header = wire::Ipv4::read(frame.bytes_of(frame.network));
    const Evidence packet(context.packet.number);
    if (header.header_bytes() != wire::Ipv4::kSize) {
        context.report("CA17-3", damage(frame), packet,
                       {phrase({"the IPv4 header has ", header.header_bytes(), " bytes"}),
                        "it must have 20 bytes, without options"});
    }
    if (header.reserved_flag || !header.dont_fragment || header.more_fragments) {
        context.report("CA17-7", damage(frame), packet,
                       {phrase({"IPv4 flags are ", kFlagBits(header)}),
                        "IPv4 flags must be 010 (don't fragment)"});
    }
}

} // namespace

void judge_frame(const decode::Dissection& frame, const Context& context) {
    // Nobody can say who did what a wrong ICRC shows: noise would look the same. Only where the
    // packet was recorded as it left is it its sender's doing.
    if (frame.icrc.status == decode::IcrcStatus::Bad) {
        if (!context.recorded_at(context.packet.source)) return;
        const bool cnp = frame.packet.bth.opcode == wire::kCnpOpcode;
        context.report(cnp ? "CRC-10" : "CRC-01", {}, Evidence(context.packet.number),
                       {phrase({"ICRC is ", Hex{frame.icrc.found}}),
                        phrase({"ICRC must be ", Hex{frame.icrc.expected}})});
        return;
    }
    judge_ipv4(frame, context);
    for (const decode::Finding& finding : frame.findings.all()) {
        if (finding.kind != FindingKind::UdpLength || !frame.is_own(finding)) continue;
        context.report("CA17-21", damage(frame), Evidence(context.packet.number),
                       {phrase({"UDP length is ", finding.found}),
                        phrase({"UDP length must be ", finding.expected, ", up to the ICRC"})});
    }
}

} // namespace veriroce::judge
