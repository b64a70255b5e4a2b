// Why the engine refused a packet: by which check, under which rules, and what followed.
//
//   while (const auto refusal = engine.poll_refusal()) print(text_of(*refusal));
//
//   RDMA_WRITE_ONLY for QP 0x000011, PSN 1000: NAK remote access error by key-range (KEY-05,
//   KEY-06)
//
// The engine keeps the newest `kRefusals` of them until they are polled. A packet that it accepts
// costs nothing.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/instant.hpp"
#include "transport/engine/checks.hpp"

namespace veriroce::engine {

// Why a packet is dropped that no check can judge, or that passed them all.
enum class DropReason : std::uint8_t {
    TooShort,      // its headers are not complete
    UnknownQp,     // no QP has this number
    UnknownGroup,  // no QP is attached to the multicast group
    CnpState,      // the QP does not receive
    OddCnp,        // malformed, and the engine ignores such CNPs
    LostMessage,   // UC: an earlier packet of its message is missing
    NoReplyRoom,   // the answer finds no room: as if the request were lost, its sender asks again
    NoReceiveLeft, // a planted defect accepted it, and there is no receive for it
};

using DropRow = CheckRow<DropReason, void()>;

inline constexpr std::array kDropRows{
    DropRow{DropReason::TooShort, "too-short", "BTH-20"},
    DropRow{DropReason::UnknownQp, "unknown-qp", "BTH-02, BTH-03"},
    DropRow{DropReason::UnknownGroup, "unknown-group", "BTH-04"},
    DropRow{DropReason::CnpState, "cnp-state", "CNP-10"},
    DropRow{DropReason::OddCnp, "odd-cnp", "CNP-11"},
    DropRow{DropReason::LostMessage, "lost-message", "EXT-06"},
    DropRow{DropReason::NoReplyRoom, "no-reply-room", ""},
    DropRow{DropReason::NoReceiveLeft, "no-receive-left", ""},
};
static_assert(in_order(kDropRows));

constexpr const auto& rows_of(DropReason /*list*/) {
    return kDropRows;
}

using RefusedBy = std::variant<PacketCheck, RequestCheck, DuplicateCheck, DatagramCheck,
                               ResponseCheck, DropReason>;

std::string_view name_of(const RefusedBy& by);
std::string_view rules_of(const RefusedBy& by);

enum class RefusalOutcome : std::uint8_t {
    Dropped,
    SequenceNak,
    InvalidRequestNak,
    RemoteAccessNak,
    RemoteOperationalNak,
    RnrNak,
    QpEnded,       // without an answer
    ImpliedNak,    // a response that shows that an earlier one is lost
    RequestFailed, // the oldest work request completes in error
};

inline constexpr std::size_t kRefusals = 64;

struct Refusal {
    std::uint64_t number = 0; // counts from 1; a gap shows that older ones were not polled in time
    RefusedBy by;
    RefusalOutcome outcome = RefusalOutcome::Dropped;
    std::optional<wire::Bth> bth; // nothing: the packet was too short to have one
    wire::Instant at;
};

// "SEND_ONLY for QP 0x000011, PSN 1001: dropped by state (STA-01, STA-02, STA-07)"
std::string text_of(const Refusal& refusal);

} // namespace veriroce::engine
