// The contract's methods on queue pairs: creation and attributes, work requests, completions. One
// struct per method and one per result; fields have the names of the JSON fields. See contract.hpp.
//
// Source: conformance/agent/README.md, the contract's reference; ibv_* of rdma-core for names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/dut/identifiers.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/types.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::dut {

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
    std::uint32_t gid_index = 0; // an index of the device's `ports[].gids`
    wire::IpAddress address;     // the peer's
    std::optional<std::uint16_t> dlid;
    std::optional<std::uint8_t> hop_limit;
    std::optional<std::uint8_t> traffic_class; // DSCP << 2
    std::optional<std::uint32_t> flow_label;
    std::optional<std::uint16_t> udp_sport; // EOPNOTSUPP if the flow label cannot express it
    friend bool operator==(const AddressVector&, const AddressVector&) = default;
};

// ibv_qp_attr: only the set members are changed (or were reported).
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
    std::optional<engine::MigState> path_mig_state;
    std::optional<wire::Qpn> dest_qp_num;
    std::optional<bool> flow_control; // end-to-end (REQ-29); ibv_qp_attr has no such member
    friend bool operator==(const QpAttributes&, const QpAttributes&) = default;
};

struct QpModify {
    static constexpr std::string_view method = "qp_modify";
    using Gives = Done;
    QpHandle qp;
    QpAttributes attributes; // in JSON beside `qp`, not in an object of their own
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
    std::optional<wire::Lkey> lkey; // replaces the region's, even by a wrong one
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
    // As in an address vector; only for a DUT with the capability `ud_path`.
    std::optional<std::uint8_t> hop_limit;
    std::optional<std::uint8_t> traffic_class; // DSCP << 2
    std::optional<std::uint32_t> flow_label;
    friend bool operator==(const UdDestination&, const UdDestination&) = default;
};

// SIGNALED, SOLICITED, FENCE, INLINE; a flag that is not named is not set.
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
    std::optional<std::uint32_t> flush_length;     // default: the total length of the SGEs
    std::optional<std::uint8_t> flush_placement;   // FETH; default: 1, global visibility
    std::optional<std::uint8_t> flush_selectivity; // FETH; default: 0, the range
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
// One chain with one doorbell. If the device refuses a request of the chain, the answer is a
// Failure whose `posted` is the number of requests accepted before it.
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
    engine::WcOpcode opcode = engine::WcOpcode::Send; // only meaningful with SUCCESS
    std::uint32_t byte_len = 0;
    std::optional<std::uint32_t> imm;
    std::optional<wire::Rkey> invalidated_rkey;
    std::optional<wire::Qpn> src_qpn;
    std::optional<std::uint32_t> vendor_err;
    wire::Instant at; // the device's clock: only differences are meaningful
    friend bool operator==(const Completion&, const Completion&) = default;
};

struct Polled {
    std::vector<Completion> completions;
    bool overrun = false; // the queue has lost completions
    friend bool operator==(const Polled&, const Polled&) = default;
};
// Answered when there is a completion or `wait_ms` have passed, whichever comes first.
struct Poll {
    static constexpr std::string_view method = "poll";
    using Gives = Polled;
    CqHandle cq;
    std::uint32_t max = 64;
    std::uint32_t wait_ms = 0;
    friend bool operator==(const Poll&, const Poll&) = default;
};

} // namespace veriroce::dut
