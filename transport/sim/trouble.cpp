#include "transport/sim/trouble.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/wire/opcode.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::sim {

namespace {

using wire::Field;

// The shortest timeout of all requesters: what is late by more would look like a loss to them.
wire::Duration shortest_timeout(const Scenario& scenario) {
    wire::Duration shortest = std::chrono::milliseconds(1);
    for (const ConnectionPlan& connection : scenario.connections) {
        for (const DirectionPlan& direction : connection.directions) {
            const auto timeout = wire::ack_timeout(direction.timeout);
            if (timeout) shortest = std::min<wire::Duration>(shortest, *timeout);
        }
    }
    return shortest;
}

std::map<Spot, Injected> by_spot(std::span<const Injected> exactly) {
    std::map<Spot, Injected> map;
    for (const Injected& injected : exactly)
        map.emplace(injected.spot, injected);
    return map;
}

std::string microseconds(wire::Duration time) {
    return fmt::format("{}ns", time.count());
}

struct ActionText {
    std::string operator()(const fault::Drop&) const { return "drop"; }
    std::string operator()(const fault::Duplicate& it) const {
        return fmt::format("duplicate n={} after={}", it.copies, microseconds(it.after));
    }
    std::string operator()(const fault::Delay& it) const {
        return fmt::format("delay {}", microseconds(it.time));
    }
    std::string operator()(const fault::Reorder& it) const {
        return fmt::format("reorder by={}", it.by);
    }
    std::string operator()(const fault::Hold& it) const {
        return fmt::format("hold until from={} nth={} for={}",
                           it.until.from == fault::Side::A ? 'a' : 'b',
                           it.until.nth ? it.until.nth->low : 1, microseconds(it.longest));
    }
    std::string operator()(const fault::Corrupt& it) const {
        if (const auto* bit = std::get_if<fault::CorruptBit>(&it.where)) {
            return fmt::format("corrupt bit={}", bit->bit);
        }
        if (const auto* byte = std::get_if<fault::CorruptByte>(&it.where)) {
            return fmt::format("corrupt byte={}", byte->byte);
        }
        const Field field = std::get<fault::CorruptField>(it.where).field;
        return fmt::format("corrupt field={}", wire::field_info(field).name);
    }
    std::string operator()(const fault::Rewrite& it) const { return "rewrite" + fields(it.fields); }
    std::string operator()(const fault::Truncate& it) const {
        return fmt::format("truncate={}", it.bytes);
    }
    std::string operator()(const fault::MarkCe&) const { return "mark ce"; }
    std::string operator()(const fault::Replay& it) const {
        return fmt::format("replay age={}", it.age);
    }
    std::string operator()(const fault::Forge& it) const {
        return fmt::format("forge {}{}{}", wire::opcode_info(it.packet.opcode).name,
                           fields(it.packet.fields),
                           it.to == fault::ForgeTo::Sender ? " to=sender" : "");
    }
    std::string operator()(const fault::Pause& it) const {
        return fmt::format("pause class={} quanta={}", it.priority, it.quanta);
    }

    static std::string fields(const std::vector<wire::PacketSpec::Written>& written) {
        std::string text;
        for (const auto& [field, value] : written) {
            if (const auto* number = std::get_if<std::uint64_t>(&value)) {
                text += fmt::format(" {}={}", wire::field_info(field).name, *number);
            }
        }
        return text;
    }
};

} // namespace

std::string text_of(const Injected& injected) {
    const Spot& spot = injected.spot;
    return fmt::format("{} when from={} qp=q{} psn={} pass={} opcode={}",
                       std::visit(ActionText{}, injected.action), spot.from() == 0 ? 'a' : 'b',
                       spot.connection, injected.psn, spot.pass,
                       spot.response ? "responses" : "requests");
}

Trouble::Trouble(const Scenario& scenario)
    : scenario_(scenario), dice_(Dice(scenario.seed).part(40)),
      longest_delay_(shortest_timeout(scenario)), courses_(scenario.connections.size()) {}

Trouble::Trouble(const Scenario& scenario, std::span<const Injected> exactly) : Trouble(scenario) {
    exactly_ = by_spot(exactly);
}

void Trouble::progress(std::size_t connection, std::size_t asking) {
    courses_[connection][asking].went_back = 0;
}

// A request that is not further than the one before it says that the requester went back; where it
// goes back to a later packet than last time, it has got on in between.
void Trouble::follow(Course& course, std::int64_t psn) {
    if (psn <= course.last) {
        course.went_back = psn > course.went_back_to ? 1 : course.went_back + 1;
        course.went_back_to = psn;
    }
    course.last = psn;
    course.highest = std::max(course.highest, psn);
}

bool Trouble::spared(const Spot& spot) const {
    const auto& courses = courses_[spot.connection];
    return std::ranges::any_of(courses, [this](const Course& course) {
        return course.went_back >= scenario_.trouble.tries;
    });
}

bool Trouble::suffers(const Spot& spot) const {
    const TroublePlan& plan = scenario_.trouble;
    const auto& ends = scenario_.connections[spot.connection].endpoints;
    return (spot.response ? plan.responses : plan.requests) &&
           (!plan.only_from || *plan.only_from == ends[spot.from()]);
}

fault::Action Trouble::action_of(FaultKind kind, const Spot& spot, std::size_t frame_bytes) {
    constexpr std::size_t ethernet = 14;
    const std::size_t bytes = frame_bytes - ethernet;
    const auto delay = [this] {
        return wire::Duration(dice_.below(static_cast<std::uint64_t>(longest_delay_.count())));
    };
    switch (kind) {
    case FaultKind::Drop: return fault::Drop{};
    case FaultKind::Duplicate:
        return fault::Duplicate{.copies = static_cast<std::uint32_t>(1 + dice_.below(3)),
                                .after = dice_.one_in(2) ? wire::Duration{0} : delay()};
    case FaultKind::Delay: return fault::Delay{delay()};
    case FaultKind::Reorder: return fault::Reorder{static_cast<std::uint32_t>(1 + dice_.below(6))};
    case FaultKind::Hold: {
        const auto nth = static_cast<std::int64_t>(1 + dice_.below(4));
        return fault::Hold{.until = {.from = spot.from() == 0 ? fault::Side::B : fault::Side::A,
                                     .qp = "q" + std::to_string(spot.connection),
                                     .nth = fault::Range{nth, nth}},
                           .longest = delay()};
    }
    case FaultKind::CorruptBit: return fault::Corrupt{fault::CorruptBit{dice_.below(bytes * 8)}};
    case FaultKind::CorruptByte: return fault::Corrupt{fault::CorruptByte{dice_.below(bytes)}};
    case FaultKind::CorruptField:
        return fault::Corrupt{fault::CorruptField{
            dice_.pick(std::array{Field::Opcode, Field::Pad, Field::TVer, Field::Pkey, Field::Fecn,
                                  Field::DestQp, Field::AckReq, Field::Psn, Field::Icrc})}};
    case FaultKind::Truncate: return fault::Truncate{dice_.below(bytes)};
    case FaultKind::MarkCe: return fault::MarkCe{};
    case FaultKind::Rewrite: // what a router does
        return fault::Rewrite{{{Field::IpTtl, 1 + dice_.below(254)}}};
    case FaultKind::Replay: return fault::Replay{static_cast<std::uint32_t>(1 + dice_.below(12))};
    case FaultKind::Forge: // a CNP, which moves no data
        return fault::Forge{.packet = {.opcode = wire::opcode_by_name("CNP").value_or(0x81),
                                       .fields = {{Field::Becn, std::uint64_t{1}}}},
                            .to = dice_.one_in(2) ? fault::ForgeTo::Sender
                                                  : fault::ForgeTo::Receiver};
    }
    return fault::Drop{};
}

std::optional<Injected> Trouble::befalls(const Spot& spot, std::int64_t psn,
                                         std::size_t frame_bytes, wire::Instant now) {
    if (!spot.response) follow(courses_[spot.connection][spot.asking], psn);
    if (exactly_) {
        const auto known = exactly_->find(spot);
        if (known == exactly_->end() || spared(spot)) return std::nullopt;
        Injected again = known->second;
        again.psn = psn;
        return again;
    }
    if (now >= wire::Instant{scenario_.trouble.until} || spared(spot) || !suffers(spot)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
        const std::uint32_t rate = scenario_.trouble.one_in[i];
        if (rate == 0 || !dice_.one_in(rate)) continue;
        const auto kind = static_cast<FaultKind>(i);
        return Injected{spot, kind, action_of(kind, spot, frame_bytes), psn};
    }
    return std::nullopt;
}

} // namespace veriroce::sim
