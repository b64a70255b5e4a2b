// Work requests and completions: post_send, post_recv, srq_post, mw_bind, poll.
#ifdef VERIROCE_HAVE_VERBS

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"

namespace veriroce::agent {

namespace {

template <typename Wr>
void link_chain(std::vector<Wr>& requests, std::vector<std::vector<ibv_sge>>& sges) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i].next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
        requests[i].sg_list = sges[i].data();
        requests[i].num_sge = static_cast<int>(sges[i].size());
    }
}

// The answer to a post; requests that the device did not accept are removed from `posted`.
template <typename Wr>
dut::Answer answer_post(std::string_view verb, int result, const std::vector<Wr>& requests,
                        const Wr* bad, PostedRequests& posted) {
    if (result == 0) return dut::Posted{.posted = static_cast<std::uint32_t>(requests.size())};
    std::size_t taken = 0;
    while (taken < requests.size() && &requests[taken] != bad)
        ++taken;
    if (bad == nullptr) taken = 0;
    for (std::size_t i = taken; i < requests.size(); ++i)
        posted.drop(requests[i].wr_id);
    auto failure = refused_with(verb, result < 0 ? errno : result);
    failure.posted = static_cast<std::uint32_t>(taken);
    return std::unexpected(std::move(failure));
}

} // namespace

std::expected<std::vector<ibv_sge>, dut::Failure>
VerbsDevice::translate(const std::vector<dut::Sge>& sges, bool inline_data) const {
    std::vector<ibv_sge> translated;
    for (const auto& sge : sges) {
        const auto* region = find_in(regions_, sge.mr);
        if (region == nullptr) return std::unexpected(dut::no_such("sge.mr", sge.mr.value));
        const bool inside =
            sge.offset <= region->length && sge.length <= region->length - sge.offset;
        // This process, not the device, copies inline data: a range beyond the region would crash
        // the agent.
        if (inline_data && !inside) {
            return std::unexpected(dut::invalid("sge: inline data must lie inside the region's " +
                                                std::to_string(region->length) + " bytes"));
        }
        const auto first = inline_data
                               ? reinterpret_cast<std::uintptr_t>(region->memory.bytes().data())
                               : region->address;
        translated.push_back({.addr = first + sge.offset,
                              .length = sge.length,
                              .lkey = sge.lkey ? sge.lkey->value : region->mr->lkey});
    }
    return translated;
}

std::expected<ibv_mw_bind_info, dut::Failure> VerbsDevice::translate(const dut::Bind& bind) const {
    const auto* region = find_in(regions_, bind.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("bind.mr", bind.mr.value));
    return ibv_mw_bind_info{.mr = region->mr.get(),
                            .addr = region->address + bind.offset,
                            .length = bind.length,
                            .mw_access_flags = to_verbs(bind.access)};
}

std::expected<ibv_ah*, dut::Failure> VerbsDevice::destination(const dut::UdDestination& ud,
                                                              Qp& qp) {
    dut::UdDestination to = ud;
    to.qpn = {};
    to.qkey = {};
    const auto known = std::ranges::find(qp.destinations, to, &UdAddress::to);
    if (known != qp.destinations.end()) return known->ah.get();
    ibv_ah_attr attributes{};
    attributes.is_global = 1;
    attributes.port_num = qp.port;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(ud.gid_index);
    attributes.grh.hop_limit = ud.hop_limit.value_or(64);
    attributes.grh.traffic_class = ud.traffic_class.value_or(0);
    attributes.grh.flow_label = ud.flow_label.value_or(0);
    std::memcpy(attributes.grh.dgid.raw, ud.address.bytes.data(), sizeof attributes.grh.dgid.raw);
    AhPtr ah(ibv_create_ah(qp.pd, &attributes));
    if (ah == nullptr) return std::unexpected(refused_with("create_ah", errno));
    qp.destinations.push_back({.to = to, .ah = std::move(ah)});
    return qp.destinations.back().ah.get();
}

std::expected<ibv_send_wr, dut::Failure> VerbsDevice::translate(const dut::SendRequest& request,
                                                                Qp& qp) {
    const auto opcode = to_verbs(request.opcode);
    if (!opcode) {
        return std::unexpected(
            dut::refused(dut::PostSend::method, "EOPNOTSUPP",
                         "ibv_post_send has no " + std::string(engine::name_of(request.opcode))));
    }
    ibv_send_wr wr{};
    wr.opcode = *opcode;
    wr.send_flags = to_verbs(request.flags);
    if (request.imm) wr.imm_data = htobe32(*request.imm);
    if (request.invalidate_rkey) wr.invalidate_rkey = request.invalidate_rkey->value;
    if (request.ud) {
        const auto ah = destination(*request.ud, qp);
        if (!ah) return std::unexpected(ah.error());
        wr.wr.ud = {
            .ah = *ah, .remote_qpn = request.ud->qpn.value, .remote_qkey = request.ud->qkey.value};
    } else if (*opcode == IBV_WR_ATOMIC_CMP_AND_SWP || *opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic = {.remote_addr = request.remote_address.value_or(0),
                        .compare_add = request.compare.value_or(request.add.value_or(0)),
                        .swap = request.swap.value_or(0),
                        .rkey = request.rkey.value_or(wire::Rkey{}).value};
    } else {
        wr.wr.rdma = {.remote_addr = request.remote_address.value_or(0),
                      .rkey = request.rkey.value_or(wire::Rkey{}).value};
    }
    if (*opcode != IBV_WR_BIND_MW) return wr;
    if (!request.mw || !request.bind) {
        return std::unexpected(dut::invalid("BIND_MW needs mw and bind"));
    }
    const auto* mw = find_in(mws_, *request.mw);
    if (mw == nullptr) return std::unexpected(dut::no_such("mw", request.mw->value));
    const auto info = translate(*request.bind);
    if (!info) return std::unexpected(info.error());
    // The window's new key: the one that the caller names, else the next variant, as the verbs
    // advise.
    const auto rkey = request.rkey ? request.rkey->value : ibv_inc_rkey((*mw)->rkey);
    wr.bind_mw = {.mw = mw->get(), .rkey = rkey, .bind_info = *info};
    return wr;
}

dut::Answer VerbsDevice::carry_out(const dut::PostSend& request, wire::Instant /*now*/) {
    auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    SendChain chain;
    for (const auto& one : request.requests) {
        auto sges = translate(one.sge, one.flags.inline_data);
        if (!sges) return std::unexpected(sges.error());
        const auto wr = translate(one, *qp);
        if (!wr) return std::unexpected(wr.error());
        chain.sges.push_back(std::move(*sges));
        chain.requests.push_back(*wr);
    }
    if (chain.requests.empty()) return dut::Posted{};
    for (std::size_t i = 0; i < chain.requests.size(); ++i) {
        const auto& one = request.requests[i];
        chain.requests[i].wr_id = posted_requests_.add({.id = one.id,
                                                        .qp = request.qp,
                                                        .queue = engine::Queue::Send,
                                                        .opcode = completes_as(one.opcode)});
    }
    link_chain(chain.requests, chain.sges);
    ibv_send_wr* bad = nullptr;
    const int result = ibv_post_send(qp->qp.get(), chain.requests.data(), &bad);
    // A window bound by a request of the caller has the key that the request named.
    for (const auto& wr : chain.requests) {
        if (&wr == bad) break;
        if (wr.opcode == IBV_WR_BIND_MW) wr.bind_mw.mw->rkey = wr.bind_mw.rkey;
    }
    return answer_post<ibv_send_wr>(dut::PostSend::method, result, chain.requests, bad,
                                    posted_requests_);
}

std::expected<VerbsDevice::RecvChain, dut::Failure>
VerbsDevice::translate(const std::vector<dut::ReceiveRequest>& requests, dut::QpHandle qp) {
    RecvChain chain;
    for (const auto& one : requests) {
        auto sges = translate(one.sge, false);
        if (!sges) return std::unexpected(sges.error());
        chain.sges.push_back(std::move(*sges));
    }
    for (const auto& one : requests) {
        ibv_recv_wr wr{};
        wr.wr_id = posted_requests_.add({.id = one.id,
                                         .qp = qp,
                                         .queue = engine::Queue::Receive,
                                         .opcode = engine::WcOpcode::Recv});
        chain.requests.push_back(wr);
    }
    link_chain(chain.requests, chain.sges);
    return chain;
}

dut::Answer VerbsDevice::carry_out(const dut::PostRecv& request, wire::Instant /*now*/) {
    const auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    auto chain = translate(request.requests, request.qp);
    if (!chain) return std::unexpected(chain.error());
    if (chain->requests.empty()) return dut::Posted{};
    ibv_recv_wr* bad = nullptr;
    const int result = ibv_post_recv(qp->qp.get(), chain->requests.data(), &bad);
    return answer_post<ibv_recv_wr>(dut::PostRecv::method, result, chain->requests, bad,
                                    posted_requests_);
}

dut::Answer VerbsDevice::carry_out(const dut::SrqPost& request, wire::Instant /*now*/) {
    const auto* srq = find_in(srqs_, request.srq);
    if (srq == nullptr) return std::unexpected(dut::no_such("srq", request.srq.value));
    auto chain = translate(request.requests, dut::QpHandle{});
    if (!chain) return std::unexpected(chain.error());
    if (chain->requests.empty()) return dut::Posted{};
    ibv_recv_wr* bad = nullptr;
    const int result = ibv_post_srq_recv(srq->get(), chain->requests.data(), &bad);
    return answer_post<ibv_recv_wr>(dut::SrqPost::method, result, chain->requests, bad,
                                    posted_requests_);
}

dut::Answer VerbsDevice::carry_out(const dut::MwBind& request, wire::Instant now) {
    const auto* mw = find_in(mws_, request.mw);
    if (mw == nullptr) return std::unexpected(dut::no_such("mw", request.mw.value));
    const auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    const dut::Bind bind{.mr = request.mr,
                         .offset = request.offset,
                         .length = request.length,
                         .access = request.access};
    if ((*mw)->type == IBV_MW_TYPE_2) {
        const auto posted =
            carry_out(dut::PostSend{.qp = request.qp,
                                    .requests = {{.id = request.id,
                                                  .opcode = engine::WrOpcode::BindMw,
                                                  .mw = request.mw,
                                                  .bind = bind,
                                                  .flags = {.signaled = true}}}},
                      now);
        if (!posted) return posted;
        return dut::MwBound{.rkey = {(*mw)->rkey}};
    }
    const auto info = translate(bind);
    if (!info) return std::unexpected(info.error());
    ibv_mw_bind verb{.wr_id = posted_requests_.add({.id = request.id,
                                                    .qp = request.qp,
                                                    .queue = engine::Queue::Send,
                                                    .opcode = engine::WcOpcode::BindMw}),
                     .send_flags = IBV_SEND_SIGNALED,
                     .bind_info = *info};
    const int result = ibv_bind_mw(qp->qp.get(), mw->get(), &verb);
    if (result != 0) {
        posted_requests_.drop(verb.wr_id);
        return std::unexpected(refused_with(dut::MwBind::method, result < 0 ? errno : result));
    }
    return dut::MwBound{.rkey = {(*mw)->rkey}};
}

std::optional<dut::Completion> VerbsDevice::translate(const ibv_wc& wc, wire::Instant now) {
    const auto entry = posted_requests_.take(wc.wr_id);
    if (!entry) return std::nullopt; // of a QP that was destroyed or reset
    auto qp = entry->qp;
    if (qp.value == 0) { // from an SRQ
        const auto* user = find_in(qp_by_number_, wc.qp_num);
        if (user == nullptr) return std::nullopt;
        qp = *user;
    }
    dut::Completion completion{.id = entry->id,
                               .qp = qp,
                               .queue = entry->queue,
                               .status = status_of(wc.status),
                               .opcode = entry->opcode,
                               .at = now};
    if (wc.status != IBV_WC_SUCCESS) {
        completion.vendor_err = wc.vendor_err;
        return completion;
    }
    completion.opcode = opcode_of(wc.opcode).value_or(entry->opcode);
    completion.byte_len = wc.byte_len;
    if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) completion.imm = be32toh(wc.imm_data);
    if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) {
        completion.invalidated_rkey = wire::Rkey{wc.invalidated_rkey};
    }
    const auto* user = find_in(qps_, qp);
    const bool datagram = user != nullptr && user->qp->qp_type == IBV_QPT_UD;
    if (datagram && entry->queue == engine::Queue::Receive) {
        completion.src_qpn = wire::Qpn{wc.src_qp & wire::kMask24};
    }
    return completion;
}

dut::Answer VerbsDevice::carry_out(const dut::Poll& request, wire::Instant now) {
    auto* cq = find_in(cqs_, request.cq);
    if (cq == nullptr) return std::unexpected(dut::no_such("cq", request.cq.value));
    dut::Polled polled;
    const auto max = std::min(request.max, max_completions);
    std::array<ibv_wc, 16> batch{};
    while (polled.completions.size() < max) {
        const auto room = std::min<std::size_t>(batch.size(), max - polled.completions.size());
        const int count = ibv_poll_cq(cq->cq.get(), static_cast<int>(room), batch.data());
        if (count < 0) return std::unexpected(refused_with(dut::Poll::method, errno));
        if (count == 0) break;
        for (const auto& wc : std::span(batch).first(static_cast<std::size_t>(count))) {
            if (const auto completion = translate(wc, now)) {
                polled.completions.push_back(*completion);
            }
        }
    }
    if (polled.completions.empty()) drain_events(now); // an event reports an overrun
    polled.overrun = cq->overrun;
    return polled;
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
