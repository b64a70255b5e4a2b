// Lines that wait for something, and since when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/met.hpp"

namespace veriroce::interpreter {

struct CaseQp;

// `<`
struct AwaitedPacket {
    const script::ExpectPacket* line = nullptr;
    script::ExpectPacket next;           // the line for the next packet
    std::optional<std::uint64_t> length; // of a whole message
    std::int64_t packets = 0;            // that have come
    std::vector<std::byte> data;         // in them
    // A packet of the right kind that was passed over (its place in the record), and how it
    // differs.
    std::optional<std::size_t> near;
    std::vector<Difference> lacks;
    std::string detail;
    std::optional<std::size_t> passed; // the last one that was passed over
    bool window_opened = false;        // the tester answered what held the packet back (REQ-02)
};
// `done`
struct AwaitedCompletions {
    const script::Done* line = nullptr;
    Side side = Side::Dut;
    std::int64_t next = 0; // id
    std::int64_t last = 0;
};
struct AwaitedState {
    const script::State* line = nullptr;
    Side side = Side::Dut;
    std::optional<engine::QpState> seen;
};
struct AwaitedEvent {
    const script::EventSeen* line = nullptr;
};
struct AwaitedNotification {
    const script::Notified* line = nullptr;
    bool came = false;
};

// A line that waits for something that the DUT or the tester's engine does, and its progress.
struct Awaited {
    Span span;
    CaseQp* qp = nullptr;
    wire::Duration patience{0};
    // `within T` counts from here. Without it a line waits from the end of the line met last.
    std::optional<Moment> since;
    std::variant<AwaitedPacket, AwaitedCompletions, AwaitedState, AwaitedEvent, AwaitedNotification>
        what;
    bool asked = false; // the DUT was asked; packets need no question
    bool met = false;

    [[nodiscard]] AwaitedPacket* packet() { return std::get_if<AwaitedPacket>(&what); }
    [[nodiscard]] const AwaitedPacket* packet() const { return std::get_if<AwaitedPacket>(&what); }
};

} // namespace veriroce::interpreter
