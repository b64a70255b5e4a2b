// What stands before the transport headers, and the ICRC: ENC, CRC, CA17.
#include "conformance/judge/case_at_hand.hpp"

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

void judge_ipv4(const decode::Dissection& frame, const Case& at_hand) {
    const auto* layer = frame.layers.find(LayerKind::Ipv4);
    if (!layer || layer->length < 20) return;
    const wire::Bytes header = frame.bytes_of(*layer);
    const Evidence packet(at_hand.packet.number);
    if ((wire::load_u8(header, 0) & 0xF) != kPlainHeader) {
        at_hand.report("CA17-3", damage(frame), packet, "the IPv4 header has options");
    }
    const std::uint16_t fragment = wire::load_u16(header, 6);
    if ((fragment & ~kOffset) != kDontFragment) {
        at_hand.report("CA17-7", damage(frame), packet,
                       "the IPv4 flags are not 010, do not fragment");
    }
}

} // namespace

void judge_frame(const decode::Dissection& frame, const Case& at_hand) {
    // Nobody can say who did what a wrong ICRC shows: noise would look the same. Only where the
    // packet was recorded as it left is it its sender's doing.
    if (frame.icrc.status == decode::IcrcStatus::Bad) {
        if (!at_hand.recorded_at(at_hand.packet.source)) return;
        const bool cnp = frame.bth.opcode == wire::kCnpOpcode;
        at_hand.report(cnp ? "CRC-10" : "CRC-01", {}, Evidence(at_hand.packet.number),
                       "the ICRC is wrong");
        return;
    }
    judge_ipv4(frame, at_hand);
    for (const decode::Finding& finding : frame.findings.all()) {
        if (finding.kind != FindingKind::UdpLength) continue;
        at_hand.report("CA17-21", damage(frame), Evidence(at_hand.packet.number),
                       "the UDP length does not end with the ICRC");
    }
}

} // namespace veriroce::judge
