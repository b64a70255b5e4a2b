#include "dissector/flow/cm.hpp"

#include "dissector/decode/mad.hpp"

namespace veriroce::flow {
namespace {

constexpr std::size_t kClassAt = 1;
constexpr std::size_t kAttributeAt = 16;
// The fields of a request or reply that are read here lie within this many bytes.
constexpr std::size_t kFieldBytes = 56;

std::optional<wire::Mtu> mtu_of_code(std::uint8_t code) {
    switch (code) {
    case 1: return wire::Mtu::B256;
    case 2: return wire::Mtu::B512;
    case 3: return wire::Mtu::B1024;
    case 4: return wire::Mtu::B2048;
    case 5: return wire::Mtu::B4096;
    default: return std::nullopt;
    }
}

CmKind kind_of(std::uint16_t attribute) {
    switch (attribute) {
    case 0x10: return CmKind::Request;
    case 0x12: return CmKind::Reject;
    case 0x13: return CmKind::Reply;
    case 0x15: return CmKind::DisconnectRequest;
    default: return CmKind::Other;
    }
}

} // namespace

std::optional<CmMessage> cm_message_of(const Packet& packet) {
    if (packet.info().service != wire::Service::Ud ||
        packet.transport.bth.dest_qp.value != decode::kGsiQp) {
        return std::nullopt;
    }
    const wire::Bytes mad = packet.transport.body;
    if (mad.size() < decode::kMadHeaderBytes + kFieldBytes) return std::nullopt;
    if (wire::load_u8(mad, kClassAt) != decode::kCmClass) return std::nullopt;
    const wire::Bytes data = mad.subspan(decode::kMadHeaderBytes);
    CmMessage message;
    message.kind = kind_of(wire::load_u16(mad, kAttributeAt));
    message.local_id = wire::load_u32(data, 0);
    switch (message.kind) {
    case CmKind::Request:
        message.qpn = {wire::load_u24(data, 32)};
        message.responder_resources = wire::load_u8(data, 35);
        message.initiator_depth = wire::load_u8(data, 39);
        message.first_psn = wire::Psn(wire::load_u24(data, 44));
        message.mtu = mtu_of_code(wire::load_u8(data, 50) >> 4);
        break;
    case CmKind::Reply:
        message.remote_id = wire::load_u32(data, 4);
        message.qpn = {wire::load_u24(data, 12)};
        message.first_psn = wire::Psn(wire::load_u24(data, 20));
        message.responder_resources = wire::load_u8(data, 24);
        message.initiator_depth = wire::load_u8(data, 25);
        break;
    case CmKind::Reject:
        message.remote_id = wire::load_u32(data, 4);
        message.reason = wire::load_u16(data, 10);
        break;
    case CmKind::DisconnectRequest: message.remote_id = wire::load_u32(data, 4); break;
    case CmKind::Other: break;
    }
    return message;
}

} // namespace veriroce::flow
