#ifdef VERIROCE_HAVE_VERBS

#include "conformance/agent/verbs_device.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <utility>

#include "conformance/agent/verbs_names.hpp"
#include "conformance/dut/capabilities.hpp"

namespace veriroce::agent {

namespace {

void make_nonblocking(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

// Destroys the object with the verb, and releases it if the device agreed. Verbs return an errno,
// or -1 with errno set.
template <typename Ptr, typename Verb>
std::expected<void, dut::Failure> destroy(Ptr& object, Verb verb, std::string_view name) {
    const int result = verb(object.get());
    if (result != 0) return std::unexpected(refused_with(name, result < 0 ? errno : result));
    static_cast<void>(object.release());
    return {};
}

} // namespace

VerbsDevice::VerbsDevice(ContextPtr context, dut::Budget& budget)
    : context_(std::move(context)), budget_(budget),
      congestion_(ibv_get_device_name(context_->device)) {
    make_nonblocking(context_->async_fd);
}

VerbsDevice::~VerbsDevice() {
    destroy_all();
}

void VerbsDevice::destroy_all() {
    // The verbs require this order: users before what they use. Windows go before QPs because
    // Linux rxe takes 50 s to destroy a QP with a bound type 2 window.
    budget_.give_objects(mws_.size() + srqs_.size() + cqs_.size() + pds_.size());
    mws_.clear();
    for (std::size_t i = 0; i < qps_.size(); ++i)
        budget_.give_qp();
    qps_.clear();
    qp_by_number_.clear();
    for (const auto& [handle, region] : regions_)
        budget_.give_memory(dut::RegionMemory::footprint(region.length));
    regions_.clear();
    srqs_.clear();
    cqs_.clear();
    pds_.clear();
    posted_requests_.clear();
    connections_.close();
    requested_.clear();
    congestion_.restore();
    budget_.give_congestion(*this);
    drain_events(wire::Instant{}); // events of destroyed objects
    events_.clear();
}

dut::Answer VerbsDevice::execute(const dut::Request& request, wire::Instant now) {
    return dut::count_object(budget_, request, [&] {
        return std::visit([&](const auto& method) { return carry_out(method, now); }, request);
    });
}

// --- the device and the connection ------------------------------------------------------------

dut::Answer VerbsDevice::carry_out(const dut::Hello& /*request*/, wire::Instant /*now*/) {
    auto welcome = describe(*context_);
    welcome.max.mr_bytes = std::min(
        welcome.max.mr_bytes, dut::RegionMemory::largest_within(budget_.limits().registered_bytes));
    const auto memlock = welcome.limits.memlock_bytes;
    welcome.limits = budget_.limits();
    welcome.limits.memlock_bytes = memlock;
    if (congestion_.any()) {
        dut::add_capability(welcome, "congestion");
        welcome.congestion = congestion_.read();
    }
    if (KernelConnections::available()) dut::add_capability(welcome, "cm");
    return welcome;
}

dut::Answer VerbsDevice::carry_out(const dut::Counters& /*request*/, wire::Instant /*now*/) {
    return dut::CounterValues{read_counters(ibv_get_device_name(context_->device))};
}

dut::Answer VerbsDevice::carry_out(const dut::Cancel& /*request*/, wire::Instant /*now*/) {
    return dut::Done{}; // nothing waits here
}

dut::Answer VerbsDevice::carry_out(const dut::Reset& /*request*/, wire::Instant /*now*/) {
    destroy_all();
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::Ping& /*request*/, wire::Instant now) {
    return dut::Pong{.at = now};
}

// --- congestion management --------------------------------------------------------------------

namespace {

dut::Failure no_congestion(std::string_view method) {
    return dut::no_method(method, "the driver has no files for congestion management");
}

} // namespace

dut::Answer VerbsDevice::carry_out(const dut::CongestionGet& /*request*/, wire::Instant /*now*/) {
    if (!congestion_.any()) return std::unexpected(no_congestion(dut::CongestionGet::method));
    return congestion_.read();
}

dut::Answer VerbsDevice::carry_out(const dut::CongestionSet& request, wire::Instant /*now*/) {
    if (!congestion_.any()) return std::unexpected(no_congestion(dut::CongestionSet::method));
    if (auto failure = dut::refused_congestion(budget_, request, *this))
        return std::unexpected(std::move(*failure));
    if (const int error = congestion_.write(request.settings); error != 0)
        return std::unexpected(refused_with(dut::CongestionSet::method, error));
    return congestion_.read();
}

// --- protection domains, completion queues ----------------------------------------------------

dut::Answer VerbsDevice::carry_out(const dut::PdCreate& /*request*/, wire::Instant /*now*/) {
    PdPtr pd(ibv_alloc_pd(context_.get()));
    if (pd == nullptr) return std::unexpected(refused_with(dut::PdCreate::method, errno));
    const auto handle = next_handle<dut::PdHandle>();
    pds_.emplace(handle, std::move(pd));
    return dut::PdCreated{.pd = handle};
}

dut::Answer VerbsDevice::carry_out(const dut::PdDestroy& request, wire::Instant /*now*/) {
    auto* pd = find_in(pds_, request.pd);
    if (pd == nullptr) return std::unexpected(dut::no_such("pd", request.pd.value));
    const auto destroyed = destroy(*pd, ibv_dealloc_pd, dut::PdDestroy::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    pds_.erase(request.pd);
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::CqCreate& request, wire::Instant /*now*/) {
    // One channel per queue, so that a notification belongs to a known queue.
    ChannelPtr channel(ibv_create_comp_channel(context_.get()));
    if (channel == nullptr) return std::unexpected(refused_with(dut::CqCreate::method, errno));
    make_nonblocking(channel->fd);
    if (request.depth > INT32_MAX) {
        return std::unexpected(refused_with(dut::CqCreate::method, EINVAL));
    }
    CqPtr cq(
        ibv_create_cq(context_.get(), static_cast<int>(request.depth), nullptr, channel.get(), 0));
    if (cq == nullptr) return std::unexpected(refused_with(dut::CqCreate::method, errno));
    const auto handle = next_handle<dut::CqHandle>();
    const auto depth = static_cast<std::uint32_t>(std::max(cq->cqe, 0));
    cqs_.emplace(handle, Cq{.channel = std::move(channel), .cq = std::move(cq)});
    return dut::CqCreated{.cq = handle, .depth = depth};
}

dut::Answer VerbsDevice::carry_out(const dut::CqDestroy& request, wire::Instant now) {
    auto* cq = find_in(cqs_, request.cq);
    if (cq == nullptr) return std::unexpected(dut::no_such("cq", request.cq.value));
    drain_events(now); // the verb waits until every event of the queue is acknowledged
    const auto destroyed = destroy(cq->cq, ibv_destroy_cq, dut::CqDestroy::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    cqs_.erase(request.cq);
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::CqArm& request, wire::Instant /*now*/) {
    const auto* cq = find_in(cqs_, request.cq);
    if (cq == nullptr) return std::unexpected(dut::no_such("cq", request.cq.value));
    const int result = ibv_req_notify_cq(cq->cq.get(), request.solicited ? 1 : 0);
    if (result != 0) return std::unexpected(refused_with(dut::CqArm::method, result));
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::CqWait& request, wire::Instant now) {
    const auto* cq = find_in(cqs_, request.cq);
    if (cq == nullptr) return std::unexpected(dut::no_such("cq", request.cq.value));
    ibv_cq* notified = nullptr;
    void* unused = nullptr;
    if (ibv_get_cq_event(cq->channel.get(), &notified, &unused) != 0) {
        return dut::Notified{.notified = false, .at = now};
    }
    ibv_ack_cq_events(notified, 1);
    return dut::Notified{.notified = true, .at = now};
}

// --- memory regions ---------------------------------------------------------------------------

dut::Answer VerbsDevice::carry_out(const dut::MrRegister& request, wire::Instant /*now*/) {
    const auto* pd = find_in(pds_, request.pd);
    if (pd == nullptr) return std::unexpected(dut::no_such("pd", request.pd.value));
    const auto wanted = dut::RegionMemory::wanted_address(request);
    if (!wanted) return std::unexpected(wanted.error());
    if (!budget_.take_memory(dut::RegionMemory::footprint(request.length))) {
        return std::unexpected(dut::refused(dut::MrRegister::method, "ENOMEM",
                                            "more memory than this agent allows its "
                                            "callers"));
    }
    auto memory = dut::RegionMemory::allocate(request.length);
    if (!memory) {
        budget_.give_memory(dut::RegionMemory::footprint(request.length));
        return std::unexpected(refused_with(dut::MrRegister::method, ENOMEM));
    }
    const auto bytes = memory->bytes();
    if (request.fill) {
        dut::write_pattern(bytes, request.fill->pattern, 0, request.fill->key.value_or(0));
    }
    const unsigned access = to_verbs(request.access);
    MrPtr mr(request.iova
                 ? ibv_reg_mr_iova(pd->get(), bytes.data(), bytes.size(), *request.iova, access)
                 : ibv_reg_mr(pd->get(), bytes.data(), bytes.size(), access));
    if (mr == nullptr) {
        const int error = errno;
        budget_.give_memory(dut::RegionMemory::footprint(request.length));
        auto failure = refused_with(dut::MrRegister::method, error);
        if (const auto lockable = lockable_bytes(); lockable && error == ENOMEM) {
            failure.message += "; this agent may lock " + std::to_string(*lockable) +
                               " bytes of memory: raise it with 'ulimit -l unlimited' before "
                               "the agent starts (LimitMEMLOCK=infinity in systemd)";
        }
        return std::unexpected(std::move(failure));
    }
    const auto address = wanted->value_or(reinterpret_cast<std::uintptr_t>(bytes.data()));
    const auto handle = next_handle<dut::MrHandle>();
    const dut::MrRegistered registered{
        .mr = handle, .address = address, .lkey = {mr->lkey}, .rkey = {mr->rkey}};
    regions_.emplace(handle, Region{.memory = std::move(*memory),
                                    .mr = std::move(mr),
                                    .address = address,
                                    .length = request.length});
    return registered;
}

dut::Answer VerbsDevice::carry_out(const dut::MrRead& request, wire::Instant /*now*/) {
    const auto* region = find_in(regions_, request.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("mr", request.mr.value));
    return region->memory.read(request);
}

dut::Answer VerbsDevice::carry_out(const dut::MrWrite& request, wire::Instant /*now*/) {
    const auto* region = find_in(regions_, request.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("mr", request.mr.value));
    return region->memory.write(request);
}

dut::Answer VerbsDevice::carry_out(const dut::MrFill& request, wire::Instant /*now*/) {
    const auto* region = find_in(regions_, request.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("mr", request.mr.value));
    return region->memory.fill(request);
}

dut::Answer VerbsDevice::carry_out(const dut::MrDigest& request, wire::Instant /*now*/) {
    const auto* region = find_in(regions_, request.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("mr", request.mr.value));
    return region->memory.digest(request);
}

dut::Answer VerbsDevice::carry_out(const dut::MrDeregister& request, wire::Instant /*now*/) {
    auto* region = find_in(regions_, request.mr);
    if (region == nullptr) return std::unexpected(dut::no_such("mr", request.mr.value));
    const auto destroyed = destroy(region->mr, ibv_dereg_mr, dut::MrDeregister::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    budget_.give_memory(dut::RegionMemory::footprint(region->length));
    regions_.erase(request.mr);
    return dut::Done{};
}

// --- events -----------------------------------------------------------------------------------

void VerbsDevice::drain_events(wire::Instant now) {
    pollfd waiting{.fd = context_->async_fd, .events = POLLIN, .revents = 0};
    ibv_async_event event{};
    while (poll(&waiting, 1, 0) > 0 && ibv_get_async_event(context_.get(), &event) == 0) {
        take_event(event, now);
        // At once: destroying an object waits for the acknowledgement of its events.
        ibv_ack_async_event(&event);
    }
}

void VerbsDevice::take_event(const ibv_async_event& event, wire::Instant now) {
    const auto type = event_of(event.event_type);
    if (!type) return; // of the device or the port, not of an object
    dut::Event ours{.type = *type, .at = now};
    switch (*type) {
    case engine::EventType::CqErr:
        for (auto& [handle, cq] : cqs_) {
            if (cq.cq.get() != event.element.cq) continue;
            cq.overrun = true;
            ours.cq = handle;
        }
        break;
    case engine::EventType::SrqErr:
    case engine::EventType::SrqLimitReached:
        for (const auto& [handle, srq] : srqs_) {
            if (srq.get() == event.element.srq) ours.srq = handle;
        }
        break;
    case engine::EventType::CommEst:
    case engine::EventType::SqDrained:
    case engine::EventType::QpFatal:
    case engine::EventType::QpReqErr:
    case engine::EventType::QpAccessErr:
    case engine::EventType::LastWqeReached:
    case engine::EventType::PathMig:
    case engine::EventType::PathMigErr:
        for (const auto& [handle, qp] : qps_) {
            if (qp.qp.get() != event.element.qp) continue;
            ours.qp = handle;
            if (*type == engine::EventType::CommEst && qp.connection)
                static_cast<void>(connections_.established(*qp.connection));
        }
        break;
    }
    if (!ours.qp && !ours.cq && !ours.srq) return; // already destroyed
    if (events_.size() == max_events) events_.pop_front();
    events_.push_back(ours);
}

dut::Answer VerbsDevice::carry_out(const dut::Events& /*request*/, wire::Instant now) {
    drain_events(now);
    dut::EventList list{.events = {events_.begin(), events_.end()}};
    events_.clear();
    return list;
}

// --- shared receive queues, memory windows ----------------------------------------------------

dut::Answer VerbsDevice::carry_out(const dut::SrqCreate& request, wire::Instant /*now*/) {
    const auto* pd = find_in(pds_, request.pd);
    if (pd == nullptr) return std::unexpected(dut::no_such("pd", request.pd.value));
    ibv_srq_init_attr attributes{};
    attributes.attr = {.max_wr = request.depth, .max_sge = 1, .srq_limit = 0};
    SrqPtr srq(ibv_create_srq(pd->get(), &attributes));
    if (srq == nullptr) return std::unexpected(refused_with(dut::SrqCreate::method, errno));
    const auto handle = next_handle<dut::SrqHandle>();
    srqs_.emplace(handle, std::move(srq));
    // Creation ignores the limit; a modify arms it.
    if (request.limit) {
        const auto armed = carry_out(dut::SrqModify{.srq = handle, .limit = *request.limit}, {});
        if (!armed) {
            srqs_.erase(handle);
            return armed;
        }
    }
    return dut::SrqCreated{.srq = handle};
}

dut::Answer VerbsDevice::carry_out(const dut::SrqModify& request, wire::Instant /*now*/) {
    const auto* srq = find_in(srqs_, request.srq);
    if (srq == nullptr) return std::unexpected(dut::no_such("srq", request.srq.value));
    ibv_srq_attr attributes{.max_wr = 0, .max_sge = 0, .srq_limit = request.limit};
    const int result = ibv_modify_srq(srq->get(), &attributes, IBV_SRQ_LIMIT);
    if (result != 0) {
        return std::unexpected(refused_with(dut::SrqModify::method, result < 0 ? errno : result));
    }
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::SrqDestroy& request, wire::Instant now) {
    auto* srq = find_in(srqs_, request.srq);
    if (srq == nullptr) return std::unexpected(dut::no_such("srq", request.srq.value));
    drain_events(now);
    const auto destroyed = destroy(*srq, ibv_destroy_srq, dut::SrqDestroy::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    srqs_.erase(request.srq);
    return dut::Done{};
}

dut::Answer VerbsDevice::carry_out(const dut::MwAlloc& request, wire::Instant /*now*/) {
    const auto* pd = find_in(pds_, request.pd);
    if (pd == nullptr) return std::unexpected(dut::no_such("pd", request.pd.value));
    if (request.type != 1 && request.type != 2) {
        return std::unexpected(
            dut::invalid("type: expected 1 or 2, got " + std::to_string(request.type)));
    }
    MwPtr mw(ibv_alloc_mw(pd->get(), request.type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
    if (mw == nullptr) return std::unexpected(refused_with(dut::MwAlloc::method, errno));
    const auto handle = next_handle<dut::MwHandle>();
    const wire::Rkey rkey{mw->rkey};
    mws_.emplace(handle, std::move(mw));
    return dut::MwAllocated{.mw = handle, .rkey = rkey};
}

dut::Answer VerbsDevice::carry_out(const dut::MwDealloc& request, wire::Instant /*now*/) {
    auto* mw = find_in(mws_, request.mw);
    if (mw == nullptr) return std::unexpected(dut::no_such("mw", request.mw.value));
    const auto destroyed = destroy(*mw, ibv_dealloc_mw, dut::MwDealloc::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    mws_.erase(request.mw);
    return dut::Done{};
}

// --- the end of a QP --------------------------------------------------------------------------

dut::Answer VerbsDevice::carry_out(const dut::QpDestroy& request, wire::Instant now) {
    auto* qp = find_in(qps_, request.qp);
    if (qp == nullptr) return std::unexpected(dut::no_such("qp", request.qp.value));
    drain_events(now);
    const auto number = qp->qp->qp_num;
    const auto destroyed = destroy(qp->qp, ibv_destroy_qp, dut::QpDestroy::method);
    if (!destroyed) return std::unexpected(destroyed.error());
    qps_.erase(request.qp);
    qp_by_number_.erase(number);
    posted_requests_.forget(request.qp);
    budget_.give_qp();
    return dut::Done{};
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
