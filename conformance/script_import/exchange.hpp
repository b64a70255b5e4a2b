// One direction of a conversation: the requests of one end, and the answers of the other; and what
// became of each request at a responder that keeps the rules.
//
// The capture shows what was sent, not what arrived. What arrived is concluded from the answers: a
// packet that is NAKed as missing although it was seen was lost behind the capture; one that is
// refused, or for which there was no receive, is known by its NAK. What nothing explains ends the
// exchange (`stop`).
//
// PSNs are relative to the asking end's first; sizes are bytes. Internal to this room.
// Source: rules RSP-01 to RSP-03, RNR-01, RNR-04, LEN-01 to LEN-06, OPC-01 to OPC-04, ATM-02.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/script_import/conversation.hpp"

namespace veriroce::script_import {

enum class Fate : std::uint8_t {
    Taken,    // in its turn, and executed
    Again,    // a duplicate
    Ahead,    // PSNs before it are missing
    Waiting,  // behind a request that had no receive, or was refused: dropped in silence
    NoRecv,   // drew an RNR NAK
    Refused,  // drew a fatal NAK
    Damaged,  // dropped in silence
    Lost,     // behind the capture: the responder never saw it
    Answer,   // no request, but what the responder said
    Unusable, // a damaged packet of which nothing can be said
};

struct Step {
    Fate fate = Fate::Unusable;
    std::int64_t psn = 0;
    wire::Syndrome answer; // of NoRecv and Refused: what the NAK says
    bool visible = false;  // of Refused: the packet itself shows why
};

struct Exchange {
    const Conversation* conversation = nullptr;
    std::uint8_t asking = 0;
    wire::Psn first;
    wire::Mtu mtu = wire::Mtu::B1024;
    bool mtu_known = false;  // seen, not assumed
    std::vector<Step> steps; // one for each event, up to where it stops
    std::string stop;        // why it does not go on; empty if it does
    std::uint64_t lost = 0;

    [[nodiscard]] const Event& event(std::size_t step) const {
        return conversation->events[event_of[step]];
    }
    std::vector<std::size_t> event_of; // by step

    // PSNs that the request takes (N-36).
    [[nodiscard]] std::uint32_t span_of(const Event& event) const;
};

// The copies of the request with this PSN behind the last answer, and how far the nearest two are
// apart.
struct Copies {
    std::uint32_t count = 0;
    std::optional<wire::Duration> gap;
};
Copies copies_of(const Exchange& exchange, std::int64_t psn);

// At most `messages` of them, counted where they end.
Exchange exchange_of(const Conversation& conversation, std::uint8_t asking, std::uint64_t messages);

} // namespace veriroce::script_import
