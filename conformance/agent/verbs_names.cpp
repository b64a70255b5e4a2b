#ifdef VERIROCE_HAVE_VERBS

#include "conformance/agent/verbs_names.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "conformance/dut/executor.hpp"

namespace veriroce::agent {

namespace {

template <typename Ours, typename Theirs, std::size_t N>
using Table = std::array<std::pair<Ours, Theirs>, N>;

constexpr Table<engine::QpType, ibv_qp_type, 3> kQpTypes{{
    {engine::QpType::Rc, IBV_QPT_RC},
    {engine::QpType::Uc, IBV_QPT_UC},
    {engine::QpType::Ud, IBV_QPT_UD},
}};
constexpr Table<engine::QpState, ibv_qp_state, 7> kQpStates{{
    {engine::QpState::Reset, IBV_QPS_RESET},
    {engine::QpState::Init, IBV_QPS_INIT},
    {engine::QpState::Rtr, IBV_QPS_RTR},
    {engine::QpState::Rts, IBV_QPS_RTS},
    {engine::QpState::Sqd, IBV_QPS_SQD},
    {engine::QpState::Sqe, IBV_QPS_SQE},
    {engine::QpState::Err, IBV_QPS_ERR},
}};
constexpr Table<wire::Mtu, ibv_mtu, 5> kMtus{{
    {wire::Mtu::B256, IBV_MTU_256},
    {wire::Mtu::B512, IBV_MTU_512},
    {wire::Mtu::B1024, IBV_MTU_1024},
    {wire::Mtu::B2048, IBV_MTU_2048},
    {wire::Mtu::B4096, IBV_MTU_4096},
}};
constexpr Table<engine::MigState, ibv_mig_state, 3> kMigStates{{
    {engine::MigState::Migrated, IBV_MIG_MIGRATED},
    {engine::MigState::Rearm, IBV_MIG_REARM},
    {engine::MigState::Armed, IBV_MIG_ARMED},
}};
constexpr Table<engine::WrOpcode, ibv_wr_opcode, 10> kWrOpcodes{{
    {engine::WrOpcode::Send, IBV_WR_SEND},
    {engine::WrOpcode::SendWithImm, IBV_WR_SEND_WITH_IMM},
    {engine::WrOpcode::SendWithInv, IBV_WR_SEND_WITH_INV},
    {engine::WrOpcode::RdmaWrite, IBV_WR_RDMA_WRITE},
    {engine::WrOpcode::RdmaWriteWithImm, IBV_WR_RDMA_WRITE_WITH_IMM},
    {engine::WrOpcode::RdmaRead, IBV_WR_RDMA_READ},
    {engine::WrOpcode::AtomicCmpAndSwp, IBV_WR_ATOMIC_CMP_AND_SWP},
    {engine::WrOpcode::AtomicFetchAndAdd, IBV_WR_ATOMIC_FETCH_AND_ADD},
    {engine::WrOpcode::LocalInv, IBV_WR_LOCAL_INV},
    {engine::WrOpcode::BindMw, IBV_WR_BIND_MW},
}};
constexpr Table<engine::WcOpcode, ibv_wc_opcode, 9> kWcOpcodes{{
    {engine::WcOpcode::Send, IBV_WC_SEND},
    {engine::WcOpcode::RdmaWrite, IBV_WC_RDMA_WRITE},
    {engine::WcOpcode::RdmaRead, IBV_WC_RDMA_READ},
    {engine::WcOpcode::CompSwap, IBV_WC_COMP_SWAP},
    {engine::WcOpcode::FetchAdd, IBV_WC_FETCH_ADD},
    {engine::WcOpcode::BindMw, IBV_WC_BIND_MW},
    {engine::WcOpcode::LocalInv, IBV_WC_LOCAL_INV},
    {engine::WcOpcode::Recv, IBV_WC_RECV},
    {engine::WcOpcode::RecvRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM},
}};
constexpr Table<engine::WcStatus, ibv_wc_status, 14> kWcStatuses{{
    {engine::WcStatus::Success, IBV_WC_SUCCESS},
    {engine::WcStatus::LocLenErr, IBV_WC_LOC_LEN_ERR},
    {engine::WcStatus::LocQpOpErr, IBV_WC_LOC_QP_OP_ERR},
    {engine::WcStatus::LocProtErr, IBV_WC_LOC_PROT_ERR},
    {engine::WcStatus::WrFlushErr, IBV_WC_WR_FLUSH_ERR},
    {engine::WcStatus::MwBindErr, IBV_WC_MW_BIND_ERR},
    {engine::WcStatus::BadRespErr, IBV_WC_BAD_RESP_ERR},
    {engine::WcStatus::LocAccessErr, IBV_WC_LOC_ACCESS_ERR},
    {engine::WcStatus::RemInvReqErr, IBV_WC_REM_INV_REQ_ERR},
    {engine::WcStatus::RemAccessErr, IBV_WC_REM_ACCESS_ERR},
    {engine::WcStatus::RemOpErr, IBV_WC_REM_OP_ERR},
    {engine::WcStatus::RetryExcErr, IBV_WC_RETRY_EXC_ERR},
    {engine::WcStatus::RnrRetryExcErr, IBV_WC_RNR_RETRY_EXC_ERR},
    {engine::WcStatus::GeneralErr, IBV_WC_GENERAL_ERR},
}};
constexpr Table<engine::EventType, ibv_event_type, 11> kEvents{{
    {engine::EventType::CommEst, IBV_EVENT_COMM_EST},
    {engine::EventType::SqDrained, IBV_EVENT_SQ_DRAINED},
    {engine::EventType::QpFatal, IBV_EVENT_QP_FATAL},
    {engine::EventType::QpReqErr, IBV_EVENT_QP_REQ_ERR},
    {engine::EventType::QpAccessErr, IBV_EVENT_QP_ACCESS_ERR},
    {engine::EventType::CqErr, IBV_EVENT_CQ_ERR},
    {engine::EventType::SrqErr, IBV_EVENT_SRQ_ERR},
    {engine::EventType::SrqLimitReached, IBV_EVENT_SRQ_LIMIT_REACHED},
    {engine::EventType::LastWqeReached, IBV_EVENT_QP_LAST_WQE_REACHED},
    {engine::EventType::PathMig, IBV_EVENT_PATH_MIG},
    {engine::EventType::PathMigErr, IBV_EVENT_PATH_MIG_ERR},
}};

struct AccessBit {
    bool engine::Access::* ours;
    unsigned theirs;
};
// Debian 12's header does not define these; the numbers are the kernel's, which rejects unknown
// ones.
constexpr unsigned kFlushGlobal = 1U << 8;
constexpr unsigned kFlushPersistent = 1U << 9;
constexpr std::array<AccessBit, 8> kAccessBits{{
    {&engine::Access::local_write, IBV_ACCESS_LOCAL_WRITE},
    {&engine::Access::remote_write, IBV_ACCESS_REMOTE_WRITE},
    {&engine::Access::remote_read, IBV_ACCESS_REMOTE_READ},
    {&engine::Access::remote_atomic, IBV_ACCESS_REMOTE_ATOMIC},
    {&engine::Access::mw_bind, IBV_ACCESS_MW_BIND},
    {&engine::Access::zero_based, IBV_ACCESS_ZERO_BASED},
    {&engine::Access::flush_global, kFlushGlobal},
    {&engine::Access::flush_persistent, kFlushPersistent},
}};

template <typename Ours, typename Theirs, std::size_t N>
std::optional<Theirs> theirs(const Table<Ours, Theirs, N>& table, Ours value) {
    for (const auto& [ours, found] : table) {
        if (ours == value) return found;
    }
    return std::nullopt;
}
template <typename Ours, typename Theirs, std::size_t N>
std::optional<Ours> ours(const Table<Ours, Theirs, N>& table, Theirs value) {
    for (const auto& [found, known] : table) {
        if (known == value) return found;
    }
    return std::nullopt;
}

} // namespace

// These four tables are complete: each of our enumerators has a row.
ibv_qp_type to_verbs(engine::QpType type) {
    return *theirs(kQpTypes, type);
}
ibv_qp_state to_verbs(engine::QpState state) {
    return *theirs(kQpStates, state);
}
ibv_mtu to_verbs(wire::Mtu mtu) {
    return *theirs(kMtus, mtu);
}
ibv_mig_state to_verbs(engine::MigState state) {
    return *theirs(kMigStates, state);
}

unsigned to_verbs(engine::Access access) {
    unsigned flags = 0;
    for (const auto& bit : kAccessBits) {
        if (access.*bit.ours) flags |= bit.theirs;
    }
    return flags;
}
unsigned to_verbs(dut::Flags flags) {
    unsigned bits = 0;
    if (flags.signaled) bits |= IBV_SEND_SIGNALED;
    if (flags.solicited) bits |= IBV_SEND_SOLICITED;
    if (flags.fence) bits |= IBV_SEND_FENCE;
    if (flags.inline_data) bits |= IBV_SEND_INLINE;
    return bits;
}
std::optional<ibv_wr_opcode> to_verbs(engine::WrOpcode opcode) {
    return theirs(kWrOpcodes, opcode);
}

std::optional<engine::QpState> state_of(ibv_qp_state state) {
    return ours(kQpStates, state);
}
std::optional<wire::Mtu> mtu_of(ibv_mtu mtu) {
    return ours(kMtus, mtu);
}
std::optional<engine::MigState> mig_state_of(ibv_mig_state state) {
    return ours(kMigStates, state);
}
std::optional<engine::EventType> event_of(ibv_event_type type) {
    return ours(kEvents, type);
}
std::optional<engine::WcOpcode> opcode_of(ibv_wc_opcode opcode) {
    return ours(kWcOpcodes, opcode);
}
engine::WcStatus status_of(ibv_wc_status status) {
    return ours(kWcStatuses, status).value_or(engine::WcStatus::GeneralErr);
}
engine::Access access_of(unsigned flags) {
    engine::Access access;
    for (const auto& bit : kAccessBits)
        access.*bit.ours = (flags & bit.theirs) != 0;
    return access;
}

namespace {

struct ErrnoRow {
    int number;
    std::string_view name;
};
// Those that drivers and the kernel's verbs return. strerrorname_np would need glibc 2.32.
constexpr std::array kErrnos{
    ErrnoRow{EPERM, "EPERM"},
    ErrnoRow{ENOENT, "ENOENT"},
    ErrnoRow{ESRCH, "ESRCH"},
    ErrnoRow{EINTR, "EINTR"},
    ErrnoRow{EIO, "EIO"},
    ErrnoRow{ENXIO, "ENXIO"},
    ErrnoRow{E2BIG, "E2BIG"},
    ErrnoRow{EBADF, "EBADF"},
    ErrnoRow{EAGAIN, "EAGAIN"},
    ErrnoRow{ENOMEM, "ENOMEM"},
    ErrnoRow{EACCES, "EACCES"},
    ErrnoRow{EFAULT, "EFAULT"},
    ErrnoRow{EBUSY, "EBUSY"},
    ErrnoRow{EEXIST, "EEXIST"},
    ErrnoRow{EXDEV, "EXDEV"},
    ErrnoRow{ENODEV, "ENODEV"},
    ErrnoRow{ENOTDIR, "ENOTDIR"},
    ErrnoRow{EINVAL, "EINVAL"},
    ErrnoRow{ENFILE, "ENFILE"},
    ErrnoRow{EMFILE, "EMFILE"},
    ErrnoRow{ENOTTY, "ENOTTY"},
    ErrnoRow{EFBIG, "EFBIG"},
    ErrnoRow{ENOSPC, "ENOSPC"},
    ErrnoRow{ESPIPE, "ESPIPE"},
    ErrnoRow{EROFS, "EROFS"},
    ErrnoRow{EPIPE, "EPIPE"},
    ErrnoRow{EDOM, "EDOM"},
    ErrnoRow{ERANGE, "ERANGE"},
    ErrnoRow{EDEADLK, "EDEADLK"},
    ErrnoRow{ENAMETOOLONG, "ENAMETOOLONG"},
    ErrnoRow{ENOSYS, "ENOSYS"},
    ErrnoRow{ENODATA, "ENODATA"},
    ErrnoRow{ETIME, "ETIME"},
    ErrnoRow{EPROTO, "EPROTO"},
    ErrnoRow{EBADMSG, "EBADMSG"},
    ErrnoRow{EOVERFLOW, "EOVERFLOW"},
    ErrnoRow{EMSGSIZE, "EMSGSIZE"},
    ErrnoRow{EPROTONOSUPPORT, "EPROTONOSUPPORT"},
    ErrnoRow{EOPNOTSUPP, "EOPNOTSUPP"},
    ErrnoRow{EAFNOSUPPORT, "EAFNOSUPPORT"},
    ErrnoRow{EADDRINUSE, "EADDRINUSE"},
    ErrnoRow{EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    ErrnoRow{ENETDOWN, "ENETDOWN"},
    ErrnoRow{ENETUNREACH, "ENETUNREACH"},
    ErrnoRow{ECONNABORTED, "ECONNABORTED"},
    ErrnoRow{ECONNRESET, "ECONNRESET"},
    ErrnoRow{ENOBUFS, "ENOBUFS"},
    ErrnoRow{EISCONN, "EISCONN"},
    ErrnoRow{ENOTCONN, "ENOTCONN"},
    ErrnoRow{ESHUTDOWN, "ESHUTDOWN"},
    ErrnoRow{ETIMEDOUT, "ETIMEDOUT"},
    ErrnoRow{ECONNREFUSED, "ECONNREFUSED"},
    ErrnoRow{EHOSTDOWN, "EHOSTDOWN"},
    ErrnoRow{EHOSTUNREACH, "EHOSTUNREACH"},
    ErrnoRow{EALREADY, "EALREADY"},
    ErrnoRow{EINPROGRESS, "EINPROGRESS"},
    ErrnoRow{ESTALE, "ESTALE"},
    ErrnoRow{EREMOTEIO, "EREMOTEIO"},
    ErrnoRow{EDQUOT, "EDQUOT"},
    ErrnoRow{ECANCELED, "ECANCELED"},
    ErrnoRow{ENOTRECOVERABLE, "ENOTRECOVERABLE"},
    ErrnoRow{EILSEQ, "EILSEQ"},
    ErrnoRow{EUSERS, "EUSERS"},
    ErrnoRow{ENOTSOCK, "ENOTSOCK"},
    ErrnoRow{ENOLINK, "ENOLINK"},
    ErrnoRow{ENOKEY, "ENOKEY"},
};

} // namespace

std::string errno_name(int error) {
    const auto row = std::ranges::find(kErrnos, error, &ErrnoRow::number);
    return row == kErrnos.end() ? std::to_string(error) : std::string(row->name);
}

dut::Failure refused_with(std::string_view verb, int error) {
    return dut::refused(verb, errno_name(error),
                        "the device refused " + std::string(verb) + ": " + std::strerror(error));
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
