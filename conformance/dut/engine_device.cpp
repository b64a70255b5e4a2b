#include "conformance/dut/engine_device.hpp"

#include <algorithm>
#include <utility>

#include "conformance/dut/engine_answers.hpp"

namespace veriroce::dut {

EngineDevice::EngineDevice(engine::Engine& engine, Budget& budget,
                           EngineDeviceDescription description, engine::SurfaceFilter* filter)
    : engine_(engine), budget_(budget), description_(std::move(description)), filter_(filter) {}

EngineDevice::~EngineDevice() {
    destroy_all();
}

void EngineDevice::destroy_all() {
    if (connections_ != nullptr) connections_->stop(service_);
    connections_ = nullptr;
    for (const auto& [qp, known] : qps_) {
        static_cast<void>(engine_.destroy_qp(id_of<engine::QpId>(qp)));
        if (filter_ != nullptr) filter_->qp_destroyed(known.qpn);
        budget_.give_qp();
    }
    for (const auto& [mw, window] : windows_)
        static_cast<void>(engine_.free_window(id_of<engine::MwId>(mw)));
    for (const auto srq : srqs_)
        static_cast<void>(engine_.destroy_srq(id_of<engine::SrqId>(srq)));
    for (const auto& [mr, region] : regions_) {
        if (filter_ != nullptr) filter_->region_deregistered(id_of<engine::MrId>(mr));
        static_cast<void>(engine_.deregister_region(id_of<engine::MrId>(mr)));
        budget_.give_memory(RegionMemory::footprint(region.length));
    }
    for (const auto cq : cqs_)
        static_cast<void>(engine_.destroy_cq(id_of<engine::CqId>(cq)));
    for (const auto pd : pds_)
        static_cast<void>(engine_.destroy_pd(id_of<engine::PdId>(pd)));
    if (congestion_before_) engine_.set_congestion(*congestion_before_);
    congestion_before_.reset();
    budget_.give_congestion(*this);
    budget_.give_objects(windows_.size() + srqs_.size() + cqs_.size() + pds_.size());
    qps_.clear();
    windows_.clear();
    srqs_.clear();
    regions_.clear();
    cqs_.clear();
    pds_.clear();
    events_.clear();
    shown_.clear();
}

Answer EngineDevice::execute(const Request& request, wire::Instant now) {
    return count_object(budget_, request, [&] {
        return std::visit([&](const auto& method) { return carry_out(method, now); }, request);
    });
}

// --- the device -------------------------------------------------------------------------------

Answer EngineDevice::carry_out(const Hello& /*request*/, wire::Instant /*now*/) {
    const auto& limits = engine_.limits();
    Port port{.port = description_.port,
              .mac = description_.mac,
              .mtu_active = description_.mtu_active,
              .mtu_max = wire::Mtu::B4096,
              .link_layer = "Ethernet",
              .pkeys = description_.pkeys};
    const std::size_t addresses = description_.addresses.size();
    for (std::size_t i = 0; i < addresses * (1 + description_.vlans.size()); ++i) {
        const auto index = static_cast<std::uint32_t>(i);
        dut::Gid gid{
            .index = index, .type = "rocev2", .address = description_.addresses[i % addresses]};
        if (const auto vlan = vlan_of(index)) gid.vlan = vlan->id;
        port.gids.push_back(gid);
    }
    const bool v6 = std::ranges::any_of(description_.addresses,
                                        [](const auto& address) { return !address.v4(); });
    Welcome welcome{
        .name = description_.name,
        .backend = "engine",
        .device = description_.device,
        .firmware = description_.firmware,
        .capabilities = {"rc",     "uc",         "ud",          "read",         "atomics",
                         "imm",    "send_inv",   "flush",       "atomic_write", "sqd",
                         "events", "notify",     "srq",         "mw",           "mw1",
                         "mw2",    "mtu256",     "reset_reuse", "query_qp",     "ud_path",
                         "iova",   "congestion", "apm",         "e2e_credits"},
        .probed = true, // the engine is the same everywhere
        .traits = description_.traits,
        .ports = {std::move(port)},
        .max = {.qp = limits.qps,
                .qp_wr = limits.qp_wr,
                .sge = limits.sges,
                .cqe = limits.cqe,
                .mr_bytes = RegionMemory::largest_within(budget_.limits().registered_bytes),
                .rd_atomic = limits.rd_atomic,
                .dest_rd_atomic = limits.rd_atomic,
                .msg_bytes = limits.message_bytes,
                .inline_bytes = limits.inline_bytes},
        .local_ca_ack_delay = 0,
        .atomic = "HCA", // between the QPs of this engine
        .limits = budget_.limits(),
        .congestion = settings_of(engine_.congestion())};
    if (management_) welcome.capabilities.emplace_back("cm");
    if (v6) welcome.capabilities.emplace_back("ipv6");
    if (!description_.vlans.empty()) welcome.capabilities.emplace_back("vlan");
    return welcome;
}

Answer EngineDevice::carry_out(const Counters& /*request*/, wire::Instant /*now*/) {
    const auto& counters = engine_.counters();
    const auto named = [](wire::DeviceCounter counter, std::uint64_t value) {
        return std::pair(std::string(name_of(counter)), value);
    };
    return CounterValues{{
        named(wire::DeviceCounter::OutOfSequence, counters.out_of_sequence),
        named(wire::DeviceCounter::DuplicateRequest, counters.duplicate_request),
        named(wire::DeviceCounter::RnrNakSent, counters.rnr_nak_sent),
        named(wire::DeviceCounter::LocalAckTimeout, counters.local_ack_timeout),
        named(wire::DeviceCounter::BadPkey, counters.bad_pkey),
        named(wire::DeviceCounter::BadQkey, counters.bad_qkey),
        named(wire::DeviceCounter::CnpSent, counters.cnp_sent),
        named(wire::DeviceCounter::CnpHandled, counters.cnp_handled),
        named(wire::DeviceCounter::EcnMarked, counters.ecn_marked),
        {"dropped", counters.dropped},
    }};
}

Answer EngineDevice::carry_out(const Cancel& /*request*/, wire::Instant /*now*/) {
    return Done{}; // nothing waits in this class
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
    const std::uint32_t depth = std::max(request.depth, description_.least_cqe);
    const auto cq = engine_.create_cq(depth);
    if (!cq) return std::unexpected(refused_by_engine(CqCreate::method, cq.error()));
    const auto handle = handle_of<CqHandle>(*cq);
    cqs_.insert(handle);
    return CqCreated{.cq = handle, .depth = depth};
}

Answer EngineDevice::carry_out(const CqDestroy& request, wire::Instant /*now*/) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    const auto result = engine_.destroy_cq(id_of<engine::CqId>(request.cq));
    if (result) {
        cqs_.erase(request.cq);
        shown_.erase(request.cq);
    }
    return done_or(CqDestroy::method, result);
}

std::optional<engine::Completion> EngineDevice::next_completion(CqHandle cq) {
    if (filter_ == nullptr) return engine_.poll_completion(id_of<engine::CqId>(cq));
    auto& shown = shown_[cq];
    while (shown.empty()) {
        const auto completion = engine_.poll_completion(id_of<engine::CqId>(cq));
        if (!completion) return std::nullopt;
        std::vector<engine::Completion> seen;
        filter_->completions(*completion, seen);
        shown.insert(shown.end(), seen.begin(), seen.end());
    }
    const engine::Completion next = shown.front();
    shown.pop_front();
    return next;
}

Answer EngineDevice::carry_out(const Poll& request, wire::Instant now) {
    if (!cqs_.contains(request.cq)) return std::unexpected(no_such("cq", request.cq.value));
    const auto cq = id_of<engine::CqId>(request.cq);
    Polled polled;
    while (polled.completions.size() < request.max) {
        const auto completion = next_completion(request.cq);
        if (!completion) break;
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
    const auto wanted = RegionMemory::wanted_address(request);
    if (!wanted) return std::unexpected(wanted.error());
    if (!budget_.take_memory(RegionMemory::footprint(request.length))) {
        return std::unexpected(refused(MrRegister::method, "ENOMEM",
                                       "more memory than this agent allows its callers"));
    }
    auto memory = RegionMemory::allocate_again(request.length);
    if (!memory) {
        budget_.give_memory(RegionMemory::footprint(request.length));
        return std::unexpected(
            refused(MrRegister::method, "ENOMEM", "the system has no memory left"));
    }
    if (request.fill) {
        write_pattern(memory->bytes(), request.fill->pattern, 0, request.fill->key.value_or(0));
    }
    const std::uint64_t address = wanted->value_or(next_address_);
    const auto region = engine_.register_region(id_of<engine::PdId>(request.pd), memory->bytes(),
                                                address, request.access);
    if (!region) {
        budget_.give_memory(RegionMemory::footprint(request.length));
        return std::unexpected(refused_by_engine(MrRegister::method, region.error()));
    }
    next_address_ += kRegionSpacing;
    const auto handle = handle_of<MrHandle>(region->mr);
    if (filter_ != nullptr) {
        filter_->region_registered({.mr = region->mr,
                                    .pd = id_of<engine::PdId>(request.pd),
                                    .rkey = region->rkey,
                                    .address = address,
                                    .memory = memory->bytes(),
                                    .access = request.access});
    }
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
        if (filter_ != nullptr) {
            filter_->region_deregistered(id_of<engine::MrId>(request.mr));
        }
        budget_.give_memory(RegionMemory::footprint(found->second.length));
        regions_.erase(found);
    }
    return done_or(MrDeregister::method, result);
}

// --- events -----------------------------------------------------------------------------------

namespace {

Event event_of(const engine::Event& event, wire::Instant now) {
    Event ours{.type = event.type, .at = now};
    if (event.qp) ours.qp = handle_of<QpHandle>(*event.qp);
    if (event.cq) ours.cq = handle_of<CqHandle>(*event.cq);
    if (event.srq) ours.srq = handle_of<SrqHandle>(*event.srq);
    return ours;
}

} // namespace

bool EngineDevice::offer(const engine::Event& event, wire::Instant now) {
    Event ours = event_of(event, now);
    const bool mine = (ours.qp && qps_.contains(*ours.qp)) ||
                      (ours.cq && cqs_.contains(*ours.cq)) ||
                      (ours.srq && srqs_.contains(*ours.srq));
    if (!mine) return false;
    if (filter_ != nullptr) {
        const auto shown = filter_->event(event);
        if (!shown) return true;
        ours = event_of(*shown, now);
    }
    if (connections_ != nullptr && ours.qp && ours.type == engine::EventType::CommEst)
        connections_->data_came(qps_.at(*ours.qp).qpn);
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
