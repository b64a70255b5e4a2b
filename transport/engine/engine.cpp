#include "transport/engine/engine.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "dissector/wire/fetch.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/datagram.hpp"
#include "transport/engine/local_work.hpp"
#include "transport/engine/migration.hpp"
#include "transport/engine/notification.hpp"
#include "transport/engine/path.hpp"
#include "transport/engine/qp_states.hpp"
#include "transport/engine/requester.hpp"
#include "transport/engine/requester_responses.hpp"
#include "transport/engine/responder.hpp"
#include "transport/engine/responder_replies.hpp"
#include "transport/engine/retry.hpp"
#include "transport/engine/send_completion.hpp"
#include "transport/engine/uc_responder.hpp"

namespace veriroce::engine {

struct Engine::State : Device {
    using Device::Device;
};

Engine::Engine(const Config& config, const Checks& checks)
    : state_(std::make_unique<State>(config, checks)) {}
Engine::~Engine() = default;

// --- the wire

void Engine::handle(const wire::Datagram& datagram, wire::Instant now) {
    Device& device = *state_;
    // Two words and not a span as a whole, which its caller has stored as two words just now.
    const auto packet = wire::decode_packet({datagram.bytes.data(), datagram.bytes.size()});
    Qp* const qp = packet ? device.find(packet->bth.dest_qp) : nullptr;
    if (qp == nullptr) {
        if (packet && packet->bth.dest_qp == kMulticastQpn) {
            handle_multicast(device, datagram.envelope, *packet, now);
        } else if (packet) {
            device.drop(DropReason::UnknownQp, packet->bth, now);
        } else {
            device.drop(DropReason::TooShort, wire::Bth::decode(datagram.bytes), now);
        }
        return;
    }
    wire::fetch(*qp);
    if (datagram.envelope.ecn == wire::kCongestionExperienced) ++device.counters.ecn_marked;
    const PacketView view{
        datagram.envelope,   *packet, packet->info(), qp->connection, device.config.behaviour,
        device.config.pkeys, now};
    if (const auto refused_by = device.checks.refused_by(view)) {
        if (*refused_by == PacketCheck::Pkey) ++device.counters.bad_pkey;
        device.drop(*refused_by, packet->bth, now);
        note_refused(device, *qp, view, *refused_by);
        return;
    }
    if (packet->bth.opcode == wire::kCnpOpcode) { // CNP-12: it has no PSN and no answer
        handle_cnp(device, *qp, view, now);
        return;
    }
    note_mig_req(device, *qp, view);
    note_mark(device, *qp, view, now);
    if (qp->connection.type == QpType::Uc) {
        handle_uc(device, *qp, view);
    } else if (qp->connection.type == QpType::Ud) {
        handle_datagram(device, *qp, view);
    } else if (view.info.response()) { // OPC-07, REQ-35: the opcode tells who handles the packet
        handle_response(device, *qp, view, now);
    } else {
        handle_request(device, *qp, view);
    }
}

void Engine::handle_timeout(wire::Instant now) {
    Device& device = *state_;
    while (const auto due = device.deadlines.take_due(now)) {
        if (Qp* const qp = device.qps[due->qp].get()) handle_timer(device, *qp, due->timer, now);
    }
}

const Transmit* Engine::poll_transmit(wire::Instant now) {
    Device& device = *state_;
    if (const Transmit* const cnp = next_cnp(device)) return cnp;
    while (!device.ready.empty()) {
        Qp* const qp = device.qps[device.ready.pop()].get();
        if (qp == nullptr) continue; // destroyed meanwhile
        qp->ready = false;
        // Replies and requests take turns, and so do the QPs.
        qp->request_turn = !qp->request_turn;
        const bool held = held_back(device, *qp, now);
        const bool data_waits = !qp->replies.empty() && qp->replies.front().kind == ReplyKind::Read;
        const Transmit* packet = nullptr;
        if (qp->request_turn && !held) packet = next_request(device, *qp, now);
        if (!packet && !(held && data_waits)) packet = next_reply(device, *qp);
        if (!packet && !qp->request_turn && !held) packet = next_request(device, *qp, now);
        if (!packet) continue;
        charge(*qp, *packet, now);
        device.mark_ready(*qp);
        return packet;
    }
    return nullptr;
}

std::optional<wire::Instant> Engine::next_timeout() const {
    return state_->deadlines.next();
}

// --- work requests, completions, events

Engine::Posted Engine::post_send(QpId qp, std::span<const SendRequest> chain,
                                 wire::Instant /*now*/) {
    Qp* const target = state_->find(qp);
    if (target == nullptr) return {.refused = VerbError::NotFound};
    wire::fetch(*target);
    Posted result;
    for (const SendRequest& request : chain) {
        if (const auto taken = post(*state_, *target, request); !taken) {
            result.refused = taken.error();
            break;
        }
        ++result.posted;
    }
    return result;
}

Engine::Posted Engine::post_receive(QpId qp, std::span<const ReceiveRequest> chain) {
    Qp* const target = state_->find(qp);
    if (target == nullptr) return {.refused = VerbError::NotFound};
    wire::fetch(*target);
    Posted result;
    for (const ReceiveRequest& request : chain) {
        if (target->connection.state == QpState::Reset || target->srq != nullptr ||
            request.sges.size() > target->description.capacity.max_sge) {
            result.refused = VerbError::InvalidArgument;
            break;
        }
        if (target->receives.full()) {
            result.refused = VerbError::NoMemory;
            break;
        }
        if (target->connection.state == QpState::Err) { // STA-07
            deliver(*state_, *target, Queue::Receive,
                    {.id = request.id, .status = WcStatus::WrFlushErr, .opcode = WcOpcode::Recv});
        } else {
            target->receives.push(request);
            note_posted_receive(*state_, *target);
        }
        ++result.posted;
    }
    return result;
}

std::optional<Completion> Engine::poll_completion(CqId cq) {
    CompletionQueue* const queue = state_->find(cq);
    if (queue == nullptr || queue->entries.empty()) return std::nullopt;
    return queue->entries.pop();
}

bool Engine::overrun(CqId cq) const {
    const CompletionQueue* const queue = state_->find(cq);
    return queue != nullptr && queue->overrun;
}

std::optional<Event> Engine::poll_event() {
    if (state_->events.empty()) return std::nullopt;
    return state_->events.pop();
}

std::optional<Refusal> Engine::poll_refusal() {
    if (state_->refusals.empty()) return std::nullopt;
    return state_->refusals.pop();
}

const Counters& Engine::counters() const {
    return state_->counters;
}
const Limits& Engine::limits() const {
    return state_->config.limits;
}
const Config& Engine::config() const {
    return state_->config;
}
const Congestion& Engine::congestion() const {
    return state_->config.behaviour.congestion;
}
void Engine::set_congestion(const Congestion& congestion) {
    state_->config.behaviour.congestion = congestion;
}

// --- objects

std::expected<PdId, VerbError> Engine::create_pd() {
    state_->pds.push_back(1);
    return PdId{static_cast<std::uint32_t>(state_->pds.size())};
}

std::expected<void, VerbError> Engine::destroy_pd(PdId pd) {
    if (!state_->alive(pd)) return std::unexpected(VerbError::NotFound);
    const bool used =
        state_->memory.uses(pd) ||
        std::ranges::any_of(
            state_->qps,
            [pd](const std::unique_ptr<Qp>& qp) { return qp && qp->connection.pd == pd; }) ||
        std::ranges::any_of(state_->srqs, [pd](const std::unique_ptr<SharedReceiveQueue>& srq) {
            return srq && srq->pd == pd;
        });
    if (used) return std::unexpected(VerbError::Busy);
    state_->pds[pd.value - 1] = 0;
    return {};
}

std::expected<CqId, VerbError> Engine::create_cq(std::uint32_t depth) {
    Device& device = *state_;
    if (depth == 0 || depth > device.config.limits.cqe) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (device.live_cqs == device.config.limits.cqs) return std::unexpected(VerbError::NoMemory);
    const CqId id{static_cast<std::uint32_t>(device.cqs.size() + 1)};
    device.cqs.push_back(std::make_unique<CompletionQueue>(id, depth));
    ++device.live_cqs;
    return id;
}

std::expected<void, VerbError> Engine::destroy_cq(CqId cq) {
    CompletionQueue* const queue = state_->find(cq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (queue->users != 0) return std::unexpected(VerbError::Busy);
    state_->cqs[cq.value - 1].reset();
    --state_->live_cqs;
    return {};
}

std::expected<void, VerbError> Engine::arm_cq(CqId cq, bool solicited_only) {
    CompletionQueue* const queue = state_->find(cq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (!solicited_only) queue->armed = Armed::Any;
    if (queue->armed == Armed::Not) queue->armed = Armed::Solicited;
    return {};
}

bool Engine::take_notification(CqId cq) {
    CompletionQueue* const queue = state_->find(cq);
    return queue != nullptr && std::exchange(queue->notified, false);
}

std::expected<Engine::Region, VerbError>
Engine::register_region(PdId pd, wire::MutableBytes memory, std::uint64_t address, Access access) {
    if (!state_->alive(pd)) return std::unexpected(VerbError::NotFound);
    // As in the verbs: remote write access requires local write access.
    if ((access.remote_write || access.remote_atomic) && !access.local_write) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (access.flush_persistent && !state_->config.persistent_memory) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    const auto region = state_->memory.add(pd, memory, access.zero_based ? 0 : address, access);
    if (!region) return std::unexpected(region.error());
    return Region{.mr = region->mr, .lkey = {region->key}, .rkey = {region->key}};
}

std::expected<void, VerbError> Engine::deregister_region(MrId mr) {
    return state_->memory.remove(mr);
}

std::expected<Engine::Window, VerbError> Engine::allocate_window(PdId pd, WindowType type) {
    if (!state_->alive(pd)) return std::unexpected(VerbError::NotFound);
    const auto window = state_->memory.add_window(
        pd, type == WindowType::Type1 ? KeyKind::WindowType1 : KeyKind::WindowType2);
    if (!window) return std::unexpected(window.error());
    return Window{.mw = window->mw, .rkey = {window->key}};
}

std::expected<void, VerbError> Engine::free_window(MwId mw) {
    return state_->memory.remove_window(mw);
}

std::expected<wire::Rkey, VerbError> Engine::bind_window(QpId qp, MwId mw, const BindInfo& bind,
                                                         std::uint64_t id, const SendFlags& flags) {
    Qp* const target = state_->find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    return post_bind(
        *state_, *target,
        {.id = id, .opcode = WrOpcode::BindMw, .mw = mw, .bind = bind, .flags = flags});
}

// --- queue pairs

namespace {

std::expected<void, VerbError> acceptable(const Device& device, const QpDescription& wanted) {
    const Limits& limits = device.config.limits;
    const QpCapacity& capacity = wanted.capacity;
    if (wanted.gsi && wanted.type != QpType::Ud) return std::unexpected(VerbError::InvalidArgument);
    if (wanted.gsi && device.gsi) return std::unexpected(VerbError::Busy);
    if (!device.alive(wanted.pd) || device.find(wanted.send_cq) == nullptr ||
        device.find(wanted.recv_cq) == nullptr ||
        (wanted.srq && device.find(*wanted.srq) == nullptr)) {
        return std::unexpected(VerbError::NotFound);
    }
    if (device.find(wanted.send_cq)->overrun || device.find(wanted.recv_cq)->overrun) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (capacity.max_send > limits.qp_wr || capacity.max_recv > limits.qp_wr ||
        capacity.max_sge > limits.sges || capacity.max_inline > limits.inline_bytes ||
        capacity.max_inline > device.scratch.size()) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    // QPNs are not used twice (STA-11); 0xFFFFFF is multicast's.
    const bool out_of_numbers = device.config.first_qpn.value + device.qps.size() >= wire::kMask24;
    if (device.live_qps == limits.qps || out_of_numbers) {
        return std::unexpected(VerbError::NoMemory);
    }
    return {};
}

} // namespace

std::expected<QpId, VerbError> Engine::create_qp(const QpDescription& description) {
    Device& device = *state_;
    if (const auto accepted = acceptable(device, description); !accepted) {
        return std::unexpected(accepted.error());
    }
    const auto index = static_cast<std::uint32_t>(device.qps.size());
    const QpId id{index + 1};
    QpDescription wanted = description;
    if (wanted.srq) wanted.capacity.max_recv = 0;
    const wire::Qpn qpn =
        description.gsi ? wire::kGsiQpn : wire::Qpn{device.config.first_qpn.value + index};
    if (description.gsi) device.gsi = id;
    device.qps.push_back(std::make_unique<Qp>(id, qpn, wanted));
    if (description.gsi) device.qps.back()->connection.qkey = wire::kGsiQkey;
    take_reaction_point(device, *device.qps.back());
    device.ready.grow(std::max<std::size_t>(16, std::bit_ceil(device.qps.size())));
    device.deadlines.make_room(index + 1);
    ++device.live_qps;
    ++device.find(description.send_cq)->users;
    ++device.find(description.recv_cq)->users;
    if (description.srq) {
        device.qps.back()->srq = device.find(*description.srq);
        ++device.qps.back()->srq->users;
    }
    return id;
}

std::expected<void, VerbError> Engine::modify_qp(QpId qp, const QpAttributes& attributes,
                                                 wire::Instant /*now*/) {
    Qp* const target = state_->find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    if (auto modified = modify(*state_, *target, attributes); !modified) return modified;
    settle_oldest(*state_, *target); // STA-06: drained at once if nothing had begun
    state_->mark_ready(*target);
    return {};
}

std::expected<QpReport, VerbError> Engine::query_qp(QpId qp) const {
    const Qp* const target = state_->find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    return QpReport{.state = target->connection.state,
                    .qpn = target->connection.qpn,
                    .attributes = report(*target)};
}

std::expected<void, VerbError> Engine::destroy_qp(QpId qp) {
    Device& device = *state_;
    Qp* const target = device.find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    if (device.groups.has(qp)) return std::unexpected(VerbError::Busy);
    reset(device, *target); // its timers stop
    --device.find(target->description.send_cq)->users;
    --device.find(target->description.recv_cq)->users;
    if (target->srq != nullptr) --target->srq->users;
    device.qps[qp.value - 1].reset();
    if (device.gsi == qp) device.gsi.reset();
    --device.live_qps;
    return {};
}

// --- shared receive queues

std::expected<SrqId, VerbError> Engine::create_srq(const SrqDescription& description) {
    Device& device = *state_;
    const Limits& limits = device.config.limits;
    if (!device.alive(description.pd)) return std::unexpected(VerbError::NotFound);
    if (description.depth == 0 || description.depth > limits.srq_wr ||
        description.max_sge > limits.sges || description.limit > description.depth) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (device.live_srqs == limits.srqs) return std::unexpected(VerbError::NoMemory);
    const SrqId id{static_cast<std::uint32_t>(device.srqs.size() + 1)};
    device.srqs.push_back(std::make_unique<SharedReceiveQueue>(
        id, description, device.config.behaviour.shared_receive));
    ++device.live_srqs;
    return id;
}

std::expected<void, VerbError> Engine::modify_srq(SrqId srq, std::uint32_t limit) {
    SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (limit > queue->depth) return std::unexpected(VerbError::InvalidArgument);
    queue->limit = limit;
    return {};
}

std::expected<SrqReport, VerbError> Engine::query_srq(SrqId srq) const {
    const SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    return SrqReport{.depth = queue->depth,
                     .max_sge = queue->max_sge,
                     .limit = queue->limit,
                     .posted = static_cast<std::uint32_t>(queue->size())};
}

std::expected<void, VerbError> Engine::destroy_srq(SrqId srq) {
    const SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (queue->users != 0) return std::unexpected(VerbError::Busy);
    state_->srqs[srq.value - 1].reset();
    --state_->live_srqs;
    return {};
}

Engine::Posted Engine::post_srq_receive(SrqId srq, std::span<const ReceiveRequest> chain) {
    SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return {.refused = VerbError::NotFound};
    Posted result;
    for (const ReceiveRequest& request : chain) {
        if (request.sges.size() > queue->max_sge) {
            result.refused = VerbError::InvalidArgument;
            break;
        }
        if (queue->full()) {
            result.refused = VerbError::NoMemory;
            break;
        }
        queue->push(request);
        ++result.posted;
    }
    return result;
}

// --- multicast groups

std::expected<void, VerbError> Engine::attach_mcast(QpId qp, const wire::IpAddress& group) {
    const Qp* const target = state_->find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    const bool may = target->connection.type == QpType::Ud && !target->description.gsi;
    if (!may || !is_multicast(group)) return std::unexpected(VerbError::InvalidArgument);
    return state_->groups.attach(group, qp);
}

std::expected<void, VerbError> Engine::detach_mcast(QpId qp, const wire::IpAddress& group) {
    if (state_->find(qp) == nullptr) return std::unexpected(VerbError::NotFound);
    return state_->groups.detach(group, qp);
}

} // namespace veriroce::engine
