#include "transport/inject/excerpts.hpp"

#include <algorithm>
#include <utility>

namespace veriroce::inject {
namespace {

ExcerptPacket packet_of(End from, wire::Bytes frame, wire::Instant at) {
    ExcerptPacket packet{.at = at, .from = from};
    packet.length = static_cast<std::uint32_t>(frame.size());
    std::ranges::copy(frame.first(std::min(frame.size(), ExcerptPacket::kHeadBytes)),
                      packet.head.begin());
    return packet;
}

template <typename... T>
bool is_one_of(const fault::Action& action) {
    return (std::holds_alternative<T>(action) || ...);
}

} // namespace

void Excerpts::came(End port, wire::Bytes frame, const Handled& handled, wire::Instant at) {
    const std::size_t events = bump_.recovery().events().size();
    const bool fault = events > std::exchange(events_seen_, events);
    came_at_ = at;
    own_to_come_ = handled.marked;
    const std::uint64_t connection = handled.place.connection;
    if (connection == 0) return;
    auto found = histories_.find(connection);
    if (found == histories_.end()) {
        if (histories_.size() == kMaxConnections) return;
        found = histories_.try_emplace(connection).first;
    }
    History& history = found->second;
    ExcerptPacket packet = packet_of(port, frame, at);
    packet.psn = handled.place.psn;
    packet.pass = handled.pass;
    packet.rules.assign(handled.rules.begin(), handled.rules.end());
    own_to_come_ = handled.marked || !packet.rules.empty();
    for (const std::size_t rule : packet.rules) {
        const fault::Action& action = bump_.injector().rules()[rule].action;
        packet.lost = packet.lost || is_one_of<fault::Drop>(action);
        if (is_one_of<fault::Drop, fault::Delay, fault::Reorder, fault::Hold>(action)) {
            own_to_come_ = false;
        }
    }
    if (fault) begin(history, handled);
    add(history, std::move(packet));
}

void Excerpts::begin(History& history, const Handled& handled) {
    if (!history.open) {
        if (all_.size() == kMaxExcerpts) return;
        history.open = Open{.index = all_.size(), .last = {}};
        ++open_;
        all_.push_back({.connection = handled.place.connection, .events = {}, .packets = {}});
        auto& packets = all_.back().packets;
        std::ranges::move(history.before, std::back_inserter(packets));
        history.before.clear();
    }
    Open& open = *history.open;
    const std::size_t count = handled.rules.size();
    for (std::size_t i = events_seen_ - std::min(count, events_seen_); i < events_seen_; ++i)
        all_[open.index].events.push_back(i);
    open.after.reset();
}

bool Excerpts::recovered(const Open& open) const {
    return std::ranges::all_of(all_[open.index].events, [this](std::size_t event) {
        const FaultEvent& one = bump_.recovery().events()[event];
        return !one.followed || one.recovery.has_value();
    });
}

void Excerpts::add(History& history, ExcerptPacket packet) {
    if (!history.open) {
        history.before.push_back(std::move(packet));
        if (history.before.size() > kBefore) history.before.pop_front();
        return;
    }
    Open& open = *history.open;
    if (!open.after && recovered(open)) open.after = 0;
    if (open.following < kFollowing) {
        ++open.following;
        all_[open.index].packets.push_back(std::move(packet));
    } else {
        open.last.push_back(std::move(packet));
        if (open.last.size() > kLast) {
            open.last.pop_front();
            ++open.skipped;
        }
    }
    if (!open.after) return;
    const bool full =
        all_[open.index].packets.size() + open.last.size() >= kBefore + kFollowing + kLast;
    if (++*open.after < kAfter && !full) return;
    all_[open.index].whole = true;
    close(open);
    history.open.reset();
}

void Excerpts::close(Open& open) {
    if (!open.last.empty()) open.last.front().skipped = open.skipped;
    std::ranges::move(open.last, std::back_inserter(all_[open.index].packets));
    open.last.clear();
    --open_;
}

void Excerpts::went(End port, wire::Bytes frame, bool changed, wire::Instant at) {
    if (!changed || open_ == 0) return;
    if (at == came_at_ && std::exchange(own_to_come_, false)) return; // shown where it came
    const auto decoded = wire::decode_frame(frame);
    const auto place = decoded ? bump_.connections().look(*decoded) : std::nullopt;
    if (!place) return;
    const auto found = histories_.find(place->connection);
    if (found == histories_.end() || !found->second.open) return;
    ExcerptPacket packet = packet_of(other(port), frame, at);
    packet.psn = place->psn;
    add(found->second, std::move(packet));
}

void Excerpts::finish() {
    for (auto& [connection, history] : histories_) {
        if (!history.open) continue;
        close(*history.open);
        history.open.reset();
    }
}

} // namespace veriroce::inject
