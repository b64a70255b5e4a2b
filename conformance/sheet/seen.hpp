// Internal: the packets of a run as the data sheet looks at them.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::sheet {

using interpreter::CaseResult;
using interpreter::Side;
using wire::AckKind;
using wire::Operation;

// A packet of the run, its PSN counted from the first request's.
struct Seen {
    Side from = Side::Tester;
    wire::Instant at; // the latest one of its interval
    wire::Packet packet;
    std::int64_t psn = 0;
    std::uint8_t ecn = 0;
    std::uint16_t udp_checksum = 0;
    bool v6 = false;
    bool on_wire = true;

    [[nodiscard]] Operation operation() const { return packet.info().operation; }
    [[nodiscard]] bool dut() const { return from == Side::Dut; }
    [[nodiscard]] bool acknowledges(AckKind kind) const {
        return operation() == Operation::Acknowledge && packet.aeth.syndrome.kind() == kind;
    }
    // A request of that side.
    [[nodiscard]] bool asks(Side side) const { return from == side && packet.info().request(); }
};

using Packets = std::vector<Seen>;

inline std::int64_t between(const Seen& earlier, const Seen& later) {
    return (later.at - earlier.at).count();
}

} // namespace veriroce::sheet
