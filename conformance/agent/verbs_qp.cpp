// QPs: creation, and qp_modify and qp_query between the contract's names and ibv_qp_attr.
#ifdef VERIROCE_HAVE_VERBS

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"

namespace veriroce::agent {

namespace {

// The device derives the UDP source port from the flow label; ports below this one are not possible
// (rdma_flow_label_to_udp_sport of rdma-core).
constexpr std::uint16_t kFirstLabelPort = 0xC000;

std::expected<ibv_ah_attr, dut::Failure> ah_attr_of(const dut::AddressVector& from,
                                                    std::uint8_t port) {
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = port;
    to.dlid = from.dlid.value_or(0);
    to.grh.sgid_index = static_cast<std::uint8_t>(from.gid_index);
    if (from.gid_index > 0xFF) {
        return std::unexpected(dut::invalid("gid_index: expected 0 to 255"));
    }
    to.grh.hop_limit = from.hop_limit.value_or(64);
    to.grh.traffic_class = from.traffic_class.value_or(0);
    to.grh.flow_label = from.flow_label.value_or(0);
    if (from.udp_sport) {
        if (from.flow_label || *from.udp_sport < kFirstLabelPort) {
            return std::unexpected(
                dut::refused(dut::QpModify::method, "EOPNOTSUPP",
                             "udp_sport: the verbs set it through the flow label, from 0xC000 on"));
        }
        to.grh.flow_label = *from.udp_sport - kFirstLabelPort;
    }
    std::memcpy(to.grh.dgid.raw, from.address.bytes.data(), sizeof to.grh.dgid.raw);
    return to;
}

dut::AddressVector address_vector_of(const ibv_ah_attr& from) {
    dut::AddressVector to{.gid_index = from.grh.sgid_index,
                          .dlid = from.dlid,
                          .hop_limit = from.grh.hop_limit,
                          .traffic_class = from.grh.traffic_class,
                          .flow_label = from.grh.flow_label};
    std::memcpy(to.address.bytes.data(), from.grh.dgid.raw, sizeof from.grh.dgid.raw);
    return to;
}

struct Change {
    ibv_qp_attr attributes{};
    int mask = 0;

    template <typename Target, typename Source>
    void set(int bit, Target& target, const std::optional<Source>& source) {
        if (!source) return;
        target = static_cast<Target>(*source);
        mask |= bit;
    }
};

// The attribute mask consists exactly of the given names.
std::expected<Change, dut::Failure> change_of(const dut::QpAttributes& from, std::uint8_t port) {
    Change change;
    auto& to = change.attributes;
    if (from.state) change.set(IBV_QP_STATE, to.qp_state, std::optional(to_verbs(*from.state)));
    if (from.cur_state) {
        change.set(IBV_QP_CUR_STATE, to.cur_qp_state, std::optional(to_verbs(*from.cur_state)));
    }
    change.set(IBV_QP_EN_SQD_ASYNC_NOTIFY, to.en_sqd_async_notify, from.en_sqd_async_notify);
    if (from.access) {
        change.set(IBV_QP_ACCESS_FLAGS, to.qp_access_flags, std::optional(to_verbs(*from.access)));
    }
    change.set(IBV_QP_PKEY_INDEX, to.pkey_index, from.pkey_index);
    change.set(IBV_QP_PORT, to.port_num, from.port_num);
    if (from.qkey) change.set(IBV_QP_QKEY, to.qkey, std::optional(from.qkey->value));
    if (from.path_mtu) {
        change.set(IBV_QP_PATH_MTU, to.path_mtu, std::optional(to_verbs(*from.path_mtu)));
    }
    change.set(IBV_QP_TIMEOUT, to.timeout, from.timeout);
    change.set(IBV_QP_RETRY_CNT, to.retry_cnt, from.retry_cnt);
    change.set(IBV_QP_RNR_RETRY, to.rnr_retry, from.rnr_retry);
    if (from.rq_psn) change.set(IBV_QP_RQ_PSN, to.rq_psn, std::optional(from.rq_psn->value()));
    change.set(IBV_QP_MAX_QP_RD_ATOMIC, to.max_rd_atomic, from.max_rd_atomic);
    change.set(IBV_QP_MIN_RNR_TIMER, to.min_rnr_timer, from.min_rnr_timer);
    if (from.sq_psn) change.set(IBV_QP_SQ_PSN, to.sq_psn, std::optional(from.sq_psn->value()));
    change.set(IBV_QP_MAX_DEST_RD_ATOMIC, to.max_dest_rd_atomic, from.max_dest_rd_atomic);
    if (from.path_mig_state) {
        change.set(IBV_QP_PATH_MIG_STATE, to.path_mig_state,
                   std::optional(to_verbs(*from.path_mig_state)));
    }
    if (from.dest_qp_num) {
        change.set(IBV_QP_DEST_QPN, to.dest_qp_num, std::optional(from.dest_qp_num->value));
    }
    if (from.flow_control) {
        return std::unexpected(dut::refused(dut::QpModify::method, "EOPNOTSUPP",
                                            "verbs cannot choose end-to-end flow control"));
    }
    if (from.address_vector) {
        const auto vector = ah_attr_of(*from.address_vector, from.port_num.value_or(port));
        if (!vector) return std::unexpected(vector.error());
        change.set(IBV_QP_AV, to.ah_attr, std::optional(*vector));
    }
    if (from.alt_address_vector) {
        const auto vector = ah_attr_of(*from.alt_address_vector, from.alt_port_num.value_or(port));
        if (!vector) return std::unexpected(vector.error());
        to.alt_pkey_index = from.alt_pkey_index.value_or(0);
        to.alt_port_num = from.alt_port_num.value_or(port);
        to.alt_timeout = from.alt_timeout.value_or(0);
        change.set(IBV_QP_ALT_PATH, to.alt_ah_attr, std::optional(*vector));
    } else if (from.alt_pkey_index || from.alt_port_num || from.alt_timeout) {
        return std::unexpected(dut::invalid("alt_ah_attr is missing: the other alt_ names require "
                                            "it"));
    }
    return change;
}

} // namespace

dut::Answer VerbsDevice::carry_out(const dut::QpCreate& request, wire::Instant /*now*/) {
    const auto* pd = find_in(pds_, request.pd);
    if (pd == nullptr) return std::unexpected(dut::no_such("pd", request.pd.value));
    const auto* send_cq = find_in(cqs_, request.send_cq);
    if (send_cq == nullptr) return std::unexpected(dut::no_such("send_cq", request.send_cq.value));
    const auto* recv_cq = find_in(cqs_, request.recv_cq);
    if (recv_cq == nullptr) return std::unexpected(dut::no_such("recv_cq", request.recv_cq.value));
    const auto* srq = request.srq ? find_in(srqs_, *request.srq) : nullptr;
    if (request.srq && srq == nullptr)
        return std::unexpected(dut::no_such("srq", request.srq->value));
    if (!budget_.take_qp()) {
        return std::unexpected(dut::refused(dut::QpCreate::method, "ENOMEM",
                                            "more QPs than this agent allows its callers"));
    }
    ibv_qp_init_attr attributes{};
    attributes.send_cq = send_cq->cq.get();
    attributes.recv_cq = recv_cq->cq.get();
    attributes.srq = srq == nullptr ? nullptr : srq->get();
    attributes.cap = {.max_send_wr = request.max_send,
                      .max_recv_wr = request.max_recv,
                      .max_send_sge = request.max_sge.value_or(1),
                      .max_recv_sge = request.max_sge.value_or(1),
                      .max_inline_data = request.max_inline.value_or(0)};
    attributes.qp_type = to_verbs(request.type);
    attributes.sq_sig_all = request.signal_all.value_or(false) ? 1 : 0;
    QpPtr qp(ibv_create_qp(pd->get(), &attributes));
    if (qp == nullptr) {
        const int error = errno;
        budget_.give_qp();
        return std::unexpected(refused_with(dut::QpCreate::method, error));
    }
    const auto handle = next_handle<dut::QpHandle>();
    const wire::Qpn qpn{qp->qp_num};
    qp_by_number_[qpn.value] = handle;
    qps_.emplace(handle, Qp{.qp = std::move(qp), .pd = pd->get(), .destinations = {}});
    return dut::QpCreated{.qp = handle, .qpn = qpn};
}

dut::Answer VerbsDevice::carry_out(const dut::QpModify& request, wire::Instant /*now*/) {
    auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    auto change = change_of(request.attributes, qp->port);
    if (!change) return std::unexpected(change.error());
    const int result = ibv_modify_qp(qp->qp.get(), &change->attributes, change->mask);
    if (result != 0) {
        return std::unexpected(refused_with(dut::QpModify::method, result < 0 ? errno : result));
    }
    qp->port = request.attributes.port_num.value_or(qp->port);
    // On the way back to RESET the verbs discard posted requests without completions.
    if (request.attributes.state == engine::QpState::Reset) posted_requests_.forget(request.qp);
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::QpQuery& request, wire::Instant /*now*/) {
    const auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    constexpr int everything = (IBV_QP_DEST_QPN << 1) - 1;
    ibv_qp_attr from{};
    ibv_qp_init_attr unused{};
    const int result = ibv_query_qp(qp->qp.get(), &from, everything, &unused);
    if (result != 0) {
        return std::unexpected(refused_with(dut::QpQuery::method, result < 0 ? errno : result));
    }
    dut::QpQueried queried;
    auto& to = queried.attributes;
    to.state = state_of(from.qp_state);
    to.cur_state = state_of(from.cur_qp_state);
    to.access = access_of(from.qp_access_flags);
    to.pkey_index = from.pkey_index;
    to.port_num = from.port_num;
    to.qkey = wire::Qkey{from.qkey};
    if (from.ah_attr.is_global != 0) to.address_vector = address_vector_of(from.ah_attr);
    to.path_mtu = mtu_of(from.path_mtu);
    to.timeout = from.timeout;
    to.retry_cnt = from.retry_cnt;
    to.rnr_retry = from.rnr_retry;
    to.rq_psn = wire::Psn(from.rq_psn);
    to.max_rd_atomic = from.max_rd_atomic;
    if (from.alt_ah_attr.is_global != 0) {
        to.alt_address_vector = address_vector_of(from.alt_ah_attr);
        to.alt_pkey_index = from.alt_pkey_index;
        to.alt_port_num = from.alt_port_num;
        to.alt_timeout = from.alt_timeout;
    }
    to.min_rnr_timer = from.min_rnr_timer;
    to.sq_psn = wire::Psn(from.sq_psn);
    to.max_dest_rd_atomic = from.max_dest_rd_atomic;
    to.path_mig_state = mig_state_of(from.path_mig_state);
    to.dest_qp_num = wire::Qpn{from.dest_qp_num & wire::kMask24};
    return queried;
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
