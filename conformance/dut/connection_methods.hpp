// The contract's methods on connections, capability `cm`: a program on the device's host listens,
// and its connection management talks to the peer's at QP 1. The QPs are the caller's, who changes
// their states as the attributes of the connection say. One struct per method and per result;
// fields have the names of the JSON fields. See contract.hpp.
//
// Source: conformance/agent/README.md, the contract's reference; librdmacm for names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/dut/identifiers.hpp"
#include "conformance/dut/qp_methods.hpp"
#include "dissector/wire/connection_event.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::dut {

// The service ID of port 0 in RDMA's TCP port space; add the port's number for another port.
inline constexpr std::uint64_t kTcpServices = 0x0000'0000'0106'0000;

// The states for which a connection has attributes.
constexpr bool is_step_of_connection(engine::QpState state) {
    return state == engine::QpState::Init || state == engine::QpState::Rtr ||
           state == engine::QpState::Rts;
}

struct CmListening {
    std::uint64_t service_id = 0; // for which a REQ asks
    friend bool operator==(const CmListening&, const CmListening&) = default;
};
// One program for each caller of the contract.
struct CmListen {
    static constexpr std::string_view method = "cm_listen";
    using Gives = CmListening;
    std::optional<std::uint16_t> port; // of the TCP port space; nothing, or 0: a free one
    friend bool operator==(const CmListen&, const CmListen&) = default;
};

struct CmEvent {
    wire::ConnectionEvent type = wire::ConnectionEvent::ConnectRequest;
    ConnectionHandle connection;
    wire::Instant at;
    friend bool operator==(const CmEvent&, const CmEvent&) = default;
};
struct CmEventList {
    std::vector<CmEvent> events;
    friend bool operator==(const CmEventList&, const CmEventList&) = default;
};
struct CmEvents {
    static constexpr std::string_view method = "cm_events";
    using Gives = CmEventList;
    std::uint32_t wait_ms = 0;
    friend bool operator==(const CmEvents&, const CmEvents&) = default;
};

// The attributes for qp_modify of the connection's QP to INIT, RTR or RTS.
struct CmQpAttributes {
    static constexpr std::string_view method = "cm_qp_attributes";
    using Gives = QpQueried;
    ConnectionHandle connection;
    engine::QpState state = engine::QpState::Init;
    friend bool operator==(const CmQpAttributes&, const CmQpAttributes&) = default;
};
// The REP, which names a QP that is in RTR or RTS.
struct CmAccept {
    static constexpr std::string_view method = "cm_accept";
    using Gives = Done;
    ConnectionHandle connection;
    QpHandle qp;
    std::uint8_t responder_resources = 0; // READs and atomics that it answers at a time
    std::uint8_t initiator_depth = 0;     // that it has open at a time
    friend bool operator==(const CmAccept&, const CmAccept&) = default;
};
struct CmReject {
    static constexpr std::string_view method = "cm_reject";
    using Gives = Done;
    ConnectionHandle connection;
    friend bool operator==(const CmReject&, const CmReject&) = default;
};
// The DREQ; after DISCONNECTED, the DREP for which the peer waits.
struct CmDisconnect {
    static constexpr std::string_view method = "cm_disconnect";
    using Gives = Done;
    ConnectionHandle connection;
    friend bool operator==(const CmDisconnect&, const CmDisconnect&) = default;
};

} // namespace veriroce::dut
