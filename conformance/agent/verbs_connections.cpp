// Connection management of the host, by the kernel.
#ifdef VERIROCE_HAVE_VERBS

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstring>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"

namespace veriroce::agent {
namespace {

dut::Failure lacks_cm(std::string_view method) {
    return dut::no_method(method, "this agent cannot use /dev/infiniband/rdma_cm");
}

dut::AddressVector address_vector_of(const ib_uverbs_ah_attr& from) {
    dut::AddressVector to{.gid_index = from.grh.sgid_index,
                          .hop_limit = from.grh.hop_limit,
                          .traffic_class = from.grh.traffic_class,
                          .flow_label = from.grh.flow_label};
    std::memcpy(to.address.bytes.data(), from.grh.dgid, sizeof from.grh.dgid);
    return to;
}

// Copies the attributes whose bit is set in the mask.
dut::QpAttributes attributes_of(const ib_uverbs_qp_attr& from) {
    dut::QpAttributes to;
    const auto has = [&](int bit) { return (from.qp_attr_mask & static_cast<unsigned>(bit)) != 0; };
    if (has(IBV_QP_STATE)) to.state = state_of(static_cast<ibv_qp_state>(from.qp_state));
    if (has(IBV_QP_ACCESS_FLAGS)) to.access = access_of(from.qp_access_flags);
    if (has(IBV_QP_PKEY_INDEX)) to.pkey_index = from.pkey_index;
    if (has(IBV_QP_PORT)) to.port_num = from.port_num;
    if (has(IBV_QP_AV) && from.ah_attr.is_global != 0)
        to.address_vector = address_vector_of(from.ah_attr);
    if (has(IBV_QP_PATH_MTU)) to.path_mtu = mtu_of(static_cast<ibv_mtu>(from.path_mtu));
    if (has(IBV_QP_DEST_QPN)) to.dest_qp_num = wire::Qpn{from.dest_qp_num & wire::kMask24};
    if (has(IBV_QP_RQ_PSN)) to.rq_psn = wire::Psn(from.rq_psn);
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
    if (has(IBV_QP_MIN_RNR_TIMER)) to.min_rnr_timer = from.min_rnr_timer;
    if (has(IBV_QP_SQ_PSN)) to.sq_psn = wire::Psn(from.sq_psn);
    if (has(IBV_QP_TIMEOUT)) to.timeout = from.timeout;
    if (has(IBV_QP_RETRY_CNT)) to.retry_cnt = from.retry_cnt;
    if (has(IBV_QP_RNR_RETRY)) to.rnr_retry = from.rnr_retry;
    if (has(IBV_QP_MAX_QP_RD_ATOMIC)) to.max_rd_atomic = from.max_rd_atomic;
    return to;
}

dut::Answer done_or(std::string_view method, int error) {
    if (error != 0) return std::unexpected(refused_with(method, error));
    return dut::Done{};
}

} // namespace

dut::Answer VerbsDevice::carry_out(const dut::CmListen& request, wire::Instant /*now*/) {
    if (!KernelConnections::available()) return std::unexpected(lacks_cm(dut::CmListen::method));
    if (connections_.listening())
        return std::unexpected(refused_with(dut::CmListen::method, EBUSY));
    const auto port = connections_.listen(request.port.value_or(0));
    if (!port) return std::unexpected(refused_with(dut::CmListen::method, port.error()));
    return dut::CmListening{.service_id = dut::kTcpServices | *port};
}

dut::Answer VerbsDevice::carry_out(const dut::CmEvents& /*request*/, wire::Instant now) {
    if (!KernelConnections::available()) return std::unexpected(lacks_cm(dut::CmEvents::method));
    dut::CmEventList list;
    if (!connections_.listening()) return list;
    drain_events(now);
    while (const auto event = connections_.next_event()) {
        if (event->type == wire::ConnectionEvent::ConnectRequest)
            requested_.insert({event->connection});
        list.events.push_back({.type = event->type, .connection = {event->connection}, .at = now});
    }
    return list;
}

std::expected<KernelConnections::Id, dut::Failure>
VerbsDevice::id_of(std::string_view method, dut::ConnectionHandle handle) const {
    if (!KernelConnections::available()) return std::unexpected(lacks_cm(method));
    if (!requested_.contains(handle))
        return std::unexpected(dut::no_such("connection", handle.value));
    return static_cast<KernelConnections::Id>(handle.value);
}

dut::Answer VerbsDevice::carry_out(const dut::CmQpAttributes& request, wire::Instant /*now*/) {
    const auto connection = id_of(dut::CmQpAttributes::method, request.connection);
    if (!connection) return std::unexpected(connection.error());
    if (!dut::is_step_of_connection(request.state))
        return std::unexpected(dut::invalid("state: expected INIT, RTR or RTS"));
    ib_uverbs_qp_attr attributes{};
    const int error = connections_.qp_attributes(*connection, to_verbs(request.state), attributes);
    if (error != 0) return std::unexpected(refused_with(dut::CmQpAttributes::method, error));
    return dut::QpQueried{attributes_of(attributes)};
}

dut::Answer VerbsDevice::carry_out(const dut::CmAccept& request, wire::Instant /*now*/) {
    const auto connection = id_of(dut::CmAccept::method, request.connection);
    if (!connection) return std::unexpected(connection.error());
    auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    const int error =
        connections_.accept(*connection, {.qpn = qp->qp->qp_num,
                                          .responder_resources = request.responder_resources,
                                          .initiator_depth = request.initiator_depth,
                                          .shared_receives = qp->qp->srq != nullptr});
    if (error == 0) qp->connection = *connection;
    return done_or(dut::CmAccept::method, error);
}

dut::Answer VerbsDevice::carry_out(const dut::CmReject& request, wire::Instant /*now*/) {
    const auto connection = id_of(dut::CmReject::method, request.connection);
    if (!connection) return std::unexpected(connection.error());
    return done_or(dut::CmReject::method, connections_.reject(*connection));
}

dut::Answer VerbsDevice::carry_out(const dut::CmDisconnect& request, wire::Instant /*now*/) {
    const auto connection = id_of(dut::CmDisconnect::method, request.connection);
    if (!connection) return std::unexpected(connection.error());
    return done_or(dut::CmDisconnect::method, connections_.disconnect(*connection));
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
