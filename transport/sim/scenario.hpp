// The random work of one seed as plain values: how the endpoints are connected, what is posted
// when, and how often packets suffer faults. All random choices about the work are made here, so
// that a request can be removed without changing the others (shrink.hpp).
//
// Swarm testing: each scenario includes a random subset of the features, so that features meet in
// many combinations. Lengths are bytes; times count from the beginning of the run.
//
// Source: the rules named in model.hpp; options of transport/engine/behaviour.hpp.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "transport/engine/behaviour.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::sim {

// A planned send work request.
struct WorkPlan {
    std::uint32_t id = 0; // position in the original plan; the verbs' wr_id
    engine::WrOpcode opcode = engine::WrOpcode::Send;
    std::uint32_t length = 0;
    std::uint32_t target = 0; // offset in the peer's target area
    // Where the local bytes are split into four pieces, ascending.
    std::array<std::uint32_t, 3> cuts;
    std::uint8_t pieces = 1; // 0: no piece, for a message without bytes
    std::uint64_t add_or_swap = 0;
    bool compare_hits = false; // the compare succeeds
    bool shared = false;       // FETCH_ADD on the endpoint's counter, which all its peers use
    std::uint32_t imm = 0;
    std::uint64_t data_seed = 0;
    engine::SendFlags flags;
    bool wrong_key = false; // the application uses a wrong key; never drawn here
    bool chained = false;   // posted together with the previous one, in one chain
    wire::Duration at{0};   // not before this time
};

// The work that one side of a connection requests from the other.
struct DirectionPlan {
    std::vector<WorkPlan> works;
    std::vector<wire::Duration> receives; // earliest times at which the peer posts its receives
    std::uint8_t receive_pieces = 1;
    wire::Psn first_psn;
    std::uint32_t max_send = 16;
    std::uint8_t timeout = 10;
    std::uint8_t rd_atomic = 4;      // of the requester
    std::uint8_t dest_rd_atomic = 4; // of the responder, at least as large
    std::uint8_t min_rnr_timer = 1;  // of the responder
};

// A QP on each side; side 0 is at the endpoint with the lower number.
struct ConnectionPlan {
    std::array<std::size_t, 2> endpoints{0, 1};
    std::array<DirectionPlan, 2> directions; // by the side of the requester
    wire::Mtu mtu = wire::Mtu::B1024;
    std::uint32_t longest = 0; // longest message
    bool ipv6 = false;
    bool signal_all = false;
    std::uint8_t traffic_class = 0;
};

// Kinds of faults; scenario.cpp has their names.
enum class FaultKind : std::uint8_t {
    Drop,
    Duplicate,
    Delay,
    Reorder,
    Hold,
    CorruptBit,
    CorruptByte,
    CorruptField,
    Truncate,
    MarkCe,
    Rewrite,
    Replay,
    Forge,
};
inline constexpr std::size_t kFaultKinds = 13;
std::string_view name_of(FaultKind kind);

// How often packets suffer each kind of fault.
struct FaultRates {
    std::array<std::uint32_t, kFaultKinds> one_in{}; // 1 in N packets; 0: never
    bool requests = true;                            // whether faults hit requests
    bool responses = true;
    std::optional<std::size_t> only_from; // only frames sent by this endpoint
    wire::Duration until{0};              // no faults after this time
    std::uint32_t tries = 2; // consecutive failures of one packet, few enough for the retry limit
};

struct Scenario {
    std::uint64_t seed = 0;
    std::vector<engine::Behaviour> endpoints;
    std::vector<ConnectionPlan> connections;
    FaultRates fault_rates;
    std::uint32_t poll_every = 1; // steps between polls of the completion queues
    bool own_queues = false; // a completion queue for each work queue, otherwise one per endpoint

    [[nodiscard]] std::size_t works() const;
};

Scenario scenario_of(std::uint64_t seed);

// Whether a request consumes a receive WQE of the peer.
constexpr bool takes_receive(engine::WrOpcode opcode) {
    return opcode == engine::WrOpcode::Send || opcode == engine::WrOpcode::SendWithImm ||
           opcode == engine::WrOpcode::RdmaWriteWithImm;
}
constexpr bool asks_atomic(engine::WrOpcode opcode) {
    return opcode == engine::WrOpcode::AtomicCmpAndSwp ||
           opcode == engine::WrOpcode::AtomicFetchAndAdd;
}
// PSNs that a request consumes (RSP-01, N-36).
std::uint32_t packets_of(const WorkPlan& work, wire::Mtu mtu);

} // namespace veriroce::sim
