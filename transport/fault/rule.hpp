// A fault rule as plain values: which packets (Selector) and what happens to them (Action). A plan
// is a list of rules; the first rule that matches a packet acts, and later rules act only if it has
// `also`.
//
// Units: times are nanoseconds, PSNs are relative to the requester's first PSN (and may be
// negative), ordinals (nth, message, packet, pass) start at 1. Ranges include both ends.
// Errors: none here; `check` (injector.hpp) reports an invalid plan.
// Source: conformance/script/README.md "Faults", which defines the text form of a rule.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::fault {

// The end of the wire that sends a packet. In a test, the DUT is A and the tester is B; in line, A
// and B are the two ports.
enum class End : std::uint8_t { A, B };
constexpr std::size_t index_of(End end) {
    return end == End::A ? 0 : 1;
}
inline constexpr End kDutEnd = End::A;
inline constexpr End kTesterEnd = End::B;

// Both ends are included; an open end is the smallest or largest number.
struct Range {
    std::int64_t low = std::numeric_limits<std::int64_t>::min();
    std::int64_t high = std::numeric_limits<std::int64_t>::max();

    [[nodiscard]] constexpr bool has(std::int64_t value) const {
        return low <= value && value <= high;
    }
    friend constexpr bool operator==(const Range&, const Range&) = default;
};

using OpcodeSet = std::bitset<256>;

// An option that is not set matches everything. `nth`, `every`, `p`, `fires` and `first` count the
// packets that all other options match.
struct Selector {
    std::optional<End> from;
    // The name of a QP of the case (empty: the default QP), or the QPN in the BTH.
    std::optional<std::variant<std::string, std::uint32_t>> qp;
    std::optional<Range> connection; // in order of appearance, in line (Passing::connection)
    std::optional<std::uint64_t> service_id; // of CM, in line (Passing::service_id)
    std::optional<wire::IpAddress> host;     // the packet's source or destination
    std::optional<OpcodeSet> opcodes;
    std::optional<Range> psn;
    std::optional<Range> message; // ordinal of the message on this side of the QP
    std::optional<Range> packet;  // ordinal of the packet within its message
    std::optional<Range> pass;    // how many times this side has sent this PSN, including now
    std::optional<Range> nth; // ordinal among the matching packets, counting first transmissions
    std::optional<std::uint64_t> every;
    std::optional<double> probability;
    std::optional<Range> between;            // ns since the first packet of the case
    std::optional<std::uint64_t> fires;      // exactly this many firings, or the case is an ERROR
    std::optional<std::uint64_t> first;      // stop after this many firings
    std::optional<std::uint64_t> per_second; // the most firings in a second, evenly spaced
    // Of RoCEv2 packets (pfc.hpp): the class, and classes of which one is stopped at that moment
    // for the packet's sender.
    std::optional<Range> traffic_class;
    std::optional<Range> paused;
    // Selects PFC frames instead of RoCEv2 packets: about one of these classes, with these quanta
    // for it.
    std::optional<Range> pfc;
    std::optional<Range> quanta;
};

// Actions. Unless a comment says otherwise, they leave the ICRC unchanged.
struct Drop {};
struct Duplicate {
    std::uint32_t copies = 1;
    wire::Duration after{0};
};
struct Delay { // keeps the order of the side's packets on this QP
    wire::Duration time{0};
};
struct Reorder { // the packet leaves after `by` later packets of its side and QP
    std::uint32_t by = 1;
};
struct Hold { // `until` counts from the moment when the packet is held
    Selector until;
    wire::Duration longest{std::chrono::seconds(1)};
};
struct CorruptBit { // counted from the IP header, most significant bit first
    std::size_t bit = 0;
};
struct CorruptByte { // counted from the IP header; all bits are inverted
    std::size_t byte = 0;
};
struct CorruptField { // all bits of the field are inverted
    wire::Field field = wire::Field::Psn;
};
// The ICRC becomes stale, the IPv4 header checksum is corrected: line noise that reaches the
// transport. With `good_icrc` it is corrected as well: damage that the ICRC does not show, as by a
// switch that recomputes it.
struct Corrupt {
    std::variant<CorruptBit, CorruptByte, CorruptField> where;
    bool good_icrc = false;
};
struct Rewrite { // ICRC and IPv4 header checksum are corrected
    std::vector<wire::PacketSpec::Written> fields;
    std::vector<wire::Flip> inverted = {}; // bits that are turned over, after the fields are set
    bool absolute_psn = false;             // a PSN among the fields is not relative to the first
};
// Keeps `bytes` bytes, counted from the BTH. Lengths and checksums are corrected, the ICRC is not.
struct Truncate {
    std::size_t bytes = 0;
};
struct MarkCe {}; // whatever the ECT bits were; the IPv4 header checksum is corrected
inline constexpr std::uint32_t kMaxReplayAge = 1'024;
struct Replay { // sends the packet of this side and QP again that came `age` packets earlier
    std::uint32_t age = 1;
};
enum class ForgeTo : std::uint8_t { Sender, Receiver };
// A packet that we generate after the matching one, which passes. Fields that are not set are taken
// from the matching packet. Towards the packet's sender, the addresses are swapped, and the
// destination QPN is the one that the other side uses.
struct Forge {
    wire::PacketSpec packet;
    ForgeTo to = ForgeTo::Receiver;
    bool absolute_psn = false; // as in Rewrite
};
struct Pause { // a PFC frame to the packet's sender
    std::uint8_t priority = 0;
    std::uint16_t quanta = 0;
};

// How it is copied, moved and destroyed is compiled once, in rule.cpp.
struct Action : std::variant<Drop, Duplicate, Delay, Reorder, Hold, Corrupt, Rewrite, Truncate,
                             MarkCe, Replay, Forge, Pause> {
    using variant::variant;
    Action();
    Action(const Action&);
    Action(Action&&) noexcept;
    Action& operator=(const Action&);
    Action& operator=(Action&&) noexcept;
    ~Action();
};

struct Rule {
    Action action;
    Selector selector;
    bool also = false;      // later rules may act on the packet too
    std::uint32_t line = 0; // line in the file: identifies the rule in reports, seeds its draws
    std::string text;       // as written
};

} // namespace veriroce::fault
