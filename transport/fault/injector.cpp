#include "transport/fault/injector.hpp"

#include <algorithm>

#include "transport/fault/action.hpp"

namespace veriroce::fault {
namespace {

// splitmix64: small, and the same everywhere.
std::uint64_t draw(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

double fraction(std::uint64_t& state) {
    return static_cast<double>(draw(state) >> 11) * 0x1.0p-53;
}

bool has(const std::optional<Range>& range, std::int64_t value) {
    return !range || range->has(value);
}

// What the selector says about the packet itself: all but pass, nth and the counting words.
bool fits(const Selector& selector, const Passing& packet, std::uint8_t opcode,
          std::int64_t message, std::int64_t number, wire::Instant began) {
    if (selector.from && *selector.from != packet.from) return false;
    if (selector.qp) {
        const auto* name = std::get_if<std::string>(&*selector.qp);
        const bool same = name != nullptr ? *name == packet.qp
                                          : std::get<std::uint32_t>(*selector.qp) == packet.qpn;
        if (!same) return false;
    }
    if (selector.opcodes && !selector.opcodes->test(opcode)) return false;
    return has(selector.psn, packet.psn) && has(selector.message, message) &&
           has(selector.packet, number) && has(selector.between, (packet.now - began).count());
}

std::string_view name_of_unfinished(const Action& action) {
    struct Names {
        std::string_view operator()(const Drop&) const { return {}; }
        std::string_view operator()(const Duplicate&) const { return {}; }
        std::string_view operator()(const Delay&) const { return {}; }
        std::string_view operator()(const Corrupt&) const { return {}; }
        std::string_view operator()(const Rewrite&) const { return {}; }
        std::string_view operator()(const Truncate&) const { return {}; }
        std::string_view operator()(const MarkCe&) const { return {}; }
        std::string_view operator()(const Reorder&) const { return "reorder"; }
        std::string_view operator()(const Hold&) const { return "hold"; }
        std::string_view operator()(const Replay&) const { return "replay"; }
        std::string_view operator()(const Forge&) const { return "forge"; }
        std::string_view operator()(const Pause&) const { return "pause"; }
    };
    return std::visit(Names{}, action);
}

// Carries an action out on what leaves so far. False if it could not act.
class Act {
  public:
    Act(Decision& decision, const wire::LayerMap& layers, std::int64_t psn)
        : decision_(decision), layers_(layers), psn_(psn) {}

    bool operator()(const Drop&) const {
        decision_.emissions.clear();
        return true;
    }
    bool operator()(const Duplicate& duplicate) const {
        if (decision_.emissions.empty()) return false;
        const Emission original = decision_.emissions.front();
        for (std::uint32_t i = 0; i < duplicate.copies; ++i)
            decision_.emissions.push_back({original.frame, original.delay + duplicate.after});
        return true;
    }
    bool operator()(const Delay& delay) const {
        for (Emission& emission : decision_.emissions)
            emission.delay += delay.time;
        return !decision_.emissions.empty();
    }
    bool operator()(const Corrupt& corrupt) const { return all(corrupt); }
    bool operator()(const Rewrite& rewrite) const { return all(rewrite); }
    bool operator()(const Truncate& truncate) const { return all(truncate); }
    bool operator()(const MarkCe& mark) const { return all(mark); }
    // check() refuses plans with these.
    bool operator()(const Reorder&) const { return false; }
    bool operator()(const Hold&) const { return false; }
    bool operator()(const Replay&) const { return false; }
    bool operator()(const Forge&) const { return false; }
    bool operator()(const Pause&) const { return false; }

  private:
    template <typename Change>
    bool all(const Change& action) const {
        bool acted = false;
        for (Emission& emission : decision_.emissions) {
            Victim victim{emission.frame, layers_, psn_};
            if (!change(victim, action)) continue;
            emission.frame = std::move(victim.frame);
            acted = true;
        }
        return acted;
    }

    Decision& decision_;
    const wire::LayerMap& layers_;
    std::int64_t psn_;
};

} // namespace

std::optional<std::string> not_yet(const Rule& rule) {
    const std::string_view name = name_of_unfinished(rule.action);
    if (name.empty()) return std::nullopt;
    return "the fault action '" + std::string(name) + "' is not carried out yet";
}

std::expected<void, std::string> check(std::span<const Rule> rules) {
    if (rules.size() > max_rules) {
        return std::unexpected("a plan has at most " + std::to_string(max_rules) + " rules");
    }
    for (const Rule& rule : rules) {
        if (const auto reason = not_yet(rule)) {
            return std::unexpected("line " + std::to_string(rule.line) + ": " + *reason);
        }
    }
    return {};
}

void Injector::add(Rule rule) {
    RuleState state;
    std::uint64_t mixed = seed_ ^ (std::uint64_t{rule.line} * 0xD1B54A32D192ED03U);
    state.random = draw(mixed);
    rules_.push_back(std::move(rule));
    states_.push_back(std::move(state));
}

Injector::Flow& Injector::flow_of(const FlowKey& key) {
    const auto [flow, fresh] = flows_.try_emplace(key);
    if (!fresh) return flow->second;
    flow_order_.push_back(key);
    if (flow_order_.size() > max_flows) {
        flows_.erase(flow_order_.front());
        flow_order_.pop_front();
        ++evicted_;
    }
    return flow->second;
}

Injector::Seen Injector::count(const FlowKey& key, std::int64_t psn, const wire::OpcodeInfo& info) {
    Flow& flow = flow_of(key);
    const auto [seen, fresh] = flow.psns.try_emplace(psn);
    ++seen->second.pass;
    if (!fresh) return seen->second;
    // Where a PSN stands in which message is what it was when it was first sent.
    flow.packet = info.starts_message() ? 1 : flow.packet + 1;
    if (info.starts_message()) ++flow.message;
    seen->second.message = flow.message;
    seen->second.packet = flow.packet;
    const Seen result = seen->second;
    flow.order.push_back(psn);
    if (flow.order.size() > max_psns) {
        flow.psns.erase(flow.order.front());
        flow.order.pop_front();
        ++evicted_;
    }
    return result;
}

// Later passes of a packet keep the ordinal of its first.
std::int64_t Injector::ordinal_of(RuleState& state, const Subject& subject) {
    const PacketKey key{subject.key, subject.passing.psn};
    const auto known = state.ordinals.find(key);
    if (subject.seen.pass > 1) return known == state.ordinals.end() ? 0 : known->second;
    if (known != state.ordinals.end()) return known->second; // its passes were forgotten
    state.ordinals.emplace(key, ++state.last_ordinal);
    state.order.push_back(key);
    if (state.order.size() > max_psns) {
        state.ordinals.erase(state.order.front());
        state.order.pop_front();
        ++evicted_;
    }
    return state.last_ordinal;
}

bool Injector::selected(const Rule& rule, RuleState& state, const Subject& subject) {
    const Selector& selector = rule.selector;
    const Passing& packet = subject.passing;
    if (!fits(selector, packet, subject.opcode, subject.seen.message, subject.seen.packet,
              *began_)) {
        return false;
    }
    // Before `pass`: the third packet's retransmission is still that of the third.
    if (selector.nth && !selector.nth->has(ordinal_of(state, subject))) return false;
    if (!has(selector.pass, subject.seen.pass)) return false;
    ++state.fired.selected;
    if (selector.every && state.fired.selected % *selector.every != 0) return false;
    // Drawn for every packet that gets here, so that the stream depends on this rule alone.
    if (selector.probability && fraction(state.random) >= *selector.probability) return false;
    return !selector.first || state.fired.fired < *selector.first;
}

// A delayed packet is not overtaken by those behind it on its side of the QP.
void Injector::keep_order(const Subject& subject, Decision& decision) {
    FlowKey key = subject.key;
    key.response = false;
    Flow& flow = flow_of(key);
    const wire::Instant now = subject.passing.now;
    if (flow.free <= now && decision.untouched) return;
    if (decision.untouched) {
        const wire::Bytes bytes = subject.passing.frame;
        decision.emissions.push_back({{bytes.begin(), bytes.end()}, {}});
        decision.untouched = false;
    }
    if (decision.emissions.empty()) return;
    Emission& first = decision.emissions.front();
    first.delay = std::max(first.delay, flow.free - now);
    flow.free = std::max(flow.free, now + first.delay);
}

Decision Injector::handle(const Passing& packet) {
    Decision decision;
    if (!began_) began_ = packet.now;
    auto frame = wire::decode_frame(packet.frame);
    if (!frame) return decision; // not RoCEv2: no rule speaks of it
    wire::map_transport(*frame);
    const std::uint8_t opcode = wire::load_u8(frame->transport, 0);
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    Subject subject{packet,
                    *frame,
                    {packet.from, std::string(packet.qp), packet.qpn, info.response()},
                    opcode,
                    {}};
    subject.seen = count(subject.key, packet.psn, info);
    bool more = true;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        // Every rule counts and draws, also when an earlier one has acted.
        if (!selected(rules_[i], states_[i], subject) || !more) continue;
        Decision after = decision;
        if (after.untouched) {
            after.emissions.push_back({{packet.frame.begin(), packet.frame.end()}, {}});
            after.untouched = false;
        }
        if (!std::visit(Act(after, frame->layers, packet.psn), rules_[i].action)) continue;
        decision = std::move(after);
        decision.rules.push_back(i);
        ++states_[i].fired.fired;
        more = rules_[i].also;
    }
    keep_order(subject, decision);
    return decision;
}

std::vector<std::string> Injector::unmet() const {
    std::vector<std::string> sentences;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const Selector& selector = rules_[i].selector;
        const std::uint64_t fired = states_[i].fired.fired;
        const std::string where =
            "line " + std::to_string(rules_[i].line) + ": '" + rules_[i].text + "' ";
        if (selector.fires && *selector.fires != fired) {
            sentences.push_back(where + "fired " + std::to_string(fired) + " times, not " +
                                std::to_string(*selector.fires));
        } else if (!selector.fires && !selector.probability && fired == 0) {
            sentences.push_back(where + "never fired");
        }
    }
    return sentences;
}

} // namespace veriroce::fault
