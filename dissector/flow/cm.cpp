#include "dissector/flow/cm.hpp"

#include "dissector/decode/field.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::flow {
namespace {

// The fields of a request or reply that are read here lie within this many bytes.
constexpr std::size_t kFieldBytes = 56;
// The ACK timeout of the primary path lies behind them, within this many.
constexpr std::size_t kTimeoutBytes = 96;

// A number of a message, which has its bytes, by the name of its field in the field table.
class MessageField {
  public:
    explicit MessageField(std::string_view name)
        : row_(*decode::Column::find(name).value().rows().front()) {}
    [[nodiscard]] std::uint32_t in(wire::Bytes message) const {
        return static_cast<std::uint32_t>(wide(message));
    }
    [[nodiscard]] std::uint64_t wide(wire::Bytes message) const {
        return wire::load_bits(message, row_.bit, row_.bits);
    }

  private:
    const decode::FieldRow& row_;
};

CmKind kind_of(std::uint16_t attribute) {
    const decode::CmLayout* layout = decode::cm_layout(attribute);
    if (layout == nullptr) return CmKind::Other;
    if (layout->layer == decode::LayerKind::CmReq) return CmKind::Request;
    if (layout->layer == decode::LayerKind::CmRej) return CmKind::Reject;
    if (layout->layer == decode::LayerKind::CmRep) return CmKind::Reply;
    if (layout->layer == decode::LayerKind::CmDreq) return CmKind::DisconnectRequest;
    return CmKind::Other;
}

void read_request(wire::Bytes data, CmMessage& message) {
    static const MessageField service_id("infiniband.cm.req.serviceid");
    static const MessageField qpn("infiniband.cm.req.localqpn");
    static const MessageField responder_resources("infiniband.cm.req.responderres");
    static const MessageField initiator_depth("infiniband.cm.req.initdepth");
    static const MessageField first_psn("infiniband.cm.req.startpsn");
    static const MessageField mtu("infiniband.cm.req.pppmtu");
    static const MessageField ack_timeout("infiniband.cm.req.prim_localacktout");
    static const MessageField retry_count("infiniband.cm.req.retrcount");
    static const MessageField rnr_retry_count("infiniband.cm.req.rnrretrcount");
    static const MessageField pkey("infiniband.cm.req.pkey");
    static const MessageField most_repeats("infiniband.cm.req.maxcmretr");
    static const MessageField remote_timeout("infiniband.cm.req.remoteresptout");
    static const MessageField local_timeout("infiniband.cm.req.localresptout");
    message.service_id = service_id.wide(data);
    message.qpn = {qpn.in(data)};
    message.responder_resources = static_cast<std::uint8_t>(responder_resources.in(data));
    message.initiator_depth = static_cast<std::uint8_t>(initiator_depth.in(data));
    message.first_psn = wire::Psn(first_psn.in(data));
    message.mtu = wire::cm::mtu_of(static_cast<std::uint8_t>(mtu.in(data)));
    if (data.size() >= kTimeoutBytes) {
        message.ack_timeout = static_cast<std::uint8_t>(ack_timeout.in(data));
    }
    message.retry_count = static_cast<std::uint8_t>(retry_count.in(data));
    message.rnr_retry_count = static_cast<std::uint8_t>(rnr_retry_count.in(data));
    message.pkey = {static_cast<std::uint16_t>(pkey.in(data))};
    message.most_repeats = static_cast<std::uint8_t>(most_repeats.in(data));
    message.remote_timeout = static_cast<std::uint8_t>(remote_timeout.in(data));
    message.local_timeout = static_cast<std::uint8_t>(local_timeout.in(data));
}

void read_reply(wire::Bytes data, CmMessage& message) {
    static const MessageField remote_id("infiniband.cm.rep.remotecommid");
    static const MessageField qpn("infiniband.cm.rep.localqpn");
    static const MessageField first_psn("infiniband.cm.rep.startpsn");
    static const MessageField responder_resources("infiniband.cm.rep.respres");
    static const MessageField initiator_depth("infiniband.cm.rep.initdepth");
    message.remote_id = remote_id.in(data);
    message.qpn = {qpn.in(data)};
    message.first_psn = wire::Psn(first_psn.in(data));
    message.responder_resources = static_cast<std::uint8_t>(responder_resources.in(data));
    message.initiator_depth = static_cast<std::uint8_t>(initiator_depth.in(data));
}

void read_reject(wire::Bytes data, CmMessage& message) {
    static const MessageField remote_id("infiniband.cm.rej.remotecommid");
    static const MessageField reason("infiniband.cm.rej.reason");
    message.remote_id = remote_id.in(data);
    message.reason = static_cast<std::uint16_t>(reason.in(data));
}

void read_disconnect_request(wire::Bytes data, CmMessage& message) {
    static const MessageField remote_id("infiniband.cm.dreq.remotecommid");
    static const MessageField remote_qpn("infiniband.cm.req.remoteqpneecn");
    message.remote_id = remote_id.in(data);
    message.remote_qpn = {remote_qpn.in(data)};
}

CmMessage read_message(const decode::MadHeader& mad, wire::Bytes data) {
    CmMessage message;
    message.kind = kind_of(mad.attribute);
    message.transaction = mad.transaction;
    message.local_id = wire::load_u32(data, 0); // with which every message begins
    switch (message.kind) {
    case CmKind::Request: read_request(data, message); break;
    case CmKind::Reply: read_reply(data, message); break;
    case CmKind::Reject: read_reject(data, message); break;
    case CmKind::DisconnectRequest: read_disconnect_request(data, message); break;
    case CmKind::Other: break;
    }
    return message;
}

} // namespace

std::optional<CmMessage> cm_message_of(const Packet& packet) {
    if (packet.info().service != wire::Service::Ud ||
        packet.transport.bth.dest_qp != wire::kGsiQpn) {
        return std::nullopt;
    }
    const wire::Bytes datagram = packet.transport.body;
    if (datagram.size() < decode::kMadHeaderBytes + kFieldBytes) return std::nullopt;
    const decode::MadHeader mad = decode::MadHeader::read(datagram);
    if (mad.management_class != wire::kCmClass) return std::nullopt;
    return read_message(mad, datagram.subspan(decode::kMadHeaderBytes));
}

std::optional<CmMessage> cm_message_of(const decode::Dissection& dissection) {
    const decode::LayerSpan* header = dissection.layers.find(decode::LayerKind::Mad);
    if (header == nullptr || header->length < decode::kMadHeaderBytes) return std::nullopt;
    const auto mad = decode::MadHeader::read(dissection.bytes_of(*header));
    const decode::CmLayout* layout = decode::cm_layout(mad.attribute);
    if (mad.management_class != wire::kCmClass || layout == nullptr) return std::nullopt;
    const decode::LayerSpan* message = dissection.layers.find(layout->layer);
    if (message == nullptr || message->length < layout->bytes) return std::nullopt;
    return read_message(mad, dissection.bytes_of(*message));
}

} // namespace veriroce::flow
