// The verbs' vocabulary: types and states of QPs, work requests, completions, events, rights,
// counters. Every enumerator has one name, which scripts, the DUT contract, reports and messages
// use: the verbs' own without its prefix ("RTS" of IBV_QPS_RTS).
//
//   name_of(QpState::Rts)           ->  "RTS"
//   enum_by_name<QpState>("RTS")    ->  QpState::Rts; nothing for an unknown name
//   kNamesOf<QpState>               ->  all names, in the order of the enumerators
//
// Source: the InfiniBand verbs as rdma-core documents them (ibv_*).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dissector/wire/opcode.hpp"

namespace veriroce::wire {

// The names of an enumeration of the verbs, in the order of its enumerators.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kNamesOf{};

template <typename Enum>
concept VerbsEnum = std::is_enum_v<Enum> && !kNamesOf<Enum>.empty();

enum class QpType : std::uint8_t { Rc, Uc, Ud };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<QpType>{"RC", "UC", "UD"};
constexpr Service service_of(QpType type) {
    constexpr std::array services{Service::Rc, Service::Uc, Service::Ud};
    return services[static_cast<std::size_t>(type)];
}

enum class QpState : std::uint8_t { Reset, Init, Rtr, Rts, Sqd, Sqe, Err };
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<QpState>{"RESET", "INIT", "RTR", "RTS",
                                                                   "SQD",   "SQE",  "ERR"};

// The path that a connected QP uses (N-24). The host sets REARM, and MIGRATED to change the path at
// once; ARMED comes from the peer's packets.
enum class MigState : std::uint8_t { Migrated, Rearm, Armed };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<MigState>{"MIGRATED", "REARM", "ARMED"};

enum class Queue : std::uint8_t { Send, Receive };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Queue>{"send", "recv"};

enum class WrOpcode : std::uint8_t {
    Send,
    SendWithImm,
    SendWithInv,
    RdmaWrite,
    RdmaWriteWithImm,
    RdmaRead,
    AtomicCmpAndSwp,
    AtomicFetchAndAdd,
    LocalInv,
    BindMw,
    Flush,
    AtomicWrite,
};
template <>
inline constexpr std::array<std::string_view, 12> kNamesOf<WrOpcode>{
    "SEND",      "SEND_WITH_IMM",      "SEND_WITH_INV",        "RDMA_WRITE", "RDMA_WRITE_WITH_IMM",
    "RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV",  "BIND_MW",
    "FLUSH",     "ATOMIC_WRITE"};

enum class WcStatus : std::uint8_t {
    Success,
    LocLenErr,
    LocQpOpErr,
    LocProtErr,
    WrFlushErr,
    MwBindErr,
    BadRespErr,
    LocAccessErr,
    RemInvReqErr,
    RemAccessErr,
    RemOpErr,
    RetryExcErr,
    RnrRetryExcErr,
    GeneralErr,
};
template <>
inline constexpr std::array<std::string_view, 14> kNamesOf<WcStatus>{
    "SUCCESS",     "LOC_LEN_ERR",   "LOC_QP_OP_ERR",     "LOC_PROT_ERR",    "WR_FLUSH_ERR",
    "MW_BIND_ERR", "BAD_RESP_ERR",  "LOC_ACCESS_ERR",    "REM_INV_REQ_ERR", "REM_ACCESS_ERR",
    "REM_OP_ERR",  "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "GENERAL_ERR"};

enum class WcOpcode : std::uint8_t {
    Send,
    RdmaWrite,
    RdmaRead,
    CompSwap,
    FetchAdd,
    BindMw,
    LocalInv,
    Flush,
    AtomicWrite,
    Recv,
    RecvRdmaWithImm,
};
template <>
inline constexpr std::array<std::string_view, 11> kNamesOf<WcOpcode>{
    "SEND",      "RDMA_WRITE", "RDMA_READ",    "COMP_SWAP", "FETCH_ADD",         "BIND_MW",
    "LOCAL_INV", "FLUSH",      "ATOMIC_WRITE", "RECV",      "RECV_RDMA_WITH_IMM"};

enum class EventType : std::uint8_t {
    CommEst,
    SqDrained,
    QpFatal,
    QpReqErr,
    QpAccessErr,
    CqErr,
    SrqErr,
    SrqLimitReached,
    LastWqeReached,
    PathMig,
    PathMigErr,
};
template <>
inline constexpr std::array<std::string_view, 11> kNamesOf<EventType>{
    "COMM_EST", "SQ_DRAINED",        "QP_FATAL",         "QP_REQ_ERR", "QP_ACCESS_ERR", "CQ_ERR",
    "SRQ_ERR",  "SRQ_LIMIT_REACHED", "LAST_WQE_REACHED", "PATH_MIG",   "PATH_MIG_ERR"};

// Why a verb fails; the names are errno's.
enum class VerbError : std::uint8_t {
    InvalidArgument,
    NoMemory, // a queue is full, or the device reached one of its limits
    NotFound,
    Busy, // another object still uses this one
    NotSupported,
};
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<VerbError>{"EINVAL", "ENOMEM", "ENOENT",
                                                                     "EBUSY", "EOPNOTSUPP"};

// How a test fills memory (conformance/dut/pattern.hpp).
enum class FillPattern : std::uint8_t { Zero, Ones, Offsets, Random };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<FillPattern>{"zero", "ones", "offsets",
                                                                       "random"};

// Counters of a device by the names that scripts and profiles use; a device may call them
// differently, and have others.
enum class DeviceCounter : std::uint8_t {
    IcrcError,
    OutOfSequence,
    DuplicateRequest,
    RnrNakSent,
    LocalAckTimeout,
    BadPkey,
    BadQkey,
    CnpSent,
    CnpHandled,
    EcnMarked,
};
template <>
inline constexpr std::array<std::string_view, 10> kNamesOf<DeviceCounter>{
    "icrc_error", "out_of_sequence", "duplicate_request", "rnr_nak_sent", "local_ack_timeout",
    "bad_pkey",   "bad_qkey",        "cnp_sent",          "cnp_handled",  "ecn_marked"};

template <VerbsEnum Enum>
constexpr std::string_view name_of(Enum value) {
    return kNamesOf<Enum>[static_cast<std::size_t>(value)];
}

template <VerbsEnum Enum>
constexpr std::optional<Enum> enum_by_name(std::string_view name) {
    for (std::size_t i = 0; i < kNamesOf<Enum>.size(); ++i) {
        if (kNamesOf<Enum>[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

// Access rights of a region, a window or a QP, as a set.
struct Access {
    bool local_write = false;
    bool remote_write = false;
    bool remote_read = false;
    bool remote_atomic = false;
    bool mw_bind = false;
    bool zero_based = false;
    bool flush_global = false;     // FLUSH, placement type global visibility
    bool flush_persistent = false; // FLUSH, placement type persistence

    friend constexpr bool operator==(Access, Access) = default;
};

// `name` is that of the DUT contract, `word` that of scripts.
struct AccessRight {
    std::string_view name;
    std::string_view word;
    bool Access::* member;
};
inline constexpr std::array<AccessRight, 8> kAccessRights{{
    {"LOCAL_WRITE", "local_write", &Access::local_write},
    {"REMOTE_WRITE", "remote_write", &Access::remote_write},
    {"REMOTE_READ", "remote_read", &Access::remote_read},
    {"REMOTE_ATOMIC", "remote_atomic", &Access::remote_atomic},
    {"MW_BIND", "mw_bind", &Access::mw_bind},
    {"ZERO_BASED", "zero_based", &Access::zero_based},
    {"FLUSH_GLOBAL", "flush_global", &Access::flush_global},
    {"FLUSH_PERSISTENT", "flush_persistent", &Access::flush_persistent},
}};

// The rights that at least one of the two sets has.
constexpr Access operator|(Access a, Access b) {
    for (const AccessRight& right : kAccessRights)
        a.*right.member = a.*right.member || b.*right.member;
    return a;
}

} // namespace veriroce::wire
