// A fault rule as plain values: which packets (Selector) x what happens to them (Action). A plan is
// a list of rules; for each packet the first rule that matches acts, unless it ends in `also`.
//
// Units: times are nanoseconds, PSNs count from the asking side's first (negative is lawful),
// ordinals (nth, message, packet, pass) begin at 1. Ranges include both ends.
// Errors: none here; `check` (injector.hpp) says what is wrong with a plan.
// Source: conformance/script/README.md "Faults", where the text form of a rule is written.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::fault {

// Who sent the packet. In a test the DUT is A and the tester is B; in line they are the two ports.
enum class Side : std::uint8_t { A, B };
inline constexpr Side dut_side = Side::A;
inline constexpr Side tester_side = Side::B;

// Both ends belong to it; an open end is the largest or smallest number.
struct Range {
    std::int64_t low = std::numeric_limits<std::int64_t>::min();
    std::int64_t high = std::numeric_limits<std::int64_t>::max();

    [[nodiscard]] constexpr bool has(std::int64_t value) const {
        return low <= value && value <= high;
    }
    friend constexpr bool operator==(const Range&, const Range&) = default;
};

using OpcodeSet = std::bitset<256>;

// What is not set selects everything. `nth`, `every`, `p`, `fires` and `first` count the packets
// that all the rest selects.
struct Selector {
    std::optional<Side> from;
    // The name of a QP of the case (empty is the default one), or a QPN as it stands in the BTH.
    std::optional<std::variant<std::string, std::uint32_t>> qp;
    std::optional<OpcodeSet> opcodes;
    std::optional<Range> psn;
    std::optional<Range> message; // ordinal of the message on this side of the QP
    std::optional<Range> packet;  // ordinal of the packet in its message
    std::optional<Range> pass;    // how often this side has now sent this PSN
    std::optional<Range> nth;     // ordinal among the matching packets on their first pass
    std::optional<std::uint64_t> every;
    std::optional<double> probability;
    std::optional<Range> between;       // ns since the first packet of the case
    std::optional<std::uint64_t> fires; // exactly so often, or the case is an ERROR
    std::optional<std::uint64_t> first; // stop after so many
};

// Actions. What has no note leaves the packet's ICRC as it is.
struct Drop {};
struct Duplicate {
    std::uint32_t copies = 1;
    wire::Duration after{0};
};
struct Delay { // the order of the side's packets on this QP is kept
    wire::Duration time{0};
};
struct Reorder { // the packet leaves behind this many later ones of its side and QP that leave
    std::uint32_t by = 1;
};
struct Hold { // `until` counts from the moment at which the packet is held
    Selector until;
    wire::Duration longest{std::chrono::seconds(1)};
};
struct CorruptBit { // counted from the IP header's first bit, most significant first
    std::size_t bit = 0;
};
struct CorruptByte { // counted from the IP header; all its bits are inverted
    std::size_t byte = 0;
};
struct CorruptField { // all bits of the field are inverted
    wire::Field field = wire::Field::Psn;
};
// ICRC stale, IPv4 header checksum good: line noise that reached the transport.
struct Corrupt {
    std::variant<CorruptBit, CorruptByte, CorruptField> where;
};
struct Rewrite { // ICRC and IPv4 header checksum made good
    std::vector<wire::PacketSpec::Written> fields;
};
struct Truncate { // bytes kept from the BTH on; lengths and sums repaired, ICRC not
    std::size_t bytes = 0;
};
struct MarkCe {}; // whatever the ECT bits were; IPv4 header checksum made good
inline constexpr std::uint32_t max_replay_age = 1'024;
struct Replay { // the N-th packet of this side and QP before this one is sent again
    std::uint32_t age = 1;
};
enum class ForgeTo : std::uint8_t { Sender, Receiver };
// A packet of our making behind the matching one, which passes. What is not written is taken from
// the matching packet; towards the sender the addresses are turned round, and the QPN is that to
// which the other side sends.
struct Forge {
    wire::PacketSpec packet;
    ForgeTo to = ForgeTo::Receiver;
};
struct Pause { // a PFC frame towards the packet's sender
    std::uint8_t priority = 0;
    std::uint16_t quanta = 0;
};

using Action = std::variant<Drop, Duplicate, Delay, Reorder, Hold, Corrupt, Rewrite, Truncate,
                            MarkCe, Replay, Forge, Pause>;

struct Rule {
    Action action;
    Selector selector;
    bool also = false;      // later rules may act on the packet too
    std::uint32_t line = 0; // where it stands in its file: names it in reports, seeds its draws
    std::string text;       // as it was written
};

} // namespace veriroce::fault
