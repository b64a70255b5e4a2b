#include "transport/fault/injector.hpp"

#include <algorithm>

#include "transport/fault/action.hpp"
#include "transport/fault/made.hpp"

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

} // namespace

// Carries an action out on what leaves so far. False if it could not act.
class Injector::Act {
  public:
    Act(Injector& injector, const Subject& subject, Fate& fate)
        : injector_(injector), subject_(subject), fate_(fate) {}

    bool operator()(const Drop&) const {
        fate_.own.clear();
        return true;
    }
    bool operator()(const Duplicate& duplicate) const {
        if (fate_.own.empty()) return false;
        const Emission original = fate_.own.front();
        for (std::uint32_t i = 0; i < duplicate.copies; ++i) {
            fate_.own.push_back({.frame = original.frame,
                                 .delay = original.delay + duplicate.after,
                                 .from = original.from});
        }
        return true;
    }
    bool operator()(const Delay& delay) const {
        for (Emission& emission : fate_.own)
            emission.delay += delay.time;
        return !fate_.own.empty();
    }
    bool operator()(const Reorder& reorder) const {
        return wait({.overtakers = reorder.by, .latest = injector_.settle_ + now()});
    }
    bool operator()(const Hold& hold) const {
        return wait({.until = hold.until, .latest = now() + hold.longest});
    }
    bool operator()(const Corrupt& corrupt) const { return all(corrupt); }
    bool operator()(const Rewrite& rewrite) const { return all(rewrite); }
    bool operator()(const Truncate& truncate) const { return all(truncate); }
    bool operator()(const MarkCe& mark) const { return all(mark); }
    bool operator()(const Replay& replay) const {
        const auto& sent = injector_.both_ways(subject_.key).sent;
        if (replay.age == 0 || replay.age > sent.size()) return false;
        return beside(sent[sent.size() - replay.age], subject_.passing.from);
    }
    bool operator()(const Forge& forge) const {
        auto frame = forged(forge, {.frame = subject_.frame,
                                    .psn = subject_.passing.psn,
                                    .other_qpn = injector_.sender_qpn(subject_.key)});
        if (!frame) return false;
        const bool back = forge.to == ForgeTo::Sender;
        return beside(*std::move(frame), back ? other_side() : subject_.passing.from);
    }
    bool operator()(const Pause& pause) const {
        return beside(pause_frame(pause, subject_.frame), other_side());
    }

  private:
    [[nodiscard]] wire::Instant now() const { return subject_.passing.now; }
    [[nodiscard]] Side other_side() const {
        return subject_.passing.from == Side::A ? Side::B : Side::A;
    }
    bool beside(std::vector<std::byte> frame, Side from) const {
        fate_.beside.push_back({.frame = std::move(frame), .from = from});
        return true;
    }
    bool wait(Waiting waiting) const {
        if (fate_.own.empty() || !injector_.can_wait()) return false;
        waiting.key = subject_.key;
        waiting.key.response = false;
        waiting.emissions = std::move(fate_.own);
        fate_.own.clear();
        fate_.held = std::move(waiting);
        return true;
    }
    template <typename Change>
    bool all(const Change& action) const {
        bool acted = false;
        for (Emission& emission : fate_.own) {
            Victim victim{emission.frame, subject_.frame.layers, subject_.passing.psn};
            if (!change(victim, action)) continue;
            emission.frame = std::move(victim.frame);
            acted = true;
        }
        return acted;
    }

    Injector& injector_;
    const Subject& subject_;
    Fate& fate_;
};

std::expected<void, std::string> check(std::span<const Rule> rules) {
    if (rules.size() > max_rules) {
        return std::unexpected("a plan has at most " + std::to_string(max_rules) + " rules");
    }
    for (const Rule& rule : rules) {
        const auto* replay = std::get_if<Replay>(&rule.action);
        if (replay != nullptr && (replay->age == 0 || replay->age > max_replay_age)) {
            return std::unexpected("line " + std::to_string(rule.line) +
                                   ": a replay reaches back 1 to " +
                                   std::to_string(max_replay_age) + " packets");
        }
    }
    return {};
}

void Injector::remember(std::uint32_t packets) {
    const std::uint32_t depth = std::min(packets, max_replay_age);
    replay_depth_ = std::max<std::size_t>(replay_depth_, depth);
}

void Injector::add(Rule rule) {
    RuleState state;
    std::uint64_t mixed = seed_ ^ (std::uint64_t{rule.line} * 0xD1B54A32D192ED03U);
    state.random = draw(mixed);
    if (const auto* replay = std::get_if<Replay>(&rule.action)) remember(replay->age);
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

bool Injector::selected(const Selector& selector, RuleState& state, const Subject& subject) {
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

Injector::Flow& Injector::both_ways(FlowKey key) {
    key.response = false;
    return flow_of(key);
}

std::optional<std::uint32_t> Injector::sender_qpn(const FlowKey& key) const {
    std::optional<std::uint32_t> found;
    for (const auto& [other, flow] : flows_) {
        if (other.from == key.from || other.qp != key.qp) continue;
        if (found && *found != other.qpn) return std::nullopt; // several QPs without names
        found = other.qpn;
    }
    return found;
}

void Injector::note_sent(const Subject& subject) {
    if (replay_depth_ == 0) return;
    auto& sent = both_ways(subject.key).sent;
    const wire::Bytes frame = subject.passing.frame;
    sent.emplace_back(frame.begin(), frame.end());
    if (sent.size() > replay_depth_) sent.pop_front();
}

// A delayed packet is not overtaken by those behind it on its side of the QP.
void Injector::keep_order(const Subject& subject, Decision& decision, Fate& fate) {
    Flow& flow = both_ways(subject.key);
    const wire::Instant now = subject.passing.now;
    if (flow.free <= now && decision.untouched) return;
    touch(subject, fate);
    if (fate.own.empty()) return;
    decision.untouched = false;
    Emission& first = fate.own.front();
    first.delay = std::max(first.delay, flow.free - now);
    flow.free = std::max(flow.free, now + first.delay);
}

// A packet that nothing happens to is not copied.
void Injector::touch(const Subject& subject, Fate& fate) {
    if (std::exchange(fate.touched, true)) return;
    const wire::Bytes frame = subject.passing.frame;
    fate.own.push_back({.frame = {frame.begin(), frame.end()}, .from = subject.passing.from});
}

bool Injector::act(const Action& action, const Subject& subject, Decision& decision, Fate& fate) {
    touch(subject, fate);
    if (!std::visit(Act(*this, subject, fate), action)) return false;
    decision.untouched = false;
    return true;
}

void Injector::apply_rules(const Subject& subject, std::span<const Action> chosen,
                           Decision& decision, Fate& fate) {
    bool more = true;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        // Every rule counts and draws, also when an earlier one has acted.
        if (!selected(rules_[i].selector, states_[i], subject) || !more) continue;
        if (!act(rules_[i].action, subject, decision, fate)) continue;
        decision.rules.push_back(i);
        ++states_[i].fired.fired;
        more = rules_[i].also;
    }
    for (const Action& action : chosen) {
        if (act(action, subject, decision, fate)) ++decision.chosen;
    }
}

Decision Injector::handle(const Passing& packet, std::span<const Action> chosen) {
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
    const std::uint64_t number = ++packets_;
    Fate fate;
    apply_rules(subject, chosen, decision, fate);
    keep_order(subject, decision, fate);
    FlowKey key = subject.key;
    key.response = false;
    release_until(subject, fate.beside);
    if (!fate.touched || !fate.own.empty()) left(key, number, fate.beside);
    if (fate.held) {
        fate.held->number = number;
        waiting_.push_back(*std::move(fate.held));
    }
    note_sent(subject);
    if (decision.untouched && fate.beside.empty()) return decision;
    touch(subject, fate);
    decision.untouched = false;
    decision.emissions = std::move(fate.own);
    std::ranges::move(fate.beside, std::back_inserter(decision.emissions));
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
