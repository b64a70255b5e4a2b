#include "conformance/dut/engine_device.hpp"

#include <algorithm>
#include <utility>

namespace veriroce::dut {

namespace {

// A handle is the engine's own number of the object.
template <typename Id, typename Handle>
Id id_of(Handle handle) {
    return Id{static_cast<std::uint32_t>(handle.value)};
}
template <typename Handle, typename Id>
Handle handle_of(Id id) {
    return Handle{id.value};
}

Failure no_such(std::string_view what, std::uint64_t handle) {
    return invalid(std::string(what) + ": there is no " + std::to_string(handle));
}

Failure refused_by_engine(std::string_view verb, engine::VerbError error) {
    return refused(verb, std::string(engine::name_of(error)),
                   "the engine refused " + std::string(verb));
}

Answer done_or(std::string_view verb, const std::expected<void, engine::VerbError>& result) {
    if (!result) return std::unexpected(refused_by_engine(verb, result.error()));
    return Done{};
}

// The same value of another struct's optional field.
template <typename To, typename From>
std::optional<To> same(const std::optional<From>& from) {
    if (!from) return std::nullopt;
    return static_cast<To>(*from);
}

} // namespace

EngineDevice::EngineDevice(engine::Engine& engine, Budget& budget,
                           EngineDeviceDescription description, engine::SurfaceFilter* filter)
    : engine_(engine), budget_(budget), description_(std::move(description)), filter_(filter) {}

EngineDevice::~EngineDevice() {
    destroy_all();
}

void EngineDevice::destroy_all() {
    for (const auto& [qp, known] : qps_) {
        static_cast<void>(engine_.destroy_qp(id_of<engine::QpId>(qp)));
        if (filter_ != nullptr) filter_->qp_destroyed(known.qpn);
        budget_.give_qp();
    }
    for (const auto& [mr, region] : regions_) {
        static_cast<void>(engine_.deregister_region(id_of<engine::MrId>(mr)));
        budget_.give_memory(region.length);
    }
    for (const auto cq : cqs_)
        static_cast<void>(engine_.destroy_cq(id_of<engine::CqId>(cq)));
    for (const auto pd : pds_)
        static_cast<void>(engine_.destroy_pd(id_of<engine::PdId>(pd)));
    qps_.clear();
    regions_.clear();
    cqs_.clear();
    pds_.clear();
    events_.clear();
}

Answer EngineDevice::execute(const Request& request, wire::Instant now) {
    return std::visit([&](const auto& method) { return carry_out(method, now); }, request);
}

template <typename Method>
Answer EngineDevice::carry_out(const Method& /*request*/, wire::Instant /*now*/) {
    return std::unexpected(no_method(Method::method, "the engine does not have this yet"));
}

// --- the device -------------------------------------------------------------------------------

Answer EngineDevice::carry_out(const Hello& /*request*/, wire::Instant /*now*/) {
    const auto& limits = engine_.limits();
    Port port{.port = 1,
              .mac = description_.mac,
              .mtu_active = description_.mtu_active,
              .mtu_max = wire::Mtu::B4096,
              .link_layer = "Ethernet",
              .pkeys = description_.pkeys};
    bool v6 = false;
    for (const auto& address : description_.addresses) {
        const auto index = static_cast<std::uint32_t>(port.gids.size());
        port.gids.push_back({.index = index, .type = "rocev2", .address = address});
        v6 = v6 || !address.v4();
    }
    Welcome welcome{.name = description_.name,
                    .backend = "engine",
                    .device = description_.device,
                    .firmware = description_.firmware,
                    .capabilities = {"rc", "read", "imm", "events"},
                    .traits = description_.traits,
                    .ports = {std::move(port)},
                    .max = {.qp = limits.qps,
                            .qp_wr = limits.qp_wr,
                            .sge = limits.sges,
                            .cqe = limits.cqe,
                            .mr_bytes = budget_.limits().registered_bytes,
                            .rd_atomic = limits.rd_atomic,
                            .dest_rd_atomic = limits.rd_atomic,
                            .msg_bytes = limits.message_bytes,
                            .inline_bytes = limits.inline_bytes},
                    .local_ca_ack_delay = 0,
                    .atomic = "NONE",
                    .limits = budget_.limits()};
    if (v6) welcome.capabilities.emplace_back("ipv6");
    return welcome;
}

Answer EngineDevice::carry_out(const Counters& /*request*/, wire::Instant /*now*/) {
    const auto& counters = engine_.counters();
    return CounterValues{{
        {"out_of_sequence", counters.out_of_sequence},
        {"duplicate_request", counters.duplicate_request},
        {"rnr_nak_sent", counters.rnr_nak_sent},
        {"local_ack_timeout", counters.local_ack_timeout},
        {"bad_pkey", counters.bad_pkey},
        {"bad_qkey", counters.bad_qkey},
        {"cnp_sent", counters.cnp_sent},
        {"cnp_handled", counters.cnp_handled},
        {"ecn_marked", counters.ecn_marked},
        {"dropped", counters.dropped},
    }};
}

Answer EngineDevice::carry_out(const Cancel& /*request*/, wire::Instant /*now*/) {
    return Done{}; // nothing waits here
}

Answer EngineDevice::carry_out(const Reset& /*request*/, wire::Instant /*now*/) {
    destroy_all();
    return Done{};
}

Answer EngineDevice::carry_out(const Ping& /*request*/, wire::Instant now) {
    return Pong{.at = now};
}

// --- protection domains, completion queues ----------------------------------------------------

Answer EngineDevice::carry_out(const PdCreate& /*request*/, wire::Instant /*now*/) {
    const auto pd = engine_.create_pd();
    if (!pd) return std::unexpected(refused_by_engine(PdCreate::method, pd.error()));
    const auto handle = handle_of<PdHandle>(*pd);
    pds_.insert(handle);
    return PdCreated{.pd = handle};
}

Answer EngineDevice::carry_out(const PdDestroy& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    const auto result = engine_.destroy_pd(id_of<engine::PdId>(request.pd));
    if (result) pds_.erase(request.pd);
    return done_or(PdDestroy::method, result);
}

Answer EngineDevice::carry_out(const CqCreate& request, wire::Instant /*now*/) {
    const auto cq = engine_.create_cq(request.depth);
    if (!cq) return std::unexpected(refused_by_engine(CqCreate::method, cq.error()));
    const auto handle = handle_of<CqHandle>(*cq);
    cqs_.insert(handle);
    return CqCreated{.cq = handle};
}

Answer EngineDevice::carry_out(const CqDestroy& request, wire::Instant /*now*/) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    const auto result = engine_.destroy_cq(id_of<engine::CqId>(request.cq));
    if (result) cqs_.erase(request.cq);
    return done_or(CqDestroy::method, result);
}

Answer EngineDevice::carry_out(const Poll& request, wire::Instant now) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    const auto cq = id_of<engine::CqId>(request.cq);
    Polled polled;
    while (polled.completions.size() < request.max) {
        auto completion = engine_.poll_completion(cq);
        if (!completion) break;
        if (filter_ != nullptr) completion = filter_->completion(*completion);
        if (!completion) continue;
        polled.completions.push_back({.id = completion->id,
                                      .qp = handle_of<QpHandle>(completion->qp),
                                      .queue = completion->queue,
                                      .status = completion->status,
                                      .opcode = completion->opcode,
                                      .byte_len = completion->byte_len,
                                      .imm = completion->imm,
                                      .invalidated_rkey = completion->invalidated_rkey,
                                      .src_qpn = completion->source_qp,
                                      .at = now});
    }
    polled.overrun = engine_.overrun(cq);
    return polled;
}

// --- memory regions ---------------------------------------------------------------------------

Answer EngineDevice::carry_out(const MrRegister& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    if (!budget_.take_memory(request.length)) {
        return std::unexpected(refused(MrRegister::method, "ENOMEM",
                                       "more memory than this agent registers for its callers"));
    }
    auto memory = RegionMemory::allocate(request.length);
    if (!memory) {
        budget_.give_memory(request.length);
        return std::unexpected(
            refused(MrRegister::method, "ENOMEM", "the system has no memory left"));
    }
    if (request.fill) {
        write_pattern(memory->bytes(), request.fill->pattern, 0, request.fill->key.value_or(0));
    }
    // ZERO_BASED (verbs): the region's first byte has the address 0.
    const std::uint64_t address = request.access.zero_based ? 0 : next_address_;
    const auto region = engine_.register_region(id_of<engine::PdId>(request.pd), memory->bytes(),
                                                address, request.access);
    if (!region) {
        budget_.give_memory(request.length);
        return std::unexpected(refused_by_engine(MrRegister::method, region.error()));
    }
    constexpr std::uint64_t page = RegionMemory::page_bytes;
    next_address_ += (request.length + page - 1) / page * page + 2 * page;
    const auto handle = handle_of<MrHandle>(region->mr);
    regions_.emplace(handle, Region{.memory = std::move(*memory),
                                    .address = address,
                                    .length = request.length,
                                    .lkey = region->lkey});
    return MrRegistered{
        .mr = handle, .address = address, .lkey = region->lkey, .rkey = region->rkey};
}

Answer EngineDevice::carry_out(const MrRead& request, wire::Instant /*now*/) {
    const auto found = regions_.find(request.mr);
    if (found == regions_.end()) return std::unexpected(no_such("mr", request.mr.value));
    return found->second.memory.read(request);
}

Answer EngineDevice::carry_out(const MrWrite& request, wire::Instant /*now*/) {
    const auto found = regions_.find(request.mr);
    if (found == regions_.end()) return std::unexpected(no_such("mr", request.mr.value));
    return found->second.memory.write(request);
}

Answer EngineDevice::carry_out(const MrFill& request, wire::Instant /*now*/) {
    const auto found = regions_.find(request.mr);
    if (found == regions_.end()) return std::unexpected(no_such("mr", request.mr.value));
    return found->second.memory.fill(request);
}

Answer EngineDevice::carry_out(const MrDigest& request, wire::Instant /*now*/) {
    const auto found = regions_.find(request.mr);
    if (found == regions_.end()) return std::unexpected(no_such("mr", request.mr.value));
    return found->second.memory.digest(request);
}

Answer EngineDevice::carry_out(const MrDeregister& request, wire::Instant /*now*/) {
    const auto found = regions_.find(request.mr);
    if (found == regions_.end()) return std::unexpected(no_such("mr", request.mr.value));
    const auto result = engine_.deregister_region(id_of<engine::MrId>(request.mr));
    if (result) {
        budget_.give_memory(found->second.length);
        regions_.erase(found);
    }
    return done_or(MrDeregister::method, result);
}

// --- queue pairs ------------------------------------------------------------------------------

Answer EngineDevice::carry_out(const QpCreate& request, wire::Instant /*now*/) {
    if (!pds_.contains(request.pd)) return std::unexpected(no_such("pd", request.pd.value));
    for (const auto& [name, cq] :
         {std::pair{"send_cq", request.send_cq}, std::pair{"recv_cq", request.recv_cq}}) {
        if (!cqs_.contains(cq)) return std::unexpected(no_such(name, cq.value));
    }
    if (request.srq) return std::unexpected(no_such("srq", request.srq->value));
    if (!budget_.take_qp()) {
        return std::unexpected(
            refused(QpCreate::method, "ENOMEM", "more QPs than this agent makes for its callers"));
    }
    engine::QpDescription description{.pd = id_of<engine::PdId>(request.pd),
                                      .type = request.type,
                                      .send_cq = id_of<engine::CqId>(request.send_cq),
                                      .recv_cq = id_of<engine::CqId>(request.recv_cq),
                                      .signal_all = request.signal_all.value_or(false)};
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
    qps_.emplace(handle, Qp{.qpn = qpn, .told = {}});
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

std::expected<engine::AddressVector, Failure>
EngineDevice::translate(const AddressVector& vector) const {
    if (vector.gid_index >= description_.addresses.size()) {
        return std::unexpected(
            refused(QpModify::method, "EINVAL",
                    "ah_attr: the port has no GID " + std::to_string(vector.gid_index)));
    }
    const auto& source = description_.addresses[vector.gid_index];
    if (source.v4() != vector.address.v4()) {
        return std::unexpected(
            refused(QpModify::method, "EINVAL", "ah_attr: GID and address are of two families"));
    }
    engine::AddressVector translated{.source = source, .destination = vector.address};
    if (vector.traffic_class) translated.traffic_class = *vector.traffic_class;
    if (vector.hop_limit) translated.hop_limit = *vector.hop_limit;
    if (vector.flow_label) translated.flow_label = *vector.flow_label;
    translated.source_port = vector.udp_sport;
    return translated;
}

std::expected<engine::QpAttributes, Failure>
EngineDevice::translate(const QpModify& request) const {
    const auto& from = request.attributes;
    const auto refuse = [](std::string errno_name, std::string message) {
        return std::unexpected(
            refused(QpModify::method, std::move(errno_name), std::move(message)));
    };
    if (from.alt_address_vector || from.alt_pkey_index || from.alt_port_num || from.alt_timeout) {
        return refuse("EOPNOTSUPP", "the engine has no alternate path");
    }
    if (from.port_num && *from.port_num != 1) return refuse("EINVAL", "port_num: there is port 1");
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
                            .sqd_async_notify = from.en_sqd_async_notify};
    if (from.pkey_index) {
        if (*from.pkey_index >= description_.pkeys.size()) {
            return refuse("EINVAL", "pkey_index: the port has fewer P_Keys");
        }
        to.pkey = description_.pkeys[*from.pkey_index];
    }
    if (from.path_mig_state) to.mig_req = *from.path_mig_state == MigState::Migrated; // BTH-15
    if (from.address_vector) {
        auto vector = translate(*from.address_vector);
        if (!vector) return std::unexpected(vector.error());
        to.address = *vector;
    }
    if (from.cur_state) {
        const auto report = engine_.query_qp(id_of<engine::QpId>(request.qp));
        if (report && report->state != *from.cur_state) {
            return refuse("EINVAL", "cur_qp_state: the QP is in another state");
        }
    }
    return to;
}

Answer EngineDevice::carry_out(const QpModify& request, wire::Instant now) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    const auto attributes = translate(request);
    if (!attributes) return std::unexpected(attributes.error());
    const auto result = engine_.modify_qp(id_of<engine::QpId>(request.qp), *attributes, now);
    if (result) {
        const auto& from = request.attributes;
        auto& told = qp->second.told;
        if (from.pkey_index) told.pkey_index = from.pkey_index;
        if (from.port_num) told.port_num = from.port_num;
        if (from.address_vector) told.address_vector = from.address_vector;
        if (from.path_mig_state) told.path_mig_state = from.path_mig_state;
        const auto report = engine_.query_qp(id_of<engine::QpId>(request.qp));
        if (filter_ != nullptr && report) filter_->qp_changed(*report);
    }
    return done_or(QpModify::method, result);
}

Answer EngineDevice::carry_out(const QpQuery& request, wire::Instant /*now*/) {
    const auto qp = qps_.find(request.qp);
    if (qp == qps_.end()) return std::unexpected(no_such("qp", request.qp.value));
    const auto report = engine_.query_qp(id_of<engine::QpId>(request.qp));
    if (!report) return std::unexpected(refused_by_engine(QpQuery::method, report.error()));
    const auto& from = report->attributes;
    QpAttributes to = qp->second.told;
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
    return QpQueried{.attributes = to};
}

// --- work requests ----------------------------------------------------------------------------

std::expected<std::vector<engine::Sge>, Failure>
EngineDevice::translate(const std::vector<Sge>& sges) const {
    std::vector<engine::Sge> translated;
    for (const auto& sge : sges) {
        const auto region = regions_.find(sge.mr);
        if (region == regions_.end()) return std::unexpected(no_such("sge.mr", sge.mr.value));
        // A range beyond the region is the device's to refuse: that is what a case wants to see.
        translated.push_back({.address = region->second.address + sge.offset,
                              .length = sge.length,
                              .lkey = sge.lkey.value_or(region->second.lkey)});
    }
    return translated;
}

std::expected<engine::SendRequest, Failure>
EngineDevice::translate(const SendRequest& request) const {
    if (request.mw || request.bind) return std::unexpected(no_method("mw", "the engine has none"));
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
        .flags = {.signaled = request.flags.signaled,
                  .solicited = request.flags.solicited,
                  .fence = request.flags.fence,
                  .inline_data = request.flags.inline_data}};
    if (request.ud) {
        translated.ud = engine::UdDestination{
            .address = request.ud->address, .qpn = request.ud->qpn, .qkey = request.ud->qkey};
    }
    return translated;
}

namespace {

Answer posted_or(std::string_view verb, const engine::Engine::Posted& result) {
    const auto posted = static_cast<std::uint32_t>(result.posted);
    if (!result.refused) return Posted{.posted = posted};
    auto failure = refused_by_engine(verb, *result.refused);
    failure.posted = posted;
    return std::unexpected(std::move(failure));
}

} // namespace

Answer EngineDevice::carry_out(const PostSend& request, wire::Instant now) {
    if (!qps_.contains(request.qp)) return std::unexpected(no_such("qp", request.qp.value));
    std::vector<std::vector<engine::Sge>> sges;
    std::vector<engine::SendRequest> chain;
    for (const auto& one : request.requests) {
        auto pieces = translate(one.sge);
        if (!pieces) return std::unexpected(pieces.error());
        auto translated = translate(one);
        if (!translated) return std::unexpected(translated.error());
        sges.push_back(std::move(*pieces));
        translated->sges = sges.back(); // the vector's buffer stays where it is when it is moved
        chain.push_back(*translated);
    }
    return posted_or(PostSend::method,
                     engine_.post_send(id_of<engine::QpId>(request.qp), chain, now));
}

Answer EngineDevice::carry_out(const PostRecv& request, wire::Instant /*now*/) {
    if (!qps_.contains(request.qp)) return std::unexpected(no_such("qp", request.qp.value));
    std::vector<std::vector<engine::Sge>> sges;
    std::vector<engine::ReceiveRequest> chain;
    for (const auto& one : request.requests) {
        auto pieces = translate(one.sge);
        if (!pieces) return std::unexpected(pieces.error());
        sges.push_back(std::move(*pieces));
        chain.push_back({.id = one.id, .sges = sges.back()});
    }
    return posted_or(PostRecv::method,
                     engine_.post_receive(id_of<engine::QpId>(request.qp), chain));
}

// --- events -----------------------------------------------------------------------------------

bool EngineDevice::offer(const engine::Event& event, wire::Instant now) {
    Event ours{.type = event.type, .at = now};
    if (event.qp) ours.qp = handle_of<QpHandle>(*event.qp);
    if (event.cq) ours.cq = handle_of<CqHandle>(*event.cq);
    const bool mine = (ours.qp && qps_.contains(*ours.qp)) || (ours.cq && cqs_.contains(*ours.cq));
    if (!mine) return false;
    if (events_.size() == max_events) events_.pop_front();
    events_.push_back(ours);
    return true;
}

Answer EngineDevice::carry_out(const Events& /*request*/, wire::Instant /*now*/) {
    EventList list{.events = {events_.begin(), events_.end()}};
    events_.clear();
    return list;
}

} // namespace veriroce::dut
