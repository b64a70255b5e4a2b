// The verbs side of the engine as plain values: work requests, completions, events, attributes.
// States, opcodes and statuses are those of wire/verbs.hpp.
//
// Source: the InfiniBand verbs as rdma-core documents them; rules STA-01..12, "NAK / local event ->
// requester completion" in the catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"
#include "dissector/wire/verbs.hpp"

namespace veriroce::engine {

// Handles of the engine's objects. A destroyed object's handle is never given out again.
using PdId = wire::Identifier<struct PdTag, std::uint32_t>;
using CqId = wire::Identifier<struct CqTag, std::uint32_t>;
using MrId = wire::Identifier<struct MrTag, std::uint32_t>;
using MwId = wire::Identifier<struct MwTag, std::uint32_t>;
using QpId = wire::Identifier<struct QpTag, std::uint32_t>;
using SrqId = wire::Identifier<struct SrqTag, std::uint32_t>;

using wire::Access;
using wire::EventType;
using wire::MigState;
using wire::QpState;
using wire::QpType;
using wire::Queue;
using wire::VerbError;
using wire::WcOpcode;
using wire::WcStatus;
using wire::WrOpcode;

using wire::enum_by_name;
using wire::name_of;

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

// The destination of a datagram, from its address handle and work request. A Q_Key whose high bit
// is set (a controlled key) means the QP's own.
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
    std::optional<wire::VlanId> vlan;   // UD: in which it came
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

// ibv_qp_attr: only the set members are changed.
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
    std::optional<bool> flow_control; // end-to-end: this QP grants and obeys credits (REQ-29)
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
