// Connection management: CM-03, CM-13, CA17-35, N-30. One message by itself; CM-03 with the request
// that it answers, which the tracker's connection has taken its attributes from.
#include "conformance/judge/case_at_hand.hpp"
#include "dissector/decode/mad.hpp"

namespace veriroce::judge {
namespace {

constexpr Excuses kDamage{Excuse::Damage};
constexpr std::uint32_t kWellKnownQkey = 0x80010000;
constexpr std::uint16_t kInvalidLid = 13;
constexpr std::uint16_t kInvalidAlternateLid = 19;
constexpr std::size_t kGidAt = decode::kMadHeaderBytes + 56; // of the request: its sender's

void judge_datagram(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    const wire::Deth& deth = packet.transport.deth;
    const bool well_formed = packet.payload_bytes() == decode::kMadBytes &&
                             deth.qkey.value == kWellKnownQkey &&
                             deth.source_qp.value == decode::kGsiQp;
    if (!well_formed) {
        at_hand.report("N-30", kDamage, Evidence(packet.number),
                       "the CM message is not 256 bytes from QP 1 with the well-known Q_Key");
    }
}

void judge_gid(const Case& at_hand) {
    const flow::Packet& packet = at_hand.packet;
    if (!packet.source.v4() || packet.transport.body.size() < kGidAt + 16) return;
    const auto gid = wire::IpAddress::from_v6(packet.transport.body.subspan(kGidAt, 16));
    if (!gid.v4()) {
        at_hand.report("CM-13", kDamage, Evidence(packet.number),
                       "the sender's GID is no mapped IPv4 address");
    }
}

// Whether the depth was reduced is seen at the QP that replied: it introduced the connection.
void judge_depth(const Case& at_hand, const flow::CmMessage& reply) {
    for (const std::uint32_t index : at_hand.tracker.connections()) {
        const flow::Connection& connection = at_hand.tracker.connection(index);
        const flow::End& passive = connection.ends[1];
        if (connection.pairing != flow::Pairing::Known || passive.qpn != reply.qpn ||
            !(passive.address == at_hand.packet.source) || !passive.attributes.max_rd_atomic) {
            continue;
        }
        if (reply.initiator_depth > *passive.attributes.max_rd_atomic) {
            at_hand.report("CM-03", kDamage, Evidence(at_hand.packet.number),
                           "REP asks for an initiator depth of " +
                               std::to_string(reply.initiator_depth) + ", REQ offered " +
                               std::to_string(*passive.attributes.max_rd_atomic));
        }
        return;
    }
}

} // namespace

void judge_management(const Case& at_hand) {
    const auto message = flow::cm_message_of(at_hand.packet);
    if (!message) return;
    judge_datagram(at_hand);
    switch (message->kind) {
    case flow::CmKind::Request: judge_gid(at_hand); break;
    case flow::CmKind::Reply: judge_depth(at_hand, *message); break;
    case flow::CmKind::Reject:
        if (message->reason == kInvalidLid || message->reason == kInvalidAlternateLid) {
            at_hand.report("CA17-35", kDamage, Evidence(at_hand.packet.number),
                           "REJ with reason " + std::to_string(message->reason));
        }
        break;
    case flow::CmKind::DisconnectRequest:
    case flow::CmKind::Other: break;
    }
}

} // namespace veriroce::judge
