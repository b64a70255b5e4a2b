#include "dissector/analyze/set_ups.hpp"

#include <algorithm>

namespace veriroce::analyze {

void SetUps::note(const flow::Packet& packet) {
    const auto message = flow::cm_message_of(packet);
    if (!message) return;
    switch (message->kind) {
    case flow::CmKind::Request: request(packet, *message); break;
    case flow::CmKind::Reply: reply(packet, *message); break;
    case flow::CmKind::Reject: reject(packet, *message); break;
    case flow::CmKind::DisconnectRequest: {
        const flow::Path path{packet.source, packet.destination, message->remote_qpn.value};
        const auto known = by_path_.find(path);
        if (known && kept_[*known].disconnect_number == 0) {
            kept_[*known].disconnect_number = packet.number;
        }
        break;
    }
    case flow::CmKind::Other: break;
    }
}

const Setup* SetUps::find(const flow::Path& path) const {
    const auto known = by_path_.find(path);
    return known ? &kept_[*known] : nullptr;
}

void SetUps::request(const flow::Packet& packet, const flow::CmMessage& message) {
    const auto repeated = [&](const Open& one) {
        return one.request.local_id == message.local_id && one.client == packet.source &&
               one.server == packet.destination;
    };
    if (std::ranges::any_of(open_, repeated)) return;
    if (open_.size() == kMostOpen) {
        open_.erase(open_.begin());
        limited_ = true;
    }
    open_.push_back({.client = packet.source,
                     .server = packet.destination,
                     .request = message,
                     .number = packet.number,
                     .time = packet.time});
    most_open_ = std::max(most_open_, open_.size());
}

// The request, which has its answer now.
std::optional<SetUps::Open> SetUps::asked(const flow::Packet& answer, std::uint32_t local_id) {
    const auto fits = [&](const Open& one) {
        return one.request.local_id == local_id && one.client == answer.destination &&
               one.server == answer.source;
    };
    const auto found = std::ranges::find_if(open_, fits);
    if (found == open_.end()) return std::nullopt;
    const Open open = *found;
    open_.erase(found);
    return open;
}

void SetUps::reply(const flow::Packet& packet, const flow::CmMessage& message) {
    const auto open = asked(packet, message.remote_id);
    if (!open) return;
    if (kept_.size() >= kMostKept) {
        limited_ = true;
        return;
    }
    const flow::CmMessage& asked = open->request;
    Setup setup{.request_number = open->number,
                .reply_number = packet.number,
                .service_id = asked.service_id,
                .took = {},
                .ack_timeout = asked.ack_timeout,
                .retry_count = asked.retry_count,
                .rnr_retry_count = asked.rnr_retry_count,
                .initiator_depth = std::min(asked.initiator_depth, message.responder_resources),
                .responder_resources = asked.responder_resources};
    if (open->time && packet.time) setup.took = *packet.time - *open->time;
    const auto index = static_cast<std::uint32_t>(kept_.size());
    kept_.push_back(setup);
    by_path_.put({open->client, open->server, message.qpn.value}, index);
    by_path_.put({open->server, open->client, asked.qpn.value}, index);
}

void SetUps::reject(const flow::Packet& packet, const flow::CmMessage& message) {
    const auto open = asked(packet, message.remote_id);
    if (!open) return;
    if (refusals_.size() >= kMostRefusals) return;
    refusals_.push_back({.client = open->client,
                         .server = open->server,
                         .client_qpn = open->request.qpn,
                         .service_id = open->request.service_id,
                         .reason = message.reason,
                         .request_number = open->number,
                         .reject_number = packet.number});
}

} // namespace veriroce::analyze
