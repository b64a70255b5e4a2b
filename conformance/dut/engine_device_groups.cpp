// The groups of the contract on our engine: notification, shared receive queues, memory windows,
// congestion management.
#include <utility>

#include "conformance/dut/engine_answers.hpp"
#include "conformance/dut/engine_device.hpp"

namespace veriroce::dut {

// --- notify -----------------------------------------------------------------------------------

Answer EngineDevice::carry_out(const CqArm& request, wire::Instant /*now*/) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    return done_or(CqArm::method,
                   engine_.arm_cq(id_of<engine::CqId>(request.cq), request.solicited));
}

Answer EngineDevice::carry_out(const CqWait& request, wire::Instant now) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    return Notified{.notified = engine_.take_notification(id_of<engine::CqId>(request.cq)),
                    .at = now};
}

// --- srq --------------------------------------------------------------------------------------

Answer EngineDevice::carry_out(const SrqCreate& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    const auto srq = engine_.create_srq({.pd = id_of<engine::PdId>(request.pd),
                                         .depth = request.depth,
                                         .max_sge = engine_.limits().sges,
                                         .limit = request.limit.value_or(0)});
    if (!srq) return std::unexpected(refused_by_engine(SrqCreate::method, srq.error()));
    const auto handle = handle_of<SrqHandle>(*srq);
    srqs_.insert(handle);
    return SrqCreated{.srq = handle};
}

Answer EngineDevice::carry_out(const SrqModify& request, wire::Instant /*now*/) {
    if (!srqs_.contains(request.srq)) return std::unexpected(no_such("srq", request.srq.value));
    return done_or(SrqModify::method,
                   engine_.modify_srq(id_of<engine::SrqId>(request.srq), request.limit));
}

Answer EngineDevice::carry_out(const SrqPost& request, wire::Instant /*now*/) {
    if (!srqs_.contains(request.srq)) return std::unexpected(no_such("srq", request.srq.value));
    const auto chain = translate(request.requests);
    if (!chain) return std::unexpected(chain.error());
    return posted_or(SrqPost::method,
                     engine_.post_srq_receive(id_of<engine::SrqId>(request.srq), chain->requests));
}

Answer EngineDevice::carry_out(const SrqDestroy& request, wire::Instant /*now*/) {
    if (!srqs_.contains(request.srq)) return std::unexpected(no_such("srq", request.srq.value));
    const auto result = engine_.destroy_srq(id_of<engine::SrqId>(request.srq));
    if (result) srqs_.erase(request.srq);
    return done_or(SrqDestroy::method, result);
}

// --- mw ---------------------------------------------------------------------------------------

namespace {

// Like ibv_inc_rkey: the same window, with its lowest byte incremented.
wire::Rkey incremented(wire::Rkey key) {
    constexpr std::uint32_t variant = 0xFF;
    return {(key.value & ~variant) | ((key.value + 1) & variant)};
}

} // namespace

Answer EngineDevice::carry_out(const MwAlloc& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    if (request.type != 1 && request.type != 2) {
        return std::unexpected(
            invalid("type: expected 1 or 2, got " + std::to_string(request.type)));
    }
    const auto type = request.type == 1 ? engine::WindowType::Type1 : engine::WindowType::Type2;
    const auto window = engine_.allocate_window(id_of<engine::PdId>(request.pd), type);
    if (!window) return std::unexpected(refused_by_engine(MwAlloc::method, window.error()));
    const auto handle = handle_of<MwHandle>(window->mw);
    windows_.emplace(handle, Window{.type = request.type, .rkey = window->rkey});
    return MwAllocated{.mw = handle, .rkey = window->rkey};
}

std::expected<engine::BindInfo, Failure> EngineDevice::translate(const Bind& bind) const {
    const auto region = regions_.find(bind.mr);
    if (region == regions_.end()) return std::unexpected(no_such("bind.mr", bind.mr.value));
    return engine::BindInfo{.mr = id_of<engine::MrId>(bind.mr),
                            .address = region->second.address + bind.offset,
                            .length = bind.length,
                            .access = bind.access};
}

std::expected<void, Failure> EngineDevice::add_bind(const SendRequest& from,
                                                    engine::SendRequest& to) const {
    if (!from.mw || !from.bind) return std::unexpected(invalid("BIND_MW needs mw and bind"));
    const auto window = windows_.find(*from.mw);
    if (window == windows_.end()) return std::unexpected(no_such("mw", from.mw->value));
    const auto info = translate(*from.bind);
    if (!info) return std::unexpected(info.error());
    to.mw = id_of<engine::MwId>(*from.mw);
    to.bind = *info;
    to.rkey = from.rkey.value_or(incremented(window->second.rkey));
    return {};
}

// Type 1 uses the verb, type 2 a work request; the caller sees no difference.
Answer EngineDevice::carry_out(const MwBind& request, wire::Instant now) {
    if (!qps_.contains(request.qp)) return std::unexpected(no_such("qp", request.qp.value));
    const auto window = windows_.find(request.mw);
    if (window == windows_.end()) return std::unexpected(no_such("mw", request.mw.value));
    const Bind bind{.mr = request.mr,
                    .offset = request.offset,
                    .length = request.length,
                    .access = request.access};
    if (window->second.type == 2) {
        const auto posted = carry_out(PostSend{.qp = request.qp,
                                               .requests = {{.id = request.id,
                                                             .opcode = engine::WrOpcode::BindMw,
                                                             .mw = request.mw,
                                                             .bind = bind,
                                                             .flags = {.signaled = true}}}},
                                      now);
        if (!posted && posted.error().refused()) {
            return std::unexpected(
                refused(MwBind::method, posted.error().errno_name, posted.error().message));
        }
        if (!posted) return posted;
        return MwBound{.rkey = window->second.rkey};
    }
    const auto info = translate(bind);
    if (!info) return std::unexpected(info.error());
    const auto key = engine_.bind_window(id_of<engine::QpId>(request.qp),
                                         id_of<engine::MwId>(request.mw), *info, request.id);
    if (!key) return std::unexpected(refused_by_engine(MwBind::method, key.error()));
    window->second.rkey = *key;
    return MwBound{.rkey = *key};
}

Answer EngineDevice::carry_out(const MwDealloc& request, wire::Instant /*now*/) {
    if (!windows_.contains(request.mw)) return std::unexpected(no_such("mw", request.mw.value));
    const auto result = engine_.free_window(id_of<engine::MwId>(request.mw));
    if (result) windows_.erase(request.mw);
    return done_or(MwDealloc::method, result);
}

// --- congestion -------------------------------------------------------------------------------

CongestionSettings settings_of(const engine::Congestion& congestion) {
    const engine::NotificationPoint& point = congestion.notification;
    const auto interval = std::chrono::floor<std::chrono::microseconds>(point.interval);
    return {.np = point.enabled,
            .rp = congestion.reaction.enabled,
            .cnp_interval_us = static_cast<std::uint32_t>(interval.count()),
            .cnp_dscp = point.dscp};
}

Answer EngineDevice::carry_out(const CongestionGet& /*request*/, wire::Instant /*now*/) {
    return settings_of(engine_.congestion());
}

Answer EngineDevice::carry_out(const CongestionSet& request, wire::Instant /*now*/) {
    const CongestionSettings& wanted = request.settings;
    if (auto failure = refused_congestion(budget_, request, *this))
        return std::unexpected(std::move(*failure));
    engine::Congestion changed = engine_.congestion();
    if (wanted == CongestionSettings{}) return settings_of(changed);
    if (!congestion_before_) congestion_before_ = changed;
    changed.notification.enabled = wanted.np.value_or(changed.notification.enabled);
    changed.reaction.enabled = wanted.rp.value_or(changed.reaction.enabled);
    changed.notification.dscp = wanted.cnp_dscp.value_or(changed.notification.dscp);
    if (wanted.cnp_interval_us)
        changed.notification.interval = std::chrono::microseconds(*wanted.cnp_interval_us);
    engine_.set_congestion(changed);
    return settings_of(changed);
}

} // namespace veriroce::dut
