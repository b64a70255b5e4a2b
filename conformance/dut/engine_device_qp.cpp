// QPs of the engine device: attributes, work requests.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/dut/engine_answers.hpp"
#include "conformance/dut/engine_device.hpp"

namespace veriroce::dut {

Answer EngineDevice::carry_out(const QpCreate& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    for (const auto& [name, cq] :
         {std::pair{"send_cq", request.send_cq}, std::pair{"recv_cq", request.recv_cq}}) {
        if (!cqs_.contains(cq)) return std::unexpected(no_such(name, cq.value));
    }
    if (request.srq && !srqs_.contains(*request.srq)) {
        return std::unexpected(no_such("srq", request.srq->value));
    }
    if (!budget_.take_qp()) {
        return std::unexpected(
            refused(QpCreate::method, "ENOMEM", "more QPs than this agent allows its callers"));
    }
    engine::QpDescription description{.pd = id_of<engine::PdId>(request.pd),
                                      .type = request.type,
                                      .send_cq = id_of<engine::CqId>(request.send_cq),
                                      .recv_cq = id_of<engine::CqId>(request.recv_cq),
                                      .signal_all = request.signal_all.value_or(false)};
    if (request.srq) description.srq = id_of<engine::SrqId>(*request.srq);
    description.capacity.max_send = request.max_send;
    description.capacity.max_recv = request.max_recv;
    description.capacity.max_sge = request.max_sge.value_or(1);
    description.capacity.max_inline = request.max_inline.value_or(0);
    const auto qp = engine_.create_qp(description);
    if (!qp) {
        budget_.give_qp();
        return std::unexpected(refused_by_engine(QpCreate::method, qp.error()));
    }
    const auto report = engine_.query_qp(*qp);
    const auto handle = handle_of<QpHandle>(*qp);
    const auto qpn = report ? report->qpn : wire::Qpn{};
    qps_.emplace(handle, Qp{.qpn = qpn, .told = {}, .shared_receives = request.srq.has_value()});
    if (filter_ != nullptr && report) filter_->qp_changed(*report);
    return QpCreated{.qp = handle, .qpn = qpn};
}

Answer EngineDevice::carry_out(const QpDestroy& request, wire::Instant /*now*/) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    const auto result = engine_.destroy_qp(id_of<engine::QpId>(request.qp));
    if (result) {
        if (filter_ != nullptr) filter_->qp_destroyed(qp->second.qpn);
        qps_.erase(qp);
        budget_.give_qp();
    }
    return done_or(QpDestroy::method, result);
}

std::optional<wire::VlanId> EngineDevice::vlan_of(std::uint32_t gid_index) const {
    const std::size_t round = gid_index / description_.addresses.size();
    if (round == 0) return std::nullopt;
    return description_.vlans[round - 1];
}

std::expected<engine::AddressVector, Failure> EngineDevice::translate(const AddressVector& vector,
                                                                      std::string_view name) const {
    const std::size_t addresses = description_.addresses.size();
    if (vector.gid_index >= addresses * (1 + description_.vlans.size())) {
        return std::unexpected(
            refused(QpModify::method, "EINVAL",
                    fmt::format("{}: the port has no GID {}", name, vector.gid_index)));
    }
    const auto& source = description_.addresses[vector.gid_index % addresses];
    if (source.v4() != vector.address.v4()) {
        return std::unexpected(
            refused(QpModify::method, "EINVAL",
                    fmt::format("{}: GID and address are of two families", name)));
    }
    engine::AddressVector translated{.source = source, .destination = vector.address};
    if (vector.traffic_class) translated.traffic_class = *vector.traffic_class;
    if (vector.hop_limit) translated.hop_limit = *vector.hop_limit;
    if (vector.flow_label) translated.flow_label = *vector.flow_label;
    translated.source_port = vector.udp_sport;
    translated.vlan = vlan_of(vector.gid_index);
    return translated;
}

std::expected<engine::AlternatePath, Failure>
EngineDevice::alternate_path(const QpAttributes& from) const {
    auto vector = translate(*from.alt_address_vector, "alt_ah_attr");
    if (!vector) return std::unexpected(vector.error());
    const auto refuse = [](std::string message) {
        return std::unexpected(refused(QpModify::method, "EINVAL", std::move(message)));
    };
    if (from.alt_port_num && *from.alt_port_num != description_.port)
        return refuse("alt_port_num: expected " + std::to_string(description_.port));
    const std::uint16_t pkey_index = from.alt_pkey_index.value_or(0);
    if (pkey_index >= description_.pkeys.size())
        return refuse("alt_pkey_index: the port has fewer P_Keys");
    return engine::AlternatePath{.address = *vector,
                                 .pkey = description_.pkeys[pkey_index],
                                 .timeout = from.alt_timeout.value_or(0)};
}

std::expected<engine::QpAttributes, Failure>
EngineDevice::translate(const QpModify& request, const engine::QpReport& now) const {
    const auto& from = request.attributes;
    const auto refuse = [](std::string errno_name, std::string message) {
        return std::unexpected(
            refused(QpModify::method, std::move(errno_name), std::move(message)));
    };
    if (from.port_num && *from.port_num != description_.port) {
        return refuse("EINVAL", "port_num: expected " + std::to_string(description_.port));
    }
    engine::QpAttributes to{.state = from.state,
                            .path_mtu = from.path_mtu,
                            .dest_qp = from.dest_qp_num,
                            .rq_psn = from.rq_psn,
                            .sq_psn = from.sq_psn,
                            .access = from.access,
                            .qkey = from.qkey,
                            .timeout = from.timeout,
                            .retry_count = from.retry_cnt,
                            .rnr_retry = from.rnr_retry,
                            .min_rnr_timer = from.min_rnr_timer,
                            .max_rd_atomic = from.max_rd_atomic,
                            .max_dest_rd_atomic = from.max_dest_rd_atomic,
                            .sqd_async_notify = from.en_sqd_async_notify,
                            .flow_control = from.flow_control};
    if (from.pkey_index) {
        if (*from.pkey_index >= description_.pkeys.size()) {
            return refuse("EINVAL", "pkey_index: the port has fewer P_Keys");
        }
        to.pkey = description_.pkeys[*from.pkey_index];
    }
    if (from.alt_address_vector) {
        auto alternate = alternate_path(from);
        if (!alternate) return std::unexpected(alternate.error());
        to.alternate = *alternate;
    } else if (from.alt_pkey_index || from.alt_port_num || from.alt_timeout) {
        return refuse("EINVAL", "alt_ah_attr is missing: the other alt_ names require it");
    }
    // BTH-15: without a second path the bit alone follows the state.
    if (to.alternate || now.attributes.alternate) {
        to.path_mig_state = from.path_mig_state;
    } else if (from.path_mig_state) {
        to.mig_req = *from.path_mig_state == engine::MigState::Migrated;
    }
    if (from.address_vector) {
        auto vector = translate(*from.address_vector, "ah_attr");
        if (!vector) return std::unexpected(vector.error());
        to.address = *vector;
    }
    if (from.cur_state && now.state != *from.cur_state)
        return refuse("EINVAL", "cur_qp_state: the QP is in another state");
    return to;
}

namespace {

void forget_second_path(QpAttributes& told) {
    told.alt_address_vector.reset();
    told.alt_pkey_index.reset();
    told.alt_port_num.reset();
    told.alt_timeout.reset();
    told.path_mig_state.reset();
}

// After a migration the second path is the first.
void follow_migration(QpAttributes& told, const engine::QpAttributes& now) {
    if (!told.alt_address_vector || now.alternate) return;
    told.address_vector = told.alt_address_vector;
    told.pkey_index = told.alt_pkey_index;
    forget_second_path(told);
    told.path_mig_state = engine::MigState::Migrated;
}

} // namespace

Answer EngineDevice::carry_out(const QpModify& request, wire::Instant now) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    const auto before = engine_.query_qp(id_of<engine::QpId>(request.qp));
    if (!before) return std::unexpected(refused_by_engine(QpModify::method, before.error()));
    auto attributes = translate(request, *before);
    if (!attributes) return std::unexpected(attributes.error());
    if (filter_ != nullptr) filter_->modifying(qp->second.qpn, *attributes);
    const auto result = engine_.modify_qp(id_of<engine::QpId>(request.qp), *attributes, now);
    if (result) {
        const auto& from = request.attributes;
        auto& told = qp->second.told;
        follow_migration(told, before->attributes);
        if (from.state == engine::QpState::Reset) forget_second_path(told);
        if (from.pkey_index) told.pkey_index = from.pkey_index;
        if (from.port_num) told.port_num = from.port_num;
        if (from.address_vector) told.address_vector = from.address_vector;
        if (from.path_mig_state) told.path_mig_state = from.path_mig_state;
        if (from.alt_address_vector) {
            told.alt_address_vector = from.alt_address_vector;
            told.alt_pkey_index = from.alt_pkey_index.value_or(0);
            told.alt_port_num = description_.port;
            told.alt_timeout = from.alt_timeout.value_or(0);
        }
        const auto report = engine_.query_qp(id_of<engine::QpId>(request.qp));
        if (filter_ != nullptr && report) filter_->qp_changed(*report);
    }
    return done_or(QpModify::method, result);
}

Answer EngineDevice::carry_out(const QpQuery& request, wire::Instant /*now*/) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    auto report = engine_.query_qp(id_of<engine::QpId>(request.qp));
    if (!report) return std::unexpected(refused_by_engine(QpQuery::method, report.error()));
    if (filter_ != nullptr) filter_->queried(*report);
    const auto& from = report->attributes;
    follow_migration(qp->second.told, from);
    QpAttributes to = qp->second.told;
    if (to.alt_address_vector) to.path_mig_state = from.path_mig_state;
    if (to.address_vector && from.address) to.address_vector->hop_limit = from.address->hop_limit;
    to.state = report->state;
    to.cur_state = report->state;
    to.path_mtu = from.path_mtu;
    to.dest_qp_num = from.dest_qp;
    to.rq_psn = from.rq_psn;
    to.sq_psn = from.sq_psn;
    to.access = from.access;
    to.qkey = from.qkey;
    to.timeout = from.timeout;
    to.retry_cnt = from.retry_count;
    to.rnr_retry = from.rnr_retry;
    to.min_rnr_timer = from.min_rnr_timer;
    to.max_rd_atomic = from.max_rd_atomic;
    to.max_dest_rd_atomic = from.max_dest_rd_atomic;
    to.en_sqd_async_notify = from.sqd_async_notify;
    to.flow_control = from.flow_control;
    return QpQueried{.attributes = to};
}

// --- work requests ----------------------------------------------------------------------------

std::expected<std::vector<engine::Sge>, Failure>
EngineDevice::translate(const std::vector<Sge>& sges) const {
    std::vector<engine::Sge> translated;
    for (const auto& sge : sges) {
        const auto region = regions_.find(sge.mr);
        if (region == regions_.end()) return std::unexpected(no_such("sge.mr", sge.mr.value));
        // The device must reject a range beyond the region: cases test that.
        translated.push_back({.address = region->second.address + sge.offset,
                              .length = sge.length,
                              .lkey = sge.lkey.value_or(region->second.lkey)});
    }
    return translated;
}

namespace {

std::uint32_t length_of(const std::vector<Sge>& sges) {
    std::uint64_t sum = 0;
    for (const auto& sge : sges)
        sum += sge.length;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, 0xFFFFFFFF));
}

// In the other requests an SGE has no use, or gives only the length.
bool has_memory(engine::WrOpcode opcode) {
    return opcode != engine::WrOpcode::Flush && opcode != engine::WrOpcode::LocalInv &&
           opcode != engine::WrOpcode::BindMw;
}

} // namespace

std::expected<engine::SendRequest, Failure>
EngineDevice::translate(const SendRequest& request) const {
    engine::SendRequest translated{
        .id = request.id,
        .opcode = request.opcode,
        .sges = {},
        .remote_address = request.remote_address.value_or(0),
        .rkey = request.rkey.value_or(wire::Rkey{}),
        .imm = request.imm.value_or(0),
        .invalidate_rkey = request.invalidate_rkey.value_or(wire::Rkey{}),
        .compare_or_add = request.compare.value_or(request.add.value_or(0)),
        .swap = request.swap.value_or(0),
        .flush_length = request.flush_length.value_or(length_of(request.sge)),
        .flush_placement = request.flush_placement.value_or(1),
        .flush_selectivity = request.flush_selectivity.value_or(0),
        .flags = {.signaled = request.flags.signaled,
                  .solicited = request.flags.solicited,
                  .fence = request.flags.fence,
                  .inline_data = request.flags.inline_data}};
    if (request.ud) {
        const UdDestination& to = *request.ud;
        const auto path = translate(AddressVector{.gid_index = to.gid_index,
                                                  .address = to.address,
                                                  .hop_limit = to.hop_limit,
                                                  .traffic_class = to.traffic_class,
                                                  .flow_label = to.flow_label},
                                    "ud");
        if (!path) return std::unexpected(path.error());
        translated.ud = engine::UdDestination{.path = *path, .qpn = to.qpn, .qkey = to.qkey};
    }
    if (request.opcode == engine::WrOpcode::BindMw) {
        if (auto added = add_bind(request, translated); !added) {
            return std::unexpected(added.error());
        }
    }
    return translated;
}

Answer EngineDevice::carry_out(const PostSend& request, wire::Instant now) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    Chain<engine::SendRequest> chain;
    for (const auto& one : request.requests) {
        auto pieces = translate(one.sge);
        if (!pieces) return std::unexpected(pieces.error());
        auto translated = translate(one);
        if (!translated) return std::unexpected(translated.error());
        chain.sges.push_back(std::move(*pieces));
        // Moving the vector does not move its buffer.
        if (has_memory(one.opcode)) translated->sges = chain.sges.back();
        if (filter_ != nullptr) filter_->posting_send(qp->second.qpn, *translated);
        chain.requests.push_back(*translated);
    }
    const auto result = engine_.post_send(id_of<engine::QpId>(request.qp), chain.requests, now);
    for (std::size_t i = 0; i < result.posted; ++i) {
        if (const auto& one = chain.requests[i]; one.opcode == engine::WrOpcode::BindMw) {
            windows_.at(handle_of<MwHandle>(*one.mw)).rkey = one.rkey;
        }
    }
    return posted_or(PostSend::method, result);
}

std::expected<EngineDevice::Chain<engine::ReceiveRequest>, Failure>
EngineDevice::translate(const std::vector<ReceiveRequest>& requests) const {
    Chain<engine::ReceiveRequest> chain;
    for (const auto& one : requests) {
        auto pieces = translate(one.sge);
        if (!pieces) return std::unexpected(pieces.error());
        chain.sges.push_back(std::move(*pieces));
        chain.requests.push_back({.id = one.id, .sges = chain.sges.back()});
    }
    return chain;
}

Answer EngineDevice::carry_out(const PostRecv& request, wire::Instant /*now*/) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    auto chain = translate(request.requests);
    if (!chain) return std::unexpected(chain.error());
    if (filter_ != nullptr) {
        for (engine::ReceiveRequest& one : chain->requests)
            filter_->posting_receive(qp->second.qpn, one);
    }
    return posted_or(PostRecv::method,
                     engine_.post_receive(id_of<engine::QpId>(request.qp), chain->requests));
}

} // namespace veriroce::dut
