#include "transport/engine/transitions.hpp"

#include <array>

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
    Alternate = 1U << 16,
    PathMigState = 1U << 17,
    FlowControl = 1U << 18,
};

// What each type of QP must and may bring along.
struct Needs {
    std::uint32_t required = 0;
    std::uint32_t optional = 0;
};

struct Transition {
    QpState from = QpState::Reset;
    QpState to = QpState::Reset;
    Needs rc;
    Needs uc;
    Needs ud;
};

constexpr std::uint32_t kPath = Address | PathMtu | DestQp | RqPsn;
constexpr std::uint32_t kUcTuning = AccessFlags | MigReq | Alternate | PathMigState;
constexpr std::uint32_t kRcTuning = kUcTuning | MinRnrTimer;

constexpr std::array kTransitions{
    Transition{.from = QpState::Reset,
               .to = QpState::Init,
               .rc = {AccessFlags, PkeyValue},
               .uc = {AccessFlags, PkeyValue},
               .ud = {QkeyValue, PkeyValue}},
    Transition{.from = QpState::Init,
               .to = QpState::Init,
               .rc = {0, AccessFlags | PkeyValue},
               .uc = {0, AccessFlags | PkeyValue},
               .ud = {0, QkeyValue | PkeyValue}},
    Transition{.from = QpState::Init,
               .to = QpState::Rtr,
               .rc = {kPath | MaxDestRdAtomic | MinRnrTimer,
                      AccessFlags | PkeyValue | MigReq | Alternate | FlowControl},
               .uc = {kPath, AccessFlags | PkeyValue | MigReq | Alternate},
               .ud = {0, QkeyValue | PkeyValue}},
    Transition{.from = QpState::Rtr,
               .to = QpState::Rts,
               .rc = {Timeout | RetryCount | RnrRetry | SqPsn | MaxRdAtomic, kRcTuning},
               .uc = {SqPsn, kUcTuning},
               .ud = {SqPsn, QkeyValue}},
    Transition{.from = QpState::Rts,
               .to = QpState::Rts,
               .rc = {0, kRcTuning},
               .uc = {0, kUcTuning},
               .ud = {0, QkeyValue}},
    Transition{.from = QpState::Rts,
               .to = QpState::Sqd,
               .rc = {0, SqdNotify},
               .uc = {0, SqdNotify},
               .ud = {0, SqdNotify}},
    Transition{.from = QpState::Sqd,
               .to = QpState::Rts,
               .rc = {0, kRcTuning},
               .uc = {0, kUcTuning},
               .ud = {0, QkeyValue}},
    Transition{.from = QpState::Sqd,
               .to = QpState::Sqd,
               .rc = {0, kRcTuning | Address | Timeout | RetryCount | RnrRetry | MaxRdAtomic |
                             MaxDestRdAtomic | PkeyValue},
               .uc = {0, kUcTuning | Address | PkeyValue},
               .ud = {0, PkeyValue | QkeyValue}},
};

// STA-08: RC has no SQE.
constexpr std::array kFromSqe{
    Transition{
        .from = QpState::Sqe, .to = QpState::Rts, .uc = {0, AccessFlags}, .ud = {0, QkeyValue}},
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
    note(a.alternate.has_value(), Alternate);
    note(a.path_mig_state.has_value(), PathMigState);
    note(a.flow_control.has_value(), FlowControl);
    return set;
}

Needs needs_of(const Transition& row, QpType type, bool gsi) {
    switch (type) {
    case QpType::Rc: return row.rc;
    case QpType::Uc: return row.uc;
    case QpType::Ud: break;
    }
    if (!gsi) return row.ud;
    return {.required = row.ud.required & ~std::uint32_t{QkeyValue},
            .optional = row.ud.optional | (row.ud.required & QkeyValue)};
}

} // namespace

bool transition_allowed(QpType type, bool gsi, QpState from, QpState to,
                        const QpAttributes& attributes) {
    const std::uint32_t set = given(attributes);
    if (to == QpState::Reset || to == QpState::Err) return set == 0;
    const auto fits = [&](const Transition& row) {
        const Needs needs = needs_of(row, type, gsi);
        return row.from == from && row.to == to && (set & needs.required) == needs.required &&
               (set & ~(needs.required | needs.optional)) == 0;
    };
    for (const Transition& row : kTransitions) {
        if (fits(row)) return true;
    }
    return type != QpType::Rc && fits(kFromSqe.front());
}

} // namespace veriroce::engine
