#include "transport/sim/network_faults.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/wire/opcode.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::sim {

namespace {

using wire::Field;

// The shortest timeout of all requesters: a longer delay would count as a loss.
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

std::map<PacketId, Injected> by_packet_id(std::span<const Injected> exactly) {
    std::map<PacketId, Injected> map;
    for (const Injected& injected : exactly)
        map.emplace(injected.packet_id, injected);
    return map;
}

std::string time_text(wire::Duration time) {
    return fmt::format("{}ns", time.count());
}

struct ActionText {
    std::string operator()(const fault::Drop&) const { return "drop"; }
    std::string operator()(const fault::Duplicate& it) const {
        return fmt::format("duplicate n={} after={}", it.copies, time_text(it.after));
    }
    std::string operator()(const fault::Delay& it) const {
        return fmt::format("delay {}", time_text(it.time));
    }
    std::string operator()(const fault::Reorder& it) const {
        return fmt::format("reorder by={}", it.by);
    }
    std::string operator()(const fault::Hold& it) const {
        return fmt::format("hold until from={} nth={} for={}",
                           it.until.from == fault::End::A ? 'a' : 'b',
                           it.until.nth ? it.until.nth->low : 1, time_text(it.longest));
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
    const PacketId& packet_id = injected.packet_id;
    return fmt::format("{} when from={} qp=q{} psn={} pass={} opcode={}",
                       std::visit(ActionText{}, injected.action), packet_id.from() == 0 ? 'a' : 'b',
                       packet_id.connection, injected.psn, packet_id.pass,
                       packet_id.response ? "responses" : "requests");
}

NetworkFaults::NetworkFaults(const Scenario& scenario)
    : scenario_(scenario), random_(Random(scenario.seed).part(40)),
      longest_delay_(shortest_timeout(scenario)), requesters_(scenario.connections.size()) {}

NetworkFaults::NetworkFaults(const Scenario& scenario, std::span<const Injected> exactly)
    : NetworkFaults(scenario) {
    exactly_ = by_packet_id(exactly);
}

void NetworkFaults::progress(std::size_t connection, std::size_t requester) {
    requesters_[connection][requester].went_back = 0;
}

// A PSN that does not advance means that the requester went back. If it goes back less far than
// last time, it has made progress in between.
void NetworkFaults::follow(RequesterProgress& requester, std::int64_t psn) {
    if (psn <= requester.last) {
        requester.went_back = psn > requester.went_back_to ? 1 : requester.went_back + 1;
        requester.went_back_to = psn;
    }
    requester.last = psn;
}

bool NetworkFaults::spared(const PacketId& packet_id) const {
    const auto& requesters = requesters_[packet_id.connection];
    return std::ranges::any_of(requesters, [this](const RequesterProgress& requester) {
        return requester.went_back >= scenario_.fault_rates.tries;
    });
}

bool NetworkFaults::suffers(const PacketId& packet_id) const {
    const FaultRates& plan = scenario_.fault_rates;
    const auto& ends = scenario_.connections[packet_id.connection].endpoints;
    return (packet_id.response ? plan.responses : plan.requests) &&
           (!plan.only_from || *plan.only_from == ends[packet_id.from()]);
}

fault::Action NetworkFaults::action_of(FaultKind kind, const PacketId& packet_id,
                                       std::size_t frame_bytes) {
    constexpr std::size_t kEthernetBytes = 14;
    const std::size_t bytes = frame_bytes - kEthernetBytes;
    const auto delay = [this] {
        return wire::Duration(random_.below(static_cast<std::uint64_t>(longest_delay_.count())));
    };
    switch (kind) {
    case FaultKind::Drop: return fault::Drop{};
    case FaultKind::Duplicate:
        return fault::Duplicate{.copies = static_cast<std::uint32_t>(1 + random_.below(3)),
                                .after = random_.one_in(2) ? wire::Duration{0} : delay()};
    case FaultKind::Delay: return fault::Delay{delay()};
    case FaultKind::Reorder:
        return fault::Reorder{static_cast<std::uint32_t>(1 + random_.below(6))};
    case FaultKind::Hold: {
        const auto nth = static_cast<std::int64_t>(1 + random_.below(4));
        return fault::Hold{.until = {.from = packet_id.from() == 0 ? fault::End::B : fault::End::A,
                                     .qp = "q" + std::to_string(packet_id.connection),
                                     .nth = fault::Range{nth, nth}},
                           .longest = delay()};
    }
    case FaultKind::CorruptBit: return fault::Corrupt{fault::CorruptBit{random_.below(bytes * 8)}};
    case FaultKind::CorruptByte: return fault::Corrupt{fault::CorruptByte{random_.below(bytes)}};
    case FaultKind::CorruptField:
        return fault::Corrupt{fault::CorruptField{random_.pick(
            std::array{Field::Opcode, Field::Pad, Field::TVer, Field::Pkey, Field::Fecn,
                       Field::DestQp, Field::AckReq, Field::Psn, Field::Icrc})}};
    case FaultKind::Truncate: return fault::Truncate{random_.below(bytes)};
    case FaultKind::MarkCe: return fault::MarkCe{};
    case FaultKind::Rewrite: // as a router does
        return fault::Rewrite{{{Field::IpTtl, 1 + random_.below(254)}}};
    case FaultKind::Replay: return fault::Replay{static_cast<std::uint32_t>(1 + random_.below(12))};
    case FaultKind::Forge: // a CNP, which carries no data
        return fault::Forge{.packet = {.opcode = wire::opcode_by_name("CNP").value_or(0x81),
                                       .fields = {{Field::Becn, std::uint64_t{1}}}},
                            .to = random_.one_in(2) ? fault::ForgeTo::Sender
                                                    : fault::ForgeTo::Receiver};
    }
    return fault::Drop{};
}

std::optional<Injected> NetworkFaults::fault_for(const PacketId& packet_id, std::int64_t psn,
                                                 std::size_t frame_bytes, wire::Instant now) {
    if (!packet_id.response) follow(requesters_[packet_id.connection][packet_id.requester], psn);
    if (exactly_) {
        const auto known = exactly_->find(packet_id);
        if (known == exactly_->end() || spared(packet_id)) return std::nullopt;
        Injected again = known->second;
        again.psn = psn;
        return again;
    }
    if (now >= wire::Instant{scenario_.fault_rates.until} || spared(packet_id) ||
        !suffers(packet_id)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
        const std::uint32_t rate = scenario_.fault_rates.one_in[i];
        if (rate == 0 || !random_.one_in(rate)) continue;
        const auto kind = static_cast<FaultKind>(i);
        return Injected{packet_id, kind, action_of(kind, packet_id, frame_bytes), psn};
    }
    return std::nullopt;
}

} // namespace veriroce::sim
