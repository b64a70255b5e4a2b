#include "transport/engine/qp_states.hpp"

#include <algorithm>

#include "dissector/wire/management.hpp"
#include "transport/engine/migration.hpp"
#include "transport/engine/notification.hpp"
#include "transport/engine/path.hpp"
#include "transport/engine/responder_replies.hpp"
#include "transport/engine/transitions.hpp"

namespace veriroce::engine {

namespace {

bool has_pkey(const Config& config, wire::Pkey pkey) {
    return config.pkeys.empty() || std::ranges::find(config.pkeys, pkey) != config.pkeys.end();
}

bool in_range(const Config& config, const QpAttributes& a) {
    constexpr std::uint8_t max_code = 31;
    constexpr std::uint8_t max_retries = 7;
    const std::uint8_t rd_atomic = config.limits.rd_atomic;
    if (a.timeout.value_or(0) > max_code || a.min_rnr_timer.value_or(0) > max_code) return false;
    if (a.retry_count.value_or(0) > max_retries || a.rnr_retry.value_or(0) > max_retries) {
        return false;
    }
    if (a.max_rd_atomic.value_or(0) > rd_atomic || a.max_dest_rd_atomic.value_or(0) > rd_atomic) {
        return false;
    }
    if (a.path_mtu && wire::bytes_of(*a.path_mtu) > wire::bytes_of(config.port_mtu)) return false;
    if (a.dest_qp && a.dest_qp->value > wire::kMask24) return false;
    const auto one_family = [](const AddressVector& path) {
        return path.source.v4() == path.destination.v4();
    };
    if (a.alternate && (!one_family(a.alternate->address) || a.alternate->timeout > max_code ||
                        !has_pkey(config, a.alternate->pkey))) {
        return false;
    }
    if (a.pkey && !has_pkey(config, *a.pkey)) return false;
    return !a.address || one_family(*a.address);
}

template <typename T>
void take(T& value, const std::optional<T>& wanted) {
    if (wanted) value = *wanted;
}

void apply(Connection& c, const QpAttributes& a) {
    take(c.mtu, a.path_mtu);
    take(c.peer, a.dest_qp);
    take(c.initial_rq_psn, a.rq_psn);
    take(c.initial_sq_psn, a.sq_psn);
    take(c.access, a.access);
    take(c.address, a.address);
    take(c.pkey, a.pkey);
    take(c.qkey, a.qkey);
    take(c.timeout, a.timeout);
    take(c.retry_count, a.retry_count);
    take(c.rnr_retry, a.rnr_retry);
    take(c.min_rnr_timer, a.min_rnr_timer);
    take(c.max_rd_atomic, a.max_rd_atomic);
    take(c.max_dest_rd_atomic, a.max_dest_rd_atomic);
    take(c.sqd_async_notify, a.sqd_async_notify);
    take(c.flow_control, a.flow_control);
    take(c.mig_req, a.mig_req);
}

} // namespace

void reset(Device& device, Qp& qp) {
    const std::uint32_t index = Device::index_of(qp);
    device.deadlines.disarm(index, Timer::Ack);
    device.deadlines.disarm(index, Timer::Rnr);
    device.deadlines.disarm(index, Timer::Pace);
    drop_deferred_ack(device, qp);
    qp.out_of_credits = qp.one_message = false;
    qp.drain_works = 0;
    qp.recovers_to.reset();
    qp.last_cnp.reset();
    take_reaction_point(device, qp);
    const Connection old = qp.connection;
    qp.connection = {.type = old.type, .pd = old.pd, .qpn = old.qpn};
    if (old.qpn == wire::kGsiQpn) qp.connection.qkey = wire::kGsiQkey;
    qp.envelope = {};
    qp.inbound = {};
    qp.replies.clear();
    qp.saved.reset(0);
    qp.established = false;
    qp.outbound = {};
    qp.cursor = {};
    qp.since_ack_request = 0;
    qp.waits_for_rnr = qp.implied_nak_taken = qp.rewound = qp.drain_pending = false;
    qp.sends.clear();
    forget_receives(qp);
    device.memory.unbind_all_of(qp.connection.qpn);
}

std::expected<void, VerbError> modify(Device& device, Qp& qp, const QpAttributes& attributes) {
    const QpState from = qp.connection.state;
    const QpState to = attributes.state.value_or(from);
    const bool gsi = qp.connection.qpn == wire::kGsiQpn;
    if (!transition_allowed(qp.connection.type, gsi, from, to, attributes) || // STA-09
        !in_range(device.config, attributes) || !migration_allowed(qp.connection, attributes)) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (to == QpState::Reset) {
        reset(device, qp);
        return {};
    }
    if (to == QpState::Err) {
        qp.replies.clear(); // the host ends it: nothing goes out any more
        enter_error(device, qp);
        return {};
    }
    apply(qp.connection, attributes);
    qp.connection.state = to;
    settle_path(device, qp);
    apply_migration(device, qp, attributes);
    if (from == QpState::Init && to == QpState::Rtr) {
        qp.inbound.expected_psn = qp.connection.initial_rq_psn;
        qp.last_acked = qp.connection.initial_rq_psn - 1;
    }
    if (from == QpState::Init && to == QpState::Rtr) {
        qp.replies.make_room(qp.connection.max_dest_rd_atomic);
    }
    if (const auto depth = attributes.max_dest_rd_atomic) { // RDR-08, RDR-10
        qp.saved.reset(
            *depth == 0 ? 0 : std::size_t{*depth} + device.config.behaviour.remembered_extra);
    }
    if (from == QpState::Rtr && to == QpState::Rts) {
        qp.outbound.next_psn = qp.outbound.unacked_psn = qp.connection.initial_sq_psn;
        const bool obeys = device.config.behaviour.obey_credits || qp.connection.flow_control;
        qp.outbound.credits = {.unlimited = !obeys};
    }
    const bool begins_to_drain = from == QpState::Rts && to == QpState::Sqd;
    qp.drain_pending = begins_to_drain || (qp.drain_pending && to == QpState::Sqd);
    const bool drains_all = device.config.behaviour.drain == Drain::Posted; // STA-06
    if (begins_to_drain && drains_all) qp.drain_works = qp.sends.size();
    if (to == QpState::Rts) qp.drain_works = 0;
    return {};
}

QpAttributes report(const Qp& qp) {
    const Connection& c = qp.connection;
    return {.state = c.state,
            .path_mtu = c.mtu,
            .dest_qp = c.peer,
            .rq_psn = qp.inbound.expected_psn,
            .sq_psn = qp.outbound.next_psn,
            .access = c.access,
            .address = c.address,
            .pkey = c.pkey,
            .qkey = c.qkey,
            .timeout = c.timeout,
            .retry_count = c.retry_count,
            .rnr_retry = c.rnr_retry,
            .min_rnr_timer = c.min_rnr_timer,
            .max_rd_atomic = c.max_rd_atomic,
            .max_dest_rd_atomic = c.max_dest_rd_atomic,
            .sqd_async_notify = c.sqd_async_notify,
            .flow_control = c.flow_control,
            .mig_req = c.mig_req,
            .alternate = c.alternate,
            .path_mig_state = c.migration};
}

namespace {

void flush_sends(Device& device, Qp& qp) {
    qp.drain_pending = false;
    qp.drain_works = 0;
    qp.cursor = {};
    while (!qp.sends.empty()) {
        const SendWork& work = qp.sends.front();
        deliver(device, qp, Queue::Send,
                {.id = work.request.id,
                 .status = WcStatus::WrFlushErr,
                 .opcode = completion_opcode(work.request.opcode)});
        if (!qp.sends.empty()) qp.sends.pop();
    }
}

} // namespace

void enter_send_error(Device& device, Qp& qp) {
    if (qp.connection.state == QpState::Err) return;
    qp.connection.state = QpState::Sqe;
    device.deadlines.disarm(Device::index_of(qp), Timer::Pace);
    flush_sends(device, qp);
}

void enter_error(Device& device, Qp& qp) {
    if (qp.connection.state == QpState::Err) return;
    qp.connection.state = QpState::Err;
    device.deadlines.disarm(Device::index_of(qp), Timer::Ack);
    device.deadlines.disarm(Device::index_of(qp), Timer::Rnr);
    drop_deferred_ack(device, qp);
    device.deadlines.disarm(Device::index_of(qp), Timer::Pace);
    qp.waits_for_rnr = false;
    qp.outbound.outstanding_rd_atomic = 0;
    flush_sends(device, qp);
    flush_receives(device, qp);
}

} // namespace veriroce::engine
