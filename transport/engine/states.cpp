// The states of a QP: which transition wants and allows which attributes, and what it does.
//
// Source: the verbs' table of ibv_modify_qp as the Linux kernel has it, for RC; rules STA-01..10.
// Where the verbs demand a port or a P_Key index ours have defaults.
#include "transport/engine/device.hpp"

namespace veriroce::engine {

namespace {

// The attributes as a set, one bit each.
enum Attribute : std::uint32_t {
    PathMtu = 1U << 0,
    DestQp = 1U << 1,
    RqPsn = 1U << 2,
    SqPsn = 1U << 3,
    AccessFlags = 1U << 4,
    Address = 1U << 5,
    PkeyValue = 1U << 6,
    QkeyValue = 1U << 7,
    Timeout = 1U << 8,
    RetryCount = 1U << 9,
    RnrRetry = 1U << 10,
    MinRnrTimer = 1U << 11,
    MaxRdAtomic = 1U << 12,
    MaxDestRdAtomic = 1U << 13,
    SqdNotify = 1U << 14,
    MigReq = 1U << 15,
};

struct Transition {
    QpState from = QpState::Reset;
    QpState to = QpState::Reset;
    std::uint32_t required = 0;
    std::uint32_t optional = 0;
};

constexpr std::uint32_t tuning = AccessFlags | MinRnrTimer | MigReq;

constexpr std::array transitions{
    Transition{QpState::Reset, QpState::Init, AccessFlags, PkeyValue},
    Transition{QpState::Init, QpState::Init, 0, AccessFlags | PkeyValue},
    Transition{QpState::Init, QpState::Rtr,
               Address | PathMtu | DestQp | RqPsn | MaxDestRdAtomic | MinRnrTimer,
               AccessFlags | PkeyValue | MigReq},
    Transition{QpState::Rtr, QpState::Rts, Timeout | RetryCount | RnrRetry | SqPsn | MaxRdAtomic,
               tuning},
    Transition{QpState::Rts, QpState::Rts, 0, tuning},
    Transition{QpState::Rts, QpState::Sqd, 0, SqdNotify},
    Transition{QpState::Sqd, QpState::Rts, 0, tuning},
    Transition{QpState::Sqd, QpState::Sqd, 0,
               tuning | Address | Timeout | RetryCount | RnrRetry | MaxRdAtomic | MaxDestRdAtomic |
                   PkeyValue},
};

std::uint32_t given(const QpAttributes& a) {
    std::uint32_t set = 0;
    const auto note = [&set](bool there, Attribute attribute) {
        if (there) set |= attribute;
    };
    note(a.path_mtu.has_value(), PathMtu);
    note(a.dest_qp.has_value(), DestQp);
    note(a.rq_psn.has_value(), RqPsn);
    note(a.sq_psn.has_value(), SqPsn);
    note(a.access.has_value(), AccessFlags);
    note(a.address.has_value(), Address);
    note(a.pkey.has_value(), PkeyValue);
    note(a.qkey.has_value(), QkeyValue);
    note(a.timeout.has_value(), Timeout);
    note(a.retry_count.has_value(), RetryCount);
    note(a.rnr_retry.has_value(), RnrRetry);
    note(a.min_rnr_timer.has_value(), MinRnrTimer);
    note(a.max_rd_atomic.has_value(), MaxRdAtomic);
    note(a.max_dest_rd_atomic.has_value(), MaxDestRdAtomic);
    note(a.sqd_async_notify.has_value(), SqdNotify);
    note(a.mig_req.has_value(), MigReq);
    return set;
}

// STA-09: what the table does not have is refused.
bool allowed(QpState from, QpState to, std::uint32_t set) {
    if (to == QpState::Reset || to == QpState::Err) return set == 0;
    for (const Transition& row : transitions) {
        if (row.from != from || row.to != to) continue;
        return (set & row.required) == row.required && (set & ~(row.required | row.optional)) == 0;
    }
    return false;
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
    return !a.address || a.address->source.v4() == a.address->destination.v4();
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
    take(c.mig_req, a.mig_req);
}

// ENC-02: one source port for a QP's life, spread over the upper quarter of the ports.
std::uint16_t source_port(const Connection& connection) {
    constexpr std::uint32_t golden_ratio = 0x9E3779B1;
    const std::uint32_t hash = connection.qpn.value * golden_ratio >> 18;
    return connection.address.source_port.value_or(static_cast<std::uint16_t>(0xC000 + hash));
}

wire::Envelope envelope_of(const Connection& connection) {
    const AddressVector& address = connection.address;
    return {.source = address.source,
            .destination = address.destination,
            .source_port = source_port(connection),
            .destination_port = wire::kRocePort,
            .dscp = static_cast<std::uint8_t>(address.traffic_class >> 2), // ENC-12
            .ecn = static_cast<std::uint8_t>(address.traffic_class & 3),
            .hop_limit = address.hop_limit,
            .flow_label = address.flow_label,
            .vlan = address.vlan};
}

std::optional<wire::Duration> ack_interval(const Device& device, const Connection& connection) {
    constexpr int sixteenths = 16;
    const auto nominal = wire::ack_timeout(connection.timeout);
    if (!nominal) return std::nullopt; // TMO-02
    return *nominal * device.config.behaviour.timeout_sixteenths / sixteenths;
}

} // namespace

void reset(Device& device, Qp& qp) {
    const std::uint32_t index = Device::index_of(qp);
    device.deadlines.disarm(index, Timer::Ack);
    device.deadlines.disarm(index, Timer::Rnr);
    const Connection old = qp.connection;
    qp.connection = {.type = old.type, .pd = old.pd, .qpn = old.qpn};
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
    if (!allowed(from, to, given(attributes)) || !in_range(device.config, attributes)) {
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
    qp.envelope = envelope_of(qp.connection);
    qp.ack_interval = ack_interval(device, qp.connection);
    if (from == QpState::Init && to == QpState::Rtr) {
        qp.inbound.expected_psn = qp.connection.initial_rq_psn;
        qp.last_acked = qp.connection.initial_rq_psn - 1;
    }
    if (attributes.max_dest_rd_atomic) qp.saved.reset(qp.connection.max_dest_rd_atomic);
    if (from == QpState::Rtr && to == QpState::Rts) {
        qp.outbound.next_psn = qp.outbound.unacked_psn = qp.connection.initial_sq_psn;
        qp.outbound.credits = {.unlimited = !device.config.behaviour.obey_credits};
    }
    qp.drain_pending = from == QpState::Rts && to == QpState::Sqd;
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
            .mig_req = c.mig_req};
}

} // namespace veriroce::engine
