// Connection management of the engine device: a program that listens on its host.
#include <algorithm>

#include "conformance/dut/engine_answers.hpp"
#include "conformance/dut/engine_device.hpp"

namespace veriroce::dut {
namespace {

constexpr std::uint16_t kFirstFreePort = 0xC000;

// 0.64 ms, as the engine's other QPs have it: a REQ does not tell.
constexpr std::uint8_t kMinRnrTimer = 12;

Failure lacks_cm(std::string_view method) {
    return no_method(method, "the device has no cm");
}

} // namespace

Answer EngineDevice::carry_out(const CmListen& request, wire::Instant now) {
    if (!management_) return std::unexpected(lacks_cm(CmListen::method));
    if (connections_ != nullptr)
        return std::unexpected(refused(CmListen::method, "EBUSY", "this caller listens already"));
    engine::Connections& connections = management_(now).connections();
    const bool chosen = request.port.value_or(0) != 0;
    std::uint16_t port = chosen ? *request.port : kFirstFreePort;
    while (!connections.listen({kTcpServices | port})) {
        if (chosen || ++port == 0) {
            return std::unexpected(
                refused(CmListen::method, "EADDRINUSE", "another caller listens there"));
        }
    }
    service_ = {kTcpServices | port};
    connections_ = &connections;
    return CmListening{.service_id = service_.value};
}

Answer EngineDevice::carry_out(const CmEvents& /*request*/, wire::Instant now) {
    if (!management_) return std::unexpected(lacks_cm(CmEvents::method));
    CmEventList list;
    if (connections_ == nullptr) return list;
    while (const auto event = connections_->poll_event(service_)) {
        list.events.push_back({.type = event->type,
                               .connection = handle_of<ConnectionHandle>(event->connection),
                               .at = now});
    }
    return list;
}

std::expected<const engine::ConnectionOffer*, Failure>
EngineDevice::offer_of(std::string_view method, ConnectionHandle handle) const {
    if (!management_) return std::unexpected(lacks_cm(method));
    const engine::ConnectionOffer* offer =
        connections_ == nullptr ? nullptr
                                : connections_->offer(id_of<engine::ConnectionId>(handle));
    if (offer == nullptr || offer->service != service_)
        return std::unexpected(no_such("connection", handle.value));
    return offer;
}

Answer EngineDevice::carry_out(const CmQpAttributes& request, wire::Instant /*now*/) {
    const auto found = offer_of(CmQpAttributes::method, request.connection);
    if (!found) return std::unexpected(found.error());
    const engine::ConnectionOffer& offer = **found;
    QpAttributes to{.state = request.state};
    switch (request.state) {
    case engine::QpState::Init: {
        const auto pkey = std::ranges::find(description_.pkeys, offer.pkey);
        if (pkey == description_.pkeys.end()) {
            return std::unexpected(
                refused(CmQpAttributes::method, "EINVAL", "the port has no such P_Key"));
        }
        to.pkey_index = static_cast<std::uint16_t>(pkey - description_.pkeys.begin());
        to.port_num = description_.port;
        to.access =
            engine::Access{.remote_write = true, .remote_read = true, .remote_atomic = true};
        return QpQueried{to};
    }
    case engine::QpState::Rtr: {
        const auto& addresses = description_.addresses;
        const auto own = std::ranges::find(addresses, offer.path.source);
        if (own == addresses.end()) {
            return std::unexpected(
                refused(CmQpAttributes::method, "EINVAL", "the port has no such GID"));
        }
        std::size_t gid = static_cast<std::size_t>(own - addresses.begin());
        if (offer.path.vlan) {
            const auto vlan =
                std::ranges::find(description_.vlans, offer.path.vlan->id, &wire::VlanId::id);
            if (vlan != description_.vlans.end()) {
                gid += addresses.size() *
                       (1 + static_cast<std::size_t>(vlan - description_.vlans.begin()));
            }
        }
        to.address_vector = AddressVector{.gid_index = static_cast<std::uint32_t>(gid),
                                          .address = offer.path.destination,
                                          .hop_limit = offer.path.hop_limit,
                                          .traffic_class = offer.path.traffic_class,
                                          .flow_label = offer.path.flow_label};
        to.path_mtu = offer.mtu;
        to.dest_qp_num = offer.peer;
        to.rq_psn = offer.rq_psn;
        to.max_dest_rd_atomic = offer.responder_resources;
        to.min_rnr_timer = kMinRnrTimer;
        return QpQueried{to};
    }
    case engine::QpState::Rts:
        to.sq_psn = offer.sq_psn;
        to.timeout = offer.timeout;
        to.retry_cnt = offer.retry_count;
        to.rnr_retry = offer.rnr_retry;
        to.max_rd_atomic = offer.initiator_depth;
        return QpQueried{to};
    case engine::QpState::Reset:
    case engine::QpState::Sqd:
    case engine::QpState::Sqe:
    case engine::QpState::Err: break;
    }
    return std::unexpected(invalid("state: expected INIT, RTR or RTS"));
}

Answer EngineDevice::carry_out(const CmAccept& request, wire::Instant now) {
    const auto found = offer_of(CmAccept::method, request.connection);
    if (!found) return std::unexpected(found.error());
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    const engine::ConnectionAcceptance acceptance{.qpn = qp->second.qpn,
                                                  .responder_resources =
                                                      request.responder_resources,
                                                  .initiator_depth = request.initiator_depth,
                                                  .shared_receives = qp->second.shared_receives};
    if (!connections_->accept(id_of<engine::ConnectionId>(request.connection), acceptance, now)) {
        return std::unexpected(
            refused(CmAccept::method, "EINVAL", "the connection waits for no answer"));
    }
    return Done{};
}

Answer EngineDevice::carry_out(const CmReject& request, wire::Instant /*now*/) {
    const auto found = offer_of(CmReject::method, request.connection);
    if (!found) return std::unexpected(found.error());
    if (!connections_->reject(id_of<engine::ConnectionId>(request.connection))) {
        return std::unexpected(
            refused(CmReject::method, "EINVAL", "the connection waits for no answer"));
    }
    return Done{};
}

Answer EngineDevice::carry_out(const CmDisconnect& request, wire::Instant now) {
    const auto found = offer_of(CmDisconnect::method, request.connection);
    if (!found) return std::unexpected(found.error());
    if (!connections_->disconnect(id_of<engine::ConnectionId>(request.connection), now)) {
        return std::unexpected(
            refused(CmDisconnect::method, "EINVAL", "the connection is not open"));
    }
    return Done{};
}

} // namespace veriroce::dut
