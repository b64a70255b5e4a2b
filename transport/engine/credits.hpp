// End-to-end credits as the requester keeps them: how many messages that take a receive it may
// send before it hears more.
//
// Messages are counted by SSN, the first is 1; a peer's MSN says how many of them it has done. An
// ACK gives MSN + credits as the newest SSN that may go; every message that takes no receive and
// was begun since moves that limit on by one. All is modulo 2^24.
//
// Source: rules REQ-29, REQ-30, ACK-10.
#pragma once

#include <cstdint>

#include "dissector/wire/aeth.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::engine {

struct Credits {
    wire::Psn newest;      // SSN of the message that was begun last
    wire::Psn limit;       // the newest SSN that may go without restraint
    bool unlimited = true; // no limit; once the peer has said so, it stays (REQ-30)

    // Whether a message with this SSN may go, or one as many beyond the limit.
    [[nodiscard]] constexpr bool allows(wire::Psn ssn, std::int32_t beyond = 0) const {
        return unlimited || wire::distance(limit, ssn) <= beyond;
    }
    // A message begins; its SSN.
    constexpr wire::Psn begin(bool takes_receive) {
        newest += 1;
        if (!takes_receive) limit += 1;
        return newest;
    }
    // The credits of an acknowledge. An MSN of more messages than were sent is ignored.
    constexpr void hear(const wire::Aeth& aeth) {
        const wire::Psn done(aeth.msn.value);
        if (aeth.syndrome.kind() != wire::AckKind::Ack || wire::distance(done, newest) < 0) return;
        const auto credits = wire::credits_of(aeth.syndrome.code());
        if (!credits) {
            unlimited = true;
        } else if (wire::distance(limit, done + *credits) > 0) {
            limit = done + *credits;
        }
    }
};

} // namespace veriroce::engine
