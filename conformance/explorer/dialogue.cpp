#include "conformance/explorer/dialogue.hpp"

#include <array>
#include <span>

#include <fmt/format.h>

#include "conformance/explorer/sketch.hpp"
#include "conformance/explorer/talk.hpp"

namespace veriroce::explorer {
namespace {

void step(Sketch& sketch, Qp& qp) {
    switch (qp.talk) {
    case Talk::TesterAsks: return ask(sketch, qp);
    case Talk::DutAsks: return answer(sketch, qp);
    case Talk::Both: return sketch.percent(50) ? ask(sketch, qp) : answer(sketch, qp);
    case Talk::Peers: return traffic(sketch, qp);
    case Talk::Unreliable:
    case Talk::Datagrams: return talk_unreliably(sketch, qp);
    }
}

void turn(Sketch& sketch, Qp& qp) {
    const std::uint64_t often = sketch.favourite() ? 20 : 12;
    if (sketch.features().verbs && sketch.percent(often)) interfere(sketch, qp);
    if (qp.pending.empty()) step(sketch, qp);
    if (!sketch.features().interleaved || sketch.percent(50)) return send_pending(sketch, qp);
    send_one_pending(sketch, qp);
    if (sketch.features().intruders && sketch.percent(30)) intrude(sketch, qp);
}

} // namespace

void take_one(Sketch& sketch, Qp& qp, std::span<const Step> steps) {
    if (const auto favourite = sketch.favourite(); favourite && sketch.percent(30)) {
        const Step& step = steps[*favourite % steps.size()];
        if (step.able) return step.take(sketch, qp);
    }
    const auto weight_of = [](const Step& step) { return step.able ? step.weight : 0; };
    std::uint64_t all = 0;
    for (const Step& step : steps)
        all += weight_of(step);
    std::uint64_t drawn = sketch.random().below(all);
    for (const Step& step : steps) {
        if (drawn < weight_of(step)) return step.take(sketch, qp);
        drawn -= weight_of(step);
    }
}

Dialogue dialogue_of(const Origin& origin, std::uint64_t seed, const Reach& reach) {
    constexpr std::array<std::uint64_t, 8> lengths{5, 8, 10, 12, 15, 20, 30, 50};
    Sketch sketch(origin, reach);
    const std::uint64_t begin = sketch.draws();
    for (const Qp& qp : sketch.qps()) {
        if (qp.talk == Talk::Peers) begin_traffic(sketch, qp);
    }
    const std::uint64_t turns = sketch.random().pick(lengths);
    for (std::uint64_t i = 0; i < turns; ++i)
        turn(sketch, sketch.qps()[sketch.random().below(sketch.qps().size())]);
    for (Qp& qp : sketch.qps()) {
        send_pending(sketch, qp);
        answer_all(sketch, qp);
    }
    if (sketch.features().probes) {
        for (Qp& qp : sketch.qps())
            probe(sketch, qp);
    }
    if (sketch.features().exhaustion) {
        for (Qp& qp : sketch.qps()) {
            if (sketch.percent(50)) exhaust_at_end(sketch, qp);
        }
    }
    return {.seed = seed,
            .origin = origin,
            .begin = begin,
            .draws = sketch.draws(),
            .text = sketch.text(fmt::format("A dialogue of seed {}", seed))};
}

} // namespace veriroce::explorer
