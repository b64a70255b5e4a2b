// The injector: applies a fault plan to packets, one at a time, in the order in which they pass.
// The same for simulation, live tests and the bump in the wire: bytes in, emissions out; no clock,
// no link.
//
// Units: `psn` counts from the asking side's first; times are instants and durations of the
// caller's time line. Random draws come from the seed and the rule's line alone, so that adding a
// rule changes no other's draws.
// Errors: check() says what is wrong with a plan; it is then refused whole.
// Bounds: kept PSNs a flow, flows, ordinals a rule, packets held back and packets that can be
// replayed are limited; what is forgotten is counted, what cannot be held is no firing.
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
#include <utility>
#include <vector>

#include "dissector/wire/opcode.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// A packet as whoever sees it on the wire describes it.
struct Passing {
    Side from = Side::A;
    std::string_view qp;   // the name of the case's QP; empty is the default one
    std::uint32_t qpn = 0; // the destination QP, as in the BTH
    std::int64_t psn = 0;  // from the asking side's first
    wire::Instant now;
    wire::Bytes frame; // Ethernet header first
};

// One frame that leaves, so much later than the packet came. `from` is the side that it seems to
// come from: a forged answer to the packet's sender comes from the other side.
struct Emission {
    std::vector<std::byte> frame;
    wire::Duration delay{0};
    Side from = Side::A;
};

struct Decision {
    bool untouched = true;           // the packet goes on as it came; `emissions` is empty
    std::vector<Emission> emissions; // else what leaves now: what became of it (none: dropped or
                                     // held back), then what was made or released beside it
    std::vector<std::size_t> rules;  // indices of the rules that acted
    std::size_t chosen = 0;          // how many of the caller's own actions acted
};

struct Fired {
    std::uint64_t selected = 0; // packets that all but every, p and first selected
    std::uint64_t fired = 0;    // and on which the action could be carried out
};

inline constexpr std::size_t max_psns = 65'536; // a flow's PSNs whose passes are known
inline constexpr std::size_t max_flows = 512;
inline constexpr std::size_t max_rules = 256;
inline constexpr std::size_t max_waiting = 4'096; // packets held back at a time

// What is wrong with the plan: too many rules, a replay from too long ago.
std::expected<void, std::string> check(std::span<const Rule> rules);

class Injector {
  public:
    // A reordered packet leaves at the latest `settle` after it came, if nothing overtakes it.
    explicit Injector(std::uint64_t seed, wire::Duration settle = std::chrono::milliseconds(10))
        : seed_(seed), settle_(settle) {}

    // A rule takes part from here on, behind those before it; it has passed check().
    void add(Rule rule);
    // So many packets of each side and QP are kept for a Replay among chosen actions; a rule sees
    // to that itself. At most max_replay_age.
    void remember(std::uint32_t packets);

    // `chosen` are actions that the caller has decided on for this packet; they act behind the
    // rules, in their order.
    Decision handle(const Passing& packet, std::span<const Action> chosen = {});

    // When held packets next leave by themselves, and those that leave by now.
    [[nodiscard]] std::optional<wire::Instant> next_release() const;
    std::vector<Emission> release(wire::Instant now);

    [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
    [[nodiscard]] const Fired& fired(std::size_t rule) const { return states_[rule].fired; }
    // PSNs and flows that were forgotten to keep within bounds: their next pass counts as first.
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }
    // One sentence for each rule that did not fire as it should have: `fires=N` not met, or never
    // without p=. Empty if all is well.
    [[nodiscard]] std::vector<std::string> unmet() const;

  private:
    // Requests and responses of one side count their PSNs from different ends.
    struct FlowKey {
        Side from = Side::A;
        std::string qp;
        std::uint32_t qpn = 0;
        bool response = false;

        friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
    };
    // Where a PSN's packet stands: written when it is first seen, but for the passes.
    struct Seen {
        std::int64_t pass = 0;
        std::int64_t message = 0;
        std::int64_t packet = 0;
    };
    struct Flow {
        std::map<std::int64_t, Seen> psns;
        std::deque<std::int64_t> order; // oldest first
        std::int64_t message = 0;
        std::int64_t packet = 0;
        wire::Instant free; // a delayed packet holds up those behind it until then
        std::deque<std::vector<std::byte>> sent; // for Replay, oldest first
    };
    using PacketKey = std::pair<FlowKey, std::int64_t>;
    struct RuleState {
        std::uint64_t random = 0;
        Fired fired;
        std::int64_t last_ordinal = 0; // of `nth`
        std::map<PacketKey, std::int64_t> ordinals;
        std::deque<PacketKey> order; // oldest first
    };
    // A packet with all that selectors ask about.
    struct Subject {
        const Passing& passing;
        wire::Frame frame;
        FlowKey key;
        std::uint8_t opcode = 0;
        Seen seen;
    };
    // A packet that leaves later.
    struct Waiting {
        FlowKey key;                  // of its side and QP
        std::uint64_t number = 0;     // in order of coming
        std::uint32_t overtakers = 0; // that it still waits for
        std::optional<Selector> until;
        RuleState until_state; // counts from when it was held
        wire::Instant latest;
        std::vector<Emission> emissions;
    };
    // What becomes of one packet.
    struct Fate {
        bool touched = false;         // only then is `own` filled
        std::vector<Emission> own;    // of the packet itself
        std::vector<Emission> beside; // made or released
        std::optional<Waiting> held;
    };
    class Act;

    Flow& flow_of(const FlowKey& key);
    Seen count(const FlowKey& key, std::int64_t psn, const wire::OpcodeInfo& info);
    bool selected(const Selector& selector, RuleState& state, const Subject& subject);
    std::int64_t ordinal_of(RuleState& state, const Subject& subject);
    void keep_order(const Subject& subject, Decision& decision, Fate& fate);
    void apply_rules(const Subject& subject, std::span<const Action> chosen, Decision& decision,
                     Fate& fate);
    static void touch(const Subject& subject, Fate& fate);
    bool act(const Action& action, const Subject& subject, Decision& decision, Fate& fate);
    [[nodiscard]] Flow& both_ways(FlowKey key); // of the side and QP, requests and responses
    void note_sent(const Subject& subject);
    // The QPN of the packet's sender, as its peer writes it.
    [[nodiscard]] std::optional<std::uint32_t> sender_qpn(const FlowKey& key) const;
    // waiting.cpp
    [[nodiscard]] bool can_wait() const { return waiting_.size() < max_waiting; }
    void release_until(const Subject& subject, std::vector<Emission>& out);
    void left(const FlowKey& key, std::uint64_t number, std::vector<Emission>& out);

    std::uint64_t seed_;
    wire::Duration settle_;
    std::uint64_t packets_ = 0;
    std::size_t replay_depth_ = 0;
    std::deque<Waiting> waiting_; // in order of coming
    std::vector<Rule> rules_;
    std::vector<RuleState> states_;
    std::map<FlowKey, Flow> flows_;
    std::deque<FlowKey> flow_order_; // oldest first
    std::optional<wire::Instant> began_;
    std::uint64_t evicted_ = 0;
};

} // namespace veriroce::fault
