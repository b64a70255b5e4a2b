#include "transport/fault/injector.hpp"

#include <algorithm>
#include <array>

#include "dissector/wire/splitmix64.hpp"
#include "transport/fault/action.hpp"
#include "transport/fault/generated_frames.hpp"

namespace veriroce::fault {
namespace {

// Each rule has its own stream of random numbers.
double fraction(std::uint64_t& state) {
    return static_cast<double>(wire::splitmix64(state) >> 11) * 0x1.0p-53;
}

bool has(const std::optional<Range>& range, std::int64_t value) {
    return !range || range->has(value);
}

bool about(const Selector& selector, const PfcFrame& frame) {
    for (std::size_t i = 0; i < kClasses; ++i) {
        if (frame.about(i) && has(selector.pfc, static_cast<std::int64_t>(i)) &&
            has(selector.quanta, frame.quanta[i])) {
            return true;
        }
    }
    return false;
}

// What only a packet has.
bool asks_packet(const Selector& one) {
    return one.qp || one.connection || one.service_id || one.host || one.opcodes || one.psn ||
           one.message || one.packet || one.pass || one.traffic_class || one.paused;
}

} // namespace

// Applies an action to the frames that are leaving. False if the action could not be applied.
class Injector::Act {
  public:
    Act(Injector& injector, const Subject& subject, PacketResult& result)
        : injector_(injector), subject_(subject), result_(result) {}

    bool operator()(const Drop&) const {
        result_.own.clear();
        return true;
    }
    bool operator()(const Duplicate& duplicate) const {
        if (result_.own.empty()) return false;
        const Emission original = result_.own.front();
        for (std::uint32_t i = 0; i < duplicate.copies; ++i) {
            result_.own.push_back({.frame = original.frame,
                                   .delay = original.delay + duplicate.after,
                                   .from = original.from});
        }
        return true;
    }
    bool operator()(const Delay& delay) const {
        for (Emission& emission : result_.own)
            emission.delay += delay.time;
        return !result_.own.empty();
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
        return beside(*std::move(frame), back ? other_end() : subject_.passing.from);
    }
    bool operator()(const Pause& pause) const {
        return beside(pause_frame(pause, subject_.frame), other_end());
    }

  private:
    [[nodiscard]] wire::Instant now() const { return subject_.passing.now; }
    [[nodiscard]] End other_end() const {
        return subject_.passing.from == End::A ? End::B : End::A;
    }
    bool beside(std::vector<std::byte> frame, End from) const {
        result_.beside.push_back({.frame = std::move(frame), .from = from});
        return true;
    }
    bool wait(HeldPacket waiting) const {
        if (result_.own.empty() || !injector_.can_hold()) return false;
        waiting.key = subject_.key;
        waiting.key.response = false;
        waiting.emissions = std::move(result_.own);
        result_.own.clear();
        result_.held = std::move(waiting);
        return true;
    }
    template <typename Change>
    bool all(const Change& action) const {
        bool acted = false;
        for (Emission& emission : result_.own) {
            TargetFrame target{emission.frame, subject_.frame.layers, subject_.passing.psn};
            if (!change(target, action)) continue;
            emission.frame = std::move(target.frame);
            acted = true;
        }
        return acted;
    }

    Injector& injector_;
    const Subject& subject_;
    PacketResult& result_;
};

std::expected<void, std::string> check_pfc(const Rule& rule) {
    const auto* hold = std::get_if<Hold>(&rule.action);
    const std::array<const Selector*, 2> selectors{&rule.selector,
                                                   hold != nullptr ? &hold->until : nullptr};
    for (const Selector* one : selectors) {
        if (one == nullptr) continue;
        if (one->quanta && !one->pfc) {
            return std::unexpected("quanta= needs the class: pfc=3 quanta=0");
        }
        if (one->pfc && asks_packet(*one)) {
            return std::unexpected(
                "with pfc= a rule selects PFC frames, which have no QP, address, "
                "opcode or PSN: only from=, quanta=, between, nth=, every=, p=, "
                "fires=, first= and rate= go with it");
        }
    }
    const bool possible = std::holds_alternative<Drop>(rule.action) ||
                          std::holds_alternative<Duplicate>(rule.action) ||
                          std::holds_alternative<Delay>(rule.action);
    if (rule.selector.pfc && !possible) {
        return std::unexpected("a PFC frame can be dropped, duplicated or delayed");
    }
    return {};
}

std::expected<void, std::string> check(std::span<const Rule> rules) {
    if (rules.size() > kMaxRules) {
        return std::unexpected("a plan has at most " + std::to_string(kMaxRules) + " rules");
    }
    for (const Rule& rule : rules) {
        if (rule.selector.per_second == 0U) {
            return std::unexpected("line " + std::to_string(rule.line) +
                                   ": a rate is 1 firing per second or more");
        }
        const auto* replay = std::get_if<Replay>(&rule.action);
        if (replay != nullptr && (replay->age == 0 || replay->age > kMaxReplayAge)) {
            return std::unexpected("line " + std::to_string(rule.line) +
                                   ": a replay reaches back 1 to " + std::to_string(kMaxReplayAge) +
                                   " packets");
        }
        if (auto right = check_pfc(rule); !right) {
            return std::unexpected("line " + std::to_string(rule.line) + ": " + right.error());
        }
    }
    return {};
}

std::uint64_t first_random(std::uint64_t seed, std::uint32_t line) {
    std::uint64_t mixed = seed ^ (std::uint64_t{line} * 0xD1B54A32D192ED03U);
    return wire::splitmix64(mixed);
}

void Injector::count_elsewhere(std::size_t rule, const Fired& more) {
    states_[rule].fired.selected += more.selected;
    states_[rule].fired.fired += more.fired;
}

void Injector::remember(std::uint32_t packets) {
    const std::uint32_t depth = std::min(packets, kMaxReplayAge);
    replay_depth_ = std::max<std::size_t>(replay_depth_, depth);
}

void Injector::add(Rule rule) {
    RuleState state;
    state.random = first_random(seed_, rule.line);
    if (const auto* replay = std::get_if<Replay>(&rule.action)) remember(replay->age);
    rules_.push_back(std::move(rule));
    states_.push_back(std::move(state));
}

Injector::Flow& Injector::flow_of(const FlowKey& key) {
    const auto [flow, fresh] = flows_.try_emplace(key);
    if (!fresh) return flow->second;
    flow_order_.push_back(key);
    if (flow_order_.size() > kMaxFlows) {
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
    // A PSN keeps the position (message and packet) that it had when it was first sent.
    flow.packet = info.starts_message() ? 1 : flow.packet + 1;
    if (info.starts_message()) ++flow.message;
    seen->second.message = flow.message;
    seen->second.packet = flow.packet;
    const Seen result = seen->second;
    flow.order.push_back(psn);
    if (flow.order.size() > kMaxPsns) {
        flow.psns.erase(flow.order.front());
        flow.order.pop_front();
        ++evicted_;
    }
    return result;
}

// Retransmissions of a packet keep the ordinal of its first transmission.
std::int64_t Injector::ordinal_of(RuleState& state, const Subject& subject) {
    const PacketKey key{subject.key, subject.passing.psn};
    const auto known = state.ordinals.find(key);
    if (subject.seen.pass > 1) return known == state.ordinals.end() ? 0 : known->second;
    if (known != state.ordinals.end()) return known->second; // its transmissions were evicted
    state.ordinals.emplace(key, ++state.last_ordinal);
    state.order.push_back(key);
    if (state.order.size() > kMaxPsns) {
        state.ordinals.erase(state.order.front());
        state.order.pop_front();
        ++evicted_;
    }
    return state.last_ordinal;
}

// Whether the packet or PFC frame itself matches: everything except pass, nth and the counting
// options.
bool Injector::fits(const Selector& selector, const Subject& subject) {
    const Passing& packet = subject.passing;
    if (selector.from && *selector.from != packet.from) return false;
    if (!has(selector.between, (packet.now - began_.value_or(packet.now)).count())) return false;
    if (selector.pfc || subject.pfc) {
        return selector.pfc && subject.pfc && about(selector, *subject.pfc);
    }
    if (!has(selector.connection, static_cast<std::int64_t>(packet.connection))) return false;
    if (selector.service_id && packet.service_id != *selector.service_id) return false;
    if (selector.host || selector.traffic_class) {
        const wire::Envelope envelope = subject.frame.envelope();
        if (selector.host && envelope.source != *selector.host &&
            envelope.destination != *selector.host) {
            return false;
        }
        if (!has(selector.traffic_class, class_of(envelope))) return false;
    }
    if (selector.qp) {
        const auto* name = std::get_if<std::string>(&*selector.qp);
        const bool same = name != nullptr ? *name == packet.qp
                                          : std::get<std::uint32_t>(*selector.qp) == packet.qpn;
        if (!same) return false;
    }
    if (selector.opcodes && !selector.opcodes->test(subject.opcode)) return false;
    if (selector.paused && !pauses_.paused(packet.from, *selector.paused, packet.now)) return false;
    return has(selector.psn, packet.psn) && has(selector.message, subject.seen.message) &&
           has(selector.packet, subject.seen.packet);
}

bool Injector::selected(const Selector& selector, RuleState& state, const Subject& subject) {
    const Passing& packet = subject.passing;
    if (!fits(selector, subject)) return false;
    // Before `pass`: a retransmission of the third packet is still the third packet.
    if (selector.nth && !selector.nth->has(ordinal_of(state, subject))) return false;
    if (!has(selector.pass, subject.seen.pass)) return false;
    ++state.fired.selected;
    if (selector.every && state.fired.selected % *selector.every != 0) return false;
    // Every packet that gets here draws a number, so that the stream depends on this rule alone.
    if (selector.probability && fraction(state.random) >= *selector.probability) return false;
    if (selector.per_second && state.last_fired &&
        packet.now - *state.last_fired <
            wire::Duration(std::chrono::seconds(1)) / *selector.per_second) {
        return false;
    }
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

// A delayed packet stays ahead of later packets of its side and QP.
void Injector::keep_order(const Subject& subject, Decision& decision, PacketResult& result) {
    Flow& flow = both_ways(subject.key);
    const wire::Instant now = subject.passing.now;
    if (flow.free <= now && decision.untouched) return;
    touch(subject, result);
    if (result.own.empty()) return;
    decision.untouched = false;
    Emission& first = result.own.front();
    first.delay = std::max(first.delay, flow.free - now);
    flow.free = std::max(flow.free, now + first.delay);
}

// Copies the frame only if an action applies to it.
void Injector::touch(const Subject& subject, PacketResult& result) {
    if (std::exchange(result.touched, true)) return;
    const wire::Bytes frame = subject.passing.frame;
    result.own.push_back({.frame = {frame.begin(), frame.end()}, .from = subject.passing.from});
}

bool Injector::act(const Action& action, const Subject& subject, Decision& decision,
                   PacketResult& result) {
    touch(subject, result);
    if (!std::visit(Act(*this, subject, result), action)) return false;
    decision.untouched = false;
    return true;
}

void Injector::apply_rules(const Subject& subject, std::span<const Action> chosen,
                           Decision& decision, PacketResult& result) {
    bool more = true;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        // Every rule counts and draws, even if an earlier rule has acted.
        if (!selected(rules_[i].selector, states_[i], subject) || !more) continue;
        if (!act(rules_[i].action, subject, decision, result)) continue;
        decision.rules.push_back(i);
        ++states_[i].fired.fired;
        states_[i].last_fired = subject.passing.now;
        more = rules_[i].also;
    }
    for (const Action& action : chosen) {
        if (act(action, subject, decision, result)) ++decision.chosen;
    }
}

void Injector::note_pause(End end, wire::Bytes frame, wire::Instant now) {
    if (const auto pfc = pfc_of(frame)) pauses_.tell(end, *pfc, now);
}

// Of the frames that leave.
void Injector::note_pauses(const Decision& decision, wire::Instant now) {
    for (const Emission& one : decision.emissions)
        note_pause(one.from == End::A ? End::B : End::A, one.frame, now + one.delay);
}

// Each PFC frame counts as sent once: it has no PSN. It neither overtakes held packets nor waits
// for delayed ones.
Decision Injector::handle_pfc(const Passing& packet) {
    Decision decision;
    const auto pfc = pfc_of(packet.frame);
    if (!pfc) return decision; // no rule applies
    Passing numbered = packet;
    numbered.qp = {};
    numbered.qpn = 0;
    numbered.psn = ++pfc_frames_;
    const Subject subject{numbered, {}, {packet.from, {}, 0, false}, 0, {.pass = 1}, pfc};
    PacketResult result;
    apply_rules(subject, {}, decision, result);
    release_until(subject, result.beside);
    if (decision.untouched)
        note_pause(packet.from == End::A ? End::B : End::A, packet.frame, packet.now);
    if (decision.untouched && result.beside.empty()) return decision;
    touch(subject, result);
    decision.emissions = std::move(result.own);
    if (!std::exchange(decision.untouched, false)) note_pauses(decision, packet.now);
    std::ranges::move(result.beside, std::back_inserter(decision.emissions));
    return decision;
}

Decision Injector::handle(const Passing& packet, std::span<const Action> chosen) {
    Decision decision;
    auto frame = wire::decode_frame(packet.frame);
    if (!frame) return handle_pfc(packet);
    if (!began_) began_ = packet.now;
    wire::map_transport(*frame);
    const std::uint8_t opcode = wire::load_u8(frame->transport, 0);
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    Subject subject{packet,
                    *frame,
                    {packet.from, std::string(packet.qp), packet.qpn, info.response()},
                    opcode,
                    {}};
    subject.seen = count(subject.key, packet.psn, info);
    decision.pass = subject.seen.pass;
    decision.message = subject.seen.message;
    decision.packet = subject.seen.packet;
    const std::uint64_t number = ++packets_;
    PacketResult result;
    apply_rules(subject, chosen, decision, result);
    keep_order(subject, decision, result);
    FlowKey key = subject.key;
    key.response = false;
    release_until(subject, result.beside);
    if (!result.touched || !result.own.empty()) left(key, number, result.beside);
    if (result.held) {
        result.held->number = number;
        held_.push_back(*std::move(result.held));
    }
    note_sent(subject);
    if (decision.untouched && result.beside.empty()) return decision;
    touch(subject, result);
    decision.untouched = false;
    decision.emissions = std::move(result.own);
    std::ranges::move(result.beside, std::back_inserter(decision.emissions));
    note_pauses(decision, packet.now);
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
            sentences.push_back(where + "fired " + std::to_string(fired) + " times, expected " +
                                std::to_string(*selector.fires));
        } else if (!selector.fires && !selector.probability && fired == 0) {
            sentences.push_back(where + "never fired");
        }
    }
    return sentences;
}

} // namespace veriroce::fault
