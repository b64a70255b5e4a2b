// What stands before the transport headers, and the ICRC: ENC, CRC, CA17.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using decode::FindingKind;
using decode::LayerKind;

constexpr std::uint8_t kPlainHeader = 5;        // IHL of a header without options
constexpr std::uint16_t kDontFragment = 0x4000; // flags 010, offset 0
constexpr std::uint16_t kOffset = 0x1FFF;

// What stands here is covered by the ICRC, other than the checksum that damage would show in.
Excuses damage(const decode::Dissection& frame) {
    return frame.icrc.status == decode::IcrcStatus::Good ? Excuses() : Excuses(Excuse::Damage);
}

// "010": reserved, don't fragment, more fragments.
std::string flag_bits(std::uint16_t fragment) {
    std::string bits;
    for (const int bit : {15, 14, 13})
        bits += (fragment >> bit & 1) != 0 ? '1' : '0';
    return bits;
}

void judge_ipv4(const decode::Dissection& frame, const Context& context) {
    const auto* layer = frame.layers.find(LayerKind::Ipv4);
    if (!layer || layer->length < 20) return;
    const wire::Bytes header = frame.bytes_of(*layer);
    const Evidence packet(context.packet.number);
    if ((wire::load_u8(header, 0) & 0xF) != kPlainHeader) {
        context.report(
            "CA17-3", damage(frame), packet,
            {phrase({"the IPv4 header has ", (wire::load_u8(header, 0) & 0xF) * 4, " bytes"}),
             "it must have 20 bytes, without options"});
    }
    const std::uint16_t fragment = wire::load_u16(header, 6);
    if ((fragment & ~kOffset) != kDontFragment) {
        context.report("CA17-7", damage(frame), packet,
                       {phrase({"IPv4 flags are ", flag_bits(fragment)}),
                        "IPv4 flags must be 010 (don't fragment)"});
    }
}

} // namespace

void judge_frame(const decode::Dissection& frame, const Context& context) {
    // Nobody can say who did what a wrong ICRC shows: noise would look the same. Only where the
    // packet was recorded as it left is it its sender's doing.
    if (frame.icrc.status == decode::IcrcStatus::Bad) {
        if (!context.recorded_at(context.packet.source)) return;
        const bool cnp = frame.bth.opcode == wire::kCnpOpcode;
        context.report(cnp ? "CRC-10" : "CRC-01", {}, Evidence(context.packet.number),
                       {phrase({"ICRC is ", Hex{frame.icrc.found}}),
                        phrase({"ICRC must be ", Hex{frame.icrc.expected}})});
        return;
    }
    judge_ipv4(frame, context);
    for (const decode::Finding& finding : frame.findings.all()) {
        if (finding.kind != FindingKind::UdpLength) continue;
        context.report("CA17-21", damage(frame), Evidence(context.packet.number),
                       {phrase({"UDP length is ", finding.found}),
                        phrase({"UDP length must be ", finding.expected, ", up to the ICRC"})});
    }
}

} // namespace veriroce::judge
