// The verbs side of the engine as plain values: names, states, work requests, completions, events.
// Names are the verbs' (ibv_*), without prefix.
//
// Source: the InfiniBand verbs as rdma-core documents them; rules STA-01..12, "NAK / local event ->
// requester completion" in the catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"
#include "dissector/wire/work_request.hpp"

namespace veriroce::engine {

// Handles of the engine's objects. A destroyed object's handle is never given out again.
using PdId = wire::Identifier<struct PdTag, std::uint32_t>;
using CqId = wire::Identifier<struct CqTag, std::uint32_t>;
using MrId = wire::Identifier<struct MrTag, std::uint32_t>;
using MwId = wire::Identifier<struct MwTag, std::uint32_t>;
using QpId = wire::Identifier<struct QpTag, std::uint32_t>;
using SrqId = wire::Identifier<struct SrqTag, std::uint32_t>;

enum class QpType : std::uint8_t { Rc, Uc, Ud };
enum class QpState : std::uint8_t { Reset, Init, Rtr, Rts, Sqd, Sqe, Err };

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

using wire::name_of;
using wire::WrOpcode;

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

// What a verb answers when it refuses; the names are errno's, because the agent reports them.
enum class VerbError : std::uint8_t {
    InvalidArgument, // EINVAL
    NoMemory,        // ENOMEM: a queue is full, or a limit of the engine reached
    NotFound,        // ENOENT: no such object
    Busy,            // EBUSY: still in use by another object
    NotSupported,    // EOPNOTSUPP
};

// "RTS", "REM_ACCESS_ERR", "SEND", "COMM_EST", "EINVAL": the verbs' names, and back.
std::string_view name_of(QpType value);
std::string_view name_of(QpState value);
std::string_view name_of(WcStatus value);
std::string_view name_of(WcOpcode value);
std::string_view name_of(EventType value);
std::string_view name_of(VerbError value);
template <typename Enum>
std::optional<Enum> enum_by_name(std::string_view name); // for each enum above

// A piece of a registered region. `lkey` overrides the region's, however wrong.
struct Sge {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    wire::Lkey lkey;
};

struct SendFlags {
    bool signaled = true;
    bool solicited = false;
    bool fence = false;
    bool inline_data = false;
};

enum class WindowType : std::uint8_t { Type1, Type2 };

struct BindInfo {
    MrId mr;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    Access access;
};

// An address vector, of a connected QP or of a datagram: how packets travel.
struct AddressVector {
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint8_t traffic_class = 0; // DSCP << 2
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::optional<std::uint16_t> source_port; // unset: 0xC000 plus a hash of the QPN (ENC-02)
    std::optional<wire::VlanId> vlan;
};

// Whom a datagram goes to, as an address handle says it and the work request. A Q_Key whose high
// bit is set stands for the QP's own: such keys are controlled.
struct UdDestination {
    AddressVector path;
    wire::Qpn qpn;
    wire::Qkey qkey;
};

// A send work request. The engine copies the list of SGEs when it is posted.
struct SendRequest {
    std::uint64_t id = 0;
    WrOpcode opcode = WrOpcode::Send;
    std::span<const Sge> sges;
    std::uint64_t remote_address = 0;
    wire::Rkey rkey;
    std::uint32_t imm = 0; // as on the wire, most significant byte first
    wire::Rkey invalidate_rkey;
    std::uint64_t compare_or_add = 0;
    std::uint64_t swap = 0;
    std::uint32_t flush_length = 0;     // of the remote range; a FLUSH has no SGEs
    std::uint8_t flush_placement = 1;   // FETH: bit 0 global visibility, bit 1 persistence
    std::uint8_t flush_selectivity = 0; // FETH: 0 the range, 1 the whole region
    std::optional<MwId> mw;
    std::optional<BindInfo> bind;
    std::optional<UdDestination> ud;
    SendFlags flags;
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Sge> sges;
};

enum class Queue : std::uint8_t { Send, Receive };

struct Completion {
    std::uint64_t id = 0;
    QpId qp;
    Queue queue = Queue::Send;
    WcStatus status = WcStatus::Success;
    WcOpcode opcode = WcOpcode::Send; // meaningless unless Success, as in the verbs
    std::uint32_t byte_len = 0;
    std::optional<std::uint32_t> imm;
    std::optional<wire::Rkey> invalidated_rkey;
    std::optional<wire::Qpn> source_qp; // UD
    bool grh = false; // UD: the first 40 bytes, which byte_len counts, are the GRH
};

// An asynchronous event. `qp`, `cq` or `srq` by type.
struct Event {
    EventType type = EventType::CommEst;
    std::optional<QpId> qp;
    std::optional<CqId> cq;
    std::optional<SrqId> srq;
};

// The second path of a connected QP, which it goes over to when the first one fails.
struct AlternatePath {
    AddressVector address;
    wire::Pkey pkey = wire::kDefaultPkey;
    std::uint8_t timeout = 0; // 0..31, code of the local ACK timeout
};

// Where a connected QP stands between its paths (N-24). The host sets REARM, and MIGRATED to go
// over at once; ARMED comes from the peer's packets.
enum class MigState : std::uint8_t { Migrated, Rearm, Armed };

// ibv_qp_attr: what is set is changed, and nothing else.
struct QpAttributes {
    std::optional<QpState> state;
    std::optional<wire::Mtu> path_mtu;
    std::optional<wire::Qpn> dest_qp;
    std::optional<wire::Psn> rq_psn;
    std::optional<wire::Psn> sq_psn;
    std::optional<Access> access;
    std::optional<AddressVector> address;
    std::optional<wire::Pkey> pkey;
    std::optional<wire::Qkey> qkey;
    std::optional<std::uint8_t> timeout;       // 0..31, code of the local ACK timeout
    std::optional<std::uint8_t> retry_count;   // 0..7, 7 is seven (REQ-13)
    std::optional<std::uint8_t> rnr_retry;     // 0..7, 7 is for ever (RNR-09)
    std::optional<std::uint8_t> min_rnr_timer; // 0..31, timer code
    std::optional<std::uint8_t> max_rd_atomic;
    std::optional<std::uint8_t> max_dest_rd_atomic;
    std::optional<bool> sqd_async_notify;
    std::optional<bool> mig_req; // the bit that this QP's packets carry while MIGRATED (BTH-15)
    std::optional<AlternatePath> alternate;
    std::optional<MigState> path_mig_state;
};

struct QpCapacity {
    std::uint32_t max_send = 64;
    std::uint32_t max_recv = 64;
    std::uint32_t max_sge = 4;
    std::uint32_t max_inline = 64;
};

struct SrqDescription {
    PdId pd;
    std::uint32_t depth = 64; // receives that are posted or held by a message
    std::uint32_t max_sge = 4;
    std::uint32_t limit = 0; // of SRQ_LIMIT_REACHED; 0: none is armed
};

// What ibv_query_srq reports, and how many receives are posted.
struct SrqReport {
    std::uint32_t depth = 0;
    std::uint32_t max_sge = 0;
    std::uint32_t limit = 0;
    std::uint32_t posted = 0;
};

struct QpDescription {
    PdId pd;
    QpType type = QpType::Rc;
    CqId send_cq;
    CqId recv_cq;
    std::optional<SrqId> srq;
    QpCapacity capacity;
    bool signal_all = false;
    bool gsi = false; // QP1, which is UD; there is one
};

// What ibv_query_qp reports.
struct QpReport {
    QpState state = QpState::Reset;
    wire::Qpn qpn;
    QpAttributes attributes;
};

} // namespace veriroce::engine
