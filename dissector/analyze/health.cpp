#include "dissector/analyze/health.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/wire/duration_text.hpp"

namespace veriroce::analyze {
namespace {

// A requester that tries again waits about as long as before. If nothing comes for this many times
// as long, it gave up.
constexpr int kPatience = 4;
// Of a requester whose wait is not known.
constexpr wire::Duration kLongWait = std::chrono::seconds(5);

Ending ending_of_open(const Episode& episode, const Direction& facts, wire::Duration quiet) {
    if (episode.kind == EpisodeKind::FatalNak) return Ending::Refused;
    wire::Duration wait = kLongWait;
    if (episode.kind == EpisodeKind::RnrNak && facts.last_was_response) {
        wait = wire::rnr_time(wire::Syndrome{episode.syndrome}.code());
        wait = std::max<wire::Duration>(wait, std::chrono::milliseconds(10));
    } else if (episode.timeouts > 0 && facts.longest_timeout) {
        wait = *facts.longest_timeout;
    }
    return quiet > wait * kPatience ? Ending::GaveUp : Ending::Retrying;
}

Ending ending_of(const Conversation& conversation, const Direction& facts,
                 std::optional<wire::Instant> end) {
    if (facts.open) {
        wire::Duration quiet{0};
        if (end && facts.last_time) quiet = *end - *facts.last_time;
        const Ending ending = ending_of_open(*facts.open, facts, quiet);
        const bool closed = conversation.setup && conversation.setup->disconnect_number != 0;
        if (closed && ending == Ending::GaveUp && facts.open->timeouts == 0) return Ending::Closed;
        return ending;
    }
    if (conversation.setup && conversation.setup->disconnect_number != 0) return Ending::Closed;
    return facts.outstanding > 0 ? Ending::Outstanding : Ending::Quiet;
}

void judge_direction(const Direction& facts, Ending ending, const Thresholds& limits,
                     const std::string& who, std::vector<std::string>& problems) {
    const auto note = [&](std::string text) { problems.push_back(who + " " + std::move(text)); };
    switch (ending) {
    case Ending::Refused: note("was refused by a NAK that ends the connection"); break;
    case Ending::GaveUp: note("tried again in vain and gave up"); break;
    case Ending::Retrying: note("was still trying again when the capture ended"); break;
    case Ending::Quiet:
    case Ending::Outstanding:
    case Ending::Closed: break;
    }
    if (facts.all_resent() > 0 && facts.resent_part() > limits.resent_part) {
        note(fmt::format("sent {:.3g} % of its request packets again (limit {:.3g} %)",
                         100 * facts.resent_part(), 100 * limits.resent_part));
    }
    if (facts.timeouts > limits.timeouts) {
        note(fmt::format("had {} timeout{} (limit {})", facts.timeouts,
                         facts.timeouts == 1 ? "" : "s", limits.timeouts));
    }
    if (facts.rnr_naks > limits.rnr_naks) {
        note(fmt::format("got {} RNR NAK{} (limit {})", facts.rnr_naks,
                         facts.rnr_naks == 1 ? "" : "s", limits.rnr_naks));
    }
    if (!limits.latency) return;
    for (std::size_t i = 0; i < kMessageKinds; ++i) {
        if (!facts.messages[i] || facts.messages[i]->latencies.count() == 0) continue;
        const auto ns = static_cast<std::int64_t>(facts.messages[i]->latencies.quantile(0.99));
        if (wire::Duration(ns) <= *limits.latency) continue;
        note(fmt::format("has {} messages that take {} (p99; limit {})",
                         name_of(static_cast<MessageKind>(i)), wire::short_time(wire::Duration(ns)),
                         wire::short_time(*limits.latency)));
    }
}

} // namespace

std::string_view name_of(Ending ending) {
    switch (ending) {
    case Ending::Quiet: return "quiet";
    case Ending::Outstanding: return "outstanding";
    case Ending::Retrying: return "retrying";
    case Ending::Closed: return "closed";
    case Ending::GaveUp: return "gave-up";
    case Ending::Refused: return "refused";
    }
    return {};
}

bool Health::died() const {
    return std::ranges::any_of(endings, [](Ending ending) {
        return ending == Ending::GaveUp || ending == Ending::Refused;
    });
}

Health health_of(const Conversation& conversation, const Thresholds& thresholds,
                 std::optional<wire::Instant> end) {
    Health health;
    for (std::size_t i = 0; i < 2; ++i) {
        const Direction& facts = conversation.directions[i];
        if (facts.packets() == 0) continue;
        health.endings[i] = ending_of(conversation, facts, end);
        judge_direction(facts, health.endings[i], thresholds, conversation.ends[i].address.text(),
                        health.problems);
    }
    return health;
}

std::optional<TimeoutCodes> timeout_codes(wire::Duration waited) {
    std::optional<TimeoutCodes> codes;
    for (std::uint8_t code = 1; code < 32; ++code) {
        const auto timeout = wire::ack_timeout(code);
        if (!timeout || *timeout > waited || *timeout * kPatience < waited) continue;
        if (!codes) codes = TimeoutCodes{.least = code};
        codes->most = code;
    }
    return codes;
}

} // namespace veriroce::analyze
