// Connection management: CM-03, CM-13, CA17-35, CA17-37, N-30. One message by itself; CM-03 with
// the request that it answers, which the tracker's connection has taken its attributes from.
#include "conformance/judge/context.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::judge {
namespace {

constexpr std::uint16_t kInvalidLid = 13;
constexpr std::uint16_t kInvalidAlternateLid = 19;
constexpr std::size_t kGidAt = decode::kMadHeaderBytes + 56; // of the request: its sender's

void judge_mad(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::Deth& deth = packet.transport.deth;
    const bool well_formed = packet.payload_bytes() == wire::kMadBytes &&
                             deth.qkey == wire::kGsiQkey && deth.source_qp == wire::kGsiQpn;
    if (!well_formed) {
        context.report(
            "N-30", kDamage, Evidence(packet.number),
            {phrase({"the CM message has ", packet.payload_bytes(), " bytes, comes from QP ",
                     deth.source_qp.value, " and has Q_Key ", Hex{deth.qkey.value}}),
             phrase({"it must have ", wire::kMadBytes, " bytes, come from QP ", wire::kGsiQpn.value,
                     " and have Q_Key ", Hex{wire::kGsiQkey.value}})});
    }
}

void judge_gid(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (!packet.source.v4() || packet.transport.body.size() < kGidAt + 16) return;
    const auto gid = wire::IpAddress::from_v6(packet.transport.body.subspan(kGidAt, 16));
    if (!gid.v4()) {
        context.report("CM-13", kDamage, Evidence(packet.number),
                       {phrase({"the sender's GID is ", gid.text()}),
                        phrase({"it must be the IPv4-mapped ", packet.source.text()})});
    }
}

// Whether the depth was reduced is seen at the QP that replied: it introduced the connection.
void judge_depth(const Context& context, const flow::CmMessage& reply) {
    for (const std::uint32_t index : context.tracker.connections()) {
        const flow::Connection& connection = context.tracker.connection(index);
        const flow::End& passive = connection.ends[1];
        if (connection.pairing != flow::Pairing::Known || passive.qpn != reply.qpn ||
            !(passive.address == context.packet.source) ||
            !(connection.ends[0].address == context.packet.destination) ||
            !passive.attributes.max_rd_atomic) {
            continue;
        }
        if (reply.initiator_depth > *passive.attributes.max_rd_atomic) {
            context.report("CM-03", kDamage, Evidence(context.packet.number),
                           {phrase({"REP asks for an initiator depth of ", reply.initiator_depth}),
                            phrase({"REQ offered ", *passive.attributes.max_rd_atomic})});
        }
        return;
    }
}

// An answer to the load of an alternate path.
void judge_path_answer(const Context& context) {
    constexpr std::size_t status_at = decode::kMadHeaderBytes + 9;
    constexpr std::uint8_t lid_rejected = 7;
    const wire::Bytes datagram = context.packet.transport.body; // holds the fields of a message
    const auto* layout = decode::cm_layout(decode::MadHeader::read(datagram).attribute);
    if (layout == nullptr || layout->layer != decode::LayerKind::CmApr) return;
    if (wire::load_u8(datagram, status_at) != lid_rejected) return;
    context.report("CA17-37", kDamage, Evidence(context.packet.number),
                   {"APR has status 7", "status 7 must not be used"});
}

} // namespace

void judge_management(const Context& context) {
    const auto message = flow::cm_message_of(context.packet);
    if (!message) return;
    judge_mad(context);
    switch (message->kind) {
    case flow::CmKind::Request: judge_gid(context); break;
    case flow::CmKind::Reply: judge_depth(context, *message); break;
    case flow::CmKind::Reject:
        if (message->reason == kInvalidLid || message->reason == kInvalidAlternateLid) {
            context.report("CA17-35", kDamage, Evidence(context.packet.number),
                           {phrase({"REJ has reason ", message->reason}),
                            "reasons 13 and 19 must not be used"});
        }
        break;
    case flow::CmKind::DisconnectRequest: break;
    case flow::CmKind::Other: judge_path_answer(context); break;
    }
}

} // namespace veriroce::judge
