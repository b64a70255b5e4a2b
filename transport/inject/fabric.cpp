#include "transport/inject/fabric.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/wire/duration_text.hpp"

namespace veriroce::inject {
namespace {

constexpr std::size_t kMaxSent = 65'536; // packets of a sender in a window
constexpr std::size_t kMaxSenders = 1'024;

bool is_cnp(std::uint8_t opcode) {
    return wire::opcode_info(opcode).operation == wire::Operation::Cnp;
}

} // namespace

void Fabric::arrived_other(End from, wire::Bytes frame, wire::Instant now) {
    const auto pfc = fault::pfc_of(frame);
    for (std::uint8_t i = 0; pfc && i < kClasses; ++i) {
        if (pfc->about(i)) paused(other(from), i, pfc->quanta[i], now);
    }
}

void Fabric::paused(End to, std::uint8_t priority, std::uint16_t quanta, wire::Instant now) {
    const End from = other(to);
    Pauses& pauses = of(from).pauses[priority];
    Span& span = spans_[index_of(from)][priority];
    const auto time = fault::pause_time(quanta, bits_per_second_);
    ++pauses.frames;
    // A later frame replaces what is left of the one before.
    if (span.until > now) {
        pauses.time -= span.until - now;
    } else {
        span.began = now;
    }
    pauses.time += time;
    span.until = now + time;
}

void Fabric::count_in_pauses(End from, std::uint8_t priority, wire::Instant now) {
    const End asked = other(from);
    for (std::size_t i = 0; i < kClasses; ++i) {
        const Span& span = spans_[index_of(asked)][i];
        if (now >= span.until || now - span.began < kPauseGrace) continue;
        Pauses& pauses = of(asked).pauses[i];
        ++(i == priority ? pauses.packets : pauses.other_packets);
    }
}

void Fabric::advance(Sender& sender, End cnps_from, wire::Instant now) {
    if (sender.episode && now - *sender.episode >= kCnpWindow) {
        auto& all = reactions_[index_of(cnps_from)];
        if (sender.before > 0 && all.size() < kMaxReactions) {
            all.push_back(static_cast<double>(sender.after) / static_cast<double>(sender.before));
        }
        sender.episode.reset();
    }
    while (!sender.sent.empty() && now - sender.sent.front().first > kCnpWindow) {
        sender.bytes -= sender.sent.front().second;
        sender.sent.pop_front();
    }
}

void Fabric::arrived(const Place& place, const wire::Frame& frame, End from, wire::Instant now) {
    const wire::Envelope envelope = frame.envelope();
    count_in_pauses(from, fault::class_of(envelope), now);
    const bool cnp = is_cnp(place.opcode);
    Signals& signals = of(from);
    if (envelope.ecn == wire::kCongestionExperienced) ++signals.ce;
    if (cnp) ++signals.cnps;
    // Rates are kept from the first mark on, which comes before the first CNP.
    watches_ = watches_ || cnp || envelope.ecn == wire::kCongestionExperienced;
    if (place.connection == 0 || !watches_) return;
    // A CNP slows down the packets that go the other way.
    const End sender_end = cnp ? other(from) : from;
    const std::uint64_t key = place.connection * 2 + index_of(sender_end);
    auto found = senders_.find(key);
    if (found == senders_.end()) {
        if (senders_.size() == kMaxSenders) return;
        found = senders_.try_emplace(key).first;
    }
    Sender& sender = found->second;
    advance(sender, other(sender_end), now);
    if (cnp) {
        if (sender.episode) return;
        sender.episode = now;
        sender.before = sender.bytes;
        sender.after = 0;
        return;
    }
    if (sender.sent.size() == kMaxSent) return;
    const auto bytes = static_cast<std::uint32_t>(frame.bytes.size());
    sender.sent.emplace_back(now, bytes);
    sender.bytes += bytes;
    if (sender.episode) sender.after += bytes;
}

bool Fabric::empty() const {
    return std::ranges::all_of(signals_, [](const Signals& one) {
        return one.ce + one.cnps + one.marked + one.not_capable == 0 &&
               std::ranges::all_of(one.pauses, [](const Pauses& p) { return p.frames == 0; });
    });
}

std::string fabric_text(const Fabric& fabric) {
    std::string text;
    for (const End end : {End::A, End::B}) {
        const char letter = end == End::A ? 'A' : 'B';
        const Fabric::Signals& one = fabric.signals(end);
        for (std::size_t i = 0; i < kClasses; ++i) {
            const Fabric::Pauses& pauses = one.pauses[i];
            if (pauses.frames == 0) continue;
            text +=
                fmt::format("from {}: {} PFC frames stop class {} for {}; in it came {} packets "
                            "of the class and {} of others\n",
                            letter, pauses.frames, i, wire::short_time(pauses.time), pauses.packets,
                            pauses.other_packets);
        }
        if (one.ce + one.cnps + one.marked + one.not_capable == 0) continue;
        text += fmt::format("from {}: {} packets marked CE, {} CNPs", letter, one.ce, one.cnps);
        if (one.marked + one.not_capable > 0) {
            text += fmt::format("; the virtual queue marked {}, and {} more had no ECT bit",
                                one.marked, one.not_capable);
        }
        std::vector<double> reactions = fabric.reactions(end);
        if (!reactions.empty()) {
            std::ranges::sort(reactions);
            text += fmt::format("; in the 5 ms after a CNP the sender's rate is {:.2f} of that "
                                "before (median of {})",
                                reactions[reactions.size() / 2], reactions.size());
        }
        text += '\n';
    }
    return text;
}

} // namespace veriroce::inject
