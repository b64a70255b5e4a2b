// The random work of one seed, as plain values: who is connected to whom and how, what is posted
// when, and how much trouble there is on the wire. Everything that is drawn for it is drawn here,
// so that a work request can be left out without moving the others (shrink.hpp).
//
// Swarm testing: each feature is in a seed's scenario or it is not, so that features meet in ever
// other company. Lengths are bytes; times are from the beginning of the run.
//
// Source: rules named in model.hpp; options of transport/engine/behaviour.hpp.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "transport/engine/behaviour.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::sim {

// A send work request of a plan.
struct WorkPlan {
    std::uint32_t id = 0; // its place in the unshortened plan; the verbs' wr_id
    engine::WrOpcode opcode = engine::WrOpcode::Send;
    std::uint32_t length = 0;
    std::uint32_t target = 0;          // offset in the peer's target area
    std::array<std::uint32_t, 3> cuts; // where the local bytes are cut into four pieces, ascending
    std::uint8_t pieces = 1;           // 0: no piece at all, for a message without bytes
    std::uint64_t add_or_swap = 0;
    bool compare_hits = false; // the compare finds what it asks for
    bool shared = false;       // FETCH_ADD on the counter that all peers of the endpoint use
    std::uint32_t imm = 0;
    std::uint64_t data_seed = 0;
    engine::SendFlags flags;
    bool wrong_key = false; // the application names memory that it does not know: never drawn here
    bool chained = false;   // posted with the one before it, by one doorbell
    wire::Duration at{0};   // not before
};

// What one side of a connection asks of the other.
struct DirectionPlan {
    std::vector<WorkPlan> works;
    std::vector<wire::Duration> receives; // when the peer posts its receives, at the earliest
    std::uint8_t receive_pieces = 1;
    wire::Psn first_psn;
    std::uint32_t max_send = 16;
    std::uint8_t timeout = 10;
    std::uint8_t rd_atomic = 4;      // of the asking side
    std::uint8_t dest_rd_atomic = 4; // of the answering side, not less
    std::uint8_t min_rnr_timer = 1;  // of the answering side
};

// A QP on each side; side 0 belongs to the endpoint of the lower number.
struct ConnectionPlan {
    std::array<std::size_t, 2> endpoints{0, 1};
    std::array<DirectionPlan, 2> directions; // by the side that asks
    wire::Mtu mtu = wire::Mtu::B1024;
    std::uint32_t longest = 0; // message
    bool ipv6 = false;
    bool signal_all = false;
    std::uint8_t traffic_class = 0;
};

// Kinds of faults; names_of_faults has their words.
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

// How often what happens on the wire.
struct TroublePlan {
    std::array<std::uint32_t, kFaultKinds> one_in{}; // packets; 0 is never
    bool requests = true;                            // whether requests suffer
    bool responses = true;
    std::optional<std::size_t> only_from; // frames of this endpoint only
    wire::Duration until{0};              // then there is no more trouble
    std::uint32_t tries = 2; // of one packet that may fail in a row, so that retries suffice
};

struct Scenario {
    std::uint64_t seed = 0;
    std::vector<engine::Behaviour> endpoints;
    std::vector<ConnectionPlan> connections;
    TroublePlan trouble;
    std::uint32_t poll_every = 1; // steps between two looks at the completion queues
    bool own_queues = false;      // a completion queue for each queue, else one an endpoint

    [[nodiscard]] std::size_t works() const;
};

Scenario scenario_of(std::uint64_t seed);

// Whether a request takes a receive WQE of the peer.
constexpr bool takes_receive(engine::WrOpcode opcode) {
    return opcode == engine::WrOpcode::Send || opcode == engine::WrOpcode::SendWithImm ||
           opcode == engine::WrOpcode::RdmaWriteWithImm;
}
constexpr bool asks_atomic(engine::WrOpcode opcode) {
    return opcode == engine::WrOpcode::AtomicCmpAndSwp ||
           opcode == engine::WrOpcode::AtomicFetchAndAdd;
}
// PSNs that a request takes (RSP-01, N-36).
std::uint32_t packets_of(const WorkPlan& work, wire::Mtu mtu);

} // namespace veriroce::sim
