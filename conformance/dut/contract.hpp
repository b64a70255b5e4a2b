// The DUT contract as plain values: what veriroce asks a device under test to do, and what the
// device answers. One struct a method; its fields carry the names that they have in JSON. How the
// values look on the wire stands in codec.cpp, what they mean for users in
// conformance/agent/README.md.
//
// A request that the device refuses is a Failure, never a half-filled result. Handles are numbers
// below 2^53 that the device hands out; sizes and offsets are bytes.
//
// Source: conformance/agent/README.md, the contract's reference; ibv_* of rdma-core for names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conformance/dut/pattern.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/types.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::dut {

inline constexpr std::uint32_t contract_version = 1;
inline constexpr std::uint32_t max_wait_ms = 60'000;

using PdHandle = wire::Identifier<struct PdHandleTag, std::uint64_t>;
using CqHandle = wire::Identifier<struct CqHandleTag, std::uint64_t>;
using MrHandle = wire::Identifier<struct MrHandleTag, std::uint64_t>;
using QpHandle = wire::Identifier<struct QpHandleTag, std::uint64_t>;
using SrqHandle = wire::Identifier<struct SrqHandleTag, std::uint64_t>;
using MwHandle = wire::Identifier<struct MwHandleTag, std::uint64_t>;

// Names a request that was submitted; over JSON-RPC it is the request's id.
using CallId = wire::Identifier<struct CallTag, std::uint64_t>;

// The answer of every method that has nothing to say but that it was done: {}.
struct Done {
    friend bool operator==(const Done&, const Done&) = default;
};

// --- hello ------------------------------------------------------------------------------------

struct Gid {
    std::uint32_t index = 0;
    std::string type; // "rocev1" or "rocev2"
    wire::IpAddress address;

    friend bool operator==(const Gid&, const Gid&) = default;
};

struct Port {
    std::uint8_t port = 1;
    wire::MacAddress mac;
    wire::Mtu mtu_active = wire::Mtu::B1024;
    wire::Mtu mtu_max = wire::Mtu::B4096;
    std::string link_layer; // "Ethernet"
    std::vector<wire::Pkey> pkeys;
    std::vector<Gid> gids;

    friend bool operator==(const Port&, const Port&) = default;
};

// What the device can do at most.
struct DeviceMax {
    std::uint32_t qp = 0;
    std::uint32_t qp_wr = 0;
    std::uint32_t sge = 0;
    std::uint32_t cqe = 0;
    std::uint64_t mr_bytes = 0;
    std::uint32_t rd_atomic = 0;
    std::uint32_t dest_rd_atomic = 0;
    std::uint64_t msg_bytes = 0;
    std::uint32_t inline_bytes = 0; // "inline" in JSON

    friend bool operator==(const DeviceMax&, const DeviceMax&) = default;
};

// What the agent lets its callers have, whatever the device could do.
struct AgentLimits {
    std::uint32_t connections = 8;
    std::uint64_t registered_bytes = std::uint64_t{1} << 30;
    std::uint32_t qps = 4096;
    std::uint64_t queued_bytes = std::uint64_t{64} << 20;
    std::uint64_t line_bytes = std::uint64_t{16} << 20;

    friend bool operator==(const AgentLimits&, const AgentLimits&) = default;
};

struct Welcome {
    std::uint32_t version = contract_version;
    std::string name;
    std::string backend; // "verbs", "engine"
    std::string device;
    std::string firmware;
    std::vector<std::string> capabilities;
    std::vector<std::string> traits;
    std::vector<Port> ports;
    DeviceMax max;
    std::uint8_t local_ca_ack_delay = 0; // 4.096 us * 2^n
    std::string atomic;                  // "NONE", "HCA", "GLOB"
    AgentLimits limits;

    friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Hello {
    static constexpr std::string_view method = "hello";
    using Gives = Welcome;
    std::uint32_t version = contract_version;
    std::optional<std::string> token;

    friend bool operator==(const Hello&, const Hello&) = default;
};

// --- protection domains, completion queues ----------------------------------------------------

struct PdCreated {
    PdHandle pd;
    friend bool operator==(const PdCreated&, const PdCreated&) = default;
};
struct PdCreate {
    static constexpr std::string_view method = "pd_create";
    using Gives = PdCreated;
    friend bool operator==(const PdCreate&, const PdCreate&) = default;
};
struct PdDestroy {
    static constexpr std::string_view method = "pd_destroy";
    using Gives = Done;
    PdHandle pd;
    friend bool operator==(const PdDestroy&, const PdDestroy&) = default;
};

struct CqCreated {
    CqHandle cq;
    friend bool operator==(const CqCreated&, const CqCreated&) = default;
};
struct CqCreate {
    static constexpr std::string_view method = "cq_create";
    using Gives = CqCreated;
    std::uint32_t depth = 0;
    friend bool operator==(const CqCreate&, const CqCreate&) = default;
};
struct CqDestroy {
    static constexpr std::string_view method = "cq_destroy";
    using Gives = Done;
    CqHandle cq;
    friend bool operator==(const CqDestroy&, const CqDestroy&) = default;
};

// --- memory regions: page aligned, an unregistered guard page before and after ----------------

struct Fill {
    Pattern pattern = Pattern::Zero;
    std::optional<std::uint64_t> key;
    friend bool operator==(const Fill&, const Fill&) = default;
};

struct MrRegistered {
    MrHandle mr;
    std::uint64_t address = 0;
    wire::Lkey lkey;
    wire::Rkey rkey;
    friend bool operator==(const MrRegistered&, const MrRegistered&) = default;
};
struct MrRegister {
    static constexpr std::string_view method = "mr_register";
    using Gives = MrRegistered;
    PdHandle pd;
    std::uint64_t length = 0;
    engine::Access access;
    std::optional<Fill> fill;
    friend bool operator==(const MrRegister&, const MrRegister&) = default;
};

struct MrData {
    std::vector<std::byte> data;
    friend bool operator==(const MrData&, const MrData&) = default;
};
struct MrRead {
    static constexpr std::string_view method = "mr_read";
    using Gives = MrData;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const MrRead&, const MrRead&) = default;
};

struct MrWrite {
    static constexpr std::string_view method = "mr_write";
    using Gives = Done;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::vector<std::byte> data;
    friend bool operator==(const MrWrite&, const MrWrite&) = default;
};

struct MrFill {
    static constexpr std::string_view method = "mr_fill";
    using Gives = Done;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Pattern pattern = Pattern::Zero;
    std::optional<std::uint64_t> key;
    friend bool operator==(const MrFill&, const MrFill&) = default;
};

struct MrDigested {
    std::uint32_t crc32c = 0;
    bool guards_intact = false; // both guard pages still hold what they were filled with
    friend bool operator==(const MrDigested&, const MrDigested&) = default;
};
struct MrDigest {
    static constexpr std::string_view method = "mr_digest";
    using Gives = MrDigested;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const MrDigest&, const MrDigest&) = default;
};

struct MrDeregister {
    static constexpr std::string_view method = "mr_deregister";
    using Gives = Done;
    MrHandle mr;
    friend bool operator==(const MrDeregister&, const MrDeregister&) = default;
};

// --- queue pairs ------------------------------------------------------------------------------

struct QpCreated {
    QpHandle qp;
    wire::Qpn qpn;
    friend bool operator==(const QpCreated&, const QpCreated&) = default;
};
struct QpCreate {
    static constexpr std::string_view method = "qp_create";
    using Gives = QpCreated;
    PdHandle pd;
    engine::QpType type = engine::QpType::Rc;
    CqHandle send_cq;
    CqHandle recv_cq;
    std::optional<SrqHandle> srq;
    std::uint32_t max_send = 64;
    std::uint32_t max_recv = 64;
    std::optional<std::uint32_t> max_sge;
    std::optional<std::uint32_t> max_inline;
    std::optional<bool> signal_all;
    friend bool operator==(const QpCreate&, const QpCreate&) = default;
};
struct QpDestroy {
    static constexpr std::string_view method = "qp_destroy";
    using Gives = Done;
    QpHandle qp;
    friend bool operator==(const QpDestroy&, const QpDestroy&) = default;
};

struct AddressVector {
    std::uint32_t gid_index = 0; // ours, of `ports[].gids`
    wire::IpAddress address;     // the peer's
    std::optional<std::uint16_t> dlid;
    std::optional<std::uint8_t> hop_limit;
    std::optional<std::uint8_t> traffic_class; // DSCP << 2
    std::optional<std::uint32_t> flow_label;
    std::optional<std::uint16_t> udp_sport; // what a flow label cannot say is refused: EOPNOTSUPP
    friend bool operator==(const AddressVector&, const AddressVector&) = default;
};

enum class MigState : std::uint8_t { Migrated, Rearm, Armed };

// ibv_qp_attr: what is set is changed (or was reported), and nothing else.
struct QpAttributes {
    std::optional<engine::QpState> state;
    std::optional<engine::QpState> cur_state;
    std::optional<bool> en_sqd_async_notify;
    std::optional<engine::Access> access; // "qp_access_flags" in JSON
    std::optional<std::uint16_t> pkey_index;
    std::optional<std::uint8_t> port_num;
    std::optional<wire::Qkey> qkey;
    std::optional<AddressVector> address_vector; // "ah_attr" in JSON
    std::optional<wire::Mtu> path_mtu;
    std::optional<std::uint8_t> timeout;
    std::optional<std::uint8_t> retry_cnt;
    std::optional<std::uint8_t> rnr_retry;
    std::optional<wire::Psn> rq_psn;
    std::optional<std::uint8_t> max_rd_atomic;
    std::optional<AddressVector> alt_address_vector; // "alt_ah_attr" in JSON
    std::optional<std::uint16_t> alt_pkey_index;
    std::optional<std::uint8_t> alt_port_num;
    std::optional<std::uint8_t> alt_timeout;
    std::optional<std::uint8_t> min_rnr_timer;
    std::optional<wire::Psn> sq_psn;
    std::optional<std::uint8_t> max_dest_rd_atomic;
    std::optional<MigState> path_mig_state;
    std::optional<wire::Qpn> dest_qp_num;
    friend bool operator==(const QpAttributes&, const QpAttributes&) = default;
};

struct QpModify {
    static constexpr std::string_view method = "qp_modify";
    using Gives = Done;
    QpHandle qp;
    QpAttributes attributes; // beside `qp` in JSON, not in an object of their own
    friend bool operator==(const QpModify&, const QpModify&) = default;
};

struct QpQueried {
    QpAttributes attributes;
    friend bool operator==(const QpQueried&, const QpQueried&) = default;
};
struct QpQuery {
    static constexpr std::string_view method = "qp_query";
    using Gives = QpQueried;
    QpHandle qp;
    friend bool operator==(const QpQuery&, const QpQuery&) = default;
};

// --- work requests and completions ------------------------------------------------------------

struct Sge {
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::optional<wire::Lkey> lkey; // overrides the region's, however wrong
    friend bool operator==(const Sge&, const Sge&) = default;
};

struct Bind {
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    engine::Access access;
    friend bool operator==(const Bind&, const Bind&) = default;
};

struct UdDestination {
    wire::IpAddress address;
    std::uint32_t gid_index = 0;
    wire::Qpn qpn;
    wire::Qkey qkey;
    friend bool operator==(const UdDestination&, const UdDestination&) = default;
};

// SIGNALED, SOLICITED, FENCE, INLINE; none is set unless it is named.
struct Flags {
    bool signaled = false;
    bool solicited = false;
    bool fence = false;
    bool inline_data = false;
    friend bool operator==(const Flags&, const Flags&) = default;
};

struct SendRequest {
    std::uint64_t id = 0;
    engine::WrOpcode opcode = engine::WrOpcode::Send;
    std::vector<Sge> sge;
    std::optional<std::uint64_t> remote_address;
    std::optional<wire::Rkey> rkey;
    std::optional<std::uint32_t> imm; // as on the wire, most significant byte first
    std::optional<wire::Rkey> invalidate_rkey;
    std::optional<std::uint64_t> compare;
    std::optional<std::uint64_t> swap;
    std::optional<std::uint64_t> add;
    std::optional<MwHandle> mw;
    std::optional<Bind> bind;
    std::optional<UdDestination> ud;
    Flags flags;
    friend bool operator==(const SendRequest&, const SendRequest&) = default;
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::vector<Sge> sge;
    friend bool operator==(const ReceiveRequest&, const ReceiveRequest&) = default;
};

struct Posted {
    std::uint32_t posted = 0;
    friend bool operator==(const Posted&, const Posted&) = default;
};
// One chain, one doorbell. If the device refuses a request of it, the answer is a Failure whose
// `posted` says how many before it were taken.
struct PostSend {
    static constexpr std::string_view method = "post_send";
    using Gives = Posted;
    QpHandle qp;
    std::vector<SendRequest> requests;
    friend bool operator==(const PostSend&, const PostSend&) = default;
};
struct PostRecv {
    static constexpr std::string_view method = "post_recv";
    using Gives = Posted;
    QpHandle qp;
    std::vector<ReceiveRequest> requests;
    friend bool operator==(const PostRecv&, const PostRecv&) = default;
};

struct Completion {
    std::uint64_t id = 0;
    QpHandle qp;
    engine::Queue queue = engine::Queue::Send;
    engine::WcStatus status = engine::WcStatus::Success;
    engine::WcOpcode opcode = engine::WcOpcode::Send; // means nothing unless SUCCESS
    std::uint32_t byte_len = 0;
    std::optional<std::uint32_t> imm;
    std::optional<wire::Rkey> invalidated_rkey;
    std::optional<wire::Qpn> src_qpn;
    std::optional<std::uint32_t> vendor_err;
    wire::Instant at; // the device's clock: only differences mean something
    friend bool operator==(const Completion&, const Completion&) = default;
};

struct Polled {
    std::vector<Completion> completions;
    bool overrun = false; // the queue lost completions
    friend bool operator==(const Polled&, const Polled&) = default;
};
// Answered when there is a completion or `wait_ms` have passed, whichever is first.
struct Poll {
    static constexpr std::string_view method = "poll";
    using Gives = Polled;
    CqHandle cq;
    std::uint32_t max = 64;
    std::uint32_t wait_ms = 0;
    friend bool operator==(const Poll&, const Poll&) = default;
};

// --- the device and the connection ------------------------------------------------------------

struct CounterValues {
    std::map<std::string, std::uint64_t> values; // the object itself in JSON
    friend bool operator==(const CounterValues&, const CounterValues&) = default;
};
struct Counters {
    static constexpr std::string_view method = "counters";
    using Gives = CounterValues;
    friend bool operator==(const Counters&, const Counters&) = default;
};

// Ends the wait of another call: that call is answered with what is there by now.
struct Cancel {
    static constexpr std::string_view method = "cancel";
    using Gives = Done;
    CallId id;
    friend bool operator==(const Cancel&, const Cancel&) = default;
};

// Everything that this connection made is destroyed.
struct Reset {
    static constexpr std::string_view method = "reset";
    using Gives = Done;
    friend bool operator==(const Reset&, const Reset&) = default;
};

struct Pong {
    wire::Instant at;
    friend bool operator==(const Pong&, const Pong&) = default;
};
struct Ping {
    static constexpr std::string_view method = "ping";
    using Gives = Pong;
    friend bool operator==(const Ping&, const Ping&) = default;
};

// --- capability `events` ----------------------------------------------------------------------

struct Event {
    engine::EventType type = engine::EventType::CommEst;
    std::optional<QpHandle> qp; // one of the three, by type
    std::optional<CqHandle> cq;
    std::optional<SrqHandle> srq;
    wire::Instant at;
    friend bool operator==(const Event&, const Event&) = default;
};
struct EventList {
    std::vector<Event> events;
    friend bool operator==(const EventList&, const EventList&) = default;
};
struct Events {
    static constexpr std::string_view method = "events";
    using Gives = EventList;
    std::uint32_t wait_ms = 0;
    friend bool operator==(const Events&, const Events&) = default;
};

// --- capability `notify` ----------------------------------------------------------------------

struct CqArm {
    static constexpr std::string_view method = "cq_arm";
    using Gives = Done;
    CqHandle cq;
    bool solicited = false;
    friend bool operator==(const CqArm&, const CqArm&) = default;
};
struct Notified {
    bool notified = false;
    wire::Instant at;
    friend bool operator==(const Notified&, const Notified&) = default;
};
struct CqWait {
    static constexpr std::string_view method = "cq_wait";
    using Gives = Notified;
    CqHandle cq;
    std::uint32_t wait_ms = 0;
    friend bool operator==(const CqWait&, const CqWait&) = default;
};

// --- capability `srq` -------------------------------------------------------------------------

struct SrqCreated {
    SrqHandle srq;
    friend bool operator==(const SrqCreated&, const SrqCreated&) = default;
};
struct SrqCreate {
    static constexpr std::string_view method = "srq_create";
    using Gives = SrqCreated;
    PdHandle pd;
    std::uint32_t depth = 0;
    std::optional<std::uint32_t> limit;
    friend bool operator==(const SrqCreate&, const SrqCreate&) = default;
};
struct SrqModify {
    static constexpr std::string_view method = "srq_modify";
    using Gives = Done;
    SrqHandle srq;
    std::uint32_t limit = 0;
    friend bool operator==(const SrqModify&, const SrqModify&) = default;
};
struct SrqPost {
    static constexpr std::string_view method = "srq_post";
    using Gives = Posted;
    SrqHandle srq;
    std::vector<ReceiveRequest> requests;
    friend bool operator==(const SrqPost&, const SrqPost&) = default;
};
struct SrqDestroy {
    static constexpr std::string_view method = "srq_destroy";
    using Gives = Done;
    SrqHandle srq;
    friend bool operator==(const SrqDestroy&, const SrqDestroy&) = default;
};

// --- capability `mw` --------------------------------------------------------------------------

struct MwAllocated {
    MwHandle mw;
    wire::Rkey rkey;
    friend bool operator==(const MwAllocated&, const MwAllocated&) = default;
};
struct MwAlloc {
    static constexpr std::string_view method = "mw_alloc";
    using Gives = MwAllocated;
    PdHandle pd;
    std::uint8_t type = 1; // 1 or 2
    friend bool operator==(const MwAlloc&, const MwAlloc&) = default;
};
struct MwBound {
    wire::Rkey rkey;
    friend bool operator==(const MwBound&, const MwBound&) = default;
};
struct MwBind {
    static constexpr std::string_view method = "mw_bind";
    using Gives = MwBound;
    QpHandle qp;
    MwHandle mw;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    engine::Access access;
    std::uint64_t id = 0;
    friend bool operator==(const MwBind&, const MwBind&) = default;
};
struct MwDealloc {
    static constexpr std::string_view method = "mw_dealloc";
    using Gives = Done;
    MwHandle mw;
    friend bool operator==(const MwDealloc&, const MwDealloc&) = default;
};

// --- all of them ------------------------------------------------------------------------------

using Request =
    std::variant<Hello, PdCreate, PdDestroy, CqCreate, CqDestroy, MrRegister, MrRead, MrWrite,
                 MrFill, MrDigest, MrDeregister, QpCreate, QpDestroy, QpModify, QpQuery, PostSend,
                 PostRecv, Poll, Counters, Cancel, Reset, Ping, Events, CqArm, CqWait, SrqCreate,
                 SrqModify, SrqPost, SrqDestroy, MwAlloc, MwBind, MwDealloc>;

using Result = std::variant<Done, Welcome, PdCreated, CqCreated, MrRegistered, MrData, MrDigested,
                            QpCreated, QpQueried, Posted, Polled, CounterValues, Pong, EventList,
                            Notified, SrqCreated, MwAllocated, MwBound>;

// Codes of JSON-RPC 2.0, and the contract's own.
enum class FailureCode : std::int32_t {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601, // also: a method of a group that the device has not
    InvalidParams = -32602,
    Refused = -32000,   // the device refused the verb: `verb` and `errno_name` say which and why
    Lost = -32001,      // never on the wire: the agent is not there any more
    BadAnswer = -32002, // never on the wire: the agent's answer is not what its method gives
};

// `code` is a number because an agent may answer with one that we do not know.
struct Failure {
    std::int32_t code = 0;
    std::string message;                 // a sentence
    std::string verb;                    // of a Refused: "qp_modify"
    std::string errno_name;              // of a Refused: "EINVAL"
    std::optional<std::uint32_t> posted; // of a Refused post: how many requests were taken

    [[nodiscard]] bool refused() const {
        return code == static_cast<std::int32_t>(FailureCode::Refused);
    }
    friend bool operator==(const Failure&, const Failure&) = default;
};

using Answer = std::expected<Result, Failure>;

// "pd_create" of a PdCreate.
inline std::string_view method_of(const Request& request) {
    return std::visit([](const auto& r) { return std::remove_cvref_t<decltype(r)>::method; },
                      request);
}

} // namespace veriroce::dut
