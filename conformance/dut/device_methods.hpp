// The contract's methods on the device and the connection: hello, counters, cancel, reset, ping,
// and the groups `events`, `notify` and `congestion`. One struct per method and one per result;
// fields have the names of the JSON fields. See contract.hpp.
//
// Source: conformance/agent/README.md, the contract's reference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/dut/identifiers.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::dut {

// --- hello ------------------------------------------------------------------------------------

struct Gid {
    std::uint32_t index = 0;
    std::string type; // "rocev1" or "rocev2"
    wire::IpAddress address;
    std::optional<std::uint16_t> vlan; // the ID; nothing without a VLAN

    friend bool operator==(const Gid&, const Gid&) = default;
};

struct Port {
    std::uint8_t port = 1;
    wire::MacAddress mac;
    wire::Mtu mtu_active = wire::Mtu::B1024;
    wire::Mtu mtu_max = wire::Mtu::B4096;
    std::optional<std::uint32_t> speed_mbps; // of the link
    std::string link_layer;                  // "Ethernet"
    std::optional<std::string> state;        // "ACTIVE", "DOWN"
    std::vector<wire::Pkey> pkeys;
    std::vector<Gid> gids;
    // Of the host: it accepts packets to them at this port, but they are not GIDs of it.
    std::optional<std::vector<wire::IpAddress>> other_addresses;

    friend bool operator==(const Port&, const Port&) = default;
};

// The limits of the device.
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

// The limits of the agent, whatever the device could do.
struct AgentLimits {
    std::uint32_t connections = 8;
    std::uint64_t registered_bytes = std::uint64_t{1} << 30;
    std::uint32_t qps = 4096;
    std::uint64_t queued_bytes = std::uint64_t{64} << 20;
    std::uint64_t line_bytes = std::uint64_t{16} << 20;
    // Agents of the first version of the contract do not report these.
    std::optional<std::uint32_t> objects = 16384; // PDs, CQs, SRQs and memory windows
    std::optional<std::uint32_t> idle_seconds = 600;
    std::optional<std::uint64_t> memlock_bytes; // RLIMIT_MEMLOCK of the agent, where it counts

    friend bool operator==(const AgentLimits&, const AgentLimits&) = default;
};

// The device's congestion management. It leaves out settings that it cannot change.
struct CongestionSettings {
    std::optional<bool> np;                       // it answers marked packets by CNPs
    std::optional<bool> rp;                       // CNPs make its new QPs send more slowly
    std::optional<std::uint32_t> cnp_interval_us; // the least time between two CNPs
    std::optional<std::uint8_t> cnp_dscp;         // of the CNPs that it sends

    friend bool operator==(const CongestionSettings&, const CongestionSettings&) = default;
};

struct Welcome {
    std::uint32_t version = kContractVersion;
    std::string name;
    std::string backend; // "verbs", "engine"
    std::string device;
    std::string firmware;
    std::optional<std::string> kernel;   // of the device's host: "6.1.0-56-amd64"
    std::optional<std::string> driver;   // "rdma_rxe", "mlx5_core"
    std::optional<std::string> instance; // another text at each start of the agent
    std::vector<std::string> capabilities;
    // True if the agent tried everything that it reports: an absent word is then lacking.
    std::optional<bool> probed;
    std::vector<std::string> traits;
    std::vector<Port> ports;
    DeviceMax max;
    std::uint8_t local_ca_ack_delay = 0; // 4.096 us * 2^n
    std::string atomic;                  // "NONE", "HCA", "GLOB"
    AgentLimits limits;
    std::optional<CongestionSettings> congestion; // with the capability of that name

    friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Hello {
    static constexpr std::string_view method = "hello";
    using Gives = Welcome;
    std::uint32_t version = kContractVersion;
    std::optional<std::string> token;

    friend bool operator==(const Hello&, const Hello&) = default;
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

// Ends the wait of another call, which is then answered with its results so far.
struct Cancel {
    static constexpr std::string_view method = "cancel";
    using Gives = Done;
    CallId id;
    friend bool operator==(const Cancel&, const Cancel&) = default;
};

// Destroys everything that this connection created.
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

// --- capability `congestion` ------------------------------------------------------------------

struct CongestionGet {
    static constexpr std::string_view method = "congestion_get";
    using Gives = CongestionSettings;
    friend bool operator==(const CongestionGet&, const CongestionGet&) = default;
};
// Changes the settings that are given, for the whole device and until this connection's `reset` or
// its end. Answers with all of them as they are now: a device may round.
struct CongestionSet {
    static constexpr std::string_view method = "congestion_set";
    using Gives = CongestionSettings;
    CongestionSettings settings;
    friend bool operator==(const CongestionSet&, const CongestionSet&) = default;
};

} // namespace veriroce::dut
