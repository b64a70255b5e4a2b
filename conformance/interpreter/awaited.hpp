// Lines that wait for something, and since when. Only the dialogue and its parts know it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conformance/interpreter/peer.hpp"

namespace veriroce::interpreter {

// The end of a line: an instant, or that of a packet, whose own time may be known better later.
struct Moment {
    wire::Instant at{};
    std::optional<std::size_t> packet; // of the history
};

// A line that waits for something that the DUT or our engine does: what that is, and how far it
// has come.
struct Awaited {
    struct Packet { // `<`
        const script::ExpectPacket* line = nullptr;
        script::ExpectPacket next;           // the line for the packet at hand
        std::optional<std::uint64_t> length; // of a whole message
        std::int64_t packets = 0;            // that have come
        std::vector<std::byte> data;         // in them
        Entry* near = nullptr;               // let pass, though nearly what was wanted
        std::string why;                     // what it lacks
        const Entry* passed = nullptr;       // let pass last
    };
    struct Completions { // `done`
        const script::Done* line = nullptr;
        script::Side side = script::Side::Dut;
        std::int64_t next = 0; // id
        std::int64_t last = 0;
    };
    struct State {
        const script::State* line = nullptr;
        script::Side side = script::Side::Dut;
        std::string seen;
    };
    struct Event {
        const script::EventSeen* line = nullptr;
    };
    struct Notification {
        const script::Notified* line = nullptr;
        bool came = false;
    };

    script::SourceSpan span;
    Peer* peer = nullptr;
    wire::Duration patience{0};
    // `within T` counts from here. Without it a line waits from the end of whichever was met
    // last.
    std::optional<Moment> since;
    std::variant<std::monostate, Packet, Completions, State, Event, Notification> what;
    bool asked = false; // packets come unasked, all else is asked for
    bool met = false;
};

} // namespace veriroce::interpreter
