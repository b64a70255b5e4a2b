// The injector: applies a fault plan to packets one by one, in the order in which they pass.
// Simulation, live tests and the in-line injector share it: bytes in, emissions out, no clock, no
// link.
//
// Units: `psn` is relative to the requester's first PSN; times are instants and durations of the
// caller's time line. Random draws depend only on the seed and the rule's line, so adding a rule
// does not change the draws of the others.
// Errors: check() reports what is wrong with a plan; such a plan is rejected as a whole.
// Bounds: PSNs per flow, flows, ordinals per rule, held packets and packets kept for replay are
// limited. Evictions are counted; a packet that cannot be held does not count as a firing.
// Source: conformance/script/README.md "Faults".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dissector/wire/opcode.hpp"
#include "transport/fault/pfc.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// A packet as observed on the wire.
struct Passing {
    End from = End::A;
    std::string_view qp;          // the QP's name in the case; empty: the default QP
    std::uint32_t qpn = 0;        // the destination QP in the BTH
    std::int64_t psn = 0;         // relative to the requester's first PSN
    std::uint64_t connection = 0; // in order of appearance; 0: not numbered
    // That the connection was set up for, if CM did it.
    std::optional<std::uint64_t> service_id = {};
    wire::Instant now;
    wire::Bytes frame; // from the Ethernet header on
};

// A frame that leaves, this long after the packet came. `from` is the apparent sender: a forged
// answer to the packet's sender comes from the other side.
struct Emission {
    std::vector<std::byte> frame;
    wire::Duration delay{0};
    End from = End::A;
};

struct Decision {
    bool untouched = true; // the packet leaves unchanged; `emissions` is empty
    // Otherwise, what leaves now: the packet itself (nothing if it was dropped or is held), then
    // generated and released frames.
    std::vector<Emission> emissions;
    std::vector<std::size_t> rules; // indices of the rules that acted
    std::size_t chosen = 0;         // number of the caller's own actions that were applied
    // The packet's place: how many times its PSN has been sent, and the ordinals of its message and
    // of the packet in it. 0 if it is not RoCEv2.
    std::int64_t pass = 0;
    std::int64_t message = 0;
    std::int64_t packet = 0;
};

struct Fired {
    std::uint64_t selected = 0; // packets that matched everything except every, p and first
    std::uint64_t fired = 0;    // of those, packets to which the action was applied
};

inline constexpr std::size_t kMaxPsns = 65'536; // PSNs per flow whose transmissions are counted
inline constexpr std::size_t kMaxFlows = 512;
inline constexpr std::size_t kMaxRules = 256;
inline constexpr std::size_t kMaxHeld = 4'096; // packets held at the same time

// Reports an invalid plan: too many rules, a replay from too long ago, or a rule for PFC frames
// that can only be done to packets.
std::expected<void, std::string> check(std::span<const Rule> rules);
// Of one rule: whether what selects PFC frames asks only what they have. The error is a sentence
// without its place.
std::expected<void, std::string> check_pfc(const Rule& rule);

// The state with which the draws of the rule on this line begin (wire::splitmix64).
std::uint64_t first_random(std::uint64_t seed, std::uint32_t line);

class Injector {
  public:
    // `settle`: a reordered packet leaves this long after it came, even if too few packets overtake
    // it.
    explicit Injector(std::uint64_t seed, wire::Duration settle = std::chrono::milliseconds(10))
        : seed_(seed), settle_(settle) {}

    // Appends a rule, which must have passed check(). It sees packets from now on.
    void add(Rule rule);
    // For the time of pauses; 10 Gb/s before.
    void set_link_speed(double bits_per_second) { pauses_.set_speed(bits_per_second); }
    // The caller itself sends a PFC frame to `end`.
    void note_pause(End end, wire::Bytes frame, wire::Instant now);

    // Keeps this many packets of each side and QP for Replay actions that are passed to handle();
    // rules arrange this themselves. At most kMaxReplayAge.
    void remember(std::uint32_t packets);

    // `chosen`: actions that the caller has selected for this packet. They are applied after the
    // rules, in order.
    Decision handle(const Passing& packet, std::span<const Action> chosen = {});

    // When the next held packet leaves on its own; and the packets that leave by `now`.
    [[nodiscard]] std::optional<wire::Instant> next_release() const;
    std::vector<Emission> release(wire::Instant now);

    [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
    [[nodiscard]] const Fired& fired(std::size_t rule) const { return states_[rule].fired; }
    // Packets that others selected and changed by this rule, for these packets did not come here.
    void count_elsewhere(std::size_t rule, const Fired& more);
    // PSNs and flows that were evicted: their next transmission counts as the first.
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }
    // One message for each rule that did not fire as required: a different number of times than
    // `fires=N`, or never although it has no p=. Empty if everything is as required.
    [[nodiscard]] std::vector<std::string> unmet() const;

  private:
    // Requests and responses of one side have separate PSN sequences.
    struct FlowKey {
        End from = End::A;
        std::string qp;
        std::uint32_t qpn = 0;
        bool response = false;

        friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
    };
    // The position of a PSN's packet, set by its first transmission, and the number of
    // transmissions.
    struct Seen {
        std::int64_t pass = 0;
        std::int64_t message = 0;
        std::int64_t packet = 0;
    };
    struct Flow {
        std::unordered_map<std::int64_t, Seen> psns;
        std::deque<std::int64_t> order; // oldest first
        std::int64_t message = 0;
        std::int64_t packet = 0;
        wire::Instant free;                      // a delayed packet holds up later ones until then
        std::deque<std::vector<std::byte>> sent; // for Replay, oldest first
    };
    using PacketKey = std::pair<FlowKey, std::int64_t>;
    struct RuleState {
        std::uint64_t random = 0;
        Fired fired;
        std::int64_t last_ordinal = 0; // for `nth`
        std::optional<wire::Instant> last_fired;
        std::map<PacketKey, std::int64_t> ordinals;
        std::deque<PacketKey> order; // oldest first
    };
    // A packet with everything that selectors can test.
    struct Subject {
        const Passing& passing;
        wire::Frame frame;
        FlowKey key;
        std::uint8_t opcode = 0;
        Seen seen;
        std::optional<PfcFrame> pfc; // it is no packet, but this
    };
    // A packet that leaves later.
    struct HeldPacket {
        FlowKey key;                  // its side and QP
        std::uint64_t number = 0;     // in order of arrival
        std::uint32_t overtakers = 0; // packets that must still overtake it
        std::optional<Selector> until;
        RuleState until_state; // counts from the moment when it was held
        wire::Instant latest;
        std::vector<Emission> emissions;
    };
    // What happens to one packet.
    struct PacketResult {
        bool touched = false;         // `own` is filled only if true
        std::vector<Emission> own;    // the packet itself
        std::vector<Emission> beside; // generated or released
        std::optional<HeldPacket> held;
    };
    class Act;

    Flow& flow_of(const FlowKey& key);
    Seen count(const FlowKey& key, std::int64_t psn, const wire::OpcodeInfo& info);
    [[nodiscard]] bool fits(const Selector& selector, const Subject& subject);
    bool selected(const Selector& selector, RuleState& state, const Subject& subject);
    std::int64_t ordinal_of(RuleState& state, const Subject& subject);
    Decision handle_pfc(const Passing& packet);
    void note_pauses(const Decision& decision, wire::Instant now);
    void keep_order(const Subject& subject, Decision& decision, PacketResult& result);
    void apply_rules(const Subject& subject, std::span<const Action> chosen, Decision& decision,
                     PacketResult& result);
    static void touch(const Subject& subject, PacketResult& result);
    bool act(const Action& action, const Subject& subject, Decision& decision,
             PacketResult& result);
    [[nodiscard]] Flow& both_ways(FlowKey key); // of the side and QP, requests and responses
    void note_sent(const Subject& subject);
    // The sender's QPN, as its peer addresses it.
    [[nodiscard]] std::optional<std::uint32_t> sender_qpn(const FlowKey& key) const;
    // held_packets.cpp
    [[nodiscard]] bool can_hold() const { return held_.size() < kMaxHeld; }
    void release_until(const Subject& subject, std::vector<Emission>& out);
    void left(const FlowKey& key, std::uint64_t number, std::vector<Emission>& out);

    std::uint64_t seed_;
    wire::Duration settle_;
    std::uint64_t packets_ = 0;
    std::int64_t pfc_frames_ = 0;
    PauseClock pauses_;
    std::size_t replay_depth_ = 0;
    std::deque<HeldPacket> held_; // in order of arrival
    std::vector<Rule> rules_;
    std::vector<RuleState> states_;
    std::map<FlowKey, Flow> flows_;
    std::deque<FlowKey> flow_order_; // oldest first
    std::optional<wire::Instant> began_;
    std::uint64_t evicted_ = 0;
};

} // namespace veriroce::fault
