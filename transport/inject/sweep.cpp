#include "transport/inject/sweep.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace veriroce::inject {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::string_view kExpected =
    "expected loss=LOW%..HIGH%, for example loss=0.01%..5%, with 0 < LOW <= HIGH <= 100";

std::optional<double> percent(std::string_view text) {
    if (!text.ends_with('%')) return std::nullopt;
    text.remove_suffix(1);
    double value = 0;
    const auto [end, wrong] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value > 0 && value <= 100 ? std::optional(value / 100) : std::nullopt;
}

double per_second(std::uint64_t count, wire::Duration time) {
    return time.count() > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(time.count())
                            : 0;
}

} // namespace

std::expected<SweepRange, std::string> parse_sweep(std::string_view text) {
    constexpr std::string_view name = "loss=";
    const std::size_t dots = text.find("..");
    if (!text.starts_with(name) || dots == std::string_view::npos) {
        return std::unexpected(std::string(kExpected));
    }
    const auto low = percent(text.substr(name.size(), dots - name.size()));
    const auto high = percent(text.substr(dots + 2));
    if (!low || !high || *low > *high) return std::unexpected(std::string(kExpected));
    return SweepRange{*low, *high};
}

double SweepStep::goodput() const {
    return 8 * per_second(bytes, measured);
}

double SweepStep::messages_per_second() const {
    return per_second(messages, measured);
}

Sweep::Sweep(SweepOptions options) : options_(options) {
    const auto& [low, high] = options_.range;
    steps_.emplace_back();
    for (std::uint32_t i = 0; i < options_.steps; ++i) {
        const double share = options_.steps > 1 ? static_cast<double>(i) / (options_.steps - 1) : 0;
        steps_.push_back({.loss = low * std::pow(high / low, share)});
    }
}

std::vector<fault::Rule> Sweep::rules() const {
    std::vector<fault::Rule> rules;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
        const auto from = static_cast<std::int64_t>(i) * options_.step_time.count();
        fault::Rule rule{.action = fault::Drop{},
                         .selector = {},
                         .line = static_cast<std::uint32_t>(i),
                         .text =
                             fmt::format("drop when p={:.6g} between {}ms..{}ms", steps_[i].loss,
                                         from / kMs, (from + options_.step_time.count()) / kMs)};
        rule.selector.probability = steps_[i].loss;
        rule.selector.between = fault::Range{from, from + options_.step_time.count() - 1};
        rules.push_back(std::move(rule));
    }
    return rules;
}

std::size_t Sweep::begun() const {
    return began_ ? std::min<std::size_t>(slot_ / kSlots + 1, steps_.size()) : 0;
}

std::optional<wire::Instant> Sweep::next() const {
    if (!began_ || ended()) return std::nullopt;
    return *began_ + options_.step_time * static_cast<std::int64_t>(slot_ + 1) / kSlots;
}

void Sweep::observe(const Bump& bump, wire::Instant now) {
    if (!bump.began()) return;
    if (!began_) {
        began_ = bump.began();
        before_ = {.at = *began_, .counters = {}};
    }
    if (ended() || now < *next()) return;
    const std::size_t index = slot_ / kSlots;
    const Totals after{.at = now,
                       .counters = bump.recovery().total(),
                       .dropped = index > 0 ? bump.injector().fired(index - 1).fired : 0};
    if (slot_ % kSlots >= kSettling) {
        SweepStep& step = steps_[index];
        const wire::Duration time = after.at - before_.at;
        const Counters& a = after.counters;
        const Counters& b = before_.counters;
        const std::uint64_t bytes = a.delivered.bytes - b.delivered.bytes;
        step.measured += time;
        step.bytes += bytes;
        step.messages += a.delivered.messages - b.delivered.messages;
        step.packets += a.packets - b.packets;
        step.retransmissions += a.retransmissions - b.retransmissions;
        step.dropped += after.dropped - before_.dropped;
        step.samples.push_back(8 * per_second(bytes, time));
    }
    before_ = after;
    ++slot_;
    if (slot_ % kSlots == 0) before_.dropped = 0; // the next step has a rule of its own
    // A process that slept over several slots: they have no samples.
    while (!ended() && now >= *next())
        ++slot_;
}

std::string loss_text(double loss) {
    return loss > 0 ? fmt::format("{:.3g} %", loss * 100) : "none";
}

} // namespace veriroce::inject
