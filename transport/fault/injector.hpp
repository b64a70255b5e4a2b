// The injector: applies a fault plan to packets, one at a time, in the order in which they pass.
// The same for simulation, live tests and the bump in the wire: bytes in, emissions out; no clock,
// no link.
//
// Units: `psn` counts from the asking side's first; times are instants and durations of the
// caller's time line. Random draws come from the seed and the rule's line alone, so that adding a
// rule changes no other's draws.
// Errors: check() says which action is not carried out yet; a plan with one is refused whole.
// Bounds: kept PSNs a flow, flows, and ordinals a rule are limited; what is forgotten is counted.
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

// One frame that leaves, so much later than the packet came.
struct Emission {
    std::vector<std::byte> frame;
    wire::Duration delay{0};
};

struct Decision {
    bool untouched = true;           // the packet goes on as it came; `emissions` is empty
    std::vector<Emission> emissions; // else what leaves in its place; none: dropped
    std::vector<std::size_t> rules;  // indices of the rules that acted
};

struct Fired {
    std::uint64_t selected = 0; // packets that all but every, p and first selected
    std::uint64_t fired = 0;    // and on which the action could be carried out
};

inline constexpr std::size_t max_psns = 65'536; // a flow's PSNs whose passes are known
inline constexpr std::size_t max_flows = 512;
inline constexpr std::size_t max_rules = 256;

// What is wrong with the plan: an action or selector that is not carried out yet, too many rules.
std::expected<void, std::string> check(std::span<const Rule> rules);
// Of one rule: the construct that is not carried out yet, or nothing.
std::optional<std::string> not_yet(const Rule& rule);

class Injector {
  public:
    explicit Injector(std::uint64_t seed) : seed_(seed) {}

    // A rule takes part from here on, behind those before it; it has passed check().
    void add(Rule rule);

    Decision handle(const Passing& packet);

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

    Flow& flow_of(const FlowKey& key);
    Seen count(const FlowKey& key, std::int64_t psn, const wire::OpcodeInfo& info);
    bool selected(const Rule& rule, RuleState& state, const Subject& subject);
    std::int64_t ordinal_of(RuleState& state, const Subject& subject);
    void keep_order(const Subject& subject, Decision& decision);

    std::uint64_t seed_;
    std::vector<Rule> rules_;
    std::vector<RuleState> states_;
    std::map<FlowKey, Flow> flows_;
    std::deque<FlowKey> flow_order_; // oldest first
    std::optional<wire::Instant> began_;
    std::uint64_t evicted_ = 0;
};

} // namespace veriroce::fault
