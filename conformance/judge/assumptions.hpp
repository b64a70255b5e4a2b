// What is known about the packets that the judge sees, beyond themselves. Nothing by default: then
// a violation is certain only if no loss, copy or reordering anywhere could explain it.
#pragma once

#include <optional>
#include <vector>

#include "dissector/flow/tracker.hpp"

namespace veriroce::judge {

struct Assumptions {
    // Every packet that passed the point of the capture is among those observed.
    bool complete = false;
    // On the way to the point of the capture no packet overtakes another, and none is copied; and
    // packets of both directions were recorded in the order in which they passed it.
    bool ordered = false;
    // Devices at whose own port the packets were recorded: theirs as they left, others' as they
    // arrived. What the network, or a fault that was injected, does to a packet after or before
    // is then not taken for the device's doing.
    std::vector<wire::IpAddress> recorded_at;
    // Whose packets are not judged: the tester that breaks rules on purpose.
    std::vector<wire::IpAddress> not_judged;
    // Devices whose own applications write nothing where others may read: what a READ brings from
    // there changes by requests alone.
    std::vector<wire::IpAddress> memory_at_rest;
    // A trait: devices that place what comes out of order by configuration, and ask for what is
    // missing when they like. RSP-02, RSP-03, RSP-06 and RSP-07 are not judged of them.
    std::vector<wire::IpAddress> out_of_order;
    // Devices that answer a packet marked CE by a CNP, if they have sent none for `interval`.
    struct NotificationPoint {
        wire::IpAddress address;
        wire::Duration interval{0};
    };
    std::vector<NotificationPoint> notification_points;
    // Connections whose QPs, first PSNs and attributes are known.
    std::vector<std::array<flow::Introduction, 2>> connections;
    // The longest that a packet takes from the capture to a device and its answer back.
    std::optional<wire::Duration> round_trip;
    // By how much two times may be wrong against each other.
    wire::Duration clock_error = std::chrono::microseconds(1);
    // How long a device may take to answer, and to say that something is missing. Without it no
    // silence is judged but the longest.
    std::optional<wire::Duration> patience;
    // A request that asks for an answer and has none for so long, until the capture ends, is a
    // violation; `patience` counts instead if it is known. Nothing: none is.
    std::optional<wire::Duration> longest_silence;
};

} // namespace veriroce::judge
